//! Validation of the resources of the server's container.

use std::cmp::Ordering;

use super::expect;
use crate::types::{ResourceClaim, Resources};
use crate::wire;
use kubefoundry_kubernetes::check::Checker;
use kubefoundry_kubernetes::syntax_result::SyntaxResult;
use kubefoundry_kubernetes::wire::{IntegerOrString, Map};
use kubefoundry_kubernetes::{labels, quantity};
use kubefoundry_transform::codes as shared;
use kubefoundry_yaml::field_path::FieldPath;

/// Validates claims and amounts.
pub(super) fn validate_resources(
    wire: Option<&wire::Resources>,
    path: &FieldPath,
    check: &mut Checker<'_, '_>,
) -> Resources {
    let mut resources = Resources::default();
    let Some(wire::Resources { claims, limits, requests }) = wire else { return resources };
    for claim in claims.iter().flatten() {
        let name = claim.name.clone().unwrap_or_default();
        resources.claims.push(ResourceClaim { name, request: claim.request.clone() });
    }
    for (field, wire_amounts, amounts) in
        [("limits", limits, &mut resources.limits), ("requests", requests, &mut resources.requests)]
    {
        let path = path.join(field);
        for (name, IntegerOrString(amount)) in wire_amounts.iter().flat_map(|Map(entries)| entries) {
            check.check_key(&shared::INVALID_LABEL, &path, name, labels::label_key(name));
            let at = path.key(name.clone());
            check.check_syntax(&shared::INVALID_QUANTITY, &at, amount, check_not_negative(amount));
            amounts.push(name, amount);
        }
    }
    check_requests_against_limits(&resources, path, check);
    resources
}

/// Checks an amount in resources of a container, which may be zero but not negative.
fn check_not_negative(amount: &str) -> SyntaxResult {
    quantity::quantity(amount)?;
    expect(quantity::compare(amount, "0") != Some(Ordering::Less), "a quantity that is not negative")
}

/// Reports requests above their limit. For devices and huge pages, which cannot be shared, the request must equal the
/// limit.
///
/// Source: `ValidateContainerResourceRequirements` in `k8s.io/kubernetes/pkg/apis/core/validation`.
fn check_requests_against_limits(resources: &Resources, path: &FieldPath, check: &mut Checker<'_, '_>) {
    for (name, request) in &resources.requests.0 {
        let limit = resources.limits.0.iter().find(|(limited, _)| limited == name).map(|(_, limit)| limit.as_str());
        let is_shared = (!name.contains('/') || name.contains("kubernetes.io/")) && !name.starts_with("hugepages-");
        let expected = match limit.map(|limit| (limit, quantity::compare(request, limit))) {
            Some((limit, Some(Ordering::Greater))) => format!("at most its limit, {limit}"),
            Some((limit, Some(Ordering::Less))) if !is_shared => format!("its limit, {limit}"),
            None if !is_shared => "a limit of the same amount".to_owned(),
            _ => continue,
        };
        let path = path.join("requests").key(name.clone());
        let message = format!("{path} is {request:?}, expected {expected}");
        check
            .findings
            .report(&shared::INVALID_VALUE, &path, message)
            .help("change the request or its limit: Kubernetes rejects the pod otherwise");
    }
}
