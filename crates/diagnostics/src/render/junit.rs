//! Findings as JUnit XML: a suite for each file, a case for each object in it.
//!
//! Source of the form: the JUnit schema of the Jenkins xUnit plugin, which GitLab, Jenkins and Azure read.

use std::fmt::Write as _;

use super::location::LocationResolver;
use crate::source::{SourceId, SourceSet};
use crate::{Diagnostic, ObjectRef};

/// An object that was looked at: a test case, with or without findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCase {
    /// The text that it is in.
    pub source: SourceId,
    /// What it is.
    pub object: ObjectRef,
}

/// A file and its cases.
struct TestSuite<'a> {
    name: &'a str,
    cases: Vec<(String, Vec<&'a Diagnostic>)>,
}

/// One document: a suite for each file, a case for each object of `cases`, and one called after the file for what
/// belongs to no object. A finding that `fails` is a failure of its case, any other is its output: a team that lets
/// warnings pass does not want them red.
pub fn junit(
    diagnostics: &[Diagnostic],
    sources: &SourceSet,
    cases: &[TestCase],
    fails: impl Fn(&Diagnostic) -> bool,
) -> String {
    let places = LocationResolver::new(diagnostics, sources);
    let suites = build_suites(diagnostics, sources, cases);
    let count =
        |suite: &TestSuite<'_>| suite.cases.iter().filter(|(_, found)| found.iter().any(|one| fails(one))).count();
    let tests: usize = suites.iter().map(|suite| suite.cases.len()).sum();
    let failures: usize = suites.iter().map(count).sum();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites name=\"kubefoundry\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">");
    for suite in &suites {
        let (name, tests, failures) = (escape_xml(suite.name), suite.cases.len(), count(suite));
        let _ = writeln!(out, "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">");
        for (case, found) in &suite.cases {
            write_case(&mut out, &name, &escape_xml(case), found, &places, &fails);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn build_suites<'a>(diagnostics: &'a [Diagnostic], sources: &'a SourceSet, cases: &[TestCase]) -> Vec<TestSuite<'a>> {
    let in_file = |id: SourceId| {
        move |diagnostic: &&Diagnostic| diagnostic.location.as_ref().is_some_and(|location| location.source == id)
    };
    let mut suites = Vec::new();
    for (id, source) in sources.iter() {
        let mut found: Vec<&Diagnostic> = diagnostics.iter().filter(in_file(id)).collect();
        let mut own = Vec::new();
        for case in cases.iter().filter(|case| case.source == id) {
            let (here, rest) =
                found.into_iter().partition(|one: &&Diagnostic| one.object.as_ref() == Some(&case.object));
            own.push((case.object.to_string(), here));
            found = rest;
        }
        if !found.is_empty() {
            own.push((source.name.clone(), found));
        }
        if !own.is_empty() {
            suites.push(TestSuite { name: &source.name, cases: own });
        }
    }
    let nowhere: Vec<&Diagnostic> = diagnostics.iter().filter(|diagnostic| diagnostic.location.is_none()).collect();
    if !nowhere.is_empty() {
        suites.push(TestSuite { name: "kubefoundry", cases: vec![("input".to_owned(), nowhere)] });
    }
    suites
}

fn write_case(
    out: &mut String,
    suite: &str,
    case: &str,
    found: &[&Diagnostic],
    places: &LocationResolver<'_>,
    fails: &impl Fn(&Diagnostic) -> bool,
) {
    let _ = write!(out, "    <testcase classname=\"{suite}\" name=\"{case}\"");
    if found.is_empty() {
        out.push_str("/>\n");
        return;
    }
    out.push_str(">\n");
    let (failed, rest): (Vec<&Diagnostic>, Vec<&Diagnostic>) = found.iter().copied().partition(|one| fails(one));
    if let Some(first) = failed.first() {
        let (code, message) = (first.code.id, escape_xml(&first.message));
        let _ = write!(out, "      <failure type=\"{code}\" message=\"{message}\">");
        out.push_str(&escape_xml(&format_lines(&failed, places)));
        out.push_str("</failure>\n");
    }
    if !rest.is_empty() {
        let _ = writeln!(out, "      <system-out>{}</system-out>", escape_xml(&format_lines(&rest, places)));
    }
    out.push_str("    </testcase>\n");
}

/// One line a finding, as `concise` has them.
fn format_lines(found: &[&Diagnostic], places: &LocationResolver<'_>) -> String {
    let mut text = String::new();
    for diagnostic in found {
        if let Some(location) = &diagnostic.location {
            let place = places.resolve(location);
            let _ = write!(text, "{}:{}:{}: ", place.file, place.range.line, place.range.column);
        }
        let _ = writeln!(text, "{}[{}] {}", diagnostic.severity, diagnostic.code.id, diagnostic.message);
        if let Some(help) = &diagnostic.help {
            let _ = writeln!(text, "  help: {help}");
        }
    }
    text
}

/// Text as XML character data or attribute value. What XML 1.0 cannot hold even escaped becomes U+FFFD.
fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
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
