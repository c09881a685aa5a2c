//! The worker groups: one group of pods, or one for prefill and one for decode. A pod has the size of one replica.

use super::image::RayRuntime;
use super::manifests::WorkerGroupSpec;
use super::overrides::AcceleratorType;
use super::{flags, runtimes, serving_pods, start_params};
use kubefoundry_deployment::ir::{ContainerResources, Deployment, Role, Worker, amount_of};
use kubefoundry_diagnostics::Findings;
use kubefoundry_engines as engines;
use kubefoundry_engines::{ArgumentValue, Invocation, Parallelism};
use kubefoundry_kubernetes::pod::{Container, PodTemplate, StringMap, set_default_env};
use kubefoundry_kubernetes::wire::EnvVar;
use kubefoundry_provider::nixl;
use kubefoundry_provider::pod;

/// The workers of a role with their resolved engine settings.
#[derive(Debug)]
pub(super) struct WorkerGroup<'d> {
    pub(super) worker: &'d Worker,
    pub(super) invocation: Invocation,
}

impl<'d> WorkerGroup<'d> {
    /// Resolves the workers of a role for a Ray runtime. Returns `None` after reporting flags that Ray Serve cannot
    /// pass on.
    pub(super) fn resolve(
        deployment: &Deployment,
        worker: &'d Worker,
        runtime: &RayRuntime,
        findings: &mut Findings<'_>,
    ) -> Option<Self> {
        let mut invocation =
            engines::resolve(deployment, worker, &runtimes::launcher(runtime.release, runtime.is_exact), findings);
        if !flags::check_flags(&invocation, findings)
            || !nixl::complete_transfer_config(&mut invocation, worker.role, findings)
        {
            return None;
        }
        if let Some(transfer) = nixl::transfer_config(worker.role) {
            // The value is a map instead of JSON text, because Ray reads the connector's name and adds engine_id, host
            // and port.
            invocation.set_default("kv-transfer-config", ArgumentValue::Json(transfer));
        }
        Some(Self { worker, invocation })
    }
}

impl WorkerGroup<'_> {
    /// Returns the custom Ray resource that binds a role to its group: every bundle of the role's placement groups
    /// requests 1 of it, and only pods of that group have it. Aggregated workers need none.
    pub(super) fn role_resource(role: Role) -> Option<&'static str> {
        match role {
            Role::Aggregated => None,
            Role::Prefill | Role::Decode => Some(Self::group_name(role)),
        }
    }

    fn group_name(role: Role) -> &'static str {
        match role {
            Role::Aggregated => "worker",
            Role::Prefill => "prefill",
            Role::Decode => "decode",
        }
    }

    /// Builds the group's pods. With Ray's autoscaler (`has_autoscaler`), the spec states the resources of a pod before
    /// one exists.
    pub(super) fn build_spec(
        &self,
        deployment: &Deployment,
        image: &str,
        accelerator: Option<AcceleratorType>,
        has_autoscaler: bool,
    ) -> WorkerGroupSpec {
        let worker = self.worker;
        // A replica has a pod on each of its nodes; Ray's placement group finds the GPUs of all of them.
        let nodes = worker.nodes.value;
        let replicas = worker.replicas.value.saturating_mul(nodes);
        let mut container = Container {
            name: Some("ray-worker".to_owned()),
            image: Some(image.to_owned()),
            env: environment(deployment, worker),
            ..pod::base_container(deployment, worker)
        };
        let mut spec = pod::base_pod_spec(deployment);
        // KubeRay adds a volume of the size of the memory limit only where none is mounted
        // (controllers/ray/common/pod.go, addEmptyDir).
        let shared_memory = deployment.shared_memory.as_deref().and_then(|size| pod::shared_memory(deployment, size));
        if let Some((volume, mount)) = shared_memory {
            spec.volumes.push(volume);
            container.volume_mounts.push(mount);
        }
        spec.containers.push(container);
        WorkerGroupSpec {
            group_name: Self::group_name(worker.role),
            replicas,
            min_replicas: replicas,
            // A group that is scaled to zero grows to one replica at the first request.
            max_replicas: replicas.max(nodes),
            ray_start_params: self.start_params(accelerator, has_autoscaler),
            template: PodTemplate { metadata: serving_pods::pod_metadata(deployment), spec },
        }
    }

    fn start_params(&self, accelerator: Option<AcceleratorType>, has_autoscaler: bool) -> StringMap {
        let mut params = StringMap::default();
        let worker = self.worker;
        if let Some(cpus) = logical_cpus(worker, self.invocation.parallelism, has_autoscaler) {
            params.push("num-cpus", cpus.to_string());
        }
        // KubeRay and the autoscaler count GPUs only by a limit whose name ends in `gpu`.
        let bundles = bundle_count(self.invocation.parallelism).div_ceil(u64::from(worker.nodes.value));
        if worker.gpu_count.value == 0 {
            // Claims count no GPUs.
            params.push("num-gpus", bundles.to_string());
        } else if !worker.gpu_type.value.ends_with("gpu") {
            params.push("num-gpus", worker.gpu_count.value.to_string());
        }
        let mut resources = Vec::new();
        if let Some(resource) = Self::role_resource(worker.role) {
            resources.push((resource.to_owned(), bundles));
        }
        // Ray detects the GPU model on a running pod; the autoscaler needs it before.
        if let Some(accelerator) = accelerator.filter(|_| has_autoscaler) {
            resources.push((format!("accelerator_type:{accelerator}"), 1));
        }
        if !resources.is_empty()
            && let Some(resources) = start_params::resources_option(&resources)
        {
            params.push("resources", resources);
        }
        params
    }
}

