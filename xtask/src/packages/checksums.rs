//! The digests of what a release consists of.

use std::fs;
use std::path::{Path, PathBuf};

use kubefoundry_yaml::append_line;
use kubefoundry_yaml::fingerprint::sha256;
use serde_json::Value;

use crate::Failure;
use crate::files::broken;

pub(super) const FILE: &str = "SHA256SUMS";

/// The folder of the images, each of which is an OCI layout.
const IMAGES: &str = "images";

/// What has a digest, by its name.
pub(super) struct Digest {
    pub(super) name: String,
    pub(super) sha256: String,
}

/// Returns the digests of the files in a folder, except [`FILE`] itself, sorted by name. The files of an image are not
/// among them: an image has one digest, and it covers all of them.
pub(super) fn digests(folder: &Path) -> Result<Vec<Digest>, Failure> {
    let mut digests = Vec::new();
    for path in entries(folder)?.into_iter().filter(|path| path.is_file()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name != FILE {
            digests.push(Digest { name, sha256: sha256(&fs::read(&path).map_err(|error| broken(&path, error))?) });
        }
    }
    Ok(digests)
}

/// Returns the digests of the images in a folder: those under which a registry has them.
pub(super) fn images(folder: &Path) -> Result<Vec<Digest>, Failure> {
    let folder = folder.join(IMAGES);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut digests = Vec::new();
    for path in entries(&folder)? {
        let index = path.join("index.json");
        let text = fs::read(&index).map_err(|error| broken(&index, &error))?;
        let value: Value = serde_json::from_slice(&text).map_err(|error| broken(&index, &error))?;
        let [manifest] = value["manifests"].as_array().map(Vec::as_slice).unwrap_or_default() else {
            return Err(broken(&index, "expected one manifest"));
        };
        let digest = manifest["digest"].as_str().and_then(|digest| digest.strip_prefix("sha256:"));
        digests.push(Digest {
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            sha256: digest.ok_or_else(|| broken(&index, "expected a digest with sha256"))?.to_owned(),
        });
    }
    Ok(digests)
}

/// Returns the lines that `sha256sum --check` reads.
pub(super) fn lines(digests: &[Digest]) -> String {
    digests.iter().fold(String::new(), |mut lines, digest| {
        append_line!(lines, "{}  {}", digest.sha256, digest.name);
        lines
    })
}

/// Returns the paths in a folder, sorted.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder).map_err(|error| broken(folder, &error))?;
    let mut paths = entries.map(|entry| entry.map(|it| it.path())).collect::<Result<Vec<_>, _>>();
    if let Ok(paths) = &mut paths {
        paths.sort();
    }
    paths.map_err(|error| broken(folder, &error))
}
