//! Generates a JSON patch for kustomize that adds external providers to the CRD of the llama-stack operator.

use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::wire::{Describe, Shape};
use kubefoundry_llamastack::phase::ExternalProviderStatus;
use kubefoundry_llamastack::wire::ExternalProviders;
use serde_json::{Value, json};

use super::structural;
use crate::Failure;

const SCHEMA: &str = "/spec/versions/0/schema/openAPIV3Schema/properties";

/// Returns the operations of the patch.
pub(super) fn patch() -> Result<Value, Failure> {
    let status = schema_of::<ExternalProviderStatus>()?;
    let list = json!({
        "description": "The installation status of each external provider.",
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["providerId"],
        "items": status,
    });
    Ok(json!([
        {"op": "test", "path": "/spec/versions/0/name", "value": "v1alpha1"},
        {
            "op": "add",
            "path": format!("{SCHEMA}/spec/properties/server/properties/externalProviders"),
            "value": schema_of::<ExternalProviders>()?,
        },
        {"op": "add", "path": format!("{SCHEMA}/status/properties/externalProviders"), "value": list},
    ]))
}

/// Returns the schema of an object type. It is the same in every API group.
fn schema_of<T: Describe>() -> Result<Value, Failure> {
    match (T::SHAPE, API_GROUPS.first()) {
        (Shape::Object(shape), Some(api_group)) => structural::object(shape, api_group),
        _ => Err(Failure::Broken("the type is not an object, or there is no API group".to_owned())),
    }
}
