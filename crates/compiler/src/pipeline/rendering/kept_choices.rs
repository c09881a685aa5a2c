//! Providers that were selected before a run and stay: the operator selects the provider of a deployment only once.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_transform::PriorChoice;

type Key = (Option<Arc<str>>, Arc<str>);

/// The providers that ModelDeployments keep, by environment, namespace and name. A deployment that names a provider has
/// that one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptChoices {
    choices: BTreeMap<Key, PriorChoice>,
    environments: BTreeMap<Arc<str>, Arc<Self>>,
}

impl KeptChoices {
    /// Returns whether no deployment keeps a provider.
    pub fn is_empty(&self) -> bool {
        self.choices.is_empty() && self.environments.is_empty()
    }

    /// Adds the provider that a deployment of an environment keeps.
    pub fn insert(&mut self, environment: Option<&Arc<str>>, object: ObjectRef, choice: PriorChoice) {
        let choices = match environment {
            Some(environment) => {
                &mut Arc::make_mut(self.environments.entry(Arc::clone(environment)).or_default()).choices
            }
            None => &mut self.choices,
        };
        choices.insert((object.namespace, object.name), choice);
    }

    /// Returns the choices for an environment; without one, those for an input that is not divided. `None` if there are
    /// none.
    pub fn of_environment(self: &Arc<Self>, environment: Option<&str>) -> Option<&Arc<Self>> {
        match environment {
            Some(environment) => self.environments.get(environment),
            None => Some(self),
        }
    }

    /// Returns the provider that a deployment keeps.
    pub fn get(&self, object: &ObjectRef) -> Option<&PriorChoice> {
        self.find(object.namespace.as_ref(), &object.name)
    }

    /// Returns the provider that the object with a header keeps.
    pub(crate) fn of(&self, header: &Header) -> Option<&PriorChoice> {
        self.find(header.namespace.as_ref(), &header.name)
    }

    fn find(&self, namespace: Option<&Arc<str>>, name: &Arc<str>) -> Option<&PriorChoice> {
        if self.choices.is_empty() { None } else { self.choices.get(&(namespace.cloned(), name.clone())) }
    }
}

impl FromIterator<(ObjectRef, PriorChoice)> for KeptChoices {
    fn from_iter<I: IntoIterator<Item = (ObjectRef, PriorChoice)>>(choices: I) -> Self {
        let mut kept = Self::default();
        choices.into_iter().for_each(|(object, choice)| kept.insert(None, object, choice));
        kept
    }
}
