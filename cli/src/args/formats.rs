//! The words that several commands take: forms of output, colours, severities.

use clap::ValueEnum;

/// When text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How objects are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ObjectFormat {
    /// A stream of YAML documents
    #[default]
    Yaml,
    /// One JSON document
    Json,
}

/// How findings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ReportFormat {
    /// With the lines they are about, and help
    #[default]
    Text,
    /// One line each
    Concise,
    /// One JSON document
    Json,
}

/// How lint writes findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum LintFormat {
    /// With the lines they are about, and help
    #[default]
    Text,
    /// One line each
    Concise,
    /// One JSON document
    Json,
    /// Annotations of GitHub Actions
    Github,
    /// A Code Quality report of GitLab
    Gitlab,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML, a test case for each object
    Junit,
}

/// How other reports are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum TextFormat {
    /// For people
    #[default]
    Text,
    /// One JSON document
    Json,
}

/// How explanations are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ExplanationFormat {
    /// For people
    #[default]
    Text,
    /// One JSON document
    Json,
    /// A Mermaid flowchart, which GitHub and GitLab draw in Markdown
    Mermaid,
    /// A graph for Graphviz
    Dot,
    /// One page for a browser, with nothing to load
    Html,
}

/// The least severe finding that fails a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum FailOn {
    /// An error
    #[default]
    Error,
    /// An error or a warning
    Warning,
    /// Nothing
    Never,
}
