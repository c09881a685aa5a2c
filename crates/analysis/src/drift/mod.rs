//! Drift: compares rendered objects with the live objects of a cluster.
//!
//! ```text
//! Compilation ─ outputs ─┐
//! dump ─ snapshot ───────┴─ match ─ compare (lists by their keys, amounts by value) ─ managers ─ DriftReport
//! ```
//! Only rendered fields are compared: defaults of the API server and fields that others add are ignored. A rendered
//! field with another live value has drifted, independent of its writer; managed fields identify the writer.

mod compare;
mod lists;
mod managers;
mod matching;
mod scalar;
mod unrendered_fields;

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

pub use compare::ValueMismatch;
pub use managers::FieldManager;

use kubefoundry_compiler::cluster_snapshot::{ClusterSnapshot, LiveObject};
use kubefoundry_compiler::pipeline::{Compilation, Output};
use kubefoundry_crd::Crds;
use kubefoundry_diagnostics::render::{JsonFindings, ReportVersion};
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, ObjectRef};
use kubefoundry_model::composition::Composition;
use kubefoundry_provider::status::text_or_empty;

/// The result of comparing a compilation with a cluster snapshot.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DriftReport {
    /// Every rendered object in output order, then live objects that are not rendered.
    pub objects: Vec<ObjectDrift>,
    /// Findings in the dump. If one is an error, nothing was compared.
    pub diagnostics: Vec<Diagnostic>,
}

/// What `kubefoundry drift --output json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JsonReport<'r> {
    version: ReportVersion,
    /// Whether anything has drifted.
    drifted: bool,
    /// Every rendered object, then the live objects that no input renders; empty if there is an error.
    objects: &'r [ObjectDrift],
    /// Every finding in the input and in the cluster snapshot.
    diagnostics: JsonFindings,
}

/// An object and the result of its comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ObjectDrift {
    /// The rendered object, or the live one if it is not rendered.
    pub object: ObjectRef,
    /// The ModelDeployment that its ownership annotation names, if it has one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub deployment: String,
    /// The outcome of the comparison.
    pub result: Outcome,
    /// The reason, where the result alone does not explain it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The fields that differ.
    pub fields: Vec<FieldDrift>,
    /// The rendered object; `None` if the object is not rendered.
    #[serde(skip)]
    pub expected: Option<Value>,
    /// The live values of the rendered fields; `None` if the object is missing or not comparable.
    #[serde(skip)]
    pub found: Option<Value>,
}

/// The outcome of comparing one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// Every rendered field has its rendered value.
    Same,
    /// At least one field has drifted.
    Differs,
    /// The cluster snapshot does not contain it.
    Missing,
    /// The cluster snapshot contains it with an ownership annotation, but it is not rendered.
    Extra,
    /// It has a deletion timestamp.
    Terminating,
    /// It cannot be compared: it is live in another version, or in several namespaces.
    NotComparable,
}

impl Outcome {
    /// Returns the outcome as the predicate of a sentence about the object.
    ///
    /// ```
    /// use kubefoundry_analysis::drift::Outcome;
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

/// A field whose live value differs from the rendered one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FieldDrift {
    /// The field. Indexes count in the rendered list, or in the live list for items that only the cluster has.
    pub path: String,
    /// The field inside the value, if the value is text that holds YAML (`serveConfigV2`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// The rendered and the live value.
    #[serde(flatten)]
    pub difference: ValueMismatch,
    /// Whether [`ObjectDrift::found`] includes the field. It does not include fields that are no longer rendered.
    #[serde(skip)]
    pub is_shown: bool,
    /// The clients that wrote the live value, according to managed fields.
    pub managers: Vec<FieldManager>,
}

