//! Field support: how providers treat each field of a ModelDeployment. [`default_rows`] states what most providers do,
//! each provider states its deviations, and tests/it/field_support.rs checks both.

use kubefoundry_kubernetes::wire::{PathOf, Pattern};

use Support::{Partly, Refused, Rendered};
use kubefoundry_deployment::wire::{ModelDeployment, ModelDeploymentSpec};

/// A row of a field-support table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldSupport {
    /// The field, `*` for any key and `[]` for any item: `spec.engine.args.*`.
    pub field: String,
    /// How the provider treats the field.
    pub support: Support,
    /// The place in the output, or the reason why there is none.
    pub note: &'static str,
}

/// Creates a row.
pub fn row(field: impl Pattern, support: Support, note: &'static str) -> FieldSupport {
    FieldSupport { field: field.pattern(), support, note }
}

/// Returns the path `spec`, with which every row starts.
pub fn spec() -> PathOf<ModelDeploymentSpec> {
    ModelDeployment::path().spec()
}

/// How a provider treats a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// The value is in the output.
    Rendered,
    /// Some values are in the output; a finding reports the others. The note says which.
    Partly,
    /// The value has no effect, and a warning or an info says so.
    Ignored,
    /// The value is an error.
    Refused,
}

impl Support {
    /// Returns the word for the treatment: `rendered`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rendered => "rendered",
            Self::Partly => "partly",
            Self::Ignored => "ignored",
            Self::Refused => "refused",
        }
    }
}

/// The note of the rows of `spec.frontend` for a provider whose workers serve HTTP themselves.
const NO_FRONTEND: &str = "refused: the provider has no frontend of its own";

