//! File names in machine-readable reports: relative to the directory of the repository checkout, with `/` as separator.

use kubefoundry_yaml::append;

/// The working directory and the directory of the repository checkout, both absolute and with `/` as separator.
///
/// ```
/// use kubefoundry_diagnostics::render::Checkout;
/// let checkout = Checkout { root: "/repo".into(), directory: "/repo/models".into() };
/// assert_eq!(checkout.relative("phi.yaml").as_deref(), Some("models/phi.yaml"));
/// assert_eq!(checkout.relative("../kaito/phi.yaml").as_deref(), Some("kaito/phi.yaml"));
/// assert_eq!(checkout.relative("<stdin>"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checkout {
    /// The directory of the checkout, to which code hosts resolve file names.
    pub root: String,
    /// The working directory, to which the names of sources are relative.
    pub directory: String,
}

impl Checkout {
    /// Returns a name relative to the root. It is absolute for a file outside the root, and `None` for a source that is
    /// not a file, such as `<stdin>`.
    pub fn relative(&self, name: &str) -> Option<String> {
        if name.starts_with('<') && name.ends_with('>') {
            return None;
        }
        let absolute = if name.starts_with('/') { name.to_owned() } else { format!("{}/{name}", self.directory) };
        let mut parts: Vec<&str> = Vec::new();
        for part in absolute.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        let path = parts.join("/");
        let root = self.root.trim_matches('/');
        let below = match path.strip_prefix(root) {
            Some(rest) if root.is_empty() => Some(rest),
            Some(rest) => rest.strip_prefix('/'),
            None => None,
        };
        below.map(str::to_owned).or_else(|| Some(format!("/{path}")))
    }
}

/// Converts a file name to a URI reference (RFC 3986). Everything except unreserved characters and `/` is
/// percent-encoded.
pub(super) fn uri(name: &str) -> String {
    let mut uri = String::with_capacity(name.len());
    if name.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/') {
            uri.push(char::from(byte));
        } else {
            append!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code hosts know only paths within the repository.
    #[test]
    fn names_are_relative_to_the_root() {
        let names = |root: &str, directory: &str, name: &str| {
            Checkout { root: root.into(), directory: directory.into() }.relative(name)
        };
        for (root, directory, name, expected) in [
            ("/repo", "/repo", "models/a.yaml", "models/a.yaml"),
            ("/repo", "/repo", "./models//a.yaml", "models/a.yaml"),
            ("/repo/", "/repo", "/repo/models/a.yaml", "models/a.yaml"),
            ("/repo", "/repo/models", "a.yaml", "models/a.yaml"),
            ("/repo", "/repo/models", "../a.yaml", "a.yaml"),
            ("/repo", "/repo", "/repository/a.yaml", "/repository/a.yaml"),
            ("/repo", "/repo", "../../../a.yaml", "/a.yaml"),
            ("/", "/tmp", "a.yaml", "tmp/a.yaml"),
            ("", "", "a.yaml", "a.yaml"),
        ] {
            assert_eq!(names(root, directory, name).as_deref(), Some(expected), "{name} in {directory} of {root}");
        }
        assert_eq!(names("/repo", "/repo", "<command line>"), None);
    }

    /// A colon would turn the first part of a relative name into a scheme, and a space would end the reference.
    #[test]
    fn uris_are_percent_encoded() {
        assert_eq!(uri("a b/c:d%é.yaml"), "a%20b/c%3Ad%25%C3%A9.yaml");
        assert_eq!(uri("/tmp/a.yaml"), "file:///tmp/a.yaml");
    }
}
