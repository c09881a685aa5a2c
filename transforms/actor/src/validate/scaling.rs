//! Validation of scaling: ranges, and the requirements of KEDA.

use super::{at_least, non_zero};
use crate::codes::{SCALING_MODIFIERS, SCALING_NEEDS};
use crate::formula::{FormulaError, check_formula};
use crate::ir::{Modifiers, Scaling};
use crate::keda::TRIGGER;
use crate::options::{Transport, TransportKind};
use crate::wire::AsyncActor;
use crate::wire::{ActorMetricType, ActorScaling, ActorScalingModifiers};
use kubefoundry_diagnostics::FieldRef;
use kubefoundry_kubernetes::check::Checker;
use kubefoundry_transform::codes;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;

/// The longest name of an actor from which KEDA can derive the name of its autoscaler (`verifyName` in kedacore/keda).
const MAX_SCALED_NAME: usize = 63 - "keda-hpa-".len();

/// Validates scaling. Returns `None` if it is not enabled, but checks the fields in any case.
pub(super) fn scaling(
    wire: Option<&ActorScaling>,
    actor: &str,
    transport: Option<&Transport>,
    check: &mut Checker<'_, '_>,
) -> Option<Scaling> {
    let wire = wire?;
    let path = FieldPath::from(AsyncActor::path().spec().scaling());
    let min_replicas = wire.min_replicas.unwrap_or(0);
    let max_replicas = wire.max_replicas.unwrap_or(50);
    if min_replicas > max_replicas {
        let at = path.key("minReplicas");
        let message = format!("{at} is {min_replicas}, expected at most maxReplicas, which is {max_replicas}");
        check.findings.report(&codes::OUT_OF_RANGE, &at, message);
    }
    let polling_interval = at_least(1, non_zero(wire.polling_interval), 10, &path.key("pollingInterval"), check);
    let cooldown_period = at_least(0, wire.cooldown_period, 60, &path.key("cooldownPeriod"), check);
    let queue_length = wire.queue_length.unwrap_or(5);
    if wire.enabled != Some(true) {
        return None;
    }
    if actor.len() > MAX_SCALED_NAME {
        let message = format!(
            "metadata.name has {} characters, expected at most {MAX_SCALED_NAME} with scaling: KEDA derives the name \
             keda-hpa-<name>, which has at most 63",
            actor.len()
        );
        check.findings.report(&codes::NAME_TOO_LONG, AsyncActor::path().metadata().name(), message).help("shorten it");
    }
    if let Some(transport) = transport {
        check_transport_settings(&transport.kind, check);
    }
    let advanced = wire.advanced.as_ref().map(|advanced| modifiers(advanced, check));
    Some(Scaling { min_replicas, max_replicas, polling_interval, cooldown_period, queue_length, advanced })
}

/// Reports settings of the transport that scaling requires, with the messages of the upstream operator
/// (`buildSQSTrigger` and
/// `buildRabbitMQTrigger` of deliveryhero/asya v0.1.1). The operator stops at the first; here all are reported.
fn check_transport_settings(transport: &TransportKind, check: &mut Checker<'_, '_>) {
    let missing: &[(bool, &str, &str)] = match transport {
        TransportKind::RabbitMq(it) => &[
            (it.host.is_none(), "RabbitMQ host is required in operator transport config", "host"),
            (it.port.is_none(), "RabbitMQ port is required in operator transport config", "port"),
            (it.username.is_none(), "RabbitMQ username is required in operator transport config", "username"),
        ],
        TransportKind::Sqs(it) => &[
            (it.region.is_none(), "SQS region is required in operator transport config", "region"),
            (it.account_id.is_none(), "SQS accountId is required in operator transport config", "accountId"),
        ],
    };
    for (_, message, field) in missing.iter().filter(|(missing, ..)| *missing) {
        check
            .findings
            .report(&SCALING_NEEDS, AsyncActor::path().spec().transport(), *message)
            .help(format!("set config.{field} of the transport under actor.transports in the Render options"));
    }
}

/// Reports modifiers that KEDA's webhook rejects (`validateScalingModifiersFormula` in kedacore/keda, and the enum of
/// its CRD).
fn modifiers(wire: &ActorScalingModifiers, check: &mut Checker<'_, '_>) -> Modifiers {
    let path = FieldPath::from(AsyncActor::path().spec().scaling().advanced());
    let non_empty_text = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let modifiers = Modifiers {
        formula: non_empty_text(&wire.formula),
        target: non_empty_text(&wire.target),
        activation_target: non_empty_text(&wire.activation_target),
        metric_type: wire.metric_type,
        restore_to_original_replica_count: wire.restore_to_original_replica_count.unwrap_or(false),
    };
    let Modifiers { formula, target, activation_target, metric_type, .. } = &modifiers;
    let mut report = |at: &FieldPath, message: String, help: &str| {
        check.findings.report(&SCALING_MODIFIERS, FieldRef::key(at), message).help(help);
    };
    let has_other_modifier = target.is_some() || activation_target.is_some() || metric_type.is_some();
    if formula.is_none() && has_other_modifier {
        let message = format!("{path} has no formula, but KEDA accepts no other modifier without it");
        report(&path, message, "set formula, for example to queueLength / 2: the trigger is named queueLength");
    }
    if let Some(Err(error)) = formula.as_ref().map(|formula| check_formula(formula, TRIGGER)) {
        let at = path.key("formula");
        let problem = match error {
            FormulaError::Blank => "is blank".to_owned(),
            FormulaError::Unclosed(it) => format!("opens {it} but does not close it"),
            FormulaError::Unopened(it) => format!("closes {it} without opening it"),
            FormulaError::Comment => "has a comment that does not end".to_owned(),
            FormulaError::Name(name) => format!("has the name {}, but the trigger is named {TRIGGER}", shorten(name)),
        };
        let help = format!("correct the formula, as in {TRIGGER} / 2");
        report(&at, format!("{at} {problem}, so KEDA refuses it"), &help);
    }
    if formula.is_some() && target.is_none() {
        let message = format!("{path} has a formula but no target, which KEDA requires");
        report(&path.key("formula"), message, "set a target as text, such as target: \"5\"");
    }
    for (field, text, is_target) in [("target", target, true), ("activationTarget", activation_target, false)] {
        let fits = |number: f64| number.is_finite() && (!is_target || number > 0.0);
        if let Some(text) = text.as_ref().filter(|text| !text.parse().is_ok_and(fits)) {
            let at = path.key(field);
            let above_zero = if is_target { " above 0" } else { "" };
            let message = format!("{at} is {:?}, expected a number{above_zero} as text", shorten(text));
            report(&at, message, "write a number in quotes");
        }
    }
    if *metric_type == Some(ActorMetricType::Utilization) {
        let at = path.key("metricType");
        let message = format!("{at} is Utilization, which KEDA does not accept for modifiers");
        report(&at, message, "use AverageValue or Value");
    }
    modifiers
}
