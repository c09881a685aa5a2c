//! `/validate`: runs the checks of `kubefoundry lint`. Errors refuse the object; warnings go to the client.

use std::collections::BTreeSet;

use kube::core::GroupVersionKind;
use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::codes;
use kubefoundry_compiler::verdict::{AllowList, Cluster, Outcome, Verdict, named_provider, recorded_choice};
use kubefoundry_composition::BUILTIN;
use kubefoundry_controller_runtime::observed::ObjectView;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_diagnostics::{Code, Diagnostic, Severity};
use serde_json::Value;

use super::cluster::Evaluators;
use super::review::{AdmissionRequest, AdmissionResponse, format_cause};

/// Maximum number of errors in a response; more would not be read.
const MAX_ERRORS: usize = 100;

/// Errors that are not the fault of the object. The deployment is stored, and waits (OP-1.3).
const ALWAYS_ADMITTED: &[&Code] = &[&codes::NO_HEALTHY_PROVIDER];

/// Errors without meaning before the first provider has registered.
const WITHOUT_PROVIDERS: &[&Code] = &[&codes::UNKNOWN_PROVIDER, &codes::NO_COMPATIBLE_PROVIDER];

/// Errors without meaning while a provider is not ready, because it may turn out to be compatible.
const WITH_UNREADY_PROVIDERS: &[&Code] = &[&codes::NO_COMPATIBLE_PROVIDER];

/// The result of a validation. The response holds only if the user may create what `creates` says.
pub(super) struct Validation {
    pub(super) admission: AdmissionResponse,
    /// The objects that the deployment renders to, if the request can change them.
    pub(super) creates: Creates,
}

/// The objects that the operator would create on behalf of the user.
#[derive(Debug, PartialEq)]
pub(super) enum Creates {
    /// Nothing new, so no access check is necessary.
    Nothing,
    /// The provider is not known yet.
    Unknown,
    /// Objects of these kinds: the provider's, and those that support it, such as a PersistentVolumeClaim.
    Kinds(Vec<GroupVersionKind>),
}

impl Validation {
    /// Creates a validation that needs no access check.
    fn without_access_check(admission: AdmissionResponse) -> Self {
        Self { admission, creates: Creates::Nothing }
    }
}

/// Validates a ModelDeployment. `allowed` is what its namespace allows.
///
/// An update that keeps the specification passes unless it adds errors. So a deployment that was stored with errors can
/// still be labeled, and deleted: controllers remove finalizers by an update.
pub(super) fn deployment(request: &AdmissionRequest, evaluators: &Evaluators, allowed: &AllowList) -> Validation {
    let Some(object) = request.new_object().filter(|_| !request.is_terminating()) else {
        return Validation::without_access_check(AdmissionResponse::allow());
    };
    let stored = request.stored();
    if !request.changes_spec() {
        let everything = AllowList::parse(&request.namespace, None);
        let errors =
            |object| Findings::new(&decide(evaluators, object, stored, &everything).diagnostics, evaluators).errors;
        let mut new_errors = errors(object);
        if !new_errors.is_empty() {
            let before = stored.map(errors).unwrap_or_default();
            new_errors.retain(|error| !before.contains(error));
        }
        // The warnings were sent when the specification was written.
        return Validation::without_access_check(response(
            request,
            Findings { errors: new_errors, warnings: Vec::new() },
        ));
    }
    let verdict = decide(evaluators, object, stored, allowed);
    let Findings { mut errors, warnings } = Findings::new(&verdict.diagnostics, evaluators);
    let provider = verdict.choice.as_ref().map(|choice| choice.provider.as_str());
    if provider.is_none() && verdict.outcome == Outcome::NotAllowed && !errors.is_empty() {
        errors.push((ModelDeployment::path().spec().provider().name().to_string(), verdict.message.clone()));
    }
    // A provider that the user names is refused beside other errors; among the others the allow list would choose again.
    let is_final = verdict.outcome == Outcome::NotAllowed || named_provider(object).is_some();
    if let Some(refused) = provider.filter(|provider| is_final && !allowed.allows(provider)) {
        let mut lines = vec![allowed.refusal(Some(refused))];
        lines.extend(errors.iter().take(MAX_ERRORS).map(|(field, message)| format_cause(field, message)));
        return Validation::without_access_check(AdmissionResponse::forbid(&lines.join("\n")).warn(warnings));
    }
    let mut kinds: Vec<GroupVersionKind> = Vec::new();
    for kind in verdict.evaluation.objects.iter().filter_map(kind_of) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let creates = match provider {
        _ if !kinds.is_empty() => Creates::Kinds(kinds),
        // A third-party controller creates its objects with its own permissions.
        Some(name) if BUILTIN.find_provider(name).is_none() => Creates::Nothing,
        _ => Creates::Unknown,
    };
    let admission = response(request, Findings { errors, warnings });
    let creates = if admission.is_allowed() { creates } else { Creates::Nothing };
    Validation { admission, creates }
}

/// Refuses to scale a deployment whose number of replicas is not used: the client would believe that it has scaled it.
pub(super) fn refuse_scale(request: &AdmissionRequest, stored: &Value) -> Option<AdmissionResponse> {
    let is_disaggregated = ObjectView(stored).spec().is_disaggregated();
    let message = "a ModelDeployment in disaggregated mode cannot be scaled as a whole; change \
                   spec.scaling.prefill.replicas and spec.scaling.decode.replicas";
    is_disaggregated.then(|| AdmissionResponse::invalid(request, &[("spec.replicas".to_owned(), message.to_owned())]))
}

