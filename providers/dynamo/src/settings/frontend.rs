//! The settings of the frontend: `spec.frontend` over `spec.provider.overrides` over the defaults.

use std::cmp::Ordering;

use crate::codes::FRONTEND_IN_TWO_PLACES;
use crate::overrides::{self, RouterMode};
use crate::reserved_flags::{REMOVE, reserved};
use crate::reserved_variables::{REMOVE as REMOVE_VARIABLE, ReservedVariable, check_variables};
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, ResourceAmount};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_engines::flags::dynamo_frontend;
use kubefoundry_engines::{self as engines, ArgumentValue, Invocation, Launcher, Parser, RefusedFlag};
use kubefoundry_kubernetes::quantity;
use kubefoundry_kubernetes::wire::StringEnum as _;
use kubefoundry_yaml::field_path::FieldPath;

/// The flag that chooses how requests are routed.
pub(crate) const ROUTER_MODE_FLAG: &str = "router-mode";

/// The requests of a frontend whose deployment does not say others.
pub(crate) const DEFAULT_REQUESTS: [(&str, &str); 2] = [("cpu", "2"), ("memory", "4Gi")];

/// The overrides that set the same as a field of `spec.frontend`, without defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrontendOverrides {
    pub(crate) router_mode: Option<RouterMode>,
    pub(crate) replicas: Option<u32>,
    pub(crate) cpu: Option<String>,
    pub(crate) memory: Option<String>,
}

/// The settings of the frontend after merging.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FrontendSettings {
    pub(crate) replicas: u32,
    /// The flags of `spec.frontend.args`.
    pub(crate) invocation: Invocation,
    /// Quantities by resource.
    pub(crate) requests: Vec<(String, String)>,
    /// Quantities by resource.
    pub(crate) limits: Vec<(String, String)>,
}

impl FrontendSettings {
    /// Merges `spec.frontend` over the overrides, and reports those that differ from it.
    pub(crate) fn merge(deployment: &Deployment, overridden: &FrontendOverrides, findings: &mut Findings<'_>) -> Self {
        let path = || ModelDeployment::path().spec().frontend();
        let written = &deployment.frontend;
        let invocation = engines::resolve_program(&written.args, &path().args(), &launcher(), findings);
        check_variables(&written.env, &path().env(), RESERVED_VARIABLES, findings);
        let overrides = || overrides::path().frontend();
        if let (Some(count), Some(other)) = (written.replicas, overridden.replicas) {
            report_difference(count == other, &path().replicas(), &overrides().replicas(), findings);
        }
        let requests_path = FieldPath::from(path().resources().requests());
        let amounts: [(_, _, FieldPath); 2] = [
            ("cpu", &overridden.cpu, overrides().resources().cpu().into()),
            ("memory", &overridden.memory, overrides().resources().memory().into()),
        ];
        let mut requests: Vec<(String, String)> =
            DEFAULT_REQUESTS.iter().map(|(name, amount)| ((*name).to_owned(), (*amount).to_owned())).collect();
        for (name, amount, override_path) in amounts {
            let Some(amount) = amount else { continue };
            if let Some((_, other)) = written.requests.iter().find(|(resource, _)| resource == name) {
                let is_same = other.as_deref().is_some_and(|other| is_same_amount(amount, other));
                report_difference(is_same, &requests_path.key(name), &override_path, findings);
            }
            merge_amounts(&mut requests, &[(name.to_owned(), Some(amount.clone()))]);
        }
        merge_amounts(&mut requests, &written.requests);
        let mut limits = Vec::new();
        merge_amounts(&mut limits, &written.limits);
        check_limits(&requests, &limits, findings);
        let replicas = written.replicas.or(overridden.replicas).unwrap_or(1);
        let settings = Self { replicas, invocation, requests, limits };
        if let (Some((mode, flag)), Some(other)) = (settings.router_mode(), overridden.router_mode) {
            report_difference(mode == other, &flag, &overrides::path().router_mode(), findings);
        }
        settings
    }

    /// Returns the router mode of the flags, and the field that sets it.
    pub(crate) fn router_mode(&self) -> Option<(RouterMode, FieldPath)> {
        let argument = self.invocation.get(ROUTER_MODE_FLAG)?;
        let ArgumentValue::Text(text) = &argument.value else { return None };
        let (_, mode) = RouterMode::VARIANTS.iter().find(|(name, _)| name == text)?;
        Some((*mode, argument.path.clone()))
    }
}

/// Returns the launcher `python3 -m dynamo.frontend`. The flags of its table are those of one release, so an unknown
/// flag is passed on with a warning.
fn launcher() -> Launcher {
    Launcher {
        parsers: vec![Parser { table: dynamo_frontend(), abbreviates: false }],
        takes_model: false,
        refused_flags: vec![RESERVED_FLAGS],
        extra_flags: CHAT_PROCESSOR_FLAGS,
        unknown_flag_consequence: "the frontend does not start",
        ..Launcher::new("Dynamo's frontend")
    }
}

/// Flags that the frontend leaves to the parser of an engine, if `--dyn-chat-processor` names one
/// (components/src/dynamo/frontend/main.py).
const CHAT_PROCESSOR_FLAGS: &[&str] = &["reasoning-parser", "tool-call-parser"];

