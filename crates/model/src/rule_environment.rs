//! The CEL environment of selection rules: the declared types, and the variables of a deployment.

use std::collections::BTreeSet;
use std::sync::{LazyLock, OnceLock};

use serde_json::{Map, Value, json};

use kubefoundry_cel as cel;
use kubefoundry_cel::{Environment, FieldType, Type};
use kubefoundry_deployment::ir::{Deployment, EngineType, Metadata, NVIDIA_GPU, ServingMode, Worker, Workload};
use kubefoundry_deployment::wire::{ModelDeployment, ModelDeploymentSpec};
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_kubernetes::wire::{Describe as _, FieldShape, Shape};
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

/// The value of a part of `spec` that is always bound.
enum BoundPart {
    Value(fn(&Deployment) -> Value),
    /// `spec.resources.gpu.count`, and the type beside it.
    Gpus,
}

/// The parts of `spec` that every rule can read without `has()`, each with the field that it is in.
static ALWAYS_BOUND: &[(&str, &str, BoundPart)] = &[
    ("model", "id", BoundPart::Value(|it| json!(it.model.id.as_deref().unwrap_or_default()))),
    (
        "model",
        "servedName",
        BoundPart::Value(|it| json!(it.model.served_name.as_ref().map_or("", |name| name.value.as_str()))),
    ),
    ("model", "source", BoundPart::Value(|it| json!(it.model.source.value))),
    ("engine", "type", BoundPart::Value(|it| json!(it.engine.kind))),
    (
        "engine",
        "args",
        BoundPart::Value(|it| it.engine.args.iter().map(|(key, value)| (key.clone(), json!(value))).collect()),
    ),
    ("engine", "contextLength", BoundPart::Value(|it| json!(it.engine.context_length.unwrap_or(0)))),
    ("engine", "trustRemoteCode", BoundPart::Value(|it| json!(it.engine.trust_remote_code.value))),
    ("serving", "mode", BoundPart::Value(|it| json!(it.workload.mode()))),
    ("scaling", "replicas", BoundPart::Value(|it| json!(bound_replicas(&it.workload)))),
    ("resources", "gpu.count", BoundPart::Gpus),
];

/// The object to which the CRD of a group with the scale subresource adds itself and its `replicas`.
const SCALING: &str = "scaling";

/// The type of `spec`, with the fields of its wire declaration.
static SPEC: LazyLock<Type> = LazyLock::new(|| {
    let bound: Vec<(&str, &str)> = ALWAYS_BOUND.iter().map(|(field, part, _)| (*field, *part)).collect();
    type_of(&ModelDeploymentSpec::SHAPE, &bound)
});

