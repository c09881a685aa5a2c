//! Migration to another provider: the same model under a new name, beside the running deployment.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::steps::{MigrationStep, StepInputs};
use super::{ServiceAddress, compile_with, joined_messages};
use crate::import::input;
use crate::import::input::ParsedObject;
use kubefoundry_cel::Limits;
use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::codes as shared;
use kubefoundry_compiler::codes::migrate as codes;
use kubefoundry_compiler::options::render::API_VERSION as RENDER_API_VERSION;
use kubefoundry_compiler::pipeline::compile;
use kubefoundry_compiler::pipeline::{Compilation, Decision};
use kubefoundry_deployment::ir::ProviderRequest;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::source::{Purpose, SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Findings, ObjectRef, Severity};
use kubefoundry_model::composition::Composition;
use kubefoundry_model::model_name::requested_model_name;
use kubefoundry_provider::Provider;
use kubefoundry_provider::draft::string_at;
use kubefoundry_yaml::field_path::FieldPath;

/// The result of a migration to another provider. Deployments that cannot be moved have errors, and the others are
/// moved all the same.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProviderMigration {
    /// The migrated deployments, in input order.
    pub moved: Vec<MigratedDeployment>,
    /// The findings, ordered by file, place and code.
    pub diagnostics: Vec<Diagnostic>,
}

impl ProviderMigration {
    /// Returns whether the findings include an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|finding| finding.severity == Severity::Error)
    }
}

/// A ModelDeployment and its replacement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MigratedDeployment {
    /// The source text.
    #[serde(skip)]
    pub source: SourceId,
    /// The position of the document in the text.
    #[serde(skip)]
    pub document: usize,
    /// The current ModelDeployment.
    pub object: ObjectRef,
    /// The current provider.
    pub from: String,
    /// The new provider.
    pub to: String,
    /// Engines and modes that only the current provider supports.
    pub capabilities_lost: Vec<String>,
    /// Fields that lose or change their effect, one line each.
    pub losses: Vec<String>,
    /// The replacement.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, Value>"))]
    pub model_deployment: Value,
    /// The objects that the replacement renders.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<serde_json::Map<String, Value>>"))]
    pub manifests: Vec<Value>,
    /// The steps of the migration, in order.
    pub plan: Vec<MigrationStep>,
}

/// Moves every ModelDeployment of the input to a built-in provider.
///
/// ```
/// use kubefoundry_diagnostics::source::SourceSet;
/// use kubefoundry_convert::migrate::migrate_to_provider;
/// use kubefoundry_composition::BUILTIN;
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec:
///   model: {id: microsoft/Phi-4-mini-instruct}
///   engine: {type: vllm}
///   resources: {gpu: {count: 1}}
/// ");
/// let migration = migrate_to_provider(&BUILTIN, &sources, BUILTIN.find_provider("kuberay").unwrap());
/// assert_eq!(migration.moved[0].from, "dynamo");
/// assert_eq!(migration.moved[0].model_deployment["metadata"]["name"], "phi-kuberay");
/// assert_eq!(migration.moved[0].plan.len(), 4);
/// ```
pub fn migrate_to_provider(
    composition: &'static Composition,
    sources: &SourceSet,
    provider: &'static dyn Provider,
) -> ProviderMigration {
    let mut migration = ProviderMigration { moved: Vec::new(), diagnostics: Vec::new() };
    for (_, view) in sources.views() {
        let ProviderMigration { moved, diagnostics } = migrate_environment(composition, &view, provider);
        migration.moved.extend(moved);
        migration.diagnostics.extend(diagnostics);
    }
    // One environment may have nothing to move, but not all of them.
    let is_empty = |finding: &Diagnostic| finding.code.id == codes::NOTHING_TO_MIGRATE.id;
    if migration.diagnostics.iter().any(|finding| !is_empty(finding)) || !migration.moved.is_empty() {
        migration.diagnostics.retain(|finding| !is_empty(finding));
    }
    migration.diagnostics.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
    migration.diagnostics.dedup();
    migration
}

