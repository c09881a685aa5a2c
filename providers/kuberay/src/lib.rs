//! KubeRay: a deployment becomes one `RayService`: a Ray cluster with a Ray Serve application.
//!
//! ```text
//! overrides ─ settings ──┬─ head ──────────┐
//! spec.image ─ runtime ──┼─ worker groups ─┼─ RayService
//! engines::resolve ──────┴─ serveConfigV2 ─┘
//! ```

mod behavior;
mod checks;
pub mod codes;
mod flags;
mod head;
mod image;
mod import;
mod manifests;
pub mod overrides;
pub mod runtimes;
mod serve;
mod serving_pods;
mod split;
mod start_params;
mod status;
mod support;
mod unify;
mod worker;

use image::RayRuntime;
use manifests::{AutoscalerOptions, RayClusterSpec, RayServiceSpec};
use overrides::KubeRaySettings;
use worker::WorkerGroup;

use kubefoundry_deployment::ir::{Deployment, EngineType};
use kubefoundry_deployment::placement::PodPlacement;
use kubefoundry_diagnostics::Findings;
use kubefoundry_engines::{self as engines, Launcher};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::pod::SpecBody;
use kubefoundry_kubernetes::wire::Describe as _;
use kubefoundry_provider::draft::{Draft, ImportRefusal, ImportSource};
use kubefoundry_provider::pod;
use kubefoundry_provider::{
    ListKeys, ObjectKind, Provider, ProviderInfo, ServerDefault, Status, StatusError, Translation, TranslationContext,
};
use kubefoundry_transform::Endpoint;

/// The name in `spec.provider.name` and in the options.
const NAME: &str = "kuberay";
/// The CRD version that is written.
const V1: &str = "ray.io/v1";
/// The Ray releases whose flags and Serve configuration are known: the default, then the others from the newest to the
/// oldest.
const RUNTIMES: &[&str] = &[
    "2.56.0", "2.60.0", "2.59.0", "2.58.1", "2.58.0", "2.57.1", "2.57.0", "2.56.1", "2.55.1", "2.55.0", "2.54.1",
    "2.54.0", "2.53.0", "2.52.1", "2.52.0", "2.51.2", "2.51.1", "2.51.0", "2.50.1", "2.50.0",
];

/// The provider KubeRay.
#[derive(Debug)]
pub struct KubeRay;

static INFO: ProviderInfo = ProviderInfo {
    name: NAME,
    display_name: "KubeRay",
    config: include_str!("../config.yaml"),
    readme: include_str!("../README.md"),
    crd_versions: &[V1],
    crd_versions_by_runtime: &[],
    runtimes: RUNTIMES,
    chooses_gpus: |_| false,
    placement: |_| PodPlacement::Scheduled,
    chooses_runtime_itself: false,
    flag_tables: runtimes::flag_tables,
    upgrades_by_minor_release: false,
    is_released_with_runtime: false,
    overrides: overrides::Overrides::SHAPE,
    section: None,
    codes: codes::CODES,
    deviations: support::deviations,
    behaviors: behavior::BEHAVIORS,
    kinds: &[ObjectKind { group: "ray.io", kind: "RayService", plural: "rayservices" }],
    unsupported_kinds: &[],
    server_defaults: &[
        ServerDefault { kind: "RayService", path: "numOfHosts", value: "1" },
        ServerDefault { kind: "RayService", path: "priority", value: "0" },
        // ray-operator/controllers/ray/common/pod.go (setMissingRayStartParams).
        ServerDefault {
            kind: "RayService",
            path: r#"headGroupSpec.rayStartParams["dashboard-host"]"#,
            value: r#""0.0.0.0""#,
        },
        // vLLM's own default (vllm/engine/arg_utils.py); an import states the size.
        ServerDefault { kind: "RayService", path: "engine_kwargs.tensor_parallel_size", value: "1" },
    ],
    list_keys: &[ListKeys { field: "workerGroupSpecs", keys: &["groupName"] }],
};

