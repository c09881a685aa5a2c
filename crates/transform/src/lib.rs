//! The interface of transformations, which convert objects of one kind to manifests.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.
//!
//! Reading, options, collisions, order and output are the same for all transformations and belong to the pipeline. A
//! transformation declares which kind it transforms and which other objects it needs to see, and converts one object at
//! a time. Transformations do not depend on each other.

pub mod codes;
mod context;
mod decision;
mod endpoint;
mod erased;
mod ownership;
mod patched_object;
mod settings;
mod step_budget;

pub use context::{Configuration, GroupKind, InstalledSchemas, ListType, RunContext, SchemaCheck, Thoroughness};
pub use decision::{
    CandidateAssessment, Decision, DerivedFact, FieldOrigin, GpuCount, PriorChoice, ResolvedField, RuleValue,
    Selection, ServedName,
};
pub use endpoint::Endpoint;
pub use erased::AnyTransform;
pub use ownership::owner_reference;
pub use patched_object::{PatchWrite, PatchedObject, read_configuration};
pub use settings::{AllSettings, ErasedSettings, NoSettings, SettingsSection, TransformSettings, Trust, refuse_found};
pub use step_budget::StepBudget;

use std::borrow::Cow;
use std::fmt::Debug;

use serde_json::Value;

use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{Code, DocumentScope, Findings};
use kubefoundry_kubernetes::api_group::{self, ApiGroup};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::manifest::{Identity, Manifest};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Failure, Node};

/// A transformation of one kind of object to manifests.
pub trait Transform: Debug + Sync {
    /// The settings in a `Render` document; [`NoSettings`] if the transformation has none.
    type Settings: TransformSettings;

    /// Returns the name in documentation and messages: `actor`.
    fn name(&self) -> &'static str;

    /// Returns the transformed kind as `apiVersion` and `kind`. If several groups have the kind, this is the one that
    /// messages name first.
    fn kind(&self) -> (&'static str, &'static str);

    /// Returns whether an API group contains the transformed kind.
    fn has_group(&self, group: &str) -> bool {
        self.kind().0.split_once('/').is_some_and(|(kind_group, _)| kind_group == group)
    }

    /// Returns the version of the transformed kind in one of its groups: `v1alpha1`.
    fn version(&self, _group: &str) -> &'static str {
        self.kind().0.rsplit_once('/').map_or("", |(_, version)| version)
    }

    /// Returns the kind, in the same groups, of documents that configure the transformation. They are read before the
    /// first object is transformed.
    fn configuration_kind(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether the groups belong to the transformation alone, so that any other kind in them is a mistake.
    fn owns_groups(&self) -> bool {
        false
    }

    /// Returns whether the result for an object depends on other objects. If not, an object is transformed as soon as
    /// it is read, on any thread.
    fn needs_set(&self) -> bool {
        true
    }

    /// Returns the annotation with which a generated object names the object that it was generated from, without the
    /// prefix: `async-actor`.
    fn owner_annotation(&self) -> &'static str;

    /// Returns the API groups whose prefixes the annotations and labels of its objects may have.
    fn mark_groups(&self) -> &'static [ApiGroup] {
        std::slice::from_ref(api_group::DEFAULT)
    }

    /// Returns the annotation with which a changed object of the input names the object that changed it, if the
    /// transformation changes any.
    fn change_annotation(&self) -> Option<&'static str> {
        None
    }

    /// Returns strings of which at least one occurs in every text that contains objects for this transformation. Texts
    /// without any of them are skipped unparsed.
    fn marker_texts(&self) -> &'static [&'static str];

    /// Returns whether the transformation needs to see an object of another kind: a scaling target, a referenced
    /// ConfigMap.
    fn needs_object(&self, _header: &Header) -> bool {
        false
    }

    /// Returns whether an object of the transformed kind is transformed. If not, it is left to the controller in the
    /// cluster.
    fn handles(&self, root: &Node<'_>, settings: &Self::Settings) -> bool;

    /// Describes the objects that [`Transform::handles`] accepts, for the help of a run that found nothing to
    /// transform.
    fn handled_description(&self) -> &'static str;

    /// Returns whether an object of the transformed kind may be a copy that an earlier run passed on; see
    /// [`TransformOutput::passed_on`].
    fn is_passed_on(&self, _root: &Node<'_>) -> bool {
        false
    }

    /// Reports an object that was probably meant for this transformation but is not of its kind, for example because of
    /// a wrong group.
    fn report_misnamed(&self, _header: &Header, _settings: &Self::Settings, _findings: &mut Findings<'_>) {}

    /// Checks a patch of the transformed kind or of its configurations, and reports its mistakes. A patch is a partial
    /// object.
    fn check_patch(&self, _kind: &str, _root: &Node<'_>, _findings: &mut Findings<'_>) {}

    /// Returns the kinds, apart from those of providers, whose CRDs matter for the output: those that the
    /// transformation generates, changes or reads.
    fn schema_kinds(&self) -> &'static [GroupKind] {
        &[]
    }

    /// Returns the diagnostic codes that only this transformation reports.
    fn codes(&self) -> &'static [&'static Code];

    /// Transforms an object. If it reports an error to `out.findings`, the rest of `out` is discarded.
    fn run(&self, object: &InputObject<'_>, set: &ObjectSet<'_, '_, Self::Settings>, out: &mut TransformOutput<'_>);

    /// Visits an object of another kind after all objects of the transformed kind, to undo changes by an object that
    /// was deleted since. `position` is its index in [`ObjectSet::inputs`].
    fn revisit(&self, _position: usize, _set: &ObjectSet<'_, '_, Self::Settings>, _out: &mut TransformOutput<'_>) {}
}