/// Moves the ModelDeployments of one environment.
fn migrate_environment(
    composition: &'static Composition,
    sources: &SourceSet,
    provider: &'static dyn Provider,
) -> ProviderMigration {
    let mut options_and_input = sources.clone();
    // An input without ModelDeployments has its own finding below.
    let allow_empty = format!("{{apiVersion: {RENDER_API_VERSION}, kind: Render, allowEmpty: true}}\n");
    options_and_input.add_for(Purpose::Options, "migrate", allow_empty);
    let before = compile(composition, &options_and_input, Thoroughness::Everything);
    // Errors that exist before the migration are not its consequences. Deployments without errors are moved.
    let errors: Vec<Diagnostic> =
        before.diagnostics.iter().filter(|finding| finding.severity == Severity::Error).cloned().collect();
    let is_about_input = |error: &Diagnostic| {
        let source = error.location.as_ref().map(|location| options_and_input.get(location.source));
        source.is_some_and(|source| source.purpose == Purpose::Input)
    };
    if !errors.iter().all(is_about_input) {
        return ProviderMigration { moved: Vec::new(), diagnostics: before.diagnostics };
    }
    let has_error = |decision: &Decision| {
        errors.iter().any(|error| {
            let source = error.location.as_ref().map(|location| location.source);
            source == Some(decision.source) && error.object.as_ref() == Some(&decision.object)
        })
    };
    // Compiling has already reported the syntax errors.
    let mut ignored = Vec::new();
    let texts = input::parse_texts(sources, &mut ignored);
    let objects = input::objects(composition, &texts);
    // The configurations of the input apply to the new deployment, too.
    let configs: Vec<&Value> = objects.iter().filter(|object| object.is_config()).map(|object| &object.value).collect();
    let mut diagnostics = Vec::new();
    let mut moved = Vec::new();
    let mut has_deployments = false;
    let models = objects.iter().filter(|object| object.is_model());
    let models: BTreeMap<(SourceId, ObjectRef), &ParsedObject<'_>> =
        models.map(|object| ((object.source, object.reference()), object)).collect();
    let reported_before: BTreeSet<(&str, &str)> =
        before.diagnostics.iter().map(|finding| (finding.code.id, finding.message.as_str())).collect();
    for decision in before.decisions.iter().filter(|decision| decision.selection.is_some()) {
        let Some(object) = models.get(&(decision.source, decision.object.clone())).copied() else {
            let object = &decision.object;
            let message = format!("{object} cannot be migrated: it has no apiVersion and kind of its own");
            let diagnostic = Diagnostic::new(&codes::MIGRATION_REFUSED, message);
            diagnostics.push(diagnostic.help("write apiVersion and kind into each item of the list"));
            has_deployments = true;
            continue;
        };
        has_deployments = true;
        if has_error(decision) {
            continue;
        }
        // A run with errors renders nothing, so the deployment is rendered alone.
        let alone = (!errors.is_empty()).then(|| {
            let documents: Vec<&Value> = configs.iter().copied().chain([&object.value]).collect();
            compile_with(composition, sources, &documents, Thoroughness::Everything)
        });
        let before = alone.as_ref().unwrap_or(&before);
        let mut decisions = before.decisions.iter().filter(|decision| decision.selection.is_some());
        let decision = if alone.is_some() { decisions.next() } else { Some(decision) };
        let Some(decision) = decision.filter(|_| !before.has_errors()) else { continue };
        let mut findings = Findings::new(object.scope());
        let migrator = DeploymentMigrator {
            sources,
            provider,
            before,
            decision,
            object,
            configs: &configs,
            reported_before: &reported_before,
        };
        moved.extend(migrator.run(&mut findings));
        diagnostics.extend(findings.into_diagnostics());
    }
    if !has_deployments && errors.is_empty() {
        let message = "the input has no ModelDeployment to migrate";
        diagnostics.push(Diagnostic::new(&codes::NOTHING_TO_MIGRATE, message));
    }
    let mut diagnostics: Vec<Diagnostic> =
        diagnostics.into_iter().filter_map(|finding| before.options.adjust(finding)).collect();
    diagnostics.extend(errors);
    diagnostics.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
    ProviderMigration { moved, diagnostics }
}

/// Migrates one deployment.
struct DeploymentMigrator<'c> {
    sources: &'c SourceSet,
    provider: &'static dyn Provider,
    before: &'c Compilation,
    decision: &'c Decision,
    object: &'c ParsedObject<'c>,
    configs: &'c [&'c Value],
    /// Codes and messages of the findings before the migration.
    reported_before: &'c BTreeSet<(&'c str, &'c str)>,
}

