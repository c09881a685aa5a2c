//! What an import of one object needs, and how it renders deployments in order to compare them.

use serde_json::{Map, Value, json};

use super::ImportSettings;
use super::input::ParsedObject;
use super::object_metadata::api_group_of;
use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::options::render;
use kubefoundry_compiler::pipeline::{Compilation, compile_as};
use kubefoundry_diagnostics::source::{Purpose, Source, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Severity};
use kubefoundry_kubernetes::api_group::AIRUNWAY;
use kubefoundry_kubernetes::pod_security::PodPolicy;
use kubefoundry_model::composition::Composition;
use kubefoundry_provider::Provider;
use kubefoundry_provider::draft::{Draft, ImportSource, string_at};

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
}