/// The objects that transformations see: those of the input that a transformation needs, and those generated by
/// transformations that do not need the set. Both lists are empty for a transformation that does not need the set.
#[derive(Debug)]
pub struct ObjectSet<'s, 't, S> {
    /// Objects of the input, in input order.
    pub inputs: &'s [InputObject<'t>],
    /// Generated objects, in output order.
    pub generated: &'s [GeneratedResource],
    /// The inputs of the run apart from the objects.
    pub context: &'s RunContext<'s>,
    /// The settings of the transformation.
    pub settings: &'s S,
}

/// An object of the input, with its spans in the text.
#[derive(Debug)]
pub struct InputObject<'t> {
    /// The source that contains the object.
    pub source: SourceId,
    /// The whole text of the source.
    pub text: &'t str,
    /// Position of the document in the source, counted from 0.
    pub document: usize,
    /// Version, kind, namespace and name.
    pub header: Header,
    /// The root of the object's tree.
    pub root: Node<'t>,
    /// The problems that strict reading found in the object.
    pub problems: Vec<Failure>,
}

/// An object generated in this run.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedResource {
    /// `group/version`.
    pub api_version: String,
    /// Group, kind, namespace and name.
    pub identity: Identity,
    /// The object.
    pub object: Value,
}

/// The result of transforming one object.
#[derive(Debug)]
pub struct TransformOutput<'d> {
    /// Findings in the transformed object.
    pub findings: Findings<'d>,
    /// New objects, in the order in which they are applied. The pipeline sets their namespace and ownership, and checks
    /// them against the CRDs of the run.
    pub manifests: Vec<Manifest>,
    /// New objects that the pipeline writes after the others without changes or checks. The transformation has set
    /// their ownership and checked them itself.
    pub finished: Vec<Manifest>,
    /// The objects of [`finished`](Self::finished) that a raw patch changed. The pipeline decides whether the patch may
    /// change what it changes.
    pub patched: Vec<PatchedObject>,
    /// A copy of the object with additions, for a later program in a pipeline of KRM functions.
    pub passed_on: Option<Value>,
    /// New objects that several input objects may share. Equal ones are written once; different ones with the same name
    /// are an error. They have no owner.
    pub shared: Vec<Manifest>,
    /// Changed objects of the set.
    pub changed: Vec<ChangedObject>,
    /// Parts of the object that are copied into pods unread. The pipeline checks them against core/v1 PodSpec.
    pub pod_parts: Vec<PodPart>,
    /// The decision, to which the pipeline adds the objects; `None` if the object could not be read far enough.
    pub decision: Option<Decision>,
    /// The name that requests give for the model, if the object sets it and the provider uses it.
    pub served_name: Option<ServedName>,
    /// The remaining steps for selection rules.
    pub steps: StepBudget,
}

