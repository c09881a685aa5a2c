//! The real apiserver, and an executor of requests for it: the one of the controllers.

#[allow(dead_code, unreachable_pub, reason = "the tests of the process use more of it")]
#[path = "../../../tests/it/harness/process.rs"]
mod process;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, PropagationPolicy};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::DynamicObject;
use kube::{Api, Client, Config};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_reconcile::cached_object::CachedObject;
use kubefoundry_reconcile::recreation::RecreationPolicy;
use kubefoundry_reconcile::request::{Answer, RequestError};
use process::Process;
use serde_json::{Value, json};

use super::steps::{self, Step};
use super::{EDITOR, Target, USER, View};
use crate::context::Context;
use crate::controllers::{Executor, Turns};
use crate::manifests::InstallPlan;
use crate::simulation::server::{NAMESPACE, Part};

/// Time for the apiserver to start, and to serve a CRD.
const START: Duration = Duration::from_secs(90);

pub(super) struct RealServer {
    context: Context,
    turns: Turns,
    _process: Process,
    _directory: tempfile::TempDir,
}

impl RealServer {
    /// Starts an apiserver with the CRDs of the deployment and of a provider; none if the tests are skipped.
    pub(super) async fn start() -> Option<Self> {
        let Some(program) = std::env::var_os("KUBEFOUNDRY_CONTROLPLANE").map(PathBuf::from) else {
            assert!(std::env::var_os("CI_OPERATOR").is_none(), "CI needs KUBEFOUNDRY_CONTROLPLANE");
            eprintln!("skipped: KUBEFOUNDRY_CONTROLPLANE is not set");
            return None;
        };
        let directory = tempfile::tempdir().unwrap();
        let arguments = ["-dir".to_owned(), directory.path().display().to_string()];
        let process = Process::start(&program, &arguments, &directory.path().join("log"), None);
        let client = connect(&directory.path().join("kubeconfig")).await;
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        let namespaces = Api::<Namespace>::all(client.clone());
        namespaces.patch(NAMESPACE, &PatchParams::apply(USER), &Patch::Apply(&namespace)).await.unwrap();
        let api_group = ApiGroup::find("kubefoundry.ai").unwrap();
        let skeleton = kubefoundry_crd::upstream::skeleton("kaito.sh", "Workspace", None).unwrap();
        let own = InstallPlan::new("kubefoundry-system").objects().into_iter();
        let own = own.filter(|object| object.has_kind("CustomResourceDefinition")).map(|object| object.value);
        for crd in own.chain([without_schema(skeleton.to_crd().unwrap())]) {
            install(&client, crd).await;
        }
        let context = Context::for_tests(client, api_group, steps::resource(Target::Deployment));
        let policy = RecreationPolicy { max: 1, needs_approval: false, deadline: Duration::from_secs(60) };
        let turns = Turns::new("kaito", Vec::new(), policy);
        Some(Self { context, turns, _process: process, _directory: directory })
    }

    fn api(&self, target: Target) -> Api<DynamicObject> {
        Api::namespaced_with(self.context.client.clone(), NAMESPACE, &steps::resource(target))
    }

    /// Returns the objects of a sequence.
    pub(super) async fn objects(&self, name: &str) -> BTreeMap<Target, Value> {
        let mut found = BTreeMap::new();
        for target in Target::ALL {
            if let Some(object) = self.api(target).get_opt(name).await.unwrap() {
                found.insert(target, json!(object));
            }
        }
        found
    }

    /// Returns a deployment with the defaults of its CRD.
    pub(super) async fn defaulted(&self, deployment: &Value) -> Value {
        let parameters = PostParams { dry_run: true, ..PostParams::default() };
        let object: DynamicObject = serde_json::from_value(deployment.clone()).unwrap();
        let defaulted = json!(self.api(Target::Deployment).create(&parameters, &object).await.unwrap());
        let mut deployment = deployment.clone();
        deployment["spec"] = defaulted["spec"].clone();
        deployment
    }

