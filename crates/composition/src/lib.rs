//! The providers and transformations of the programs of kubefoundry. Each is a crate and a line here; no layer below
//! names one.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.

use kubefoundry_model::ModelDeployments;
use kubefoundry_model::composition::Composition;
use kubefoundry_provider::Provider;

/// Every provider that this program renders.
pub static PROVIDERS: &[&dyn Provider] =
    &[&kubefoundry_kaito::Kaito, &kubefoundry_dynamo::Dynamo, &kubefoundry_kuberay::KubeRay];

/// The composition of every program of kubefoundry.
///
/// ```
/// use kubefoundry_composition::BUILTIN;
/// assert!(BUILTIN.may_hold_source("kind: ModelDeployment\napiVersion: kubefoundry.ai/v1alpha1\nspec: ["));
/// assert_eq!(BUILTIN.find_provider("kaito").unwrap().display_name(), "KAITO");
/// ```
pub static BUILTIN: Composition =
    Composition::new(PROVIDERS, &[&ModelDeployments, &kubefoundry_llamastack::LlamaStack, &kubefoundry_actor::Actors]);
