//! The built-in providers. Each is a folder and a line in [`PROVIDERS`]; no code outside this folder names one.

pub mod dynamo;
mod image;
mod import_pod;
mod import_volumes;
pub mod kaito;
mod known_images;
pub mod kuberay;
mod metadata;
pub(crate) mod model_alias;
mod nixl;
mod overrides;
pub mod pod;
pub(crate) mod releases;
#[cfg(test)]
mod wheel_pins;

use super::provider::Provider;

/// Every provider that this program renders.
pub static PROVIDERS: &[&dyn Provider] = &[&kaito::Kaito, &dynamo::Dynamo, &kuberay::KubeRay];

/// Finds a provider by its name in `spec.provider.name`.
pub fn find(name: &str) -> Option<&'static dyn Provider> {
    PROVIDERS.iter().copied().find(|provider| provider.name() == name)
}