/// Returns the CEL type of a shape. `bound` are the parts of it that are always bound: a field, and the path of the part in it,
/// which is empty for the field itself. Types refer to each other by `'static` references, so parts are leaked; this runs once,
/// for [`SPEC`], but in every run.
fn type_of(shape: &Shape, bound: &[(&str, &str)]) -> Type {
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

fn field_type(field: &FieldShape, bound: &[(&str, &str)]) -> FieldType {
    let parts = bound.iter().filter(|(name, _)| *name == field.key);
    let is_bound = field.facets.required || parts.clone().next().is_some();
    let inner: Vec<(&str, &str)> = parts
        .filter(|(_, part)| !part.is_empty())
        .map(|(_, part)| part.split_once('.').unwrap_or((part, "")))
        .collect();
    FieldType { name: field.key, ty: type_of(&field.full_shape(), &inner), optional: !is_bound }
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
    /// For which of [`SelectionFacts::PATHS`] `has()` is false.
    unwritten: Vec<&'static str>,
}

impl SelectionFacts {
    /// What a rule may read below `spec` for its value to depend on these facts alone.
    const PATHS: [&'static str; 5] =
        ["engine.type", "serving.mode", "resources.gpu", "resources.gpu.count", "resources.gpu.type"];

    pub(crate) fn new(deployment: &Deployment, variables: &RuleVariables<'_>) -> Self {
        let (gpu_count, gpu_type) = bound_gpus(&deployment.workload);
        let (engine, mode) = (deployment.engine.kind, deployment.workload.mode());
        // As in [`Binding::bind_gpus`], GPUs of the roles and those that the API group assumes count as written.
        let is_assumed = |path: &str| gpu_count > 0 && path.starts_with("resources.");
        let is_unwritten = |path: &&str| !is_assumed(path) && !variables.is_written(path);
        let unwritten = Self::PATHS.into_iter().filter(is_unwritten).collect();
        Self { engine, mode, gpu_count, gpu_type: gpu_type.to_owned(), unwritten }
    }

    /// Returns whether the value of a rule depends on these facts alone.
    pub(crate) fn decide(rule: &cel::Rule) -> bool {
        rule.reads().iter().all(|read| read.strip_prefix("spec.").is_some_and(|path| Self::PATHS.contains(&path)))
    }
}

/// The variables of a deployment: the written fields, those that the CRD of its API group gives a default, and those that
/// are always bound. `has()` is true for the first two, as it is for a rule that a cluster evaluates. A field is converted when the
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
    /// The paths of bound fields for which `has()` is false, because they are neither written nor defaults of the CRD.
    unwritten: BTreeSet<String>,
    /// Whether every field is bound.
    complete: bool,
}

impl<'d> RuleVariables<'d> {
    /// Creates the variables of a deployment that was read from the document `root`.
    pub fn new(root: &'d Node<'d>, deployment: &'d Deployment) -> Self {
        Self { written: root.get("spec"), deployment, bound: Value::Null, unwritten: BTreeSet::new(), complete: false }
    }

    /// Returns the variables after binding the fields that a rule reads ([`cel::Rule::reads`]), and the paths of those
    /// for which `has()` is false.
    pub fn bind_reads(&mut self, reads: &[String]) -> (&Value, &BTreeSet<String>) {
        self.prepare();
        for read in reads {
            let mut steps = read.split(['.', '[']);
            match (steps.next(), steps.next()) {
                _ if self.complete => break,
                (Some("spec"), Some(field)) => self.bind_field(field),
                // A rule that reads all of `spec`, or metadata, needs every field.
                _ => self.bind_every_field(),
            }
        }
        (&self.bound, &self.unwritten)
    }

    fn prepare(&mut self) {
        if self.bound.is_null() {
            self.bound = json!({"spec": {}, "metadata": {}});
        }
    }

    /// Binds every field. Written fields keep their input order, which rules can observe.
    fn bind_every_field(&mut self) {
        self.bound = json!({"spec": {}, "metadata": metadata(self.deployment)});
        let Metadata { labels, annotations, .. } = &self.deployment.metadata;
        let path = || ModelDeployment::path().metadata();
        let pairs = [
            (FieldPath::from(path().labels()), labels.is_empty()),
            (FieldPath::from(path().annotations()), annotations.is_empty()),
        ];
        let empty = pairs.into_iter().filter(|(_, is_empty)| *is_empty);
        self.unwritten.extend(empty.map(|(path, _)| path.to_string()));
        for entry in self.written.map(Node::entries).unwrap_or_default() {
            self.bind_field(&entry.key);
        }
        for (field, ..) in ALWAYS_BOUND {
            self.bind_field(field);
        }
        self.complete = true;
    }

    /// Returns whether the field at a path below `spec` is written, or gets a default from the CRD because the object that
    /// contains it is written.
    fn is_written(&self, path: &str) -> bool {
        let mut steps = path.split('.');
        let first = steps.next().unwrap_or_default();
        let written = |node: &'d Node<'d>, key: &str| {
            node.get(key).filter(|value| !matches!(value.value, kubefoundry_yaml::Value::Null))
        };
        let Some(mut node) = self.written.and_then(|spec| written(spec, first)) else {
            return self.deployment.api_group.scales && matches!(path, SCALING | "scaling.replicas");
        };
        let position = spec_fields().iter().position(|declared| declared.key == first);
        let mut defaults = position.map(|position| CrdDefaults::of_field(position, self.deployment.api_group));
        for step in steps {
            let field = defaults.and_then(|defaults| defaults.field(step));
            let Some(value) = written(node, step) else { return field.is_some_and(|field| field.value.is_some()) };
            (node, defaults) = (value, field.map(|field| &field.below));
        }
        true
    }

    /// Binds a field of `spec`: what the user wrote, the defaults of the CRD in it, then the parts that are always bound.
    fn bind_field(&mut self, field: &str) {
        self.prepare();
        let Some(Value::Object(spec)) = self.bound.get_mut("spec") else { return };
        if spec.contains_key(field) {
            return;
        }
        let position = spec_fields().iter().position(|declared| declared.key == field);
        let mut written = match self.written.and_then(|spec| spec.get(field)).map(Node::to_json) {
            None | Some(Value::Null) => None,
            Some(Value::Object(fields)) => Some(Value::Object(without_nulls(fields))),
            other => other,
        };
        if written.is_none() && field == SCALING && self.deployment.api_group.scales {
            written = Some(json!({}));
        }
        if let (Some(written), Some(position)) = (&mut written, position) {
            CrdDefaults::of_field(position, self.deployment.api_group).apply(written);
        }
        if let Some(written) = written {
            spec.insert(field.to_owned(), written);
        }
        let mut binding = Binding { spec, parent: field, unwritten: &mut self.unwritten };
        binding.bind_defaults(self.deployment);
    }
}

/// The declared fields of `spec`.
fn spec_fields() -> &'static [FieldShape] {
    match ModelDeploymentSpec::SHAPE {
        Shape::Object(object) => object.fields,
        _ => &[],
    }
}

