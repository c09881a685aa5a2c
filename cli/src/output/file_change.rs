//! What a run changes in an output directory: as a list of files, and as a unified diff.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubefoundry_reports::diff::unified_diff;
use kubefoundry_yaml::append_line;
use kubefoundry_yaml::text::printable;

use crate::style::count;

/// The files of an output directory before and after a run.
#[derive(Debug, Default)]
pub(crate) struct DirectoryChanges {
    /// The files of generated objects that are created or changed, in output order, then the stale ones, sorted.
    pub(super) files: Vec<FileChange>,
    /// The files whose content is right already.
    pub(super) unchanged: Vec<Arc<Path>>,
    /// Stale files that stay, with the reason.
    pub(super) kept: Vec<(PathBuf, String)>,
}

/// A file before and after a run that changes it; `None` if it does not exist.
#[derive(Debug)]
pub(super) struct FileChange {
    pub(super) path: PathBuf,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

impl FileChange {
    /// Returns one word for the change.
    fn verb(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "created",
            (_, None) => "removed",
            _ => "changed",
        }
    }

    fn diff(&self) -> String {
        let path = printable(&self.path.display().to_string()).into_owned();
        let side = |text: &Option<String>| text.as_ref().map_or("/dev/null", |_| path.as_str()).to_owned();
        let (before, after) = (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        unified_diff(before, after, &side(&self.before), &side(&self.after))
    }
}

impl DirectoryChanges {
    /// Whether the directory is as a run would leave it.
    pub(crate) fn is_fresh(&self) -> bool {
        self.files.is_empty()
    }

    /// Iterates over the files that are removed.
    pub(super) fn removed(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().filter(|file| file.after.is_none()).map(|file| file.path.as_path())
    }

    /// Formats a line for each file that is not as before, and one for the number of the others:
    /// `created out/prod/workspace_phi.yaml`.
    pub(crate) fn list(&self) -> String {
        let files = self.files.iter().map(|file| line(file.verb(), &file.path, ""));
        let kept = self.kept.iter().map(|(path, reason)| line("kept", path, &format!(": {reason}")));
        let mut out: String = files.chain(kept).collect();
        if !self.unchanged.is_empty() {
            append_line!(out, "{} unchanged", count(self.unchanged.len(), "file"));
        }
        out
    }

    /// Formats the numbers of files by change: `1 created, 2 changed`.
    pub(crate) fn summary(&self) -> String {
        let number = |verb| self.files.iter().filter(|file| file.verb() == verb).count();
        let parts = ["created", "changed", "removed"].map(|verb| (number(verb), verb));
        let parts: Vec<String> =
            parts.iter().filter(|(number, _)| *number > 0).map(|(number, verb)| format!("{number} {verb}")).collect();
        parts.join(", ")
    }

    /// Formats the changes as a unified diff, which `patch -p0` applies.
    pub(crate) fn diff(&self) -> impl Iterator<Item = String> {
        self.files.iter().map(FileChange::diff)
    }
}

fn line(verb: &str, path: &Path, reason: &str) -> String {
    printable(&format!("{verb} {}{reason}", path.display())).into_owned() + "\n"
}
