//! `/validate`: what `kubefoundry lint` says of the object. Errors refuse it; warnings reach the client beside the
//! answer.

use std::collections::BTreeSet;

use kube::core::GroupVersionKind;
use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::codes;
use kubefoundry_compiler::session::{Evaluation, PriorChoice};
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_diagnostics::{Code, Diagnostic, Severity};
use kubefoundry_model::providers;
use kubefoundry_model::wire::ModelDeployment;
use serde_json::Value;

use super::allow_list;
use super::review::{Request, Verdict, line};
use super::server::Evaluators;

/// Maximum number of errors in a response; more would not be read.
const MAX_ERRORS: usize = 100;

/// Errors that are no mistake of the object, and pass: the deployment is stored, and waits (OP-1.3).
const PASSING: &[&Code] = &[&codes::NO_HEALTHY_PROVIDER];

/// Errors that say nothing as long as no provider is known at all, as before the first one has registered.
const WITHOUT_PROVIDERS: &[&Code] = &[&codes::UNKNOWN_PROVIDER, &codes::NO_COMPATIBLE_PROVIDER];

/// Errors that say nothing as long as a provider is not ready: it may be the one.
const WITH_UNREADY_PROVIDERS: &[&Code] = &[&codes::NO_COMPATIBLE_PROVIDER];

/// What is answered, and what is still to be asked before it is.
pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    /// What the deployment becomes, when that may be something else than before.
    pub(super) creates: Creates,
}

/// What is created in the name of the user.
#[derive(Debug, PartialEq)]
pub(super) enum Creates {
    /// Nothing that was not there.
    Nothing,
    /// It is not known yet which provider is used.
    Unknown,
    /// An object of this kind.
    Kind(GroupVersionKind),
}

impl Outcome {
    fn only(verdict: Verdict) -> Self {
        Self { verdict, creates: Creates::Nothing }
    }
}

/// Answers about a ModelDeployment. `allowed` are the providers of its namespace's list, where it has one.
///
/// What is stored with errors stays changeable in everything but its specification, and can be deleted: finalizers go
/// by an update.
pub(super) fn deployment(request: &Request, evaluators: &Evaluators, allowed: Option<&[String]>) -> Outcome {
    let Some(written) = request.written().filter(|_| !request.is_going()) else {
        return Outcome::only(Verdict::allow());
    };
    let stored = request.stored();
    if !request.changes_spec() {
        let errors = |object| Findings::of(&evaluate(evaluators, object, stored, None).1, evaluators).errors;
        let mut errors_now = errors(written);
        if !errors_now.is_empty() {
            let before = stored.map(errors).unwrap_or_default();
            errors_now.retain(|error| !before.contains(error));
        }
        // Warnings were said when it was written.
        return Outcome::only(verdict(request, Findings { errors: errors_now, warnings: Vec::new() }));
    }
    let (evaluation, diagnostics) = evaluate(evaluators, written, stored, allowed);
    let Findings { mut errors, warnings } = Findings::of(&diagnostics, evaluators);
    let provider = evaluation.provider();
    if let Some(allowed) = allowed.filter(|_| provider.is_none() && !errors.is_empty()) {
        errors.push((
            ModelDeployment::path().spec().provider().name().to_string(),
            allow_list::choice(&request.namespace, allowed),
        ));
    }
    if let Some(refusal) = provider.and_then(|name| allow_list::refusal(name, &request.namespace, allowed)) {
        let mut lines = vec![refusal];
        lines.extend(errors.iter().take(MAX_ERRORS).map(|(field, message)| line(field, message)));
        return Outcome::only(Verdict::forbid(&lines.join("\n")).warn(warnings));
    }
    let creates = match (evaluation.objects.last().and_then(kind_of), provider) {
        (Some(kind), _) => Creates::Kind(kind),
        // The controller of a third party makes what it wants, with rights of its own.
        (None, Some(name)) if providers::find(name).is_none() => Creates::Nothing,
        _ => Creates::Unknown,
    };
    let verdict = verdict(request, Findings { errors, warnings });
    let creates = if verdict.is_allowed() { creates } else { Creates::Nothing };
    Outcome { verdict, creates }
}

/// Answers about an InferenceProviderConfig.
pub(super) fn configuration(request: &Request) -> Outcome {
    let Some(written) = request.written().filter(|_| !request.is_going()) else {
        return Outcome::only(Verdict::allow());
    };
    let mut findings = configuration_findings(written);
    if !request.changes_spec() {
        let before = request.stored().map(configuration_findings).unwrap_or_default();
        findings.errors.retain(|error| !before.errors.contains(error));
        findings.warnings.clear();
    }
    Outcome::only(verdict(request, findings))
}

fn configuration_findings(object: &Value) -> Findings {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    let mut sources = SourceSet::default();
    sources.add("object.json", object.to_string());
    let found = kubefoundry_compiler::compile(&sources, Thoroughness::EveryRule).diagnostics.into_iter();
    // There is nothing to render in a configuration.
    let found =
        found.filter(|found| found.code.id != codes::NO_MODEL_DEPLOYMENT.id && found.severity != Severity::Info);
    let (errors, warnings): (Vec<_>, Vec<_>) = found.partition(|found| found.severity == Severity::Error);
    Findings { errors: errors.iter().map(cause).collect(), warnings: warnings.iter().map(said).collect() }
}

