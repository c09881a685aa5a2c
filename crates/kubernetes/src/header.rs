//! What a document says it is: apiVersion, kind, namespace and name.

use std::sync::Arc;

use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_yaml::Node;

use crate::api_group::ApiGroup;

/// What a document says it is.
///
/// It outlives the document in several places (input, decision, findings), which share its texts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    /// `group/version`.
    pub api_version: Arc<str>,
    /// The kind.
    pub kind: Arc<str>,
    /// The namespace, when stated.
    pub namespace: Option<Arc<str>>,
    /// The name; empty when there is none.
    pub name: Arc<str>,
}

impl Header {
    /// Reads the header of a document; what is absent, or is no text, is empty.
    pub fn of(root: &Node<'_>) -> Self {
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

    /// The API group.
    pub fn group(&self) -> &str {
        self.api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }

    /// The object in messages.
    pub fn object(&self) -> ObjectRef {
        ObjectRef {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// Whether the group is one of ours.
    pub fn api_group(&self) -> Option<&'static ApiGroup> {
        ApiGroup::find(self.group())
    }

    /// Whether the document is a `List` of `v1`, or one of a kind of our groups (`ModelDeploymentList`).
    pub fn is_list(&self) -> bool {
        (&*self.api_version == "v1" && &*self.kind == "List")
            || (self.api_group().is_some() && self.kind.ends_with("List"))
    }
}
