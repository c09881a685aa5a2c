//! The CEL environment of selection rules: the declared types, and the variables of a deployment.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::ir::{Deployment, EngineType, ServingMode, Worker, Workload};
use crate::wire::ModelDeploymentSpec;
use kubefoundry_cel as cel;
use kubefoundry_cel::{Environment, FieldType, Type};
use kubefoundry_kubernetes::wire::{Describe as _, FieldShape, Shape};
use kubefoundry_yaml::Node;

/// The fields of `spec` that are bound even if they are not written. [`bind_defaults`] binds each of them.
const ALWAYS_BOUND: &[&str] = &[
    "model",
    "model.id",
    "model.servedName",
    "model.source",
    "engine",
    "engine.type",
    "engine.args",
    "engine.contextLength",
    "engine.trustRemoteCode",
    "serving",
    "serving.mode",
    "scaling",
    "scaling.replicas",
    "resources",
    "resources.gpu",
    "resources.gpu.count",
];

/// The type of `spec`, with the fields of its wire declaration.
static SPEC: LazyLock<Type> = LazyLock::new(|| type_of(&ModelDeploymentSpec::SHAPE, ALWAYS_BOUND));

/// Returns the CEL type of a shape. `bound` holds the paths below it that are always bound. Types refer to each other by
/// `'static` references, so parts are leaked; this runs once, for [`SPEC`].
fn type_of(shape: &Shape, bound: &[&'static str]) -> Type {
    match shape {
        Shape::String | Shape::Timestamp => Type::String,
        Shape::Boolean => Type::Bool,
        Shape::Integer(_) => Type::Int,
        Shape::Enum(words) => {
            Type::Enum(Box::leak(words.values.iter().map(|(word, _)| *word).collect::<Vec<_>>().into_boxed_slice()))
        }
        Shape::List(item) => Type::List(Box::leak(Box::new(type_of(item, &[])))),
        Shape::Map(value) => Type::Map(Box::leak(Box::new(type_of(value, &[])))),
        Shape::Object(object) => {
            let fields: Vec<FieldType> = object.fields.iter().map(|field| field_type(field, bound)).collect();
            Type::Object(Box::leak(fields.into_boxed_slice()))
        }
        Shape::Any | Shape::IntegerOrString | Shape::Literal(_) | Shape::OneOf(_) => Type::Dyn,
    }
}

fn field_type(field: &FieldShape, bound: &[&'static str]) -> FieldType {
    let below = |path: &&'static str| path.strip_prefix(field.key)?.strip_prefix('.');
    let bound_below: Vec<&'static str> = bound.iter().filter_map(below).collect();
    let is_bound = field.facets.required || bound.contains(&field.key);
    FieldType { name: field.key, ty: type_of(&field.full_shape(), &bound_below), optional: !is_bound }
}

static STRINGS: Type = Type::Map(&Type::String);
static METADATA: [FieldType; 4] = [
    FieldType::required("name", Type::String),
    FieldType::optional("namespace", Type::String),
    FieldType::required("labels", STRINGS),
    FieldType::required("annotations", STRINGS),
];

/// Creates the environment in which selection rules are compiled, with the variables `spec` and `metadata`
/// (docs/design/0005).
pub fn environment(limits: cel::Limits) -> Environment {
    Environment::new(vec![("spec", *SPEC), ("metadata", Type::Object(&METADATA))], limits)
}

/// The facts of a deployment that most rules read and nothing else. They are the values that [`RuleVariables`] binds at
/// [`SelectionFacts::PATHS`], so rules with equal facts have equal values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SelectionFacts {
    engine: EngineType,
    mode: ServingMode,
    gpu_count: u64,
    gpu_type: String,
}

impl SelectionFacts {
    /// What a rule may read below `spec` for its value to depend on these facts alone.
    const PATHS: [&'static str; 5] =
        ["engine.type", "serving.mode", "resources.gpu", "resources.gpu.count", "resources.gpu.type"];

    pub(crate) fn new(deployment: &Deployment) -> Self {
        let (gpu_count, gpu_type) = bound_gpus(&deployment.workload);
        let (engine, mode) = (deployment.engine.kind, deployment.workload.mode());
        Self { engine, mode, gpu_count, gpu_type: gpu_type.to_owned() }
    }

    /// Returns whether the value of a rule depends on these facts alone.
    pub(crate) fn decide(rule: &cel::Rule) -> bool {
        rule.reads().iter().all(|read| read.strip_prefix("spec.").is_some_and(|path| Self::PATHS.contains(&path)))
    }
}

/// The variables of a deployment: the written fields, and those that are always bound. A field is converted when the
/// first rule that reads it is evaluated, because most rules read only two or three.
///
/// `spec.resources.gpu.count` is bound to 0 when it is absent, so that `!has(spec.resources.gpu) ||
/// spec.resources.gpu.count == 0` holds for a CPU model; in disaggregated mode it is the GPUs of all replicas of both
/// roles, so that rules for CPU models do not fire.
#[derive(Debug)]
pub struct RuleVariables<'d> {
    written: Option<&'d Node<'d>>,
    deployment: &'d Deployment,
    /// `spec` and `metadata` with the fields that have been bound so far.
    bound: Value,
    /// Whether every field is bound.
    complete: bool,
}

impl<'d> RuleVariables<'d> {
    /// Creates the variables of a deployment that was read from the document `root`.
    pub fn new(root: &'d Node<'d>, deployment: &'d Deployment) -> Self {
        Self { written: root.get("spec"), deployment, bound: Value::Null, complete: false }
    }

    /// Returns the variables after binding the fields that a rule reads ([`cel::Rule::reads`]).
    pub fn bind_reads(&mut self, reads: &[String]) -> &Value {
        if self.bound.is_null() {
            self.bound = json!({"spec": {}, "metadata": {}});
        }
        for read in reads {
            let mut steps = read.split(['.', '[']);
            match (steps.next(), steps.next()) {
                _ if self.complete => break,
                (Some("spec"), Some(field)) => self.bind_field(field),
                // A rule that reads all of `spec`, or metadata, needs every field.
                _ => self.bind_every_field(),
            }
        }
        &self.bound
    }

    /// Binds every field. Written fields keep their input order, which rules can observe.
    fn bind_every_field(&mut self) {
        self.bound = json!({"spec": {}, "metadata": metadata(self.deployment)});
        for entry in self.written.map(Node::entries).unwrap_or_default() {
            self.bind_field(&entry.key);
        }
        for field in ALWAYS_BOUND.iter().filter(|path| !path.contains('.')) {
            self.bind_field(field);
        }
        self.complete = true;
    }

    /// Binds a field of `spec`: what the user wrote, then the parts that are always bound.
    fn bind_field(&mut self, field: &str) {
        let Some(Value::Object(spec)) = self.bound.get_mut("spec") else { return };
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
        bind_defaults(spec, field, self.deployment);
    }
}

/// Binds the parts of a field of `spec` that are always bound.
fn bind_defaults(spec: &mut Map<String, Value>, field: &str, deployment: &Deployment) {
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
            let (count, kind) = bound_gpus(workload);
            bind(spec, field, "gpu", json!({"count": count, "type": kind}));
        }
        _ => {}
    }
}

