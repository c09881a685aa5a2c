//! `install` and `upgrade`: server-side apply, CRDs first.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, Patch, PatchParams, ValidationDirective};
use kube::runtime::wait::{await_condition, conditions};
use kubefoundry_kubernetes::server_fields;
use serde_json::Value;

use super::{Failure, Installed, Installer, MANAGER, MIN_KUBERNETES_MINOR, is_webhook};
use crate::args::Install;
use crate::manifests::object::{COMPONENT, NAME, Object};
use crate::manifests::{CONFIGURATION, InstallPlan};
use crate::role::Role;

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
    /// Installs exactly what the flags say.
    pub(super) async fn install(&self, install: &Install) -> Result<(), Failure> {
        let plan = InstallPlan::new(&self.namespace).with_flags(&install.package).map_err(Failure::Usage)?;
        if install.package.image.is_none() && !plan.has_image() {
            return Err(Failure::Usage(
                "--image is required: this program knows no published image; build one and push it to your registry (docs/operator/install.md)"
                    .to_owned(),
            ));
        }
        self.check_server_version().await?;
        let installed = self.list_installed().await?;
        Self::refuse_second_installation(&installed)?;
        if let Some(before) = self.installed_plan(&installed)? {
            Self::print_changes(&plan, &before);
        }
        let objects = plan.objects();
        let outcomes = self.check(&objects, install.force_conflicts).await?;
        self.write(&plan, &objects, &outcomes, install).await
    }

    /// Applies the manifests of this version in the shape that is installed, with the changes that the flags give, and
    /// deletes installed objects that are not part of it.
    pub(super) async fn upgrade(&self, install: &Install) -> Result<(), Failure> {
        self.check_server_version().await?;
        let installed = self.list_installed().await?;
        Self::refuse_second_installation(&installed)?;
        let Some(before) = self.installed_plan(&installed)? else {
            let namespace = &self.namespace;
            return Err(Failure::refused(format!("no operator is installed in namespace {namespace}; use `install`")));
        };
        let plan = before.clone().with_flags(&install.package).map_err(Failure::Usage)?;
        Self::print_changes(&plan, &before);
        if install.package.image.is_none() {
            Self::print_note(&format!("the image stays {}; use --image for another one", plan.image));
        }
        let objects = plan.objects();
        let is_stale = |object: &Object| !objects.iter().any(|wanted| is_same(wanted, object));
        let stale = installed.objects.into_iter().filter(is_stale);
        let outcomes = self.check(&objects, install.force_conflicts).await?;
        // Stale webhooks are deleted first, because no process will answer them. Other objects are deleted after their
        // successors exist.
        let (webhooks, others): (Vec<Object>, Vec<Object>) = stale.partition(|object| is_webhook(&object.resource));
        for object in &webhooks {
            self.delete(object).await?;
        }
        self.write(&plan, &objects, &outcomes, install).await?;
        for object in &others {
            self.delete(object).await?;
        }
        Ok(())
    }

    /// Refuses an apiserver that is too old.
    async fn check_server_version(&self) -> Result<(), Failure> {
        let version = self.client.apiserver_version().await;
        let version = version.map_err(|error| Failure::from_request("version", error))?;
        if is_supported(&version.major, &version.minor) {
            return Ok(());
        }
        Err(Failure::refused(format!(
            "the API server has Kubernetes {}.{}, but kubefoundry needs 1.{MIN_KUBERNETES_MINOR} or newer: an older one calls the webhooks for every finalizer, so nothing could be deleted while they do not answer",
            version.major, version.minor
        )))
    }

    /// Refuses while an operator is installed in another namespace: both would use the same cluster-wide objects.
    fn refuse_second_installation(installed: &Installed) -> Result<(), Failure> {
        let Some(other) = installed.elsewhere.first() else { return Ok(()) };
        Err(Failure::refused(format!(
            "kubefoundry is installed in namespace {other} already; change that installation with `upgrade --namespace {other}`, or remove it first with `uninstall --namespace {other}`"
        )))
    }

    /// Reads the plan of what is installed; none without a Deployment.
    fn installed_plan(&self, installed: &Installed) -> Result<Option<InstallPlan>, Failure> {
        let of_kind = |kind: &'static str| installed.objects.iter().filter(move |object| object.has_kind(kind));
        let deployments: Result<Vec<Deployment>, _> =
            of_kind("Deployment").map(|object| serde_json::from_value(object.value.clone())).collect();
        let deployments = deployments.map_err(|error| Failure::refused(format!("an installed Deployment: {error}")))?;
        if deployments.is_empty() {
            return Ok(None);
        }
        let policy = of_kind("ValidatingWebhookConfiguration")
            .find_map(|object| object.value.pointer("/webhooks/0/failurePolicy").and_then(Value::as_str));
        let plan = InstallPlan::from_installed(&self.namespace, &deployments, policy).map_err(Failure::refused)?;
        Ok(Some(plan))
    }

    /// Prints what changes in an installation.
    fn print_changes(plan: &InstallPlan, before: &InstallPlan) {
        for change in plan.changes_from(before) {
            Self::print_note(&format!("changes {change}"));
        }
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
    /// established before the rest is applied. The webhooks come last, once a pod answers them.
    async fn write(
        &self,
        plan: &InstallPlan,
        objects: &[Object],
        outcomes: &[ApplyOutcome],
        install: &Install,
    ) -> Result<(), Failure> {
        let is_crd = |object: &&Object| object.has_kind("CustomResourceDefinition");
        let (crds, _) = objects.split_at(objects.iter().take_while(is_crd).count());
        let mut must_wait = !install.no_wait;
        for (position, (object, expected)) in objects.iter().zip(outcomes).enumerate() {
            if self.dry_run {
                self.print_result(&object.reference(), expected.as_str())?;
                continue;
            }
            if position == crds.len() {
                self.wait_until_established(crds).await?;
            }
            if must_wait && is_webhook(&object.resource) && *expected != ApplyOutcome::Unchanged {
                must_wait = false;
                self.wait_until_answered(plan, install.wait).await?;
            }
            let outcome = self.apply_one(object, false, install.force_conflicts).await?;
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

    /// Waits until a pod of the current version can answer the webhooks. Before, the apiserver would refuse every
    /// ModelDeployment.
    async fn wait_until_answered(&self, plan: &InstallPlan, timeout: Duration) -> Result<(), Failure> {
        let Some(unit) = plan.units().into_iter().find(|unit| unit.roles.contains(&Role::Webhooks)) else {
            return Ok(());
        };
        let what = format!("deployment.apps/{}", unit.name);
        Self::print_note(&format!("waiting for a pod of {what}, which answers the webhooks"));
        let api: Api<Deployment> = Api::namespaced(self.client.clone(), &self.namespace);
        let is_available = |found: Option<&Deployment>| found.is_some_and(is_available);
        match tokio::time::timeout(timeout, await_condition(api, &unit.name, is_available)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(Failure::Unreachable(super::error_chain(&error))),
            Err(_) => {
                let reasons = self.waiting_reasons(&unit.name).await;
                let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
                Err(Failure::refused(format!(
                    "{what}: no pod is available after {} seconds{reasons}; the webhook configurations were not changed, so that ModelDeployments can be written; correct the cause, and run the command again",
                    timeout.as_secs()
                )))
            }
        }
    }

    /// Returns why the containers of a Deployment wait, as the kubelet reports it.
    async fn waiting_reasons(&self, unit: &str) -> Vec<String> {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        let selector = format!("{}={},{COMPONENT}={unit}", NAME.0, NAME.1);
        let pods = api.list(&ListParams::default().labels(&selector)).await;
        // The failure that this completes is reported without reasons, too.
        let pods = pods.map_or_else(|_| Vec::new(), |list| list.items);
        let statuses = pods.into_iter().filter_map(|pod| pod.status);
        let containers = statuses.flat_map(|status| status.container_statuses.unwrap_or_default());
        let waiting = containers.filter_map(|container| container.state?.waiting);
        let reasons: BTreeSet<String> = waiting
            .map(|state| [state.reason, state.message].into_iter().flatten().collect::<Vec<_>>().join(": "))
            .collect();
        reasons.into_iter().collect()
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
        let content = |object| comparable_content(kubefoundry_yaml::infallible::to_json(&object));
        Ok(if content(before) == content(after) { ApplyOutcome::Unchanged } else { ApplyOutcome::Configured })
    }
}

/// Whether a version of Kubernetes is new enough. Some providers write the minor version as `30+`.
fn is_supported(major: &str, minor: &str) -> bool {
    let number = |text: &str| text.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().unwrap_or(0);
    (number(major), number(minor)) >= (1, MIN_KUBERNETES_MINOR)
}

/// Whether at least one pod of the current template is available: more pods are than there are old ones.
fn is_available(deployment: &Deployment) -> bool {
    let Some(status) = &deployment.status else { return false };
    let is_observed = status.observed_generation >= deployment.metadata.generation;
    let old = status.replicas.unwrap_or(0) - status.updated_replicas.unwrap_or(0);
    is_observed && status.available_replicas.unwrap_or(0) > old
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kubernetes_1_28_is_the_oldest() {
        for (major, minor) in [("1", "28"), ("1", "30+"), ("2", "0")] {
            assert!(is_supported(major, minor), "{major}.{minor}");
        }
        for (major, minor) in [("1", "27"), ("1", "27+"), ("", ""), ("1", "x")] {
            assert!(!is_supported(major, minor), "{major}.{minor}");
        }
    }

    #[test]
    fn an_old_pod_does_not_count_as_available() {
        let available = |generation: i64, status: Value| {
            let object = json!({"metadata": {"generation": generation}, "status": status});
            is_available(&serde_json::from_value(object).unwrap())
        };
        let status = |replicas, updated, available| {
            json!({"observedGeneration": 2, "replicas": replicas, "updatedReplicas": updated,
                "availableReplicas": available})
        };
        assert!(available(2, status(1, 1, 1)));
        assert!(available(2, status(3, 2, 2)));
        assert!(!available(3, status(1, 1, 1)));
        assert!(!available(2, status(2, 1, 1)));
        assert!(!available(2, status(1, 1, 0)));
        assert!(!available(2, Value::Null));
    }
}
