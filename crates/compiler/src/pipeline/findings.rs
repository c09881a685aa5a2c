//! The findings of a run, in input order: as many as anybody reads, and how many more there are.

use std::collections::{BTreeMap, BTreeSet};

use super::suppress::{self, Suppression};
use crate::codes;
use crate::options::Options;
use kubefoundry_diagnostics::{Attribute, Code, Diagnostic, Severity};

/// Findings of one run, at the most: an input of nothing but mistakes is answered in bounded memory.
pub(super) const MAX_FINDINGS: usize = 10_000;

/// Collects findings, at most 10,000. Which ones are kept depends on their order alone, so findings may be collected in
/// parts that are then joined in order.
#[derive(Debug, Clone, Default)]
pub(super) struct RunFindings {
    kept: Vec<Diagnostic>,
    /// What is said once a run was said, for these.
    said: BTreeSet<Option<String>>,
    /// What is not kept, by code and by whether its object says to ignore it.
    left_out: BTreeMap<(&'static str, bool), (&'static Code, usize)>,
}

impl RunFindings {
    /// With these findings.
    pub(super) fn new(found: Vec<Diagnostic>) -> Self {
        let mut all = Self::default();
        for found in found {
            all.add(found);
        }
        all
    }

    /// Adds a finding.
    pub(super) fn add(&mut self, found: Diagnostic) {
        if found.code.has(Attribute::OncePerRun) && !found.suppressed && !self.said.insert(found.help.clone()) {
            return;
        }
        if self.kept.len() < MAX_FINDINGS {
            self.kept.push(found);
        } else {
            self.leave_out(&found);
        }
    }

    /// Adds the findings of one object, which `suppressions` of the same object may be about.
    pub(super) fn add_all(&mut self, mut found: Vec<Diagnostic>, suppressions: &mut [Suppression]) {
        // Of what is not kept nobody could tell later whether it was to be ignored.
        suppress::mark(&mut found, suppressions);
        for found in found {
            self.add(found);
        }
    }

    /// Adds what was found later in the input.
    pub(super) fn append(&mut self, later: Self) {
        later.kept.into_iter().for_each(|found| self.add(found));
        for (key, (code, number)) in later.left_out {
            self.left_out.entry(key).or_insert((code, 0)).1 += number;
        }
    }

    /// Keeps no more than `most`, and counts the rest.
    pub(super) fn limit(&mut self, most: usize) {
        for found in self.kept.split_off(most.min(self.kept.len())) {
            self.leave_out(&found);
        }
    }

    /// Marks what objects say to ignore: errors stay, and the rest of it is taken out and returned. Adds, with
    /// `every_finding` there is, what is said to be ignored and was not found.
    pub(super) fn suppress(&mut self, mut suppressions: Vec<Suppression>, every_finding: bool) -> Vec<Diagnostic> {
        if suppressions.is_empty() {
            return Vec::new();
        }
        suppress::mark(&mut self.kept, &mut suppressions);
        let gone = |diagnostic: &mut Diagnostic| diagnostic.suppressed && diagnostic.code.severity != Severity::Error;
        let suppressed = self.kept.extract_if(.., gone).collect();
        if every_finding {
            suppressions.iter().flat_map(Suppression::complaints).for_each(|complaint| self.add(complaint));
        }
        suppressed
    }

    /// How many are kept.
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// What is kept.
    pub(super) fn kept_mut(&mut self) -> &mut Vec<Diagnostic> {
        &mut self.kept
    }

    fn leave_out(&mut self, found: &Diagnostic) {
        self.left_out.entry((found.code.id, found.suppressed)).or_insert((found.code, 0)).1 += 1;
    }

    /// Whether an error was found.
    pub(super) fn has_errors(&self) -> bool {
        self.kept.iter().any(|found| found.severity == Severity::Error)
            || self.left_out.values().any(|(code, _)| code.severity == Severity::Error)
    }

    /// What is kept, in order, and how many of each code are not.
    pub(super) fn into_parts(self) -> (Vec<Diagnostic>, OmittedFindings) {
        let left_out = self.left_out.into_iter();
        (
            self.kept,
            OmittedFindings(left_out.map(|((_, suppressed), (code, number))| (code, suppressed, number)).collect()),
        )
    }
}

/// Keeps the first of the findings that are about the run rather than about one deployment.
pub(super) fn deduplicate_run_findings(diagnostics: &mut Vec<Diagnostic>) {
    let mut said = BTreeSet::new();
    diagnostics.retain(|found| !found.code.has(Attribute::OncePerRun) || said.insert(found.help.clone()));
}

/// How many findings are not kept, by code and by whether their objects say to ignore them.
#[derive(Debug)]
pub(super) struct OmittedFindings(Vec<(&'static Code, bool, usize)>);

impl OmittedFindings {
    /// What is said of them, as grave as the gravest of them is by the options; none when there are none. What objects
    /// say to ignore is counted apart, and what is said of it is to be ignored, too.
    pub(super) fn report(&self, options: &Options) -> Vec<Diagnostic> {
        [false, true].into_iter().filter_map(|suppressed| self.report_of(suppressed, options)).collect()
    }

    fn report_of(&self, suppressed: bool, options: &Options) -> Option<Diagnostic> {
        let adjusted = |(code, number)| Some((options.adjust(Diagnostic::new(code, ""))?.severity, number));
        let left_out = self.0.iter().filter(|it| it.1 == suppressed).map(|(code, _, number)| (*code, *number));
        // Warnings that are to be ignored are said nowhere, and counted by `suppressed`.
        let left_out = left_out.filter(|(code, _)| !suppressed || code.severity == Severity::Error);
        let left_out: Vec<(Severity, usize)> = left_out.filter_map(adjusted).collect();
        let gravest = left_out.iter().map(|(severity, _)| *severity).min()?;
        let number: usize = left_out.iter().map(|(_, number)| number).sum();
        let errors: usize = left_out.iter().filter(|(severity, _)| *severity == Severity::Error).map(|it| it.1).sum();
        let ignored = if suppressed { " that annotations suppress" } else { "" };
        let message = format!(
            "the run has {number} more findings{ignored}, {errors} of them errors; at most {MAX_FINDINGS} are reported"
        );
        let mut report = Diagnostic::new(&codes::LIMIT_EXCEEDED, message);
        report.severity = gravest;
        report.suppressed = suppressed;
        Some(report)
    }

    /// How many of them objects say to ignore.
    pub(super) fn suppressed(&self) -> usize {
        self.0.iter().filter(|it| it.1).map(|it| it.2).sum()
    }
}
