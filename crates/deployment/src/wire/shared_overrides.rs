//! The part of `spec.provider.overrides` that all providers share.

use super::{ModelDeployment, Patch};
use kubefoundry_kubernetes::api_group::AIRUNWAY;
use kubefoundry_kubernetes::wire::{Map, PathOf, typed_path};
use kubefoundry_kubernetes::wire_object;

/// The fields of the main objects of providers. In a group whose system merges overrides, such a key of them is a part of
/// the object.
pub const OBJECT_FIELDS: &[&str] =
    &["apiVersion", "inference", "kind", "metadata", "resource", "spec", "status", "tuning"];

wire_object! {
    /// The part of `spec.provider.overrides` that all providers share.
    pub struct SharedOverrides {
        /// Labels and annotations of the provider's main object: a Workspace, an InferenceSet, a DynamoGraphDeployment
        /// or a RayService.
        metadata: MainObjectMetadata = "metadata" [not_in(&[AIRUNWAY])],
        /// Changes of the generated objects, for what no other field says.
        patches: Vec<Patch> = "patches" [not_in(&[AIRUNWAY])],
    }
}
wire_object! {
    /// Labels and annotations of the provider's main object.
    pub struct MainObjectMetadata {
        /// Labels of the object, besides those that kubefoundry sets.
        labels: Map<String> = "labels" [max_entries(512)],
        /// Annotations of the object, such as switches of the provider's controller.
        annotations: Map<String> = "annotations" [max_entries(512)],
    }
}

impl SharedOverrides {
    /// Returns the path of the labels and annotations of the main object in a deployment.
    pub fn path_of_metadata() -> PathOf<MainObjectMetadata> {
        Self::path_in_deployment().metadata()
    }

    /// Returns the path of the patches in a deployment.
    pub fn path_of_patches() -> PathOf<Vec<Patch>> {
        Self::path_in_deployment().patches()
    }

    fn path_in_deployment() -> PathOf<Self> {
        typed_path::<Self>(&ModelDeployment::path().spec().provider().overrides())
    }
}
