//! Evaluates a deployment: its desired objects, or why there are none.

use kubefoundry_compiler::codes;
use kubefoundry_compiler::session::{PriorChoice, Session};
use kubefoundry_diagnostics::Diagnostic;
use serde_json::Value;

use super::{ReconcileRequest, objects};
use crate::names::{IDENTITY_HASH, RENDERED_HASH};

/// The desired objects of a deployment.
#[derive(Debug)]
pub(super) struct Desired {
    /// The objects as rendered: supporting ones first, the main one last.
    pub(super) rendered: Vec<Value>,
    /// The main object as applied: with the hashes as annotations.
    main: Value,
    /// The hash of the rendered objects.
    pub(super) hash: String,
    /// The hash of the fields whose change requires a new main object.
    pub(super) identity: String,
}

impl Desired {
    /// Returns the object in which the provider runs the model, as applied.
    pub(super) fn main(&self) -> &Value {
        &self.main
    }

    /// Returns the objects that the main one refers to, such as ConfigMaps.
    pub(super) fn supporting(&self) -> &[Value] {
        self.rendered.split_last().map_or(&[], |(_, supporting)| supporting)
    }

    /// Returns all objects as applied, in the order of `rendered`.
    pub(super) fn objects(&self) -> impl Iterator<Item = &Value> {
        self.supporting().iter().chain([&self.main])
    }
}

/// The result of an evaluation.
#[derive(Debug)]
pub(super) enum RenderResult {
    Rendered(Desired),
    /// The namespace does not allow the provider.
    NotAllowed(String),
    /// The provider cannot run the deployment: reason and message of the condition.
    Incompatible(&'static str, String),
    /// The deployment has errors.
    Invalid(String),
}

impl ReconcileRequest<'_> {
    /// Renders the deployment for this provider, with the reason of its selection from the status.
    pub(super) fn evaluate(&self, session: &Session) -> RenderResult {
        let (provider, namespace) = (self.context.provider, self.deployment.namespace());
        if !self.shared().namespaces.allow(namespace, provider.name()) {
            let name = provider.name();
            return RenderResult::NotAllowed(format!("namespace '{namespace}' does not allow provider '{name}'"));
        }
        let chosen = PriorChoice {
            provider: provider.name().to_owned(),
            reason: objects::text(&self.value, "/status/provider/selectedReason").to_owned(),
        };
        let mut evaluation = session.evaluate(&self.value, Some(&chosen));
        let errors: Vec<&Diagnostic> = evaluation.errors().collect();
        if !errors.is_empty() {
            return result_of_errors(&errors);
        }
        let Some(main) = evaluation.objects.last() else {
            return RenderResult::Invalid("the deployment renders to no object".to_owned());
        };
        let api_group = self.shared().api_group;
        let hash = objects::rendered_hash(&evaluation.objects);
        let identity = session.identity_hash(&self.value, provider.name()).unwrap_or_default();
        let mut main = main.clone();
        objects::annotate(&mut main, api_group.label(IDENTITY_HASH), &identity);
        objects::annotate(&mut main, api_group.label(RENDERED_HASH), &hash);
        RenderResult::Rendered(Desired { rendered: std::mem::take(&mut evaluation.objects), main, hash, identity })
    }
}

/// Separates errors of the provider from errors that the deployment has with any provider.
fn result_of_errors(errors: &[&Diagnostic]) -> RenderResult {
    let mut messages: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
    messages.dedup();
    let messages = messages.join("; ");
    if errors.iter().any(|error| *error.code == codes::CRD_NOT_INSTALLED) {
        RenderResult::Incompatible("CRDNotInstalled", messages)
    } else if errors.iter().any(|error| is_provider_error(error.code.id)) {
        RenderResult::Incompatible("Incompatible", messages)
    } else {
        RenderResult::Invalid(messages)
    }
}

/// Whether a code belongs to selection, translation, conformance or one provider (KF04 to KF08).
fn is_provider_error(id: &str) -> bool {
    id.get(..4).is_some_and(|family| ("KF04"..="KF08").contains(&family))
}

#[cfg(test)]
mod tests {
    use kubefoundry_compiler::session::Providers;
    use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    use serde_json::json;

    use super::*;

    fn render_result(spec: &Value, provider: &str, crds: &str) -> RenderResult {
        let mut sources = SourceSet::default();
        if !crds.is_empty() {
            sources.add_for(Purpose::Crds, "installed", crds);
        }
        let session = Session::new(&sources, Providers::All).unwrap();
        let deployment = json!({
            "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment",
            "metadata": {"name": "phi", "namespace": "ml", "uid": "u"}, "spec": spec,
        });
        let chosen = PriorChoice { provider: provider.to_owned(), reason: "so".to_owned() };
        let evaluation = session.evaluate(&deployment, Some(&chosen));
        result_of_errors(&evaluation.errors().collect::<Vec<_>>())
    }

    #[test]
    fn tells_errors_of_the_deployment_from_those_of_the_provider() {
        let spec = |engine: &str, gpus: i32| json!({"model": {"id": "org/phi"}, "engine": {"type": engine}, "resources": {"gpu": {"count": gpus}}});
        let none = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinitionList", "items": []}"#;
        for (spec, crds, expected) in [
            (spec("vllm", 0), "", ("Invalid", "vLLM engine requires GPU (set resources.gpu.count > 0)")),
            (spec("sglang", 1), "", ("Incompatible", "KAITO does not support sglang engine")),
            (spec("vllm", 1), none, ("CRDNotInstalled", "Provider 'kaito' CRD not installed in cluster")),
        ] {
            let found = match render_result(&spec, "kaito", crds) {
                RenderResult::Invalid(message) => ("Invalid", message),
                RenderResult::Incompatible(reason, message) => (reason, message),
                other => panic!("{other:?}"),
            };
            assert_eq!((found.0, found.1.as_str()), expected, "{spec}");
        }
    }
}
