//! What selection rules see of a deployment: the declared types, and the value they are evaluated on.

use serde_json::{Map, Value, json};

use super::ir::{Deployment, Worker, Workload};
use crate::cel::{self, Environment, FieldType, Type};
use crate::yaml::Node;

const fn required(name: &'static str, ty: Type) -> FieldType {
    FieldType::required(name, ty)
}

const fn optional(name: &'static str, ty: Type) -> FieldType {
    FieldType::optional(name, ty)
}

static STRINGS: Type = Type::Map(&Type::String);
static GPU: [FieldType; 2] = [required("count", Type::Int), optional("type", Type::String)];
static RESOURCES: [FieldType; 3] =
    [required("gpu", Type::Object(&GPU)), optional("memory", Type::String), optional("cpu", Type::String)];
static ROLE: [FieldType; 3] =
    [optional("replicas", Type::Int), optional("gpu", Type::Object(&GPU)), optional("memory", Type::String)];
static SCALING: [FieldType; 3] = [
    required("replicas", Type::Int),
    optional("prefill", Type::Object(&ROLE)),
    optional("decode", Type::Object(&ROLE)),
];
static VOLUME: [FieldType; 8] = [
    required("name", Type::String),
    optional("purpose", Type::Enum(&["modelCache", "compilationCache", "custom"])),
    optional("mountPath", Type::String),
    optional("claimName", Type::String),
    optional("size", Type::Dyn),
    optional("storageClassName", Type::String),
    optional("accessMode", Type::String),
    optional("readOnly", Type::Bool),
];
static VOLUME_TYPE: Type = Type::Object(&VOLUME);
static STORAGE: [FieldType; 1] = [optional("volumes", Type::List(&VOLUME_TYPE))];
static MODEL: [FieldType; 4] = [
    required("id", Type::String),
    required("servedName", Type::String),
    required("source", Type::Enum(&["huggingface", "custom"])),
    optional("storage", Type::Object(&STORAGE)),
];
static ENGINE: [FieldType; 8] = [
    required("type", Type::Enum(&["vllm", "sglang", "trtllm", "llamacpp"])),
    required("args", STRINGS),
    required("contextLength", Type::Int),
    required("trustRemoteCode", Type::Bool),
    optional("enablePrefixCaching", Type::Bool),
    optional("enforceEager", Type::Bool),
    optional("image", Type::String),
    optional("extraArgs", Type::List(&Type::String)),
];
static SERVING: [FieldType; 1] = [required("mode", Type::Enum(&["aggregated", "disaggregated"]))];
static PROVIDER: [FieldType; 2] = [optional("name", Type::String), optional("overrides", Type::Dyn)];
static POD_METADATA: [FieldType; 2] = [optional("labels", STRINGS), optional("annotations", STRINGS)];
static POD_TEMPLATE: [FieldType; 1] = [optional("metadata", Type::Object(&POD_METADATA))];
static SECRETS: [FieldType; 1] = [optional("huggingFaceToken", Type::String)];
static ENV_VAR: [FieldType; 3] =
    [required("name", Type::String), optional("value", Type::String), optional("valueFrom", Type::Dyn)];
static ENV_VAR_TYPE: Type = Type::Object(&ENV_VAR);
static REFERENCE: [FieldType; 1] = [required("name", Type::String)];
static REFERENCE_TYPE: Type = Type::Object(&REFERENCE);
static TOLERATION: [FieldType; 5] = [
    optional("key", Type::String),
    optional("operator", Type::String),
    optional("value", Type::String),
    optional("effect", Type::String),
    optional("tolerationSeconds", Type::Int),
];
static TOLERATION_TYPE: Type = Type::Object(&TOLERATION);
static GATEWAY: [FieldType; 3] =
    [optional("enabled", Type::Bool), optional("httpRouteRef", Type::String), optional("modelName", Type::String)];
static SPEC: [FieldType; 14] = [
    required("model", Type::Object(&MODEL)),
    required("engine", Type::Object(&ENGINE)),
    required("serving", Type::Object(&SERVING)),
    required("scaling", Type::Object(&SCALING)),
    required("resources", Type::Object(&RESOURCES)),
    optional("provider", Type::Object(&PROVIDER)),
    optional("image", Type::String),
    optional("env", Type::List(&ENV_VAR_TYPE)),
    optional("podTemplate", Type::Object(&POD_TEMPLATE)),
    optional("secrets", Type::Object(&SECRETS)),
    optional("imagePullSecrets", Type::List(&REFERENCE_TYPE)),
    optional("nodeSelector", STRINGS),
    optional("tolerations", Type::List(&TOLERATION_TYPE)),
    optional("gateway", Type::Object(&GATEWAY)),
];
static METADATA: [FieldType; 4] = [
    required("name", Type::String),
    optional("namespace", Type::String),
    optional("labels", STRINGS),
    optional("annotations", STRINGS),
];

