//! Selection of the provider for a deployment (docs/design/0006): gates exclude candidates by their capabilities, then
//! the true rule with the highest priority wins.

use std::collections::BTreeSet;

use super::catalog::{Candidate, Catalog, EngineSupport};
use super::rule_environment::{RuleVariables, SelectionFacts};
use super::validate::{Assumptions, messages};
use kubefoundry_cel as cel;
use kubefoundry_cel::EvaluationErrorKind;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, EngineType, ServingMode};
use kubefoundry_deployment::wire;
use kubefoundry_diagnostics::Findings;
use kubefoundry_engines::profile;
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::wire::StringEnum as _;
pub use kubefoundry_transform::{CandidateAssessment, PriorChoice, RuleValue, Selection, StepBudget};
use kubefoundry_yaml::text::{closest, one_of};

/// Selects the provider. Rules are evaluated on `variables`.
///
/// With `every_rule`, rules are evaluated also for an explicit choice and for excluded candidates, because `explain`
/// shows every rule and `lint` checks every rule.
pub fn select(
    deployment: &Deployment,
    catalog: &Catalog,
    mut variables: RuleVariables<'_>,
    every_rule: bool,
    steps: &mut StepBudget,
    findings: &mut Findings<'_>,
) -> Selection {
    let explicit = deployment.provider.name.as_deref();
    let evaluates = explicit.is_none() || every_rule;
    let (candidates, reasons): (Vec<CandidateAssessment>, Vec<Option<String>>) = catalog
        .candidates()
        .iter()
        .map(|candidate| {
            let variables = evaluates.then_some(&mut variables);
            assess(candidate, deployment, catalog, variables, every_rule, steps, findings)
        })
        .unzip();
    let mut selection = Selection::undecided(explicit.is_some(), candidates);
    if let Some(name) = explicit {
        if check_explicit_choice(name, deployment.api_group, catalog, findings) {
            selection.provider = Some(name.to_owned());
            selection.reason = Some("explicit provider selection".to_owned());
        }
        return selection;
    }
    let admitted = selection.candidates.iter().filter(|candidate| candidate.closed_gate.is_none());
    // The step budget ran out before a rule was evaluated, so the best candidate is unknown. That is reported already.
    if admitted.flat_map(|candidate| &candidate.rules).any(|rule| rule.value.is_none()) {
        return selection;
    }
    // The list is ordered by name, and only a higher score replaces: ties go to the first name.
    let mut best: Option<(i32, &CandidateAssessment, String)> = None;
    let mut tied: Vec<&str> = Vec::new();
    for (assessment, reason) in selection.candidates.iter().zip(reasons) {
        let (Some(score), Some(reason)) = (assessment.score, reason) else { continue };
        match &best {
            Some((highest, ..)) if score < *highest => {}
            Some((highest, ..)) if score == *highest => tied.push(&assessment.provider),
            _ => {
                tied.clear();
                best = Some((score, assessment, reason));
            }
        }
    }
    match best {
        Some((score, assessment, mut reason)) => {
            // Without a true rule the reason is worded as airunway words it.
            let by_rule = assessment.rules.iter().any(|rule| rule.value == Some(true));
            if by_rule && let Some(first) = tied.first() {
                let others = if tied.len() > 1 { format!("{first} and others have") } else { format!("{first} has") };
                reason = format!("{reason}; {others} priority {score} too, and the name decides");
            }
            selection.provider = Some(assessment.provider.clone());
            selection.reason = Some(reason);
        }
        // A configuration that could not be read, which has an error, may be the right one.
        None if catalog.is_incomplete() => {}
        None => report_no_provider(deployment, catalog, &selection, findings),
    }
    selection
}

