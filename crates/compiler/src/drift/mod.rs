//! Drift: what is rendered, held against what is in a cluster.
//!
//! ```text
//! Compilation ─ outputs ─┐
//! dump ─ live ───────────┴─ find ─ compare (lists by their keys, amounts by value) ─ managers ─ DriftReport
//! ```
//! Only fields that are rendered are looked at: what the apiserver defaults and what others add is theirs. A field that is
//! rendered and has another value has drifted, whoever wrote it; managed fields say who that was.

mod compare;
mod lists;
mod managers;
mod matching;
mod scalar;
mod unrendered_fields;

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value};

pub use compare::ValueMismatch;
pub use managers::FieldManager;

use crate::cluster_snapshot::{ClusterSnapshot, LiveObject};
use crate::pipeline::{Compilation, Output};
use kubefoundry_crd::Crds;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, ObjectRef};
use kubefoundry_model::status::text_or_empty;

/// What was found.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DriftReport {
    /// Every rendered object in the order of the output, then live ones that nothing renders.
    pub objects: Vec<ObjectDrift>,
    /// What is wrong with the dump. With an error in it, nothing was compared.
    pub diagnostics: Vec<Diagnostic>,
}

/// One object and how it compares.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ObjectDrift {
    /// The object.
    pub object: ObjectRef,
    /// The ModelDeployment that it is of, as the ownership annotation has it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub deployment: String,
    /// How it compares.
    pub result: Outcome,
    /// Why, where the result alone does not say it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The fields that differ.
    pub fields: Vec<FieldDrift>,
    /// What is rendered; nothing for an object that nothing renders.
    #[serde(skip)]
    pub expected: Option<Value>,
    /// The same fields as they are in the cluster; nothing for an object that is missing or cannot be compared.
    #[serde(skip)]
    pub found: Option<Value>,
}

/// How an object compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// Every field that is rendered is as it is rendered.
    Same,
    /// Some fields are not.
    Differs,
    /// The dump does not have it.
    Missing,
    /// The dump has it, with our ownership annotation, and nothing renders it.
    Extra,
    /// It is being deleted.
    Terminating,
    /// It cannot be compared: it is there in another version, or in several namespaces.
    NotComparable,
}

impl Outcome {
    /// What it means, as the rest of a sentence about the object.
    ///
    /// ```
    /// use kubefoundry_compiler::drift::Outcome;
    /// assert_eq!(Outcome::Extra.meaning(), "is not rendered");
    /// ```
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Same => "is as it is rendered",
            Self::Differs => "differs",
            Self::Missing => "is missing",
            Self::Extra => "is not rendered",
            Self::Terminating => "is being deleted",
            Self::NotComparable => "cannot be compared",
        }
    }
}

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldDrift {
    /// The field; a position in a list is that of the rendered object, or, of what is only in the cluster, there.
    pub path: String,
    /// The field inside of it, when the field is text that holds YAML (`serveConfigV2`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// What is rendered, and what is found.
    #[serde(flatten)]
    pub difference: ValueMismatch,
    /// Whether [`ObjectDrift::found`] shows it; what is only in the cluster may not be there.
    #[serde(skip)]
    pub is_shown: bool,
    /// Who wrote what is found, as managed fields say.
    pub managers: Vec<FieldManager>,
}