/// Returns the number of placement-group bundles of one replica, one for each rank (`placement_bundles` in
/// ray/llm/_internal/serve/engines/vllm/vllm_models.py, times the gang of `DPServer`).
fn bundle_count(parallelism: Parallelism) -> u64 {
    u64::from(parallelism.tensor) * u64::from(parallelism.pipeline) * u64::from(parallelism.data)
}

/// Returns `num-cpus` if the pod's CPU request is too small. Ray schedules by that request: each replica actor, which
/// is each data parallel rank, reserves 1 CPU, and the HTTP ingress reserves 1 more, which the head (0) does not have.
/// With less, the application waits forever. The autoscaler also refuses a group without a CPU count.
fn logical_cpus(worker: &Worker, parallelism: Parallelism, has_autoscaler: bool) -> Option<u32> {
    let needed = parallelism.data.saturating_add(1);
    // KubeRay counts the limit, or else the request (controllers/ray/common/pod.go, `addWellKnownAcceleratorResources`).
    let ContainerResources { requests, limits, .. } = &worker.container;
    let cpu = amount_of(limits, "cpu").or_else(|| amount_of(requests, "cpu"));
    let is_enough = match cpu {
        Some(cpu) => is_at_least(&cpu.quantity, needed),
        None => !has_autoscaler,
    };
    (!is_enough).then_some(needed)
}

/// Returns whether a quantity, rounded up as KubeRay rounds it, is at least a number (`Quantity.Value`).
fn is_at_least(quantity: &str, needed: u32) -> bool {
    let scaled = [("n", 1e-9), ("u", 1e-6), ("m", 1e-3)]
        .into_iter()
        .find_map(|(suffix, scale)| Some((quantity.strip_suffix(suffix)?, scale)));
    let (number, scale) = scaled.unwrap_or((quantity, 1.0));
    // A quantity with another suffix is in the thousands.
    number.parse::<f64>().map_or(true, |number| (number * scale).ceil() >= f64::from(needed))
}

/// Returns the variables of the user and those for caches that the user does not set. They are set on the container instead of
/// in Serve's `runtime_env`, so that secrets stay references and Ray's own processes see them too.
fn environment(deployment: &Deployment, worker: &Worker) -> Vec<EnvVar> {
    let mut env = pod::worker_env(deployment, worker);
    for variable in pod::model_cache_home(deployment).into_iter().chain(pod::compilation_cache_root(deployment)) {
        set_default_env(&mut env, variable);
    }
    env
}

#[cfg(test)]
mod tests {
    use super::is_at_least;

    #[test]
    fn quantities_round_up_to_whole_cpus() {
        for (quantity, needed) in [("2", 2), ("1500m", 2), ("1.5", 2), ("2e0", 2), ("1k", 2), ("4", 2), ("1000001u", 2)]
        {
            assert!(is_at_least(quantity, needed), "{quantity}");
        }
        for (quantity, needed) in [("1", 2), ("500m", 2), ("1000m", 2), ("2", 3), ("1000000u", 2)] {
            assert!(!is_at_least(quantity, needed), "{quantity}");
        }
    }
}
