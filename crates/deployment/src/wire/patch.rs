//! Raw patches of generated objects, a part of every provider's overrides.

use kubefoundry_kubernetes::wire::{Map, Syntax};
use kubefoundry_kubernetes::wire_object;
use kubefoundry_yaml::Node;

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
