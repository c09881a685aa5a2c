//! Watches namespaces: their annotations list the providers that deployments may use.

use std::sync::{Arc, PoisonError, RwLock};

use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::Event;
use kube::{Api, Client, ResourceExt as _};
use kubefoundry_compiler::verdict::AllowList;

use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_controller_runtime::watch::{Index, Initialized, follow, watch_config};
use kubefoundry_reconcile::names::ALLOWED_PROVIDERS;

/// The cached allow lists of all namespaces.
#[derive(Debug, Default)]
pub(crate) struct Namespaces {
    known: RwLock<Index<Allowed>>,
    filled: Initialized,
}

/// The value of the annotation; without one all providers are allowed.
type Allowed = Option<Box<str>>;

impl Namespaces {
    /// Returns what a namespace allows. One that is not known yet allows everything, so controllers first wait until it
    /// [is](Self::is_known).
    pub(crate) fn allow_list(&self, namespace: &str) -> AllowList {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        AllowList::parse(namespace, known.all.get(namespace).and_then(|annotation| annotation.as_deref()))
    }

    /// Whether the cache contains a namespace.
    pub(crate) fn is_known(&self, namespace: &str) -> bool {
        self.known.read().unwrap_or_else(PoisonError::into_inner).all.contains_key(namespace)
    }

    /// Waits until the cache is filled.
    pub(crate) async fn filled(&self) {
        self.filled.wait().await;
    }

    /// Keeps the cache up to date, and calls `changed` for each namespace whose annotation changed. Never returns.
    pub(crate) async fn follow(&self, client: Client, metrics: &Arc<Metrics>, changed: impl Fn(&str)) {
        let api = Api::<PartialObjectMeta<Namespace>>::all(client);
        follow("namespaces", metrics, api, watch_config(), |event| {
            for name in self.apply(event) {
                changed(&name);
            }
        })
        .await;
    }

    fn apply(&self, event: Event<PartialObjectMeta<Namespace>>) -> Vec<String> {
        let is_done = matches!(event, Event::InitDone);
        let read = |namespace: &PartialObjectMeta<Namespace>| {
            let allowed = namespace.annotations().get(ALLOWED_PROVIDERS).map(|list| list.as_str().into());
            (namespace.name_any(), Some(allowed))
        };
        let changed = self.known.write().unwrap_or_else(PoisonError::into_inner).apply(event, read);
        if is_done {
            self.filled.set();
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_empty_list_allows_nothing() {
        let namespaces = Namespaces::default();
        for (name, list) in [("open", None), ("some", Some(" kaito, dynamo,")), ("closed", Some(""))] {
            let annotations = list.map(|list| json!({ALLOWED_PROVIDERS: list}));
            let namespace = json!({"metadata": {"name": name, "annotations": annotations}});
            assert_eq!(namespaces.apply(Event::Apply(serde_json::from_value(namespace).unwrap())), [name]);
        }
        let allows = |namespace: &str, provider: &str| namespaces.allow_list(namespace).allows(provider);
        assert!(allows("open", "kaito") && allows("unknown", "kaito"));
        assert!(allows("some", "kaito") && allows("some", "dynamo"));
        assert!(!allows("some", "kuberay") && !allows("closed", "kaito"));
        assert!(namespaces.is_known("closed") && !namespaces.is_known("unknown"));
    }
}
