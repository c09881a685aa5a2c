//! What makes it doubtful that an object is stale. In doubt it stays.

use std::collections::BTreeSet;

use kubefoundry_compiler::Compilation;
use kubefoundry_kubernetes::manifest::{Identity, owner_name};
use kubefoundry_yaml::Node;

use super::Stale;
use crate::envelope::Envelope;
use crate::function_config::FunctionConfig;
use crate::generated;
use crate::item::{self, Origin};

/// What makes it doubtful that the client shows us everything, or that we are the only one who generates.
pub(super) fn of_run(items: &[Node<'_>], envelope: &Envelope<'_>) -> Option<&'static str> {
    let has = |object: &Node<'_>, key: &str| item::annotation(object, key).is_some();
    let config = envelope.function_config();
    let is_of_build =
        |config: &Node<'_>| has(config, item::FUNCTION) && has(config, item::LOCAL) && Origin::of(config).is_none();
    if items.iter().any(item::is_in_kustomize_build) || config.is_some_and(is_of_build) {
        return Some("kustomize build has no files to remove it from");
    }
    let functions =
        || items.iter().flat_map(functions).filter(|(kptfile, function)| may_be_us(kptfile, function, items));
    let has_selectors = |function: &Node<'_>| function.get("selectors").is_some() || function.get("exclude").is_some();
    if items.iter().any(item::is_selected) || functions().any(|(_, function)| has_selectors(function)) {
        return Some("selectors hide objects from this function, so its ModelDeployment may be among them");
    }
    let is_render = items.iter().any(|object| has(object, item::PACKAGE));
    let configured = items.iter().filter(|object| has(object, item::FUNCTION) && FunctionConfig::may_be(object));
    let is_configured = config.is_some_and(|config| has(config, item::FUNCTION));
    let others = functions().count() > usize::from(is_render) || configured.count() > usize::from(is_configured);
    others.then_some("another function that runs on this package may be kubefoundry, and have generated it")
}

/// The ModelDeployment of an object, in the object's own package.
pub(super) fn owner_in_package<'n, 't>(stale: &Stale<'_>, items: &'n [Node<'t>]) -> Option<&'n Node<'t>> {
    let is_owner = |object: &&Node<'_>| {
        let Identity { namespace, name, .. } = item::identity(object);
        item::is_model_deployment(object) && owner_name(namespace.as_deref(), &name) == *stale.owner
    };
    package_of(stale, items).find(is_owner)
}

fn package_of<'n, 't>(stale: &Stale<'_>, items: &'n [Node<'t>]) -> impl Iterator<Item = &'n Node<'t>> {
    let package = stale.origin.package.as_deref();
    items.iter().filter(move |object| item::annotation(object, item::PACKAGE) == package)
}

/// What makes it doubtful that an object is as it was generated, or that its ModelDeployment generates it no more.
pub(super) fn of_object(stale: &Stale<'_>, items: &[Node<'_>], removal: &Removal) -> Option<&'static str> {
    let Stale { identity, owner, origin, .. } = stale;
    let namespace = owner.split_once('/').map(|(namespace, _)| namespace);
    if namespace != identity.namespace.as_deref() {
        return Some("its namespace was changed after it was generated");
    }
    if origin.path.rsplit('/').next() != Some(generated::file_name(identity).as_str()) {
        return Some("its name or its file was changed after it was generated");
    }
    if origin.package.is_some() && !package_of(stale, items).any(is_kptfile) {
        return Some("the client shows a part of its package");
    }
    let Some(deployment) = owner_in_package(stale, items) else { return removal.doubt(owner) };
    let is_beside = Origin::of(deployment).is_some_and(|beside| beside.folder() == origin.folder());
    if is_beside { None } else { Some("it is not in the folder of its ModelDeployment") }
}

/// What makes it doubtful that a ModelDeployment which is not there was removed. A client says nothing of what a
/// `.krmignore` hides: that is for whoever asks for pruning to know, and documented.
#[derive(Debug)]
pub(super) struct Removal {
    /// The ModelDeployments of the input, of any group and package.
    present: BTreeSet<String>,
    /// Whether a function that runs beside this one may take objects away.
    others_take: bool,
    /// Whether the function is one of a folder, and sees only that.
    is_of_folder: bool,
}

