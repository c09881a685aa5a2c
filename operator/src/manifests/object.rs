//! An object of the manifests, to be printed or applied.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::ApiResource;
use kubefoundry_yaml::infallible::to_json;
use serde::Serialize;
use serde_json::Value;

/// The label of all installed objects. `upgrade` and `uninstall` find objects by it, together with [`NAME`].
pub(crate) const PART_OF: (&str, &str) = ("app.kubernetes.io/part-of", "kubefoundry");
/// The label of the objects of the operator, as opposed to other parts of KubeFoundry.
pub(crate) const NAME: (&str, &str) = ("app.kubernetes.io/name", "kubefoundry-operator");

/// The label that distinguishes the Deployments.
pub(crate) const COMPONENT: &str = "app.kubernetes.io/component";
/// The label of cluster-wide objects that names the namespace of their operator, so that `uninstall` and `install` for
/// another namespace leave them alone.
pub(crate) const OPERATOR_NAMESPACE: &str = "kubefoundry.ai/operator-namespace";

/// An object with its resource and namespace.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) resource: ApiResource,
    /// None for objects of the whole cluster.
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    pub(crate) value: Value,
}

impl Object {
    /// Creates an object of a built-in kind.
    #[expect(clippy::expect_used, reason = "the functions below make the metadata, and give each object its name")]
    pub(crate) fn from_resource<K: kube::Resource<DynamicType = ()> + Serialize>(object: &K) -> Self {
        Self {
            resource: ApiResource::erase::<K>(&()),
            namespace: object.meta().namespace.clone(),
            name: object.meta().name.clone().expect("an object of the manifests has a name"),
            // Built-in kinds contain nothing that JSON cannot represent.
            value: to_json(object),
        }
    }

    /// Formats the object as kubectl prints it: `deployment.apps/kubefoundry-controller`.
    pub(crate) fn reference(&self) -> String {
        let ApiResource { kind, group, .. } = &self.resource;
        let (kind, dot) = (kind.to_lowercase(), if group.is_empty() { "" } else { "." });
        format!("{kind}{dot}{group}/{}", self.name)
    }

    pub(crate) fn has_kind(&self, kind: &str) -> bool {
        self.resource.kind == kind
    }
}

/// Returns the labels of all installed objects.
pub(crate) fn labels() -> BTreeMap<String, String> {
    [NAME, PART_OF].into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Returns the metadata of an object of the whole cluster.
pub(crate) fn cluster_metadata(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), labels: Some(labels()), ..ObjectMeta::default() }
}

/// Returns the metadata of an object of the whole cluster that belongs to the operator in a namespace.
pub(crate) fn owned_cluster_metadata(name: &str, namespace: &str) -> ObjectMeta {
    let mut metadata = cluster_metadata(name);
    metadata.labels.get_or_insert_default().insert(OPERATOR_NAMESPACE.to_owned(), namespace.to_owned());
    metadata
}

/// Returns the metadata of an object in a namespace.
pub(crate) fn metadata(name: &str, namespace: &str) -> ObjectMeta {
    ObjectMeta { namespace: Some(namespace.to_owned()), ..cluster_metadata(name) }
}
