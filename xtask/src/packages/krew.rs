//! The manifest of the plugin for krew, the package manager of kubectl.

use serde_json::{Value, json};

use super::{Archive, Description};

pub(super) fn manifest(description: &Description, archives: &[Archive]) -> String {
    let manifest = json!({
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": description.name},
        "spec": {
            "version": format!("v{}", description.version),
            "homepage": description.repository,
            "shortDescription": description.summary,
            "description": format!("{}\n", description.text),
            "platforms": archives.iter().map(|archive| platform(description, archive)).collect::<Vec<_>>(),
        },
    });
    kubefoundry_yaml::to_yaml_stream([&manifest])
}

fn platform(description: &Description, archive: &Archive) -> Value {
    let suffix = if archive.platform.system == "windows" { ".exe" } else { "" };
    let program = format!("{}{suffix}", description.name);
    let from = |pattern: &str, to: &str| json!({"from": format!("{}/{pattern}", archive.folder), "to": to});
    json!({
        "selector": {"matchLabels": {"os": archive.platform.system, "arch": archive.platform.architecture}},
        "uri": description.address(&archive.file),
        "sha256": archive.sha256,
        "bin": program,
        "files": [
            from(&program, "."),
            from("LICENSE", "."),
            from("NOTICE", "."),
            from("completions/*", "completions"),
            from("man/*", "man"),
        ],
    })
}
