//! The providers and transformations of the programs of kubefoundry. Each is a crate and a line here; no layer below
//! names one.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.

use kubefoundry_model::ModelDeployments;
use kubefoundry_model::composition::{Composition, LeftOutKind};
use kubefoundry_provider::Provider;
use kubefoundry_transform::AnyTransform;

/// Every provider that this program renders.
pub static PROVIDERS: &[&dyn Provider] =
    &[&kubefoundry_kaito::Kaito, &kubefoundry_dynamo::Dynamo, &kubefoundry_kuberay::KubeRay];

/// Every transformation of this program. A `Render` document, the docs and messages name them in this order.
static TRANSFORMATIONS: &[&dyn AnyTransform] = &[
    &ModelDeployments,
    #[cfg(feature = "llamastack")]
    &kubefoundry_llamastack::LlamaStack,
    #[cfg(feature = "actor")]
    &kubefoundry_actor::Actors,
];

/// The kinds of the transformations that this program was built without.
static LEFT_OUT: &[LeftOutKind] = &[
    #[cfg(not(feature = "llamastack"))]
    LeftOutKind { group: "llamastack.io", kind: "LlamaStackDistribution", feature: "llamastack" },
    #[cfg(not(feature = "actor"))]
    LeftOutKind { group: "asya.sh", kind: "AsyncActor", feature: "actor" },
];

/// The composition of every program of kubefoundry.
///
/// ```
/// use kubefoundry_composition::BUILTIN;
/// assert!(BUILTIN.may_hold_source("kind: ModelDeployment\napiVersion: kubefoundry.ai/v1alpha1\nspec: ["));
/// assert_eq!(BUILTIN.find_provider("kaito").unwrap().display_name(), "KAITO");
/// ```
pub static BUILTIN: Composition = Composition::new(PROVIDERS, TRANSFORMATIONS).without(LEFT_OUT);
