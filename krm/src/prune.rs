//! Removing what is not generated any more. Only on request, and only what is certainly ours and certainly stale: a
//! function sees what its client chose to show it, and what it does not give back, the client deletes.

use std::collections::BTreeSet;

use kubefoundry::Compilation;
use kubefoundry::dialect::{DIALECTS, Dialect};
use kubefoundry::manifest::{Identity, owner_name};
use kubefoundry::transform;
use kubefoundry::wire::OutputMode;
use kubefoundry::yaml::Node;

use crate::envelope::Envelope;
use crate::function_config::FunctionConfig;
use crate::generated;
use crate::item::{self, Origin};
use crate::results::Finding;
use crate::splice::{Change, Changes};

/// An object of ours that is not generated any more.
struct Stale<'n> {
    position: usize,
    identity: Identity,
    owner: &'n str,
    origin: Origin,
    /// Why it stays.
    reason: Option<&'static str>,
}

/// Marks stale items for removal, and says so; where something keeps it from doing that, says what.
pub(crate) fn prune(compilation: &Compilation, envelope: &Envelope<'_>, changes: &mut Changes) -> Vec<Finding> {
    let mode = compilation.options.output.unwrap_or(OutputMode::Append);
    if !compilation.options.prune || mode != OutputMode::Append {
        return Vec::new();
    }
    let items = envelope.items();
    let made: BTreeSet<&Identity> = compilation.outputs.iter().map(|output| &output.identity).collect();
    let mut stale = stale(items, &made);
    if stale.is_empty() {
        return Vec::new();
    }
    let doubt = doubt(items, envelope);
    for it in &mut stale {
        it.reason = doubt.or_else(|| doubt_of(it, items));
    }
    keep_what_is_referred_to(&mut stale, items, &made);
    let mut said = Vec::new();
    for Stale { position, identity, owner, origin, reason } in stale {
        let (Some(object), Some(change)) = (items.get(position), changes.items.get_mut(position)) else { continue };
        let name = format!("{} {}", identity.kind, owner_name(identity.namespace.as_deref(), &identity.name));
        let message = match reason {
            Some(reason) => format!("{}: {name} is not generated any more, and is kept: {reason}", origin.path),
            None => format!("{}: removed {name}, which {owner} does not generate any more", origin.path),
        };
        if reason.is_none() {
            *change = Change::Remove;
        }
        said.push(Finding::info(message, object));
    }
    said
}

/// Claims are never among them: data outlives a model.
fn stale<'n>(items: &'n [Node<'_>], made: &BTreeSet<&Identity>) -> Vec<Stale<'n>> {
    let stale = items.iter().enumerate().filter_map(|(position, object)| {
        let owner = owner(object).filter(|_| is_managed(object))?;
        let identity = item::identity(object);
        if made.contains(&identity) || &*identity.kind == "PersistentVolumeClaim" {
            return None;
        }
        Some(Stale { position, identity, owner, origin: Origin::of(object)?, reason: None })
    });
    stale.collect()
}

/// Keeps what an object that stays names, and what that names. What is generated now names nothing that is not.
fn keep_what_is_referred_to(stale: &mut [Stale<'_>], items: &[Node<'_>], made: &BTreeSet<&Identity>) {
    let going: BTreeSet<usize> = stale.iter().filter(|it| it.reason.is_none()).map(|it| it.position).collect();
    if going.is_empty() {
        return;
    }
    let mut words = BTreeSet::new();
    for (position, object) in items.iter().enumerate() {
        let stays = !going.contains(&position) && !made.contains(&item::identity(object));
        if stays && !item::is_model_deployment(object) {
            add_words_of(object, &mut words);
        }
    }
    let is_named =
        |it: &&mut Stale<'_>, words: &BTreeSet<&str>| it.reason.is_none() && words.contains(&*it.identity.name);
    while let Some(it) = stale.iter_mut().find(|it| is_named(it, &words)) {
        it.reason = Some("an object that stays refers to it");
        items.get(it.position).into_iter().for_each(|object| add_words_of(object, &mut words));
    }
}

/// All text in an object, but for its metadata.
fn add_words_of<'n>(object: &'n Node<'_>, words: &mut BTreeSet<&'n str>) {
    let entries = object.entries().iter().filter(|entry| entry.key != "metadata");
    let mut nodes: Vec<&Node<'_>> = entries.map(|entry| &entry.node).collect();
    while let Some(node) = nodes.pop() {
        words.extend(node.as_str());
        nodes.extend(node.items());
        nodes.extend(node.entries().iter().map(|entry| &entry.node));
    }
}

