//! Collects the findings of a run, in input order, up to a limit.

use std::collections::{BTreeMap, BTreeSet};

use super::suppressions::{self, Suppression};
use crate::codes;
use crate::options::Options;
use kubefoundry_diagnostics::render::LineIndex;
use kubefoundry_diagnostics::source::{SourceId, SourceSet};
use kubefoundry_diagnostics::{Attribute, Code, Diagnostic, Severity};

/// The maximum number of findings of a run, which bounds the memory for an input full of mistakes.
pub(crate) const MAX_FINDINGS: usize = 10_000;

/// Collects at most [`MAX_FINDINGS`] findings. Which ones are kept depends only on their order, so they can be
/// collected in parts that are joined in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunFindings {
    stored: Vec<Diagnostic>,
    /// The helps of the findings whose code is reported once per run. A further finding with the same help is dropped.
    reported_helps: BTreeSet<Option<String>>,
    /// The number of findings beyond the limit, by code and by whether they are suppressed.
    omitted: BTreeMap<(&'static str, bool), (&'static Code, usize)>,
}

impl RunFindings {
    /// Creates a collection with these findings.
    pub(crate) fn new(findings: Vec<Diagnostic>) -> Self {
        let mut collected = Self::default();
        for finding in findings {
            collected.add(finding);
        }
        collected
    }

    /// Adds a finding. One that an earlier finding of a code that is reported once per run makes redundant is dropped,
    /// and one beyond the limit is only counted.
    pub(crate) fn add(&mut self, finding: Diagnostic) {
        if self.is_redundant(&finding) {
            return;
        }
        if finding.code.has(Attribute::OncePerRun) && !finding.suppressed {
            self.reported_helps.insert(finding.help.clone());
        }
        if self.stored.len() < MAX_FINDINGS {
            self.stored.push(finding);
        } else {
            self.count_omitted(&finding);
        }
    }

    /// Whether an earlier finding of a code that is reported once per run says the same.
    fn is_redundant(&self, finding: &Diagnostic) -> bool {
        finding.code.has(Attribute::OncePerRun) && !finding.suppressed && self.reported_helps.contains(&finding.help)
    }

    /// Adds the findings of one object. `suppressions` are those of the same object.
    pub(crate) fn add_all(&mut self, mut findings: Vec<Diagnostic>, suppressions: &mut [Suppression]) {
        // Findings beyond the limit are only counted, so they must be marked as suppressed before.
        suppressions::mark(&mut findings, suppressions);
        for finding in findings {
            self.add(finding);
        }
    }

    /// Appends the findings of a later part of the input.
    pub(crate) fn append(&mut self, later: Self) {
        later.stored.into_iter().for_each(|finding| self.add(finding));
        self.add_omitted(later.omitted);
    }

    /// Appends a copy of the findings of a later part of the input. Only those that are kept are copied.
    pub(crate) fn append_copy(&mut self, later: &Self) {
        for finding in &later.stored {
            if self.stored.len() >= MAX_FINDINGS && !finding.code.has(Attribute::OncePerRun) {
                self.count_omitted(finding);
            } else if !self.is_redundant(finding) {
                self.add(finding.clone());
            }
        }
        self.add_omitted(later.omitted.iter().map(|(key, omitted)| (*key, *omitted)));
    }

    fn add_omitted(&mut self, omitted: impl IntoIterator<Item = ((&'static str, bool), (&'static Code, usize))>) {
        for (key, (code, number)) in omitted {
            self.omitted.entry(key).or_insert((code, 0)).1 += number;
        }
    }

    /// Stores at most `max` findings and counts the rest.
    pub(crate) fn limit(&mut self, max: usize) {
        for finding in self.stored.split_off(max.min(self.stored.len())) {
            self.count_omitted(&finding);
        }
    }

    /// Marks suppressed findings. Errors stay; suppressed warnings and infos are removed and returned. With
    /// `every_finding`, all checks have run, and suppressions without a matching finding are reported.
    pub(crate) fn suppress(&mut self, mut suppressions: Vec<Suppression>, every_finding: bool) -> Vec<Diagnostic> {
        if suppressions.is_empty() {
            return Vec::new();
        }
        suppressions::mark(&mut self.stored, &mut suppressions);
        let is_removed =
            |diagnostic: &mut Diagnostic| diagnostic.suppressed && diagnostic.code.severity != Severity::Error;
        let suppressed = self.stored.extract_if(.., is_removed).collect();
        if every_finding {
            suppressions.iter().flat_map(Suppression::find_problems).for_each(|finding| self.add(finding));
        }
        suppressed
    }

    /// Returns the number of stored findings, without the omitted ones.
    pub(crate) fn len(&self) -> usize {
        self.stored.len()
    }

