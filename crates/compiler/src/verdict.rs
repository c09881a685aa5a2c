//! Decides one deployment for one cluster: whether it may run there, which provider runs it, and whose fault it is if
//! none does. The webhook, the selector and the controllers of the providers all ask here, so they agree in the
//! decision and in its words.

use kubefoundry_diagnostics::{Code, Diagnostic};
use kubefoundry_model::select::PriorChoice;
use serde_json::Value;

use crate::codes;
use crate::pipeline::{Evaluation, Thoroughness};
use crate::session::Session;

/// The annotation of a namespace that lists the providers its deployments may use, separated by commas
/// (docs/specification.md OP-7.5). It has the same prefix in every API group.
pub const ALLOWED_PROVIDERS: &str = "kubefoundry.ai/allowed-providers";

/// The providers that a namespace allows.
///
/// ```
/// use kubefoundry_compiler::verdict::AllowList;
/// let list = AllowList::parse("ml", Some(" kaito, dynamo,"));
/// assert!(list.allows("kaito") && !list.allows("kuberay"));
/// assert!(AllowList::parse("ml", None).allows("kuberay"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowList {
    namespace: String,
    /// Absent where all are allowed.
    providers: Option<Vec<String>>,
}

impl AllowList {
    /// Reads the annotation [`ALLOWED_PROVIDERS`] of a namespace: without one all providers are allowed, with an empty
    /// one none is.
    #[must_use]
    pub fn parse(namespace: &str, annotation: Option<&str>) -> Self {
        let names =
            |list: &str| list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Self { namespace: namespace.to_owned(), providers: annotation.map(names) }
    }

    /// Returns whether deployments of the namespace may use a provider.
    #[must_use]
    pub fn allows(&self, provider: &str) -> bool {
        self.providers.as_ref().is_none_or(|list| list.iter().any(|name| name == provider))
    }

    /// Returns the allowed providers; `None` when all are.
    #[must_use]
    pub fn providers(&self) -> Option<&[String]> {
        self.providers.as_deref()
    }

    /// Explains that a provider is not allowed, or that no allowed provider can be selected if `provider` is absent.
    #[must_use]
    pub fn refusal(&self, provider: Option<&str>) -> String {
        let list = self.providers.as_deref().unwrap_or_default();
        let list = if list.is_empty() { "none".to_owned() } else { list.join(", ") };
        let namespace = &self.namespace;
        let what = provider.map_or_else(
            || format!("No provider can be selected in namespace '{namespace}'"),
            |provider| format!("Provider '{provider}' is not allowed in namespace '{namespace}'"),
        );
        format!("{what}, which allows: {list} (annotation {ALLOWED_PROVIDERS})")
    }
}

/// What follows for a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Its provider runs it.
    Runs,
    /// Its specification has errors, which have to be fixed first.
    Invalid,
    /// The namespace does not allow its provider, or any that could run it.
    NotAllowed,
    /// No provider can be selected.
    NoProvider,
    /// The selected provider cannot run it.
    Incompatible,
}

/// The decision about a deployment.
#[derive(Debug)]
pub struct Verdict {
    /// What follows.
    pub outcome: Outcome,
    /// The provider and the reason of its selection; absent where none could be selected.
    pub choice: Option<PriorChoice>,
    /// Why the deployment does not run, one line for each error; empty for [`Outcome::Runs`].
    pub message: String,
    /// The evaluation with this choice.
    pub evaluation: Evaluation,
    /// All findings: those of the evaluation, and those of the selection among the allowed providers.
    pub diagnostics: Vec<Diagnostic>,
}

impl Verdict {
    /// Returns the errors, in the order of the report.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|finding| finding.severity == kubefoundry_diagnostics::Severity::Error)
    }

    /// Returns whether an error has this code.
    #[must_use]
    pub fn has_error(&self, code: &Code) -> bool {
        self.errors().any(|error| error.code.id == code.id)
    }
}

