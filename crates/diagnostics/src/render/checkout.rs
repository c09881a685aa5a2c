//! How reports for machines name files: relative to the directory that a repository is checked out in, with `/`.

use std::fmt::Write as _;

/// Where the program runs and where the repository is checked out: two absolute directories, `/` between their parts.
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
    /// Where the repository is checked out: what code hosts count file names from.
    pub root: String,
    /// The working directory: what the names of texts count from.
    pub directory: String,
}

impl Checkout {
    /// The name from the root; absolute when it is not below it, and `None` for what is no file, such as `<stdin>`.
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

/// A file name as a URI reference (RFC 3986): everything but unreserved characters and `/` is percent-encoded.
pub(super) fn uri(name: &str) -> String {
    let mut uri = String::with_capacity(name.len());
    if name.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/') {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A code host knows only paths within the repository.
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

    /// A colon would make the first part of a relative name a scheme, a space end the reference.
    #[test]
    fn uris_are_percent_encoded() {
        assert_eq!(uri("a b/c:d%é.yaml"), "a%20b/c%3Ad%25%C3%A9.yaml");
        assert_eq!(uri("/tmp/a.yaml"), "file:///tmp/a.yaml");
    }
}
