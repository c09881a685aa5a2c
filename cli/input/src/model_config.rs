//! Finds the `config.json` of models: those that options name, and those below the directory of `--model-config`.
//!
//! CI lints the pull requests of strangers, so nothing is read that lies outside of the directory that the user or the
//! options file stands for, and no link leads out of it.

use std::fs;
use std::path::{Component, Path, PathBuf};

use kubefoundry_yaml as yaml;

use super::error::InputError;

/// The name of the files.
const CONFIG_FILE: &str = "config.json";

/// How deep a model may be below the directory. Ids have two parts, and mirrors may have some more.
const MAX_DEPTH: usize = 8;

/// The maximum number of files to read.
const MAX_CONFIGS: usize = 10_000;

/// A file that describes a model.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ModelConfig {
    /// The id of the model.
    pub(crate) model: String,
    pub(crate) file: PathBuf,
}

/// Returns every `config.json` below a directory, sorted by path. The model's id is the path of its directory. Links to
/// directories are not followed.
pub(crate) fn find_configs(root: &Path) -> Result<Vec<ModelConfig>, InputError> {
    let mut found = Vec::new();
    let mut pending = vec![(root.to_owned(), Vec::<String>::new())];
    while let Some((folder, parts)) = pending.pop() {
        let failed = |error| InputError::Read(folder.display().to_string(), error);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if entry.file_type().map_err(failed)?.is_dir() {
                if parts.len() < MAX_DEPTH && !name.starts_with('.') {
                    pending.push((entry.path(), [parts.clone(), vec![name]].concat()));
                }
            } else if name == CONFIG_FILE && !parts.is_empty() && found.len() < MAX_CONFIGS {
                check_is_below(&entry.path(), root)?;
                found.push(ModelConfig { model: parts.join("/"), file: entry.path() });
            }
        }
    }
    if found.is_empty() {
        return Err(InputError::NoModelConfigs(root.display().to_string()));
    }
    found.sort_by(|one, other| one.file.cmp(&other.file));
    Ok(found)
}

/// Returns the files that options name in `models.<id>.config`, relative to the options. What is not a path is left to the
/// checks of the options.
pub(crate) fn named_configs(options: &str, folder: &Path) -> Result<Vec<ModelConfig>, InputError> {
    let mut found = Vec::new();
    for document in &yaml::parse(options, &yaml::Limits::default()).documents {
        for entry in document.root.get("models").map(yaml::Node::entries).unwrap_or_default() {
            let Some(named) = entry.node.get("config").and_then(yaml::Node::as_str) else { continue };
            let file = folder.join(named);
            if !Path::new(named).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
                return Err(InputError::OutsideOf(named.to_owned(), folder_name(folder)));
            }
            let file: PathBuf = file.components().filter(|part| *part != Component::CurDir).collect();
            found.push(ModelConfig { model: entry.key.clone().into_owned(), file });
        }
    }
    Ok(found)
}

/// Fails if a link leads a file out of a directory.
pub(crate) fn check_is_below(file: &Path, folder: &Path) -> Result<(), InputError> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let canonical =
        |path: &Path| path.canonicalize().map_err(|error| InputError::Read(path.display().to_string(), error));
    if canonical(file)?.starts_with(canonical(folder)?) {
        return Ok(());
    }
    Err(InputError::OutsideOf(file.display().to_string(), folder_name(folder)))
}

fn folder_name(folder: &Path) -> String {
    if folder.as_os_str().is_empty() { ".".to_owned() } else { folder.display().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "{}").unwrap();
    }

    #[test]
    fn ids_are_the_directories_below_the_root() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["acme/private/config.json", "plain/config.json", "config.json", "acme/private/tokenizer.json"] {
            write(&folder.path().join(file));
        }
        write(&folder.path().join(".cache/hidden/config.json"));
        let models: Vec<String> = find_configs(folder.path()).unwrap().into_iter().map(|found| found.model).collect();
        assert_eq!(models, ["acme/private", "plain"]);
        let nothing = tempfile::tempdir().unwrap();
        assert!(matches!(find_configs(nothing.path()), Err(InputError::NoModelConfigs(_))));
    }

    #[cfg(unix)]
    #[test]
    fn links_do_not_lead_out() {
        let (folder, secret) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(&secret.path().join("acme/config.json"));
        fs::create_dir_all(folder.path().join("m")).unwrap();
        std::os::unix::fs::symlink(secret.path(), folder.path().join("linked")).unwrap();
        assert!(matches!(find_configs(folder.path()), Err(InputError::NoModelConfigs(_))));
        std::os::unix::fs::symlink(secret.path().join("acme/config.json"), folder.path().join("m/config.json"))
            .unwrap();
        assert!(matches!(find_configs(folder.path()), Err(InputError::OutsideOf(..))));
    }

    #[test]
    fn options_name_files_below_them() {
        let names =
            |config: &str| named_configs(&format!("models: {{acme/m: {{config: {config:?}}}}}"), Path::new("a"));
        let expected = ModelConfig { model: "acme/m".to_owned(), file: PathBuf::from("a/m/config.json") };
        assert_eq!(names("./m/config.json").unwrap(), [expected]);
        for outside in ["../config.json", "/etc/passwd", "m/../../config.json"] {
            assert!(matches!(names(outside), Err(InputError::OutsideOf(..))), "{outside}");
        }
        for none in ["models: {acme/m: {config: 7}}", "models: [", "models: {acme/m: {heads: 1}}", "a: b"] {
            assert_eq!(named_configs(none, Path::new("a")).unwrap(), [], "{none}");
        }
    }
}