impl Provider for KubeRay {
    fn info(&self) -> &'static ProviderInfo {
        &INFO
    }

    fn translate(
        &self,
        deployment: &Deployment,
        context: &TranslationContext<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<Translation> {
        // `config.yaml` lists no other engine: a deployment with one is refused before it is translated.
        if deployment.engine.kind != EngineType::Vllm {
            return None;
        }
        let errors_before = findings.error_count();
        let runtime = image::choose_runtime(deployment, context, findings);
        let settings = overrides::read_settings(deployment, runtime.release.version, findings);
        checks::check_deployment(deployment, runtime.release, findings);
        let workers = deployment.workload.workers().into_iter();
        let groups: Vec<Option<WorkerGroup<'_>>> =
            workers.map(|worker| WorkerGroup::resolve(deployment, worker, &runtime, findings)).collect();
        if let [Some(prefill), Some(decode)] = groups.as_slice() {
            engines::check_shared_settings(EngineType::Vllm, &prefill.invocation, &decode.invocation, &[], findings);
        }
        // KubeRay runs vLLM on GPUs only, even if a configuration in the input claims otherwise.
        if findings.error_count() > errors_before || !pod::has_gpus(deployment) {
            return None;
        }
        let groups: Vec<WorkerGroup<'_>> = groups.into_iter().collect::<Option<_>>()?;
        let name = &deployment.metadata.name;
        let spec = RayServiceSpec {
            serve_config_v2: serve::build_config(deployment, &groups, settings.accelerator)?,
            ray_cluster_config: build_cluster(deployment, &groups, &runtime, &settings),
        };
        let mut manifests = pod::claims(deployment);
        manifests.push(Manifest::new(V1, "RayService", name, SpecBody { spec }));
        let service = format!("{name}-serve-svc");
        Some(Translation {
            manifests,
            endpoint: Some(Endpoint { service, port: serving_pods::SERVE_PORT }),
            gateway_backend: serving_pods::gateway_backend(deployment),
        })
    }

    fn launcher(
        &self,
        deployment: &Deployment,
        context: &TranslationContext<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<Launcher> {
        if deployment.engine.kind != EngineType::Vllm {
            return None;
        }
        let runtime = image::choose_runtime(deployment, context, findings);
        Some(runtimes::launcher(runtime.release, runtime.is_exact))
    }

    fn import(&self, source: &ImportSource<'_>) -> Result<Draft, ImportRefusal> {
        import::import(source)
    }

    fn unify(&self, object: &mut serde_json::Value) {
        unify::unify(object);
    }

    fn split(&self, object: &serde_json::Value) -> Vec<serde_json::Value> {
        split::split(object)
    }

    fn replica_selector(&self, object: &serde_json::Value) -> Option<String> {
        status::worker_selector(object)
    }

    fn translate_status(&self, observed: &serde_json::Value) -> Result<Status, StatusError> {
        status::translate(observed)
    }
}

/// Builds the cluster. It has an autoscaler if a group has 0 pods, so that the first request can start one.
fn build_cluster(
    deployment: &Deployment,
    groups: &[WorkerGroup<'_>],
    runtime: &RayRuntime,
    settings: &KubeRaySettings,
) -> RayClusterSpec {
    let has_autoscaler = groups.iter().any(|group| group.worker.replicas.value == 0);
    RayClusterSpec {
        ray_version: runtime.ray_version.clone(),
        enable_in_tree_autoscaling: has_autoscaler,
        autoscaler_options: has_autoscaler.then_some(AutoscalerOptions { version: "v2" }),
        head_group_spec: head::build_head(deployment, runtime, settings),
        worker_group_specs: groups
            .iter()
            .map(|group| group.build_spec(deployment, &runtime.image, settings.accelerator, has_autoscaler))
            .collect(),
    }
}
