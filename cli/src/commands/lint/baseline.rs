//! Baselines: known findings, listed in a file, that `lint` does not report.
//!
//! Only a flag names the file. Options found beside the input cannot, because they would hide the findings of the pull
//! request that adds them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kubefoundry_diagnostics::render::{Checkout, to_report};
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_diagnostics::{Attribute, Diagnostic};
use kubefoundry_yaml::secret::mask;
use kubefoundry_yaml::text::one_line;
use serde::{Deserialize, Serialize};

use crate::output::file_replacement::FileReplacement;

/// The version of the format. It increases when a field is removed or changes its meaning.
const VERSION: u32 = 1;

/// Reasons why a baseline cannot be used or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BaselineError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: not a baseline, as --write-baseline writes it: {message}", path.display())]
    Format { path: PathBuf, message: String },
    #[error("{}: a baseline of version {version}, expected version {VERSION}", path.display())]
    Version { path: PathBuf, version: u32 },
}

/// The content of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BaselineFile {
    version: u32,
    findings: Vec<Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The name of the file, relative to the root of the repository; empty if the finding is about the whole run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    file: String,
    /// The kind, namespace and name of the object; empty if the finding is about no object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    object: String,
    code: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    path: String,
    /// Number of findings that are equal in all of these.
    count: usize,
}

/// What makes two findings the same: one problem of one field, regardless of the line and of the message, which may
/// change with the version of the program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    file: String,
    object: String,
    code: String,
    path: String,
}

/// The findings that a baseline lists.
#[derive(Debug)]
pub(super) struct Baseline {
    path: PathBuf,
    checkout: Checkout,
    counts: BTreeMap<Key, usize>,
}

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a baseline of this version.
    pub(super) fn read(path: &Path) -> Result<Self, BaselineError> {
        let failed = |source| BaselineError::File { path: path.to_owned(), source };
        Self::parse(path, &fs::read_to_string(path).map_err(failed)?)
    }

    /// Reads the text of a baseline.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, BaselineError> {
        let failed = |source| BaselineError::File { path: path.to_owned(), source };
        let format_error = |error: serde_json::Error| BaselineError::Format {
            path: path.to_owned(),
            message: one_line(&error.to_string()),
        };
        let file: BaselineFile = serde_json::from_str(text).map_err(format_error)?;
        if file.version != VERSION {
            return Err(BaselineError::Version { path: path.to_owned(), version: file.version });
        }
        let mut counts = BTreeMap::new();
        for Entry { file, object, code, path, count } in file.findings {
            *counts.entry(Key { file, object, code, path }).or_default() += count;
        }
        Ok(Self { path: path.to_owned(), checkout: repository().map_err(failed)?, counts })
    }

    /// Creates the baseline of these findings.
    ///
    /// # Errors
    /// If the working directory does not exist.
    pub(super) fn from_findings(
        path: &Path,
        findings: &[Diagnostic],
        sources: &SourceSet,
    ) -> Result<Self, BaselineError> {
        let checkout = repository().map_err(|source| BaselineError::File { path: path.to_owned(), source })?;
        let mut baseline = Self { path: path.to_owned(), checkout, counts: BTreeMap::new() };
        for key in findings.iter().filter_map(|finding| baseline.key(finding, sources)).collect::<Vec<_>>() {
            *baseline.counts.entry(key).or_default() += 1;
        }
        Ok(baseline)
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the baseline, sorted, so that it changes only where findings do.
    ///
    /// # Errors
    /// If the file cannot be written; it then keeps its content.
    pub(super) fn write(&self) -> Result<(), BaselineError> {
        let to_entry = |(key, count): (&Key, &usize)| {
            let Key { file, object, code, path } = key.clone();
            Entry { file, object, code, path, count: *count }
        };
        let findings = self.counts.iter().map(to_entry).collect();
        let text = to_report(&BaselineFile { version: VERSION, findings });
        let mut replacement = FileReplacement::default();
        let staged = replacement.stage(&self.path, &text, None);
        let written = staged.and_then(|()| replacement.commit().map_err(|(_, error)| error));
        written.map_err(|source| BaselineError::File { path: self.path.clone(), source })
    }

    /// Removes the findings that the baseline lists. Of equal findings, it removes as many as are listed.
    pub(super) fn remove_known(&self, findings: &mut Vec<Diagnostic>, sources: &SourceSet) -> Matches {
        let mut left = self.counts.clone();
        let before = findings.len();
        findings.retain(|finding| {
            let count = self.key(finding, sources).and_then(|key| left.get_mut(&key)).filter(|count| **count > 0);
            count.map(|count| *count -= 1).is_none()
        });
        let names: BTreeSet<String> = sources
            .iter()
            .filter_map(|(_, source)| Some(mask(&self.checkout.relative(&source.name)?).into_owned()))
            .collect();
        let was_checked = |file: &String| {
            file.is_empty()
                || names.contains(file)
                || !Path::new(&self.checkout.root).join(file.trim_start_matches('/')).exists()
        };
        let outdated = left.iter().filter(|(key, _)| was_checked(&key.file)).map(|(_, count)| count).sum();
        Matches { found: before - findings.len(), outdated }
    }

    /// Returns the key of a finding. One without a file cannot be in a baseline: it is about the command line or about
    /// the whole run.
    fn key(&self, finding: &Diagnostic, sources: &SourceSet) -> Option<Key> {
        let location = finding.location.as_ref()?;
        let source = sources.get(location.source);
        if !source.purpose.has_resources() {
            return None;
        }
        if finding.code.has(Attribute::OncePerRun) {
            // Only the first of many equal findings is reported, and which one that is depends on the other files.
            let code = finding.code.id.to_owned();
            return Some(Key { file: String::new(), object: String::new(), code, path: String::new() });
        }
        Some(Key {
            // Standard input has no file; its name tells it from one.
            file: mask(&self.checkout.relative(&source.name).unwrap_or_else(|| source.name.clone())).into_owned(),
            object: finding.object.as_ref().map(ToString::to_string).unwrap_or_default(),
            code: finding.code.id.to_owned(),
            path: mask(&location.path.to_string()).into_owned(),
        })
    }
}

/// What a baseline and the findings of a run have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Matches {
    /// Number of findings that the baseline lists.
    pub(super) found: usize,
    /// Number of listed findings that no longer occur, of files that were checked or no longer exist.
    pub(super) outdated: usize,
}

/// Returns the root of the repository, to which the names in a baseline are relative, so that neither the working directory
/// nor the place of the baseline matters. Outside of a repository, it is the working directory.
fn repository() -> io::Result<Checkout> {
    let directory = std::env::current_dir()?;
    let root = directory.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&directory);
    Ok(Checkout { root: root.display().to_string(), directory: directory.display().to_string() })
}