impl DriftReport {
    /// Compares the objects of a compilation with those of the texts given as [`Purpose::ClusterSnapshot`]. `sources` are those that
    /// were compiled, so that list keys come from the same dump of CRDs. Nothing is compared when either has errors.
    ///
    /// ```
    /// use kubefoundry_compiler::drift::{Outcome, DriftReport};
    /// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    /// use kubefoundry_compiler::{Thoroughness, compile};
    /// use kubefoundry_yaml as yaml;
    /// let mut sources = SourceSet::default();
    /// sources.add("phi.yaml", "
    /// apiVersion: kubefoundry.ai/v1alpha1
    /// kind: ModelDeployment
    /// metadata: {name: phi, namespace: ml}
    /// spec:
    ///   model: {id: microsoft/Phi-4-mini-instruct}
    ///   engine: {type: vllm}
    ///   resources: {gpu: {count: 1}}
    /// ");
    /// let mut object = compile(&sources, Thoroughness::Needed).outputs[0].object.clone();
    /// object["spec"]["services"]["VllmWorker"]["replicas"] = 3.into();
    /// let live = yaml::to_yaml_stream([&object]);
    /// sources.add_for(Purpose::ClusterSnapshot, "live.yaml", live);
    /// let compilation = compile(&sources, Thoroughness::Needed);
    /// let report = DriftReport::from_compilation(&compilation, &sources);
    /// assert_eq!(report.objects[0].result, Outcome::Differs);
    /// assert_eq!(report.objects[0].fields[0].path, "spec.services.VllmWorker.replicas");
    /// ```
    pub fn from_compilation(compilation: &Compilation, sources: &SourceSet) -> Self {
        let ClusterSnapshot { objects, diagnostics } = ClusterSnapshot::read(sources, Purpose::ClusterSnapshot);
        let is_broken = |found: &Diagnostic| found.severity == kubefoundry_diagnostics::Severity::Error;
        if compilation.has_errors() || diagnostics.iter().any(is_broken) {
            return Self { objects: Vec::new(), diagnostics };
        }
        // What is wrong with the dump of CRDs was found when it was compiled.
        let has_crds = sources.iter().any(|(_, source)| source.purpose == Purpose::Crds);
        let crds = has_crds.then(|| Crds::from_sources(sources, crate::composition::crd_kinds()).0);
        Self { objects: compare_all(&compilation.outputs, &objects, crds.as_ref()), diagnostics }
    }

    /// Whether anything has drifted.
    pub fn has_drifted(&self) -> bool {
        self.objects.iter().any(|object| object.result != Outcome::Same)
    }

    /// The report as JSON; its form is `schemas/drift.json`. `diagnostics` are the findings as every report has them.
    pub fn to_json(&self, diagnostics: Vec<Value>) -> Value {
        let mut json = Map::new();
        json.insert("version".to_owned(), Value::from(1));
        json.insert("drifted".to_owned(), Value::from(self.has_drifted()));
        json.insert("objects".to_owned(), serde_json::to_value(&self.objects).unwrap_or_default());
        json.insert("diagnostics".to_owned(), Value::Array(diagnostics));
        Value::Object(json)
    }
}

fn compare_all(outputs: &[Output], live: &[LiveObject], crds: Option<&Crds<'_>>) -> Vec<ObjectDrift> {
    let index = matching::LiveIndex::of(live);
    let kinds: BTreeSet<&str> = live.iter().map(|object| &*object.object.kind).collect();
    let deployments: BTreeSet<&str> = outputs.iter().filter_map(|output| matching::owner(&output.object)).collect();
    let mut matched = Vec::new();
    let mut objects: Vec<ObjectDrift> = outputs
        .iter()
        .map(|output| {
            let expected = &output.object;
            match index.find(expected) {
                matching::LiveMatch::One(position, found) => {
                    matched.push(position);
                    compared(expected, found, crds)
                }
                matching::LiveMatch::OtherVersion(position, found) => {
                    matched.push(position);
                    other_version(expected, found)
                }
                matching::LiveMatch::Several(positions, message) => {
                    matched.extend(positions);
                    outcome(expected, Outcome::NotComparable, message)
                }
                matching::LiveMatch::None => missing(expected, &kinds),
            }
        })
        .collect();
    matched.sort_unstable();
    let is_extra =
        |(position, object): &(usize, &LiveObject)| matched.binary_search(position).is_err() && is_ours(object);
    let mut extra: Vec<ObjectDrift> =
        live.iter().enumerate().filter(is_extra).map(|(_, object)| unexpected(object, &deployments)).collect();
    extra.sort_by(|one, other| one.object.cmp(&other.object));
    objects.extend(extra);
    objects
}

/// An object with a result and nothing more.
fn outcome(expected: &Value, result: Outcome, message: String) -> ObjectDrift {
    ObjectDrift {
        object: matching::reference(expected),
        deployment: matching::owner(expected).unwrap_or_default().to_owned(),
        result,
        message,
        fields: Vec::new(),
        expected: Some(expected.clone()),
        found: None,
    }
}

fn compared(expected: &Value, live: &LiveObject, crds: Option<&Crds<'_>>) -> ObjectDrift {
    let placed = placed(expected, live);
    let expected = placed.as_ref().unwrap_or(expected);
    let (fields, found) = fields(expected, &live.value, crds);
    let deletion = text_or_empty(&live.value, "/metadata/deletionTimestamp");
    let result = match (deletion, fields.is_empty()) {
        ("", true) => Outcome::Same,
        ("", false) => Outcome::Differs,
        _ => Outcome::Terminating,
    };
    let message = if deletion.is_empty() { String::new() } else { format!("since {deletion}") };
    ObjectDrift { fields, found: Some(found), ..outcome(expected, result, message) }
}