impl DriftReport {
    /// Compares the objects of a compilation with the texts given as [`Purpose::ClusterSnapshot`]. `sources` must be
    /// those that were compiled, so that list keys come from the same CRDs. If either has errors, nothing is compared.
    ///
    /// ```
    /// use kubefoundry_composition::BUILTIN;
    /// use kubefoundry_analysis::drift::{Outcome, DriftReport};
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
    /// let mut object = compile(&BUILTIN, &sources, Thoroughness::Needed).outputs[0].object.clone();
    /// object["spec"]["services"]["VllmWorker"]["replicas"] = 3.into();
    /// let live = yaml::to_yaml_stream([&object]);
    /// sources.add_for(Purpose::ClusterSnapshot, "live.yaml", live);
    /// let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
    /// let report = DriftReport::from_compilation(&compilation, &sources);
    /// assert_eq!(report.objects[0].result, Outcome::Differs);
    /// assert_eq!(report.objects[0].fields[0].path, "spec.services.VllmWorker.replicas");
    /// ```
    pub fn from_compilation(compilation: &Compilation, sources: &SourceSet) -> Self {
        let composition = compilation.options.composition;
        let ClusterSnapshot { objects, diagnostics } =
            ClusterSnapshot::read(composition, sources, Purpose::ClusterSnapshot);
        let is_error = |finding: &Diagnostic| finding.severity == kubefoundry_diagnostics::Severity::Error;
        if compilation.has_errors() || diagnostics.iter().any(is_error) {
            return Self { objects: Vec::new(), diagnostics };
        }
        // Compiling has already reported the findings about the CRDs.
        let has_crds = sources.iter().any(|(_, source)| source.purpose == Purpose::Crds);
        let crds = has_crds.then(|| Crds::from_sources(sources, composition.crd_kinds()).0);
        Self { objects: compare_all(composition, &compilation.outputs, &objects, crds.as_ref()), diagnostics }
    }

    /// Returns whether any object differs, is missing, extra, terminating or not comparable.
    pub fn has_drifted(&self) -> bool {
        self.objects.iter().any(|object| object.result != Outcome::Same)
    }

    /// Returns what is written as JSON, in the form of `schemas/drift.json`. `diagnostics` are the findings in their JSON
    /// form.
    pub fn to_json(&self, diagnostics: JsonFindings) -> JsonReport<'_> {
        JsonReport { version: ReportVersion, drifted: self.has_drifted(), objects: &self.objects, diagnostics }
    }
}

/// Compares every rendered object with its live one, and adds the live objects that are no longer rendered.
fn compare_all(
    composition: &Composition,
    outputs: &[Output],
    live: &[LiveObject],
    crds: Option<&Crds<'_>>,
) -> Vec<ObjectDrift> {
    let index = matching::LiveIndex::new(live);
    let kinds: BTreeSet<&str> = live.iter().map(|object| &*object.object.kind).collect();
    let deployments: BTreeSet<&str> = outputs.iter().filter_map(|output| matching::owner(&output.object)).collect();
    let mut matched = Vec::new();
    let mut objects: Vec<ObjectDrift> = outputs
        .iter()
        .map(|output| {
            let expected = &output.object;
            match index.find(expected) {
                matching::LiveMatch::One(position, live) => {
                    matched.push(position);
                    compare_object(composition, expected, live, crds)
                }
                matching::LiveMatch::OtherVersion(position, live) => {
                    matched.push(position);
                    object_in_other_version(expected, live)
                }
                matching::LiveMatch::Several(positions, message) => {
                    matched.extend(positions);
                    without_fields(expected, Outcome::NotComparable, message)
                }
                matching::LiveMatch::None => missing_object(expected, &kinds),
            }
        })
        .collect();
    matched.sort_unstable();
    let unmatched = live.iter().enumerate().filter(|(position, _)| matched.binary_search(position).is_err());
    let mut extra_objects: Vec<ObjectDrift> =
        unmatched.filter_map(|(_, object)| Some(extra_object(object, rendered_from(object)?, &deployments))).collect();
    extra_objects.sort_by(|one, other| one.object.cmp(&other.object));
    objects.extend(extra_objects);
    objects
}

