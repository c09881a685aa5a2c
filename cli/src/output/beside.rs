//! A file's new text, beside its place until everything is known to be good.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// Writes a text to a temporary file in `folder`, with the permissions of the file that it is to replace, or those of
/// any other file that a program makes. It is gone when it is dropped, whatever happens.
pub(crate) fn beside(folder: &Path, text: &str, permissions: Option<&Permissions>) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".kubefoundry-");
    #[cfg(unix)]
    let builder = {
        use std::os::unix::fs::PermissionsExt as _;
        // The umask applies.
        builder.permissions(Permissions::from_mode(0o666))
    };
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions.clone())?;
    }
    Ok(file)
}