/// The fields of a live object that are not as they are rendered, in order: another value, missing, or applied with the
/// object once and rendered no more. What the apiserver defaults and what others add is theirs. Both are one object as JSON;
/// with CRDs, lists are told apart by the keys that those name.
///
/// ```
/// use kubefoundry_compiler::drift::drift;
/// use serde_json::json;
/// let expected = json!({
///     "apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "m"},
///     "spec": {"resources": {"limits": {"memory": "1Gi"}}, "containers": [{"name": "a", "image": "x:1"}]},
/// });
/// let mut live = expected.clone();
/// live["status"] = json!({"serviceStatus": "Running"});
/// live["spec"]["resources"]["limits"]["memory"] = "1024Mi".into();
/// live["spec"]["containers"] = json!([{"name": "injected"}, {"name": "a", "image": "x:1", "tty": false}]);
/// assert!(drift(&expected, &live, None).is_empty());
/// live["spec"]["containers"][1]["image"] = "x:2".into();
/// let drift = drift(&expected, &live, None);
/// assert_eq!(drift.len(), 1);
/// assert_eq!(drift[0].path, "spec.containers[0].image");
/// assert_eq!(drift[0].difference.found, Some(json!("x:2")));
/// ```
pub fn drift(expected: &Value, live: &Value, crds: Option<&Crds<'_>>) -> Vec<FieldDrift> {
    fields(expected, live, crds).0
}

/// The fields that differ, and the live object as far as it is rendered.
fn fields(expected: &Value, live: &Value, crds: Option<&Crds<'_>>) -> (Vec<FieldDrift>, Value) {
    let schema = crds
        .and_then(|crds| crds.schema(text_or_empty(expected, "/apiVersion"), text_or_empty(expected, "/kind")).ok());
    let managers = managers::FieldManagers::of(live);
    let (mut fields, found) = compare::compare(expected, live, schema.map(kubefoundry_crd::CrdSchema::raw), &managers);
    fields.extend(unrendered_fields::find_unrendered(expected, live, &managers));
    (fields, found)
}

/// What is rendered without a namespace, with the owner that the operator names in the object's own namespace.
fn placed(expected: &Value, live: &LiveObject) -> Option<Value> {
    let (api_group, found) = live.owner_annotation()?;
    let said = matching::owner(expected)?;
    if said == found || !matching::is_owner(live, Some(said)) {
        return None;
    }
    let mut placed = expected.clone();
    *placed.pointer_mut("/metadata/annotations")?.get_mut(api_group.label("model-deployment"))? = Value::from(found);
    Some(placed)
}

fn other_version(expected: &Value, live: &LiveObject) -> ObjectDrift {
    let (rendered, found) = (text_or_empty(expected, "/apiVersion"), &live.object.api_version);
    let (group, version) = rendered.rsplit_once('/').unwrap_or(("", rendered));
    let kind = live.object.kind.to_lowercase();
    let message = format!(
        "it is rendered as {rendered} and dumped as {found}; dump it with kubectl get {kind}.{version}.{group} -o yaml, or \
         render {found} with --crd-version"
    );
    outcome(expected, Outcome::NotComparable, message)
}

fn missing(expected: &Value, kinds: &BTreeSet<&str>) -> ObjectDrift {
    let kind = text_or_empty(expected, "/kind");
    let message = format!("the dump has no {kind} at all: were they left out?");
    outcome(expected, Outcome::Missing, if kinds.contains(kind) { String::new() } else { message })
}

/// Whether an object is one that was rendered once: it bears our annotation, and nobody else made it. Upstream controllers
/// copy annotations to what they make.
fn is_ours(object: &LiveObject) -> bool {
    object.owner_annotation().is_some() && object.controller().is_none_or(|owner| owner.is_deployment())
}

fn unexpected(live: &LiveObject, deployments: &BTreeSet<&str>) -> ObjectDrift {
    let deployment = live.owner_annotation().map(|(_, name)| name).unwrap_or_default().to_owned();
    let message = if deployments.contains(deployment.as_str()) {
        format!("ModelDeployment {deployment} does not become it")
    } else {
        format!("SPEC has no ModelDeployment {deployment}")
    };
    ObjectDrift {
        object: live.object.clone(),
        deployment,
        result: Outcome::Extra,
        message,
        fields: Vec::new(),
        expected: None,
        found: None,
    }
}
