//! Providers that were selected before a run and stay: the operator selects the provider of a deployment only once.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_transform::PriorChoice;

type Key = (Option<Arc<str>>, Arc<str>);

/// The providers that ModelDeployments keep, by namespace and name. A deployment that names a provider has that one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptChoices(BTreeMap<Key, PriorChoice>);

impl KeptChoices {
    /// Returns whether no deployment keeps a provider.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the provider that a deployment keeps.
    pub fn get(&self, object: &ObjectRef) -> Option<&PriorChoice> {
        self.find(object.namespace.as_ref(), &object.name)
    }

    /// Returns the provider that the object with a header keeps.
    pub(super) fn of(&self, header: &Header) -> Option<&PriorChoice> {
        self.find(header.namespace.as_ref(), &header.name)
    }

    fn find(&self, namespace: Option<&Arc<str>>, name: &Arc<str>) -> Option<&PriorChoice> {
        if self.is_empty() { None } else { self.0.get(&(namespace.cloned(), name.clone())) }
    }
}

impl FromIterator<(ObjectRef, PriorChoice)> for KeptChoices {
    fn from_iter<I: IntoIterator<Item = (ObjectRef, PriorChoice)>>(choices: I) -> Self {
        Self(choices.into_iter().map(|(object, choice)| ((object.namespace, object.name), choice)).collect())
    }
}