/// The defaults that the CRD of an API group has in a field and below it. Only fields with a default are kept, so
/// adding them to a value does not compare it with its whole declaration.
#[derive(Debug, Default)]
struct CrdDefaults {
    fields: Vec<(&'static str, FieldDefaults)>,
    items: Option<Box<CrdDefaults>>,
}

/// The default of a field, and the defaults in its value if the value is written.
#[derive(Debug, Default)]
struct FieldDefaults {
    value: Option<Value>,
    below: CrdDefaults,
}

impl CrdDefaults {
    /// Returns the defaults in the field of `spec` with this position in its declaration.
    fn of_field(position: usize, api_group: &'static ApiGroup) -> &'static Self {
        /// One cell for each API group and field of `spec`. Most documents write few fields, so each is filled when it is
        /// needed.
        static DEFAULTS: LazyLock<Vec<OnceLock<CrdDefaults>>> = LazyLock::new(|| {
            std::iter::repeat_with(OnceLock::new).take(API_GROUPS.len() * spec_fields().len()).collect()
        });
        static NONE: CrdDefaults = CrdDefaults { fields: Vec::new(), items: None };
        let group = API_GROUPS.iter().position(|group| group.name == api_group.name);
        let cell = group.and_then(|group| DEFAULTS.get(group * spec_fields().len() + position));
        let cell = cell.zip(spec_fields().get(position));
        cell.map_or(&NONE, |(cell, declared)| {
            let path = || FieldPath::from(ModelDeployment::path().spec()).key(declared.key);
            cell.get_or_init(|| Self::collect(&declared.full_shape(), &path(), api_group))
        })
    }

    fn collect(shape: &Shape, path: &FieldPath, api_group: &ApiGroup) -> Self {
        match shape {
            Shape::Object(object) => {
                let declared =
                    object.fields.iter().filter(|declared| !declared.facets.not_in.contains(&api_group.name));
                let defaults = declared.map(|declared| {
                    let path = path.key(declared.key);
                    let below = Self::collect(&declared.full_shape(), &path, api_group);
                    (declared.key, FieldDefaults { value: crd_default(declared, &path, api_group), below })
                });
                let fields = defaults.filter(|(_, field)| field.value.is_some() || !field.below.is_empty()).collect();
                Self { fields, items: None }
            }
            Shape::List(item) => {
                let items = Self::collect(item, &path.index(0), api_group);
                Self { fields: Vec::new(), items: (!items.is_empty()).then(|| Box::new(items)) }
            }
            _ => Self::default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.items.is_none()
    }

    fn field(&self, key: &str) -> Option<&FieldDefaults> {
        self.fields.iter().find(|(name, _)| *name == key).map(|(_, field)| field)
    }

    /// Adds the fields that the API server adds to a written value.
    fn apply(&self, value: &mut Value) {
        match (value, &self.items) {
            (Value::Object(written), _) => {
                for (key, field) in &self.fields {
                    if let Some(value) = written.get_mut(*key) {
                        field.below.apply(value);
                    } else if let Some(default) = &field.value {
                        written.insert((*key).to_owned(), default.clone());
                    }
                }
            }
            (Value::Array(written), Some(items)) => written.iter_mut().for_each(|item| items.apply(item)),
            _ => {}
        }
    }
}

/// Returns the default of a field in the CRD of an API group, if it has one.
fn crd_default(field: &FieldShape, path: &FieldPath, api_group: &ApiGroup) -> Option<Value> {
    if let Some(json) = field.facets.default {
        return Some(kubefoundry_yaml::infallible::parse_builtin(&format!("default of {path}"), json));
    }
    let spec = || ModelDeployment::path().spec();
    if api_group.scales && *path == FieldPath::from(spec().scaling().replicas()) {
        return Some(json!(1));
    }
    if *path == FieldPath::from(spec().engine().enable_prefix_caching()) {
        return api_group.prefix_caching.map(Value::from);
    }
    if !api_group.crd_fills_counts {
        return None;
    }
    let gpus = [spec().resources().gpu(), spec().scaling().prefill().gpu(), spec().scaling().decode().gpu()];
    if *path == FieldPath::from(spec().scaling().replicas()) {
        Some(json!(1))
    } else if gpus.iter().any(|gpu| *path == FieldPath::from(gpu.clone().count())) {
        Some(json!(0))
    } else if gpus.iter().any(|gpu| *path == FieldPath::from(gpu.clone().gpu_type())) {
        Some(json!(NVIDIA_GPU))
    } else {
        None
    }
}

/// A field of `spec` to which the parts that are always bound are added.
struct Binding<'b> {
    spec: &'b mut Map<String, Value>,
    parent: &'b str,
    unwritten: &'b mut BTreeSet<String>,
}

impl Binding<'_> {
    /// Binds the parts of the field that are always bound.
    fn bind_defaults(&mut self, deployment: &Deployment) {
        let parent = self.parent;
        for (_, part, bound) in ALWAYS_BOUND.iter().filter(|(field, ..)| *field == parent) {
            match bound {
                BoundPart::Value(value) => self.bind(part, value(deployment)),
                BoundPart::Gpus => self.bind_gpus(&deployment.workload),
            }
        }
    }

