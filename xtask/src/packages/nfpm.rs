//! The configuration of nfpm, which writes packages for Debian and for RPM from the unpacked archive.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::Description;
use crate::Failure;
use crate::files::broken;

/// Returns the configuration for an architecture, as Debian names it. `time` is that of all files, in RFC 3339.
pub(super) fn configuration(
    description: &Description,
    folder: &Path,
    architecture: &str,
    time: &str,
) -> Result<String, Failure> {
    let configuration = json!({
        "name": description.name,
        "arch": architecture,
        "platform": "linux",
        "version": description.version,
        "section": "utils",
        "priority": "optional",
        "maintainer": description.maintainer,
        "description": format!("{}\n{}", description.summary, description.text),
        "homepage": description.repository,
        "license": description.license,
        "mtime": time,
        "contents": contents(description, folder)?,
        "rpm": {"summary": description.summary, "group": "Applications/System", "buildhost": "localhost"},
    });
    Ok(kubefoundry_yaml::to_yaml_stream([&configuration]))
}

/// Where each file of the archive is installed.
fn contents(description: &Description, folder: &Path) -> Result<Vec<Value>, Failure> {
    let name = &description.name;
    let documents = format!("/usr/share/doc/{name}");
    let mut contents = Vec::new();
    let mut add = |from: &str, to: &str, mode: u32, packager: Option<&str>| {
        let mut entry = json!({"src": folder.join(from), "dst": to, "file_info": {"mode": mode}});
        if let Some(packager) = packager {
            entry["packager"] = json!(packager);
        }
        contents.push(entry);
    };
    for program in files(folder)?.iter().filter(|file| file.starts_with(name.as_str())) {
        add(program, &format!("/usr/bin/{program}"), 0o755, None);
    }
    for page in files(&folder.join("man"))? {
        add(&format!("man/{page}"), &format!("/usr/share/man/man1/{page}"), 0o644, None);
    }
    let zsh = format!("_{name}");
    for (from, to, packager) in [
        (format!("{name}.bash"), format!("bash-completion/completions/{name}"), None),
        (format!("{name}.fish"), format!("fish/vendor_completions.d/{name}.fish"), None),
        // Debian keeps this folder for packages, and site-functions for the administrator.
        (zsh.clone(), format!("zsh/vendor-completions/{zsh}"), Some("deb")),
        (zsh.clone(), format!("zsh/site-functions/{zsh}"), Some("rpm")),
    ] {
        add(&format!("completions/{from}"), &format!("/usr/share/{to}"), 0o644, packager);
    }
    for file in ["README.md", "CHANGELOG.md", "NOTICE"] {
        add(file, &format!("{documents}/{file}"), 0o644, None);
    }
    add("LICENSE", &format!("{documents}/copyright"), 0o644, Some("deb"));
    add("LICENSE", &format!("/usr/share/licenses/{name}/LICENSE"), 0o644, Some("rpm"));
    for file in files(&folder.join("sbom"))? {
        add(&format!("sbom/{file}"), &format!("{documents}/sbom/{file}"), 0o644, None);
    }
    // dpkg removes a folder with its last file, rpm only if the package has the folder.
    for owned in [documents.clone(), format!("{documents}/sbom"), format!("/usr/share/licenses/{name}")] {
        contents.push(json!({"dst": owned, "type": "dir", "file_info": {"mode": 0o755}, "packager": "rpm"}));
    }
    // kubectl runs its plugins by the one name, kustomize and kpt a function by the other.
    for link in [format!("kubectl-{name}"), format!("{name}-fn")] {
        contents.push(json!({"src": name, "dst": format!("/usr/bin/{link}"), "type": "symlink"}));
    }
    Ok(contents)
}

/// Returns the names of the files in a folder, sorted, without links.
fn files(folder: &Path) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| broken(folder, &error))? {
        let entry = entry.map_err(|error| broken(folder, &error))?;
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}
