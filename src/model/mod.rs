//! The `ModelDeployment` transformation.
pub mod engines;
