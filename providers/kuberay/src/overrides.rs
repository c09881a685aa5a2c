//! `spec.provider.overrides` for KubeRay (docs/specification.md MD-5.2, docs/design/0013).

use super::start_params;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_deployment::wire::{MainObjectMetadata, Patch};
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::api_group::AIRUNWAY;
use kubefoundry_kubernetes::wire::{Map, PathOf, Syntax};
use kubefoundry_kubernetes::{string_enum, wire_object};
use kubefoundry_provider::overrides;
use kubefoundry_provider::overrides::read_quantity;
use kubefoundry_yaml::Node;

wire_object! {
    /// Settings for KubeRay only.
    pub struct Overrides {
        /// Settings of the head, Ray's control plane. It runs no replicas.
        head: Head = "head",
        /// The GPU model that replicas must run on, by Ray's name. Any model by default.
        accelerator_type: AcceleratorType = "acceleratorType",
        /// Refused: only Dynamo has router modes.
        router_mode: Node<'static> = "routerMode",
        /// Labels and annotations of the provider's main object.
        metadata: MainObjectMetadata = "metadata" [not_in(&[AIRUNWAY])],
        /// Changes of the generated objects, for what no other field says.
        patches: Vec<Patch> = "patches" [not_in(&[AIRUNWAY])],
    }
}
wire_object! {
    /// Settings of the head, Ray's control plane.
    pub struct Head {
        /// The resources of the head.
        resources: HeadResources = "resources",
        /// Options of `ray start --head`, with values as strings. By default `num-cpus: "0"` and `dashboard-host:
        /// 0.0.0.0`.
        ray_start_params: Map<String> = "rayStartParams",
    }
}
wire_object! {
    /// The resources of the head.
    pub struct HeadResources {
        /// The CPU request, `2` by default.
        cpu: String = "cpu" [syntax(Syntax::Quantity), checked_by(&codes::INVALID_QUANTITY)],
        /// The memory request and limit, `4Gi` by default.
        memory: String = "memory" [syntax(Syntax::Quantity), checked_by(&codes::INVALID_QUANTITY)],
    }
}
string_enum! {
    /// A GPU model by Ray's name (`ray/util/accelerators/accelerators.py` of Ray 2.56.0, without TPUs and NPUs, which
    /// the vLLM images of `ray-llm` do not support).
    pub enum AcceleratorType {
        /// NVIDIA Tesla V100.
        V100 = "V100",
        /// NVIDIA Tesla P100.
        P100 = "P100",
        /// NVIDIA Tesla T4.
        T4 = "T4",
        /// NVIDIA Tesla P4.
        P4 = "P4",
        /// NVIDIA A10G.
        A10g = "A10G",
        /// NVIDIA L4.
        L4 = "L4",
        /// NVIDIA L40S.
        L40s = "L40S",
        /// NVIDIA A100.
        A100 = "A100",
        /// NVIDIA A100 with 40 GB. You must add this resource to the nodes yourself.
        A100Of40G = "A100-40G",
        /// NVIDIA A100 with 80 GB. You must add this resource to the nodes yourself.
        A100Of80G = "A100-80G",
        /// NVIDIA H100.
        H100 = "H100",
        /// NVIDIA H200.
        H200 = "H200",
        /// NVIDIA H20.
        H20 = "H20",
        /// NVIDIA B200.
        B200 = "B200",
        /// NVIDIA B300.
        B300 = "B300",
        /// Intel Data Center GPU Max 1550.
        Max1550 = "Intel-GPU-Max-1550",
        /// Intel Data Center GPU Max 1100.
        Max1100 = "Intel-GPU-Max-1100",
        /// Intel Gaudi.
        Gaudi = "Intel-GAUDI",
        /// AMD Instinct MI100.
        Mi100 = "AMD-Instinct-MI100",
        /// AMD Instinct MI210.
        Mi210 = "AMD-Instinct-MI210",
        /// AMD Instinct MI250X.
        Mi250x = "AMD-Instinct-MI250X",
        /// AMD Instinct MI250.
        Mi250 = "AMD-Instinct-MI250X-MI250",
        /// AMD Instinct MI300A.
        Mi300a = "AMD-Instinct-MI300A",
        /// AMD Instinct MI300X (OAM).
        Mi300x = "AMD-Instinct-MI300X-OAM",
        /// AMD Instinct MI300X (HF).
        Mi300xHf = "AMD-Instinct-MI300X-HF",
        /// AMD Instinct MI308X.
        Mi308x = "AMD-Instinct-MI308X",
        /// AMD Instinct MI325X.
        Mi325x = "AMD-Instinct-MI325X-OAM",
        /// AMD Instinct MI350X.
        Mi350x = "AMD-Instinct-MI350X-OAM",
        /// AMD Instinct MI355X.
        Mi355x = "AMD-Instinct-MI355X-OAM",
    }
}

/// The overrides after defaulting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KubeRaySettings {
    pub(super) head_cpu: String,
    pub(super) head_memory: String,
    /// Options of `ray start --head`. The user's options win over `num-cpus: "0"` (the head runs no replicas) and
    /// `dashboard-host: 0.0.0.0` (the operator reaches the dashboard over the network).
    pub(super) head_params: Vec<(String, String)>,
    pub(super) accelerator: Option<AcceleratorType>,
}

/// Returns the path of the overrides.
pub(super) fn path() -> PathOf<Overrides> {
    overrides::path::<Overrides>()
}

/// Reads and checks the overrides. An invalid override is reported and replaced by its default, so that the rest of the
/// deployment is still checked. `ray` is the version whose options are known.
pub(super) fn read_settings(deployment: &Deployment, ray: &str, findings: &mut Findings<'_>) -> KubeRaySettings {
    let Overrides { head, accelerator_type, router_mode, metadata: _, patches: _ } =
        overrides::read(deployment, findings);
    if router_mode.is_some() {
        refuse_router_mode(findings);
    }
    let Head { resources, ray_start_params } = head.unwrap_or_default();
    let HeadResources { cpu, memory } = resources.unwrap_or_default();
    let user_params = ray_start_params.unwrap_or_default();
    let mut head_params = vec![pair("num-cpus", "0"), pair("dashboard-host", "0.0.0.0")];
    for (key, value) in start_params::check_params(&user_params.0, &path().head().ray_start_params(), ray, findings) {
        match head_params.iter_mut().find(|(existing, _)| *existing == key) {
            Some(entry) => entry.1 = value,
            None => head_params.push((key, value)),
        }
    }
    KubeRaySettings {
        head_cpu: read_quantity(cpu, &path().head().resources().cpu(), findings).unwrap_or_else(|| "2".to_owned()),
        head_memory: read_quantity(memory, &path().head().resources().memory(), findings)
            .unwrap_or_else(|| "4Gi".to_owned()),
        head_params,
        accelerator: accelerator_type,
    }
}

fn pair(key: &str, value: &str) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

/// Reports a router mode. Ray's KV-aware router is alpha, does not support prefill and decode, and needs packages that
/// its images lack (docs/design/0013).
fn refuse_router_mode(findings: &mut Findings<'_>) {
    let path = path().router_mode();
    let message = format!(
        "{path} is a setting of Dynamo; on KubeRay, Ray Serve routes each request to the less \
                           loaded of two replicas"
    );
    findings
        .report(&codes::FIELD_NOT_SUPPORTED, FieldRef::key(&path), message)
        .help("remove it, or set spec.provider.name to dynamo for KV routing");
}
