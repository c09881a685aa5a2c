//! Validation of the tolerations, as in `ValidateTolerations` in
//! `k8s.io/kubernetes/pkg/apis/core/validation/validation.go`.

use super::messages;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::FieldRef;
use kubefoundry_kubernetes::check::{Checker, non_empty};
use kubefoundry_kubernetes::labels;
use kubefoundry_kubernetes::syntax_result::SyntaxResult;
use kubefoundry_kubernetes::wire::PathOf;
use kubefoundry_kubernetes::wire::Toleration;

const OPERATORS: &[&str] = &["Exists", "Equal", "Lt", "Gt"];
const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

pub(super) fn validate_tolerations(tolerations: &[Toleration], check: &mut Checker<'_, '_>) {
    let path = ModelDeployment::path().spec().tolerations();
    for (index, entry) in tolerations.iter().enumerate() {
        validate_toleration(&path.clone().index(index), entry, check);
    }
}

fn validate_toleration(path: &PathOf<Toleration>, toleration: &Toleration, check: &mut Checker<'_, '_>) {
    let Toleration { key, operator, value, effect, toleration_seconds } = toleration;
    let code = &codes::INVALID_TOLERATION;
    let operator_unread = operator.is_none() && !check.is_absent(&path.clone().operator());
    let operator = non_empty(operator.as_deref());
    if let Some(operator) = operator {
        check.check_allowed_value(code, &path.clone().operator(), operator, OPERATORS);
    }
    if let Some(key) = non_empty(key.as_deref()) {
        check.check_syntax(code, &path.clone().key(), key, labels::label_key(key));
    } else if operator != Some("Exists") && !operator_unread && check.is_missing(key.as_deref(), &path.clone().key()) {
        let message = format!("{path} {}", messages::TOLERATION_WITHOUT_KEY);
        check.findings.report(code, path, message);
    }
    let value_path = path.clone().value();
    let missing = check.is_missing(value.as_deref(), &value_path);
    match (operator, non_empty(value.as_deref())) {
        (Some("Exists"), Some(_)) => {
            let message = format!("{value_path} {}", messages::TOLERATION_WITH_VALUE);
            check.findings.report(code, FieldRef::key(&value_path), message);
        }
        (Some("Lt" | "Gt"), None) if missing => {
            let message = format!("{value_path} {}", messages::TOLERATION_WITHOUT_VALUE);
            check.findings.report(code, &value_path, message);
        }
        (Some("Lt" | "Gt"), Some(value)) => {
            check.check_syntax(code, &value_path, value, check_integer(value));
        }
        (None | Some("Equal"), Some(value)) if !operator_unread => {
            check.check_syntax(code, &value_path, value, labels::label_value(value));
        }
        _ => {}
    }
    if let Some(effect) = non_empty(effect.as_deref()) {
        check.check_allowed_value(code, &path.clone().effect(), effect, EFFECTS);
    }
    let effect_unread = effect.is_none() && !check.is_absent(&path.clone().effect());
    if toleration_seconds.is_some() && !effect_unread && effect.as_deref() != Some("NoExecute") {
        let seconds = path.clone().toleration_seconds();
        let message = format!("{seconds} {}", messages::TOLERATION_SECONDS);
        check.findings.report(code, FieldRef::key(&seconds), message);
    }
}

/// Checks the value of `Lt` and `Gt`: a 64-bit integer without leading zeros or a plus sign.
fn check_integer(value: &str) -> SyntaxResult {
    let fits = value.parse::<i64>().is_ok_and(|number| number.to_string() == value);
    if fits { Ok(()) } else { Err(messages::TOLERATION_VALUE) }
}
