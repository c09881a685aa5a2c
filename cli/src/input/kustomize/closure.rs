//! Follows a kustomization to every file that kustomize reads for it, before kustomize runs.
//!
//! Kustomize has no switch that keeps it off the network or from running programs, so the references decide: what
//! needs either is an [`Obstacle`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kubefoundry_compiler::options::render;
use kubefoundry_compiler::pipeline;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::Node;

use crate::input::InputError;
use crate::input::files::{Files, absolute, lexical};

/// The names of kustomization files.
pub(in crate::input) const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The maximum number of files that one kustomization may lead to.
const MAX_FILES: usize = 20_000;

/// The annotation with which kustomize recognizes the configuration of a function.
const FUNCTION: &str = "config.kubernetes.io/function";

/// The program of our own function in that annotation.
const OWN_FUNCTION: &str = "kubefoundry-fn";

/// The API version of the plugins that are part of kustomize.
const BUILTIN: &str = "builtin";

/// The plugin of kustomize that runs helm.
const HELM_GENERATOR: &str = "HelmChartInflationGenerator";

/// A reason why kustomize is not run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::input) enum Obstacle {
    /// It would read from the network.
    Remote(String),
    /// It would run a program.
    Plugin(String),
    /// It would run helm.
    Helm,
    /// A path leads out of the repository.
    Outside(String),
    /// There is too much to read.
    TooMany,
}

/// A kustomization file.
#[derive(Debug, Clone)]
pub(in crate::input) struct Kustomization {
    pub(in crate::input) directory: PathBuf,
    pub(in crate::input) file: PathBuf,
    pub(in crate::input) root: Node<'static>,
}

/// What a configuration of our own function is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::input) enum FunctionInput {
    /// The text of a `Render` document.
    Options(String),
    /// A ModelDeployment, whose text this is.
    Deployment(String),
}

/// A use of our own function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::input) struct OwnFunction {
    /// The kustomization that names it.
    pub(in crate::input) kustomization: PathBuf,
    /// The field and the position in it.
    pub(in crate::input) field: &'static str,
    pub(in crate::input) position: usize,
    /// The file of the configuration, or the kustomization, if it is written there.
    pub(in crate::input) file: PathBuf,
    pub(in crate::input) input: FunctionInput,
}

/// A kustomization with everything that it leads to.
#[derive(Debug, Default)]
pub(in crate::input) struct Closure {
    /// The kustomizations, in the order in which kustomize applies them: a base comes before what includes it.
    pub(in crate::input) kustomizations: Vec<Kustomization>,
    /// The files with resources.
    pub(in crate::input) resources: BTreeSet<PathBuf>,
    /// The files with patches.
    pub(in crate::input) patches: BTreeSet<PathBuf>,
    /// Other files, such as the content of generated ConfigMaps.
    pub(in crate::input) others: BTreeSet<PathBuf>,
    pub(in crate::input) functions: Vec<OwnFunction>,
    pub(in crate::input) obstacles: BTreeSet<Obstacle>,
    /// Whether it leads to objects of kubefoundry.
    pub(in crate::input) has_models: bool,
    visited: BTreeSet<PathBuf>,
}

/// Returns the kustomization file of a directory.
pub(in crate::input) fn file_in(directory: &Path, files: &Files) -> Option<PathBuf> {
    FILE_NAMES.iter().map(|name| directory.join(name)).find(|file| files.is_file(file))
}

impl Closure {
    /// Follows the kustomization in a directory. Nothing outside of `boundary` is read.
    pub(in crate::input) fn of(directory: &Path, boundary: &Path, files: &Files) -> Result<Self, InputError> {
        let mut closure = Self::default();
        Walker { files, boundary: absolute(boundary), closure: &mut closure }.visit(&lexical(directory))?;
        Ok(closure)
    }

