//! Reads and writes objects of a cluster as JSON values.

use std::time::Duration;

use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PropagationPolicy,
};
use kube::{Client, Error};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::eventually;

/// Timeout for changes that usually take a moment. It only ends a wait for what never happens: the machine may be busy.
pub const SOON: Duration = Duration::from_secs(60);

/// The controller of a provider of a third party, which writes heartbeats until it is dropped.
pub struct Heartbeat(JoinHandle<()>);

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_field_names, reason = "the fields are named as in a manifest")]
pub struct Kind {
    pub api_version: &'static str,
    pub kind: &'static str,
    /// The name in URLs.
    pub plural: &'static str,
}

const fn kind(api_version: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { api_version, kind, plural }
}

/// The kinds that tests use.
pub mod kinds {
    use super::{Kind, kind};

    pub const DEPLOYMENT: Kind = kind("kubefoundry.ai/v1alpha1", "ModelDeployment", "modeldeployments");
    pub const AIRUNWAY_DEPLOYMENT: Kind = kind("kubeairunway.ai/v1alpha1", "ModelDeployment", "modeldeployments");
    pub const PROVIDER_CONFIG: Kind =
        kind("kubefoundry.ai/v1alpha1", "InferenceProviderConfig", "inferenceproviderconfigs");
    pub const WORKSPACE: Kind = kind("kaito.sh/v1beta1", "Workspace", "workspaces");
    pub const INFERENCE_SET: Kind = kind("kaito.sh/v1beta1", "InferenceSet", "inferencesets");
    pub const GRAPH: Kind = kind("nvidia.com/v1alpha1", "DynamoGraphDeployment", "dynamographdeployments");
    pub const BETA_GRAPH: Kind = kind("nvidia.com/v1beta1", "DynamoGraphDeployment", "dynamographdeployments");
    pub const RAY_SERVICE: Kind = kind("ray.io/v1", "RayService", "rayservices");
    pub const ACTOR: Kind = kind("asya.sh/v1alpha1", "AsyncActor", "asyncactors");
    pub const DISTRIBUTION: Kind = kind("llamastack.io/v1alpha1", "LlamaStackDistribution", "llamastackdistributions");
    pub const SCALED_OBJECT: Kind = kind("keda.sh/v1alpha1", "ScaledObject", "scaledobjects");
    pub const TRIGGER_AUTHENTICATION: Kind =
        kind("keda.sh/v1alpha1", "TriggerAuthentication", "triggerauthentications");
    pub const WORKLOAD: Kind = kind("apps/v1", "Deployment", "deployments");
    pub const STATEFUL_SET: Kind = kind("apps/v1", "StatefulSet", "statefulsets");
    pub const POD: Kind = kind("v1", "Pod", "pods");
    pub const SERVICE_ACCOUNT: Kind = kind("v1", "ServiceAccount", "serviceaccounts");
    pub const NAMESPACE: Kind = kind("v1", "Namespace", "namespaces");
    pub const CONFIG_MAP: Kind = kind("v1", "ConfigMap", "configmaps");
    pub const SECRET: Kind = kind("v1", "Secret", "secrets");
    pub const SERVICE: Kind = kind("v1", "Service", "services");
    pub const CLAIM: Kind = kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims");
    pub const EVENT: Kind = kind("events.k8s.io/v1", "Event", "events");
    pub const LEASE: Kind = kind("coordination.k8s.io/v1", "Lease", "leases");
    pub const CRD: Kind = kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions");
    pub const VALIDATING: Kind =
        kind("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations");
    pub const MUTATING: Kind =
        kind("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations");
    pub const CLUSTER_ROLE: Kind = kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles");
    pub const CLUSTER_ROLE_BINDING: Kind =
        kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings");
}

impl Kind {
    pub fn resource(self) -> ApiResource {
        let (group, version) = self.api_version.split_once('/').unwrap_or(("", self.api_version));
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, self.kind), self.plural)
    }

    /// The name of the operator's watch of this kind: `workspaces.kaito.sh`.
    pub fn watch(self) -> String {
        match self.api_version.split_once('/') {
            Some((group, _)) => format!("{}.{group}", self.plural),
            None => self.plural.to_owned(),
        }
    }

    fn is_namespaced(self) -> bool {
        use kinds::{CLUSTER_ROLE, CLUSTER_ROLE_BINDING, CRD, MUTATING, NAMESPACE, PROVIDER_CONFIG, VALIDATING};
        let cluster = [CLUSTER_ROLE, CLUSTER_ROLE_BINDING, CRD, MUTATING, NAMESPACE, PROVIDER_CONFIG, VALIDATING];
        !cluster.iter().any(|other| other.kind == self.kind)
    }
}