/// Returns how most providers treat each field of the specification (docs/specification.md, MD-1). A row applies to
/// every provider whose own table has no row for the field.
pub fn default_rows() -> Vec<FieldSupport> {
    vec![
        row(spec().model().id(), Rendered, "the engine's flag for the model"),
        row(
            spec().model().served_name(),
            Rendered,
            "the engine's flag for the name in the API; derived from the id if absent",
        ),
        row(spec().model().source(), Rendered, "decides what model.id means"),
        row(
            spec().model().storage().volumes(),
            Partly,
            "volumes of the worker pods, generated claims come first; the first modelCache sets HF_HOME, the first compilationCache VLLM_CACHE_ROOT, and further compilation caches cause a warning",
        ),
        row(spec().provider().overrides(), Rendered, "the provider's own settings; unknown keys cause a warning"),
        row(
            spec().engine().engine_type(),
            Rendered,
            "image and command; engines that the provider does not support are refused",
        ),
        row(spec().engine().context_length(), Rendered, "the engine's flag"),
        row(spec().engine().trust_remote_code(), Rendered, "the engine's switch or key"),
        row(spec().engine().enable_prefix_caching(), Rendered, "the engine's switch or key"),
        row(spec().engine().enforce_eager(), Rendered, "the engine's switch or key"),
        row(spec().engine().image(), Rendered, "as spec.image"),
        row(spec().engine().args(), Partly, "flags; flags that the provider sets are refused"),
        row(spec().engine().extra_args(), Partly, "as engine.args"),
        row(spec().serving().mode(), Rendered, "one kind of worker, or prefill and decode"),
        row(spec().scaling().replicas(), Rendered, "replicas of the worker, 0 included"),
        row(spec().scaling().prefill().replicas(), Rendered, "replicas of the prefill worker"),
        row(spec().scaling().prefill().gpu().count(), Rendered, "GPU limit of the prefill worker, and its parallelism"),
        row(
            spec().scaling().prefill().gpu().gpu_type(),
            Partly,
            "the GPU's resource name; GPUs of vendors other than NVIDIA need an image",
        ),
        row(spec().scaling().prefill().memory(), Rendered, "memory request and limit of the prefill worker"),
        row(spec().scaling().prefill().nodes(), Rendered, "number of nodes of each prefill worker"),
        row(spec().scaling().prefill().engine().args(), Partly, "as engine.args, for the prefill worker"),
        row(spec().scaling().prefill().engine().extra_args(), Partly, "as engine.extraArgs, for the prefill worker"),
        row(spec().scaling().prefill().env(), Rendered, "environment of the prefill worker"),
        row(spec().scaling().prefill().resources().requests(), Rendered, "requests of the prefill worker"),
        row(spec().scaling().prefill().resources().limits(), Rendered, "limits of the prefill worker"),
        row(spec().scaling().prefill().resources().claims(), Rendered, "claims of the prefill worker"),
        row(spec().scaling().prefill().probes().startup(), Rendered, "startup probe of the prefill worker"),
        row(spec().scaling().prefill().probes().readiness(), Rendered, "readiness probe of the prefill worker"),
        row(spec().scaling().prefill().probes().liveness(), Rendered, "liveness probe of the prefill worker"),
        row(
            spec().scaling().prefill().volume_mounts(),
            Rendered,
            "mounts of the engine's container in the prefill worker",
        ),
        row(
            spec().scaling().prefill().security_context(),
            Rendered,
            "security context of the engine's container in the prefill worker",
        ),
        row(spec().scaling().decode().replicas(), Rendered, "replicas of the decode worker"),
        row(spec().scaling().decode().gpu().count(), Rendered, "GPU limit of the decode worker, and its parallelism"),
        row(
            spec().scaling().decode().gpu().gpu_type(),
            Partly,
            "the GPU's resource name; GPUs of vendors other than NVIDIA need an image",
        ),
        row(spec().scaling().decode().memory(), Rendered, "memory request and limit of the decode worker"),
        row(spec().scaling().decode().nodes(), Rendered, "number of nodes of each decode worker"),
        row(spec().scaling().decode().engine().args(), Partly, "as engine.args, for the decode worker"),
        row(spec().scaling().decode().engine().extra_args(), Partly, "as engine.extraArgs, for the decode worker"),
        row(spec().scaling().decode().env(), Rendered, "environment of the decode worker"),
        row(spec().scaling().decode().resources().requests(), Rendered, "requests of the decode worker"),
        row(spec().scaling().decode().resources().limits(), Rendered, "limits of the decode worker"),
        row(spec().scaling().decode().resources().claims(), Rendered, "claims of the decode worker"),
        row(spec().scaling().decode().probes().startup(), Rendered, "startup probe of the decode worker"),
        row(spec().scaling().decode().probes().readiness(), Rendered, "readiness probe of the decode worker"),
        row(spec().scaling().decode().probes().liveness(), Rendered, "liveness probe of the decode worker"),
        row(
            spec().scaling().decode().volume_mounts(),
            Rendered,
            "mounts of the engine's container in the decode worker",
        ),
        row(
            spec().scaling().decode().security_context(),
            Rendered,
            "security context of the engine's container in the decode worker",
        ),
        row(spec().resources().gpu().count(), Partly, "GPU limit of the worker, and its parallelism; 0 is refused"),
        row(
            spec().resources().gpu().gpu_type(),
            Partly,
            "the GPU's resource name; GPUs of vendors other than NVIDIA need an image",
        ),
        row(spec().resources().memory(), Rendered, "memory request and limit of the worker"),
        row(spec().resources().cpu(), Rendered, "CPU request of the worker"),
        row(spec().resources().shared_memory(), Rendered, "size of /dev/shm in the workers"),
        row(spec().resources().nodes(), Rendered, "number of nodes of each worker"),
        row(spec().resources().requests(), Rendered, "requests of the workers"),
        row(spec().resources().limits(), Rendered, "limits of the workers"),
        row(spec().resources().claims(), Rendered, "claims of the workers' containers"),
        row(spec().image(), Rendered, "image of every container"),
        row(spec().env(), Rendered, "environment of every container"),
        row(spec().probes().startup(), Rendered, "startup probe of the workers"),
        row(spec().probes().readiness(), Rendered, "readiness probe of the workers"),
        row(spec().probes().liveness(), Rendered, "liveness probe of the workers"),
        row(spec().volume_mounts(), Rendered, "mounts of the engine's container in the workers"),
        row(spec().security_context(), Rendered, "security context of the engine's container in the workers"),
        row(spec().pod_template().metadata().labels(), Rendered, "labels of all pods"),
        row(spec().pod_template().metadata().annotations(), Rendered, "annotations of all pods"),
        row(spec().pod_template().spec().affinity(), Rendered, "affinity of the workers"),
        row(
            spec().pod_template().spec().topology_spread_constraints(),
            Rendered,
            "topology spread constraints of the workers",
        ),
        row(spec().pod_template().spec().priority_class_name(), Rendered, "priority class of all pods"),
        row(spec().pod_template().spec().scheduler_name(), Rendered, "scheduler of all pods"),
        row(spec().pod_template().spec().service_account_name(), Rendered, "service account of all pods"),
        row(spec().pod_template().spec().runtime_class_name(), Rendered, "runtime class of the workers"),
        row(
            spec().pod_template().spec().termination_grace_period_seconds(),
            Rendered,
            "termination grace period of the workers",
        ),
        row(spec().pod_template().spec().resource_claims(), Rendered, "claims for devices of the workers"),
        row(spec().pod_template().spec().security_context(), Rendered, "security context of the worker pods"),
        row(spec().pod_template().spec().host_ipc(), Rendered, "IPC namespace of the worker pods"),
        row(
            spec().pod_template().spec().volumes(),
            Rendered,
            "volumes of the worker pods; a name that the provider uses itself is refused",
        ),
        row(
            spec().secrets().hugging_face_token(),
            Rendered,
            "all keys of the secret as environment of every container",
        ),
        row(spec().image_pull_secrets(), Rendered, "pull secrets of all pods"),
        row(spec().node_selector(), Rendered, "node selector of the workers"),
        row(spec().tolerations(), Rendered, "tolerations of all pods"),
        row(spec().frontend().replicas(), Refused, NO_FRONTEND),
        row(spec().frontend().args(), Refused, NO_FRONTEND),
        row(spec().frontend().env(), Refused, NO_FRONTEND),
        row(spec().frontend().resources().requests(), Refused, NO_FRONTEND),
        row(spec().frontend().resources().limits(), Refused, NO_FRONTEND),
        row(
            spec().gateway().enabled(),
            Rendered,
            "an InferencePool of the serving pods, and an HTTPRoute to it from the Gateway of the options",
        ),
        row(spec().gateway().http_route_ref(), Rendered, "the HTTPRoute is left out, for one of your own"),
        row(
            spec().gateway().model_name(),
            Partly,
            "the value of the header X-Gateway-Model-Name in the HTTPRoute, the served name if absent; ignored with a warning if httpRouteRef is set",
        ),
    ]
}