/// The cluster in which deployments are decided.
#[derive(Clone, Copy)]
pub struct Cluster<'c> {
    /// The options, provider configurations and CRDs.
    pub session: &'c Session,
    /// Returns a session that selects among these providers only.
    pub restrict: &'c dyn Fn(&[String]) -> Session,
    /// What the namespace of the deployment allows.
    pub allowed: &'c AllowList,
    /// Which rules are checked.
    pub thoroughness: Thoroughness,
}

impl Cluster<'_> {
    /// Decides a deployment. A selection stays until the user names another provider: `prior` is the one that was made
    /// before, and is ignored where the specification names another.
    ///
    /// ```
    /// use kubefoundry_composition::BUILTIN;
    /// use kubefoundry_compiler::Thoroughness;
    /// use kubefoundry_compiler::session::{Providers, Session};
    /// use kubefoundry_compiler::verdict::{AllowList, Cluster, Outcome};
    /// use kubefoundry_diagnostics::source::SourceSet;
    /// use serde_json::json;
    /// let session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
    /// let allowed = AllowList::parse("ml", Some("kaito"));
    /// let restrict = |_: &[String]| session.clone();
    /// let cluster =
    ///     Cluster { session: &session, restrict: &restrict, allowed: &allowed, thoroughness: Thoroughness::Needed };
    /// let mut phi = json!({
    ///     "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment",
    ///     "metadata": {"name": "phi", "namespace": "ml"},
    ///     "spec": {
    ///         "model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "provider": {"name": "kaito"},
    ///         "resources": {"gpu": {"count": 1}},
    ///     },
    /// });
    /// assert_eq!(cluster.decide(&phi, None).outcome, Outcome::Runs);
    /// phi["spec"]["provider"]["name"] = json!("dynamo");
    /// let verdict = cluster.decide(&phi, None);
    /// assert_eq!(verdict.outcome, Outcome::NotAllowed);
    /// assert!(verdict.message.starts_with("Provider 'dynamo' is not allowed in namespace 'ml'"));
    /// ```
    #[must_use]
    pub fn decide(&self, deployment: &Value, prior: Option<&PriorChoice>) -> Verdict {
        let named = named_provider(deployment);
        let prior = prior.filter(|prior| named.is_none_or(|named| named == prior.provider));
        let evaluation = self.evaluate(deployment, prior);
        let choice = choice_of(&evaluation);
        let is_free = named.is_none() && prior.is_none();
        let reselects = is_free && choice.as_ref().is_none_or(|choice| !self.allowed.allows(&choice.provider));
        match self.allowed.providers().filter(|_| reselects && !has_specification_error(&evaluation)) {
            Some(allowed) => self.decide_among(allowed, deployment, evaluation),
            None => self.conclude(evaluation, choice, Vec::new()),
        }
    }

    fn evaluate(&self, deployment: &Value, prior: Option<&PriorChoice>) -> Evaluation {
        match prior {
            None => self.session.validate(deployment, self.thoroughness),
            Some(prior) => self.session.evaluate(deployment, Some(prior)),
        }
    }

    /// Selects among the allowed providers, because the best one of all is not allowed. The restricted session only
    /// selects: the other one knows the installed CRDs, and renders.
    fn decide_among(&self, allowed: &[String], deployment: &Value, unrestricted: Evaluation) -> Verdict {
        let selected = (self.restrict)(allowed).validate(deployment, self.thoroughness);
        match choice_of(&selected) {
            Some(choice) if self.allowed.allows(&choice.provider) => {
                let evaluation = self.evaluate(deployment, Some(&choice));
                self.conclude(evaluation, Some(choice), selected.diagnostics)
            }
            // The allow list does not matter for what no provider can run.
            _ if choice_of(&unrestricted).is_none() => self.conclude(unrestricted, None, Vec::new()),
            _ => Verdict {
                outcome: Outcome::NotAllowed,
                choice: None,
                message: self.allowed.refusal(None),
                diagnostics: selected.diagnostics.clone(),
                evaluation: selected,
            },
        }
    }

    /// Concludes what follows from an evaluation. `earlier` are findings of the selection before it.
    fn conclude(&self, evaluation: Evaluation, choice: Option<PriorChoice>, earlier: Vec<Diagnostic>) -> Verdict {
        let mut diagnostics = earlier;
        let more: Vec<Diagnostic> =
            evaluation.diagnostics.iter().filter(|more| !diagnostics.contains(more)).cloned().collect();
        diagnostics.extend(more);
        let messages = || {
            let mut messages: Vec<&str> = evaluation.errors().map(|error| error.message.as_str()).collect();
            messages.dedup();
            messages.join("\n")
        };
        let refused = choice.as_ref().filter(|choice| !self.allowed.allows(&choice.provider));
        let (outcome, message) = if has_specification_error(&evaluation) {
            (Outcome::Invalid, messages())
        } else if let Some(choice) = refused {
            (Outcome::NotAllowed, self.allowed.refusal(Some(&choice.provider)))
        } else if choice.is_none() {
            let message = messages();
            let message = if message.is_empty() { "No provider can be selected".to_owned() } else { message };
            (Outcome::NoProvider, message)
        } else if evaluation.has_errors() {
            (Outcome::Incompatible, messages())
        } else {
            (Outcome::Runs, String::new())
        };
        Verdict { outcome, choice, message, evaluation, diagnostics }
    }
}

