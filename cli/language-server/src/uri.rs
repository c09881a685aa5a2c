//! `file:` URIs and the paths that they stand for.

use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use kubefoundry_yaml::append;
use lsp_types::Uri;

/// Returns the path of a `file:` URI of this machine, or `None` for any other URI, such as that of an unsaved document.
pub(crate) fn to_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path =
        String::from_utf8(decode_percent(path)).ok().filter(|path| path.starts_with('/') && !path.contains('\0'))?;
    // On Windows, `/c:/models` is the path `c:/models`.
    let drive = path.get(1..).filter(|rest| cfg!(windows) && rest.as_bytes().get(1) == Some(&b':'));
    Some(normalize(Path::new(drive.unwrap_or(&path))))
}

/// Resolves `.` and `..` lexically, so that equal paths compare equal.
fn normalize(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for component in path.components() {
        match component {
            std::path::Component::ParentDir => drop(normalized.pop()),
            std::path::Component::CurDir => {}
            other => normalized.push(other),
        }
    }
    normalized
}

fn decode_percent(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let escape = after.split_at_checked(2).filter(|_| *byte == b'%');
        let decoded = escape
            .and_then(|(digits, rest)| Some((u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?, rest)));
        let (byte, after) = decoded.unwrap_or((*byte, after));
        bytes.push(byte);
        rest = after;
    }
    bytes
}

/// Returns the `file:` URI of a path, or `None` if the path is not Unicode.
pub(crate) fn from_path(path: &Path) -> Option<Uri> {
    let text = path.to_str()?;
    let text = if cfg!(windows) { text.replace('\\', "/") } else { text.to_owned() };
    let slash = if text.starts_with('/') { "" } else { "/" };
    parse(&format!("file://{slash}{}", encode_percent(&text)))
}

/// Encodes what may not stand in the path of a URI.
pub(crate) fn encode_percent(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            append!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

pub(crate) fn parse(uri: &str) -> Option<Uri> {
    Uri::from_str(uri).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_survives_the_round_trip() {
        for path in ["/models/llama.yaml", "/a b/ü#?.yaml", "/100%/x.yaml"] {
            let uri = from_path(Path::new(path)).unwrap();
            assert_eq!(to_path(uri.as_str()), Some(PathBuf::from(path)), "{}", uri.as_str());
        }
        assert_eq!(from_path(Path::new("/a b/ü.yaml")).unwrap().as_str(), "file:///a%20b/%C3%BC.yaml");
    }

    #[test]
    fn reads_what_clients_write() {
        assert_eq!(to_path("file:///a/b%2Ec"), Some(PathBuf::from("/a/b.c")));
        assert_eq!(to_path("file://localhost/a"), Some(PathBuf::from("/a")));
        assert_eq!(to_path("file:///a/../b/./c"), Some(PathBuf::from("/b/c")), "no segment leads elsewhere");
        for other in ["untitled:Untitled-1", "http://host/a", "file://host/share/a", "file:///a%00b", "file:///%ff", ""]
        {
            assert_eq!(to_path(other), None, "{other}");
        }
    }
}