/// A namespace, and the client of a user who works in it.
#[derive(Clone)]
pub struct Namespace {
    pub client: Client,
    pub name: String,
}

impl Namespace {
    /// Creates the namespace.
    pub async fn create(client: &Client, name: &str) -> Self {
        let namespace = Self { client: client.clone(), name: name.to_owned() };
        namespace.apply(kinds::NAMESPACE, &json!({"metadata": {"name": name}})).await.unwrap();
        namespace
    }

    /// The same namespace with the client of another user.
    pub fn with_client(&self, client: &Client) -> Self {
        Self { client: client.clone(), name: self.name.clone() }
    }

    /// The client for a kind, in the namespace if the kind is namespaced.
    pub fn api(&self, kind: Kind) -> Api<DynamicObject> {
        let resource = kind.resource();
        if kind.is_namespaced() {
            Api::namespaced_with(self.client.clone(), &self.name, &resource)
        } else {
            Api::all_with(self.client.clone(), &resource)
        }
    }

    /// Reads an object; none if it does not exist.
    pub async fn find(&self, kind: Kind, name: &str) -> Option<Value> {
        self.look_up(kind, name).await.unwrap_or_else(|error| panic!("{} {name}: {error}", kind.kind))
    }

    /// Like [`Self::find`], but returns errors, because the server may not be available.
    async fn look_up(&self, kind: Kind, name: &str) -> Result<Option<Value>, String> {
        self.api(kind).get_opt(name).await.map(|found| found.map(value)).map_err(|error| error.to_string())
    }

    /// Reads an object that must exist.
    pub async fn get(&self, kind: Kind, name: &str) -> Value {
        self.find(kind, name).await.unwrap_or_else(|| panic!("{} {name} does not exist", kind.kind))
    }

    /// All objects of a kind, by name.
    pub async fn list(&self, kind: Kind) -> Vec<Value> {
        let list = self.api(kind).list(&ListParams::default()).await.unwrap();
        list.items.into_iter().map(value).collect()
    }

    /// Applies as a user does: server-side, with strict validation. `kind` and `apiVersion` may be left out.
    pub async fn apply(&self, kind: Kind, object: &Value) -> Result<Value, Error> {
        self.apply_as("a-user", kind, object).await
    }

    /// Applies with this field manager, and takes over fields in conflict.
    pub async fn apply_as(&self, manager: &str, kind: Kind, object: &Value) -> Result<Value, Error> {
        let mut object = object.clone();
        object["apiVersion"] = kind.api_version.into();
        object["kind"] = kind.kind.into();
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let parameters = PatchParams::apply(manager).force().validation_strict();
        self.api(kind).patch(&name, &parameters, &Patch::Apply(object)).await.map(value)
    }

