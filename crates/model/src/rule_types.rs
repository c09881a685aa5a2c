//! What selection rules see of a deployment: the declared types, and the value they are evaluated on.

use serde_json::{Map, Value, json};

use super::ir::{Deployment, Worker, Workload};
use kubefoundry_cel as cel;
use kubefoundry_cel::{Environment, FieldType, Type};
use kubefoundry_yaml::Node;

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
    required("labels", STRINGS),
    required("annotations", STRINGS),
];

/// The environment that rules are compiled in: `spec` and `metadata` (docs/design/0005).
pub fn environment(limits: cel::Limits) -> Environment {
    Environment::new(vec![("spec", Type::Object(&SPEC)), ("metadata", Type::Object(&METADATA))], limits)
}

/// What rules see of a deployment: what was written, and the fields that are always bound. A field is made when the first
/// rule that reads it is evaluated: most rules read two or three.
///
/// `spec.resources.gpu.count` is bound to 0 when it is absent, so that `!has(spec.resources.gpu) ||
/// spec.resources.gpu.count == 0` holds for a CPU model; in disaggregated mode it is the GPUs of all replicas of both
/// roles, so that rules for CPU models do not fire.
#[derive(Debug)]
pub struct Variables<'d> {
    written: Option<&'d Node<'d>>,
    deployment: &'d Deployment,
    /// `spec` and `metadata`, as far as they are made.
    made: Value,
    /// Whether all of it is.
    complete: bool,
}

/// The fields of `spec` in which something is always bound.
const BOUND: [&str; 5] = ["model", "engine", "serving", "scaling", "resources"];

impl<'d> Variables<'d> {
    /// What rules see of the deployment that was read from a document.
    pub fn new(root: &'d Node<'d>, deployment: &'d Deployment) -> Self {
        let made = json!({"spec": {}, "metadata": {}});
        Self { written: root.get("spec"), deployment, made, complete: false }
    }

    /// The variables for a rule that reads these fields ([`cel::Rule::reads`]).
    pub fn of(&mut self, reads: &[String]) -> &Value {
        for read in reads {
            let mut steps = read.split(['.', '[']);
            match (steps.next(), steps.next()) {
                _ if self.complete => break,
                (Some("spec"), Some(field)) => self.field(field),
                _ => self.all(),
            }
        }
        &self.made
    }

    /// Makes everything, in the order in which it was written.
    fn all(&mut self) {
        self.made = json!({"spec": {}, "metadata": metadata(self.deployment)});
        for entry in self.written.map(Node::entries).unwrap_or_default() {
            self.field(&entry.key);
        }
        for field in BOUND {
            self.field(field);
        }
        self.complete = true;
    }

    fn field(&mut self, field: &str) {
        let Some(Value::Object(spec)) = self.made.get_mut("spec") else { return };
        if spec.contains_key(field) {
            return;
        }
        match self.written.and_then(|spec| spec.get(field)).map(Node::to_json) {
            None | Some(Value::Null) => {}
            Some(Value::Object(fields)) => {
                spec.insert(field.to_owned(), Value::Object(without_nulls(fields)));
            }
            Some(other) => {
                spec.insert(field.to_owned(), other);
            }
        }
        bind_all(spec, field, self.deployment);
    }
}

/// Binds what is always there in a field of `spec`.
fn bind_all(spec: &mut Map<String, Value>, field: &str, deployment: &Deployment) {
    let Deployment { model, engine, workload, .. } = deployment;
    let aggregated = if let Workload::Aggregated(worker) = workload { Some(worker) } else { None };
    match field {
        "model" => {
            let served = model.served_name.as_ref().map_or("", |name| name.value.as_str());
            bind(spec, field, "id", json!(model.id.as_deref().unwrap_or_default()));
            bind(spec, field, "servedName", json!(served));
            bind(spec, field, "source", json!(model.source.value));
        }
        "engine" => {
            let args = engine.args.iter().map(|(key, value)| (key.clone(), json!(value)));
            bind(spec, field, "type", json!(engine.kind));
            bind(spec, field, "args", Value::Object(args.collect()));
            bind(spec, field, "contextLength", json!(engine.context_length.unwrap_or(0)));
            bind(spec, field, "trustRemoteCode", json!(engine.trust_remote_code.value));
        }
        "serving" => bind(spec, field, "mode", json!(workload.mode())),
        "scaling" => bind(spec, field, "replicas", json!(aggregated.map_or(1, |worker| worker.replicas.value))),
        "resources" => {
            let (count, kind) = match aggregated {
                Some(worker) => (u64::from(worker.gpu_count.value), worker.gpu_type.value.as_str()),
                None => (
                    gpus_when_scaled_up(workload),
                    workload.workers().first().map_or("", |worker| worker.gpu_type.value.as_str()),
                ),
            };
            bind(spec, field, "gpu", json!({"count": count, "type": kind}));
        }
        _ => {}
    }
}

fn metadata(deployment: &Deployment) -> Map<String, Value> {
    let metadata = &deployment.metadata;
    let mut seen = Map::new();
    seen.insert("name".to_owned(), json!(metadata.name));
    if let Some(namespace) = &metadata.namespace {
        seen.insert("namespace".to_owned(), json!(namespace));
    }
    for (key, pairs) in [("labels", &metadata.labels), ("annotations", &metadata.annotations)] {
        seen.insert(key.to_owned(), Value::Object(pairs.iter().map(|(k, v)| (k.clone(), json!(v))).collect()));
    }
    seen
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

    /// In parts or at once, a rule sees the same.
    #[test]
    fn fields_are_the_same_in_any_order() {
        let (text, deployment) = crate::validate::tests::deployment_of(
            "model: {id: a/b, storage: null}\nengine: {type: llamacpp, args: {x: '1'}}\nenv: [{name: A, value: b}]\n\
             nodeSelector: {a: b}\nresources: {memory: 1Gi, gpu: null}",
        );
        let parsed = kubefoundry_yaml::parse(&text, &kubefoundry_yaml::Limits::default());
        let root = &parsed.documents[0].root;
        let all = Variables::new(root, &deployment).of(&["spec".to_owned()]).clone();
        assert_eq!(all["spec"]["resources"], json!({"memory": "1Gi", "gpu": {"count": 0, "type": "nvidia.com/gpu"}}));
        for (field, value) in all["spec"].as_object().unwrap() {
            let reads = [format!("spec.{field}"), "spec.gateway.enabled".to_owned()];
            let mut variables = Variables::new(root, &deployment);
            assert_eq!(variables.of(&reads), &json!({"spec": {field.as_str(): value}, "metadata": {}}));
            assert_eq!(variables.of(&["metadata.name".to_owned()]), &all);
        }
    }

    #[test]
    fn rules_see_every_field_of_a_specification() {
        for field in ModelDeploymentSpec::FIELDS {
            assert!(SPEC.iter().any(|known| known.name == *field), "rules do not see spec.{field}");
        }
    }
}
