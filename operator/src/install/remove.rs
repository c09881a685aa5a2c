//! `uninstall`: the webhooks first, so that nothing waits for their answer; what others own stays.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, ListParams, PartialObjectMeta, Preconditions, PropagationPolicy};
use kube::core::ApiResource;
use kube::runtime::wait::{await_condition, conditions};
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_model::providers::PROVIDERS;

use super::{Failure, Session, kinds};
use crate::manifests::object::Object;
use crate::role::Role;
use crate::webhook::certificates;

/// How long a Deployment may take to be gone with its pods, or a CRD.
const GONE: Duration = Duration::from_secs(60);

impl Session {
    /// Removes what was installed.
    pub(super) async fn remove(&self, delete_crds: bool, delete_namespace: bool) -> Result<(), Failure> {
        let deployments = self.deployments().await?;
        if delete_crds {
            self.may_lose_crds(&deployments).await?;
        }
        if delete_namespace {
            self.may_lose_namespace(&deployments)?;
        }
        let mut found = Vec::new();
        for (resource, is_namespaced) in kinds() {
            found.extend(self.ours(&resource, is_namespaced).await?);
        }
        let is_empty = found.is_empty();
        for object in &found {
            self.delete(object).await?;
        }
        // What the operator made while it ran.
        self.delete_named::<Secret>(&[certificates::SECRET.to_owned()]).await?;
        let leases: Vec<String> = Role::all().into_iter().map(Role::lease_name).collect();
        self.delete_named::<Lease>(&leases).await?;
        if delete_crds {
            // Somebody may have been quicker.
            self.may_lose_crds(&self.deployments().await?).await?;
            for crd in self.crds().await? {
                self.delete(&crd).await?;
            }
        } else if !deployments.is_empty() {
            Self::note(&format!(
                "left behind: {}, with what runs; finalizers are removed by an operator only, or by hand \
                 (docs/operator/troubleshoot.md)",
                counted(deployments.len())
            ));
        }
        if delete_namespace {
            let namespaces = ApiResource::erase::<Namespace>(&());
            let api = self.api(&namespaces, None);
            let found = api.get_opt(&self.namespace).await.map_err(|error| Failure::of(&self.namespace, error))?;
            if let Some(found) = found {
                self.delete(&object(namespaces, None, found)).await?;
            }
        }
        if is_empty {
            Self::note(&format!("nothing of kubefoundry was found in namespace {}", self.namespace));
        }
        Ok(())
    }

