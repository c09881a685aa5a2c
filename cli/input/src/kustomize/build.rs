//! Builds a kustomization: copies what it leads to into a temporary directory, and runs kustomize there.
//!
//! The copy holds nothing else of the repository, and no links, and its kustomizations are rewritten ([`super::follow`]),
//! so a kustomization can neither read nor publish other files. Our own function is taken out of the copy: its result is what
//! kubefoundry renders anyway.

use std::collections::{BTreeMap, BTreeSet};
#[cfg(unix)]
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use kubefoundry_kubernetes::header::Header;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::text::printable_json;
use serde_json::{Value, json};

use super::closure::{Closure, FunctionInput, Kustomization};
use crate::error::InputError;
use crate::files::Files;
use crate::paths::{absolute, lexical};
use crate::program::{self, Permissions, ProgramError, TimeBudget};
use crate::temporary::TemporaryDirectory;

/// The annotation in which kustomize names the file of a resource.
const ORIGIN: &str = "config.kubernetes.io/origin";

/// The annotation in which kustomize names the kustomizations that changed a resource.
const TRANSFORMATIONS: &str = "alpha.config.kubernetes.io/transformations";

/// The annotations of kustomize, by the value of `buildMetadata` that asks for them.
const BUILD_METADATA: [(&str, &str); 2] = [("originAnnotations", ORIGIN), ("transformerAnnotations", TRANSFORMATIONS)];

/// The directory of the copied files, and that of the kustomization that includes the root.
const TREE: &str = "tree";
const WRAPPER: &str = "build";

/// A program that builds kustomizations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Builder {
    Kustomize(PathBuf),
    Kubectl(PathBuf),
}

impl Builder {
    /// Finds a program on the PATH.
    pub(crate) fn find() -> Option<&'static Self> {
        static FOUND: OnceLock<Option<Builder>> = OnceLock::new();
        let find = || {
            let kubectl = || program::find("kubectl").map(Builder::Kubectl);
            program::find("kustomize").map(Builder::Kustomize).or_else(kubectl)
        };
        FOUND.get_or_init(find).as_ref()
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kustomize(path) | Self::Kubectl(path) => path,
        }
    }

    fn subcommand(&self) -> &'static str {
        match self {
            Self::Kustomize(_) => "build",
            Self::Kubectl(_) => "kustomize",
        }
    }
}

/// A copy of the files of a kustomization, ready to be built.
#[derive(Debug)]
pub(crate) struct Workspace {
    directory: TemporaryDirectory,
    /// The files that were added, with the files that they come from, both relative to the repository.
    added: BTreeMap<PathBuf, PathBuf>,
}

/// What kustomize built.
#[derive(Debug, Clone, Default)]
pub(crate) struct BuiltText {
    pub(crate) text: String,
    pub(crate) documents: Vec<BuiltDocument>,
}

/// A document of what kustomize built.
#[derive(Debug, Clone)]
pub(crate) struct BuiltDocument {
    /// Where it starts in the text.
    pub(crate) start: usize,
    pub(crate) header: Header,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    /// Its file relative to the repository; `None` for what kustomize generated.
    pub(crate) origin: Option<PathBuf>,
}

