//! kubefoundry turns a `ModelDeployment` (model, engine, GPUs, serving mode) into the manifests of the serving stack
//! that runs it: a KAITO Workspace, a Dynamo DynamoGraphDeployment or a KubeRay RayService.
//!
//! A pure function: the same texts give the same bytes. No cluster, network, clock, environment or file system.
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
//! | to | use |
//! |---|---|
//! | read texts | [`SourceSet`] |
//! | render and check them once | [`compile()`], [`compile_as`], [`Compilation`] |
//! | show what was found | [`Diagnostic`], [`report`], [`registry`] |
//! | render single deployments, or the same texts again and again | [`Session`] |
//! | know what a change does before it is applied | [`plan`] |
//! | know where a field goes, and why a provider was selected | [`trace`], [`selection`] |
//! | judge what a cluster has | [`status`], [`drift`] |
//! | move to kubefoundry, or between providers and API groups | [`import`], [`migrate`] |
//! | give editors and clusters the schemas | [`schemas`] |
//!
//! Only this package promises a stable interface. What it shows is declared in internal crates, `kubefoundry-compiler` above
//! all; the examples of single methods use the names of those crates. The kinds of input are described in `schemas`, the
//! options of a run are a document of kind `Render`.

mod input;
mod run;

pub mod report;

mod session;

pub mod plan;

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
