//! `spec.provider.overrides` for Dynamo (docs/specification.md MD-5.1, docs/design/0012).

use super::codes::ROUTER_MODE_NONE;
use crate::codes;
use crate::ir::Deployment;
use crate::providers::image;
use crate::providers::overrides;
use crate::providers::overrides::quantity;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::wire::{PathOf, Syntax};
use kubefoundry_kubernetes::{string_enum, wire_object};

wire_object! {
    /// What can be set for Dynamo alone.
    pub struct Overrides {
        /// How the frontend chooses a worker for a request; Dynamo's default is `round-robin`. `kv` needs prefix caching.
        router_mode: RouterMode = "routerMode",
        /// The frontend: Dynamo's HTTP server and router.
        frontend: Frontend = "frontend",
        /// The Dynamo version in the image, as `MAJOR.MINOR.PATCH`, for an image whose tag does not say it.
        runtime_version: String = "runtimeVersion" [syntax(Syntax::Version), checked_by(&codes::INVALID_VALUE)],
    }
}
wire_object! {
    /// The frontend: Dynamo's HTTP server and router.
    pub struct Frontend {
        /// How many frontends; 1 by default.
        replicas: i32 = "replicas" [minimum(0), checked_by(&codes::OUT_OF_RANGE)],
        /// What each frontend asks for.
        resources: FrontendResources = "resources",
    }
}
wire_object! {
    /// What a frontend asks for.
    pub struct FrontendResources {
        /// CPU request; 2 by default.
        cpu: String = "cpu" [syntax(Syntax::Quantity), checked_by(&codes::INVALID_QUANTITY)],
        /// Memory request; 4Gi by default.
        memory: String = "memory" [syntax(Syntax::Quantity), checked_by(&codes::INVALID_QUANTITY)],
    }
}
string_enum! {
    /// How the frontend chooses a worker: the modes of `DYN_ROUTER_MODE`, the same in every known runtime
    /// (`--router-mode` of ai-dynamo 1.1.1, 1.4.0 and 1.6.1), and the specification's `none`.
    pub enum RouterMode {
        /// By the prefixes that workers hold in their KV caches.
        Kv = "kv",
        /// One after the other; Dynamo's default.
        RoundRobin = "round-robin",
        /// The specification's word for no routing; Dynamo always routes.
        None = "none",
        /// At random.
        Random = "random",
        /// The less loaded of two at random.
        PowerOfTwo = "power-of-two",
        /// The worker that the request names.
        Direct = "direct",
        /// The least loaded.
        LeastLoaded = "least-loaded",
        /// In proportion to what the devices can do.
        DeviceAwareWeighted = "device-aware-weighted",
    }
}

/// The overrides with their defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    /// `DYN_ROUTER_MODE`, when asked for.
    pub(super) router_mode: Option<RouterMode>,
    /// Frontends.
    pub(super) frontend_replicas: u32,
    /// CPU request of each.
    pub(super) frontend_cpu: String,
    /// Memory request of each.
    pub(super) frontend_memory: String,
    /// `runtimeVersionOverride`, when asked for.
    pub(super) runtime_version: Option<String>,
}

impl Settings {
    /// Whether requests are routed by KV caches.
    pub(super) fn routes_by_kv(&self) -> bool {
        self.router_mode == Some(RouterMode::Kv)
    }
}

/// Where the overrides stand.
pub(super) fn path() -> PathOf<Overrides> {
    overrides::path::<Overrides>()
}

/// Reads and checks the overrides. What is wrong is reported, and its default is used meanwhile, so that the rest of
/// the deployment is still looked at.
pub(super) fn settings(deployment: &Deployment, findings: &mut Findings<'_>) -> Settings {
    let Overrides { router_mode, frontend, runtime_version } = overrides::read(deployment, findings);
    let Frontend { replicas, resources } = frontend.unwrap_or_default();
    let FrontendResources { cpu, memory } = resources.unwrap_or_default();
    Settings {
        router_mode: router_mode.map(|mode| known_mode(mode, findings)),
        frontend_replicas: replicas.and_then(|count| non_negative(count, findings)).unwrap_or(1),
        frontend_cpu: quantity(cpu, &path().frontend().resources().cpu(), findings).unwrap_or_else(|| "2".to_owned()),
        frontend_memory: quantity(memory, &path().frontend().resources().memory(), findings)
            .unwrap_or_else(|| "4Gi".to_owned()),
        runtime_version: runtime_version.filter(|version| is_version(version, findings)),
    }
}

fn known_mode(mode: RouterMode, findings: &mut Findings<'_>) -> RouterMode {
    if mode != RouterMode::None {
        return mode;
    }
    let path = path().router_mode();
    let message = format!("{path} is \"none\", which Dynamo does not support; requests are routed round-robin");
    findings.report(&ROUTER_MODE_NONE, &path, message).help("write round-robin, or remove routerMode");
    RouterMode::RoundRobin
}

fn non_negative(count: i32, findings: &mut Findings<'_>) -> Option<u32> {
    let checked = u32::try_from(count).ok();
    if checked.is_none() {
        let path = path().frontend().replicas();
        let message = format!("{path} is {count}, expected 0 or more");
        findings.report(&codes::OUT_OF_RANGE, &path, message).help("remove it for one frontend");
    }
    checked
}

/// The CRD's pattern: three numbers of at most four digits, without leading zeros.
fn is_version(version: &str, findings: &mut Findings<'_>) -> bool {
    let valid = image::is_version(version) && version.split('.').all(|part| part.len() <= 4);
    if !valid {
        let path = path().runtime_version();
        let message = format!("{path} is {version:?}, expected MAJOR.MINOR.PATCH such as 1.4.0");
        findings.report(&codes::INVALID_VALUE, &path, message).help("write the version of Dynamo in the image");
    }
    valid
}
