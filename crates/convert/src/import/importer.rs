//! Imports one object: converts it, adds what belongs to it, and reports what is left.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::conversion::{Conversion, Refusal, api_group_of};
use super::input::ParsedObject;
use super::report::{self, KEEP, ResidueReport};
use super::{ImportSettings, ImportedDeployment, config_map_names, gateway, multi_role, parallelism, raw_patches};
use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::codes::import as codes;
use kubefoundry_compiler::options::render;
use kubefoundry_compiler::pipeline::policy::needed_options;
use kubefoundry_compiler::pipeline::{Compilation, compile_as};
use kubefoundry_diagnostics::source::{Purpose, Source, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Findings, ObjectRef, Severity};
use kubefoundry_kubernetes::api_group::AIRUNWAY;
use kubefoundry_kubernetes::pod_security::PodPolicy;
use kubefoundry_model::composition::Composition;
use kubefoundry_provider::Provider;
use kubefoundry_provider::draft::{Draft, Equivalents, ImportSource, string_at};
use kubefoundry_yaml::field_path::FieldPath;

/// Comes between an object and the reason in the message of an error.
pub(super) const CANNOT_BE_IMPORTED: &str = " cannot be imported: ";

/// The objects of a namespace that are not imported themselves.
#[derive(Default)]
pub(super) struct NamespaceObjects<'o> {
    pub(super) objects: Vec<&'o ParsedObject<'o>>,
    pub(super) values: Vec<&'o Value>,
}

/// Imports one object. It renders deployments in order to compare them.
pub(super) struct Importer<'s> {
    pub(super) composition: &'static Composition,
    /// The sources with options and CRDs.
    pub(super) settings: Vec<&'s Source>,
    pub(super) provider: &'static dyn Provider,
    pub(super) crd_version: Option<String>,
    /// What the options allow pods to do.
    pub(super) policy: PodPolicy,
    /// Whether residue becomes raw patches.
    pub(super) with_patches: bool,
}

/// The result of rendering a deployment.
pub(super) struct RenderedDeployment {
    pub(super) objects: Vec<Value>,
    pub(super) reason: Option<String>,
    /// The name of the Service that answers requests.
    pub(super) service: Option<String>,
}

impl<'s> Importer<'s> {
    pub(super) fn new(
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
            composition: object.composition,
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
    pub(super) fn render(&self, deployment: &Value) -> Result<RenderedDeployment, Vec<Diagnostic>> {
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
        let compilation: Compilation = compile_as(self.composition, &sources, Thoroughness::Needed);
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
    pub(super) fn reread(&self, deployment: &Value) -> Option<Draft> {
        let objects = self.render(deployment).ok()?.objects;
        let siblings: Vec<&Value> = objects.iter().collect();
        let main = objects.last()?;
        self.provider.import(&ImportSource { object: main, siblings: &siblings }).ok()
    }

    /// Imports the object, and reports assumptions, omissions and the residue. Returns `None` after reporting why the
    /// object cannot be imported.
    pub(super) fn import(
        &self,
        object: &ParsedObject<'_>,
        siblings: &NamespaceObjects<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<ImportedDeployment> {
        let reference = object.reference();
        let Conversion { draft, deployment, rendering, omissions } = match self.convert(&object.value, siblings) {
            Ok(result) => result,
            Err(refusal) => {
                refusal.report(object, &reference, findings);
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
        if let Some(message) =
            config_map_names::unify_names(self.composition, &parts, &rendering.objects, &mut equivalents)
        {
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
        let patches = raw_patches::patches_of(self.composition, &pairs, equivalents);
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
    pub(super) fn import_multi_role(
        &self,
        object: &ParsedObject<'_>,
        siblings: &NamespaceObjects<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<ImportedDeployment> {
        let reference = object.reference();
        let mut omissions = Vec::new();
        let converted =
            multi_role::read(&object.value, &siblings.values).map_err(Refusal::Reason).and_then(|mut read| {
                let deployment = std::mem::take(&mut read.deployment);
                let rendered = self.remove_refused_parts(deployment, &mut omissions).map_err(Refusal::Invalid)?;
                Ok((read, rendered))
            });
        let (read, (deployment, rendering)) = match converted {
            Ok(converted) => converted,
            Err(refusal) => {
                refusal.report(object, &reference, findings);
                return None;
            }
        };
        report_assumptions(object, &deployment, &read.assumptions, findings);
        let parts: Vec<&ParsedObject<'_>> =
            read.config_maps.iter().filter_map(|part| siblings.objects.get(*part).copied()).collect();
        let equivalents = kubefoundry_provider::draft::Equivalents::default();
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
}

/// How often refused patches are left out. Each time needs a rendering.
const MAX_PATCH_TRIALS: usize = 20;

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
pub(super) fn report_not_importable(
    object: &ParsedObject<'_>,
    reference: &ObjectRef,
    why: &str,
    findings: &mut Findings<'_>,
) {
    let message = format!("{} {}{CANNOT_BE_IMPORTED}{why}", reference.kind, reference.name);
    let finding = findings.report(&codes::NOT_IMPORTABLE, &object.base, message);
    if reference.kind.as_ref() == multi_role::KIND {
        finding.help("`kubefoundry import --to dynamo` imports its model for Dynamo");
    }
}

/// Reports why the imported deployment cannot be rendered.
pub(super) fn report_refusal(
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