    /// Binds `spec.resources.gpu`. GPUs that the roles request, and those that the API group assumes, count as written:
    /// `!has(spec.resources.gpu)` stands for a deployment without GPUs.
    fn bind_gpus(&mut self, workload: &Workload) {
        let (count, kind) = bound_gpus(workload);
        let written = self.spec.get(self.parent).and_then(|resources| resources.get("gpu"));
        let is_written = |field: &str| count > 0 || written.is_some_and(|gpu| gpu.get(field).is_some());
        let unwritten = ["count", "type"].map(|field| (field, !is_written(field)));
        if count == 0 || self.spec.contains_key(self.parent) {
            self.bind("gpu", json!({"count": count, "type": kind}));
            let gpu = format!("spec.{}.gpu", self.parent);
            if count > 0 {
                self.unwritten.remove(&gpu);
            }
            for (field, _) in unwritten.iter().filter(|(_, is_unwritten)| *is_unwritten) {
                self.unwritten.insert(format!("{gpu}.{field}"));
            }
        } else {
            self.spec.insert(self.parent.to_owned(), json!({"gpu": {"count": count, "type": kind}}));
        }
    }

    /// Binds a part of the field. The part is unwritten unless the field already has it.
    fn bind(&mut self, part: &str, value: Value) {
        let path = format!("spec.{}", self.parent);
        if !self.spec.contains_key(self.parent) {
            self.unwritten.insert(path.clone());
        }
        let field = self.spec.entry(self.parent.to_owned()).or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(fields) = field else { return };
        if fields.insert(part.to_owned(), value).is_none() {
            self.unwritten.insert(format!("{path}.{part}"));
        }
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

/// Returns the value of `spec.scaling.replicas`, which is always bound.
fn bound_replicas(workload: &Workload) -> u32 {
    match workload {
        Workload::Aggregated(worker) => worker.replicas.value,
        Workload::Disaggregated { .. } => 1,
    }
}

/// Returns the values of `spec.resources.gpu.count` and `type`, which are always bound.
fn bound_gpus(workload: &Workload) -> (u64, &str) {
    match workload {
        Workload::Aggregated(worker) => (bound_count(worker), &worker.gpu_type.value),
        Workload::Disaggregated { prefill, .. } => (gpus_when_scaled_up(workload), &prefill.gpu_type.value),
    }
}

/// Counts the GPUs of both roles. A role that is scaled to zero counts as one replica: rules for CPU models must not
/// match a deployment that needs GPUs once it is scaled up.
fn gpus_when_scaled_up(workload: &Workload) -> u64 {
    let gpus = |worker: &&Worker| u64::from(worker.replicas.value.max(1)) * bound_count(worker);
    workload.workers().iter().map(gpus).sum()
}

/// Returns the number of GPUs of a replica on one node. Claims count as one GPU: rules for CPU models must not match
/// them.
fn bound_count(worker: &Worker) -> u64 {
    u64::from(worker.gpu_count.value).max(u64::from(worker.has_gpus()))
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
            "model: {id: a/b}\nengine: {type: llamacpp}\nimage: a/b:c\nserving: {}",
            "model: {id: a/b}\nengine: {type: llamacpp}\nserving: null\nresources: {gpu: {count: 0}}",
            "model: {id: a/b}\nengine: {type: llamacpp}\nserving: {mode: null}\nresources: {gpu: {type: amd.com/gpu}}",
            "model: {id: a/b}\nengine: {type: sglang}\nserving: {mode: disaggregated}\nscaling: {prefill: {replicas: 0, \
             gpu: {count: 2}, memory: 1Gi}, decode: {replicas: 3, gpu: {count: 4}, memory: 1Gi}}",
        ] {
            let (text, deployment) = crate::validate::tests::deployment_of(spec);
            let parsed = kubefoundry_yaml::parse(&text, &kubefoundry_yaml::Limits::default());
            let mut variables = RuleVariables::new(&parsed.documents[0].root, &deployment);
            let bound = variables.bind_reads(&SelectionFacts::PATHS.map(|path| format!("spec.{path}"))).0.clone();
            let facts = SelectionFacts::new(&deployment, &variables);
            let is_unwritten = |path: &&str| variables.unwritten.contains(&format!("spec.{path}"));
            let unwritten: Vec<&str> = SelectionFacts::PATHS.into_iter().filter(is_unwritten).collect();
            assert_eq!(facts.unwritten, unwritten, "{spec}");
            assert_eq!(bound["spec"]["engine"]["type"], json!(facts.engine), "{spec}");
            assert_eq!(bound["spec"]["serving"]["mode"], json!(facts.mode), "{spec}");
            let gpu = json!({"count": facts.gpu_count, "type": facts.gpu_type});
            assert_eq!(bound["spec"]["resources"]["gpu"], gpu, "{spec}");
        }
    }