fn metadata(deployment: &Deployment) -> Map<String, Value> {
    let metadata = &deployment.metadata;
    let mut variables = Map::new();
    variables.insert("name".to_owned(), json!(metadata.name));
    if let Some(namespace) = &metadata.namespace {
        variables.insert("namespace".to_owned(), json!(namespace));
    }
    for (key, pairs) in [("labels", &metadata.labels), ("annotations", &metadata.annotations)] {
        variables.insert(key.to_owned(), Value::Object(pairs.iter().map(|(k, v)| (k.clone(), json!(v))).collect()));
    }
    variables
}

/// Returns the values of `spec.resources.gpu.count` and `type`, which are always bound.
fn bound_gpus(workload: &Workload) -> (u64, &str) {
    match workload {
        Workload::Aggregated(worker) => (u64::from(worker.gpu_count.value), &worker.gpu_type.value),
        Workload::Disaggregated { prefill, .. } => (gpus_when_scaled_up(workload), &prefill.gpu_type.value),
    }
}

/// Counts the GPUs of both roles. A role that is scaled to zero counts as one replica: rules for CPU models must not
/// match a deployment that needs GPUs once it is scaled up.
fn gpus_when_scaled_up(workload: &Workload) -> u64 {
    let gpus = |worker: &&Worker| u64::from(worker.replicas.value.max(1)) * u64::from(worker.gpu_count.value);
    workload.workers().iter().map(gpus).sum()
}

fn bind(spec: &mut Map<String, Value>, parent: &str, field: &str, value: Value) {
    if let Value::Object(fields) = spec.entry(parent.to_owned()).or_insert_with(|| Value::Object(Map::new())) {
        fields.insert(field.to_owned(), value);
    }
}