impl Workspace {
    /// Copies the files of a kustomization. With permissions, all files of the repository are copied, because a program
    /// may read any of them.
    pub(crate) fn create(
        closure: &Closure,
        boundary: &Path,
        files: &Files,
        permissions: Permissions,
    ) -> Result<Self, InputError> {
        let directory = TemporaryDirectory::create().map_err(temporary)?;
        let mut workspace = Self { directory, added: BTreeMap::new() };
        for folder in ["home", "tmp"] {
            workspace.directory.create_folder(folder).map_err(temporary)?;
        }
        let boundary_path = absolute(boundary);
        let inside = |file: &Path| {
            let outside = |_| InputError::OutsideOf(file.display().to_string(), boundary.display().to_string());
            absolute(file).strip_prefix(&boundary_path).map(Path::to_owned).map_err(outside)
        };
        if permissions.exec || permissions.helm {
            for file in files.list_all(boundary) {
                workspace.copy(&boundary.join(&file), &file, files)?;
            }
        }
        for file in closure.resources.iter().chain(&closure.patches).chain(&closure.others) {
            workspace.copy(file, &inside(file)?, files)?;
        }
        for (file, text) in &closure.plugins {
            workspace.write(&Path::new(TREE).join(inside(file)?), text.as_bytes())?;
        }
        for kustomization in &closure.kustomizations {
            let file = inside(&kustomization.file)?;
            let (handed, deployments) = without_own_functions(kustomization, closure);
            let text = printable_json(handed.to_string());
            workspace.write(&Path::new(TREE).join(&file), text.as_bytes())?;
            for GeneratedResource { name, text, origin } in deployments {
                let name = file.with_file_name(name);
                workspace.write(&Path::new(TREE).join(&name), text.as_bytes())?;
                workspace.added.insert(name, inside(&origin)?);
            }
        }
        let root = closure.kustomizations.last().map(|it| inside(&it.directory)).transpose()?.unwrap_or_default();
        let resource = Path::new("..").join(TREE).join(root);
        // To name the transformations of a resource takes time in the square of their number, so they are only asked for on request.
        let requested = closure.kustomizations.last().map(requested_annotations).unwrap_or_default();
        let wanted =
            BUILD_METADATA.iter().filter(|(_, annotation)| *annotation == ORIGIN || requested.contains(annotation));
        let build_metadata: Vec<&str> = wanted.map(|(option, _)| *option).collect();
        let wrapper = json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [resource.display().to_string()],
            "buildMetadata": build_metadata,
        });
        workspace.write(&Path::new(WRAPPER).join("kustomization.yaml"), wrapper.to_string().as_bytes())?;
        Ok(workspace)
    }

    fn copy(&self, file: &Path, inside: &Path, files: &Files) -> Result<(), InputError> {
        let Some(bytes) = files.read(file)? else { return Ok(()) };
        let target = Path::new(TREE).join(inside);
        self.write(&target, &bytes)?;
        #[cfg(unix)]
        if let Ok(metadata) = file.metadata()
            && files.revision().is_none()
        {
            // A program of the repository must stay executable.
            fs::set_permissions(self.directory.path().join(target), metadata.permissions()).map_err(temporary)?;
        }
        Ok(())
    }

    fn write(&self, inside: &Path, bytes: &[u8]) -> Result<(), InputError> {
        self.directory.write(inside, bytes).map_err(temporary)
    }

    /// Runs the builder.
    pub(crate) fn build(
        &self,
        builder: &Builder,
        permissions: Permissions,
        budget: &TimeBudget,
        kept: &BTreeSet<&'static str>,
    ) -> Result<BuiltText, ProgramError> {
        let home = self.directory.path();
        let mut command = program::confined(builder.path(), home, permissions)?;
        command.arg(builder.subcommand());
        if permissions.exec {
            command.args(["--enable-alpha-plugins", "--enable-exec"]);
        }
        if permissions.helm {
            command.arg("--enable-helm");
            if let Some(helm) = program::find("helm") {
                command.arg("--helm-command").arg(helm);
            }
        }
        // A program is named relative to the directory in which kustomize runs, which is usually the repository's.
        let output = program::run(command.arg(home.join(WRAPPER)).current_dir(home.join(TREE)), budget);
        let built = output.map(|text| {
            let mut built = strip(&text, kept);
            for origin in built.documents.iter_mut().filter_map(|document| document.origin.as_mut()) {
                if let Some(file) = self.added.get(origin) {
                    origin.clone_from(file);
                }
            }
            built
        });
        built.map_err(|error| match error {
            // The temporary directory means nothing to the user.
            ProgramError::Failed(message) => ProgramError::Failed(self.shorten(&message)),
            other => other,
        })
    }

    /// Removes the temporary directory from a message.
    fn shorten(&self, message: &str) -> String {
        let here = self.directory.path();
        let canonical = here.canonicalize().unwrap_or_else(|_| here.to_owned());
        let mut message = message.to_owned();
        for directory in [canonical.as_path(), here] {
            message = message.replace(&format!("{}/", directory.join(TREE).display()), "");
            message = message.replace(&directory.join(TREE).display().to_string(), ".");
            message = message.replace(&directory.join(WRAPPER).display().to_string(), ".");
        }
        // Kustomize repeats the chain of directories in several forms. Its last part is the reason.
        let reason = message.rsplit_once("recursed accumulation of path ").and_then(|(_, rest)| rest.split_once("': "));
        let reason = reason.map_or(message.as_str(), |(_, reason)| reason);
        reason.trim_start_matches("Error: ").replace(&format!("../{TREE}/"), "")
    }
}