/// What an object says it was generated from.
pub(crate) fn owner<'n>(object: &'n Node<'_>) -> Option<&'n str> {
    transform::owner_annotations().find_map(|key| item::annotation(object, &key))
}

/// Whether it bears our label, too.
fn is_managed(object: &Node<'_>) -> bool {
    let labels = object.get("metadata").and_then(|metadata| metadata.get("labels"));
    let label = |dialect: &Dialect| labels?.get(&dialect.label("managed-by"))?.as_str();
    DIALECTS.iter().any(|dialect| label(dialect) == Some(dialect.manager))
}

/// What makes it doubtful that the client shows us everything, or that we are the only one who generates.
fn doubt(items: &[Node<'_>], envelope: &Envelope<'_>) -> Option<&'static str> {
    let has = |object: &Node<'_>, key: &str| item::annotation(object, key).is_some();
    let config = envelope.function_config();
    let is_of_build =
        |config: &Node<'_>| has(config, item::FUNCTION) && has(config, item::LOCAL) && Origin::of(config).is_none();
    if items.iter().any(item::is_in_kustomize_build) || config.is_some_and(is_of_build) {
        return Some("kustomize build has no files to remove it from");
    }
    let is_render = items.iter().any(|object| has(object, item::PACKAGE));
    if !is_render && items.iter().any(|object| has(object, item::KPT_INDENT)) {
        return Some("kpt fn eval may hide objects from this function, kpt fn render does not");
    }
    let functions = || items.iter().flat_map(functions);
    if functions().any(|(_, function)| function.get("selectors").is_some() || function.get("exclude").is_some()) {
        return Some("a pipeline has selectors, so its ModelDeployment may be there and not be shown to this function");
    }
    let in_pipelines = functions().filter(|(kptfile, function)| may_be_us(kptfile, function, items)).count();
    let configured = items.iter().filter(|object| has(object, item::FUNCTION) && FunctionConfig::may_be(object));
    let is_configured = config.is_some_and(|config| has(config, item::FUNCTION));
    let others = in_pipelines > usize::from(is_render) || configured.count() > usize::from(is_configured);
    others.then_some("another function that runs on this package may be kubefoundry, and have generated it")
}

/// What makes it doubtful that an object is as it was generated, or that its ModelDeployment generates it no more. That
/// a ModelDeployment is gone is never certain: clients do not say what a `.krmignore` hides.
fn doubt_of(stale: &Stale<'_>, items: &[Node<'_>]) -> Option<&'static str> {
    let Stale { identity, owner, origin, .. } = stale;
    let namespace = owner.split_once('/').map(|(namespace, _)| namespace);
    if namespace != identity.namespace.as_deref() {
        return Some("its namespace was changed after it was generated");
    }
    if origin.path.rsplit('/').next() != Some(generated::file_name(identity).as_str()) {
        return Some("its name or its file was changed after it was generated");
    }
    let mut package =
        items.iter().filter(|object| item::annotation(object, item::PACKAGE) == origin.package.as_deref());
    if origin.package.is_some() && !package.clone().any(is_kptfile) {
        return Some("the client shows a part of its package");
    }
    let is_owner = |object: &&Node<'_>| {
        let Identity { namespace, name, .. } = item::identity(object);
        item::is_model_deployment(object) && owner_name(namespace.as_deref(), &name) == *owner
    };
    let Some(deployment) = package.find(is_owner) else {
        return Some("its ModelDeployment was removed, or a .krmignore hides it");
    };
    let is_beside = Origin::of(deployment).is_some_and(|beside| beside.folder() == origin.folder());
    if is_beside { None } else { Some("it is not in the folder of its ModelDeployment") }
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

/// Whether a function may be this one, which can have any name: it is another only where it comes from kpt's catalog, or
/// where its configuration is one that we refuse.
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
