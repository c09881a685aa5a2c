//! The metadata of `cli/Cargo.toml`, which every format repeats.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::Failure;
use crate::files::broken;

pub(super) struct Description {
    pub(super) name: String,
    pub(super) version: String,
    /// One line.
    pub(super) summary: String,
    /// One paragraph.
    pub(super) text: String,
    pub(super) license: String,
    /// The address of the source. Releases are below it.
    pub(super) repository: String,
    pub(super) maintainer: String,
}

impl Description {
    /// Returns the address of a file of the release.
    pub(super) fn address(&self, file: &str) -> String {
        format!("{}/releases/download/v{}/{file}", self.repository, self.version)
    }
}

/// Reads the metadata as cargo does, with what the workspace gives.
pub(super) fn read() -> Result<Description, Failure> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/Cargo.toml");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--no-deps", "--locked", "--format-version", "1", "--manifest-path"]).arg(&manifest);
    let output = command.output().map_err(|error| Failure::Broken(format!("cargo metadata: {error}")))?;
    if !output.status.success() {
        return Err(Failure::Broken(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr))));
    }
    from_metadata(&output.stdout).map_err(|message| broken(&manifest, message))
}

fn from_metadata(text: &[u8]) -> Result<Description, String> {
    let metadata: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let package = packages
        .iter()
        .find(|package| package["name"] == "kubefoundry-cli")
        .ok_or("there is no package kubefoundry-cli")?;
    let field = |pointer: &str| {
        let value = package.pointer(pointer).and_then(Value::as_str).filter(|value| !value.is_empty());
        value.map(str::to_owned).ok_or_else(|| format!("the package has no {}", pointer.replace('/', " ").trim()))
    };
    let program = package["targets"].as_array().and_then(|targets| targets.iter().find(|it| it["kind"][0] == "bin"));
    Ok(Description {
        name: program.and_then(|it| it["name"].as_str()).ok_or("the package has no program")?.to_owned(),
        version: field("/version")?,
        summary: field("/description")?,
        text: field("/metadata/packages/description")?.trim().to_owned(),
        license: field("/license")?,
        repository: field("/repository")?.trim_end_matches('/').to_owned(),
        maintainer: field("/authors/0")?,
    })
}
