//! Raw patches of generated objects, a part of every provider's overrides.

use super::ModelDeployment;
use kubefoundry_kubernetes::api_group::AIRUNWAY;
use kubefoundry_kubernetes::wire::{Map, PathOf, Syntax, typed_path};
use kubefoundry_kubernetes::wire_object;
use kubefoundry_yaml::Node;

wire_object! {
    /// The part of `spec.provider.overrides` that all providers share.
    pub struct SharedOverrides {
        /// Changes of the generated objects, for what no other field says.
        patches: Vec<Patch> = "patches" [not_in(&[AIRUNWAY])],
    }
}
wire_object! {
    /// A change of generated objects.
    pub struct Patch {
        /// The objects that are changed.
        target: PatchTarget = "target" [required()],
        /// Fields that are merged into the objects as by server-side apply. `null` removes a field.
        merge: Map<Node<'static>> = "merge",
        /// Fields that are merged into the YAML text `spec.serveConfigV2` of a RayService in the same way.
        serve_config: Map<Node<'static>> = "serveConfig",
    }
}
wire_object! {
    /// The objects that a patch changes.
    pub struct PatchTarget {
        /// The kind of the objects: `RayService`.
        kind: String = "kind" [required()],
        /// The name of the object. Without it, every generated object of the kind is changed.
        name: String = "name" [syntax(Syntax::DnsSubdomain)],
    }
}

impl SharedOverrides {
    /// Returns the path of the patches in a deployment.
    pub fn path_of_patches() -> PathOf<Vec<Patch>> {
        typed_path::<Self>(&ModelDeployment::path().spec().provider().overrides()).patches()
    }
}
