//! kubefoundry turns a `ModelDeployment` (model, engine, GPUs, serving mode) into the manifests of the serving stack
//! that runs it: a KAITO Workspace, a Dynamo DynamoGraphDeployment or a KubeRay RayService.
//!
//! A pure function: the same texts give the same bytes. No cluster, network, clock, environment or file system.
//!
//! ```text
//! text ─ source ─ yaml ─ wire ─ model::validate ─ model::select ─ model::providers ─ manifest ─ yaml ─ text
//!                          └──────────────── diagnostic (collected, sorted) ────────────────┘
//! ```
//! Modules stand in the order in which data flows through them.

pub mod source;

pub mod fingerprint;
pub mod path;
pub mod text;
pub mod yaml;

pub mod diagnostic;

pub mod dialect;
pub mod wire;

pub mod cel;
pub mod crds;
pub mod manifest;
pub mod model;

pub mod actor;
pub mod llamastack;

pub mod transform;

pub mod registry;
pub mod schemas;

pub mod options;

pub mod compile;
pub mod engine;
pub mod plan;

pub mod live;

pub mod drift;
pub mod status;

pub mod trace;

pub mod rules;

pub mod import;
pub mod migrate;

pub use compile::{Compilation, Decision, Output, Thoroughness, compile};
pub use source::{NotText, Purpose, SourceSet};
