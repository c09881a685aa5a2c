//! Validation of autoscaling and of the disruption budget.

use crate::server::{Autoscaling, Budget};
use crate::wire;
use kubefoundry_kubernetes::check::Checker;
use kubefoundry_transform::codes as shared;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Node, Value};

/// Validates autoscaling. Like the upstream operator, it never scales below `spec.replicas` or below one.
pub(super) fn validate_autoscaling(
    wire: Option<&wire::Autoscaling>,
    replicas: i32,
    path: &FieldPath,
    check: &mut Checker<'_, '_>,
) -> Option<Autoscaling> {
    let wire = wire?;
    let max = wire.max_replicas?;
    let requested_min = wire.min_replicas.unwrap_or(1);
    let min = requested_min.max(replicas).max(1);
    if max < min {
        let max_path = path.join("maxReplicas");
        let source = if requested_min >= replicas {
            "minReplicas".to_owned()
        } else {
            wire::LlamaStackDistribution::path().spec().replicas().to_string()
        };
        let message = format!("{max_path} is {max}, expected at least {min}, the value of {source}");
        check.findings.report(&shared::INVALID_VALUE, &max_path, message);
    }
    Some(Autoscaling {
        min,
        max,
        cpu: wire.target_cpu_utilization_percentage,
        memory: wire.target_memory_utilization_percentage,
    })
}

/// Validates a disruption budget. Its amounts are numbers of pods or percentages of up to three digits, and only one of
/// the two may be set.
pub(super) fn validate_disruption_budget(
    wire: Option<&wire::PodDisruptionBudget>,
    path: &FieldPath,
    check: &mut Checker<'_, '_>,
) -> Option<Budget> {
    let wire = wire?;
    let mut read_amount = |field: &'static str, node: Option<&Node<'static>>| {
        let node = node?;
        let fits = match &node.value {
            Value::Integer(number) => *number >= 0,
            Value::String(percent) => percent.strip_suffix('%').is_some_and(is_number),
            _ => false,
        };
        if !fits {
            let path = path.join(field);
            let message =
                format!("{path} is {}, expected a number of pods, or a percentage such as 25%", node.to_json());
            check.findings.report(&shared::INVALID_VALUE, &path, message);
        }
        Some(node.to_json())
    };
    let min_available = read_amount("minAvailable", wire.min_available.as_ref());
    let max_unavailable = read_amount("maxUnavailable", wire.max_unavailable.as_ref());
    if min_available.is_some() && max_unavailable.is_some() {
        let message = format!("{path} has both minAvailable and maxUnavailable, expected only one of them");
        check.findings.report(&shared::INVALID_VALUE, &path.join("maxUnavailable"), message);
    }
    Some(Budget { min_available, max_unavailable })
}

/// Returns whether a text consists of one to three digits.
fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit())
}