const ADDRESS: &str = "is the address to which the operator's Service and probes connect, and the operator sets it";
const PLACE: &str = "tells the frontend where the workers are, and Dynamo's operator sets it";
const PLANE: &str = "must be the same for the workers, whose flag is refused too";
const SERVER: &str = "replaces the HTTP server, to which the operator's Service and probes connect";
const TLS: &str = "makes the frontend refuse the operator's probes, which use HTTP";

/// The flags that users may not set (deploy/operator/internal/dynamo/component_frontend.go for what the operator sets).
const RESERVED_FLAGS: &[RefusedFlag] = &[
    reserved("discovery-backend", PLACE, REMOVE),
    reserved("event-plane", PLANE, REMOVE),
    reserved("http-host", ADDRESS, REMOVE),
    reserved("http-port", ADDRESS, REMOVE),
    reserved("interactive", SERVER, REMOVE),
    reserved("kserve-grpc-server", SERVER, REMOVE),
    reserved("namespace", PLACE, REMOVE),
    reserved("namespace-prefix", PLACE, REMOVE),
    reserved("request-plane", PLANE, REMOVE),
    reserved("response-plane", PLANE, REMOVE),
    reserved("tls-cert-path", TLS, REMOVE),
    reserved("tls-key-path", TLS, REMOVE),
];

/// The variables that set the same as a reserved flag, and the router mode, which decides what workers publish.
const RESERVED_VARIABLES: &[ReservedVariable] = &[
    ("DYNAMO_PORT", ADDRESS, REMOVE_VARIABLE),
    ("DYN_DISCOVERY_BACKEND", PLACE, REMOVE_VARIABLE),
    ("DYN_EVENT_PLANE", PLANE, REMOVE_VARIABLE),
    ("DYN_HTTP_HOST", ADDRESS, REMOVE_VARIABLE),
    ("DYN_HTTP_PORT", ADDRESS, REMOVE_VARIABLE),
    ("DYN_INTERACTIVE", SERVER, REMOVE_VARIABLE),
    ("DYN_KSERVE_GRPC_SERVER", SERVER, REMOVE_VARIABLE),
    ("DYN_NAMESPACE", PLACE, REMOVE_VARIABLE),
    ("DYN_NAMESPACE_PREFIX", PLACE, REMOVE_VARIABLE),
    ("DYN_REQUEST_PLANE", PLANE, REMOVE_VARIABLE),
    ("DYN_RESPONSE_PLANE", PLANE, REMOVE_VARIABLE),
    (
        "DYN_ROUTER_MODE",
        "decides what the workers publish, so the mode must be a setting",
        "remove the variable, and set router-mode in spec.frontend.args",
    ),
    ("DYN_TLS_CERT_PATH", TLS, REMOVE_VARIABLE),
    ("DYN_TLS_KEY_PATH", TLS, REMOVE_VARIABLE),
];

/// Returns whether a variable of the frontend is refused.
pub(crate) fn is_reserved_variable(name: &str) -> bool {
    RESERVED_VARIABLES.iter().any(|(reserved, ..)| *reserved == name)
}

/// Returns whether a flag of the frontend is refused.
pub(crate) fn is_reserved_flag(name: &str) -> bool {
    RESERVED_FLAGS.iter().any(|reserved| reserved.flag == name)
}

/// Merges amounts by resource. `None` removes one.
fn merge_amounts(amounts: &mut Vec<(String, String)>, written: &[ResourceAmount]) {
    merge_entries(amounts, written.iter().map(|(resource, amount)| (resource, amount)));
}

/// Merges the entries of a mapping by key. `None` removes one.
pub(crate) fn merge_entries<'c>(
    entries: &mut Vec<(String, String)>,
    changes: impl Iterator<Item = (&'c String, &'c Option<String>)>,
) {
    for (key, value) in changes {
        let position = entries.iter().position(|(name, _)| name == key);
        match (position, value) {
            (Some(position), Some(value)) => {
                if let Some((_, existing)) = entries.get_mut(position) {
                    existing.clone_from(value);
                }
            }
            (Some(position), None) => drop(entries.remove(position)),
            (None, Some(value)) => entries.push((key.clone(), value.clone())),
            (None, None) => {}
        }
    }
}

fn is_same_amount(one: &str, other: &str) -> bool {
    quantity::compare(one, other) == Some(Ordering::Equal)
}

/// Reports a limit below the request, with which the API server refuses the pods.
fn check_limits(requests: &[(String, String)], limits: &[(String, String)], findings: &mut Findings<'_>) {
    let resources = || ModelDeployment::path().spec().frontend().resources();
    for (resource, limit) in limits {
        let request = requests.iter().find(|(name, _)| name == resource);
        let Some((_, request)) =
            request.filter(|(_, request)| quantity::compare(request, limit) == Some(Ordering::Greater))
        else {
            continue;
        };
        let path = FieldPath::from(resources().limits()).key(resource.clone());
        let request_path = FieldPath::from(resources().requests()).key(resource.clone());
        let message = format!("{path} is {limit}, but the frontend requests {request}");
        findings
            .report(&codes::INVALID_VALUE, &path, message)
            .help(format!("raise it, or set {request_path} to no more than it"));
    }
}

/// Reports a field that says something else than the override of the same meaning.
fn report_difference(is_same: bool, field: &FieldPath, other: &FieldPath, findings: &mut Findings<'_>) {
    if !is_same {
        findings
            .report(&FRONTEND_IN_TWO_PLACES, field, format!("{field} and {other} differ"))
            .related(other, "the other value")
            .help(format!("remove {other}"));
    }
}
