//! Finds the live object that corresponds to a rendered one.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use kubefoundry_compiler::cluster_snapshot::LiveObject;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::header::group_of;
use kubefoundry_kubernetes::manifest::owner_name;
use kubefoundry_provider::status::text_or_empty;

/// Live objects by group, kind and name.
pub(super) struct LiveIndex<'l> {
    objects: BTreeMap<Key<'l>, Vec<(usize, &'l LiveObject)>>,
}

/// Group, kind and name.
type Key<'l> = (&'l str, &'l str, &'l str);

/// The live objects found for a rendered one. Positions are those in the snapshot.
pub(super) enum LiveMatch<'l> {
    None,
    One(usize, &'l LiveObject),
    /// The object is live in another version, whose fields cannot be compared.
    OtherVersion(usize, &'l LiveObject),
    /// Several objects in different namespaces match; the text says why.
    Several(Vec<usize>, String),
}

impl<'l> LiveIndex<'l> {
    pub(super) fn new(live: &'l [LiveObject]) -> Self {
        let mut objects: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (position, object) in live.iter().enumerate() {
            let key = (object.group(), &*object.object.kind, &*object.object.name);
            objects.entry(key).or_default().push((position, object));
        }
        Self { objects }
    }

    /// Finds the live object of a rendered one. An object rendered without a namespace may be live in any; then its
    /// ownership annotation identifies it.
    pub(super) fn find(&self, expected: &Value) -> LiveMatch<'l> {
        let api_version = text_or_empty(expected, "/apiVersion");
        let (kind, name) = (text_or_empty(expected, "/kind"), text_or_empty(expected, "/metadata/name"));
        let namesakes = self.objects.get(&(group_of(api_version), kind, name));
        let mut candidates = namesakes.cloned().unwrap_or_default();
        if let Some(namespace) = expected.pointer("/metadata/namespace").and_then(Value::as_str) {
            candidates.retain(|(_, live)| live.object.namespace.as_deref() == Some(namespace));
        } else {
            let is_owned = |(_, live): &(usize, &LiveObject)| is_owner(live, owner(expected));
            if candidates.iter().any(is_owned) {
                candidates.retain(is_owned);
            }
        }
        let mut namespaces: Vec<&str> =
            candidates.iter().filter_map(|(_, live)| live.object.namespace.as_deref()).collect();
        namespaces.sort_unstable();
        namespaces.dedup();
        if namespaces.len() > 1 {
            let message = format!("it is rendered without a namespace, and there in {}", namespaces.join(", "));
            return LiveMatch::Several(candidates.iter().map(|(position, _)| *position).collect(), message);
        }
        let same_version = candidates.iter().find(|(_, live)| &*live.object.api_version == api_version);
        match (same_version, candidates.first()) {
            (Some((position, live)), _) => LiveMatch::One(*position, live),
            (None, Some((position, live))) => LiveMatch::OtherVersion(*position, live),
            (None, None) => LiveMatch::None,
        }
    }
}

/// Returns the deployment that the ownership annotation of a rendered object names.
pub(super) fn owner(object: &Value) -> Option<&str> {
    let annotations = object.pointer("/metadata/annotations")?;
    API_GROUPS.iter().find_map(|api_group| annotations.get(api_group.label("model-deployment"))?.as_str())
}

/// Returns whether a live object belongs to the deployment that a rendered one names. The annotations are equal, or the
/// live one starts with the object's namespace, as the operator writes it.
pub(super) fn is_owner(live: &LiveObject, expected: Option<&str>) -> bool {
    let (Some((_, live_owner)), Some(expected)) = (live.owner_annotation(), expected) else { return false };
    let namespace = live.object.namespace.as_deref();
    live_owner == expected || (!expected.contains('/') && live_owner == owner_name(namespace, expected))
}

/// Returns the reference of a rendered object.
pub(super) fn reference(object: &Value) -> ObjectRef {
    let text = |pointer: &str| Arc::from(text_or_empty(object, pointer));
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).map(Arc::from);
    ObjectRef { api_version: text("/apiVersion"), kind: text("/kind"), namespace, name: text("/metadata/name") }
}