    /// Creates a deployment, as a user does.
    pub(super) async fn create(&self, deployment: &Value) {
        let object: DynamicObject = serde_json::from_value(deployment.clone()).unwrap();
        let parameters = PostParams { field_manager: Some(USER.to_owned()), ..PostParams::default() };
        self.api(Target::Deployment).create(&parameters, &object).await.unwrap();
    }

    /// Deletes a deployment, as a user does.
    pub(super) async fn delete(&self, name: &str, is_orphaning: bool) {
        let policy = if is_orphaning { PropagationPolicy::Orphan } else { PropagationPolicy::Background };
        let parameters = DeleteParams { propagation_policy: Some(policy), ..DeleteParams::default() };
        self.api(Target::Deployment).delete(name, &parameters).await.unwrap();
    }

    /// Carries out a step. The answer is none where there is nothing to do it with.
    pub(super) async fn take(&self, step: &Step, view: &View, name: &str) -> Option<Answer> {
        if let Some(request) = step.request(view, name) {
            // The reconciliation of a deployment that is gone by now has its name and uid.
            let mut gone = Target::Deployment.object(name);
            gone["metadata"]["uid"] = json!(view.deployment_uid);
            let deployment = CachedObject::new(gone).unwrap();
            let executor = Executor {
                client: &self.context.client,
                resource: &self.context.resource,
                events: &self.context.events,
                metrics: &self.context.metrics,
                deployment: &deployment,
                controller: "kaito",
                turns: Some(&self.turns),
                reading: None,
            };
            return Some(executor.execute(request).await);
        }
        let target = step.target();
        if let Some((part, edited)) = step.edited(view) {
            let object: DynamicObject = serde_json::from_value(edited).unwrap();
            let parameters = PostParams { field_manager: Some(EDITOR.to_owned()), ..PostParams::default() };
            let written = match part {
                Part::Object => self.api(target).replace(name, &parameters, &object).await,
                Part::Status => self.api(target).replace_status(name, &parameters, &object).await,
            };
            return Some(written.map(|written| Some(json!(written))).map_err(RequestError::from));
        }
        view.now.get(&target).filter(|_| !step.is_edit())?;
        let parameters = DeleteParams::background();
        Some(self.api(target).delete(name, &parameters).await.map(|_| None).map_err(RequestError::from))
    }
}

/// Waits until the apiserver is ready, which it shows by its kubeconfig.
async fn connect(kubeconfig: &Path) -> Client {
    let started = Instant::now();
    while !kubeconfig.exists() {
        assert!(started.elapsed() < START, "the apiserver did not start");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// Returns a CRD that accepts any field: the server in memory knows neither schemas nor their defaults.
fn without_schema(mut crd: Value) -> Value {
    for version in crd["spec"]["versions"].as_array_mut().into_iter().flatten() {
        version["schema"]["openAPIV3Schema"] = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    }
    crd
}

/// Installs a CRD, and waits until its objects can be written.
async fn install(client: &Client, mut crd: Value) {
    // No conversion webhook runs here.
    crd["spec"].as_object_mut().unwrap().remove("conversion");
    let (name, api) = (
        crd["metadata"]["name"].as_str().unwrap().to_owned(),
        Api::<DynamicObject>::all_with(client.clone(), &kubefoundry_reconcile::provider::resource(&crd)),
    );
    api.patch(&name, &PatchParams::apply(USER), &Patch::Apply(&crd)).await.unwrap();
    let started = Instant::now();
    loop {
        let stored = json!(api.get(&name).await.unwrap());
        let conditions = stored.pointer("/status/conditions").and_then(Value::as_array);
        let is_established = |one: &Value| one["type"] == "Established" && one["status"] == "True";
        if conditions.is_some_and(|conditions| conditions.iter().any(is_established)) {
            return;
        }
        assert!(started.elapsed() < START, "{name} is not established: {stored}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