    /// Deletes an object, and nothing that got its name in the meantime. What is gone already is no problem.
    /// Deployments are waited for, as their pods write while they run, and CRDs: applied again while it goes, one would
    /// go anyway.
    pub(super) async fn delete(&self, object: &Object) -> Result<(), Failure> {
        let what = object.reference();
        let api = self.api(&object.resource, object.namespace.as_deref());
        let uid = object.value.pointer("/metadata/uid").and_then(|uid| uid.as_str()).map(ToOwned::to_owned);
        let is_running = object.is("Deployment");
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
            Err(error) => return Err(Failure::of(&what, error)),
        }
        self.say(&what, "deleted")?;
        let is_awaited = is_running || object.is("CustomResourceDefinition");
        if let Some(uid) = uid.filter(|_| is_awaited && !self.dry_run) {
            let gone = await_condition(api, &object.name, conditions::is_deleted(&uid));
            if !matches!(tokio::time::timeout(GONE, gone).await, Ok(Ok(_))) {
                Self::note(&format!("{what} is not gone after {} seconds; going on", GONE.as_secs()));
            }
        }
        Ok(())
    }

    /// Objects in our own namespace that are known by their names.
    async fn delete_named<K: kube::Resource<DynamicType = ()>>(&self, names: &[String]) -> Result<(), Failure> {
        let resource = ApiResource::erase::<K>(&());
        let api = self.api(&resource, Some(&self.namespace));
        for name in names {
            let found = api.get_metadata_opt(name).await.map_err(|error| Failure::of(name, error))?;
            if let Some(found) = found {
                self.delete(&partial(resource.clone(), Some(self.namespace.clone()), &found)).await?;
            }
        }
        Ok(())
    }

    /// Every ModelDeployment, as `namespace/name`, of the groups that are installed.
    async fn deployments(&self) -> Result<Vec<(String, String)>, Failure> {
        let mut deployments = Vec::new();
        for api_group in with_crds() {
            for found in self.all(&resource(api_group, kubefoundry_model::wire::KIND, "modeldeployments")).await? {
                let metadata = found.metadata;
                deployments.push((metadata.namespace.unwrap_or_default(), metadata.name.unwrap_or_default()));
            }
        }
        Ok(deployments)
    }

    /// Refuses while somebody would lose something with the CRDs.
    async fn may_lose_crds(&self, deployments: &[(String, String)]) -> Result<(), Failure> {
        let mut refusals = Vec::new();
        if let Some((namespace, name)) = deployments.first() {
            let count = counted(deployments.len());
            refusals.push(format!("--delete-crds would delete {count}, such as {namespace}/{name}: delete them first"));
        }
        for api_group in with_crds() {
            let kind = kubefoundry_model::wire::CONFIGURATION_KIND;
            for found in self.all(&resource(api_group, kind, "inferenceproviderconfigs")).await? {
                let name = found.metadata.name.unwrap_or_default();
                if !PROVIDERS.iter().any(|provider| provider.name() == name) {
                    refusals
                        .push(format!("--delete-crds would delete {kind} {name}, which is not ours: delete it first"));
                }
            }
        }
        refuse(refusals)
    }

    /// Refuses while ModelDeployments would go with the namespace.
    fn may_lose_namespace(&self, deployments: &[(String, String)]) -> Result<(), Failure> {
        let within = deployments.iter().filter(|(namespace, _)| *namespace == self.namespace);
        refuse(within.map(|(_, name)| format!("--delete-namespace would delete ModelDeployment {name}")).collect())
    }

    /// Our CRDs, as far as they are installed.
    async fn crds(&self) -> Result<Vec<Object>, Failure> {
        let crds = ApiResource::erase::<CustomResourceDefinition>(&());
        let mut found = Vec::new();
        for api_group in with_crds() {
            for plural in ["modeldeployments", "inferenceproviderconfigs"] {
                let name = format!("{plural}.{}", api_group.name);
                let crd = self.api(&crds, None).get_metadata_opt(&name).await;
                found.extend(
                    crd.map_err(|error| Failure::of(&name, error))?.map(|crd| partial(crds.clone(), None, &crd)),
                );
            }
        }
        Ok(found)
    }

    /// Every object of a kind in all namespaces; none where the kind is not installed.
    async fn all(&self, resource: &ApiResource) -> Result<Vec<PartialObjectMeta<DynamicObject>>, Failure> {
        match self.api(resource, None).list_metadata(&ListParams::default()).await {
            Ok(list) => Ok(list.items),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
            Err(error) => Err(Failure::of(&resource.plural, error)),
        }
    }
}

fn with_crds() -> impl Iterator<Item = &'static ApiGroup> {
    API_GROUPS.iter().filter(|api_group| api_group.has_crds)
}

fn resource(api_group: &ApiGroup, kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: api_group.name.to_owned(),
        version: api_group.version.to_owned(),
        api_version: api_group.api_version(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

fn object(resource: ApiResource, namespace: Option<String>, found: DynamicObject) -> Object {
    let name = found.metadata.name.clone().unwrap_or_default();
    Object { resource, namespace, name, value: serde_json::to_value(found).unwrap_or_default() }
}

fn partial(resource: ApiResource, namespace: Option<String>, found: &PartialObjectMeta<DynamicObject>) -> Object {
    let name = found.metadata.name.clone().unwrap_or_default();
    Object { resource, namespace, name, value: serde_json::json!({"metadata": found.metadata}) }
}

fn refuse(refusals: Vec<String>) -> Result<(), Failure> {
    if refusals.is_empty() { Ok(()) } else { Err(Failure::Refused(refusals)) }
}

fn counted(deployments: usize) -> String {
    format!("{deployments} ModelDeployment{}", if deployments == 1 { "" } else { "s" })
}
