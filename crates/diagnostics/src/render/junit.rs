//! Findings as JUnit XML: a test suite for each file, a test case for each object in it.
//!
//! Source: the JUnit schema of the Jenkins xUnit plugin, which GitLab, Jenkins and Azure accept.

use super::location::LocationResolver;
use crate::source::{SourceId, SourceSet};
use crate::{Attribute, Diagnostic, ObjectRef, count_not_judged};
use kubefoundry_yaml::secret::mask;
use kubefoundry_yaml::text::break_xml_commands;
use kubefoundry_yaml::{append, append_line};

/// An object that was checked, which becomes a test case with or without findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCase {
    /// The source that contains the object.
    pub source: SourceId,
    /// The object.
    pub object: ObjectRef,
}

/// A file and its test cases, each with its name and findings.
struct TestSuite<'a> {
    name: &'a str,
    cases: Vec<(String, Vec<&'a Diagnostic>)>,
}

/// Renders one XML document. Each file has a case for each of its objects in `cases`, and a case with the name of the
/// file for findings about no object. A finding for which `fails` returns true is a failure of its case; any other is
/// part of the case's output, so that tolerated warnings do not turn a pipeline red. A case of which something was not
/// judged is a skipped one unless it fails.
pub fn junit(
    diagnostics: &[Diagnostic],
    sources: &SourceSet,
    cases: &[TestCase],
    fails: impl Fn(&Diagnostic) -> bool,
) -> String {
    let resolver = LocationResolver::new(diagnostics, sources);
    let suites = build_suites(diagnostics, sources, cases);
    let count_failures = |suite: &TestSuite<'_>| {
        suite.cases.iter().filter(|(_, diagnostics)| diagnostics.iter().any(|diagnostic| fails(diagnostic))).count()
    };
    let tests: usize = suites.iter().map(|suite| suite.cases.len()).sum();
    let failures: usize = suites.iter().map(count_failures).sum();
    let skipped: usize = suites.iter().map(|suite| count_skipped(suite, &fails)).sum();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    append_line!(
        out,
        "<testsuites name=\"kubefoundry\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">"
    );
    for suite in &suites {
        let (name, tests, failures) = (escape_xml(suite.name), suite.cases.len(), count_failures(suite));
        let skipped = count_skipped(suite, &fails);
        append_line!(
            out,
            "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">"
        );
        for (case, diagnostics) in &suite.cases {
            write_case(&mut out, &name, &escape_xml(case), diagnostics, &resolver, &fails);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    break_xml_commands(&out).into_owned()
}

/// Counts the cases that say that something was not judged, and do not fail.
fn count_skipped(suite: &TestSuite<'_>, fails: &impl Fn(&Diagnostic) -> bool) -> usize {
    let is_skipped = |diagnostics: &[&Diagnostic]| {
        !diagnostics.iter().any(|diagnostic| fails(diagnostic)) && count_not_judged(diagnostics.iter().copied()) > 0
    };
    suite.cases.iter().filter(|(_, diagnostics)| is_skipped(diagnostics)).count()
}

fn build_suites<'a>(diagnostics: &'a [Diagnostic], sources: &'a SourceSet, cases: &[TestCase]) -> Vec<TestSuite<'a>> {
    let in_file = |id: SourceId| {
        move |diagnostic: &&Diagnostic| diagnostic.location.as_ref().is_some_and(|location| location.source == id)
    };
    let mut suites = Vec::new();
    for (id, source) in sources.iter() {
        let mut remaining: Vec<&Diagnostic> = diagnostics.iter().filter(in_file(id)).collect();
        let mut file_cases = Vec::new();
        for case in cases.iter().filter(|case| case.source == id) {
            let (own, rest) = remaining
                .into_iter()
                .partition(|diagnostic: &&Diagnostic| diagnostic.object.as_ref() == Some(&case.object));
            file_cases.push((case.object.to_string(), own));
            remaining = rest;
        }
        if !remaining.is_empty() {
            file_cases.push((source.name.clone(), remaining));
        }
        if !file_cases.is_empty() {
            suites.push(TestSuite { name: &source.name, cases: file_cases });
        }
    }
    let unlocated: Vec<&Diagnostic> = diagnostics.iter().filter(|diagnostic| diagnostic.location.is_none()).collect();
    if !unlocated.is_empty() {
        suites.push(TestSuite { name: "kubefoundry", cases: vec![("input".to_owned(), unlocated)] });
    }
    suites
}

fn write_case(
    out: &mut String,
    suite: &str,
    case: &str,
    diagnostics: &[&Diagnostic],
    resolver: &LocationResolver<'_>,
    fails: &impl Fn(&Diagnostic) -> bool,
) {
    append!(out, "    <testcase classname=\"{suite}\" name=\"{case}\"");
    if diagnostics.is_empty() {
        out.push_str("/>\n");
        return;
    }
    out.push_str(">\n");
    let (failed, rest): (Vec<&Diagnostic>, Vec<&Diagnostic>) =
        diagnostics.iter().copied().partition(|diagnostic| fails(diagnostic));
    if let Some(first) = failed.first() {
        let (code, message) = (first.code.id, escape_xml(&first.message));
        append!(out, "      <failure type=\"{code}\" message=\"{message}\">");
        out.push_str(&escape_xml(&format_lines(&failed, resolver)));
        out.push_str("</failure>\n");
    }
    let not_judged = rest.iter().find(|diagnostic| diagnostic.code.has(Attribute::NotJudged));
    if let Some(first) = not_judged.filter(|_| failed.is_empty()) {
        append_line!(out, "      <skipped message=\"{}\"/>", escape_xml(&first.message));
    }
    if !rest.is_empty() {
        append_line!(out, "      <system-out>{}</system-out>", escape_xml(&format_lines(&rest, resolver)));
    }
    out.push_str("    </testcase>\n");
}

/// Formats one line per finding, like [`concise`](super::concise()).
fn format_lines(diagnostics: &[&Diagnostic], resolver: &LocationResolver<'_>) -> String {
    let mut text = String::new();
    for diagnostic in diagnostics {
        if let Some(location) = &diagnostic.location {
            let report_location = resolver.resolve(location);
            append!(text, "{}:{}:{}: ", report_location.file, report_location.range.line, report_location.range.column);
        }
        append_line!(text, "{}[{}] {}", diagnostic.severity, diagnostic.code.id, diagnostic.message);
        if let Some(help) = &diagnostic.help {
            append_line!(text, "  help: {help}");
        }
    }
    text
}

/// Escapes text for XML character data and attribute values. Characters that XML 1.0 does not allow even escaped become
/// U+FFFD.
fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in mask(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