/// Creates the result of an object whose fields are not compared.
fn without_fields(expected: &Value, result: Outcome, message: String) -> ObjectDrift {
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

fn compare_object(
    composition: &Composition,
    expected: &Value,
    live: &LiveObject,
    crds: Option<&Crds<'_>>,
) -> ObjectDrift {
    let adjusted = with_live_owner(expected, live);
    let expected = adjusted.as_ref().unwrap_or(expected);
    let (fields, live_values) = compare_fields(composition, expected, &live.value, crds);
    let deletion = text_or_empty(&live.value, "/metadata/deletionTimestamp");
    let result = match (deletion, fields.is_empty()) {
        ("", true) => Outcome::Same,
        ("", false) => Outcome::Differs,
        _ => Outcome::Terminating,
    };
    let message = if deletion.is_empty() { String::new() } else { format!("since {deletion}") };
    ObjectDrift { fields, found: Some(live_values), ..without_fields(expected, result, message) }
}

/// Lists the fields of a live object that differ from the rendered one, in order: those with another value, those that
/// are missing, and those that were applied earlier and are no longer rendered. Defaults of the API server and fields
/// that others add are ignored. With CRDs, list items are matched by the keys that the CRDs declare.
///
/// ```
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_analysis::drift::drift;
/// use serde_json::json;
/// let expected = json!({
///     "apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "m"},
///     "spec": {"resources": {"limits": {"memory": "1Gi"}}, "containers": [{"name": "a", "image": "x:1"}]},
/// });
/// let mut live = expected.clone();
/// live["status"] = json!({"serviceStatus": "Running"});
/// live["spec"]["resources"]["limits"]["memory"] = "1024Mi".into();
/// live["spec"]["containers"] = json!([{"name": "injected"}, {"name": "a", "image": "x:1", "tty": false}]);
/// assert!(drift(&BUILTIN, &expected, &live, None).is_empty());
/// live["spec"]["containers"][1]["image"] = "x:2".into();
/// let drift = drift(&BUILTIN, &expected, &live, None);
/// assert_eq!(drift.len(), 1);
/// assert_eq!(drift[0].path, "spec.containers[0].image");
/// assert_eq!(drift[0].difference.found, Some(json!("x:2")));
/// ```
pub fn drift(composition: &Composition, expected: &Value, live: &Value, crds: Option<&Crds<'_>>) -> Vec<FieldDrift> {
    compare_fields(composition, expected, live, crds).0
}

/// Returns the drifted fields, and the live values of the rendered fields.
fn compare_fields(
    composition: &Composition,
    expected: &Value,
    live: &Value,
    crds: Option<&Crds<'_>>,
) -> (Vec<FieldDrift>, Value) {
    let schema = crds
        .and_then(|crds| crds.schema(text_or_empty(expected, "/apiVersion"), text_or_empty(expected, "/kind")).ok());
    let managers = managers::FieldManagers::read(live);
    let (mut fields, live_values) =
        compare::compare(composition, expected, live, schema.map(kubefoundry_crd::CrdSchema::raw), &managers);
    fields.extend(unrendered_fields::find_unrendered(expected, live, &managers));
    (fields, live_values)
}

/// Adjusts an object that was rendered without a namespace: the operator writes its owner annotation with the namespace
/// of the live object. Returns `None` if no adjustment is needed.
fn with_live_owner(expected: &Value, live: &LiveObject) -> Option<Value> {
    let (api_group, live_owner) = live.owner_annotation()?;
    let rendered_owner = matching::owner(expected)?;
    if rendered_owner == live_owner || !matching::is_owner(live, Some(rendered_owner)) {
        return None;
    }
    let mut adjusted = expected.clone();
    *adjusted.pointer_mut("/metadata/annotations")?.get_mut(api_group.label("model-deployment"))? =
        Value::from(live_owner);
    Some(adjusted)
}

fn object_in_other_version(expected: &Value, live: &LiveObject) -> ObjectDrift {
    let (rendered, found) = (text_or_empty(expected, "/apiVersion"), &live.object.api_version);
    let (group, version) = rendered.rsplit_once('/').unwrap_or(("", rendered));
    let kind = live.object.kind.to_lowercase();
    let message = format!(
        "it is rendered as {rendered}, but the snapshot has it as {found}; get it with kubectl get {kind}.{version}.{group} -o yaml, or \
         render {found} with --crd-version"
    );
    without_fields(expected, Outcome::NotComparable, message)
}

fn missing_object(expected: &Value, kinds: &BTreeSet<&str>) -> ObjectDrift {
    let kind = text_or_empty(expected, "/kind");
    let message = format!("the snapshot has no {kind} at all: was that kind left out of it?");
    without_fields(expected, Outcome::Missing, if kinds.contains(kind) { String::new() } else { message })
}

/// Returns the deployment of a live object that was rendered earlier: it has an ownership annotation and no other
/// controller. Upstream controllers copy annotations to the objects that they create, so the annotation alone does not
/// suffice.
fn rendered_from(object: &LiveObject) -> Option<&str> {
    let (_, deployment) = object.owner_annotation()?;
    object.controller().is_none_or(|owner| owner.is_deployment()).then_some(deployment)
}

fn extra_object(live: &LiveObject, deployment: &str, deployments: &BTreeSet<&str>) -> ObjectDrift {
    let message = if deployments.contains(deployment) {
        format!("ModelDeployment {deployment} does not become it")
    } else {
        format!("SPEC has no ModelDeployment {deployment}")
    };
    ObjectDrift {
        object: live.object.clone(),
        deployment: deployment.to_owned(),
        result: Outcome::Extra,
        message,
        fields: Vec::new(),
        expected: None,
        found: None,
    }
}
