//! Imports objects of providers, for example handwritten ones, as ModelDeployments that render them.
//!
//! ```text
//! text ─ objects ─ Provider::import ─ Draft ─┬─ rendered bare ─ flags that a rendering adds ──────┐
//!                                            └───────────────────── minus ───────────────────────┴─ ModelDeployment
//! ModelDeployment ─ rendered ─ compared with the imported objects ─ residue
//! ```
//! Comparing the rendering with the imported objects shows every field that a ModelDeployment cannot express. A
//! provider does not have to report them, so none is forgotten.

pub mod compare;
mod config_map_names;
mod conversion;
mod document;
mod gateway;
mod import_object;
mod importer;
pub(crate) mod input;
mod multi_role;
mod object_metadata;
mod parallelism;
mod raw_patches;
mod references;
mod refusal;
mod report;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use importer::{Importer, NamespaceObjects};
use input::ParsedObject;
use kubefoundry_compiler::codes as shared;
use kubefoundry_compiler::codes::import as codes;
use kubefoundry_compiler::options::Options;
use kubefoundry_compiler::pipeline::read_options;
use kubefoundry_diagnostics::source::{SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Findings, ObjectRef, Severity};
use kubefoundry_model::composition::Composition;
use kubefoundry_provider::draft::string_at;
use kubefoundry_yaml::text::one_of;
use refusal::{CANNOT_BE_IMPORTED, report_not_importable};

/// The result of an import. Objects that cannot be imported have errors, and the others are imported all the same.
#[derive(Debug)]
#[non_exhaustive]
pub struct ImportReport {
    /// The imported objects, in input order.
    pub imported: Vec<ImportedDeployment>,
    /// The objects that were not imported, in input order.
    pub refused: Vec<RefusedObject>,
    /// The findings, ordered by file, place and code.
    pub diagnostics: Vec<Diagnostic>,
}

impl ImportReport {
    /// Returns whether the findings include an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|finding| finding.severity == Severity::Error)
    }
}

/// An object that was not imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RefusedObject {
    /// The object.
    pub object: ObjectRef,
    /// Why it was not imported.
    pub reason: String,
}

/// An imported object and the ModelDeployment that renders it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ImportedDeployment {
    /// The source text.
    #[serde(skip)]
    pub source: SourceId,
    /// The position of the document in the text.
    #[serde(skip)]
    pub document: usize,
    /// The object.
    pub object: ObjectRef,
    /// Further objects that the ModelDeployment renders.
    pub parts: Vec<ObjectRef>,
    /// The ModelDeployment.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, Value>"))]
    pub model_deployment: Value,
    /// The differences between the imported objects and the rendering.
    pub residue: Vec<Residue>,
}

/// A field that differs between an imported object and the rendering.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Residue {
    /// The object that has the field.
    pub object: ObjectRef,
    /// The field; empty if the object as a whole differs.
    pub path: String,
    /// The imported value; absent if only the rendering has the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<Value>,
    /// The rendered value; absent if only the imported object has the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rendered: Option<Value>,
}

/// Imports every object of the input that a provider can read. The options must be those of the run that will render
/// the result.
///
/// ```
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_diagnostics::source::SourceSet;
/// use kubefoundry_convert::import::import;
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kaito.sh/v1beta1
/// kind: Workspace
/// metadata: {name: phi}
/// resource: {count: 1, instanceType: Standard_NC24ads_A100_v4, labelSelector: {matchLabels: {apps: phi}}}
/// inference: {preset: {name: microsoft/Phi-4-mini-instruct}}
/// ");
/// let import = import(&BUILTIN, &sources);
/// assert!(!import.has_errors() && import.imported[0].residue.is_empty());
/// let deployment = &import.imported[0].model_deployment;
/// assert_eq!(deployment["spec"]["model"]["id"], "microsoft/Phi-4-mini-instruct");
/// assert_eq!(deployment["spec"]["provider"]["overrides"]["instanceType"], "Standard_NC24ads_A100_v4");
/// ```
pub fn import(composition: &'static Composition, sources: &SourceSet) -> ImportReport {
    import_with(composition, sources, &ImportSettings::default())
}