    /// Returns the stored findings, to change them in place.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [Diagnostic] {
        &mut self.stored
    }

    fn count_omitted(&mut self, finding: &Diagnostic) {
        self.omitted.entry((finding.code.id, finding.suppressed)).or_insert((finding.code, 0)).1 += 1;
    }

    /// Returns whether there is an error.
    pub(crate) fn has_errors(&self) -> bool {
        self.stored.iter().any(|finding| finding.severity == Severity::Error)
            || self.omitted.values().any(|(code, _)| code.severity == Severity::Error)
    }

    /// Returns the stored findings, in order, and the numbers of omitted ones.
    pub(crate) fn into_parts(self) -> (Vec<Diagnostic>, OmittedFindings) {
        let omitted = self.omitted.into_iter();
        (
            self.stored,
            OmittedFindings(omitted.map(|((_, suppressed), (code, number))| (code, suppressed, number)).collect()),
        )
    }
}

/// Keeps only the first finding with each help among those whose code is reported once per run.
pub(crate) fn deduplicate_run_findings(diagnostics: &mut Vec<Diagnostic>) {
    let mut reported_helps = BTreeSet::new();
    diagnostics
        .retain(|finding| !finding.code.has(Attribute::OncePerRun) || reported_helps.insert(finding.help.clone()));
}

/// The numbers of omitted findings, by code and by whether they are suppressed.
#[derive(Debug)]
pub(crate) struct OmittedFindings(Vec<(&'static Code, bool, usize)>);

impl OmittedFindings {
    /// Creates findings about the omitted ones, with the highest severity among them. Suppressed ones are counted
    /// separately, in a finding that is suppressed, too.
    pub(crate) fn report(&self, options: &Options) -> Vec<Diagnostic> {
        [false, true].into_iter().filter_map(|suppressed| self.report_part(suppressed, options)).collect()
    }

    /// Creates the finding about those omitted findings that are suppressed, or about the others.
    fn report_part(&self, suppressed: bool, options: &Options) -> Option<Diagnostic> {
        let adjust_severity = |(code, number)| Some((options.adjust(Diagnostic::new(code, ""))?.severity, number));
        let omitted = self
            .0
            .iter()
            .filter(|(_, is_suppressed, _)| *is_suppressed == suppressed)
            .map(|(code, _, number)| (*code, *number));
        // Suppressed warnings are not reported; `suppressed` counts them.
        let omitted = omitted.filter(|(code, _)| !suppressed || code.severity == Severity::Error);
        let omitted: Vec<(Severity, usize)> = omitted.filter_map(adjust_severity).collect();
        let most_severe = omitted.iter().map(|(severity, _)| *severity).min()?;
        let number: usize = omitted.iter().map(|(_, number)| number).sum();
        let errors: usize =
            omitted.iter().filter(|(severity, _)| *severity == Severity::Error).map(|(_, number)| number).sum();
        let ignored = if suppressed { " that annotations suppress" } else { "" };
        let message = format!(
            "the run has {number} more findings{ignored}, {errors} of them errors; at most {MAX_FINDINGS} are reported"
        );
        let mut report = Diagnostic::new(&codes::LIMIT_EXCEEDED, message);
        report.severity = most_severe;
        report.suppressed = suppressed;
        Some(report)
    }

    /// Returns the number of suppressed findings among the omitted ones.
    pub(crate) fn suppressed(&self) -> usize {
        self.0.iter().filter(|(_, suppressed, _)| *suppressed).map(|(.., number)| number).sum()
    }
}

/// Sorts findings by file, line, code, column and text. Findings without a location come first.
///
/// ```
/// use kubefoundry_compiler::pipeline::sort;
/// use kubefoundry_diagnostics::source::SourceSet;
/// let mut none = Vec::new();
/// sort(&mut none, &SourceSet::default());
/// ```
pub fn sort(diagnostics: &mut [Diagnostic], sources: &SourceSet) {
    let mut lines: BTreeMap<SourceId, LineIndex<'_>> = BTreeMap::new();
    for location in diagnostics.iter().filter_map(|diagnostic| diagnostic.location.as_ref()) {
        lines.entry(location.source).or_insert_with(|| LineIndex::new(&sources.get(location.source).text));
    }
    diagnostics.sort_by_cached_key(|diagnostic| {
        let file_and_line = diagnostic.location.as_ref().map(|location| {
            let line = lines.get(&location.source).map_or(0, |lines| lines.position(location.span.start).line);
            (location.source, line)
        });
        let span = diagnostic.location.as_ref().map(|location| location.span);
        (file_and_line, diagnostic.code.id, span, diagnostic.message.clone())
    });
}
