//! `lint --fix` and `lint --diff`: the changes that findings offer, made in memory and then written, or shown.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use kubefoundry_compiler::pipeline::compile_as;
use kubefoundry_compiler::{Compilation, Thoroughness};
use kubefoundry_diagnostics::Fix;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::edit::apply_groups;
use similar::TextDiff;

use super::fixes_in_files;
use crate::input::Input;
use crate::output::beside::beside;

/// A fix may uncover what another one mends: a field that was misspelt has a value, too. More rounds than this mean
/// that two fixes undo each other.
const ROUNDS: usize = 10;

/// A file could not be written; then none was changed.
#[derive(Debug, thiserror::Error)]
#[error("{0}: {1}")]
pub(crate) struct MendError(String, io::Error);

/// What was changed.
#[derive(Debug, Default)]
pub(super) struct Mended {
    /// How many fixes were made.
    pub(super) fixes: usize,
    /// The texts that changed, as they were.
    before: BTreeMap<SourceId, String>,
}

/// Makes every change that findings offer, until none is left. What the command line says is nobody's file.
pub(super) fn mend(input: &mut Input) -> Mended {
    let mut mended = Mended::default();
    for _ in 0..ROUNDS {
        let compilation = compile_as(&input.sources, Thoroughness::EveryRule);
        let mut made = 0;
        for (id, fixes) in offered(&compilation, input) {
            let text = &input.sources.get(id).text;
            let (fixed, count) = apply_groups(text, fixes.iter().map(|fix| fix.edits.as_slice()));
            if count == 0 || fixed == *text || broke(text, &fixed) {
                continue;
            }
            let before = text.clone();
            mended.before.entry(id).or_insert(before);
            input.sources.set_text(id, fixed);
            made += count;
        }
        if made == 0 {
            break;
        }
        mended.fixes += made;
    }
    mended
}

fn offered(compilation: &Compilation<()>, input: &Input) -> BTreeMap<SourceId, Vec<Fix>> {
    let mut offered: BTreeMap<SourceId, Vec<Fix>> = BTreeMap::new();
    for diagnostic in &compilation.diagnostics {
        if let (Some(fix), Some(location), false) = (&diagnostic.fix, &diagnostic.location, diagnostic.suppressed)
            // Bytes that are no text cannot be written back as they were.
            && input.sources.get(location.source).encoding_error.is_none()
            && (input.files.contains_key(&location.source) || input.stdin == Some(location.source))
        {
            offered.entry(location.source).or_default().push(fix.clone());
        }
    }
    offered
}

/// Whether a text could be read before and cannot be read now. No fix should do that; a file is not where to find out.
fn broke(before: &str, after: &str) -> bool {
    let fails = |text: &str| yaml::parse(text, &yaml::Limits::default()).failure.is_some();
    fails(after) && !fails(before)
}

impl Mended {
    /// `fixed 2 findings in 1 file`.
    pub(super) fn summary(&self, verb: &str) -> String {
        fixes_in_files(verb, self.fixes, self.before.len())
    }

    /// The changes as unified diffs.
    pub(super) fn diff(&self, input: &Input) -> String {
        let one = |(id, before): (&SourceId, &String)| {
            let source = input.sources.get(*id);
            let diff = TextDiff::from_lines(before.as_str(), source.text.as_str());
            diff.unified_diff().header(&source.name, &source.name).to_string()
        };
        self.before.iter().map(one).collect()
    }

    /// Writes every changed file: all texts beside their files first, and then each into its place. A link stays one:
    /// what it leads to is changed.
    pub(super) fn write(&self, input: &Input) -> Result<(), MendError> {
        let mut written = Vec::new();
        for id in self.before.keys() {
            let Some(path) = input.files.get(id) else { continue };
            let failed = |error| MendError(path.display().to_string(), error);
            let place: PathBuf = fs::canonicalize(path).map_err(failed)?;
            let permissions = fs::metadata(&place).map_err(failed)?.permissions();
            if permissions.readonly() {
                return Err(failed(io::Error::from(io::ErrorKind::PermissionDenied)));
            }
            let folder = place.parent().unwrap_or(&place);
            let text = &input.sources.get(*id).text;
            written.push((beside(folder, text, Some(&permissions)).map_err(failed)?, place));
        }
        for (file, place) in written {
            file.persist(&place).map_err(|error| MendError(place.display().to_string(), error.error))?;
        }
        Ok(())
    }
}
