//! The releases of runtimes: the versions of the engines in their images, and the choice of a release for a version that
//! a user names.

use crate::runtime_version::{RuntimeMatch, find_nearest, is_before};

/// A release of a runtime.
#[derive(Debug, PartialEq, Eq)]
pub struct Release {
    /// The version in the tags of its images: `1.3.0`.
    pub version: &'static str,
    /// The version of its Python package: `1.3.0.post1`.
    pub package: &'static str,
    /// The engines in its images, by the names of their packages.
    pub engines: &'static [(&'static str, EnginePin)],
}

/// The version of an engine in a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnginePin {
    /// The package requires exactly this version.
    Exactly(&'static str),
    /// The package requires this version or a newer one, so the version in the images is not known.
    AtLeast(&'static str),
}

impl EnginePin {
    /// Returns the version without the relation.
    pub fn version(self) -> &'static str {
        match self {
            Self::Exactly(version) | Self::AtLeast(version) => version,
        }
    }
}

impl Release {
    /// Creates a release whose package has the version of its images.
    pub const fn new(version: &'static str, engines: &'static [(&'static str, EnginePin)]) -> Self {
        Self { version, package: version, engines }
    }

    /// Returns whether it is older than a version.
    pub fn is_before(&self, version: &str) -> bool {
        is_before(self.version, version)
    }

    /// Returns the version of an engine by the name of its package.
    pub fn engine(&self, name: &str) -> Option<EnginePin> {
        self.engines.iter().find(|(engine, _)| *engine == name).map(|(_, pin)| *pin)
    }
}

/// The release whose flags are used for a version that a user names.
#[derive(Debug, Clone, Copy)]
pub struct FoundRelease {
    /// The release whose facts are used.
    pub release: &'static Release,
    /// How it relates to the version that was asked for.
    pub relation: RuntimeMatch,
}

/// Finds the release for a version (`1.5.0`) or for the tag of a variant (`1.5.0-cuda13`). Returns `None` if the text is
/// neither.
pub fn find_release(releases: &'static [Release], text: &str) -> Option<FoundRelease> {
    let (version, relation) = find_nearest(releases.iter().map(|release| release.version), text)?;
    let release = releases.iter().find(|release| release.version == version)?;
    Some(FoundRelease { release, relation })
}

#[cfg(test)]
mod tests {
    use super::*;

    static RELEASES: &[Release] =
        &[Release::new("1.4.0", &[]), Release::new("1.0.9", &[]), Release::new("1.10.0", &[])];

    fn found(text: &str) -> Option<(&'static str, RuntimeMatch)> {
        find_release(RELEASES, text).map(|found| (found.release.version, found.relation))
    }

    #[test]
    fn finds_a_release_by_its_version_and_by_its_variants() {
        assert_eq!(found("1.4.0"), Some(("1.4.0", RuntimeMatch::Same)));
        assert_eq!(found("1.4.0-cuda13"), Some(("1.4.0", RuntimeMatch::Same)));
    }

    #[test]
    fn falls_back_to_the_nearest_older_release() {
        assert_eq!(found("1.9.7"), Some(("1.4.0", RuntimeMatch::NearestOlder)));
        assert_eq!(found("2.0.0-dev"), Some(("1.10.0", RuntimeMatch::NearestOlder)));
        assert_eq!(found("99999999999999999999.0.0"), Some(("1.10.0", RuntimeMatch::NearestOlder)));
    }

    #[test]
    fn falls_back_to_the_oldest_release() {
        assert_eq!(found("0.7.1"), Some(("1.0.9", RuntimeMatch::Oldest)));
    }

    #[test]
    fn finds_nothing_for_what_is_no_version() {
        for text in ["", "latest", "9", "1.4", "1.4.0.post1", "v1.4.0"] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
