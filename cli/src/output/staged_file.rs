//! Temporary files that replace their targets once all of them are written.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// Writes a text to a temporary file in `folder`; the caller moves it to its target with `persist`.
///
/// `folder` must be that of the target, so that the move is an atomic rename. The file gets the given permissions, or
/// the default ones of new files. It is deleted when dropped.
pub(crate) fn stage_file(folder: &Path, text: &str, permissions: Option<&Permissions>) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".kubefoundry-");
    #[cfg(unix)]
    let builder = {
        use std::os::unix::fs::PermissionsExt as _;
        // The default of tempfile is 0600; the umask applies to these permissions as it does to any new file.
        builder.permissions(Permissions::from_mode(0o666))
    };
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions.clone())?;
    }
    Ok(file)
}
