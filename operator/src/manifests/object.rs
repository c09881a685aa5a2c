//! An object of the cluster, as it is printed and applied.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::ApiResource;
use serde::Serialize;
use serde_json::Value;

/// The label of everything that belongs to us: what `upgrade` and `uninstall` look for, together with [`NAME`].
pub(crate) const PART_OF: (&str, &str) = ("app.kubernetes.io/part-of", "kubefoundry");
/// The label of the program's own objects.
pub(crate) const NAME: (&str, &str) = ("app.kubernetes.io/name", "kubefoundry-operator");

/// An object, and where it goes.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) resource: ApiResource,
    /// None for what belongs to the whole cluster.
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    pub(crate) value: Value,
}

impl Object {
    /// An object of a built-in kind.
    pub(crate) fn of<K: kube::Resource<DynamicType = ()> + Serialize>(object: &K) -> Self {
        Self {
            resource: ApiResource::erase::<K>(&()),
            namespace: object.meta().namespace.clone(),
            name: object.meta().name.clone().unwrap_or_default(),
            // Built-in kinds are plain data, of which JSON can hold everything.
            value: serde_json::to_value(object).unwrap_or_default(),
        }
    }

    /// As kubectl names it: `deployment.apps/kubefoundry-controller`.
    pub(crate) fn reference(&self) -> String {
        let ApiResource { kind, group, .. } = &self.resource;
        let (kind, dot) = (kind.to_lowercase(), if group.is_empty() { "" } else { "." });
        format!("{kind}{dot}{group}/{}", self.name)
    }

    /// Whether it is of that kind.
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.resource.kind == kind
    }
}

/// The labels that all objects of ours have.
pub(crate) fn labels() -> BTreeMap<String, String> {
    [NAME, PART_OF].into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Name and labels of an object of the whole cluster.
pub(crate) fn cluster_metadata(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), labels: Some(labels()), ..ObjectMeta::default() }
}

/// Name, namespace and labels of an object.
pub(crate) fn metadata(name: &str, namespace: &str) -> ObjectMeta {
    ObjectMeta { namespace: Some(namespace.to_owned()), ..cluster_metadata(name) }
}