/// How objects are imported.
#[derive(Debug, Clone, Copy, Default)]
pub struct ImportSettings<'s> {
    /// The provider for objects that no ModelDeployment renders. Only Dynamo can take over such an object: KAITO's
    /// `MultiRoleInference`.
    pub provider_to: Option<&'s str>,
    /// Whether raw patches say what no field says, so that a rendering equals the imported object.
    pub with_patches: bool,
}

/// Imports like [`import`], with settings.
///
/// ```
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_convert::import::{ImportSettings, import_with};
/// use kubefoundry_diagnostics::source::SourceSet;
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kaito.sh/v1beta1
/// kind: InferenceSet
/// metadata: {name: phi}
/// spec:
///   replicas: 1
///   updateStrategy: {type: RollingUpdate}
///   labelSelector: {matchLabels: {apps: phi}}
///   template:
///     resource: {instanceType: Standard_NC24ads_A100_v4}
///     inference: {preset: {name: microsoft/Phi-4-mini-instruct}}
/// ");
/// let settings = ImportSettings { with_patches: true, ..ImportSettings::default() };
/// let import = import_with(&BUILTIN, &sources, &settings);
/// assert!(import.imported[0].residue.is_empty());
/// let patch = &import.imported[0].model_deployment["spec"]["provider"]["overrides"]["patches"][0];
/// assert_eq!(patch["merge"]["spec"]["updateStrategy"]["type"], "RollingUpdate");
/// ```
pub fn import_with(
    composition: &'static Composition,
    sources: &SourceSet,
    import_settings: &ImportSettings<'_>,
) -> ImportReport {
    let mut diagnostics = Vec::new();
    let options = read_options(composition, sources, &mut diagnostics);
    if diagnostics.iter().any(|finding| finding.severity == Severity::Error) {
        // The import renders its result with these options, so invalid options prevent it.
        return ImportReport { imported: Vec::new(), refused: Vec::new(), diagnostics };
    }
    // With `strict`, every warning about the residue would be an error.
    let options = Options { strict: false, ..options };
    let texts = input::parse_texts(sources, &mut diagnostics);
    let mut objects = input::objects(composition, &texts);
    let replaced = resolve_references(&mut objects);
    // An object and its parts are in the same namespace.
    let mut namespaces: BTreeMap<Option<&str>, Vec<&ParsedObject<'_>>> = BTreeMap::new();
    for object in objects.iter().filter(|object| object.provider().is_none()) {
        namespaces.entry(object.namespace()).or_default().push(object);
    }
    let namespaces: BTreeMap<Option<&str>, NamespaceObjects<'_>> = namespaces
        .into_iter()
        .map(|(namespace, objects)| {
            let values = objects.iter().map(|object| &object.value).collect();
            (namespace, NamespaceObjects { objects, values })
        })
        .collect();
    let no_objects = NamespaceObjects::default();
    let mut deployments = Vec::new();
    let mut refused = Vec::new();
    let mut names = BTreeMap::new();
    let mut has_candidates = false;
    for (object, replaced) in objects.iter().zip(&replaced) {
        if let Some(why) = object.unsupported_kind() {
            has_candidates = true;
            let mut findings = Findings::new(object.scope());
            let is_movable = string_at(&object.value, "/kind") == Some(multi_role::KIND);
            match composition.find_provider(multi_role::PROVIDER) {
                Some(other) if is_movable && import_settings.provider_to == Some(multi_role::PROVIDER) => {
                    let siblings = namespaces.get(&object.namespace()).unwrap_or(&no_objects);
                    let importer = Importer::new(sources, other, object, &options.policy, import_settings);
                    deployments.extend(importer.import_multi_role(object, siblings, &mut findings));
                }
                _ => report_not_importable(object, &object.reference(), &why, &mut findings),
            }
            let found = findings.into_diagnostics();
            refused.extend(RefusedObject::from_findings(object, &found));
            diagnostics.extend(found);
        }
        let Some(provider) = object.provider() else { continue };
        has_candidates = true;
        let mut findings = Findings::new(object.scope());
        let siblings = namespaces.get(&object.namespace()).unwrap_or(&no_objects);
        let parts: Vec<ParsedObject<'_>> =
            provider.split(&object.value).into_iter().map(|part| object.with_value(part)).collect();
        let count = parts.len();
        let single = if parts.is_empty() { vec![object] } else { parts.iter().collect() };
        for part in single {
            let importer = Importer::new(sources, provider, part, &options.policy, import_settings);
            let Some(mut deployment) = importer.import(part, siblings, &mut findings) else { continue };
            if count > 0 {
                note_split(object, count, &mut deployment, &mut findings);
            }
            for message in replaced {
                let reported = findings.report(&codes::IMPORT_RESOLVES, &object.base, message.as_str());
                reported.help("change the argument, too, when you change the variable");
            }
            let new_name = string_at(&deployment.model_deployment, "/metadata/name").unwrap_or_default().to_owned();
            let name = (deployment.object.namespace.clone(), new_name);
            if let Some(other) = names.get(&name) {
                let message = format!("{} becomes a ModelDeployment with the same name as {other}", deployment.object);
                findings
                    .report(&shared::DUPLICATE_MODEL_DEPLOYMENT, &object.base.key("metadata").key("name"), message)
                    .help("import them one by one, and rename one of the ModelDeployments");
            } else {
                names.insert(name, deployment.object.clone());
                deployments.push(deployment);
            }
        }
        let found = findings.into_diagnostics();
        refused.extend(RefusedObject::from_findings(object, &found));
        diagnostics.extend(found);
    }
    if !has_candidates && !diagnostics.iter().any(|finding| finding.severity == Severity::Error) {
        let kinds: Vec<&str> = input::importable_kinds(composition).map(|(_, kind)| kind).collect();
        let message = format!("the input has no object to import, expected {}", one_of(&kinds));
        diagnostics.push(Diagnostic::new(&codes::NOTHING_TO_IMPORT, message));
    }
    let mut diagnostics: Vec<Diagnostic> =
        diagnostics.into_iter().filter_map(|finding| options.adjust(finding)).collect();
    diagnostics.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
    ImportReport { imported: deployments, refused, diagnostics }
}

