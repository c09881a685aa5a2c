//! The archives of a release, which package managers download.

use std::fs;
use std::path::Path;

use kubefoundry_yaml::fingerprint::sha256;

use super::Description;
use crate::Failure;
use crate::files::broken;

/// A target of rustc, and its names elsewhere.
pub(super) struct Platform {
    triple: &'static str,
    /// The operating system, as Go and krew name it.
    pub(super) system: &'static str,
    /// The architecture, as Go, Debian and krew name it.
    pub(super) architecture: &'static str,
    /// The blocks of a formula for Homebrew, unless it does not run there.
    pub(super) homebrew: Option<[&'static str; 2]>,
}

const PLATFORMS: [Platform; 5] = [
    Platform {
        triple: "x86_64-unknown-linux-gnu",
        system: "linux",
        architecture: "amd64",
        homebrew: Some(["on_linux", "on_intel"]),
    },
    Platform {
        triple: "aarch64-unknown-linux-gnu",
        system: "linux",
        architecture: "arm64",
        homebrew: Some(["on_linux", "on_arm"]),
    },
    Platform {
        triple: "x86_64-apple-darwin",
        system: "darwin",
        architecture: "amd64",
        homebrew: Some(["on_macos", "on_intel"]),
    },
    Platform {
        triple: "aarch64-apple-darwin",
        system: "darwin",
        architecture: "arm64",
        homebrew: Some(["on_macos", "on_arm"]),
    },
    Platform { triple: "x86_64-pc-windows-msvc", system: "windows", architecture: "amd64", homebrew: None },
];

/// An archive for one platform.
pub(super) struct Archive {
    pub(super) file: String,
    /// The folder that holds everything in it.
    pub(super) folder: String,
    pub(super) platform: &'static Platform,
    pub(super) sha256: String,
}

/// Finds the archives of a version in a folder, in the order of [`PLATFORMS`]. One for an unknown target is an error: the
/// release would have a file that no package manager installs.
pub(super) fn find(folder: &Path, description: &Description) -> Result<Vec<Archive>, Failure> {
    let start = format!("{}-{}-", description.name, description.version);
    let mut archives = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| broken(folder, &error))? {
        let entry = entry.map_err(|error| broken(folder, &error))?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let Some(stem) = name.strip_suffix(".tar.gz").or_else(|| name.strip_suffix(".zip")) else { continue };
        let Some(triple) = stem.strip_prefix(&start) else { continue };
        let platform = PLATFORMS.iter().find(|platform| platform.triple == triple);
        archives.push(Archive {
            file: name.to_string(),
            folder: stem.to_owned(),
            platform: platform.ok_or_else(|| broken(&path, format!("unknown target {triple:?}")))?,
            sha256: sha256(&fs::read(&path).map_err(|error| broken(&path, error))?),
        });
    }
    archives.sort_by_key(|archive| PLATFORMS.iter().position(|platform| platform.triple == archive.platform.triple));
    Ok(archives)
}
