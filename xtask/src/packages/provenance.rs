//! The provenance of a release: an in-toto statement with a predicate of SLSA. It has no signature; the release workflow
//! signs one of its own.

use std::fs;
use std::path::Path;

use kubefoundry_yaml::fingerprint::sha256;
use serde_json::{Map, Value, json};

use super::checksums::Digest;
use super::{Description, broken};
use crate::Failure;

/// What the files were built from, and by whom.
pub(super) struct Origin<'a> {
    pub(super) commit: &'a str,
    /// The tag of the commit, where it has one.
    pub(super) tag: Option<&'a str>,
    /// The URI of what ran the build.
    pub(super) builder: &'a str,
    pub(super) parameters: Vec<(&'a str, &'a str)>,
}

/// Inputs of a build that the commit names, but that could differ between two builds of it.
const PINNED: [&str; 2] = ["Cargo.lock", "rust-toolchain.toml"];

pub(super) fn file_name(description: &Description) -> String {
    format!("{}-{}.intoto.json", description.name, description.version)
}

pub(super) fn statement(
    description: &Description,
    files: &[Digest],
    images: &[Digest],
    origin: &Origin<'_>,
) -> Result<String, Failure> {
    let own = file_name(description);
    let subject = |name: String, digest: &Digest| json!({"name": name, "digest": {"sha256": digest.sha256}});
    let files = files.iter().filter(|file| file.name != own).map(|file| subject(file.name.clone(), file));
    let images = images.iter().map(|image| subject(format!("images/{}", image.name), image));
    let tag = origin.tag.map(|tag| format!("@refs/tags/{tag}")).unwrap_or_default();
    let source = format!("git+{}{tag}", description.repository);
    let mut dependencies = vec![json!({"uri": source, "digest": {"gitCommit": origin.commit}})];
    for name in PINNED {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
        let digest = sha256(&fs::read(&path).map_err(|error| broken(&path, &error))?);
        dependencies.push(json!({"name": name, "digest": {"sha256": digest}}));
    }
    let mut parameters = Map::from_iter([("source".to_owned(), json!(source))]);
    parameters.extend(origin.parameters.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": files.chain(images).collect::<Vec<Value>>(),
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": format!("{}/blob/{}/.ci/package", description.repository, origin.commit),
                "externalParameters": parameters,
                "resolvedDependencies": dependencies,
            },
            "runDetails": {"builder": {"id": origin.builder}},
        },
    });
    serde_json::to_string_pretty(&statement)
        .map(|text| text + "\n")
        .map_err(|error| Failure::Broken(format!("{own}: {error}")))
}
