//! Validation of autoscaling and of the disruption budget.

use crate::server::{Autoscaling, Budget};
use crate::wire;
use kubefoundry_kubernetes::check::Checker;
use kubefoundry_transform::codes as shared;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Node, Value};

/// Validates autoscaling. Like the upstream operator, it never scales below `spec.replicas` or below one.
pub(super) fn autoscaling(
    wire: Option<&wire::Autoscaling>,
    replicas: i32,
    path: &FieldPath,
    check: &mut Checker<'_, '_>,
) -> Option<Autoscaling> {
    let wire = wire?;
    let max = wire.max_replicas?;
    let given = wire.min_replicas.unwrap_or(1);
    let min = given.max(replicas).max(1);
    if max < min {
        let max_path = path.join("maxReplicas");
        let source = if given >= replicas {
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

pub(super) fn budget(
    wire: Option<&wire::PodDisruptionBudget>,
    path: &FieldPath,
    check: &mut Checker<'_, '_>,
) -> Option<Budget> {
    let wire = wire?;
    let mut amount = |field: &'static str, given: Option<&Node<'static>>| {
        let given = given?;
        let fits = match &given.value {
            Value::Integer(number) => *number >= 0,
            Value::String(percent) => percent.strip_suffix('%').is_some_and(is_number),
            _ => false,
        };
        if !fits {
            let path = path.join(field);
            let message =
                format!("{path} is {}, expected a number of pods, or a percentage such as 25%", given.to_json());
            check.findings.report(&shared::INVALID_VALUE, &path, message);
        }
        Some(given.to_json())
    };
    let min_available = amount("minAvailable", wire.min_available.as_ref());
    let max_unavailable = amount("maxUnavailable", wire.max_unavailable.as_ref());
    if min_available.is_some() && max_unavailable.is_some() {
        let message = format!("{path} has both minAvailable and maxUnavailable, expected one of them");
        check.findings.report(&shared::INVALID_VALUE, &path.join("maxUnavailable"), message);
    }
    Some(Budget { min_available, max_unavailable })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit())
}