    /// Returns every file that kustomize reads.
    pub(in crate::input) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let kustomizations = self.kustomizations.iter().map(|it| &it.file);
        kustomizations.chain(&self.resources).chain(&self.patches).chain(&self.others)
    }

    /// Returns the number of patches, in files or not.
    pub(in crate::input) fn patch_count(&self) -> usize {
        let lists = ["patches", "patchesStrategicMerge", "patchesJson6902"];
        let count = |it: &Kustomization| {
            lists.iter().filter_map(|list| it.root.get(list)).map(|list| list.items().len()).sum::<usize>()
        };
        self.kustomizations.iter().map(count).sum()
    }

    /// Returns the directories of the kustomizations that this one includes.
    pub(in crate::input) fn included(&self) -> impl Iterator<Item = &Path> {
        // The root is applied last.
        self.kustomizations.iter().rev().skip(1).map(|it| it.directory.as_path())
    }

    /// Whether it is a component, which is only applied with a kustomization that includes it.
    pub(in crate::input) fn is_component(&self) -> bool {
        let kind = self.kustomizations.last().and_then(|it| it.root.get("kind")).and_then(Node::as_str);
        kind == Some("Component")
    }
}

struct Walker<'w> {
    files: &'w Files,
    /// The absolute path of the directory that nothing may lead out of.
    boundary: PathBuf,
    closure: &'w mut Closure,
}