/// A part of an input object that is copied into pods, so that its transformation does not read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodPart {
    /// The path of the part in the transformed object.
    pub path: FieldPath,
    /// The field of core/v1 PodSpec that the part becomes, such as `volumes` or `containers.*.startupProbe`; empty for a
    /// whole PodSpec.
    pub field: Cow<'static, str>,
}

/// A changed object of the set.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedObject {
    /// The object that is replaced.
    pub position: ObjectPosition,
    /// The complete new object.
    pub object: Value,
}

/// The position of an object in an [`ObjectSet`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectPosition {
    /// Index in [`ObjectSet::inputs`].
    Input(usize),
    /// Index in [`ObjectSet::generated`].
    Generated(usize),
}

impl InputObject<'_> {
    /// Returns the scope for findings in this object.
    pub fn scope(&self) -> DocumentScope<'_> {
        let object = (!self.header.kind.is_empty()).then(|| self.header.object());
        DocumentScope { source: self.source, text: self.text, document: self.document, root: &self.root, object }
    }

    /// Returns the decision about the object before anything is decided.
    pub fn undecided(&self) -> Decision {
        Decision {
            object: self.header.object(),
            environment: None,
            source: self.source,
            document: self.document,
            selection: None,
            crd_version: None,
            schema_fingerprint: None,
            runtime: None,
            endpoint: None,
            objects: Vec::new(),
            gpus: Vec::new(),
            workers: Vec::new(),
            fields: Vec::new(),
            facts: Vec::new(),
        }
    }

    /// Converts the object to JSON. An item of a typed list gets the apiVersion and kind that its list implies.
    pub fn to_json(&self) -> Value {
        let header = [("apiVersion", &self.header.api_version), ("kind", &self.header.kind)];
        let mut object: serde_json::Map<String, Value> =
            header.into_iter().map(|(key, value)| (key.to_owned(), Value::from(&**value))).collect();
        if let Value::Object(fields) = self.root.to_json() {
            object.extend(fields);
        }
        Value::Object(object)
    }
}

impl<'d> TransformOutput<'d> {
    /// Creates an empty output for an object.
    pub fn new(object: &InputObject<'_>, findings: Findings<'d>) -> Self {
        Self {
            findings,
            manifests: Vec::new(),
            finished: Vec::new(),
            patched: Vec::new(),
            passed_on: None,
            shared: Vec::new(),
            changed: Vec::new(),
            pod_parts: Vec::new(),
            decision: Some(object.undecided()),
            served_name: None,
            steps: StepBudget::default(),
        }
    }
}

impl<'s, 't, S> ObjectSet<'s, 't, S> {
    /// Returns the same objects with other settings.
    pub fn with_settings<'n, N>(&self, settings: &'n N) -> ObjectSet<'n, 't, N>
    where
        's: 'n,
    {
        ObjectSet { inputs: self.inputs, generated: self.generated, context: self.context, settings }
    }

    /// Returns the input object with this group, kind, namespace and name, and its index. An absent namespace equals
    /// only an absent one.
    pub fn find_input(
        &self,
        group: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<(usize, &'s InputObject<'t>)> {
        self.inputs.iter().enumerate().find(|(_, object)| {
            let header = &object.header;
            header.group() == group
                && &*header.kind == kind
                && header.namespace.as_deref() == namespace
                && &*header.name == name
        })
    }

    /// Returns the generated object with this group, kind, namespace and name, and its index.
    pub fn find_generated(
        &self,
        group: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<(usize, &'s GeneratedResource)> {
        let identity = Identity::new(&format!("{group}/"), kind, namespace, name);
        self.generated.iter().enumerate().find(|(_, object)| object.identity == identity)
    }
}
