//! The pods that run replicas: one group, or one for prefill and one for decode. A pod is as large as one replica.

use super::overrides::AcceleratorType;
use super::target::WorkerGroupSpec;
use super::{checks, flags, runtimes, start_params};
use crate::engines;
use crate::engines::{ArgumentValue, Invocation, Parallelism};
use crate::ir::{Deployment, Role, Worker};
use crate::providers::nixl;
use crate::providers::pod;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::pod::{Container, PodSpec, PodTemplate, StringMap, set_default_env};
use kubefoundry_kubernetes::wire::EnvVar;

/// One kind of worker with its resolved engine settings.
#[derive(Debug)]
pub(super) struct Group<'d> {
    /// How many, and what each needs.
    pub(super) worker: &'d Worker,
    /// The engine's settings.
    pub(super) invocation: Invocation,
}

impl<'d> Group<'d> {
    /// Resolves one kind of worker for a Ray version. `None` means that findings say why not.
    pub(super) fn resolve(
        deployment: &Deployment,
        worker: &'d Worker,
        ray: &str,
        findings: &mut Findings<'_>,
    ) -> Option<Self> {
        let mut invocation = engines::resolve(deployment, worker, &runtimes::launcher(ray), findings);
        if !flags::check(&invocation, findings) {
            return None;
        }
        if let Some(transfer) = nixl::transfer_config(worker.role) {
            // A map, not JSON text: Ray reads the connector's name in it. It adds engine_id, host and port itself.
            invocation.set_default("kv-transfer-config", ArgumentValue::Json(transfer));
        }
        Some(Self { worker, invocation })
    }
}

impl Group<'_> {
    /// The custom Ray resource that pins a role to its group: every bundle of the role's placement groups asks for 1 of
    /// it, and only pods of that group have it. Aggregated workers need none.
    pub(super) fn resource(role: Role) -> Option<&'static str> {
        match role {
            Role::Aggregated => None,
            Role::Prefill | Role::Decode => Some(Self::name(role)),
        }
    }

    fn name(role: Role) -> &'static str {
        match role {
            Role::Aggregated => "worker",
            Role::Prefill => "prefill",
            Role::Decode => "decode",
        }
    }

    /// The pods. `scales` says whether Ray's autoscaler runs, which has to know what a pod will have before there is
    /// one.
    pub(super) fn spec(
        &self,
        deployment: &Deployment,
        image: &str,
        accelerator: Option<AcceleratorType>,
        scales: bool,
    ) -> WorkerGroupSpec {
        let worker = self.worker;
        let replicas = worker.replicas.value;
        let container = Container {
            name: Some("ray-worker".to_owned()),
            image: Some(image.to_owned()),
            resources: pod::resource_requirements(worker),
            env: environment(deployment),
            ..pod::container(deployment)
        };
        let spec = PodSpec { containers: vec![container], ..pod::spec(deployment) };
        WorkerGroupSpec {
            group_name: Self::name(worker.role),
            replicas,
            min_replicas: replicas,
            // From 0, the first request starts one.
            max_replicas: replicas.max(1),
            ray_start_params: self.start_params(accelerator, scales),
            template: PodTemplate { metadata: pod::metadata(deployment, &checks::LABELS), spec },
        }
    }

    fn start_params(&self, accelerator: Option<AcceleratorType>, scales: bool) -> StringMap {
        let mut params = StringMap::default();
        let worker = self.worker;
        if let Some(cpus) = logical_cpus(worker, self.invocation.parallelism, scales) {
            params.push("num-cpus", cpus.to_string());
        }
        // KubeRay and the autoscaler take the number from a limit whose name ends in `gpu`, and see no other.
        if !worker.gpu_type.value.ends_with("gpu") {
            params.push("num-gpus", worker.gpu_count.value.to_string());
        }
        let mut resources = Vec::new();
        if let Some(resource) = Self::resource(worker.role) {
            resources.push((resource.to_owned(), bundles(self.invocation.parallelism)));
        }
        // Ray finds the model of a GPU once it runs on it; the autoscaler cannot wait for that.
        if let Some(accelerator) = accelerator.filter(|_| scales) {
            resources.push((format!("accelerator_type:{accelerator}"), 1));
        }
        if !resources.is_empty()
            && let Some(resources) = start_params::resources(&resources)
        {
            params.push("resources", resources);
        }
        params
    }
}

/// Placement-group bundles of one replica: one for each rank (`placement_bundles` in
/// ray/llm/_internal/serve/engines/vllm/vllm_models.py, times the gang of `DPServer`).
fn bundles(parallelism: Parallelism) -> u64 {
    u64::from(parallelism.tensor) * u64::from(parallelism.pipeline) * u64::from(parallelism.data)
}

/// `num-cpus`, where the pod's own CPU would not do: Ray takes a pod's CPU request for what it may schedule there. Each
/// replica actor reserves 1 CPU (each data-parallel rank is one), and the HTTP ingress 1 more, which the head (0) does
/// not have: with less, the application waits for ever. The autoscaler refuses a group without any CPU count.
fn logical_cpus(worker: &Worker, parallelism: Parallelism, scales: bool) -> Option<u32> {
    let needed = parallelism.data.saturating_add(1);
    let enough = match &worker.cpu {
        Some(cpu) => covers(cpu, needed),
        None => !scales,
    };
    (!enough).then_some(needed)
}

/// Whether a quantity is at least a whole number, rounded up as KubeRay rounds (`Quantity.Value`).
fn covers(quantity: &str, needed: u32) -> bool {
    let scaled = [("n", 1e-9), ("u", 1e-6), ("m", 1e-3)]
        .into_iter()
        .find_map(|(suffix, scale)| Some((quantity.strip_suffix(suffix)?, scale)));
    let (number, scale) = scaled.unwrap_or((quantity, 1.0));
    // Larger suffixes are thousands of CPUs and more.
    number.parse::<f64>().map_or(true, |number| (number * scale).ceil() >= f64::from(needed))
}

/// `spec.env`, and where caches are unless the user says. In the container, not in Serve's `runtime_env`: secrets stay
/// references, and Ray's own processes see the variables too.
fn environment(deployment: &Deployment) -> Vec<EnvVar> {
    let mut env = deployment.env.clone();
    for variable in pod::model_cache_home(deployment).into_iter().chain(pod::compilation_cache_root(deployment)) {
        set_default_env(&mut env, variable);
    }
    env
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn quantities_round_up_to_whole_cpus() {
        for (quantity, needed) in [("2", 2), ("1500m", 2), ("1.5", 2), ("2e0", 2), ("1k", 2), ("4", 2), ("1000001u", 2)]
        {
            assert!(covers(quantity, needed), "{quantity}");
        }
        for (quantity, needed) in [("1", 2), ("500m", 2), ("1000m", 2), ("2", 3), ("1000000u", 2)] {
            assert!(!covers(quantity, needed), "{quantity}");
        }
    }
}
