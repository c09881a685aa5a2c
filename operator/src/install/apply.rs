//! `install` and `upgrade`: server-side apply, CRDs first.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams, ValidationDirective};
use kube::runtime::wait::{await_condition, conditions};
use kubefoundry_kubernetes::server_fields;
use serde_json::Value;

use super::{Failure, Installer, MANAGER, is_webhook, removable_kinds};
use crate::manifests::object::Object;
use crate::manifests::{CONFIGURATION, InstallPlan};

/// Time in which the apiserver has to serve a new kind.
const ESTABLISH_TIMEOUT: Duration = Duration::from_secs(60);

/// The effect of applying an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ApplyOutcome {
    Created,
    Configured,
    Unchanged,
    /// The dry run was skipped, because its namespace does not exist yet.
    Unchecked,
}

impl ApplyOutcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Created | Self::Unchecked => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
        }
    }
}

impl Installer {
    /// Applies all objects of a plan.
    pub(super) async fn apply(&self, plan: &InstallPlan, force: bool) -> Result<(), Failure> {
        let objects = plan.objects();
        let outcomes = self.check(&objects, force).await?;
        self.write(&objects, &outcomes, force).await
    }

    /// Applies all objects of a plan, and deletes installed objects that are not part of it.
    pub(super) async fn upgrade(&self, plan: &InstallPlan, force: bool) -> Result<(), Failure> {
        let objects = plan.objects();
        let mut stale = Vec::new();
        let mut is_installed = false;
        for (resource, is_namespaced) in removable_kinds() {
            let installed = self.list_labeled(&resource, is_namespaced).await?;
            is_installed |= resource.kind == "Deployment" && !installed.is_empty();
            stale.extend(installed.into_iter().filter(|object| !objects.iter().any(|wanted| is_same(wanted, object))));
        }
        if !is_installed {
            let namespace = &self.namespace;
            return Err(Failure::refused(format!("no operator is installed in namespace {namespace}; use `install`")));
        }
        let outcomes = self.check(&objects, force).await?;
        // Stale webhooks are deleted first, because no process will answer them. Other objects are deleted after their
        // successors exist.
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

    /// Dry-runs all objects, and reports all refusals together.
    async fn check(&self, objects: &[Object], force: bool) -> Result<Vec<ApplyOutcome>, Failure> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let namespace = namespaces.get_metadata_opt(&self.namespace).await;
        let has_namespace = namespace.map_err(|error| Failure::from_request(&self.namespace, error))?.is_some();
        let mut outcomes = Vec::new();
        let mut refusals = Vec::new();
        for object in objects {
            if object.namespace.is_some() && !has_namespace {
                outcomes.push(ApplyOutcome::Unchecked);
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
            refusals.push("other field managers own these fields; use --force-conflicts to take them over".to_owned());
        }
        refusals.push("nothing was changed".to_owned());
        Err(Failure::Refused(refusals))
    }

    /// Applies the checked objects; with `--dry-run` only prints their outcomes. The CRDs come first, and must be
    /// established before the rest is applied.
    async fn write(&self, objects: &[Object], outcomes: &[ApplyOutcome], force: bool) -> Result<(), Failure> {
        let crds = objects.iter().take_while(|object| object.has_kind("CustomResourceDefinition")).count();
        for (position, (object, expected)) in objects.iter().zip(outcomes).enumerate() {
            if self.dry_run {
                self.print_result(&object.reference(), expected.as_str())?;
                continue;
            }
            if position == crds {
                self.wait_until_established(objects.get(..crds).unwrap_or_default()).await?;
            }
            let outcome = self.apply_one(object, false, force).await?;
            self.print_result(&object.reference(), outcome.as_str())?;
        }
        if self.dry_run && outcomes.contains(&ApplyOutcome::Unchecked) {
            let namespace = &self.namespace;
            Self::print_note(&format!(
                "namespace {namespace} does not exist yet: the apiserver could not check what goes in it"
            ));
        }
        Ok(())
    }

    /// Waits until the apiserver serves the CRDs: objects of their kinds are refused before.
    async fn wait_until_established(&self, crds: &[Object]) -> Result<(), Failure> {
        for crd in crds {
            let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
            let wait = await_condition(api, &crd.name, conditions::is_crd_established());
            match tokio::time::timeout(ESTABLISH_TIMEOUT, wait).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(Failure::Unreachable(super::error_chain(&error))),
                Err(_) => {
                    let (crd, seconds) = (crd.reference(), ESTABLISH_TIMEOUT.as_secs());
                    return Err(Failure::refused(format!("{crd}: not Established after {seconds} seconds")));
                }
            }
        }
        Ok(())
    }

    /// Applies one object, and tells from the objects before and after what changed.
    async fn apply_one(&self, object: &Object, dry_run: bool, force: bool) -> Result<ApplyOutcome, Failure> {
        let what = object.reference();
        let api = self.api(&object.resource, object.namespace.as_deref());
        let before = api.get_opt(&object.name).await.map_err(|error| Failure::from_request(&what, error))?;
        // Users edit the options, so an existing ConfigMap is never overwritten.
        if before.is_some() && object.has_kind("ConfigMap") && object.name == CONFIGURATION {
            return Ok(ApplyOutcome::Unchanged);
        }
        let parameters = PatchParams {
            dry_run,
            force,
            field_manager: Some(MANAGER.to_owned()),
            field_validation: Some(ValidationDirective::Strict),
        };
        let after = api.patch(&object.name, &parameters, &Patch::Apply(&object.value)).await;
        let after = after.map_err(|error| Failure::from_request(&what, error))?;
        let Some(before) = before else { return Ok(ApplyOutcome::Created) };
        let content = |object| comparable_content(serde_json::to_value(object).unwrap_or_default());
        Ok(if content(before) == content(after) { ApplyOutcome::Unchanged } else { ApplyOutcome::Configured })
    }
}

/// Returns an object without the fields that the apiserver changes by itself.
fn comparable_content(mut object: Value) -> Value {
    server_fields::remove(&mut object);
    object
}

/// Whether two values are versions of the same object.
fn is_same(one: &Object, other: &Object) -> bool {
    one.resource == other.resource && one.namespace == other.namespace && one.name == other.name
}
