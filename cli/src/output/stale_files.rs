//! Finds files that an earlier run wrote, and whose objects are no longer in the output.
//!
//! The rules are those of the KRM function (krm/README.md#pruning): a file is removed only if it certainly holds nothing but
//! one object that kubefoundry generated. In case of doubt it stays, and the report gives the reason.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use kubefoundry_compiler::Compilation;
use kubefoundry_composition::BUILTIN;
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::manifest::{ALL_OWNERS, Identity};
use kubefoundry_yaml as yaml;
use serde_json::Value;

use super::file_change::{DirectoryChanges, FileChange};
use super::object_files::{OutDirError, annotation, output_directory, relative_path, single_object, write_error};
use crate::args::ObjectFormat;

/// The kind whose data must outlive the model.
const CLAIM: &str = "PersistentVolumeClaim";

/// A file below the output directory that the run does not write.
struct OtherFile {
    path: PathBuf,
    text: String,
    /// The object, if the file holds one that was generated.
    generated: Option<GeneratedObject>,
}

struct GeneratedObject {
    identity: Identity,
    owner: String,
    /// Whether the object has the `managed-by` label.
    is_managed: bool,
}

/// Adds the stale files below a directory to the changes, as removed or as kept.
///
/// # Errors
/// If a file cannot be read.
pub(super) fn add_stale_files<O>(
    directory: &Path,
    compilation: &Compilation<O>,
    changes: &mut DirectoryChanges,
) -> Result<(), OutDirError> {
    let changed = changes.files.iter().map(|file| &*file.path);
    let unchanged = changes.unchanged.iter().map(|path| &**path);
    let written: BTreeSet<&Path> = changed.chain(unchanged).collect();
    let mut others = read_others(directory, &written)?;
    let mut current: BTreeSet<(PathBuf, &Identity)> = BTreeSet::new();
    for output in &compilation.outputs {
        current.insert((output_directory(directory, compilation, output)?, &*output.identity));
    }
    let (mut stale, mut staying) = (Vec::new(), Vec::new());
    for OtherFile { path, text, generated } in others.drain(..) {
        match generated {
            None => staying.push((path, text)),
            Some(object) => match keep_reason(&path, &object, &current) {
                Some(reason) => {
                    changes.kept.push((path.clone(), reason.to_owned()));
                    staying.push((path, text));
                }
                None => stale.push((path, text, object)),
            },
        }
    }
    // An object that stays for a reference may refer to others itself.
    let mut references = References::default();
    for (path, text) in &staying {
        references.add(directory, path, text);
    }
    while let Some((at, by)) = stale
        .iter()
        .enumerate()
        .find_map(|(at, (path, _, object))| Some((at, references.find(path, object)?.display().to_string())))
    {
        let (path, text, _) = stale.remove(at);
        changes.kept.push((path.clone(), format!("{by} refers to it")));
        references.add(directory, &path, &text);
    }
    changes.kept.sort();
    let removed = stale.into_iter().map(|(path, text, _)| FileChange { path, before: Some(text), after: None });
    changes.files.extend(removed);
    Ok(())
}

/// Returns the reason why the file of an object stays, apart from references to it.
fn keep_reason(
    path: &Path,
    object: &GeneratedObject,
    current: &BTreeSet<(PathBuf, &Identity)>,
) -> Option<&'static str> {
    let GeneratedObject { identity, owner, is_managed } = object;
    let format = if path.extension().is_some_and(|extension| extension == "json") {
        ObjectFormat::Json
    } else {
        ObjectFormat::Yaml
    };
    let namespace = owner.split_once('/').map(|(namespace, _)| namespace);
    if owner != ALL_OWNERS && namespace != identity.namespace.as_deref() {
        return Some("its namespace was changed after it was generated");
    }
    let expected = relative_path(identity, format).ok().filter(|expected| path.ends_with(expected));
    let Some(expected) = expected else { return Some("its name or its file was changed after it was generated") };
    let environment = path.ancestors().nth(expected.components().count()).unwrap_or(Path::new(""));
    // The same object in another format is in the output, in a file of its own.
    if current.contains(&(environment.to_owned(), identity)) {
        return None;
    }
    if &*identity.kind == CLAIM {
        return Some("a claim with data is removed only by hand");
    }
    if owner == ALL_OWNERS {
        return Some("several objects share it, and with a queue its messages are deleted: it is removed only by hand");
    }
    if !is_managed {
        return Some("it does not have the managed-by label of kubefoundry");
    }
    None
}

