//! Option values that several commands share: output formats, colors, severities.

use clap::ValueEnum;
use kubefoundry_diagnostics::Severity;

/// When to color text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set, or with FORCE_COLOR
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Format of manifests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ObjectFormat {
    /// A stream of YAML documents
    #[default]
    Yaml,
    /// One JSON document
    Json,
}

/// Format of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ReportFormat {
    /// With source lines and help
    #[default]
    Text,
    /// One line for each finding
    Concise,
    /// One JSON document
    Json,
}

/// Format of findings in `lint`, which also serves CI systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum LintFormat {
    /// With source lines and help
    #[default]
    Text,
    /// One line for each finding
    Concise,
    /// One JSON document
    Json,
    /// Annotations for GitHub Actions
    Github,
    /// A Code Quality report for GitLab
    Gitlab,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML, with one test case for each object
    Junit,
}

impl LintFormat {
    /// Whether programs parse the report.
    pub(crate) const fn is_parsed(self) -> bool {
        !matches!(self, Self::Text | Self::Concise)
    }
}

/// Format of the other reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum TextFormat {
    /// Human-readable text
    #[default]
    Text,
    /// One JSON document
    Json,
}

/// Format of reports that are also posted on pull requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum TableFormat {
    /// Human-readable text
    #[default]
    Text,
    /// One JSON document
    Json,
    /// Markdown for a comment on a pull request
    Markdown,
}

/// Format of explanations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ExplanationFormat {
    /// Human-readable text
    #[default]
    Text,
    /// One JSON document
    Json,
    /// A Mermaid flowchart; GitHub and GitLab draw it in Markdown
    Mermaid,
    /// A self-contained page for a browser
    Html,
}

/// The lowest severity at which a finding fails the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum FailOn {
    /// An error
    #[default]
    Error,
    /// An error or a warning
    Warning,
    /// Any finding
    Info,
    /// No finding
    Never,
}

/// The lowest severity at which a finding prevents the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum RenderFailOn {
    /// An error
    #[default]
    Error,
    /// An error or a warning
    Warning,
    /// Any finding
    Info,
}

impl From<RenderFailOn> for FailOn {
    fn from(fail_on: RenderFailOn) -> Self {
        match fail_on {
            RenderFailOn::Error => Self::Error,
            RenderFailOn::Warning => Self::Warning,
            RenderFailOn::Info => Self::Info,
        }
    }
}

impl FailOn {
    /// Returns the least severe findings that fail the run; `None` if no finding does.
    pub(crate) fn severity(self) -> Option<Severity> {
        match self {
            Self::Error => Some(Severity::Error),
            Self::Warning => Some(Severity::Warning),
            Self::Info => Some(Severity::Info),
            Self::Never => None,
        }
    }
}
