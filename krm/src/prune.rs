//! Removing what is not generated any more. Only on request, and only what is certainly ours and, as far as a function
//! can tell, stale: it sees what its client chose to show it, and what it does not give back, the client deletes.

mod doubt;

use std::collections::BTreeSet;

use kubefoundry_compiler::Compilation;
use kubefoundry_compiler::composition;
use kubefoundry_compiler::options::render::OutputMode;
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_kubernetes::manifest::{Identity, owner_name};
use kubefoundry_yaml::Node;

use crate::changes::{Change, Changes};
use crate::envelope::Envelope;
use crate::item::{self, Origin};
use crate::results::Finding;

/// An object of ours that is not generated any more.
struct Stale<'n> {
    position: usize,
    identity: Identity,
    owner: &'n str,
    origin: Origin,
    /// Whether its ModelDeployment is there, and generates something else.
    has_owner: bool,
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
    let of_run = doubt::of_run(items, envelope);
    let removal = doubt::Removal::new(compilation, items, envelope);
    for it in &mut stale {
        it.has_owner = doubt::owner_in_package(it, items).is_some();
        it.reason = of_run.or_else(|| doubt::of_object(it, items, &removal));
    }
    keep_what_is_referred_to(&mut stale, items, &made);
    if stale.iter().filter(|it| it.reason.is_none()).count() == items.len() && changes.added.is_empty() {
        // An empty list is nothing to write for one client, and everything to delete for another.
        for it in &mut stale {
            it.reason = Some("nothing else is here, and an answer is never empty");
        }
    }
    let mut said = Vec::new();
    for Stale { position, identity, owner, origin, has_owner, reason } in stale {
        let (Some(object), Some(change)) = (items.get(position), changes.items.get_mut(position)) else { continue };
        let name = format!("{} {}", identity.kind, owner_name(identity.namespace.as_deref(), &identity.name));
        let message = match reason {
            Some(reason) => format!("{}: {name} is not generated any more, and is kept: {reason}", origin.path),
            None if has_owner => format!("{}: removed {name}, which {owner} does not generate any more", origin.path),
            None => format!("{}: removed {name}, whose ModelDeployment {owner} is not there any more", origin.path),
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
        Some(Stale { position, identity, owner, origin: Origin::of(object)?, has_owner: false, reason: None })
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
    composition::owner_annotations().find_map(|key| item::annotation(object, &key))
}

/// Whether it bears our label, too.
fn is_managed(object: &Node<'_>) -> bool {
    let labels = object.get("metadata").and_then(|metadata| metadata.get("labels"));
    let label = |api_group: &ApiGroup| labels?.get(&api_group.label("managed-by"))?.as_str();
    API_GROUPS.iter().any(|api_group| label(api_group) == Some(api_group.manager))
}