/// Reads the files that a run could have written, and those that may refer to them: in the directory and everything below
/// it, without links and hidden files.
fn read_others(directory: &Path, written: &BTreeSet<&Path>) -> Result<Vec<OtherFile>, OutDirError> {
    let mut others = Vec::new();
    let (mut paths, mut folders) = list(directory)?;
    while let Some(folder) = folders.pop() {
        let (files, inner) = list(&folder)?;
        paths.extend(files);
        folders.extend(inner);
    }
    paths.sort();
    for path in paths.into_iter().filter(|path| !written.contains(&**path)) {
        let bytes = fs::read(&path).map_err(|error| write_error(&path, error))?;
        // Text that is not UTF-8 holds no object that was generated.
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let generated = single_object(&text).as_ref().and_then(read_generated);
        others.push(OtherFile { path, text, generated });
    }
    Ok(others)
}

/// Lists the manifests and the folders of a directory. A directory that does not exist yet has none.
fn list(directory: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), OutDirError> {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((files, folders)),
        Err(error) => return Err(write_error(directory, error)),
    };
    for entry in entries {
        let entry = entry.map_err(|error| write_error(directory, error))?;
        let kind = entry.file_type().map_err(|error| write_error(&entry.path(), error))?;
        let path = entry.path();
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        let is_manifest =
            path.extension().is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|it| extension == *it));
        match (is_hidden, kind.is_dir(), kind.is_file() && is_manifest) {
            (false, true, _) => folders.push(path),
            (false, _, true) => files.push(path),
            _ => {}
        }
    }
    Ok((files, folders))
}

/// Reads the marks of a generated object. A claim has no label, because deleting a deployment must not delete it.
fn read_generated(object: &Value) -> Option<GeneratedObject> {
    let owner = BUILTIN.owner_annotations().find_map(|key| annotation(object, &key).map(str::to_owned))?;
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let identity =
        Identity::new(text("/apiVersion")?, text("/kind")?, text("/metadata/namespace"), text("/metadata/name")?);
    let labels = object.pointer("/metadata/labels");
    let has_label = |key: String, manager: &str| labels.and_then(|labels| labels.get(key)?.as_str()) == Some(manager);
    let is_managed = API_GROUPS.iter().any(|group| has_label(group.label("managed-by"), group.manager));
    Some(GeneratedObject { identity, owner, is_managed })
}

/// The texts in files that stay: names of objects, and of files in a kustomization.
#[derive(Default)]
struct References {
    texts: Vec<(BTreeSet<String>, PathBuf, PathBuf)>,
}

impl References {
    /// Adds the text values of a file, except for those in the metadata of its objects.
    fn add(&mut self, directory: &Path, path: &Path, text: &str) {
        let mut texts = BTreeSet::new();
        for document in yaml::parse(text, &yaml::Limits::default()).documents {
            let header = |key: &str| document.root.get(key).and_then(yaml::Node::as_str).unwrap_or_default();
            // A deployment names its model, and no object.
            if BUILTIN.is_source(header("apiVersion"), header("kind")) {
                continue;
            }
            let mut nodes: Vec<&yaml::Node<'_>> = match document.root.entries() {
                [] => vec![&document.root],
                entries => entries.iter().filter(|entry| entry.key != "metadata").map(|entry| &entry.node).collect(),
            };
            while let Some(node) = nodes.pop() {
                texts.extend(node.as_str().map(str::to_owned));
                nodes.extend(node.items());
                nodes.extend(node.entries().iter().map(|entry| &entry.node));
            }
        }
        let folder = path.parent().unwrap_or(directory).to_owned();
        self.texts.push((texts, folder, path.to_owned()));
    }

    /// Returns a file that names the object or its file.
    fn find(&self, path: &Path, object: &GeneratedObject) -> Option<&Path> {
        let names = |(texts, folder, _): &&(BTreeSet<String>, PathBuf, PathBuf)| {
            let file = path.strip_prefix(folder).ok().map(|file| file.display().to_string());
            texts.contains(&*object.identity.name)
                || file.is_some_and(|file| texts.contains(&file) || texts.contains(&format!("./{file}")))
        };
        self.texts.iter().find(names).map(|(.., by)| by.as_path())
    }
}
