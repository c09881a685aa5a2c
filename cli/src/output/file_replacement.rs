//! Replaces files: all texts are written to temporary files beside their targets, which are then renamed. Files can be
//! removed in the same step.
//!
//! A target is a regular file or absent, never a link, a device, a pipe or a directory: renaming would replace it for
//! every other program. On a signal, the temporary files are removed before the program ends, and a signal during the
//! renaming waits until all files are renamed.

use std::fs::{self, Metadata, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use kubefoundry_input::temporary;
use tempfile::{Builder, NamedTempFile};

/// Texts that replace files once all of them are written. Dropping it removes the temporary files.
#[derive(Debug, Default)]
pub(crate) struct FileReplacement {
    staged: Vec<(NamedTempFile, PathBuf)>,
    removals: Vec<PathBuf>,
}

impl FileReplacement {
    /// Writes a text to a temporary file in the folder of `target`. The file gets the mode and, where the system allows
    /// it, the owner of the file that it replaces; `permissions` are those of a new file, if not the default ones.
    ///
    /// # Errors
    /// If the target is not a regular file, or the temporary file cannot be written.
    pub(crate) fn stage(&mut self, target: &Path, text: &str, permissions: Option<&Permissions>) -> io::Result<()> {
        let existing = check_target(target)?;
        let mut builder = Builder::new();
        builder.prefix(".kubefoundry-");
        #[cfg(unix)]
        let builder = {
            use std::os::unix::fs::PermissionsExt as _;
            // The default of tempfile is 0600; the umask applies to these permissions as it does to any new file.
            builder.permissions(Permissions::from_mode(0o666))
        };
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Without the lock, a signal between the creation and the registration would leave the file behind.
        let mut registered = temporary::paths();
        let mut file = builder.tempfile_in(folder)?;
        registered.insert(file.path().to_owned());
        drop(registered);
        file.write_all(text.as_bytes())?;
        if let Some(existing) = &existing {
            keep_owner(file.as_file(), existing);
            // After the owner, because a change of the owner clears the set-group-ID bit.
            file.as_file().set_permissions(existing.permissions())?;
        } else if let Some(permissions) = permissions {
            file.as_file().set_permissions(permissions.clone())?;
        }
        self.staged.push((file, target.to_owned()));
        Ok(())
    }

    /// Marks a file for removal once all texts are in place.
    ///
    /// # Errors
    /// If the target is not a regular file, or cannot be examined.
    pub(crate) fn stage_removal(&mut self, target: &Path) -> io::Result<()> {
        check_target(target)?.ok_or(ErrorKind::NotFound)?;
        self.removals.push(target.to_owned());
        Ok(())
    }

    /// Renames all temporary files to their targets, and removes the files marked for removal.
    ///
    /// # Errors
    /// The first target that cannot be replaced or removed, with the reason. Files before it are replaced.
    pub(crate) fn commit(mut self) -> Result<(), (PathBuf, io::Error)> {
        let mut registered = temporary::paths();
        for (file, target) in self.staged.drain(..) {
            let temporary = file.path().to_owned();
            // The target may have changed since it was staged.
            check_target(&target).map_err(|error| (target.clone(), error))?;
            file.persist(&target).map_err(|error| (target, error.error))?;
            registered.remove(&temporary);
        }
        for target in self.removals.drain(..) {
            fs::remove_file(&target).map_err(|error| (target, error))?;
        }
        Ok(())
    }
}

impl Drop for FileReplacement {
    fn drop(&mut self) {
        if self.staged.is_empty() {
            return;
        }
        let mut registered = temporary::paths();
        for (file, _) in self.staged.drain(..) {
            registered.remove(file.path());
        }
    }
}

/// Returns the metadata of a file that may be replaced, or `None` if there is none.
///
/// # Errors
/// If the target is a link or anything else than a regular file, or cannot be examined.
pub(crate) fn check_target(target: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(target) {
        Ok(metadata) if metadata.is_file() => Ok(Some(metadata)),
        Ok(metadata) if metadata.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(metadata) if metadata.is_symlink() => {
            Err(io::Error::new(ErrorKind::InvalidInput, "is a symbolic link, expected a regular file or none"))
        }
        Ok(_) => Err(io::Error::new(ErrorKind::InvalidInput, "is not a regular file, expected one or none")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Gives a new file the owner and group of the file that it replaces. Only root may give files away, so a failure is
/// ignored: the file then belongs to the user who changed it, as with most editors.
#[cfg(unix)]
fn keep_owner(file: &fs::File, existing: &Metadata) {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let _ = fchown(file, Some(existing.uid()), Some(existing.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_: &fs::File, _: &Metadata) {}
