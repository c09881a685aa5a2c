//! Which live object a rendered one is.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::cluster_snapshot::LiveObject;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::manifest::owner_name;
use kubefoundry_model::status::text_or_empty;

/// ClusterSnapshot objects by group, kind and name.
pub(super) struct LiveIndex<'l> {
    objects: BTreeMap<Key<'l>, Vec<(usize, &'l LiveObject)>>,
}

/// Group, kind and name.
type Key<'l> = (&'l str, &'l str, &'l str);

/// What there is for a rendered object.
pub(super) enum LiveMatch<'l> {
    None,
    One(usize, &'l LiveObject),
    /// It is there, in a version whose fields are others.
    OtherVersion(usize, &'l LiveObject),
    /// Several could be it; why.
    Several(Vec<usize>, String),
}

impl<'l> LiveIndex<'l> {
    pub(super) fn of(live: &'l [LiveObject]) -> Self {
        let mut objects: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (position, object) in live.iter().enumerate() {
            let key = (object.group(), &*object.object.kind, &*object.object.name);
            objects.entry(key).or_default().push((position, object));
        }
        Self { objects }
    }

    /// The live object that a rendered one is. One without a namespace may be in any; then its annotation tells which.
    pub(super) fn find(&self, expected: &Value) -> LiveMatch<'l> {
        let api_version = text_or_empty(expected, "/apiVersion");
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let named =
            self.objects.get(&(group, text_or_empty(expected, "/kind"), text_or_empty(expected, "/metadata/name")));
        let mut candidates = named.cloned().unwrap_or_default();
        if let Some(namespace) = expected.pointer("/metadata/namespace").and_then(Value::as_str) {
            candidates.retain(|(_, live)| live.object.namespace.as_deref() == Some(namespace));
        } else {
            let is_same = |(_, live): &(usize, &LiveObject)| is_owner(live, owner(expected));
            if candidates.iter().any(is_same) {
                candidates.retain(is_same);
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
        let same = candidates.iter().find(|(_, live)| &*live.object.api_version == api_version);
        match (same, candidates.first()) {
            (Some((position, live)), _) => LiveMatch::One(*position, live),
            (None, Some((position, live))) => LiveMatch::OtherVersion(*position, live),
            (None, None) => LiveMatch::None,
        }
    }
}

/// The deployment that the ownership annotation of a rendered object names.
pub(super) fn owner(object: &Value) -> Option<&str> {
    let annotations = object.pointer("/metadata/annotations")?;
    API_GROUPS.iter().find_map(|api_group| annotations.get(api_group.label("model-deployment"))?.as_str())
}

/// Whether a live object is of the deployment that a rendered one without a namespace names: in its words, or with the
/// namespace that it is in, as the operator writes it.
pub(super) fn is_owner(live: &LiveObject, expected: Option<&str>) -> bool {
    let (Some((_, found)), Some(expected)) = (live.owner_annotation(), expected) else { return false };
    let namespace = live.object.namespace.as_deref();
    found == expected || (!expected.contains('/') && found == owner_name(namespace, expected))
}

/// What a rendered object is.
pub(super) fn reference(object: &Value) -> ObjectRef {
    let text = |pointer: &str| Arc::from(text_or_empty(object, pointer));
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).map(Arc::from);
    ObjectRef { api_version: text("/apiVersion"), kind: text("/kind"), namespace, name: text("/metadata/name") }
}
