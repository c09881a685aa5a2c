//! `uninstall`: removes the webhooks first, so that no request waits for their answer. Objects of users stay.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, ListParams, PartialObjectMeta, Preconditions, PropagationPolicy};
use kube::core::ApiResource;
use kube::runtime::wait::{await_condition, conditions};
use kubefoundry_composition::PROVIDERS;
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_reconcile::names;
use kubefoundry_webhook::certificates;
use kubefoundry_yaml::infallible::to_json;

use super::{Failure, Installed, Installer};
use crate::manifests::crds;
use crate::manifests::object::{NAME, Object, PART_OF};
use crate::role::Role;

/// Time to wait for the deletion of a Deployment with its pods, or of a CRD.
const DELETION_TIMEOUT: Duration = Duration::from_secs(60);

impl Installer {
    /// Removes the installed objects, and on request the CRDs and the namespace.
    pub(super) async fn remove(&self, delete_crds: bool, delete_namespace: bool) -> Result<(), Failure> {
        let Installed { objects, elsewhere } = self.list_installed().await?;
        let deployments = self.deployments().await?;
        if delete_crds {
            if let Some(other) = elsewhere.first() {
                return Err(Failure::refused(format!(
                    "--delete-crds would delete the CRDs of the installation in namespace {other}"
                )));
            }
            self.check_crds_unused(&deployments).await?;
        }
        let namespace = if delete_namespace { self.installed_namespace().await? } else { None };
        if delete_namespace {
            self.check_namespace_unused(&deployments)?;
        }
        let mut found = objects;
        // The operator created these at runtime, so they have no labels of the installation.
        found.extend(self.find_named::<Secret>(&[certificates::SECRET.to_owned()]).await?);
        let leases: Vec<String> = Role::all().into_iter().chain(Role::optional()).map(Role::lease_name).collect();
        found.extend(self.find_named::<Lease>(&leases).await?);
        let crds = if delete_crds { self.installed_crds().await? } else { Vec::new() };
        if found.is_empty() && crds.is_empty() && namespace.is_none() {
            let mut lines = vec![format!("nothing of kubefoundry in namespace {}", self.namespace)];
            lines.extend(elsewhere.iter().map(|other| format!("it is installed in namespace {other}")));
            return Err(Failure::Refused(lines));
        }
        for object in &found {
            self.delete(object).await?;
        }
        if delete_crds {
            // A deployment may have been created since the first check.
            self.check_crds_unused(&self.deployments().await?).await?;
            for crd in &crds {
                self.delete(crd).await?;
            }
        } else if !deployments.is_empty() {
            Self::print_note(&format!(
                "left behind: {}, with the models that run; to delete them later, install the operator again or remove \
                 their finalizers by hand (docs/operator/troubleshoot.md)",
                count_of_deployments(deployments.len())
            ));
        }
        if let Some(namespace) = &namespace {
            self.delete(namespace).await?;
        }
        Ok(())
    }

    /// Returns the operator's namespace if it exists. One that `install` did not make or take over is not deleted.
    async fn installed_namespace(&self) -> Result<Option<Object>, Failure> {
        let namespaces = ApiResource::erase::<Namespace>(&());
        let found = self.api(&namespaces, None).get_opt(&self.namespace).await;
        let Some(found) = found.map_err(|error| Failure::from_request(&self.namespace, error))? else {
            return Ok(None);
        };
        let labels = found.metadata.labels.clone().unwrap_or_default();
        if [NAME, PART_OF].iter().any(|(key, value)| labels.get(*key).map(String::as_str) != Some(*value)) {
            return Err(Failure::refused(format!(
                "--delete-namespace would delete namespace {}, which is not one of kubefoundry",
                self.namespace
            )));
        }
        Ok(Some(object_from_dynamic(namespaces, None, &found)))
    }

