//! Functions for reading `spec.provider.overrides` that providers share.

use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, ProviderRequest};
use kubefoundry_deployment::wire::OBJECT_FIELDS;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::quantity::positive_quantity;
use kubefoundry_kubernetes::wire::{HasPath, PathOf, Read, Reader};
use kubefoundry_yaml::Value;
use kubefoundry_yaml::field_path::FieldPath;

/// Returns the path of the overrides, typed by the provider that calls this.
pub fn path<T: HasPath>() -> PathOf<T> {
    ProviderRequest::overrides_path().into()
}

/// Reads the overrides and reports unknown keys. Returns the default if there are none, or if they cannot be read,
/// which is reported.
pub fn read<T: Default + Read>(deployment: &Deployment, findings: &mut Findings<'_>) -> T {
    let overrides = deployment.provider.overrides.as_ref().and_then(|node| {
        let mut reader = Reader::for_overrides(findings, deployment.api_group);
        if deployment.api_group.overrides_merged_by.is_some() {
            reader.merged_elsewhere = Some((ProviderRequest::overrides_path(), OBJECT_FIELDS));
        }
        T::read(node, &ProviderRequest::overrides_path(), &mut reader)
    });
    overrides.unwrap_or_default()
}

/// Returns whether an override is written, even if invalid. An invalid override is reported once, so callers do not
/// report it as missing.
pub fn is_written(deployment: &Deployment, key: &str) -> bool {
    let written = deployment.provider.overrides.as_ref().and_then(|node| node.get(key));
    written.is_some_and(|node| node.value != Value::Null)
}

/// Returns an amount of CPU or memory, or `None` after reporting an invalid one.
pub fn read_quantity(written: Option<String>, path: &FieldPath, findings: &mut Findings<'_>) -> Option<String> {
    let text = written?;
    let Err(expected) = positive_quantity(&text) else { return Some(text) };
    let message = format!("{path} is {text:?}, expected {expected}");
    findings.report(&codes::INVALID_QUANTITY, path, message).help("write cpu as 2 or 500m, memory as 4Gi");
    None
}