/// A field and what is said of it.
type Cause = (String, String);

/// Errors that refuse, and warnings. Infos are for `lint`: kubectl shows all that comes with every write.
#[derive(Default)]
struct Findings {
    errors: Vec<Cause>,
    warnings: Vec<String>,
}

impl Findings {
    fn of(diagnostics: &[Diagnostic], evaluators: &Evaluators) -> Self {
        let session = &evaluators.session;
        let has_providers = session.provider_names().next().is_some();
        let is_unready = |name| session.catalog().get(name).is_some_and(|provider| provider.ready == Some(false));
        let has_unready = session.provider_names().any(is_unready);
        let mut findings = Self::default();
        for found in diagnostics {
            let is = |codes: &[&Code]| codes.iter().any(|code| code.id == found.code.id);
            // The configuration of a provider is not for the author of a deployment to mend.
            let is_foreign = found.object.as_ref().is_some_and(|object| &*object.kind != kubefoundry_model::wire::KIND);
            let passes = is_foreign
                || is(PASSING)
                || (!has_providers && is(WITHOUT_PROVIDERS))
                || (has_unready && is(WITH_UNREADY_PROVIDERS));
            if found.severity == Severity::Error && !passes {
                findings.errors.push(cause(found));
            } else if found.severity != Severity::Info && !findings.warnings.contains(&said(found)) {
                findings.warnings.push(said(found));
            }
        }
        findings
    }
}

/// What a deployment comes to, and all that is to be said of it: by the provider that it was given before, where it
/// names none, or by one that is allowed.
fn evaluate(
    evaluators: &Evaluators,
    deployment: &Value,
    stored: Option<&Value>,
    allowed: Option<&[String]>,
) -> (Evaluation, Vec<Diagnostic>) {
    let text = |object: &Value, at| {
        object.pointer(at).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let session = &evaluators.session;
    if text(deployment, "/spec/provider/name").is_none() {
        let chosen = stored.and_then(|stored| {
            let reason = text(stored, "/status/provider/selectedReason").unwrap_or_default();
            Some(PriorChoice { provider: text(stored, "/status/provider/name")?, reason })
        });
        if let Some(chosen) = chosen {
            let evaluation = session.evaluate(deployment, Some(&chosen));
            let diagnostics = evaluation.diagnostics.clone();
            return (evaluation, diagnostics);
        }
        if let Some(allowed) = allowed {
            // It knows the providers; what is installed of them the other session knows.
            let selected = (evaluators.among)(allowed).validate(deployment, Thoroughness::EveryRule);
            let decision = selected.decision.as_ref();
            let chosen = decision.and_then(|decision| {
                let reason = decision.reason().unwrap_or_default().to_owned();
                Some(PriorChoice { provider: decision.provider()?.to_owned(), reason })
            });
            let Some(chosen) = chosen else {
                let diagnostics = selected.diagnostics.clone();
                return (selected, diagnostics);
            };
            let evaluation = session.evaluate(deployment, Some(&chosen));
            let mut diagnostics = selected.diagnostics;
            let more = evaluation.diagnostics.iter().filter(|more| !diagnostics.contains(more)).cloned();
            diagnostics.extend(more.collect::<Vec<_>>());
            return (evaluation, diagnostics);
        }
    }
    let evaluation = session.validate(deployment, Thoroughness::EveryRule);
    let diagnostics = evaluation.diagnostics.clone();
    (evaluation, diagnostics)
}

fn cause(found: &Diagnostic) -> Cause {
    let field = found.location.as_ref().map(|location| location.path.to_string()).unwrap_or_default();
    let help = found.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    (field, format!("{}{help} [{}]", found.message, found.code.id))
}

/// The same without advice: warnings are short.
fn said(found: &Diagnostic) -> String {
    let field = found.location.as_ref().map(|location| location.path.to_string()).unwrap_or_default();
    // The code first: it is what is left of a warning that is cut off.
    format!("[{}] {}", found.code.id, line(&field, &found.message))
}

fn verdict(request: &Request, findings: Findings) -> Verdict {
    let Findings { errors, warnings } = findings;
    let mut seen = BTreeSet::new();
    let mut errors: Vec<Cause> = errors.into_iter().filter(|error| seen.insert(error.clone())).collect();
    if errors.len() > MAX_ERRORS {
        let more = errors.len() - MAX_ERRORS;
        errors.truncate(MAX_ERRORS);
        errors.push((String::new(), format!("and {more} more: see kubefoundry lint")));
    }
    let verdict = if errors.is_empty() { Verdict::allow() } else { Verdict::invalid(request, &errors) };
    verdict.warn(warnings)
}

fn kind_of(object: &Value) -> Option<GroupVersionKind> {
    let (group, version) = object.get("apiVersion")?.as_str()?.split_once('/')?;
    Some(GroupVersionKind::gvk(group, version, object.get("kind")?.as_str()?))
}