impl Walker<'_> {
    fn visit(&mut self, directory: &Path) -> Result<(), InputError> {
        if !self.closure.visited.insert(directory.to_owned()) || !self.is_allowed(directory) {
            return Ok(());
        }
        let Some(file) = file_in(directory, self.files) else { return Ok(()) };
        let Some(text) = self.read(&file)? else { return Ok(()) };
        let parsed = yaml::parse(&text, &yaml::Limits::default());
        let Some(root) = parsed.documents.first().map(|document| document.root.to_owned_node()) else { return Ok(()) };
        self.follow_resources(directory, &root)?;
        self.follow_patches(directory, &root);
        self.follow_generators(directory, &root);
        for field in ["generators", "transformers", "validators"] {
            self.follow_plugins(directory, &file, field, &root)?;
        }
        if root.get("helmCharts").is_some_and(|charts| !charts.items().is_empty())
            || root.get("helmChartInflationGenerator").is_some()
        {
            self.closure.obstacles.insert(Obstacle::Helm);
        }
        self.closure.kustomizations.push(Kustomization { directory: directory.to_owned(), file, root });
        Ok(())
    }

    fn follow_resources(&mut self, directory: &Path, root: &Node<'_>) -> Result<(), InputError> {
        for entry in strings(root, &["resources", "bases", "components"]) {
            let path = lexical(&directory.join(entry));
            if has_scheme(entry) {
                self.closure.obstacles.insert(Obstacle::Remote(entry.to_owned()));
            } else if self.files.is_file(&path) {
                self.add_resource(path)?;
            } else if self.files.is_directory(&path) {
                self.visit(&path)?;
            } else {
                self.check_missing(entry, &path);
            }
        }
        Ok(())
    }

    fn add_resource(&mut self, path: PathBuf) -> Result<(), InputError> {
        if self.closure.resources.contains(&path) || !self.is_allowed(&path) {
            return Ok(());
        }
        if let Some(text) = self.read(&path)? {
            self.closure.has_models |= pipeline::may_hold_input(&text);
            self.closure.resources.insert(path);
        }
        Ok(())
    }

    fn follow_patches(&mut self, directory: &Path, root: &Node<'_>) {
        let items = |field: &str| root.get(field).map(Node::items).unwrap_or_default();
        let with_path = ["patches", "patchesJson6902", "replacements"].into_iter().flat_map(items);
        let paths = with_path.filter_map(|entry| entry.get("path")).chain(items("patchesStrategicMerge"));
        for entry in paths.filter_map(Node::as_str).filter(|path| !path.contains('\n')) {
            if let Some(path) = self.find_file(directory, entry) {
                self.closure.patches.insert(path);
            }
        }
        let openapi = root.get("openapi").and_then(|openapi| openapi.get("path")).and_then(Node::as_str);
        for entry in strings(root, &["crds", "configurations"]).chain(openapi) {
            self.add_other(directory, entry);
        }
    }

    /// Adds the files whose content goes into generated ConfigMaps and Secrets: `path` or `key=path`.
    fn follow_generators(&mut self, directory: &Path, root: &Node<'_>) {
        let generators = ["configMapGenerator", "secretGenerator"].iter().filter_map(|field| root.get(field));
        for generator in generators.flat_map(Node::items) {
            let env = generator.get("env").and_then(Node::as_str);
            for entry in strings(generator, &["files", "envs"]).chain(env) {
                self.add_other(directory, after_key(entry));
            }
        }
    }

    /// Follows the configurations of plugins: those of kustomize itself run as they are, our own function is recorded,
    /// and any other would run a program.
    fn follow_plugins(
        &mut self,
        directory: &Path,
        kustomization: &Path,
        field: &'static str,
        root: &Node<'_>,
    ) -> Result<(), InputError> {
        let entries = root.get(field).map(Node::items).unwrap_or_default();
        for (position, entry) in entries.iter().filter_map(Node::as_str).enumerate() {
            let (file, text) = if entry.contains('\n') {
                (kustomization.to_owned(), entry.to_owned())
            } else {
                let path = lexical(&directory.join(entry));
                if self.files.is_directory(&path) {
                    self.visit(&path)?;
                    continue;
                }
                let Some(path) = self.find_file(directory, entry) else { continue };
                let Some(text) = self.read(&path)? else { continue };
                self.closure.others.insert(path.clone());
                (path, text)
            };
            for document in &yaml::parse(&text, &yaml::Limits::default()).documents {
                self.add_plugin(directory, kustomization, (field, position), &file, &text, &document.root);
            }
        }
        Ok(())
    }

    fn add_plugin(
        &mut self,
        directory: &Path,
        kustomization: &Path,
        (field, position): (&'static str, usize),
        file: &Path,
        text: &str,
        config: &Node<'_>,
    ) {
        let string = |key: &str| config.get(key).and_then(Node::as_str).unwrap_or_default();
        let annotations = config.get("metadata").and_then(|metadata| metadata.get("annotations"));
        let function = annotations.and_then(|annotations| annotations.get(FUNCTION)).and_then(Node::as_str);
        if string("kind") == HELM_GENERATOR {
            self.closure.obstacles.insert(Obstacle::Helm);
        } else if string("apiVersion") == BUILTIN {
            let mut named = Vec::new();
            strings_below(config, &mut named);
            for entry in named.into_iter().map(after_key).filter(|entry| !entry.contains('\n')) {
                if has_scheme(entry) || self.files.is_file(&directory.join(entry)) {
                    self.add_other(directory, entry);
                }
            }
        } else if let Some(input) =
            function.filter(|it| it.contains(OWN_FUNCTION)).and_then(|_| function_input(text, config))
        {
            self.closure.has_models |= matches!(input, FunctionInput::Deployment(_));
            let (kustomization, file) = (kustomization.to_owned(), file.to_owned());
            self.closure.functions.push(OwnFunction { kustomization, field, position, file, input });
        } else {
            let (kind, version) = (string("kind"), string("apiVersion"));
            self.closure.obstacles.insert(Obstacle::Plugin(format!("{kind} of {version}")));
        }
    }

    fn add_other(&mut self, directory: &Path, entry: &str) {
        if let Some(path) = self.find_file(directory, entry) {
            self.closure.others.insert(path);
        }
    }

    /// Returns the file that an entry names. Kustomize reports one that does not exist.
    fn find_file(&mut self, directory: &Path, entry: &str) -> Option<PathBuf> {
        let path = lexical(&directory.join(entry));
        if has_scheme(entry) || !self.files.is_file(&path) {
            self.check_missing(entry, &path);
            return None;
        }
        self.is_allowed(&path).then_some(path)
    }

    /// Records why an entry leads to no file, if that is an obstacle.
    fn check_missing(&mut self, entry: &str, path: &Path) {
        if is_remote(entry) {
            self.closure.obstacles.insert(Obstacle::Remote(entry.to_owned()));
        } else {
            self.is_allowed(path);
        }
    }

    fn read(&mut self, path: &Path) -> Result<Option<String>, InputError> {
        let count = self.closure.files().count();
        if count >= MAX_FILES {
            self.closure.obstacles.insert(Obstacle::TooMany);
            return Ok(None);
        }
        Ok(self.files.read(path)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Whether a path is inside of the boundary, links included. If not, that is an obstacle.
    fn is_allowed(&mut self, path: &Path) -> bool {
        let is_inside = absolute(path).starts_with(&self.boundary)
            && (self.files.revision().is_some() || is_below_with_links(path, &self.boundary));
        if !is_inside {
            self.closure.obstacles.insert(Obstacle::Outside(path.display().to_string()));
        }
        is_inside
    }
}

/// Whether a path is below a directory after links are followed. What does not exist leads nowhere.
fn is_below_with_links(path: &Path, boundary: &Path) -> bool {
    match (path.canonicalize(), boundary.canonicalize()) {
        (Ok(path), Ok(boundary)) => path.starts_with(boundary),
        _ => true,
    }
}

/// Returns what a configuration of our own function is; `None` if the function would not accept it.
fn function_input(text: &str, config: &Node<'_>) -> Option<FunctionInput> {
    let string = |key: &str| config.get(key).and_then(Node::as_str).unwrap_or_default();
    match (string("apiVersion"), string("kind")) {
        (render::API_VERSION, _) => Some(FunctionInput::Options(text.to_owned())),
        ("v1", "ConfigMap") => kubefoundry_krm::config_map_options(config).map(FunctionInput::Options),
        (_, kubefoundry_model::KIND) => Some(FunctionInput::Deployment(text.to_owned())),
        _ => None,
    }
}

/// Collects every string in a node.
fn strings_below<'n>(node: &'n Node<'_>, strings: &mut Vec<&'n str>) {
    strings.extend(node.as_str());
    node.items().iter().for_each(|item| strings_below(item, strings));
    node.entries().iter().for_each(|entry| strings_below(&entry.node, strings));
}

/// Returns the strings in lists of a node.
fn strings<'n>(node: &'n Node<'_>, fields: &[&str]) -> impl Iterator<Item = &'n str> {
    let lists: Vec<&Node<'_>> = fields.iter().filter_map(|field| node.get(field)).collect();
    lists.into_iter().flat_map(Node::items).filter_map(Node::as_str)
}

/// Returns the path in an entry of a generator: `path` or `key=path`.
fn after_key(entry: &str) -> &str {
    entry.split_once('=').map_or(entry, |(_, path)| path)
}

/// Whether kustomize takes an entry as a URL, even if a file has that name.
fn has_scheme(entry: &str) -> bool {
    entry.contains("://")
}

/// Whether an entry that is neither a file nor a directory names a repository or a file in the network.
fn is_remote(entry: &str) -> bool {
    let host = entry.split(['/', ':']).next().unwrap_or_default();
    has_scheme(entry)
        || entry.contains("?ref=")
        || entry.contains(".git")
        || entry.contains("::")
        || host.contains('@')
        || (host.contains('.') && !host.starts_with('.') && entry.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_entries_are_recognized() {
        for entry in [
            "https://example.com/a.yaml",
            "github.com/org/repo//path?ref=v1",
            "git@github.com:org/repo.git",
            "ssh://git@example.com/repo",
            "git::https://example.com/repo",
            "example.com/org/repo",
        ] {
            assert!(is_remote(entry), "{entry}");
        }
        for entry in ["../base", "./missing.yaml", "missing", "a/b", "model.v1.yaml"] {
            assert!(!is_remote(entry), "{entry}");
        }
    }
}
