//! Watches: what is in the cluster, as it changes.

use std::sync::Arc;

use kube::core::ApiResource;

use crate::cached::Cached;

/// An object that a provider's controller wrote, and its kind.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) resource: ApiResource,
    pub(crate) object: Cached,
}

/// The objects of the kinds that providers write.
#[derive(Default)]
pub(crate) struct Upstream {}

impl Upstream {
    /// Whether everything of a provider's kinds that is installed is known.
    pub(crate) fn is_ready(&self, _provider: &str) -> bool {
        false
    }

    /// The objects whose controller is the deployment with this uid.
    pub(crate) fn owned(&self, _uid: &str) -> Vec<Arc<Owned>> {
        Vec::new()
    }

    /// An object by kind and name, whoever owns it.
    pub(crate) fn find(&self, _resource: &ApiResource, _namespace: &str, _name: &str) -> Option<Arc<Owned>> {
        None
    }
}

/// What namespaces allow.
#[derive(Default)]
pub(crate) struct Namespaces {}

impl Namespaces {
    /// Whether deployments of a namespace may use a provider ([`ALLOWED_PROVIDERS`](crate::names::ALLOWED_PROVIDERS)).
    pub(crate) fn allow(&self, _namespace: &str, _provider: &str) -> bool {
        true
    }
}
