//! Writes changed inputs back to the files that they were read from.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::file_replacement::FileReplacement;

/// A file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{0}: {1}")]
pub(crate) struct InputChangeError(String, io::Error);

/// A file with a new text.
pub(crate) struct ChangedFile<'f> {
    /// The path under which it was read.
    pub(crate) path: &'f Path,
    /// The text that was read.
    pub(crate) original: &'f str,
    pub(crate) text: &'f str,
}

/// Writes all files. All texts are staged in temporary files first, so that an error changes no file. For a symbolic
/// link, the file that it points to is changed, if it is below the directory of `paths` in which the link was found.
///
/// # Errors
/// The first file that cannot be changed, with the reason.
pub(crate) fn change_inputs(files: &[ChangedFile<'_>], paths: &[PathBuf]) -> Result<(), InputChangeError> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        |error| InputChangeError(path, error)
    };
    let mut replacement = FileReplacement::default();
    for ChangedFile { path, original, text } in files {
        let target = resolve_target(path, paths).map_err(failed(path))?;
        check_unchanged(&target, original).map_err(failed(path))?;
        replacement.stage(&target, text, None).map_err(failed(path))?;
    }
    // The texts were read at the start of the run.
    for ChangedFile { path, original, .. } in files {
        check_unchanged(path, original).map_err(failed(path))?;
    }
    replacement.commit().map_err(|(target, error)| InputChangeError(target.display().to_string(), error))
}

/// Returns the file that is replaced for a path: the path itself, or the file to which a link in a directory of `paths`
/// leads.
///
/// # Errors
/// If a link leads out of its directory, or the file is read-only or has other names, which would keep the old text.
fn resolve_target(path: &Path, paths: &[PathBuf]) -> io::Result<PathBuf> {
    let refuse = |reason: &str| io::Error::new(io::ErrorKind::PermissionDenied, reason.to_owned());
    let target = fs::canonicalize(path)?;
    let is_link = fs::symlink_metadata(path)?.is_symlink();
    let is_allowed = |given: &PathBuf| match fs::canonicalize(given) {
        // The same link or file, however it is written.
        Ok(canonical) if !canonical.is_dir() => canonical == target,
        Ok(canonical) => target.starts_with(canonical),
        Err(_) => false,
    };
    if is_link && !paths.iter().any(is_allowed) {
        return Err(refuse("links to a file outside of the given directory, which is not changed"));
    }
    let metadata = fs::metadata(&target)?;
    if metadata.permissions().readonly() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if metadata.nlink() > 1 {
            return Err(refuse("has several hard links, of which only one would be changed"));
        }
    }
    Ok(target)
}

/// Checks that nothing else has changed a file since it was read.
fn check_unchanged(path: &Path, original: &str) -> io::Result<()> {
    if fs::read(path)? == original.as_bytes() {
        Ok(())
    } else {
        Err(io::Error::other("was changed while kubefoundry ran; run it again"))
    }
}
