//! The settings for Dynamo: the overrides, and `spec.frontend` over them, after defaulting.

pub(crate) mod component;
pub(crate) mod frontend;
pub(crate) mod names;

use super::codes::ROUTER_MODE_NONE;
use super::component::FRONTEND;
use super::overrides::{Frontend, FrontendResources, Overrides, RouterMode, path};
use crate::settings::component::{ComponentSettings, WorkerSettings};
use crate::settings::frontend::{FrontendOverrides, FrontendSettings};
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_provider::overrides;
use kubefoundry_provider::overrides::read_quantity;
use kubefoundry_provider::runtime_version::is_version;
use kubefoundry_yaml::field_path::FieldPath;

/// The overrides and `spec.frontend` after defaulting.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DynamoSettings {
    /// How the frontend routes, if the user says it.
    pub(crate) router_mode: Option<RouterMode>,
    /// The field that sets the router mode.
    pub(crate) router_mode_path: FieldPath,
    pub(crate) frontend: FrontendSettings,
    /// `runtimeVersionOverride`, if the user sets it.
    pub(crate) runtime_version: Option<String>,
    /// Whether the graph has a frontend.
    pub(crate) has_frontend: bool,
    /// What the frontend's component has besides.
    pub(crate) frontend_component: ComponentSettings,
    /// The image of the frontend, if it is not that of the workers.
    pub(crate) frontend_image: Option<String>,
    /// Whether the frontend gets the token.
    pub(crate) frontend_has_token: bool,
    /// What the components of the workers have besides.
    pub(crate) workers: WorkerSettings,
}

impl DynamoSettings {
    /// Returns the name of the frontend's component.
    pub(crate) fn frontend_name(&self) -> &str {
        self.frontend_component.name.as_deref().unwrap_or(FRONTEND)
    }

    /// Returns whether requests are routed by the content of KV caches.
    pub(crate) fn routes_by_kv(&self) -> bool {
        self.router_mode == Some(RouterMode::Kv)
    }
}

/// Reads and checks the overrides. An invalid override is reported and replaced by its default, so that the rest of the
/// deployment is still checked.
pub(crate) fn read_settings(deployment: &Deployment, findings: &mut Findings<'_>) -> DynamoSettings {
    let Overrides { router_mode, frontend, runtime_version, worker, prefill, decode, metadata: _, patches: _ } =
        overrides::read(deployment, findings);
    let Frontend { replicas, resources, enabled, name, image, hugging_face_token, metadata, pod, container } =
        frontend.unwrap_or_default();
    let FrontendResources { cpu, memory } = resources.unwrap_or_default();
    let overridden = FrontendOverrides {
        router_mode: router_mode.map(|mode| supported_mode(mode, findings)),
        replicas: replicas.and_then(|count| u32::try_from(count).ok()),
        cpu: read_quantity(cpu, &path().frontend().resources().cpu(), findings),
        memory: read_quantity(memory, &path().frontend().resources().memory(), findings),
    };
    let frontend = FrontendSettings::merge(deployment, &overridden, findings);
    let (router_mode, router_mode_path) = match frontend.router_mode() {
        Some((mode, path)) => (Some(mode), path),
        None => (overridden.router_mode, path().router_mode().into()),
    };
    DynamoSettings {
        router_mode,
        router_mode_path,
        frontend,
        runtime_version: runtime_version.filter(|version| check_version(version, findings)),
        has_frontend: enabled != Some(false),
        frontend_component: ComponentSettings::of_frontend(deployment, name, metadata, pod, container, findings),
        frontend_image: image,
        frontend_has_token: hugging_face_token != Some(false),
        workers: WorkerSettings::read(deployment, [worker, prefill, decode], findings),
    }
}

/// Reports the mode `none`, which Dynamo lacks, and replaces it by `round-robin`.
fn supported_mode(mode: RouterMode, findings: &mut Findings<'_>) -> RouterMode {
    if mode != RouterMode::None {
        return mode;
    }
    let path = path().router_mode();
    let message = format!("{path} is \"none\", which Dynamo does not support; requests are routed round-robin");
    findings.report(&ROUTER_MODE_NONE, &path, message).help("write round-robin, or remove routerMode");
    RouterMode::RoundRobin
}

/// Checks a version against the CRD's pattern: three numbers of at most four digits, without leading zeros.
fn check_version(version: &str, findings: &mut Findings<'_>) -> bool {
    let is_valid = is_version(version) && version.split('.').all(|part| part.len() <= 4);
    if !is_valid {
        let path = path().runtime_version();
        let message = format!("{path} is {version:?}, expected MAJOR.MINOR.PATCH such as 1.4.0");
        findings.report(&codes::INVALID_VALUE, &path, message).help("write the version of Dynamo in the image");
    }
    is_valid
}
