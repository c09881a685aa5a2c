//! What a transformation is: objects of some kinds in, the objects that stand for them out.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.
//!
//! Reading, options, collisions, order and output are the same for all transformations and belong to the pipeline above;
//! a transformation says which kinds are its own, which others it has to see, and what one object becomes.
//! Transformations do not know each other.

pub mod codes;
mod context;
mod decision;
mod endpoint;
mod erased;
mod ownership;
mod settings;
mod steps;

pub use context::{Configuration, GroupKind, InstalledSchemas, RunContext, SchemaCheck, Thoroughness};
pub use decision::{
    CandidateAssessment, DecisionFacts, FieldOrigin, GpuCount, PriorChoice, ResolvedField, RuleValue, Selection,
};
pub use endpoint::Endpoint;
pub use erased::AnyTransform;
pub use ownership::owner_reference;
pub use settings::{AllSettings, ErasedSettings, NoSettings, SettingsSection, TransformSettings};
pub use steps::StepBudget;

use serde_json::Value;

use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{Code, DocumentScope, Findings};
use kubefoundry_kubernetes::api_group::{self, ApiGroup};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::manifest::{Identity, Manifest};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Failure, Node};

/// A transformation.
pub trait Transform: Sync {
    /// What a `Render` document may set for it; [`NoSettings`] when there is no such section.
    type Settings: TransformSettings;

    /// Its name, in documentation and messages: `actor`.
    fn name(&self) -> &'static str;

    /// The kind it transforms, as `apiVersion` and `kind`. Of a kind that several groups have, the one that messages
    /// name first.
    fn kind(&self) -> (&'static str, &'static str);

    /// Whether a group has its kind.
    fn has_group(&self, group: &str) -> bool {
        self.kind().0.split_once('/').is_some_and(|(own, _)| own == group)
    }

    /// The version of its kind in one of its groups: `v1alpha1`.
    fn version(&self, _group: &str) -> &'static str {
        self.kind().0.rsplit_once('/').map_or("", |(_, version)| version)
    }

    /// The kind, in the same groups, of the documents that configure it: they are read before the first of its objects.
    fn configuration_kind(&self) -> Option<&'static str> {
        None
    }

    /// Whether its groups belong to it alone, so that any other kind in one of them is a mistake.
    fn owns_groups(&self) -> bool {
        false
    }

    /// Whether what an object becomes depends on other objects. An object of a transformation that does not need the set
    /// is transformed as soon as it is read, alone and on any thread.
    fn needs_set(&self) -> bool {
        true
    }

    /// The annotation of a generated object that names the one it was generated from, without its prefix:
    /// `async-actor`.
    fn owner_annotation(&self) -> &'static str;

    /// The groups whose prefixes the marks of its objects may bear.
    fn mark_groups(&self) -> &'static [ApiGroup] {
        std::slice::from_ref(api_group::DEFAULT)
    }

    /// The annotation by which an object of the input that it changes names what changed it, if it changes any.
    fn change_annotation(&self) -> Option<&'static str> {
        None
    }

    /// A text that has something in it for this transformation holds one of these, word for word.
    fn marker_texts(&self) -> &'static [&'static str];

    /// Whether it has to see an object of the input beside its own kind: a target, a ConfigMap that is named.
    fn needs_object(&self, _header: &Header) -> bool {
        false
    }

    /// Whether an object of its own kind is transformed, or left to the controller in the cluster.
    fn handles(&self, root: &Node<'_>, settings: &Self::Settings) -> bool;

    /// What makes it take an object, for the help of a run that found nothing to do.
    fn handled_description(&self) -> &'static str;

    /// Whether an object of its own kind may be a copy that an earlier run passed on: see [`TransformOutput::passed_on`].
    fn is_passed_on(&self, _root: &Node<'_>) -> bool {
        false
    }

    /// Says what is wrong with an object that was probably meant for it and is not of its kind, such as a wrong group.
    fn report_misnamed(&self, _header: &Header, _settings: &Self::Settings, _findings: &mut Findings<'_>) {}

    /// Reads a patch of its kind, or of its configurations: a part of an object. Findings say what is wrong with it.
    fn check_patch(&self, _kind: &str, _root: &Node<'_>, _findings: &mut Findings<'_>) {}

    /// The kinds whose CRDs say something about its output, as group and kind: those that it makes, changes or reads, beside
    /// those of providers.
    fn schema_kinds(&self) -> &'static [GroupKind] {
        &[]
    }

    /// The diagnostic codes that only it uses.
    fn codes(&self) -> &'static [&'static Code];

    /// Turns an object of its own kind into what stands for it. After an error in `out.findings` nothing of it is used.
    fn run(&self, object: &InputObject<'_>, set: &ObjectSet<'_, '_, Self::Settings>, out: &mut TransformOutput<'_>);

    /// Looks at an object of the input that is not its own, after all of its own were transformed: to take back what one
    /// that is gone had changed. `position` is that of the object in [`ObjectSet::inputs`].
    fn revisit(&self, _position: usize, _set: &ObjectSet<'_, '_, Self::Settings>, _out: &mut TransformOutput<'_>) {}
}

