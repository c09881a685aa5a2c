//! Imports one object: converts it, adds what belongs to it, and reports what is left.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::conversion::Conversion;
use super::importer::{Importer, NamespaceObjects, RenderedDeployment};
use super::input::ParsedObject;
use super::refusal::Refusal;
use super::report::{self, KEEP, ResidueReport};
use super::{ImportedDeployment, config_map_names, gateway, multi_role, parallelism, raw_patches};
use kubefoundry_compiler::codes::import as codes;
use kubefoundry_compiler::pipeline::pod_policy::needed_options;
use kubefoundry_diagnostics::Findings;
use kubefoundry_provider::draft::{Equivalents, string_at};
use kubefoundry_yaml::field_path::FieldPath;

impl Importer<'_> {
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
        let equivalents = Equivalents::default();
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
