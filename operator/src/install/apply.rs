//! `install` and `upgrade`: server-side apply, CRDs first.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams, ValidationDirective};
use kube::runtime::wait::{await_condition, conditions};
use serde_json::Value;

use super::{Failure, MANAGER, Session, is_webhook, kinds};
use crate::manifests::object::Object;
use crate::manifests::{CONFIGURATION, Plan};

/// How long the apiserver may take to serve a new kind.
const ESTABLISHED: Duration = Duration::from_secs(60);

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Created,
    Configured,
    Unchanged,
    /// There is no namespace that it could be tried in.
    Unchecked,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Created | Self::Unchecked => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
        }
    }
}

impl Session {
    /// Applies everything of a plan.
    pub(super) async fn apply(&self, plan: &Plan, force: bool) -> Result<(), Failure> {
        let objects = plan.objects();
        let outcomes = self.check(&objects, force).await?;
        self.write(&objects, &outcomes, force).await
    }

    /// Applies everything of a plan over what is there, and removes what is ours and no part of it.
    pub(super) async fn upgrade(&self, plan: &Plan, force: bool) -> Result<(), Failure> {
        let objects = plan.objects();
        let mut stale = Vec::new();
        let mut is_installed = false;
        for (resource, is_namespaced) in kinds() {
            let found = self.ours(&resource, is_namespaced).await?;
            is_installed |= resource.kind == "Deployment" && !found.is_empty();
            stale.extend(found.into_iter().filter(|object| !objects.iter().any(|kept| is_same(kept, object))));
        }
        if !is_installed {
            let namespace = &self.namespace;
            return Err(Failure::refused(format!("nothing to upgrade in namespace {namespace}: use `install`")));
        }
        let outcomes = self.check(&objects, force).await?;
        // Nobody answers webhooks that are not wanted any more; everything else goes when its successor is there.
        let (webhooks, others): (Vec<Object>, Vec<Object>) =
            stale.into_iter().partition(|object| is_webhook(&object.resource));
        for object in &webhooks {
            self.delete(object).await?;
        }
        self.write(&objects, &outcomes, force).await?;
        for object in &others {
            self.delete(object).await?;
        }
        Ok(())
    }

    /// What applying would do. Everything that would be refused is said at once.
    async fn check(&self, objects: &[Object], force: bool) -> Result<Vec<Outcome>, Failure> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let found = namespaces.get_metadata_opt(&self.namespace).await;
        let has_namespace = found.map_err(|error| Failure::of(&self.namespace, error))?.is_some();
        let mut outcomes = Vec::new();
        let mut refusals = Vec::new();
        for object in objects {
            if object.namespace.is_some() && !has_namespace {
                outcomes.push(Outcome::Unchecked);
                continue;
            }
            match self.apply_one(object, true, force).await {
                Ok(outcome) => outcomes.push(outcome),
                Err(Failure::Refused(lines)) => refusals.extend(lines),
                Err(failure) => return Err(failure),
            }
        }
        if refusals.is_empty() {
            return Ok(outcomes);
        }
        if refusals.iter().any(|line| line.contains("conflict")) {
            refusals.push("others have set these fields; --force-conflicts takes them over".to_owned());
        }
        refusals.push("nothing was changed".to_owned());
        Err(Failure::Refused(refusals))
    }

    /// Applies what was checked; a dry run only says so.
    async fn write(&self, objects: &[Object], outcomes: &[Outcome], force: bool) -> Result<(), Failure> {
        let crds = objects.iter().take_while(|object| object.is("CustomResourceDefinition")).count();
        for (position, (object, expected)) in objects.iter().zip(outcomes).enumerate() {
            if self.dry_run {
                self.say(&object.reference(), expected.as_str())?;
                continue;
            }
            if position == crds {
                self.established(objects.get(..crds).unwrap_or_default()).await?;
            }
            let outcome = self.apply_one(object, false, force).await?;
            self.say(&object.reference(), outcome.as_str())?;
        }
        if self.dry_run && outcomes.contains(&Outcome::Unchecked) {
            let namespace = &self.namespace;
            Self::note(&format!(
                "namespace {namespace} does not exist yet: the apiserver could not check what goes in it"
            ));
        }
        Ok(())
    }

    async fn established(&self, crds: &[Object]) -> Result<(), Failure> {
        for crd in crds {
            let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
            let wait = await_condition(api, &crd.name, conditions::is_crd_established());
            match tokio::time::timeout(ESTABLISHED, wait).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(Failure::Unreachable(super::chain(&error))),
                Err(_) => {
                    let (crd, seconds) = (crd.reference(), ESTABLISHED.as_secs());
                    return Err(Failure::refused(format!("{crd}: not Established after {seconds} seconds")));
                }
            }
        }
        Ok(())
    }

    async fn apply_one(&self, object: &Object, dry_run: bool, force: bool) -> Result<Outcome, Failure> {
        let what = object.reference();
        let api = self.api(&object.resource, object.namespace.as_deref());
        let before = api.get_opt(&object.name).await.map_err(|error| Failure::of(&what, error))?;
        // Once it is there, it is the user's.
        if before.is_some() && object.is("ConfigMap") && object.name == CONFIGURATION {
            return Ok(Outcome::Unchanged);
        }
        let parameters = PatchParams {
            dry_run,
            force,
            field_manager: Some(MANAGER.to_owned()),
            field_validation: Some(ValidationDirective::Strict),
        };
        let after = api.patch(&object.name, &parameters, &Patch::Apply(&object.value)).await;
        let after = after.map_err(|error| Failure::of(&what, error))?;
        let Some(before) = before else { return Ok(Outcome::Created) };
        let content = |object| content(serde_json::to_value(object).unwrap_or_default());
        Ok(if content(before) == content(after) { Outcome::Unchanged } else { Outcome::Configured })
    }
}

/// An object without what changes by itself.
fn content(mut object: Value) -> Value {
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in ["managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"] {
                metadata.remove(field);
            }
        }
    }
    object
}

fn is_same(kept: &Object, object: &Object) -> bool {
    kept.resource == object.resource && kept.namespace == object.namespace && kept.name == object.name
}