impl RefusedObject {
    /// Returns the object if its findings have an error.
    fn from_findings(object: &ParsedObject<'_>, findings: &[Diagnostic]) -> Option<Self> {
        let error = findings.iter().find(|finding| finding.severity == Severity::Error)?;
        // The message of the error may begin with the object.
        let reason = error.message.split_once(CANNOT_BE_IMPORTED).map_or(&*error.message, |(_, reason)| reason);
        Some(Self { object: object.reference(), reason: reason.to_owned() })
    }
}

/// Reports that a part of an object became a ModelDeployment of its own, as a residue.
fn note_split(
    object: &ParsedObject<'_>,
    count: usize,
    deployment: &mut ImportedDeployment,
    findings: &mut Findings<'_>,
) {
    let reference = object.reference();
    let name = deployment.model_deployment.pointer("/metadata/name").cloned().unwrap_or_default();
    let message = format!(
        "{} {} serves {count} models: the import renders one object for each, and clients reach this one by the name {name}",
        reference.kind, reference.name
    );
    let at = object.base.key("metadata").key("name");
    findings
        .report(&codes::IMPORT_SPLITS, &at, message)
        .help("move the clients of each model before you delete the object");
    let path = kubefoundry_kubernetes::wire::metadata().name().to_string();
    let given = Some(json!(&*reference.name));
    for entry in deployment.residue.iter_mut().filter(|entry| entry.object.kind == reference.kind) {
        entry.object = reference.clone();
    }
    deployment.residue.insert(0, Residue { object: reference.clone(), path, given, rendered: Some(name) });
    deployment.object = reference;
}

/// Replaces the references to variables in the objects to import. Returns a sentence about each variable, for each
/// object.
fn resolve_references(objects: &mut [ParsedObject<'_>]) -> Vec<Vec<String>> {
    let is_config_map = |object: &&ParsedObject<'_>| string_at(&object.value, "/kind") == Some("ConfigMap");
    let config_maps: Vec<(Option<String>, Value)> = objects
        .iter()
        .filter(is_config_map)
        .map(|object| (object.namespace().map(str::to_owned), object.value.clone()))
        .collect();
    let resolve = |object: &mut ParsedObject<'_>| {
        if object.provider().is_none() {
            return Vec::new();
        }
        let namespace = object.namespace().map(str::to_owned);
        let own: Vec<&Value> =
            config_maps.iter().filter(|(other, _)| *other == namespace).map(|(_, config_map)| config_map).collect();
        references::resolve_references(&mut object.value, &own)
    };
    objects.iter_mut().map(resolve).collect()
}