    /// Returns the paths below `spec` for which `has()` is false although they can be read.
    fn unwritten(group: &str, spec: &str) -> Vec<String> {
        let (text, deployment) = crate::validate::tests::deployment_of(spec);
        let deployment = Deployment { api_group: ApiGroup::find(group).unwrap(), ..deployment };
        let parsed = kubefoundry_yaml::parse(&text, &kubefoundry_yaml::Limits::default());
        let mut variables = RuleVariables::new(&parsed.documents[0].root, &deployment);
        let unwritten = variables.bind_reads(&["spec".to_owned()]).1;
        unwritten.iter().filter_map(|path| path.strip_prefix("spec.")).map(str::to_owned).collect()
    }

    #[test]
    fn has_is_true_for_what_is_written_and_for_defaults_of_the_crd() {
        let group = "kubefoundry.ai";
        let on_cpu = "model: {id: a/b}\nengine: {type: llamacpp}\nimage: a/b:c";
        let without_scaling = [
            "engine.args",
            "engine.contextLength",
            "model.servedName",
            "resources",
            "resources.gpu",
            "resources.gpu.count",
            "resources.gpu.type",
            "serving",
            "serving.mode",
        ];
        assert_eq!(unwritten(group, on_cpu), without_scaling);
        // The CRD of this group has no scale subresource, and so no default of `scaling`.
        let mut with_scaling = [&without_scaling[..], &["scaling", "scaling.replicas"]].concat();
        with_scaling.sort_unstable();
        assert_eq!(unwritten("kubeairunway.ai", on_cpu), with_scaling);
        let written = "model: {id: a/b, servedName: b}\nengine: {type: vllm, args: {x: '1'}, contextLength: 1}\n\
                       serving: {}\nscaling: {replicas: 1}\nresources: {gpu: {count: 1, type: nvidia.com/gpu}}";
        assert_eq!(unwritten(group, written), Vec::<String>::new());
        let roles = "model: {id: a/b}\nengine: {type: vllm}\nserving: {mode: disaggregated}\nscaling: {prefill: {gpu: \
                     {count: 1}, memory: 1Gi}, decode: {gpu: {count: 1}, memory: 1Gi}}";
        assert_eq!(
            unwritten("kubeairunway.ai", roles),
            ["engine.args", "engine.contextLength", "model.servedName", "scaling.replicas"]
        );
        // These CRDs have a default for `scaling.replicas`.
        for group in [group, "airunway.ai"] {
            assert_eq!(unwritten(group, roles), ["engine.args", "engine.contextLength", "model.servedName"]);
        }
    }

