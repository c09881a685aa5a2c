//! The identifying fields of a document: apiVersion, kind, namespace and name.

use std::sync::Arc;

use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_yaml::Node;

use crate::api_group::ApiGroup;

/// The API groups that Kubernetes itself serves. Others below `k8s.io`, such as those of Gateways, are defined by CRDs.
const BUILTIN_GROUPS: &[&str] = &[
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Returns the group of an `apiVersion`, which is empty for the core group.
///
/// ```
/// use kubefoundry_kubernetes::header::group_of;
/// assert_eq!((group_of("apps/v1"), group_of("v1")), ("apps", ""));
/// ```
pub fn group_of(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}

/// Returns whether Kubernetes itself defines the kinds of an API group, and no CRD.
///
/// ```
/// use kubefoundry_kubernetes::header::is_builtin_group;
/// assert!(is_builtin_group("") && is_builtin_group("apps") && is_builtin_group("networking.k8s.io"));
/// assert!(!is_builtin_group("ray.io") && !is_builtin_group("gateway.networking.k8s.io"));
/// ```
pub fn is_builtin_group(group: &str) -> bool {
    BUILTIN_GROUPS.contains(&group)
}

/// The identifying fields of a document.
///
/// Inputs, decisions and findings keep a header after the document is dropped. The strings are reference-counted so
/// that these copies share them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    /// `group/version`.
    pub api_version: Arc<str>,
    /// The kind, such as `ModelDeployment`.
    pub kind: Arc<str>,
    /// The namespace, if the document has one.
    pub namespace: Option<Arc<str>>,
    /// The name, or an empty string if the document has none.
    pub name: Arc<str>,
}

impl Header {
    /// Reads the header of a document. A field that is absent or not a string becomes empty.
    pub fn from_node(root: &Node<'_>) -> Self {
        let text = |node: Option<&Node<'_>>| Arc::from(node.and_then(Node::as_str).unwrap_or_default());
        let metadata = root.get("metadata");
        let field = |name: &str| metadata.and_then(|metadata| metadata.get(name));
        Self {
            api_version: text(root.get("apiVersion")),
            kind: text(root.get("kind")),
            namespace: field("namespace").and_then(Node::as_str).map(Arc::from),
            name: text(field("name")),
        }
    }

    /// Returns the API group. It is empty for the core group.
    pub fn group(&self) -> &str {
        group_of(&self.api_version)
    }

    /// Returns the reference by which findings name the object.
    pub fn object(&self) -> ObjectRef {
        ObjectRef {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// Returns the supported API group of the document, if it belongs to one.
    pub fn api_group(&self) -> Option<&'static ApiGroup> {
        ApiGroup::find(self.group())
    }

    /// Returns whether the document is a `v1` `List`, or a list kind of a supported API group such as
    /// `ModelDeploymentList`.
    pub fn is_list(&self) -> bool {
        (&*self.api_version == "v1" && &*self.kind == "List")
            || (self.api_group().is_some() && self.kind.ends_with("List"))
    }
}