/// The environment that rules are compiled in: `spec` and `metadata` (DESIGN §5).
pub fn environment(limits: cel::Limits) -> Environment {
    Environment::new(vec![("spec", Type::Object(&SPEC)), ("metadata", Type::Object(&METADATA))], limits)
}

/// What rules see of a deployment: what was written, and the fields that are always bound.
///
/// `spec.resources.gpu.count` is bound to 0 when it is absent, so that `!has(spec.resources.gpu) ||
/// spec.resources.gpu.count == 0` holds for a CPU model; in disaggregated mode it is the GPUs of all replicas of both
/// roles, so that rules for CPU models do not fire.
pub fn variables(root: &Node<'_>, deployment: &Deployment) -> Value {
    let mut spec = match root.get("spec").map(Node::to_json) {
        Some(Value::Object(fields)) => without_nulls(fields),
        _ => Map::new(),
    };
    let model = &deployment.model;
    let served = model.served_name.as_ref().map_or("", |name| name.value.as_str());
    bind(&mut spec, "model", "id", json!(model.id.as_deref().unwrap_or_default()));
    bind(&mut spec, "model", "servedName", json!(served));
    bind(&mut spec, "model", "source", json!(model.source.value));
    let engine = &deployment.engine;
    bind(&mut spec, "engine", "type", json!(engine.kind));
    bind(&mut spec, "engine", "args", Value::Object(engine.args.iter().map(|(k, v)| (k.clone(), json!(v))).collect()));
    bind(&mut spec, "engine", "contextLength", json!(engine.context_length.unwrap_or(0)));
    bind(&mut spec, "engine", "trustRemoteCode", json!(engine.trust_remote_code.value));
    bind(&mut spec, "serving", "mode", json!(deployment.workload.mode()));
    if let Workload::Aggregated(worker) = &deployment.workload {
        bind(&mut spec, "scaling", "replicas", json!(worker.replicas.value));
        bind_gpu(&mut spec, u64::from(worker.gpu_count.value), &worker.gpu_type.value);
    } else {
        bind(&mut spec, "scaling", "replicas", json!(1));
        let kind = deployment.workload.workers().first().map_or("", |worker| worker.gpu_type.value.as_str());
        bind_gpu(&mut spec, gpus_when_scaled_up(&deployment.workload), kind);
    }
    let metadata = &deployment.metadata;
    let mut seen = Map::new();
    seen.insert("name".to_owned(), json!(metadata.name));
    if let Some(namespace) = &metadata.namespace {
        seen.insert("namespace".to_owned(), json!(namespace));
    }
    for (key, pairs) in [("labels", &metadata.labels), ("annotations", &metadata.annotations)] {
        if !pairs.is_empty() {
            seen.insert(key.to_owned(), Value::Object(pairs.iter().map(|(k, v)| (k.clone(), json!(v))).collect()));
        }
    }
    json!({"spec": spec, "metadata": seen})
}

/// The GPUs of both roles, for rules: a role that is scaled to zero counts as one replica, since a deployment that needs
/// GPUs when it runs is not one for CPUs while it does not.
fn gpus_when_scaled_up(workload: &Workload) -> u64 {
    let gpus = |worker: &&Worker| u64::from(worker.replicas.value.max(1)) * u64::from(worker.gpu_count.value);
    workload.workers().iter().map(gpus).sum()
}

fn bind(spec: &mut Map<String, Value>, parent: &str, field: &str, value: Value) {
    if let Value::Object(fields) = spec.entry(parent.to_owned()).or_insert_with(|| Value::Object(Map::new())) {
        fields.insert(field.to_owned(), value);
    }
}

fn bind_gpu(spec: &mut Map<String, Value>, count: u64, gpu_type: &str) {
    bind(spec, "resources", "gpu", json!({"count": count, "type": gpu_type}));
}

/// `null` means absent.
fn without_nulls(fields: Map<String, Value>) -> Map<String, Value> {
    fields
        .into_iter()
        .filter_map(|(key, value)| match value {
            Value::Null => None,
            Value::Object(inner) => Some((key, Value::Object(without_nulls(inner)))),
            other => Some((key, other)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ModelDeploymentSpec;

    #[test]
    fn rules_see_every_field_of_a_specification() {
        for field in ModelDeploymentSpec::FIELDS {
            assert!(SPEC.iter().any(|known| known.name == *field), "rules do not see spec.{field}");
        }
    }
}
