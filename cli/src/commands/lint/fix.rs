//! `lint --fix` and `lint --diff`: fixes are applied in memory, and then written to the files or printed as a diff.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kubefoundry_compiler::pipeline::compile_as;
use kubefoundry_compiler::{Compilation, Thoroughness};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::{SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Fix};
use kubefoundry_editor::fixes::breaks_syntax;
use kubefoundry_input::Input;
use kubefoundry_reports::diff::unified_diff;
use kubefoundry_yaml::edit::apply_groups;

use super::fixes_in_files;
use crate::output::input_changes::{ChangedFile, InputChangeError, change_inputs};

/// A fix can reveal a finding with another fix: once a misspelled field is corrected, its value is checked, too. If
/// there are still fixes after this many rounds, two of them undo each other.
const MAX_ROUNDS: usize = 10;

/// The fixes that were applied in memory.
#[derive(Debug, Default)]
pub(super) struct AppliedFixes {
    pub(super) fixes: usize,
    /// The original text of each changed source.
    originals: BTreeMap<SourceId, String>,
}

/// Applies the fixes of all findings, repeatedly until none is left. `retain` removes the findings that are not reported,
/// which are not fixed either.
pub(super) fn apply_fixes(input: &mut Input, retain: impl Fn(&mut Vec<Diagnostic>, &SourceSet)) -> AppliedFixes {
    let mut applied = AppliedFixes::default();
    for _ in 0..MAX_ROUNDS {
        let mut compilation = compile_as(&BUILTIN, &input.sources, Thoroughness::EveryRule);
        retain(&mut compilation.diagnostics, &input.sources);
        let mut round_fixes = 0;
        for (id, fixes) in collect_fixes(&compilation, input) {
            let text = &input.sources.get(id).text;
            let (fixed, count) = apply_groups(text, fixes.iter().map(|fix| fix.edits.as_slice()));
            if count == 0 || fixed == *text || breaks_syntax(text, &fixed) {
                continue;
            }
            let original = text.clone();
            applied.originals.entry(id).or_insert(original);
            input.sources.set_text(id, fixed);
            round_fixes += count;
        }
        if round_fixes == 0 {
            break;
        }
        applied.fixes += round_fixes;
    }
    applied
}

/// Collects the fixes for texts that can be written back: files and standard input, but not the command line.
fn collect_fixes(compilation: &Compilation<()>, input: &Input) -> BTreeMap<SourceId, Vec<Fix>> {
    let mut fixes_by_source: BTreeMap<SourceId, Vec<Fix>> = BTreeMap::new();
    for diagnostic in &compilation.diagnostics {
        if let (Some(fix), Some(location), false) = (&diagnostic.fix, &diagnostic.location, diagnostic.suppressed)
            // A source that is not UTF-8 was decoded with losses and cannot be written back.
            && input.sources.get(location.source).encoding_error.is_none()
            && (input.files.contains_key(&location.source) || input.stdin == Some(location.source))
        {
            fixes_by_source.entry(location.source).or_default().push(fix.clone());
        }
    }
    fixes_by_source
}

impl AppliedFixes {
    /// Formats the last line of the report: `fixed 2 findings in 1 file`.
    pub(super) fn summary(&self, verb: &str) -> String {
        fixes_in_files(verb, self.fixes, self.originals.len())
    }

    /// Formats the changes as unified diffs.
    pub(super) fn diff(&self, input: &Input) -> String {
        let diff_one = |(id, before): (&SourceId, &String)| {
            let source = input.sources.get(*id);
            unified_diff(before, &source.text, &source.name, &source.name)
        };
        self.originals.iter().map(diff_one).collect()
    }

    /// Writes every changed file.
    pub(super) fn write(&self, input: &Input, paths: &[PathBuf]) -> Result<(), InputChangeError> {
        let files = self.originals.iter().filter_map(|(id, original)| {
            Some(ChangedFile { path: input.files.get(id)?, original, text: &input.sources.get(*id).text })
        });
        change_inputs(&files.collect::<Vec<_>>(), paths)
    }
}
