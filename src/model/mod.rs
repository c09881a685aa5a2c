//! The `ModelDeployment` transformation: wire object, validated deployment, provider, manifests.

pub mod engines;
pub mod ir;
pub mod provider;
pub mod providers;
pub mod support;
pub mod validate;
