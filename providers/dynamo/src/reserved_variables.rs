//! Environment variables that set the same as a [reserved flag](super::reserved_flags): a component's own variables win
//! over those that the operator sets (`MergeEnvs` in deploy/operator/internal/dynamo/graph.go).

use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::wire::{EnvVar, ListPath, PathOf};

/// A variable, the reason why it cannot be set, and the help.
pub(super) type ReservedVariable = (&'static str, &'static str, &'static str);

/// The variables of the workers (`env_var` in dynamo/*/backend_args.py and
/// dynamo/common/configuration/groups/runtime_args.py of ai-dynamo 1.0.0 to 1.6.1).
const RESERVED_VARIABLES: &[ReservedVariable] = &[
    ("DYN_NAMESPACE", PLACE, REMOVE),
    ("DYN_ENDPOINT", PLACE, REMOVE),
    ("DYN_DISCOVERY_BACKEND", PLACE, REMOVE),
    ("DYN_REQUEST_PLANE", PLANE, REMOVE),
    ("DYN_RESPONSE_PLANE", PLANE, REMOVE),
    ("DYN_EVENT_PLANE", PLANE, REMOVE),
    ("DYN_VLLM_HEADLESS", NODES, REMOVE),
    ("DYN_CONNECTOR", CONNECTOR, REMOVE),
    ("DYN_VLLM_DISAGGREGATION_MODE", MODE, ROLES),
    ("DYN_TRTLLM_DISAGGREGATION_MODE", MODE, ROLES),
    ("DYN_VLLM_IS_PREFILL_WORKER", MODE, ROLES),
    ("DYN_VLLM_IS_DECODE_WORKER", MODE, ROLES),
    ("DYN_TRTLLM_MODEL", MODEL, "remove the variable; to change its value, set spec.model.id"),
    (
        "DYN_TRTLLM_SERVED_MODEL_NAME",
        SERVED_NAME,
        "remove the variable; to change its value, set spec.model.servedName",
    ),
];

const PLACE: &str = "tells the frontend where the worker is, and Dynamo's operator sets it";
const PLANE: &str = "must be the same for the frontend, whose variable is refused too";
const NODES: &str = "is for workers on several nodes, which kubefoundry does not render";
const CONNECTOR: &str = "sets the flag --connector, which is already replaced by --kv-transfer-config";
const MODE: &str = "is already set from spec.serving.mode";
const MODEL: &str = "is already set from spec.model.id";
const SERVED_NAME: &str = "is already set from spec.model.servedName";
pub(super) const REMOVE: &str = "remove the variable";
const ROLES: &str =
    "remove the variable, and set spec.serving.mode: disaggregated with spec.scaling.prefill and spec.scaling.decode";

/// Reports variables of `spec.env` and of roles that would override what the operator or this provider sets.
pub(super) fn check_environment(deployment: &Deployment, findings: &mut Findings<'_>) {
    check_variables(&deployment.env, &ModelDeployment::path().spec().env(), RESERVED_VARIABLES, findings);
    for worker in deployment.workload.workers() {
        if let Some(role) = worker.role_path() {
            check_variables(&worker.env, &role.env(), RESERVED_VARIABLES, findings);
        }
    }
}

/// Reports variables of the list `path` that are among `reserved`.
pub(super) fn check_variables(
    env: &[EnvVar],
    path: &ListPath<PathOf<EnvVar>>,
    reserved: &[ReservedVariable],
    findings: &mut Findings<'_>,
) {
    for (index, variable) in env.iter().enumerate() {
        let reserved = reserved.iter().find(|(name, ..)| variable.name.as_deref() == Some(*name));
        if let Some((name, why, help)) = reserved {
            let path = path.clone().index(index).name();
            findings.report(&codes::RESERVED_ARGUMENT, &path, format!("{name} {why}")).help(*help);
        }
    }
}