impl DeploymentMigrator<'_> {
    /// Migrates the deployment. Returns `None` after reporting why the provider cannot run it.
    fn run(&self, findings: &mut Findings<'_>) -> Option<MigratedDeployment> {
        let display = self.provider.display_name();
        let from = self.decision.provider().unwrap_or_default();
        let old = &self.decision.object;
        if from == self.provider.name() {
            let message = format!("{old} already runs on {display}");
            findings.report(&codes::ALREADY_MIGRATED, &self.object.base, message);
            return None;
        }
        let mut losses = Vec::new();
        let new = self.new_deployment(from, &mut losses, findings);
        let documents: Vec<&Value> = self.configs.iter().copied().chain([&new]).collect();
        let after = compile_with(self.object.composition, self.sources, &documents, Thoroughness::Everything);
        if after.has_errors() {
            self.report_refusal(&after, findings);
            return None;
        }
        self.report_losses(&after, &mut losses, findings);
        let decision = after.decisions.iter().find(|decision| decision.selection.is_some())?;
        let old_name = model_name_of(self.before, self.decision);
        let new_name = model_name_of(&after, decision);
        let address = |decision: &Decision| {
            let namespace = decision.object.namespace.as_deref().map(str::to_owned);
            decision.endpoint.clone().map(|endpoint| ServiceAddress { endpoint, namespace })
        };
        let (old_address, new_address) = (address(self.decision), address(decision));
        let engine = ModelDeployment::path().spec().engine().engine_type();
        let engine = string_at(&new, &engine.json_pointer()).unwrap_or_default();
        let inputs = StepInputs {
            old,
            new: &new,
            old_objects: &self.decision.objects,
            new_objects: &decision.objects,
            gpus: decision.gpus.iter().map(|gpus| gpus.count).sum(),
            from: old_address.as_ref(),
            to: new_address.as_ref(),
            names: (old_name, new_name),
        };
        let plan = inputs.steps();
        Some(MigratedDeployment {
            source: self.object.source,
            document: self.object.document,
            object: old.clone(),
            from: from.to_owned(),
            to: self.provider.name().to_owned(),
            capabilities_lost: capabilities_lost(self.object.composition, from, self.provider.name(), engine),
            losses,
            manifests: after.outputs.into_iter().map(|output| output.object).collect(),
            model_deployment: new,
            plan,
        })
    }

    /// Returns the deployment for the new provider: with a new name and without the settings of the old provider.
    fn new_deployment(&self, from: &str, losses: &mut Vec<String>, findings: &mut Findings<'_>) -> Value {
        let (name, display) = (self.provider.name(), self.provider.display_name());
        let old_display = self.object.composition.find_provider(from).map_or(from, |provider| provider.display_name());
        let mut new = self.object.value.clone();
        let mut metadata = Map::new();
        let old_name = string_at(&new, "/metadata/name").unwrap_or_default();
        metadata.insert("name".to_owned(), json!(format!("{old_name}-{name}")));
        for field in ["namespace", "labels", "annotations"] {
            if let Some(value) = new.pointer(&format!("/metadata/{field}")).filter(|value| !value.is_null()) {
                metadata.insert(field.to_owned(), value.clone());
            }
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations
                .retain(|key, _| !key.ends_with("/selected-reason") && !key.starts_with("kubectl.kubernetes.io/"));
        }
        let overrides = new.pointer("/spec/provider/overrides").and_then(Value::as_object).cloned().unwrap_or_default();
        let (kept_metadata, lost_metadata) = divide_metadata(&overrides, self.object.composition.find_provider(from));
        let others = overrides.iter().filter(|(key, _)| *key != METADATA);
        let others =
            others.map(|(key, value)| (ProviderRequest::overrides_path().with_key(key.clone()), value.clone()));
        for (path, value) in others.chain(lost_metadata) {
            let message = format!("{path} is {value}, a setting of {old_display} that is not passed on to {display}");
            self.report(&codes::MIGRATION_LOSES, &path, &message, None, findings);
            losses.push(message);
        }
        let spec = ModelDeployment::path().spec();
        for path in [spec.clone().image(), spec.engine().image()] {
            let image = string_at(&new, &path.json_pointer()).filter(|image| !image.is_empty());
            if let Some(image) = image {
                let message = format!("{path} is {image:?}, an image for {old_display}; it is kept for {display}");
                let help = format!("check that the image contains what {display} starts, or set another one");
                self.report(&codes::MIGRATION_KEEPS, &path, &message, Some(help), findings);
                losses.push(message);
            }
        }
        if let Some(fields) = new.as_object_mut() {
            fields.shift_remove("status");
            fields.insert("metadata".to_owned(), Value::Object(metadata));
            let spec = fields.get_mut("spec").and_then(Value::as_object_mut);
            if let Some(spec) = spec {
                let mut provider = json!({"name": name});
                if !kept_metadata.is_empty() {
                    provider["overrides"] = json!({METADATA: kept_metadata});
                }
                // `provider` follows `model`, as in the declaration of the kind.
                let old_fields = std::mem::take(spec);
                for (key, value) in old_fields.into_iter().filter(|(key, _)| key != "provider") {
                    let is_model = key == "model";
                    spec.insert(key, value);
                    if is_model {
                        spec.insert("provider".to_owned(), provider.clone());
                    }
                }
                spec.entry("provider").or_insert(provider);
            }
        }
        new
    }

    /// Reports each error of the new deployment at the field of the old one.
    fn report_refusal(&self, after: &Compilation, findings: &mut Findings<'_>) {
        let display = self.provider.display_name();
        for error in after.diagnostics.iter().filter(|finding| finding.severity == Severity::Error) {
            let message = format!("{} cannot run on {display}: {}", self.decision.object, joined_messages([error]));
            let path = error.location.as_ref().map(|location| location.path.clone()).unwrap_or_default();
            // The help suggests another provider, which does not apply here.
            let is_capability = [&shared::ENGINE_NOT_SUPPORTED, &shared::MODE_NOT_SUPPORTED].contains(&error.code);
            let help = error.help.clone().filter(|_| !is_capability);
            self.report(&codes::MIGRATION_REFUSED, &path, &message, help, findings);
        }
    }

    /// Reports the warnings that only the new deployment has.
    fn report_losses(&self, after: &Compilation, losses: &mut Vec<String>, findings: &mut Findings<'_>) {
        let display = self.provider.display_name();
        let is_new_warning = |finding: &&Diagnostic| {
            finding.severity == Severity::Warning
                && !self.reported_before.contains(&(finding.code.id, finding.message.as_str()))
        };
        for finding in after.diagnostics.iter().filter(is_new_warning) {
            let message = format!("on {display}: {} ({})", finding.message, finding.code.id);
            let path = finding.location.as_ref().map(|location| location.path.clone()).unwrap_or_default();
            self.report(&codes::MIGRATION_LOSES, &path, &message, finding.help.clone(), findings);
            losses.push(message);
        }
    }

    /// Reports a finding at a field of the old deployment.
    fn report(
        &self,
        code: &'static kubefoundry_diagnostics::Code,
        path: &FieldPath,
        message: &str,
        help: Option<String>,
        findings: &mut Findings<'_>,
    ) {
        let reported = findings.report(code, &self.object.document_path(path), message);
        if let Some(help) = help {
            reported.help(help);
        }
    }
}