/// Checks the gates and evaluates the rules of a candidate. Returns its assessment and, if it can win, the reason.
fn assess(
    candidate: &Candidate,
    deployment: &Deployment,
    catalog: &Catalog,
    variables: Option<&mut RuleVariables<'_>>,
    every_rule: bool,
    steps: &mut StepBudget,
    findings: &mut Findings<'_>,
) -> (CandidateAssessment, Option<String>) {
    let closed_gate = if candidate.ready == Some(false) {
        Some("reports ready: false".to_owned())
    } else {
        candidate.closed_gate(deployment)
    };
    let mut evaluate = variables.filter(|_| every_rule || closed_gate.is_none());
    // A failing rule is an error only where it can decide the choice, so that `lint` and `render` fail on the same
    // input.
    let decides = deployment.provider.name.is_none() && closed_gate.is_none();
    let mut rules = Vec::new();
    let mut facts = None;
    let mut winner: Option<(i32, String)> = None;
    for (index, rule) in candidate.rules.iter().enumerate() {
        let Some(variables) = &mut evaluate else { continue };
        let compiled = rule.compiled(catalog.environment(candidate)).map_err(str::to_owned);
        // Built-in rules do not use the step budget, so that no option can disable them.
        let remaining_steps = (!candidate.builtin).then(|| steps.remaining_mut(decides));
        if remaining_steps.as_deref() == Some(&0) {
            rules.push(RuleValue { condition: rule.condition.clone(), priority: rule.priority, value: None });
            continue;
        }
        let value = compiled.map_err(Some).and_then(|compiled| match remaining_steps {
            // The value was kept when another deployment had the same facts, or is kept now.
            None if SelectionFacts::decide(compiled) => {
                let facts = facts.get_or_insert_with(|| SelectionFacts::new(deployment, variables));
                rule.kept_value(facts).map_or_else(
                    || {
                        let value = evaluate_rule(compiled, variables, None)?;
                        rule.keep_value(facts.clone(), value);
                        Ok(value)
                    },
                    Ok,
                )
            }
            remaining_steps => evaluate_rule(compiled, variables, remaining_steps),
        });
        let value = value.map_err(|message| message.unwrap_or_else(|| steps.exhaustion_message()));
        if let Err(error) = &value {
            let message = format!("rule {} of {} fails: {error}", index + 1, candidate.name);
            let code = if decides { &codes::RULE_FAILED } else { &codes::UNUSED_RULE_FAILED };
            let mut reported = findings.report(code, "spec", message);
            if !decides {
                reported = reported.help("the rule does not decide here; where it does, its failure is an error");
            }
            match (candidate.origin, rule.span) {
                (Some(origin), Some(span)) => reported.related_in(origin.source, origin.document, span, "this rule"),
                _ => reported.help(format!("the rule is {:?}", rule.condition)),
            };
        }
        let value = value.ok();
        if value == Some(true) && winner.as_ref().is_none_or(|(priority, _)| rule.priority > *priority) {
            let reason = rule.reason.as_ref().map_or_else(
                || format!("rule {} of {} (priority {})", index + 1, candidate.name, rule.priority),
                |reason| reason.replace("{engine}", deployment.engine.kind.as_str()),
            );
            winner = Some((rule.priority, reason));
        }
        rules.push(RuleValue { condition: rule.condition.clone(), priority: rule.priority, value });
    }
    let unmatched = deployment.api_group.unmatched_score.filter(|_| evaluate.is_some());
    let winner = winner.or_else(|| Some((unmatched?, describe_capability_match(deployment))));
    let winner = winner.filter(|_| closed_gate.is_none());
    let assessment = CandidateAssessment {
        provider: candidate.name.clone(),
        closed_gate,
        rules,
        score: winner.as_ref().map(|(priority, _)| *priority),
    };
    (assessment, winner.map(|(_, reason)| reason))
}

/// Returns the reason for a provider that wins without a true rule, worded as airunway words it.
fn describe_capability_match(deployment: &Deployment) -> String {
    let (engine, mode) = (deployment.engine.kind, deployment.workload.mode());
    format!("matched capabilities: engine={engine}, gpu={}, mode={mode}", deployment.workload.uses_gpu())
}

/// Chooses the engine of a deployment without one, if its API group allows that: the first engine that a ready provider
/// runs in the deployment's serving mode and on its resources.
pub fn default_engine(wire: &wire::ModelDeployment, api_group: &ApiGroup, catalog: &Catalog) -> Option<EngineType> {
    let spec = wire.spec.as_ref().filter(|_| api_group.chooses_engine)?;
    let mode = spec.serving.as_ref().and_then(|serving| serving.mode).unwrap_or(ServingMode::Aggregated);
    let gpus = spec.resources.as_ref().and_then(|resources| resources.gpu.as_ref()).and_then(|gpu| gpu.count);
    let uses_gpu = mode == ServingMode::Disaggregated || gpus.is_some_and(|count| count > 0);
    let ready = || catalog.candidates().iter().filter(|candidate| candidate.ready != Some(false));
    // Flat capabilities apply to all engines of a provider, so `cpuSupport` does not show that this engine runs on
    // CPUs.
    let runs = |engine: &EngineType| {
        (uses_gpu || !profile(*engine).requires_gpu)
            && ready().any(|candidate| candidate.closed_gate_for(engine.as_str(), mode, uses_gpu).is_none())
    };
    EngineType::VARIANTS.iter().map(|(_, engine)| *engine).find(runs)
}

