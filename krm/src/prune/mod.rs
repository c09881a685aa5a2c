//! Removes objects that are no longer generated.
//!
//! The function sees only the objects that its client passes to it, and the client deletes every object that it does
//! not return. So it prunes only on request, and only objects that kubefoundry certainly generated and that appear to
//! be stale.

mod keep_reason;

use std::collections::BTreeSet;

use kubefoundry_compiler::Compilation;
use kubefoundry_compiler::options::render::OutputMode;
use kubefoundry_composition::BUILTIN;
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_kubernetes::manifest::{ALL_OWNERS, Identity, owner_name};
use kubefoundry_yaml::Node;

use crate::changes::{Changes, ItemChange};
use crate::envelope::Envelope;
use crate::item::{self, Origin};
use crate::results::Finding;

/// An object that kubefoundry generated earlier and no longer generates.
struct StaleObject<'n> {
    position: usize,
    identity: Identity,
    owner: &'n str,
    origin: Origin,
    /// Whether its ModelDeployment still exists and generates other objects.
    has_owner: bool,
    /// The reason to keep the object; `None` removes it.
    reason: Option<&'static str>,
}

/// Marks stale items for removal. Returns a finding for each removed object, and for each kept one with the reason.
pub(crate) fn prune(compilation: &Compilation, envelope: &Envelope<'_>, changes: &mut Changes) -> Vec<Finding> {
    let mode = compilation.options.output.unwrap_or(OutputMode::Append);
    if !compilation.options.prune || mode != OutputMode::Append {
        return Vec::new();
    }
    let items = envelope.items();
    let generated: BTreeSet<&Identity> = compilation.outputs.iter().map(|output| &*output.identity).collect();
    let mut stale = find_stale(items, &generated);
    if stale.is_empty() {
        return Vec::new();
    }
    let run_reason = keep_reason::for_run(items, envelope);
    let missing_owner = keep_reason::MissingOwner::new(compilation, items, envelope);
    for it in &mut stale {
        it.has_owner = keep_reason::find_owner(it, items).is_some();
        it.reason = run_reason.or_else(|| keep_reason::for_object(it, items, &missing_owner));
    }
    keep_referenced(&mut stale, items, &generated);
    if stale.iter().filter(|it| it.reason.is_none()).count() == items.len() && changes.added.is_empty() {
        // Clients differ on an empty list: some write nothing, others delete everything. So it is never returned.
        for it in &mut stale {
            it.reason = Some("the list would be empty without it");
        }
    }
    let mut findings = Vec::new();
    for StaleObject { position, identity, owner, origin, has_owner, reason } in stale {
        let (Some(object), Some(change)) = (items.get(position), changes.items.get_mut(position)) else { continue };
        let name = format!("{} {}", identity.kind, owner_name(identity.namespace.as_deref(), &identity.name));
        let message = match reason {
            Some(reason) => format!("{}: {name} is no longer generated, but is kept: {reason}", origin.path),
            None if has_owner => format!("{}: removed {name}, which {owner} no longer generates", origin.path),
            None => format!("{}: removed {name}, whose ModelDeployment {owner} no longer exists", origin.path),
        };
        if reason.is_none() {
            *change = ItemChange::Remove;
        }
        findings.push(Finding::info(message, object));
    }
    findings
}

/// Finds stale objects. PersistentVolumeClaims are never pruned, because data must outlive the model, and neither are
/// objects that several others share: deleting the queue of an actor deletes its messages.
fn find_stale<'n>(items: &'n [Node<'_>], generated: &BTreeSet<&Identity>) -> Vec<StaleObject<'n>> {
    let stale = items.iter().enumerate().filter_map(|(position, object)| {
        let owner = owner(object).filter(|_| is_managed(object))?;
        let identity = item::identity(object);
        let is_kept = &*identity.kind == "PersistentVolumeClaim" || owner == ALL_OWNERS;
        if generated.contains(&identity) || is_kept {
            return None;
        }
        Some(StaleObject {
            position,
            identity,
            owner,
            origin: Origin::from_annotations(object)?,
            has_owner: false,
            reason: None,
        })
    });
    stale.collect()
}

/// Keeps stale objects whose name occurs in an object that stays, transitively. Generated objects refer only to
/// generated ones, so they are not searched.
fn keep_referenced(stale: &mut [StaleObject<'_>], items: &[Node<'_>], generated: &BTreeSet<&Identity>) {
    let to_remove: BTreeSet<usize> = stale.iter().filter(|it| it.reason.is_none()).map(|it| it.position).collect();
    if to_remove.is_empty() {
        return;
    }
    let mut texts = BTreeSet::new();
    for (position, object) in items.iter().enumerate() {
        let stays = !to_remove.contains(&position) && !generated.contains(&item::identity(object));
        if stays && !item::is_model_deployment(object) {
            add_texts(object, &mut texts);
        }
    }
    let is_named =
        |it: &&mut StaleObject<'_>, texts: &BTreeSet<&str>| it.reason.is_none() && texts.contains(&*it.identity.name);
    while let Some(it) = stale.iter_mut().find(|it| is_named(it, &texts)) {
        it.reason = Some("an object that stays refers to it");
        items.get(it.position).into_iter().for_each(|object| add_texts(object, &mut texts));
    }
}

/// Collects all text values of an object, except for its metadata.
fn add_texts<'n>(object: &'n Node<'_>, texts: &mut BTreeSet<&'n str>) {
    let entries = object.entries().iter().filter(|entry| entry.key != "metadata");
    let mut nodes: Vec<&Node<'_>> = entries.map(|entry| &entry.node).collect();
    while let Some(node) = nodes.pop() {
        texts.extend(node.as_str());
        nodes.extend(node.items());
        nodes.extend(node.entries().iter().map(|entry| &entry.node));
    }
}

/// Returns the owner annotation, which names the object that an object was generated from.
pub(crate) fn owner<'n>(object: &'n Node<'_>) -> Option<&'n str> {
    BUILTIN.owner_annotations().find_map(|key| item::annotation(object, &key))
}

/// Whether an object has the `managed-by` label of kubefoundry.
fn is_managed(object: &Node<'_>) -> bool {
    let labels = object.get("metadata").and_then(|metadata| metadata.get("labels"));
    let label = |api_group: &ApiGroup| labels?.get(&api_group.label("managed-by"))?.as_str();
    API_GROUPS.iter().any(|api_group| label(api_group) == Some(api_group.manager))
}
