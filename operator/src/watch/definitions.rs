//! Watches the CRDs of the kinds that providers write, and keeps them as text for the evaluator.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::ApiResource;
use kube::runtime::watcher;
use kube::{Api, Client};
use kubefoundry_composition::PROVIDERS;
use kubefoundry_model::gateway;
use kubefoundry_provider::Provider;
use serde_json::Value;

use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_controller_runtime::observed::ObjectView;
use kubefoundry_controller_runtime::watch::{Index, Initialized, Signal, follow, watch_config};
use kubefoundry_reconcile::cached_object::CachedObject;

/// The CRD of a kind of a provider, once the apiserver serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) uid: String,
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    /// The whole CRD as JSON.
    pub(crate) text: Arc<str>,
}

/// The installed CRDs of providers, by name.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    known: RwLock<Index<Definition>>,
    /// Further kinds, as group and kind, that are kept beside those of providers.
    further: Vec<(&'static str, &'static str)>,
    filled: Initialized,
}

impl Definitions {
    /// Creates an empty cache. `further` are kinds that are kept beside those of providers, as group and kind.
    pub(crate) fn new(further: Vec<(&'static str, &'static str)>) -> Self {
        Self { further, ..Self::default() }
    }

    /// Returns the CRDs that are installed now.
    pub(crate) fn all(&self) -> BTreeMap<String, Definition> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).all.clone()
    }

    /// Waits until the cache is filled.
    pub(crate) async fn filled(&self) {
        self.filled.wait().await;
    }

    /// Keeps the cache up to date, and raises the signal on changes. Never returns.
    pub(crate) async fn follow(&self, client: Client, changed: Arc<Signal>, metrics: Arc<Metrics>) {
        let resource = ApiResource::erase::<CustomResourceDefinition>(&());
        // Small pages, because schemas are long.
        let config = watch_config().page_size(10);
        let mut groups = groups();
        groups.extend(self.further.iter().map(|(group, _)| *group));
        follow(
            "customresourcedefinitions",
            &metrics,
            Api::<CachedObject>::all_with(client, &resource),
            config,
            |event| {
                let is_done = matches!(event, watcher::Event::InitDone);
                let read =
                    |object: &CachedObject| (object.name().to_owned(), definition(object, &groups, &self.further));
                let names = self.known.write().unwrap_or_else(PoisonError::into_inner).apply(event, read);
                for name in &names {
                    tracing::info!(definition = name, "a CRD of a provider was added, changed or removed");
                }
                if is_done {
                    self.filled.set();
                }
                if is_done || !names.is_empty() {
                    changed.raise();
                }
            },
        )
        .await;
    }
}

/// Returns the API groups of all kinds that providers write.
fn groups() -> Vec<&'static str> {
    let kind_groups = |provider: &&'static dyn Provider| provider.info().kinds.iter().map(|own| own.group);
    PROVIDERS.iter().flat_map(kind_groups).chain(gateway::KINDS.iter().map(|kind| kind.group)).collect()
}

/// Reads a CRD; none if its kind is not looked at, or if it is not established.
fn definition(object: &CachedObject, groups: &[&str], further: &[(&'static str, &'static str)]) -> Option<Definition> {
    // The apiserver guarantees the form `<plural>.<group>`.
    let (plural, group) = object.name().split_once('.')?;
    if !groups.contains(&group) || object.is_terminating() {
        return None;
    }
    let mut value = Arc::unwrap_or_clone(object.value());
    if !ObjectView(&value).status().condition("Established")?.is_true() {
        return None;
    }
    let kind = value.pointer("/spec/names/kind")?.as_str()?.to_owned();
    let is_of_gateway = gateway::KINDS.iter().any(|it| it.group_kind() == (group, &*kind));
    let is_further = further.contains(&(group, &*kind));
    if !is_of_gateway && !is_further && !PROVIDERS.iter().any(|provider| provider.info().has_kind(group, &kind)) {
        return None;
    }
    let mut spec = value["spec"].take();
    remove_descriptions(&mut spec);
    // The apiserver omits kind and apiVersion in lists.
    let definition = serde_json::json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": object.name()},
        "spec": spec,
    });
    let text = definition.to_string().into();
    Some(Definition { uid: object.uid().to_owned(), group: group.to_owned(), kind, plural: plural.to_owned(), text })
}

/// Removes descriptions: they are most of a schema, and have no effect.
fn remove_descriptions(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // A property may be named `description`; its value is then a schema, not a string.
            fields.retain(|key, value| key != "description" || !value.is_string());
            let inner = fields.iter_mut().filter(|(key, _)| !matches!(key.as_str(), "default" | "enum" | "example"));
            inner.for_each(|(_, value)| remove_descriptions(value));
        }
        Value::Array(items) => items.iter_mut().for_each(remove_descriptions),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_crd_counts_once_it_is_established() {
        let read = |group: &str, established: &str| {
            let object = json!({
                "metadata": {"name": format!("workspaces.{group}"), "uid": "u", "generation": 3},
                "spec": {"group": group, "names": {"kind": "Workspace", "plural": "workspaces"}},
                "status": {"conditions": [{"type": "Established", "status": established}]},
            });
            definition(&CachedObject::new(object).unwrap(), &groups(), &[])
        };
        assert_eq!(read("kaito.sh", "False"), None);
        assert_eq!(read("example.com", "True"), None);
        let definition = read("kaito.sh", "True").unwrap();
        assert_eq!((&*definition.kind, &*definition.plural, &*definition.uid), ("Workspace", "workspaces", "u"));
        assert!(definition.text.contains("CustomResourceDefinition") && !definition.text.contains("generation"));
    }
}