/// Returns what is assumed about a deployment that does not say it: the default engine, and the GPUs that its provider
/// chooses.
pub fn assumptions(wire: &wire::ModelDeployment, api_group: &ApiGroup, catalog: &Catalog) -> Assumptions {
    let spec = wire.spec.as_ref();
    let name = spec.and_then(|spec| spec.provider.as_ref()).and_then(|provider| provider.name.as_deref());
    let provider = name.and_then(|name| catalog.find_provider(name));
    let has_gpu = spec.zip(provider).is_some_and(|(spec, provider)| (provider.info().chooses_gpus)(spec));
    Assumptions { engine: default_engine(wire, api_group, catalog), has_gpu }
}

/// Evaluates a rule. The error is the message of the failure, or `None` if the step budget is exhausted.
fn evaluate_rule(
    rule: &cel::Rule,
    variables: &mut RuleVariables<'_>,
    remaining_steps: Option<&mut u64>,
) -> Result<bool, Option<String>> {
    let mut unlimited = u64::MAX;
    let remaining_steps = remaining_steps.unwrap_or(&mut unlimited);
    let (values, unwritten) = variables.bind_reads(rule.reads());
    let value = rule.evaluate_with_unwritten(values, unwritten, remaining_steps);
    value.map_err(|error| {
        (*remaining_steps > 0 || error.kind != EvaluationErrorKind::StepLimit).then_some(error.message)
    })
}

/// Checks a provider that the deployment names. Returns whether it is configured, or one of the group's system.
fn check_explicit_choice(name: &str, api_group: &ApiGroup, catalog: &Catalog, findings: &mut Findings<'_>) -> bool {
    let Some(candidate) = catalog.get(name) else {
        if catalog.has_failed(name) {
            // The errors of its configuration are already reported.
            return false;
        }
        if api_group.foreign_providers.contains(&name) {
            // The group's system has it. Its configuration belongs to the cluster and is rarely among the input.
            return true;
        }
        let names: BTreeSet<&str> = catalog.names().chain(api_group.foreign_providers.iter().copied()).collect();
        let known: Vec<&str> = names.iter().copied().collect();
        let expected = match known.as_slice() {
            [] => "and no other provider is known".to_owned(),
            known => format!("expected {}", one_of(known)),
        };
        let message = format!("there is no provider {name:?}, {expected}");
        let reported =
            findings.report(&codes::UNKNOWN_PROVIDER, wire::ModelDeployment::path().spec().provider().name(), message);
        match closest(name, names) {
            Some(meant) => reported.help(format!("did you mean {meant:?}?")),
            None => reported.help("if it is a third-party provider, add its InferenceProviderConfig to the input"),
        };
        return false;
    };
    if candidate.ready == Some(false) {
        let message = format!("provider {name:?} reports ready: false");
        findings.report(&codes::PROVIDER_NOT_READY, wire::ModelDeployment::path().spec().provider().name(), message).help(
            "if the provider is ready, remove status.ready from its configuration; otherwise the model runs once it is",
        );
    }
    true
}

/// Checks that the chosen provider can run the deployment, with the prescribed messages (MD-2.6 to MD-2.8). An explicit
/// choice is checked against its configuration; selection has already applied those gates to the others. Every choice
/// is checked against the built-in configuration too, because a configuration in the input may claim more than this
/// program renders.
pub fn check_compatibility(
    name: &str,
    deployment: &Deployment,
    catalog: &Catalog,
    explicit: bool,
    findings: &mut Findings<'_>,
) {
    let errors_before = findings.error_count();
    for candidate in [catalog.get(name).filter(|_| explicit), catalog.builtin_candidate(name)].into_iter().flatten() {
        if findings.error_count() == errors_before {
            check_capabilities(candidate, deployment, catalog, findings);
        }
    }
}

