//! Reasons to keep an object that appears to be stale. In case of doubt, an object is kept.

use std::collections::BTreeSet;

use kubefoundry_compiler::Compilation;
use kubefoundry_kubernetes::manifest::{Identity, owner_name};
use kubefoundry_yaml::Node;

use super::StaleObject;
use crate::envelope::Envelope;
use crate::function_config::FunctionConfig;
use crate::generated;
use crate::item::{self, Origin};

/// Returns a reason that applies to all objects: the client may hide objects, or another function may have generated
/// them.
pub(super) fn for_run(items: &[Node<'_>], envelope: &Envelope<'_>) -> Option<&'static str> {
    let has = |object: &Node<'_>, key: &str| item::annotation(object, key).is_some();
    let config = envelope.function_config();
    let is_kustomize_config = |config: &Node<'_>| {
        has(config, item::FUNCTION) && has(config, item::LOCAL) && Origin::from_annotations(config).is_none()
    };
    if items.iter().any(item::is_in_kustomize_build) || config.is_some_and(is_kustomize_config) {
        return Some("kustomize build has no files to remove it from");
    }
    let functions = || {
        items
            .iter()
            .flat_map(pipeline_mutators)
            .filter(|(kptfile, function)| may_be_this_function(kptfile, function, items))
    };
    let has_selectors = |function: &Node<'_>| function.get("selectors").is_some() || function.get("exclude").is_some();
    if items.iter().any(item::is_selected) || functions().any(|(_, function)| has_selectors(function)) {
        return Some("selectors hide objects from this function, so its ModelDeployment may be among them");
    }
    let is_render = items.iter().any(|object| has(object, item::PACKAGE));
    let configured = items.iter().filter(|object| has(object, item::FUNCTION) && FunctionConfig::is_acceptable(object));
    let is_configured = config.is_some_and(|config| has(config, item::FUNCTION));
    // One function of the pipeline, or one function configuration, is this run itself.
    let has_others = functions().count() > usize::from(is_render) || configured.count() > usize::from(is_configured);
    has_others.then_some("another function that runs on this package may be kubefoundry, and have generated it")
}

/// Finds the ModelDeployment of an object in the package of the object.
pub(super) fn find_owner<'n, 't>(stale: &StaleObject<'_>, items: &'n [Node<'t>]) -> Option<&'n Node<'t>> {
    let is_owner = |object: &&Node<'_>| {
        let Identity { namespace, name, .. } = item::identity(object);
        item::is_model_deployment(object) && owner_name(namespace.as_deref(), &name) == *stale.owner
    };
    package_of(stale, items).find(is_owner)
}