/// Returns the annotations of kustomize that a kustomization asks for itself.
pub(crate) fn requested_annotations(root: &Kustomization) -> BTreeSet<&'static str> {
    let requested = root.root.get("buildMetadata").map(yaml::Node::items).unwrap_or_default();
    let is_requested = |option: &str| requested.iter().any(|item| item.as_str() == Some(option));
    BUILD_METADATA.iter().filter(|(option, _)| is_requested(option)).map(|(_, annotation)| *annotation).collect()
}

/// A ModelDeployment that is a generator, as the resource that replaces it.
struct GeneratedResource {
    name: String,
    text: String,
    origin: PathBuf,
}

/// Returns what kustomize is handed of a kustomization, without our own function. A ModelDeployment that is a generator
/// becomes a resource, which is returned, too.
fn without_own_functions(kustomization: &Kustomization, closure: &Closure) -> (Value, Vec<GeneratedResource>) {
    let mut handed = kustomization.handed.clone();
    let functions: Vec<_> =
        closure.functions.iter().filter(|function| function.kustomization == kustomization.file).collect();
    for field in ["generators", "transformers", "validators"] {
        let Some(Value::Array(entries)) = handed.get_mut(field) else { continue };
        let mut position = 0;
        entries.retain(|_| {
            let is_own = functions.iter().any(|function| function.field == field && function.position == position);
            position += 1;
            !is_own
        });
    }
    let generated = functions.iter().enumerate().filter_map(|(number, function)| match &function.input {
        FunctionInput::Deployment(text) => Some(GeneratedResource {
            name: format!("kubefoundry-generator-{number}.yaml"),
            text: text.clone(),
            origin: function.file.clone(),
        }),
        FunctionInput::Options(_) => None,
    });
    let generated: Vec<GeneratedResource> = generated.collect();
    if let Some(fields) = handed.as_object_mut()
        && !generated.is_empty()
        && let Value::Array(resources) = fields.entry("resources").or_insert_with(|| json!([]))
    {
        resources.extend(generated.iter().map(|it| Value::from(it.name.as_str())));
    }
    (handed, generated)
}

/// Splits the output of kustomize into documents, and takes the annotations out that say where they come from.
fn strip(text: &str, kept: &BTreeSet<&'static str>) -> BuiltText {
    let mut built = BuiltText::default();
    for document in yaml::parse(text, &yaml::Limits::default()).documents {
        let mut object = document.root.to_json();
        let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
        let mut origin = None;
        let is_stripped = annotations.is_some_and(|annotations| {
            origin = annotations.get(ORIGIN).and_then(Value::as_str).and_then(origin_path);
            let before = annotations.len();
            annotations
                .retain(|key, _| !BUILD_METADATA.iter().any(|(_, own)| own == key) || kept.contains(key.as_str()));
            annotations.len() != before && annotations.is_empty()
        });
        if is_stripped && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("annotations");
        }
        if !built.text.is_empty() {
            built.text.push_str("---\n");
        }
        let start = built.text.len();
        yaml::to_yaml(&object, &mut built.text);
        let texts = |field: &str| {
            let entries =
                document.root.get("metadata").and_then(|metadata| metadata.get(field)).map(yaml::Node::entries);
            let texts =
                entries.into_iter().flatten().filter_map(|it| Some((it.key.to_string(), it.node.as_str()?.to_owned())));
            texts.collect()
        };
        built.documents.push(BuiltDocument {
            start,
            header: Header::from_node(&document.root),
            labels: texts("labels"),
            annotations: texts("annotations"),
            origin,
        });
    }
    built
}

/// Returns the file in an origin annotation, relative to the repository. Something generated has no file.
fn origin_path(annotation: &str) -> Option<PathBuf> {
    let parsed = yaml::parse(annotation, &yaml::Limits::default());
    let path = parsed.documents.first()?.root.get("path")?.as_str()?.to_owned();
    lexical(&Path::new(WRAPPER).join(path)).strip_prefix(TREE).ok().map(Path::to_owned)
}

fn temporary(error: io::Error) -> InputError {
    InputError::Temporary(error)
}