/// Reports every capability that the candidate lacks. If it does not run the engine, the serving mode and the GPUs are
/// checked against the engines that it runs.
fn check_capabilities(candidate: &Candidate, deployment: &Deployment, catalog: &Catalog, findings: &mut Findings<'_>) {
    let name = candidate.name.as_str();
    let display = catalog.find_provider(name).map_or(name, |provider| provider.display_name());
    let engine = deployment.engine.kind.as_str();
    let engine_support: Vec<&EngineSupport> =
        candidate.engines.iter().filter(|support| support.name == engine).collect();
    if engine_support.is_empty() {
        let message = format!("{display} does not support {engine} engine");
        findings
            .report(&codes::ENGINE_NOT_SUPPORTED, wire::ModelDeployment::path().spec().engine().engine_type(), message)
            .help(suggest_providers(deployment, catalog));
    }
    let support = if engine_support.is_empty() { candidate.engines.iter().collect() } else { engine_support };
    let mode = deployment.workload.mode();
    if !support.iter().any(|support| support.modes.contains(&mode)) {
        // Where it is the engine that lacks the mode, the message names the engine.
        let others_do = candidate.engines.iter().any(|support| support.modes.contains(&mode));
        let with_engine = if others_do { format!(" with {engine}") } else { String::new() };
        let message = format!("{display} does not support {mode} mode{with_engine}");
        findings
            .report(&codes::MODE_NOT_SUPPORTED, wire::ModelDeployment::path().spec().serving().mode(), message)
            .help(suggest_providers(deployment, catalog));
    }
    let gpus = &wire::ModelDeployment::path().spec().resources().gpu().count();
    if deployment.workload.uses_gpu() {
        if !support.iter().any(|support| support.gpu) {
            findings.report(&codes::FIELD_NOT_SUPPORTED, gpus, format!("{display} does not support GPUs"));
        }
    } else if mode == ServingMode::Aggregated && !support.iter().any(|support| support.cpu) {
        // The roles of disaggregated mode have counts of their own, whose absence is reported already.
        let message = messages::requires_gpu(display);
        findings.report(&codes::PROVIDER_REQUIRES_GPU, gpus, message);
    }
}

/// Returns a help that names the providers that can run the deployment.
fn suggest_providers(deployment: &Deployment, catalog: &Catalog) -> String {
    let runs = |candidate: &Candidate| candidate.ready != Some(false) && candidate.closed_gate(deployment).is_none();
    // A configuration in the input may claim more than this program renders for the provider.
    let capable = catalog.candidates().iter().filter(|candidate| runs(candidate));
    let capable = capable.filter(|candidate| catalog.builtin_candidate(&candidate.name).is_none_or(runs));
    let names: Vec<&str> = capable.map(|candidate| candidate.name.as_str()).collect();
    match names.as_slice() {
        [] => "change the engine, the mode or the resources: no provider runs this combination".to_owned(),
        names => {
            // llama.cpp images contain only the engine, or the model too, so no provider has a default image.
            let needs_image = deployment.engine.kind == EngineType::Llamacpp && deployment.image.is_none();
            let image =
                if needs_image { ", and spec.image to one such as ghcr.io/ggml-org/llama.cpp:server" } else { "" };
            format!("set spec.provider.name to {}{image}", names.join(" or "))
        }
    }
}

/// Warns if a third-party provider is chosen whose configuration does not claim to run the deployment. Only that
/// provider knows whether it does, so this is not an error.
pub fn check_claims(name: &str, deployment: &Deployment, catalog: &Catalog, findings: &mut Findings<'_>) {
    if let Some(gate) = catalog.get(name).and_then(|candidate| candidate.closed_gate(deployment)) {
        let message = format!("provider {name:?} {gate}, according to its configuration");
        findings
            .report(&codes::CAPABILITY_NOT_CLAIMED, wire::ModelDeployment::path().spec().provider().name(), message)
            .help("add the capability to spec.capabilities of its InferenceProviderConfig, or choose another provider");
    }
}

/// Reports that no candidate can run the deployment, with the closed gate of each.
fn report_no_provider(deployment: &Deployment, catalog: &Catalog, selection: &Selection, findings: &mut Findings<'_>) {
    if catalog.candidates().iter().all(|candidate| candidate.ready == Some(false)) {
        findings
            .report(&codes::NO_HEALTHY_PROVIDER, wire::ModelDeployment::path().spec(), "No healthy providers available")
            .help(
                "remove status.ready from the configuration of a provider that is ready, or choose one with \
                 spec.provider.name, which only causes a warning",
            );
        return;
    }
    let gates: Vec<String> = selection
        .candidates
        .iter()
        .map(|candidate| {
            let gate = candidate.closed_gate.as_deref().unwrap_or("none of its rules is true");
            format!("{}: {gate}", candidate.provider)
        })
        .collect();
    let message = format!(
        "No compatible provider for engine={}, mode={}, gpu={} ({})",
        deployment.engine.kind,
        deployment.workload.mode(),
        deployment.workload.uses_gpu(),
        gates.join("; ")
    );
    findings
        .report(&codes::NO_COMPATIBLE_PROVIDER, wire::ModelDeployment::path().spec(), message)
        .help("change the engine or the mode, or choose a provider with spec.provider.name");
}