/// What transformations see: what the run was given, objects of the input that one of them asked for, and what was
/// generated by those that do not need the set. Of the objects, a transformation that does not need the set sees none.
#[derive(Debug)]
pub struct ObjectSet<'s, 't, S> {
    /// Objects of the input, in order.
    pub inputs: &'s [InputObject<'t>],
    /// Objects that were generated, in order.
    pub generated: &'s [GeneratedResource],
    /// What the run was given.
    pub context: &'s RunContext<'s>,
    /// The settings of the transformation.
    pub settings: &'s S,
}

/// An object of the input, with its places in the text.
#[derive(Debug)]
pub struct InputObject<'t> {
    /// Which text.
    pub source: SourceId,
    /// Its text, whole.
    pub text: &'t str,
    /// Which document of it.
    pub document: usize,
    /// What it is.
    pub header: Header,
    /// Its tree.
    pub root: Node<'t>,
    /// What strict reading refused in it.
    pub problems: Vec<Failure>,
}

/// An object that was generated in this run.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedResource {
    /// `group/version`.
    pub api_version: String,
    /// What tells it from others.
    pub identity: Identity,
    /// The object.
    pub object: Value,
}

/// What an object becomes.
#[derive(Debug)]
pub struct TransformOutput<'d> {
    /// What was found, in the object that is transformed.
    pub findings: Findings<'d>,
    /// New objects, in the order in which they are applied. The pipeline adds namespace and ownership, and checks them
    /// against the CRDs of the run.
    pub manifests: Vec<Manifest>,
    /// New objects that need nothing more, behind the others: a transformation with marks of its own sets them, and checks
    /// what it made.
    pub finished: Vec<Manifest>,
    /// The object itself with additions, by which a program further down the pipeline takes it.
    pub passed_on: Option<Value>,
    /// New objects that several may share: made once when they are equal, an error when they are not. They are nobody's
    /// own.
    pub shared: Vec<Manifest>,
    /// Objects of the set as they are to be, changed.
    pub changed: Vec<ChangedObject>,
    /// Parts of it that go into pods as they are written: the pipeline checks them against core/v1 PodSpec.
    pub pod_parts: Vec<PodPart>,
    /// Where it answers once it runs.
    pub endpoint: Option<Endpoint>,
    /// What else was decided; none when the object cannot be read so far.
    pub decision: Option<DecisionFacts>,
    /// Steps that are left for rules.
    pub steps: StepBudget,
}

/// A part of an object of the input that goes into pods as it is written, so that its transformation does not read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodPart {
    /// Where it stands in the object that is transformed.
    pub path: FieldPath,
    /// The field of core/v1 PodSpec that it becomes, such as `volumes`; empty for a whole PodSpec.
    pub field: &'static str,
}

/// An object of the set with changes.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedObject {
    /// Which object.
    pub position: ObjectPosition,
    /// The whole object as it is to be.
    pub object: Value,
}

/// An object of a [`ObjectSet`], by its position there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectPosition {
    /// One of [`ObjectSet::inputs`].
    Input(usize),
    /// One of [`ObjectSet::generated`].
    Generated(usize),
}

impl InputObject<'_> {
    /// The scope for findings in this object.
    pub fn scope(&self) -> DocumentScope<'_> {
        let object = (!self.header.kind.is_empty()).then(|| self.header.object());
        DocumentScope { source: self.source, text: self.text, document: self.document, root: &self.root, object }
    }

    /// The object as JSON, with the apiVersion and kind that it may have from its list.
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
    /// An empty one.
    pub fn new(findings: Findings<'d>) -> Self {
        Self {
            findings,
            manifests: Vec::new(),
            finished: Vec::new(),
            passed_on: None,
            shared: Vec::new(),
            changed: Vec::new(),
            pod_parts: Vec::new(),
            endpoint: None,
            decision: Some(DecisionFacts::default()),
            steps: StepBudget::default(),
        }
    }
}

impl<'s, 't, S> ObjectSet<'s, 't, S> {
    /// The same objects beside other settings.
    pub fn with_settings<'n, N>(&self, settings: &'n N) -> ObjectSet<'n, 't, N>
    where
        's: 'n,
    {
        ObjectSet { inputs: self.inputs, generated: self.generated, context: self.context, settings }
    }

    /// The object of the input with this group, kind, namespace and name. A namespace that is absent on either side is
    /// another one than any that is stated.
    pub fn input(
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

    /// The generated object with this group, kind, namespace and name.
    pub fn generated(
        &self,
        group: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<(usize, &'s GeneratedResource)> {
        let wanted = Identity::new(&format!("{group}/"), kind, namespace, name);
        self.generated.iter().enumerate().find(|(_, object)| object.identity == wanted)
    }
}
