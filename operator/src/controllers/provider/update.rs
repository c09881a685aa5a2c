//! Updates a main object (OP-3): in place where the provider supports the change, otherwise by deleting and
//! creating it.

use kube::Api;
use kube::core::DynamicObject;
use kubefoundry_model::provider::{Behavior, Provider, Reaction};
use kubefoundry_yaml::field_path::FieldPath;
use serde_json::Value;

use super::converge::{self, Obstacle, Outcome};
use super::desired::Desired;
use super::request::{self, Mode};
use super::{ReconcileRequest, compare, objects};
use crate::error::Error;
use crate::names::IDENTITY_HASH;
use crate::status::Force;
use crate::watch::Owned;

impl ReconcileRequest<'_> {
    /// The main object was rendered another way when it was applied last.
    pub(super) async fn update(&self, desired: &Desired, live: &Owned) -> Result<Outcome, Obstacle> {
        let identity = live.object.annotation(&self.shared().api_group.label(IDENTITY_HASH));
        if identity.is_some_and(|identity| identity != desired.identity) {
            return self.recreate(desired, live, "another model, engine or mode").await;
        }
        let main = desired.main();
        match self.apply(main, Mode::DryRun, Force::Yes).await {
            Ok(tried) => {
                let (before, after) =
                    (objects::desired_fields(&live.object.value()), objects::desired_fields(&tried.value()));
                if let Some(why) = compare::replaces(self.context.provider, &before, &after) {
                    return self.recreate(desired, live, &why).await;
                }
            }
            Err(error) => match (request::refusal(&error), self.refused_field(main).await?) {
                (Some(_), Some(why)) => return self.recreate(desired, live, &why).await,
                _ => return Err(error.into()),
            },
        }
        for object in desired.supporting() {
            self.ensure(object).await?;
        }
        let stored = self.store(main, Force::Yes).await?;
        Ok(Outcome::Applied(converge::applied(main, stored)))
    }

    /// The field that the provider is known never to change, when one is about to be: a refusal is then no news. The
    /// live object is read with its managed fields, which tell what is not rendered any more.
    async fn refused_field(&self, main: &Value) -> Result<Option<String>, Error> {
        let resource = objects::resource(main);
        let client = self.shared().client.clone();
        let api: Api<DynamicObject> = Api::namespaced_with(client, self.deployment.namespace(), &resource);
        let live = api.get(objects::name(main)).await?;
        let live = serde_json::to_value(&live).map_err(kube::Error::SerdeError)?;
        let paths = compare::drifted(main, &live);
        Ok(paths.into_iter().find(|path| is_fixed(self.context.provider, &resource.kind, path)))
    }

    /// Deletes the main object; it is created again once it is gone.
    async fn recreate(&self, desired: &Desired, live: &Owned, why: &str) -> Result<Outcome, Obstacle> {
        // What the new object refers to, as far as what runs does not use it by the same name.
        for object in desired.supporting().iter().filter(|object| objects::text(object, "/kind") != "Service") {
            self.ensure(object).await?;
        }
        // A running object is deleted only if the apiserver accepts its successor, which is tried under another name.
        let mut trial = desired.main().clone();
        if let Some(name) = trial.pointer_mut("/metadata/name") {
            *name = Value::from(objects::trial_name(live.object.uid()));
        }
        let tried = self.apply(&trial, Mode::DryRun, Force::No).await;
        tried.map_err(|error| request::renamed(error, objects::name(&trial), live.object.name()))?;
        let (namespace, name) = (self.deployment.namespace(), self.deployment.name());
        tracing::info!(namespace, name, why, "the provider's object is made anew");
        self.delete(live, true).await?;
        Ok(Outcome::Recreating(converge::until_gone(&objects::live_title(live))))
    }
}

/// Whether a provider is known to refuse every change of a field.
fn is_fixed(provider: &dyn Provider, kind: &str, path: &str) -> bool {
    let row = FieldPath::try_parse(path).and_then(|path| Behavior::find(provider.info().behaviors, kind, &path));
    row.is_some_and(|row| matches!(row.reaction, Reaction::Refused | Reaction::NoEffect | Reaction::Grows))
}

#[cfg(test)]
mod tests {
    use kubefoundry_model::providers;

    use super::*;

    #[test]
    fn what_is_known_to_be_refused() {
        let kaito = providers::find("kaito").unwrap();
        assert!(is_fixed(kaito, "Workspace", "resource.instanceType"));
        assert!(is_fixed(kaito, "Workspace", "inference.template.spec.containers[0].image"));
        assert!(!is_fixed(kaito, "Workspace", "metadata.labels[\"a/b\"]"));
        assert!(!is_fixed(kaito, "Workspace", "inference.config"));
        assert!(!is_fixed(kaito, "Unknown", "spec"));
    }
}
