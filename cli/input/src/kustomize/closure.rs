//! A kustomization with everything that it leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kubefoundry_yaml::{Node, Span};
use serde_json::Value;

use super::expansion::Expansion;

/// A reason why kustomize is not run without a permission.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Obstacle {
    /// It would read from the network.
    Remote(String),
    /// It would run a program.
    Plugin(String),
    /// It would run helm.
    Helm,
}

/// A reason why a kustomization cannot be handed to kustomize.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) place: Place,
    pub(crate) reason: String,
    pub(crate) help: String,
    /// Whether the permission to read from the network lifts it.
    pub(crate) is_remote: bool,
}

/// A place in a file that kustomize reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: PathBuf,
    pub(crate) document: usize,
    pub(crate) span: Span,
}

/// A kustomization file.
#[derive(Debug, Clone)]
pub(crate) struct Kustomization {
    pub(crate) directory: PathBuf,
    pub(crate) file: PathBuf,
    pub(crate) root: Node<'static>,
    /// What kustomize is handed instead of the file.
    pub(crate) handed: Value,
}

/// What a configuration of our own function is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FunctionInput {
    /// The text of a `Render` document.
    Options(String),
    /// A ModelDeployment, whose text this is.
    Deployment(String),
}

/// A use of our own function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnFunction {
    /// The kustomization that names it.
    pub(crate) kustomization: PathBuf,
    /// The field and the position in it.
    pub(crate) field: &'static str,
    pub(crate) position: usize,
    /// The file of the configuration, or the kustomization, if it is written there.
    pub(crate) file: PathBuf,
    pub(crate) input: FunctionInput,
}

/// A kustomization with everything that it leads to.
#[derive(Debug, Default)]
pub(crate) struct Closure {
    /// The kustomizations, in the order in which kustomize applies them: a base comes before what includes it.
    pub(crate) kustomizations: Vec<Kustomization>,
    /// The files with resources.
    pub(crate) resources: BTreeSet<PathBuf>,
    /// The files with patches.
    pub(crate) patches: BTreeSet<PathBuf>,
    /// Other files, such as the content of generated ConfigMaps.
    pub(crate) others: BTreeSet<PathBuf>,
    /// The files with configurations of plugins, and what kustomize is handed instead of them.
    pub(crate) plugins: BTreeMap<PathBuf, String>,
    pub(crate) functions: Vec<OwnFunction>,
    pub(crate) obstacles: BTreeSet<Obstacle>,
    pub(crate) refusals: Vec<Refusal>,
    /// What kustomize makes of it.
    pub(crate) expansion: Expansion,
    /// Whether it leads to objects of kubefoundry.
    pub(crate) has_models: bool,
}

impl Closure {
    /// Returns every file that kustomize reads.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let kustomizations = self.kustomizations.iter().map(|it| &it.file);
        kustomizations.chain(&self.resources).chain(&self.patches).chain(&self.others).chain(self.plugins.keys())
    }

    /// Returns the number of patches, in files or not.
    pub(crate) fn patch_count(&self) -> usize {
        let lists = ["patches", "patchesStrategicMerge", "patchesJson6902"];
        let count = |it: &Kustomization| {
            lists.iter().filter_map(|list| it.root.get(list)).map(|list| list.items().len()).sum::<usize>()
        };
        self.kustomizations.iter().map(count).sum()
    }

    /// Returns the directories of the kustomizations that this one includes.
    pub(crate) fn included(&self) -> impl Iterator<Item = &Path> {
        // The root is applied last.
        self.kustomizations.iter().rev().skip(1).map(|it| it.directory.as_path())
    }

    /// Whether it is a component, which is only applied with a kustomization that includes it.
    pub(crate) fn is_component(&self) -> bool {
        let kind = self.kustomizations.last().and_then(|it| it.root.get("kind")).and_then(Node::as_str);
        kind == Some("Component")
    }
}
