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
mod document;
mod gateway;
pub(crate) mod input;
mod multi_role;
mod object_metadata;
mod parallelism;
mod raw_patches;
mod references;
mod report;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::Thoroughness;
use crate::codes as shared;
use crate::codes::import as codes;
use crate::options::Options;
use crate::options::render;
use crate::pipeline::policy::needed_options;
use crate::pipeline::{Compilation, compile_as, read_options};
use crate::trace::change::FieldChange;
use document::{DocumentBuilder, EngineSettings, Supplied, role_flags, user_flags};
use input::ParsedObject;
use kubefoundry_diagnostics::source::{Purpose, Source, SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Findings, ObjectRef, Severity};
use kubefoundry_kubernetes::api_group::{AIRUNWAY, API_GROUPS, ApiGroup};
use kubefoundry_kubernetes::pod_security::PodPolicy;
use kubefoundry_kubernetes::wire::{Describe as _, Shape};
use kubefoundry_model::draft::{Draft, Equivalents, ImportSource, Refinement, string_at, string_entries_at};
use kubefoundry_model::engines::ImportedFlag;
use kubefoundry_model::provider::Provider;
use kubefoundry_model::wire::ModelDeployment;
use kubefoundry_transform::codes::NAME_TOO_LONG;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::text::one_of;
use report::{KEEP, Omission, ResidueReport};

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
#[non_exhaustive]
pub struct RefusedObject {
    /// The object.
    pub object: ObjectRef,
    /// Why it was not imported.
    pub reason: String,
}

/// An imported object and the ModelDeployment that renders it.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    pub model_deployment: Value,
    /// The differences between the imported objects and the rendering.
    pub residue: Vec<Residue>,
}

/// A field that differs between an imported object and the rendering.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Residue {
    /// The object that has the field.
    pub object: ObjectRef,
    /// The field.
    pub path: String,
    /// The imported value; `None` if only the rendering has the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<Value>,
    /// The rendered value; `None` if only the imported object has the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rendered: Option<Value>,
}

/// Imports every object of the input that a provider can read. The options must be those of the run that will render
/// the result.
///
/// ```
/// use kubefoundry_diagnostics::source::SourceSet;
/// use kubefoundry_compiler::import::import;
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kaito.sh/v1beta1
/// kind: Workspace
/// metadata: {name: phi}
/// resource: {count: 1, instanceType: Standard_NC24ads_A100_v4, labelSelector: {matchLabels: {apps: phi}}}
/// inference: {preset: {name: microsoft/Phi-4-mini-instruct}}
/// ");
/// let import = import(&sources);
/// assert!(!import.has_errors() && import.imported[0].residue.is_empty());
/// let deployment = &import.imported[0].model_deployment;
/// assert_eq!(deployment["spec"]["model"]["id"], "microsoft/Phi-4-mini-instruct");
/// assert_eq!(deployment["spec"]["provider"]["overrides"]["instanceType"], "Standard_NC24ads_A100_v4");
/// ```
pub fn import(sources: &SourceSet) -> ImportReport {
    import_with(sources, &ImportSettings::default())
}