/// Creates the row of a field of a role, for providers without disaggregated mode.
pub fn refused_role(field: impl Pattern) -> FieldSupport {
    row(field, Refused, "disaggregated mode is refused; in aggregated mode the field is ignored with a warning")
}

#[cfg(test)]
mod tests {
    use kubefoundry_kubernetes::wire::{Describe as _, Shape};

    use kubefoundry_deployment::wire::ModelDeploymentSpec;

    /// Collects every declared field: `*` stands for any key, `[]` for any item.
    fn collect_fields(shape: &Shape, path: &str, all: &mut Vec<String>) {
        match shape {
            // Only selection reads the name.
            _ if path == "spec.provider.name" => {}
            Shape::Object(object) => {
                for field in object.fields {
                    collect_fields(&field.full_shape(), &format!("{path}.{}", field.key), all);
                }
            }
            Shape::List(_) => all.push(format!("{path}[]")),
            Shape::Map(_) => all.push(format!("{path}.*")),
            _ => all.push(path.to_owned()),
        }
    }

    #[test]
    fn the_default_table_has_a_row_for_every_declared_field() {
        let mut all = Vec::new();
        collect_fields(&ModelDeploymentSpec::SHAPE, "spec", &mut all);
        let rows: Vec<String> = super::default_rows().into_iter().map(|row| row.field).collect();
        assert_eq!(rows, all, "default_rows() in crates/provider/src/support.rs");
    }
}
