//! What becomes of every field of a ModelDeployment on a provider: [`default_rows`] states what most providers do, a provider
//! states its deviations, and a test proves both.

use kubefoundry_kubernetes::wire::{PathOf, Pattern};

use crate::wire::{ModelDeployment, ModelDeploymentSpec};
use Support::{Partly, Refused, Rendered};

/// One row of a field-support table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldSupport {
    /// The field, `*` for any key and `[]` for any item: `spec.engine.args.*`.
    pub field: String,
    /// What becomes of it.
    pub support: Support,
    /// Where it goes, or why it does not.
    pub note: &'static str,
}

/// A row: the field, what becomes of it, and where it goes or why it does not.
pub(super) fn row(field: impl Pattern, support: Support, note: &'static str) -> FieldSupport {
    FieldSupport { field: field.pattern(), support, note }
}

/// The path that every row starts from.
pub(super) fn spec() -> PathOf<ModelDeploymentSpec> {
    ModelDeployment::path().spec()
}

/// What becomes of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// It is in the output.
    Rendered,
    /// It is in the output in some forms, and a finding names it in the others (the note says which).
    Partly,
    /// It has no effect, and a warning or an info names it.
    Ignored,
    /// It is an error.
    Refused,
}

/// What most providers do with every field of the specification (docs/specification.md, MD-1). A provider whose table has
/// no row for a field does what the row here says.
pub fn default_rows() -> Vec<FieldSupport> {
    vec![
        row(spec().model().id(), Rendered, "the engine's flag for the model"),
        row(
            spec().model().served_name(),
            Rendered,
            "the engine's flag for the name in the API; derived from the id when absent",
        ),
        row(spec().model().source(), Rendered, "decides what model.id means"),
        row(
            spec().model().storage().volumes(),
            Partly,
            "volumes of the worker pods, claims to make first; the first modelCache sets HF_HOME, the first compilationCache VLLM_CACHE_ROOT, and further compilation caches are warned about",
        ),
        row(spec().provider().overrides(), Rendered, "the provider's own settings; unknown keys are warned about"),
        row(
            spec().engine().engine_type(),
            Rendered,
            "image and command; engines that the provider does not run are refused",
        ),
        row(spec().engine().context_length(), Rendered, "the engine's flag"),
        row(spec().engine().trust_remote_code(), Rendered, "the engine's switch or key"),
        row(spec().engine().enable_prefix_caching(), Rendered, "the engine's switch or key"),
        row(spec().engine().enforce_eager(), Rendered, "the engine's switch or key"),
        row(spec().engine().image(), Rendered, "as spec.image"),
        row(spec().engine().args(), Partly, "flags; those that the provider sets are refused"),
        row(spec().engine().extra_args(), Partly, "as engine.args"),
        row(spec().serving().mode(), Rendered, "one kind of worker, or prefill and decode"),
        row(spec().scaling().replicas(), Rendered, "replicas of the worker, 0 included"),
        row(spec().scaling().prefill().replicas(), Rendered, "replicas of the prefill worker"),
        row(spec().scaling().prefill().gpu().count(), Rendered, "GPU limit of the prefill worker, and its parallelism"),
        row(
            spec().scaling().prefill().gpu().gpu_type(),
            Partly,
            "the GPU's resource name; other than NVIDIA's needs an image",
        ),
        row(spec().scaling().prefill().memory(), Rendered, "memory request and limit of the prefill worker"),
        row(spec().scaling().decode().replicas(), Rendered, "replicas of the decode worker"),
        row(spec().scaling().decode().gpu().count(), Rendered, "GPU limit of the decode worker, and its parallelism"),
        row(
            spec().scaling().decode().gpu().gpu_type(),
            Partly,
            "the GPU's resource name; other than NVIDIA's needs an image",
        ),
        row(spec().scaling().decode().memory(), Rendered, "memory request and limit of the decode worker"),
        row(spec().resources().gpu().count(), Partly, "GPU limit of the worker, and its parallelism; 0 is refused"),
        row(spec().resources().gpu().gpu_type(), Partly, "the GPU's resource name; other than NVIDIA's needs an image"),
        row(spec().resources().memory(), Rendered, "memory request and limit of the worker"),
        row(spec().resources().cpu(), Rendered, "CPU request of the worker"),
        row(spec().image(), Rendered, "image of every container"),
        row(spec().env(), Rendered, "environment of every container"),
        row(spec().pod_template().metadata().labels(), Rendered, "labels of all pods"),
        row(spec().pod_template().metadata().annotations(), Rendered, "annotations of all pods"),
        row(
            spec().secrets().hugging_face_token(),
            Rendered,
            "all keys of the secret as environment of every container",
        ),
        row(spec().image_pull_secrets(), Rendered, "of all pods"),
        row(spec().node_selector(), Rendered, "of the workers"),
        row(spec().tolerations(), Rendered, "of all pods"),
    ]
}

/// A field of a role, for providers that do not serve in disaggregated mode.
pub(super) fn refused_role(field: impl Pattern) -> FieldSupport {
    row(field, Refused, "disaggregated mode is refused; in aggregated mode the field is ignored with a warning")
}

#[cfg(test)]
mod tests {
    use kubefoundry_kubernetes::wire::{Describe as _, Shape};

    use crate::wire::ModelDeploymentSpec;

    /// Every declared field: `*` stands for any key, `[]` for any item.
    fn declared(shape: &Shape, path: &str, all: &mut Vec<String>) {
        match shape {
            // Selection reads the name, and giving a gateway is an error.
            _ if matches!(path, "spec.provider.name" | "spec.gateway") => {}
            Shape::Object(object) => {
                for field in object.fields {
                    declared(&field.full_shape(), &format!("{path}.{}", field.key), all);
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
        declared(&ModelDeploymentSpec::SHAPE, "spec", &mut all);
        let rows: Vec<String> = super::default_rows().into_iter().map(|row| row.field).collect();
        assert_eq!(rows, all, "default_rows() in crates/model/src/support.rs");
    }
}
