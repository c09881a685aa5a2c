//! What reading `spec.provider.overrides` has in common.

use crate::codes;
use crate::ir::{Deployment, ProviderRequest};
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::quantity::positive_quantity;
use kubefoundry_kubernetes::wire::{HasPath, PathOf, Read, Reader};
use kubefoundry_yaml::Value;
use kubefoundry_yaml::field_path::FieldPath;

/// Where the overrides of a provider stand: its folder calls this with its own type.
pub(super) fn path<T: HasPath>() -> PathOf<T> {
    ProviderRequest::overrides_path().into()
}

/// Reads the overrides; all of them are absent when there are none, or when they cannot be read, which is reported.
/// Unknown keys are reported.
pub(super) fn read<T: Default + Read>(deployment: &Deployment, findings: &mut Findings<'_>) -> T {
    let overrides = deployment.provider.overrides.as_ref().and_then(|node| {
        let mut reader = Reader::for_overrides(findings);
        T::read(node, &ProviderRequest::overrides_path(), &mut reader)
    });
    overrides.unwrap_or_default()
}

/// Whether an override is written, rightly or not: of a wrong one that was reported, nothing more is to be said.
pub(super) fn is_written(deployment: &Deployment, key: &str) -> bool {
    let written = deployment.provider.overrides.as_ref().and_then(|node| node.get(key));
    written.is_some_and(|node| node.value != Value::Null)
}

/// An amount of CPU or memory; a wrong one is reported, and absent.
pub(super) fn quantity(given: Option<String>, path: &FieldPath, findings: &mut Findings<'_>) -> Option<String> {
    let text = given?;
    let Err(expected) = positive_quantity(&text) else { return Some(text) };
    let message = format!("{path} is {text:?}, expected {expected}");
    findings.report(&codes::INVALID_QUANTITY, path, message).help("write cpu as 2 or 500m, memory as 4Gi");
    None
}