impl Removal {
    pub(super) fn new(compilation: &Compilation, items: &[Node<'_>], envelope: &Envelope<'_>) -> Self {
        let headers = compilation.inputs.iter().map(|input| &input.header);
        let deployments = headers.filter(|header| &*header.kind == kubefoundry_model::wire::KIND);
        let in_pipelines = items.iter().flat_map(functions);
        let others = in_pipelines.filter(|(kptfile, function)| !may_be_us(kptfile, function, items));
        let configured = items.iter().filter(|object| item::annotation(object, item::FUNCTION).is_some());
        let own = envelope.function_config().map(item::identity);
        let is_of_folder = |config: &Node<'_>| {
            Some(item::identity(config)) == own && Origin::of(config).is_some_and(|origin| !origin.folder().is_empty())
        };
        Self {
            present: deployments.map(|it| owner_name(it.namespace.as_deref(), &it.name)).collect(),
            others_take: others.map(|(_, function)| function).any(may_take)
                || configured.clone().any(|object| !FunctionConfig::may_be(object)),
            is_of_folder: configured.clone().any(is_of_folder),
        }
    }

    fn doubt(&self, owner: &str) -> Option<&'static str> {
        if self.present.contains(owner) {
            Some("a ModelDeployment of that name is in another package, or of another group")
        } else if self.others_take {
            Some("another function may have taken its ModelDeployment away")
        } else if self.is_of_folder {
            Some("the function sees one folder, and its ModelDeployment may be in another")
        } else {
            None
        }
    }
}

fn is_kptfile(object: &Node<'_>) -> bool {
    item::type_of(object).1 == "Kptfile"
}

/// The functions of a package's pipeline that can generate, each with its Kptfile: validators cannot.
fn functions<'n, 't>(object: &'n Node<'t>) -> impl Iterator<Item = (&'n Node<'t>, &'n Node<'t>)> + use<'n, 't> {
    let pipeline = Some(object).filter(|object| is_kptfile(object)).and_then(|kptfile| kptfile.get("pipeline"));
    let mutators = pipeline.and_then(|pipeline| pipeline.get("mutators")).map(Node::items).unwrap_or_default();
    mutators.iter().map(move |function| (object, function))
}

/// Where kpt publishes functions of its own.
const CATALOGS: [&str; 2] = ["gcr.io/kpt-fn/", "ghcr.io/kptdev/krm-functions-catalog/"];

/// Functions of kpt's catalog that give back every object that they are given.
const KEEPING: [&str; 10] = [
    "apply-replacements",
    "apply-setters",
    "create-setters",
    "ensure-name-substring",
    "set-annotations",
    "set-image",
    "set-labels",
    "set-namespace",
    "set-project-id",
    "upsert-resource",
];

/// Whether a function may take objects away: any but those of kpt's catalog that are known not to.
fn may_take(function: &Node<'_>) -> bool {
    let image = item::word(function, &["image"]).unwrap_or_default();
    let name = CATALOGS.iter().find_map(|catalog| image.strip_prefix(catalog));
    let name = name.and_then(|name| name.split([':', '@']).next());
    !name.is_some_and(|name| KEEPING.contains(&name))
}

/// Whether a function may be this one, which can have any name: it is another only where it comes from kpt's catalog,
/// or where its configuration is one that we refuse.
fn may_be_us(kptfile: &Node<'_>, function: &Node<'_>, items: &[Node<'_>]) -> bool {
    if item::word(function, &["image"]).is_some_and(|image| CATALOGS.iter().any(|it| image.starts_with(it))) {
        return false;
    }
    let Some(path) = item::word(function, &["configPath"]) else {
        return FunctionConfig::may_be_data(function.get("configMap"));
    };
    let path = path.trim_start_matches("./");
    let package = item::annotation(kptfile, item::PACKAGE);
    let is_config = |object: &&Node<'_>| {
        Origin::of(object).is_some_and(|origin| origin.path == path && origin.package.as_deref() == package)
    };
    items.iter().find(is_config).is_none_or(FunctionConfig::may_be)
}