fn package_of<'n, 't>(stale: &StaleObject<'_>, items: &'n [Node<'t>]) -> impl Iterator<Item = &'n Node<'t>> {
    let package = stale.origin.package.as_deref();
    items.iter().filter(move |object| item::annotation(object, item::PACKAGE) == package)
}

/// Returns a reason to keep one object: it differs from the generated one, or its ModelDeployment may still generate
/// it.
pub(super) fn for_object(
    stale: &StaleObject<'_>,
    items: &[Node<'_>],
    missing_owner: &MissingOwner,
) -> Option<&'static str> {
    let StaleObject { identity, owner, origin, .. } = stale;
    let namespace = owner.split_once('/').map(|(namespace, _)| namespace);
    if namespace != identity.namespace.as_deref() {
        return Some("its namespace was changed after it was generated");
    }
    if origin.path.rsplit('/').next() != Some(generated::file_name(identity).as_str()) {
        return Some("its name or its file was changed after it was generated");
    }
    if origin.package.is_some() && !package_of(stale, items).any(is_kptfile) {
        return Some("the client passes only a part of its package");
    }
    let Some(deployment) = find_owner(stale, items) else { return missing_owner.keep_reason(owner) };
    let is_in_same_folder =
        Origin::from_annotations(deployment).is_some_and(|owner_origin| owner_origin.folder() == origin.folder());
    if is_in_same_folder { None } else { Some("it is not in the folder of its ModelDeployment") }
}

/// Decides whether a missing ModelDeployment was really removed.
///
/// Clients do not report what a `.krmignore` hides. The documentation of `prune` warns about this case.
#[derive(Debug)]
pub(super) struct MissingOwner {
    /// The names of all ModelDeployments in the input, of any API group and package.
    present: BTreeSet<String>,
    /// Whether another function of the pipeline may remove objects.
    others_may_remove: bool,
    /// Whether the function is configured in a folder, and so sees only that folder.
    sees_one_folder: bool,
}

impl MissingOwner {
    pub(super) fn new(compilation: &Compilation, items: &[Node<'_>], envelope: &Envelope<'_>) -> Self {
        let headers = compilation.inputs.iter().map(|input| &input.header);
        let deployments = headers.filter(|header| &*header.kind == kubefoundry_deployment::wire::KIND);
        let mutators = items.iter().flat_map(pipeline_mutators);
        let others = mutators.filter(|(kptfile, function)| !may_be_this_function(kptfile, function, items));
        let configured = items.iter().filter(|object| item::annotation(object, item::FUNCTION).is_some());
        let own = envelope.function_config().map(item::identity);
        let is_in_folder = |config: &Node<'_>| {
            Some(item::identity(config)) == own
                && Origin::from_annotations(config).is_some_and(|origin| !origin.folder().is_empty())
        };
        Self {
            present: deployments.map(|it| owner_name(it.namespace.as_deref(), &it.name)).collect(),
            others_may_remove: others.map(|(_, function)| function).any(may_remove_objects)
                || configured.clone().any(|object| !FunctionConfig::is_acceptable(object)),
            sees_one_folder: configured.clone().any(is_in_folder),
        }
    }

    fn keep_reason(&self, owner: &str) -> Option<&'static str> {
        if self.present.contains(owner) {
            Some("a ModelDeployment with that name is in another package or has another API group")
        } else if self.others_may_remove {
            Some("another function may have removed its ModelDeployment")
        } else if self.sees_one_folder {
            Some("the function sees only one folder, and its ModelDeployment may be in another")
        } else {
            None
        }
    }
}

fn is_kptfile(object: &Node<'_>) -> bool {
    item::type_of(object).1 == "Kptfile"
}

/// Returns the mutators of the pipeline in a Kptfile, each with the Kptfile. Validators cannot generate objects.
fn pipeline_mutators<'n, 't>(object: &'n Node<'t>) -> impl Iterator<Item = (&'n Node<'t>, &'n Node<'t>)> + use<'n, 't> {
    let pipeline = Some(object).filter(|object| is_kptfile(object)).and_then(|kptfile| kptfile.get("pipeline"));
    let mutators = pipeline.and_then(|pipeline| pipeline.get("mutators")).map(Node::items).unwrap_or_default();
    mutators.iter().map(move |function| (object, function))
}

/// Image prefixes of the function catalog of kpt.
const CATALOGS: [&str; 2] = ["gcr.io/kpt-fn/", "ghcr.io/kptdev/krm-functions-catalog/"];

/// Functions of the catalog that never remove objects.
const KEEPS_OBJECTS: [&str; 10] = [
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

/// Whether a function may remove objects. Only known functions of the catalog do not.
fn may_remove_objects(function: &Node<'_>) -> bool {
    let image = item::text_at(function, &["image"]).unwrap_or_default();
    let name = CATALOGS.iter().find_map(|catalog| image.strip_prefix(catalog));
    let name = name.and_then(|name| name.split([':', '@']).next());
    !name.is_some_and(|name| KEEPS_OBJECTS.contains(&name))
}

/// Whether a function may be this one, which can have any image name. It is certainly another one if it is from the
/// catalog, or if this function would reject its configuration.
fn may_be_this_function(kptfile: &Node<'_>, function: &Node<'_>, items: &[Node<'_>]) -> bool {
    if item::text_at(function, &["image"]).is_some_and(|image| CATALOGS.iter().any(|it| image.starts_with(it))) {
        return false;
    }
    let Some(path) = item::text_at(function, &["configPath"]) else {
        return FunctionConfig::is_acceptable_data(function.get("configMap"));
    };
    let path = path.trim_start_matches("./");
    let package = item::annotation(kptfile, item::PACKAGE);
    let is_config = |object: &&Node<'_>| {
        Origin::from_annotations(object)
            .is_some_and(|origin| origin.path == path && origin.package.as_deref() == package)
    };
    items.iter().find(is_config).is_none_or(FunctionConfig::is_acceptable)
}