/// Imports like [`import`], and objects that no ModelDeployment renders for another provider, which is named. Only Dynamo
/// can take over such an object: KAITO's `MultiRoleInference`.
pub fn import_to(sources: &SourceSet, provider_to: Option<&str>) -> ImportReport {
    import_with(sources, &ImportSettings { provider_to, ..ImportSettings::default() })
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
/// use kubefoundry_compiler::import::{ImportSettings, import_with};
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
/// let import = import_with(&sources, &settings);
/// assert!(import.imported[0].residue.is_empty());
/// let patch = &import.imported[0].model_deployment["spec"]["provider"]["overrides"]["patches"][0];
/// assert_eq!(patch["merge"]["spec"]["updateStrategy"]["type"], "RollingUpdate");
/// ```
pub fn import_with(sources: &SourceSet, import_settings: &ImportSettings<'_>) -> ImportReport {
    let mut diagnostics = Vec::new();
    let options = read_options(sources, &mut diagnostics);
    if diagnostics.iter().any(|finding| finding.severity == Severity::Error) {
        // The import renders its result with these options, so invalid options prevent it.
        return ImportReport { imported: Vec::new(), refused: Vec::new(), diagnostics };
    }
    // With `strict`, every warning about the residue would be an error.
    let options = Options { strict: false, ..options };
    let texts = input::parse_texts(sources, &mut diagnostics);
    let mut objects = input::objects(&texts);
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
            match kubefoundry_model::providers::find(multi_role::PROVIDER) {
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
        let kinds: Vec<&str> = input::importable_kinds().map(|(_, kind)| kind).collect();
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

/// Comes between an object and the reason in the message of an error.
const CANNOT_BE_IMPORTED: &str = " cannot be imported: ";

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

/// The objects of a namespace that are not imported themselves.
#[derive(Default)]
struct NamespaceObjects<'o> {
    objects: Vec<&'o ParsedObject<'o>>,
    values: Vec<&'o Value>,
}

/// Imports one object. It renders deployments in order to compare them.
struct Importer<'s> {
    /// The sources with options and CRDs.
    settings: Vec<&'s Source>,
    provider: &'static dyn Provider,
    crd_version: Option<String>,
    /// What the options allow pods to do.
    policy: PodPolicy,
    /// Whether residue becomes raw patches.
    with_patches: bool,
}

/// The result of rendering a deployment.
struct RenderedDeployment {
    objects: Vec<Value>,
    reason: Option<String>,
    /// The name of the Service that answers requests.
    service: Option<String>,
}

/// An object as a ModelDeployment.
struct Conversion {
    draft: Draft,
    deployment: Value,
    rendering: RenderedDeployment,
    omissions: Vec<Omission>,
}

/// The reason why a draft does not become a deployment.
enum Refusal {
    /// The deployment would have these errors.
    Invalid(Vec<Diagnostic>),
    /// The end of the sentence `<object> cannot be imported: `.
    Reason(String),
}

impl<'s> Importer<'s> {
    fn new(
        sources: &'s SourceSet,
        provider: &'static dyn Provider,
        object: &ParsedObject<'_>,
        policy: &PodPolicy,
        settings: &ImportSettings<'_>,
    ) -> Self {
        // In `airunway.ai`, there are no patches.
        let with_patches = settings.with_patches && api_group_of(&object.value).name != AIRUNWAY;
        let sources = sources.iter().map(|(_, source)| source);
        // Rendering in the CRD version of the object avoids differences that only come from another version.
        let version =
            string_at(&object.value, "/apiVersion").filter(|version| provider.info().crd_versions.contains(version));
        Self {
            settings: sources
                .filter(|source| matches!(source.purpose, Purpose::Options | Purpose::Crds | Purpose::ModelConfig))
                .collect(),
            provider,
            crd_version: version.map(str::to_owned),
            policy: policy.clone(),
            with_patches,
        }
    }

    /// Renders a deployment, or returns the errors.
    fn render(&self, deployment: &Value) -> Result<RenderedDeployment, Vec<Diagnostic>> {
        let mut sources = SourceSet::default();
        for Source { purpose, name, text, is_found, .. } in &self.settings {
            let id = sources.add_for(*purpose, name.clone(), text.clone());
            sources.set_found(id, *is_found);
        }
        let mut render = json!({"apiVersion": render::API_VERSION, "kind": "Render"});
        render["strict"] = json!(false);
        // The owner is not known yet.
        render["ownerReferences"] = json!(false);
        // An import reports what its pods need. Only who renders it can allow that.
        render["policy"] = json!({"podSecurity": "privileged"});
        if let Some(crd_version) = &self.crd_version {
            render["crdVersions"] =
                Value::Object(Map::from_iter([(self.provider.name().to_owned(), json!(crd_version))]));
        }
        sources.add_for(Purpose::Options, "crdVersion", render.to_string());
        sources.add("import.json", deployment.to_string());
        let compilation: Compilation = compile_as(&sources, Thoroughness::Needed);
        if compilation.has_errors() {
            let is_error = |finding: &Diagnostic| finding.severity == Severity::Error;
            return Err(compilation.diagnostics.into_iter().filter(is_error).collect());
        }
        let decision = compilation.decisions.first();
        let reason = decision.and_then(|decision| decision.reason().map(str::to_owned));
        let endpoint = decision.and_then(|decision| decision.endpoint.as_ref());
        Ok(RenderedDeployment {
            service: endpoint.map(|endpoint| endpoint.service.clone()),
            objects: compilation.outputs.into_iter().map(|output| output.object).collect(),
            reason,
        })
    }

    /// Renders a deployment and imports the result again.
    fn reread(&self, deployment: &Value) -> Option<Draft> {
        let objects = self.render(deployment).ok()?.objects;
        let siblings: Vec<&Value> = objects.iter().collect();
        let main = objects.last()?;
        self.provider.import(&ImportSource { object: main, siblings: &siblings }).ok()
    }

    /// Imports the object, and reports assumptions, omissions and the residue. Returns `None` after reporting why the
    /// object cannot be imported.
    fn import(
        &self,
        object: &ParsedObject<'_>,
        siblings: &NamespaceObjects<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<ImportedDeployment> {
        let reference = object.reference();
        let Conversion { draft, deployment, rendering, omissions } = match self.convert(&object.value, siblings) {
            Ok(result) => result,
            Err(Refusal::Invalid(errors)) => {
                report_refusal(object, &reference, &errors, findings);
                return None;
            }
            Err(Refusal::Reason(why)) => {
                report_not_importable(object, &reference, &why, findings);
                return None;
            }
        };
        let routes = gateway::find_routes(object, &siblings.objects, rendering.service.as_deref());
        let with_gateway = self.add_gateway(&reference.name, &deployment, &routes, &draft);
        let (deployment, rendering, of_gateway, assumption) = match with_gateway {
            Some(with) => (with.deployment, with.rendering, Some(with.parts), with.assumption),
            None => (deployment, rendering, None, None),
        };
        let name = string_at(&deployment, "/metadata/name").unwrap_or_default();
        if name != &*reference.name {
            let service = rendering.service.as_ref().map_or(String::new(), |service| format!(" at Service {service}"));
            let message = format!(
                "{} is too long for the names that {} derives from it: the import is called {name}, so that clients reach \
                 the model{service}",
                reference.name,
                self.provider.display_name()
            );
            let at = object.base.key("metadata").key("name");
            findings
                .report(&codes::IMPORT_RENAMES, &at, message)
                .help("choose another short name if you like, and update the clients");
        }
        report_assumptions(object, &deployment, &draft.assumptions, findings);
        report_assumptions(object, &deployment, assumption.as_slice(), findings);
        for (message, help) in &draft.resolutions {
            findings.report(&codes::IMPORT_RESOLVES, &object.base, message.as_str()).help(*help);
        }
        let options = needed_options(&rendering.objects, &self.policy);
        if !options.is_empty() {
            let message = format!(
                "the pods of {} {} need {} in the options, which an import does not write",
                reference.kind,
                reference.name,
                options.join(" and ")
            );
            findings
                .report(&codes::IMPORT_NEEDS_POLICY, &object.base, message)
                .help("add it to the options with which you render the result, if you allow pods to do this");
        }
        let mut parts: Vec<&ParsedObject<'_>> =
            draft.owned_siblings.iter().filter_map(|part| siblings.objects.get(*part).copied()).collect();
        parts.extend(of_gateway.iter().flatten());
        // Routes that no deployment renders are residue, but no part.
        let part_count = parts.len();
        parts.extend(routes.iter().filter(|_| of_gateway.is_none()));
        let mut equivalents = draft.equivalents;
        equivalents.default_flags.extend(parallelism::default_sizes(draft.engine));
        if let Some(message) = config_map_names::unify_names(&parts, &rendering.objects, &mut equivalents) {
            findings
                .report(&codes::IMPORT_RESOLVES, &object.base, message)
                .help("delete the old one when nothing else reads it");
        }
        let (deployment, rendering) = if self.with_patches {
            let imported = std::iter::once(&object.value).chain(parts.iter().map(|part| &part.value)).collect();
            self.add_patches(deployment, rendering, imported, &equivalents)
        } else {
            (deployment, rendering)
        };
        let mut report = ResidueReport { equivalents: &equivalents, omissions: &omissions, explained: BTreeSet::new() };
        let residue = report.run(object, &parts, &rendering.objects, findings);
        // The residue shows a flag only where the object is an argument.
        // With patches, an object may have what the ModelDeployment leaves out all the same.
        let is_equal = self.with_patches && residue.is_empty();
        for omission in report.unexplained().filter(|_| !is_equal) {
            let message = format!("{} is not imported: {}", omission.path, omission.reason);
            findings.report(&codes::NOT_IMPORTED, &object.base, message).help(KEEP);
        }
        Some(ImportedDeployment {
            source: object.source,
            document: object.document,
            object: reference,
            parts: parts.into_iter().take(part_count).map(ParsedObject::reference).collect(),
            model_deployment: deployment,
            residue,
        })
    }

    /// Adds raw patches for what the rendering lacks to a deployment. Patches that are refused are left out, for example of
    /// what a field decides.
    fn add_patches(
        &self,
        deployment: Value,
        rendering: RenderedDeployment,
        imported: Vec<&Value>,
        equivalents: &Equivalents,
    ) -> (Value, RenderedDeployment) {
        let (matched, _) = report::match_objects(imported.iter().copied(), &rendering.objects);
        let pairs: Vec<(&Value, &Value)> =
            imported.into_iter().zip(matched).filter_map(|(imported, rendered)| Some((imported, rendered?))).collect();
        let patches = raw_patches::patches_of(&pairs, equivalents);
        if patches.is_empty() {
            return (deployment, rendering);
        }
        let mut patched = deployment.clone();
        patched["spec"]["provider"]["name"] = json!(self.provider.name());
        patched["spec"]["provider"]["overrides"]["patches"] = Value::Array(patches);
        for _ in 0..MAX_PATCH_TRIALS {
            let errors = match self.render(&patched) {
                Ok(rendering) => return (patched, rendering),
                Err(errors) => errors,
            };
            let Some(smaller) = raw_patches::without_refused(&patched, &errors, &rendering.objects) else { break };
            patched = smaller;
        }
        (deployment, rendering)
    }

    /// Imports a `MultiRoleInference` for this provider. Every object changes, which the residue has: the imported ones are
    /// not rendered, and those that are rendered are new.
    fn import_multi_role(
        &self,
        object: &ParsedObject<'_>,
        siblings: &NamespaceObjects<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<ImportedDeployment> {
        let reference = object.reference();
        let mut omissions = Vec::new();
        let read = match multi_role::read(&object.value, &siblings.values) {
            Ok(read) => read,
            Err(why) => {
                report_not_importable(object, &reference, &why, findings);
                return None;
            }
        };
        let (deployment, rendering) = match self.remove_refused_parts(read.deployment, &mut omissions) {
            Ok(result) => result,
            Err(errors) => {
                report_refusal(object, &reference, &errors, findings);
                return None;
            }
        };
        report_assumptions(object, &deployment, &read.assumptions, findings);
        let parts: Vec<&ParsedObject<'_>> =
            read.config_maps.iter().filter_map(|part| siblings.objects.get(*part).copied()).collect();
        let equivalents = kubefoundry_model::draft::Equivalents::default();
        let mut report = ResidueReport { equivalents: &equivalents, omissions: &omissions, explained: BTreeSet::new() };
        let residue = report.run(object, &parts, &rendering.objects, findings);
        Some(ImportedDeployment {
            source: object.source,
            document: object.document,
            object: reference,
            parts: parts.into_iter().map(ParsedObject::reference).collect(),
            model_deployment: deployment,
            residue,
        })
    }

    /// Converts an object to a ModelDeployment. If its name is too long, the ModelDeployment gets a shorter one.
    fn convert(&self, object: &Value, siblings: &NamespaceObjects<'_>) -> Result<Conversion, Refusal> {
        let convert = |object: &Value| {
            let subject = ImportSource { object, siblings: &siblings.values };
            let mut draft = self.provider.import(&subject).map_err(|why| Refusal::Reason(why.to_string()))?;
            let api_group = api_group_of(object);
            object_metadata::keep_user_metadata(object, &mut draft);
            retain_overrides_of_group(&mut draft, &self.provider.info().overrides, api_group);
            let conversion = self.convert_draft(object, draft)?;
            Ok(if api_group.name == AIRUNWAY { conversion } else { self.refine(object, conversion) })
        };
        let is_too_long = |refusal: &Refusal| match refusal {
            Refusal::Invalid(errors) => errors.iter().any(|error| error.code.id == NAME_TOO_LONG.id),
            Refusal::Reason(_) => false,
        };
        let name = string_at(object, "/metadata/name").unwrap_or_default();
        let mut result = convert(object);
        for length in SHORTER_NAMES.into_iter().filter(|length| *length < name.len()) {
            if !result.as_ref().is_err_and(is_too_long) {
                break;
            }
            let mut renamed = object.clone();
            renamed["metadata"]["name"] = json!(shorten(name, length));
            result = convert(&renamed);
        }
        result
    }

    /// Lets the provider add to the draft what the rendering shows to be missing.
    fn refine(&self, object: &Value, mut conversion: Conversion) -> Conversion {
        let original = compare::comparable_form(object);
        for _ in 0..MAX_REFINEMENTS {
            let Some(main) = conversion.rendering.objects.iter().find(|it| it.get("kind") == object.get("kind")) else {
                break;
            };
            let mut draft = conversion.draft.clone();
            let equivalents = draft.equivalents.clone();
            let refinement = Refinement {
                object: &original,
                rendering: &compare::comparable_form(main),
                differs: &|one, other| compare::values_differ(one, other, &equivalents),
            };
            if !self.provider.refine(&refinement, &mut draft) {
                break;
            }
            // What the provider adds may be more than a deployment can say.
            let Ok(refined) = self.convert_draft(object, draft) else { break };
            conversion = refined;
        }
        conversion
    }

    /// Converts a draft to a ModelDeployment, or returns the errors with which that is refused.
    fn convert_draft(&self, object: &Value, draft: Draft) -> Result<Conversion, Refusal> {
        let mut omissions = Vec::new();
        let (deployment, rendering) = self.build_deployment(object, &draft, &mut omissions)?;
        Ok(Conversion { draft, deployment, rendering, omissions })
    }

    /// Builds the ModelDeployment of a draft. Returns it with its rendering, or the errors with which it is refused.
    ///
    /// A rendering adds flags and variables on its own, which the ModelDeployment must not repeat. Rendering a minimal
    /// deployment and importing the result shows them.
    fn build_deployment(
        &self,
        object: &Value,
        draft: &Draft,
        omissions: &mut Vec<Omission>,
    ) -> Result<(Value, RenderedDeployment), Refusal> {
        let api_group = api_group_of(object);
        let metadata = metadata(object, api_group);
        let settings = EngineSettings::from_draft(draft);
        let is_hugging_face = is_hugging_face(object);
        let provider_name = Some(self.provider.name());
        let build = |settings: &EngineSettings, has_default_caching, provider, with_image, supplied: &Supplied| {
            let metadata = &metadata;
            DocumentBuilder {
                api_group,
                metadata,
                draft,
                settings,
                provider,
                with_image,
                supplied,
                has_default_caching,
                is_hugging_face,
            }
            .document()
        };
        let nothing = Supplied::default();
        let reread = |settings: &EngineSettings, has_default_caching| {
            self.reread(&build(settings, has_default_caching, provider_name, draft.image.is_some(), &nothing))
        };
        let settings = &settings.keep_deprecated_switch(draft, |settings| reread(settings, true));
        // Not every provider renders a flag for a default of the API group.
        let sets_default = settings.prefix_caching.is_some() && settings.prefix_caching == api_group.prefix_caching;
        let has_default_caching = !sets_default
            || reread(settings, true)
                .is_some_and(|reread| EngineSettings::from_draft(&reread).prefix_caching == settings.prefix_caching);
        let build = |provider, with_image, supplied: &Supplied| {
            build(settings, has_default_caching, provider, with_image, supplied)
        };
        let minimal = self.reread(&build(provider_name, !draft.has_default_image, &nothing));
        let is_default = minimal.as_ref().is_some_and(|minimal| minimal.image == draft.image);
        let with_image = draft.image.is_some() && !(draft.has_default_image && is_default);
        let minimal = if with_image { self.reread(&build(provider_name, true, &nothing)) } else { minimal };
        let added_flags = minimal.as_ref().map_or_else(Vec::new, |minimal| {
            minimal.workers.iter().map(|worker| worker.flags.clone()).collect::<Vec<Vec<ImportedFlag>>>()
        });
        let mut supplied = Supplied::default();
        supplied.divide_env(draft, minimal.as_ref());
        supplied.flags = user_flags(&settings.rest, &added_flags);
        if draft.workers.len() > 1 {
            supplied.role_flags = role_flags(&settings.rest, &added_flags, &supplied.flags);
        }
        let reread = |sizes: &Supplied| self.reread(&build(provider_name, with_image, sizes));
        parallelism::write_sizes(draft, &settings.rest, &mut supplied, reread).map_err(Refusal::Reason)?;
        // The provider is provider_name only if automatic selection would give another one.
        let reason = string_entries_at(object, "/metadata/annotations").remove(&api_group.label("selected-reason"));
        if let Some(Value::String(reason)) = reason {
            let deployment = build(None, with_image, &supplied);
            if let Ok(rendering) = self.render(&deployment)
                && rendering.reason.as_deref() == Some(reason.as_str())
            {
                return Ok((deployment, rendering));
            }
        }
        self.remove_refused_parts(build(provider_name, with_image, &supplied), omissions).map_err(Refusal::Invalid)
    }

    /// Removes the flags, variables and other separable parts for which a deployment is refused. Returns the deployment
    /// with its rendering, or the errors if other parts cause them.
    fn remove_refused_parts(
        &self,
        mut deployment: Value,
        omissions: &mut Vec<Omission>,
    ) -> Result<(Value, RenderedDeployment), Vec<Diagnostic>> {
        loop {
            let errors = match self.render(&deployment) {
                Ok(rendering) => return Ok((deployment, rendering)),
                Err(errors) => errors,
            };
            let parts = errors.iter().map(|error| {
                let path = &error.location.as_ref()?.path;
                // Removing a parallel size would change how the engine is distributed.
                let is_removable = error.code.id != shared::PARALLELISM_EXCEEDS_GPUS.id;
                Some((separable_part(path).filter(|_| is_removable)?, error))
            });
            let Some(parts) = parts.collect::<Option<BTreeMap<FieldPath, &Diagnostic>>>() else { return Err(errors) };
            let mut root: Node<'static> = Node::from(&deployment).to_owned_node();
            let count_before = omissions.len();
            // Removing from the end keeps the positions of earlier list items.
            for (path, error) in parts.iter().rev() {
                let is_removed = FieldChange::remove(path.clone()).apply(&mut root);
                let reason = format!("{} ({})", error.message, error.code.id);
                omissions.extend(is_removed.then(|| Omission { path: path.clone(), reason }));
            }
            if omissions.len() == count_before {
                return Err(errors);
            }
            deployment = root.to_json();
            remove_empty_lists(&mut deployment);
        }
    }
}

/// How often refused patches are left out. Each time needs a rendering.
const MAX_PATCH_TRIALS: usize = 20;

/// How often a provider may add to a draft. Each time needs a rendering.
const MAX_REFINEMENTS: usize = 3;

/// Removes the lists and mappings of a specification in which nothing is left. In overrides, they may mean something.
fn remove_empty_lists(deployment: &mut Value) {
    let Some(spec) = deployment.get_mut("spec").and_then(Value::as_object_mut) else { return };
    spec.retain(|_, value| {
        !(value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty))
    });
}

/// Removes the overrides that an API group does not have. They stay in the residue.
fn retain_overrides_of_group(draft: &mut Draft, shape: &Shape, api_group: &ApiGroup) {
    let Shape::Object(overrides) = shape else { return };
    let is_outside = |key: &str| overrides.field(key).is_some_and(|it| it.facets.not_in.contains(&api_group.name));
    draft.overrides.retain(|key, _| !is_outside(key));
}

/// The lengths of the names that are tried in place of one that is too long.
const SHORTER_NAMES: [usize; 4] = [40, 32, 24, 16];

/// Returns a name of at most `length` characters: the start of a longer one, and a part of its hash, so that two names
/// with the same start stay different.
fn shorten(name: &str, length: usize) -> String {
    let hash = format!("{:016x}", kubefoundry_yaml::fingerprint::fnv1a_64(name.as_bytes()));
    let hash = hash.get(..HASH_LENGTH).unwrap_or(&hash);
    let start: String = name.chars().take(length.saturating_sub(HASH_LENGTH + 1)).collect();
    format!("{}-{hash}", start.trim_end_matches(['-', '.']))
}

/// The characters of a hash in a shortened name.
const HASH_LENGTH: usize = 5;

/// Returns the API group of the labels and annotations on an object, or the default group if it has none of them.
fn api_group_of(object: &Value) -> &'static ApiGroup {
    let has_markers = |api_group: &&ApiGroup| {
        let annotations = string_entries_at(object, "/metadata/annotations");
        let labels = string_entries_at(object, "/metadata/labels");
        annotations.contains_key(&api_group.label("model-deployment"))
            || labels.contains_key(&api_group.label("managed-by"))
    };
    API_GROUPS.iter().find(has_markers).unwrap_or(kubefoundry_kubernetes::api_group::DEFAULT)
}

/// Returns whether an object identifies its model as a HuggingFace model.
fn is_hugging_face(object: &Value) -> bool {
    let labels = string_entries_at(object, "/metadata/labels");
    labels.iter().any(|(key, value)| key.ends_with("/model-source") && value.as_str() == Some("huggingface"))
}

/// Returns the part of a deployment that can be removed without affecting the rest: a flag, a variable or a label.
fn separable_part(path: &FieldPath) -> Option<FieldPath> {
    // The model may be on a volume.
    if path.starts_with(&ModelDeployment::path().spec().model().storage()) {
        return None;
    }
    if let Some(entry) = object_metadata::entry_at(path) {
        return Some(entry);
    }
    let mut part = FieldPath::root();
    let mut shape = ModelDeployment::SHAPE;
    for segment in path.segments() {
        let is_entry = matches!(shape, Shape::List(_) | Shape::Map(_));
        part = match segment {
            Segment::Key(key) => {
                if let Shape::Object(object) = shape {
                    shape = object.field(key)?.full_shape();
                }
                part.with_key(key.clone())
            }
            Segment::Index(index) => part.with_index(*index),
        };
        if is_entry {
            return Some(part);
        }
    }
    None
}

/// Returns the metadata of the ModelDeployment: the name, the namespace, and the labels that a rendering copies.
fn metadata(object: &Value, api_group: &ApiGroup) -> Value {
    let mut metadata = Map::new();
    for field in ["name", "namespace"] {
        if let Some(value) = string_at(object, &format!("/metadata/{field}")) {
            metadata.insert(field.to_owned(), json!(value));
        }
    }
    let mut labels = string_entries_at(object, "/metadata/labels");
    let markers = ["managed-by", "model-source"].map(|name| api_group.label(name));
    labels.retain(|key, _| key.starts_with(api_group.label_prefix) && !markers.contains(key));
    if !labels.is_empty() {
        metadata.insert("labels".to_owned(), Value::Object(labels));
    }
    Value::Object(metadata)
}

/// Reports the values that an object does not state.
fn report_assumptions(
    object: &ParsedObject<'_>,
    deployment: &Value,
    assumptions: &[(FieldPath, &'static str)],
    findings: &mut Findings<'_>,
) {
    for (field, why) in assumptions {
        let value = deployment.pointer(&field.json_pointer()).cloned().unwrap_or_default();
        let message = format!("{field}: {value} is a placeholder: {why}");
        findings.report(&codes::IMPORT_ASSUMES, &object.base, message).help("replace it with the value that you want");
    }
}

/// Reports why no ModelDeployment can express an object.
fn report_not_importable(object: &ParsedObject<'_>, reference: &ObjectRef, why: &str, findings: &mut Findings<'_>) {
    let message = format!("{} {}{CANNOT_BE_IMPORTED}{why}", reference.kind, reference.name);
    let finding = findings.report(&codes::NOT_IMPORTABLE, &object.base, message);
    if reference.kind.as_ref() == multi_role::KIND {
        finding.help("`kubefoundry import --to dynamo` imports its model for Dynamo");
    }
}

/// Reports why the imported deployment cannot be rendered.
fn report_refusal(
    object: &ParsedObject<'_>,
    reference: &ObjectRef,
    errors: &[Diagnostic],
    findings: &mut Findings<'_>,
) {
    let reasons: Vec<String> = errors.iter().map(|error| format!("{} ({})", error.message, error.code.id)).collect();
    let ObjectRef { kind, name, .. } = reference;
    let message =
        format!("{kind} {name}{CANNOT_BE_IMPORTED}its ModelDeployment would be refused: {}", reasons.join("; "));
    // The helps of the errors name fields of the ModelDeployment, which the reader does not have.
    findings
        .report(&codes::NOT_IMPORTABLE, &object.base, message)
        .help("correct this in the object, or write the ModelDeployment yourself");
}