/// Returns the provider that the specification of a deployment names.
#[must_use]
pub fn named_provider(deployment: &Value) -> Option<&str> {
    deployment.pointer("/spec/provider/name").and_then(Value::as_str).filter(|name| !name.is_empty())
}

/// Returns the selection that the status of a deployment records.
#[must_use]
pub fn recorded_choice(deployment: &Value) -> Option<PriorChoice> {
    let text = |path: &str| deployment.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty());
    let reason = text("/status/provider/selectedReason").unwrap_or_default().to_owned();
    Some(PriorChoice { provider: text("/status/provider/name")?.to_owned(), reason })
}

fn choice_of(evaluation: &Evaluation) -> Option<PriorChoice> {
    let decision = evaluation.decision.as_ref()?;
    let reason = decision.reason().unwrap_or_default().to_owned();
    Some(PriorChoice { provider: decision.provider()?.to_owned(), reason })
}

/// Returns whether the specification of the deployment has an error, whatever the provider. The areas of codes
/// are ordered by stage: reading, models and engines come before selection, rendering and what follows.
fn has_specification_error(evaluation: &Evaluation) -> bool {
    evaluation.errors().any(|error| error.code.id < codes::NO_HEALTHY_PROVIDER.id)
}

#[cfg(test)]
mod tests {
    use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    use serde_json::json;

    use kubefoundry_composition::BUILTIN;

    use super::*;
    use crate::session::Providers;

    fn phi(provider: &str, engine: &str, gpus: u32) -> Value {
        json!({
            "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment",
            "metadata": {"name": "phi", "namespace": "ml", "uid": "u"},
            "spec": {
                "model": {"id": "org/phi"}, "engine": {"type": engine}, "provider": {"name": provider},
                "resources": {"gpu": {"count": gpus}},
            },
        })
    }

    /// Decides with the built-in providers; `crds` is a dump of CRDs, empty where it is unknown which are installed.
    fn decide(deployment: &Value, annotation: Option<&str>, prior: Option<&PriorChoice>, crds: &str) -> Verdict {
        let mut sources = SourceSet::default();
        if !crds.is_empty() {
            sources.add_for(Purpose::Crds, "installed", crds);
        }
        let session = Session::new(&BUILTIN, &sources, Providers::All).unwrap();
        let restrict = |allowed: &[String]| {
            let mut sources = SourceSet::default();
            for name in allowed {
                sources.add(
                    format!("{name}.yaml"),
                    format!(
                        "apiVersion: kubefoundry.ai/v1alpha1\nkind: InferenceProviderConfig\nmetadata: {{name: {name}}}\n\
                         spec:\n  capabilities: {{engines: [vllm], servingModes: [aggregated], gpuSupport: true}}\n  \
                         selectionRules: [{{condition: \"true\", priority: 1}}]\n"
                    ),
                );
            }
            Session::new(&BUILTIN, &sources, Providers::Configured).unwrap()
        };
        let allowed = AllowList::parse("ml", annotation);
        let cluster =
            Cluster { session: &session, restrict: &restrict, allowed: &allowed, thoroughness: Thoroughness::Needed };
        cluster.decide(deployment, prior)
    }

