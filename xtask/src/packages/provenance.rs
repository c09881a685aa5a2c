//! The provenance of a release: an in-toto statement with a predicate of SLSA. It has no signature; the release workflow
//! signs one of its own.

use std::fs;
use std::path::Path;

use kubefoundry_yaml::fingerprint::sha256;
use serde_json::{Map, Value, json};

use super::Description;
use super::checksums::Digest;
use crate::Failure;
use crate::files::broken;

/// What the files were built from, and by whom.
#[derive(Debug, clap::Args)]
pub(crate) struct Origin {
    /// The commit that was built
    #[arg(long)]
    pub(super) commit: String,
    /// The tag of the commit, where it has one
    #[arg(long)]
    pub(super) tag: Option<String>,
    /// The URI of what ran the build
    #[arg(long, value_name = "URI")]
    pub(super) builder: String,
    /// A parameter of the build; any number of times
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = super::pair)]
    pub(super) parameters: Vec<(String, String)>,
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
    origin: &Origin,
) -> Result<String, Failure> {
    let own = file_name(description);
    let subject = |name: String, digest: &Digest| json!({"name": name, "digest": {"sha256": digest.sha256}});
    let files = files.iter().filter(|file| file.name != own).map(|file| subject(file.name.clone(), file));
    let images = images.iter().map(|image| subject(format!("images/{}", image.name), image));
    let tag = origin.tag.as_ref().map(|tag| format!("@refs/tags/{tag}")).unwrap_or_default();
    let source = format!("git+{}{tag}", description.repository);
    let mut dependencies = vec![json!({"uri": source, "digest": {"gitCommit": origin.commit}})];
    for name in PINNED {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
        let digest = sha256(&fs::read(&path).map_err(|error| broken(&path, error))?);
        dependencies.push(json!({"name": name, "digest": {"sha256": digest}}));
    }
    let mut parameters = Map::from_iter([("source".to_owned(), json!(source))]);
    parameters.extend(origin.parameters.iter().map(|(name, value)| (name.clone(), json!(value))));
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