/// Removes fields that are `null`, which means absent.
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

    /// The values of built-in rules are kept by these facts, so they must be all that the rules see.
    #[test]
    fn selection_facts_are_the_bound_values() {
        for spec in [
            "model: {id: a/b}\nengine: {type: vllm}\nresources: {gpu: {count: 2, type: amd.com/gpu}}",
            "model: {id: a/b}\nengine: {type: llamacpp}\nresources: {memory: 1Gi}",
            "model: {id: a/b}\nengine: {type: sglang}\nserving: {mode: disaggregated}\nscaling: {prefill: {replicas: 0, \
             gpu: {count: 2}, memory: 1Gi}, decode: {replicas: 3, gpu: {count: 4}, memory: 1Gi}}",
        ] {
            let (text, deployment) = crate::validate::tests::deployment_of(spec);
            let parsed = kubefoundry_yaml::parse(&text, &kubefoundry_yaml::Limits::default());
            let mut variables = RuleVariables::new(&parsed.documents[0].root, &deployment);
            let bound = variables.bind_reads(&SelectionFacts::PATHS.map(|path| format!("spec.{path}"))).clone();
            let facts = SelectionFacts::new(&deployment);
            assert_eq!(bound["spec"]["engine"]["type"], json!(facts.engine), "{spec}");
            assert_eq!(bound["spec"]["serving"]["mode"], json!(facts.mode), "{spec}");
            let gpu = json!({"count": facts.gpu_count, "type": facts.gpu_type});
            assert_eq!(bound["spec"]["resources"]["gpu"], gpu, "{spec}");
        }
    }

    #[test]
    fn binds_the_same_values_field_by_field_and_at_once() {
        let (text, deployment) = crate::validate::tests::deployment_of(
            "model: {id: a/b, storage: null}\nengine: {type: llamacpp, args: {x: '1'}}\nenv: [{name: A, value: b}]\n\
             nodeSelector: {a: b}\nresources: {memory: 1Gi, gpu: null}",
        );
        let parsed = kubefoundry_yaml::parse(&text, &kubefoundry_yaml::Limits::default());
        let root = &parsed.documents[0].root;
        let all = RuleVariables::new(root, &deployment).bind_reads(&["spec".to_owned()]).clone();
        assert_eq!(all["spec"]["resources"], json!({"memory": "1Gi", "gpu": {"count": 0, "type": "nvidia.com/gpu"}}));
        for (field, value) in all["spec"].as_object().unwrap() {
            let reads = [format!("spec.{field}"), "spec.gateway.enabled".to_owned()];
            let mut variables = RuleVariables::new(root, &deployment);
            assert_eq!(variables.bind_reads(&reads), &json!({"spec": {field.as_str(): value}, "metadata": {}}));
            assert_eq!(variables.bind_reads(&["metadata.name".to_owned()]), &all);
        }
    }

    /// Collects every path below `spec`, as a rule reads it.
    fn collect_paths(shape: &Shape, path: &str, all: &mut Vec<String>) {
        match shape {
            Shape::Object(object) => {
                for field in object.fields {
                    let path = format!("{path}.{}", field.key);
                    all.push(path.clone());
                    collect_paths(&field.full_shape(), &path, all);
                }
            }
            Shape::List(item) => collect_paths(item, &format!("{path}[0]"), all),
            Shape::Map(value) => collect_paths(value, &format!("{path}['a']"), all),
            _ => {}
        }
    }

    #[test]
    fn rules_can_read_every_field_that_a_specification_declares() {
        let environment = environment(cel::Limits::default());
        let mut all = Vec::new();
        collect_paths(&ModelDeploymentSpec::SHAPE, "spec", &mut all);
        assert!(all.len() > 70, "{}", all.len());
        for path in all {
            let compiled = environment.compile(&format!("has({path})"));
            let warnings = compiled.unwrap_or_else(|errors| panic!("{path}: {errors:?}")).1;
            assert!(warnings.is_empty(), "{path}: {warnings:?}");
        }
    }

    #[test]
    fn binds_every_field_that_is_declared_as_always_bound() {
        let (text, deployment) = crate::validate::tests::deployment_of(
            "model: {id: a/b}\nengine: {type: vllm}\nresources: {gpu: {count: 1}}",
        );
        let parsed = kubefoundry_yaml::parse(&text, &kubefoundry_yaml::Limits::default());
        let variables =
            RuleVariables::new(&parsed.documents[0].root, &deployment).bind_reads(&["spec".to_owned()]).clone();
        let mut declared = Vec::new();
        collect_paths(&ModelDeploymentSpec::SHAPE, "spec", &mut declared);
        for path in ALWAYS_BOUND {
            assert!(declared.contains(&format!("spec.{path}")), "spec.{path} is not declared");
            let value = variables.pointer(&format!("/spec/{}", path.replace('.', "/")));
            assert!(value.is_some(), "spec.{path} is not bound in {variables}");
        }
    }
}