    /// Applies a ModelDeployment with this specification.
    pub async fn deploy(&self, name: &str, spec: &Value) -> Value {
        let object = json!({"metadata": {"name": name}, "spec": spec});
        self.apply(kinds::DEPLOYMENT, &object).await.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Changes an object by a merge patch.
    pub async fn merge(&self, kind: Kind, name: &str, patch: &Value) -> Value {
        let parameters = PatchParams { field_manager: Some("an-editor".to_owned()), ..PatchParams::default() };
        let patched = self.api(kind).patch(name, &parameters, &Patch::Merge(patch)).await;
        value(patched.unwrap_or_else(|error| panic!("{} {name}: {error}", kind.kind)))
    }

    /// Writes an annotation; `None` removes it. Returns the object.
    pub async fn annotate(&self, kind: Kind, name: &str, key: &str, text: Option<&str>) -> Value {
        self.merge(kind, name, &json!({"metadata": {"annotations": {key: text}}})).await
    }

    /// Merges fields into a status, as the controller of an upstream object does.
    pub async fn patch_status(&self, kind: Kind, name: &str, status: &Value) {
        let patch = Patch::Merge(json!({"status": status}));
        let patched = self.api(kind).patch_status(name, &PatchParams::default(), &patch).await;
        patched.unwrap_or_else(|error| panic!("status of {} {name}: {error}", kind.kind));
    }

    /// Registers a provider of a third party, whose controller is alive until what is returned is dropped. A single
    /// heartbeat would be too old before a busy machine has decided about a deployment.
    pub async fn register(&self, provider: &str, spec: &Value) -> Heartbeat {
        let config = json!({"metadata": {"name": provider}, "spec": spec});
        self.apply(kinds::PROVIDER_CONFIG, &config).await.unwrap();
        let (api, name) = (self.api(kinds::PROVIDER_CONFIG), provider.to_owned());
        let beat = async move || {
            let now = k8s_openapi::jiff::Timestamp::now().to_string();
            let status = json!({"ready": true, "version": format!("{name}:1"), "lastHeartbeat": now});
            let patch = Patch::Merge(json!({"status": status}));
            api.patch_status(&name, &PatchParams::default(), &patch).await.map(drop)
        };
        beat().await.unwrap();
        Heartbeat(tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                // The configuration may be deleted meanwhile.
                let _ = beat().await;
            }
        }))
    }

    /// Deletes in the background, as `kubectl delete --wait=false` does.
    pub async fn delete(&self, kind: Kind, name: &str) {
        let parameters =
            DeleteParams { propagation_policy: Some(PropagationPolicy::Background), ..DeleteParams::default() };
        self.api(kind).delete(name, &parameters).await.unwrap_or_else(|error| panic!("{} {name}: {error}", kind.kind));
    }

    /// Waits until an object exists and `look` returns `Ok` for it.
    pub async fn until(
        &self,
        kind: Kind,
        name: &str,
        what: &str,
        mut look: impl FnMut(&Value) -> Result<(), String>,
    ) -> Value {
        let what = format!("{} {}/{name}: {what}", kind.kind, self.name);
        eventually(SOON, &what, async || {
            let object = self.look_up(kind, name).await?.ok_or("it does not exist")?;
            look(&object).map(|()| object)
        })
        .await
    }

    /// Waits until an object exists.
    pub async fn until_exists(&self, kind: Kind, name: &str) -> Value {
        self.until(kind, name, "there", |_| Ok(())).await
    }

    /// Waits until an object no longer exists.
    pub async fn until_gone(&self, kind: Kind, name: &str) {
        let what = format!("{} {}/{name} gone", kind.kind, self.name);
        eventually(SOON, &what, async || match self.look_up(kind, name).await? {
            None => Ok(()),
            Some(object) => Err(object["metadata"].to_string()),
        })
        .await;
    }

    /// Waits until a ModelDeployment is in a phase.
    pub async fn until_phase(&self, name: &str, phase: &str) -> Value {
        self.until(kinds::DEPLOYMENT, name, &format!("in phase {phase}"), |deployment| {
            expect_text(&deployment["status"]["phase"], phase).map_err(|_| format!("status {}", deployment["status"]))
        })
        .await
    }

    /// Waits until a condition of a ModelDeployment has a status, and returns the condition.
    pub async fn until_condition(&self, name: &str, kind: &str, status: &str) -> Value {
        let what = format!("with the condition {kind}={status}");
        let deployment = self
            .until(kinds::DEPLOYMENT, name, &what, |deployment| match condition(deployment, kind) {
                Some(condition) if condition["status"] == status => Ok(()),
                _ => Err(format!("status {}", deployment["status"])),
            })
            .await;
        condition(&deployment, kind).unwrap()
    }

    /// The events about an object, oldest first, as (type, reason, message).
    pub async fn events(&self, name: &str) -> Vec<(String, String, String)> {
        let mut events = self.list(kinds::EVENT).await;
        events.retain(|event| event["regarding"]["name"] == name);
        events.sort_by_key(|event| event["eventTime"].as_str().unwrap_or_default().to_owned());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        events.iter().map(|event| (text(&event["type"]), text(&event["reason"]), text(&event["note"]))).collect()
    }

    /// Waits for an event about a ModelDeployment, and returns its message.
    pub async fn until_event(&self, name: &str, kind: &str, reason: &str) -> String {
        eventually(SOON, &format!("event {kind} {reason} of {}/{name}", self.name), async || {
            let events = self.events(name).await;
            let found = events.iter().find(|event| event.0 == kind && event.1 == reason);
            found.map(|event| event.2.clone()).ok_or_else(|| format!("{events:?}"))
        })
        .await
    }
}

/// A condition of an object.
pub fn condition(object: &Value, kind: &str) -> Option<Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind).cloned()
}

/// `Ok` when a value is the expected string.
pub fn expect_text(found: &Value, expected: &str) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{found} instead of {expected}")) }
}

/// The uid of an object.
pub fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}

fn value(object: DynamicObject) -> Value {
    serde_json::to_value(object).unwrap()
}
