//! kubefoundry turns a `ModelDeployment` (model, engine, GPUs, serving mode) into the manifests of the serving stack
//! that runs it: a KAITO Workspace, a Dynamo DynamoGraphDeployment or a KubeRay RayService.
//!
//! Rendering is a pure function: the same texts give the same bytes. The library uses no cluster, network, clock,
//! environment or file system.
//!
//! ```
//! use kubefoundry::{SourceSet, Thoroughness, YamlText, compile_as};
//!
//! let mut sources = SourceSet::default();
//! sources.add("phi.yaml", "
//! apiVersion: kubefoundry.ai/v1alpha1
//! kind: ModelDeployment
//! metadata: {name: phi}
//! spec:
//!   model: {id: microsoft/Phi-4-mini-instruct}
//!   engine: {type: vllm}
//!   resources: {gpu: {count: 1}}
//! ");
//! let compilation = compile_as::<YamlText>(&sources, Thoroughness::Needed);
//! assert!(!compilation.has_errors(), "{}", kubefoundry::report::concise(&compilation.diagnostics, &sources));
//! let manifest = compilation.outputs[0].object.as_str();
//! assert!(manifest.starts_with("apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\n"));
//! ```
//!
//! | task | API |
//! |---|---|
//! | read texts | [`SourceSet`] |
//! | render and check them once | [`compile()`], [`compile_as`], [`Compilation`] |
//! | report findings | [`Diagnostic`], [`report`], [`registry`] |
//! | render single deployments, or the same texts repeatedly | [`Session`] |
//! | predict the effects of a change | [`plan`] |
//! | size GPUs | [`fit`] |
//! | trace fields, and explain the selection of a provider | [`trace`], [`selection`] |
//! | check the state of a cluster | [`status`], [`drift`] |
//! | migrate to kubefoundry, or between providers and API groups | [`import`], [`migrate`] |
//! | get the schemas for editors and clusters | [`schemas`] |
//!
//! Only this package has a stable interface. Its items are declared in internal crates, mainly `kubefoundry-compiler`;
//! the examples of single methods use the names of those crates. [`schemas`] describes the kinds of input. The options
//! of a run are a document of kind `Render`.

mod input;
mod run;

pub mod report;

mod session;

pub mod plan;

pub mod fit;
pub mod selection;
pub mod trace;

pub mod drift;
pub mod status;

pub mod import;
pub mod migrate;

pub mod registry;
pub mod schemas;

pub use input::*;
pub use run::*;
pub use session::*;
