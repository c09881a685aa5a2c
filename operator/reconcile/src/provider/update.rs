//! Updates a main object (OP-3): in place where the provider supports the change, otherwise by deleting and
//! creating it.

use std::sync::Arc;

use kubefoundry_controller_runtime::error::Error;
use kubefoundry_provider::{Behavior, Provider, Reaction};
use kubefoundry_yaml::field_path::FieldPath;
use serde_json::Value;

use super::converge::{self, Obstacle, ReconcileOutcome};
use super::desired::Desired;
use super::{Reconciliation, compare, objects, request};
use crate::names::IDENTITY_HASH;
use crate::observation::UpstreamObject;
use crate::request::Mode;
use crate::status::Force;

impl Reconciliation<'_> {
    /// Updates a main object whose rendered form changed since the last apply.
    pub(super) async fn update_main(
        &self,
        desired: &Desired,
        live: &Arc<UpstreamObject>,
    ) -> Result<ReconcileOutcome, Obstacle> {
        let identity = live.object.annotation(&self.observation.base.api_group.label(IDENTITY_HASH));
        if identity.is_some_and(|identity| identity != desired.identity) {
            return self.recreate(desired, live, "the model, engine or serving mode changed").await;
        }
        let main = desired.main();
        match self.apply(main, Mode::DryRun, Force::Yes).await {
            Ok(tried) => {
                let (before, after) =
                    (objects::desired_fields(&live.object.value()), objects::desired_fields(&tried.value()));
                let provider = self.observation.identity.provider;
                if let Some(reason) = compare::recreation_reason(provider, &before, &after) {
                    return self.recreate(desired, live, &reason).await;
                }
            }
            Err(error) => match (request::refusal(&error), self.refused_field(main).await?) {
                (Some(_), Some(reason)) => return self.recreate(desired, live, &reason).await,
                _ => return Err(error.into()),
            },
        }
        for object in desired.supporting() {
            self.ensure(object).await?;
        }
        let stored = self.apply_and_record(main, Force::Yes).await?;
        Ok(ReconcileOutcome::Applied(converge::applied(main, stored)))
    }

    /// Returns the first changed field that the provider is known to refuse or ignore. Then a refusal means that the
    /// object has to be recreated, not that the deployment is wrong. The live object is read from the apiserver,
    /// because the cache drops the managed fields that show which fields are no longer rendered.
    async fn refused_field(&self, main: &Value) -> Result<Option<String>, Error> {
        let resource = objects::resource(main);
        let kind = resource.kind.clone();
        let Some(live) = self.get(resource, objects::name(main)).await? else { return Ok(None) };
        let paths = compare::drifted_paths(main, &live);
        Ok(paths.into_iter().find(|path| is_immutable(self.observation.identity.provider, &kind, path)))
    }
}

/// Whether a provider is known to refuse or ignore changes of a field.
fn is_immutable(provider: &dyn Provider, kind: &str, path: &str) -> bool {
    let row = FieldPath::try_parse(path).and_then(|path| Behavior::find(provider.info().behaviors, kind, &path));
    row.is_some_and(|row| matches!(row.reaction, Reaction::Refused | Reaction::NoEffect | Reaction::Grows))
}

#[cfg(test)]
mod tests {
    use kubefoundry_composition::BUILTIN;

    use super::*;

    #[test]
    fn fields_that_a_provider_never_changes_are_immutable() {
        let kaito = BUILTIN.find_provider("kaito").unwrap();
        assert!(is_immutable(kaito, "Workspace", "resource.instanceType"));
        assert!(is_immutable(kaito, "Workspace", "inference.template.spec.containers[0].image"));
        assert!(!is_immutable(kaito, "Workspace", "metadata.labels[\"a/b\"]"));
        assert!(!is_immutable(kaito, "Workspace", "inference.config"));
        assert!(!is_immutable(kaito, "Unknown", "spec"));
    }
}