/// Validates an InferenceProviderConfig. An update that keeps the specification passes unless it adds errors.
pub(super) fn configuration(request: &AdmissionRequest) -> Validation {
    let Some(object) = request.new_object().filter(|_| !request.is_terminating()) else {
        return Validation::without_access_check(AdmissionResponse::allow());
    };
    let mut findings = configuration_findings(object);
    if !request.changes_spec() {
        let before = request.stored().map(configuration_findings).unwrap_or_default();
        findings.errors.retain(|error| !before.errors.contains(error));
        findings.warnings.clear();
    }
    Validation::without_access_check(response(request, findings))
}

fn configuration_findings(object: &Value) -> Findings {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    let mut sources = SourceSet::default();
    sources.add("object.json", object.to_string());
    let diagnostics =
        kubefoundry_compiler::compile(&BUILTIN, &sources, Thoroughness::EveryRule).diagnostics.into_iter();
    // A configuration alone contains no deployment to render.
    let relevant =
        diagnostics.filter(|it| it.code.id != codes::NO_MODEL_DEPLOYMENT.id && it.severity != Severity::Info);
    let (errors, warnings): (Vec<_>, Vec<_>) = relevant.partition(|it| it.severity == Severity::Error);
    Findings { errors: errors.iter().map(cause).collect(), warnings: warnings.iter().map(warning_text).collect() }
}

/// The field and the message of an error.
type Cause = (String, String);

/// The errors that refuse an object, and the warnings. Infos are left to `lint`, because kubectl shows every warning at
/// every write.
#[derive(Default)]
struct Findings {
    errors: Vec<Cause>,
    warnings: Vec<String>,
}

impl Findings {
    /// Sorts the diagnostics of a deployment. Errors that are not its fault become warnings.
    fn new(diagnostics: &[Diagnostic], evaluators: &Evaluators) -> Self {
        let session = &evaluators.session;
        let has_providers = session.provider_names().next().is_some();
        let is_unready = |name| session.catalog().get(name).is_some_and(|provider| provider.ready == Some(false));
        let has_unready = session.provider_names().any(is_unready);
        let mut findings = Self::default();
        for diagnostic in diagnostics {
            let is = |codes: &[&Code]| codes.iter().any(|code| code.id == diagnostic.code.id);
            // The author of a deployment cannot correct the configuration of a provider.
            let is_foreign =
                diagnostic.object.as_ref().is_some_and(|object| &*object.kind != kubefoundry_deployment::wire::KIND);
            let passes = is_foreign
                || is(ALWAYS_ADMITTED)
                || (!has_providers && is(WITHOUT_PROVIDERS))
                || (has_unready && is(WITH_UNREADY_PROVIDERS));
            if diagnostic.severity == Severity::Error && !passes {
                findings.errors.push(cause(diagnostic));
            } else if diagnostic.severity != Severity::Info && !findings.warnings.contains(&warning_text(diagnostic)) {
                findings.warnings.push(warning_text(diagnostic));
            }
        }
        findings
    }
}

/// Decides a deployment. One that names no provider keeps the one that was selected before.
fn decide(evaluators: &Evaluators, deployment: &Value, stored: Option<&Value>, allowed: &AllowList) -> Verdict {
    let cluster = Cluster {
        session: &evaluators.session,
        restrict: &*evaluators.restrict,
        allowed,
        thoroughness: Thoroughness::EveryRule,
    };
    let prior = stored.and_then(recorded_choice).filter(|_| named_provider(deployment).is_none());
    cluster.decide(deployment, prior.as_ref())
}

/// Converts a diagnostic to the cause of a refusal: its field, and its message with help and code.
fn cause(diagnostic: &Diagnostic) -> Cause {
    let field = diagnostic.location.as_ref().map(|location| location.path.to_string()).unwrap_or_default();
    let help = diagnostic.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    (field, format!("{}{help} [{}]", diagnostic.message, diagnostic.code.id))
}

/// Formats a warning. It has no help, because the apiserver truncates warnings.
fn warning_text(diagnostic: &Diagnostic) -> String {
    let field = diagnostic.location.as_ref().map(|location| location.path.to_string()).unwrap_or_default();
    // The code comes first, so that truncation keeps it.
    format!("[{}] {}", diagnostic.code.id, format_cause(&field, &diagnostic.message))
}

/// Creates the response with these findings: duplicate errors once, and at most [`MAX_ERRORS`].
fn response(request: &AdmissionRequest, findings: Findings) -> AdmissionResponse {
    let Findings { errors, warnings } = findings;
    let mut seen = BTreeSet::new();
    let mut errors: Vec<Cause> = errors.into_iter().filter(|error| seen.insert(error.clone())).collect();
    if errors.len() > MAX_ERRORS {
        let dropped = errors.len() - MAX_ERRORS;
        errors.truncate(MAX_ERRORS);
        errors.push((String::new(), format!("and {dropped} more; run kubefoundry lint to see all")));
    }
    let response =
        if errors.is_empty() { AdmissionResponse::allow() } else { AdmissionResponse::invalid(request, &errors) };
    response.warn(warnings)
}

fn kind_of(object: &Value) -> Option<GroupVersionKind> {
    let api_version = object.get("apiVersion")?.as_str()?;
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Some(GroupVersionKind::gvk(group, version, object.get("kind")?.as_str()?))
}