/// The override with labels and annotations of the main object, which every provider has.
const METADATA: &str = "metadata";

/// Divides the labels and annotations of a provider's main object into those for any object, and those with the prefix
/// of the provider's API groups, which only its controllers read.
fn divide_metadata(
    overrides: &Map<String, Value>,
    provider: Option<&'static dyn Provider>,
) -> (Map<String, Value>, Vec<(FieldPath, Value)>) {
    let kinds = provider.map_or(&[][..], |provider| provider.info().kinds);
    let is_of_provider = |key: &str| {
        let domain = key.split_once('/').map_or("", |(domain, _)| domain);
        let is_in = |group: &str| domain.strip_suffix(group).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        kinds.iter().any(|kind| kind.is_custom() && is_in(kind.group))
    };
    let path = ProviderRequest::overrides_path().with_key(METADATA);
    let (mut kept, mut lost) = (Map::new(), Vec::new());
    let fields = overrides.get(METADATA).and_then(Value::as_object);
    for (field, entries) in fields.into_iter().flatten() {
        let mut kept_entries = entries.as_object().cloned().unwrap_or_default();
        kept_entries.retain(|key, value| {
            let is_lost = is_of_provider(key);
            lost.extend(is_lost.then(|| (path.key(field.clone()).with_key(key.clone()), value.clone())));
            !is_lost
        });
        if !kept_entries.is_empty() {
            kept.insert(field.clone(), Value::Object(kept_entries));
        }
    }
    (kept, lost)
}

/// Returns the name of the model in requests to the deployment of a decision.
fn model_name_of(run: &Compilation, decision: &Decision) -> Option<String> {
    let belongs_to_decision = |output: &&kubefoundry_compiler::Output| {
        run.decisions.get(output.decision).is_some_and(|other| other.object == decision.object)
    };
    let objects: Vec<&Value> = run.outputs.iter().filter(belongs_to_decision).map(|output| &output.object).collect();
    requested_model_name(run.options.composition.find_provider(decision.provider()?)?, &objects)
}

/// Returns the modes of an engine that only the first of two built-in providers supports. Other engines do not matter to a
/// deployment that does not use them.
fn capabilities_lost(composition: &Composition, from: &str, to: &str, engine: &str) -> Vec<String> {
    let catalog = composition.configuration(Limits::default());
    let capabilities = |name: &str| {
        let candidate = catalog.builtin_candidate(name);
        let engines = candidate.into_iter().flat_map(|candidate| &candidate.engines);
        let engines = engines.filter(|known| known.name == engine);
        let capabilities =
            engines.flat_map(|engine| engine.modes.iter().map(move |mode| format!("{} in {mode} mode", engine.name)));
        capabilities.collect::<Vec<String>>()
    };
    let supported = capabilities(to);
    capabilities(from).into_iter().filter(|capability| !supported.contains(capability)).collect()
}
