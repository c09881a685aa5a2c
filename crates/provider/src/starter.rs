//! Starters: the fields that a first deployment needs besides its model, engine and GPUs, so that it is rendered without
//! findings. A provider whose defaults suffice has none.

use kubefoundry_yaml::field_path::FieldPath;
use serde_json::Value;

use kubefoundry_deployment::ir::EngineType;

/// The facts about a first deployment that decide what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StarterRequest {
    /// The engine that runs the model.
    pub engine: EngineType,
    /// The number of GPUs; 0 for CPUs.
    pub gpus: u32,
}

/// A field of a starter.
#[derive(Debug, Clone, PartialEq)]
pub struct StarterField {
    /// The path in its document.
    pub path: FieldPath,
    /// The value.
    pub value: Value,
    /// The comment above the field: what it decides, and when to change it.
    pub comment: &'static str,
}

/// The fields that a provider adds to a first deployment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Starter {
    /// Fields of the ModelDeployment.
    pub deployment: Vec<StarterField>,
    /// Fields of the options.
    pub options: Vec<StarterField>,
}
