//! The providers that are built in: a folder each, and a line in [`PROVIDERS`]. Nothing outside this folder names one.

pub mod dynamo;
mod image;
pub mod kaito;
pub mod kuberay;
mod metadata;
mod nixl;
mod overrides;
#[cfg(test)]
mod pins;
pub mod pod;
mod reading;

use super::provider::Provider;

/// Every provider that this program renders.
pub static PROVIDERS: &[&dyn Provider] = &[&kaito::Kaito, &dynamo::Dynamo, &kuberay::KubeRay];

/// The provider with this name.
pub fn find(name: &str) -> Option<&'static dyn Provider> {
    PROVIDERS.iter().copied().find(|provider| provider.name() == name)
}
