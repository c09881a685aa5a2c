//! The resources of a worker's container: what the user wrote, and what follows from it.

use crate::wire::ContainerClaim;
use kubefoundry_yaml::field_path::FieldPath;

use super::ResourceAmount;

/// What one field of the user says about the resources of a container. `None` as an amount removes a common one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WrittenResources {
    /// Reserved amounts.
    pub requests: Vec<ResourceAmount>,
    /// Upper bounds.
    pub limits: Vec<ResourceAmount>,
    /// Claims of the pod that the container uses.
    pub claims: Vec<ContainerClaim>,
}

/// An amount of a resource, with the field that sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amount {
    /// The resource, such as `memory` or `rdma/ib`.
    pub resource: String,
    /// A Kubernetes quantity.
    pub quantity: String,
    /// The field that sets it.
    pub path: FieldPath,
}

/// The resources of a container. GPUs are not among the limits: [`Worker::gpu_count`](super::Worker::gpu_count) has
/// them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ContainerResources {
    /// Reserved amounts.
    pub requests: Vec<Amount>,
    /// Upper bounds.
    pub limits: Vec<Amount>,
    /// Claims of the pod that the container uses.
    pub claims: Vec<ContainerClaim>,
}

/// Returns the amount of a resource.
pub fn amount_of<'a>(amounts: &'a [Amount], resource: &str) -> Option<&'a Amount> {
    amounts.iter().find(|amount| amount.resource == resource)
}