    /// The API server applies the CRD's defaults before the operator reads an object, so both must give one verdict.
    #[test]
    fn defaults_of_the_crd_change_nothing() {
        let (short, deployment) = crate::validate::tests::deployment_of(
            "model: {id: a/b}\nengine: {type: vllm}\nserving: {}\nresources: {gpu: {count: 1}}",
        );
        let (full, _) = crate::validate::tests::deployment_of(
            "model: {id: a/b, source: huggingface}\nengine: {type: vllm, trustRemoteCode: false, enforceEager: false}\n\
             serving: {mode: aggregated}\nresources: {gpu: {count: 1}}",
        );
        let bound = |text: &str| {
            let parsed = kubefoundry_yaml::parse(text, &kubefoundry_yaml::Limits::default());
            let mut variables = RuleVariables::new(&parsed.documents[0].root, &deployment);
            let (values, unwritten) = variables.bind_reads(&["spec".to_owned()]);
            (values.clone(), unwritten.clone())
        };
        assert_eq!(bound(&short), bound(&full));
    }

    #[test]
    fn binds_the_same_values_field_by_field_and_at_once() {
        let (text, deployment) = crate::validate::tests::deployment_of(
            "model: {id: a/b, storage: null}\nengine: {type: llamacpp, args: {x: '1'}}\nenv: [{name: A, value: b}]\n\
             nodeSelector: {a: b}\nresources: {memory: 1Gi, gpu: null}",
        );
        let parsed = kubefoundry_yaml::parse(&text, &kubefoundry_yaml::Limits::default());
        let root = &parsed.documents[0].root;
        let all = RuleVariables::new(root, &deployment).bind_reads(&["spec".to_owned()]).0.clone();
        assert_eq!(all["spec"]["resources"], json!({"memory": "1Gi", "gpu": {"count": 0, "type": "nvidia.com/gpu"}}));
        for (field, value) in all["spec"].as_object().unwrap() {
            let reads = [format!("spec.{field}"), "spec.gateway.enabled".to_owned()];
            let mut variables = RuleVariables::new(root, &deployment);
            assert_eq!(variables.bind_reads(&reads).0, &json!({"spec": {field.as_str(): value}, "metadata": {}}));
            assert_eq!(variables.bind_reads(&["metadata.name".to_owned()]).0, &all);
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

    /// Returns the paths below `spec` that are always bound, each after the object that it is in.
    fn bound_paths() -> Vec<String> {
        let mut paths = Vec::new();
        for (field, part, _) in ALWAYS_BOUND {
            let mut path = (*field).to_owned();
            for step in part.split('.') {
                if !paths.contains(&path) {
                    paths.push(path.clone());
                }
                path = format!("{path}.{step}");
            }
            paths.push(path);
        }
        paths
    }

    /// docs/selection.md lists the fields that can be read without `has()`, and when `has()` is true: the rows of fields
    /// with a default of the CRD are those of the declaration, from which our CRDs are generated.
    #[test]
    fn the_table_of_the_documentation_lists_every_bound_field() {
        let page = include_str!("../../../docs/selection.md");
        let rows: Vec<(String, bool)> = page
            .lines()
            .filter_map(|line| {
                let mut cells = line.strip_prefix("| `")?.split(" | ");
                let field = cells.next()?.strip_suffix('`')?.to_owned();
                let has = cells.nth(1)?.strip_suffix(" |")?;
                Some((field, has != "if written"))
            })
            .collect();
        let has_crd_default = |path: &str| {
            let mut shape = ModelDeploymentSpec::SHAPE;
            let mut default = None;
            for key in path.split('.') {
                let Shape::Object(object) = shape else { panic!("{path}") };
                let field = object.fields.iter().find(|field| field.key == key).unwrap();
                (shape, default) = (field.full_shape(), field.facets.default);
            }
            // The default of a group with the scale subresource is not declared with the field.
            default.is_some() || path == SCALING || path == "scaling.replicas"
        };
        let expected: Vec<_> = bound_paths().into_iter().map(|path| (path.clone(), has_crd_default(&path))).collect();
        let rows: Vec<_> = rows.into_iter().filter(|(field, _)| field != "resources.gpu.type").collect();
        assert_eq!(rows, expected);
    }

    #[test]
    fn binds_every_field_that_is_declared_as_always_bound() {
        let (text, deployment) = crate::validate::tests::deployment_of(
            "model: {id: a/b}\nengine: {type: vllm}\nresources: {gpu: {count: 1}}",
        );
        let parsed = kubefoundry_yaml::parse(&text, &kubefoundry_yaml::Limits::default());
        let variables =
            RuleVariables::new(&parsed.documents[0].root, &deployment).bind_reads(&["spec".to_owned()]).0.clone();
        let mut declared = Vec::new();
        collect_paths(&ModelDeploymentSpec::SHAPE, "spec", &mut declared);
        for path in bound_paths() {
            assert!(declared.contains(&format!("spec.{path}")), "spec.{path} is not declared");
            let value = variables.pointer(&format!("/spec/{}", path.replace('.', "/")));
            assert!(value.is_some(), "spec.{path} is not bound in {variables}");
        }
    }
}
