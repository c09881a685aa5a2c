//! kubefoundry turns a `ModelDeployment` (model, engine, GPUs, serving mode) into the manifests of the serving stack
//! that runs it: a KAITO Workspace, a Dynamo DynamoGraphDeployment or a KubeRay RayService.
//!
//! A pure function: the same texts give the same bytes. No cluster, network, clock, environment or file system.

pub mod registry;
pub mod schemas;