    fn chosen_before(provider: &str) -> PriorChoice {
        PriorChoice { provider: provider.to_owned(), reason: "chosen before".to_owned() }
    }

    fn summary(verdict: &Verdict) -> (Outcome, Option<&str>, &str) {
        (verdict.outcome, verdict.choice.as_ref().map(|choice| &*choice.provider), &verdict.message)
    }

    #[test]
    fn each_fault_has_its_outcome() {
        let none = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinitionList", "items": []}"#;
        for (deployment, crds, expected) in [
            (phi("kaito", "vllm", 1), "", (Outcome::Runs, Some("kaito"), "")),
            (
                phi("kaito", "vllm", 0),
                "",
                (Outcome::Invalid, Some("kaito"), "vLLM engine requires GPU (set resources.gpu.count > 0)"),
            ),
            (
                phi("kaito", "sglang", 1),
                "",
                (Outcome::Incompatible, Some("kaito"), "KAITO does not support sglang engine"),
            ),
            (
                phi("kaito", "vllm", 1),
                none,
                (Outcome::Incompatible, Some("kaito"), "Provider 'kaito' CRD not installed in cluster"),
            ),
        ] {
            assert_eq!(summary(&decide(&deployment, None, None, crds)), expected, "{deployment}");
        }
        let unknown = decide(&phi("nope", "vllm", 1), None, None, "");
        assert_eq!((unknown.outcome, unknown.has_error(&codes::UNKNOWN_PROVIDER)), (Outcome::NoProvider, true));
    }

    #[test]
    fn a_choice_is_made_among_the_allowed_providers() {
        let free = phi("", "vllm", 1);
        assert_eq!(summary(&decide(&free, None, None, "")), (Outcome::Runs, Some("dynamo"), ""));
        let restricted = decide(&free, Some("kaito"), None, "");
        assert_eq!(summary(&restricted), (Outcome::Runs, Some("kaito"), ""));
        assert_eq!(restricted.evaluation.objects.last().unwrap()["kind"], "Workspace");
        let refusal = "No provider can be selected in namespace 'ml', which allows: none (annotation kubefoundry.ai/allowed-providers)";
        assert_eq!(summary(&decide(&free, Some(""), None, "")), (Outcome::NotAllowed, None, refusal));
    }

    /// The operator keeps a verdict for the choice that it made.
    #[test]
    fn a_choice_that_was_made_before_leads_to_the_same_objects() {
        for (deployment, allowed) in [
            (phi("", "vllm", 1), None),
            (phi("", "vllm", 2), Some("kaito, kuberay")),
            (phi("kuberay", "vllm", 1), None),
            (phi("", "trtllm", 4), None),
            (phi("dynamo", "sglang", 2), None),
        ] {
            let first = decide(&deployment, allowed, None, "");
            assert_eq!(first.outcome, Outcome::Runs, "{deployment}");
            let Verdict { evaluation, .. } = decide(&deployment, allowed, first.choice.as_ref(), "");
            assert_eq!(evaluation.objects, first.evaluation.objects, "{deployment}");
            assert_eq!(choice_of(&evaluation), first.choice, "{deployment}");
        }
    }

    #[test]
    fn a_choice_stays_until_the_user_names_another_provider() {
        let kaito = chosen_before("kaito");
        assert_eq!(summary(&decide(&phi("", "vllm", 1), None, Some(&kaito), "")).1, Some("kaito"));
        assert_eq!(summary(&decide(&phi("dynamo", "vllm", 1), None, Some(&kaito), "")).1, Some("dynamo"));
        // An allow list that came later forbids it, and does not select another one.
        let forbidden = decide(&phi("", "vllm", 1), Some("dynamo"), Some(&kaito), "");
        assert_eq!((forbidden.outcome, summary(&forbidden).1), (Outcome::NotAllowed, Some("kaito")));
    }
}