    /// Deletes an object, but not one that got its name in the meantime. A missing object is not an error.
    ///
    /// Waits for Deployments, whose pods write as long as they run, and for CRDs: one that is applied again during its
    /// deletion is deleted all the same.
    pub(super) async fn delete(&self, object: &Object) -> Result<(), Failure> {
        let what = object.reference();
        let api = self.api(&object.resource, object.namespace.as_deref());
        let uid = object.value.pointer("/metadata/uid").and_then(|uid| uid.as_str()).map(ToOwned::to_owned);
        let is_running = object.has_kind("Deployment");
        let policy = if is_running { PropagationPolicy::Foreground } else { PropagationPolicy::Background };
        let parameters = DeleteParams {
            dry_run: self.dry_run,
            propagation_policy: Some(policy),
            preconditions: uid.clone().map(|uid| Preconditions { uid: Some(uid), resource_version: None }),
            ..DeleteParams::default()
        };
        match api.delete(&object.name, &parameters).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            Err(error) => return Err(Failure::from_request(&what, error)),
        }
        self.print_result(&what, "deleted")?;
        let is_awaited = is_running || object.has_kind("CustomResourceDefinition");
        if let Some(uid) = uid.filter(|_| is_awaited && !self.dry_run) {
            let gone = await_condition(api, &object.name, conditions::is_deleted(&uid));
            if !matches!(tokio::time::timeout(DELETION_TIMEOUT, gone).await, Ok(Ok(_))) {
                Self::print_note(&format!(
                    "{what} still exists after {} seconds; continuing",
                    DELETION_TIMEOUT.as_secs()
                ));
            }
        }
        Ok(())
    }

    /// Finds objects in the operator's namespace by their names.
    async fn find_named<K: kube::Resource<DynamicType = ()>>(&self, names: &[String]) -> Result<Vec<Object>, Failure> {
        let resource = ApiResource::erase::<K>(&());
        let api = self.api(&resource, Some(&self.namespace));
        let mut objects = Vec::new();
        for name in names {
            let found = api.get_metadata_opt(name).await.map_err(|error| Failure::from_request(name, error))?;
            let to_object = |found| object_from_metadata(resource.clone(), Some(self.namespace.clone()), &found);
            objects.extend(found.map(to_object));
        }
        Ok(objects)
    }

    /// Lists the namespace and name of every ModelDeployment of the installed API groups.
    async fn deployments(&self) -> Result<Vec<(String, String)>, Failure> {
        let mut deployments = Vec::new();
        for api_group in installable_groups() {
            for found in self.list_all(&names::deployments(api_group)).await? {
                let metadata = found.metadata;
                deployments.push((metadata.namespace.unwrap_or_default(), metadata.name.unwrap_or_default()));
            }
        }
        Ok(deployments)
    }

    /// Refuses if ModelDeployments or provider configurations of users would be deleted with the CRDs.
    async fn check_crds_unused(&self, deployments: &[(String, String)]) -> Result<(), Failure> {
        let mut refusals = Vec::new();
        if let Some((namespace, name)) = deployments.first() {
            let count = count_of_deployments(deployments.len());
            refusals.push(format!("--delete-crds would delete {count}, such as {namespace}/{name}; delete them first"));
        }
        for api_group in installable_groups() {
            let kind = kubefoundry_deployment::wire::CONFIGURATION_KIND;
            for found in self.list_all(&names::configurations(api_group)).await? {
                let name = found.metadata.name.unwrap_or_default();
                if !PROVIDERS.iter().any(|provider| provider.name() == name) {
                    refusals.push(format!(
                        "--delete-crds would delete {kind} {name}, which does not belong to the operator; delete it first"
                    ));
                }
            }
        }
        refuse_if_any(refusals)
    }

    /// Refuses if ModelDeployments would be deleted with the namespace.
    fn check_namespace_unused(&self, deployments: &[(String, String)]) -> Result<(), Failure> {
        let within = deployments.iter().filter(|(namespace, _)| *namespace == self.namespace);
        refuse_if_any(
            within.map(|(_, name)| format!("--delete-namespace would delete ModelDeployment {name}")).collect(),
        )
    }

    /// Lists the installed CRDs of KubeFoundry.
    async fn installed_crds(&self) -> Result<Vec<Object>, Failure> {
        let resource = ApiResource::erase::<CustomResourceDefinition>(&());
        let mut found = Vec::new();
        for name in crds::names(&installable_groups().collect::<Vec<_>>()) {
            let crd = self.api(&resource, None).get_metadata_opt(&name).await;
            let crd = crd.map_err(|error| Failure::from_request(&name, error))?;
            found.extend(crd.map(|crd| object_from_metadata(resource.clone(), None, &crd)));
        }
        Ok(found)
    }

    /// Lists every object of a kind in all namespaces; empty where the kind is not installed.
    async fn list_all(&self, resource: &ApiResource) -> Result<Vec<PartialObjectMeta<DynamicObject>>, Failure> {
        match self.api(resource, None).list_metadata(&ListParams::default()).await {
            Ok(list) => Ok(list.items),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
            Err(error) => Err(Failure::from_request(&resource.plural, error)),
        }
    }
}

fn installable_groups() -> impl Iterator<Item = &'static ApiGroup> {
    API_GROUPS.iter().filter(|api_group| api_group.has_crds)
}

fn object_from_dynamic(resource: ApiResource, namespace: Option<String>, found: &DynamicObject) -> Object {
    let name = found.metadata.name.clone().unwrap_or_default();
    Object { resource, namespace, name, value: to_json(found) }
}

fn object_from_metadata(
    resource: ApiResource,
    namespace: Option<String>,
    found: &PartialObjectMeta<DynamicObject>,
) -> Object {
    let name = found.metadata.name.clone().unwrap_or_default();
    Object { resource, namespace, name, value: serde_json::json!({"metadata": found.metadata}) }
}

fn refuse_if_any(refusals: Vec<String>) -> Result<(), Failure> {
    if refusals.is_empty() { Ok(()) } else { Err(Failure::Refused(refusals)) }
}

fn count_of_deployments(deployments: usize) -> String {
    format!("{deployments} ModelDeployment{}", if deployments == 1 { "" } else { "s" })
}
