//! kubefoundry: a `ModelDeployment` in, the manifests of the serving stack that runs it out.
pub mod cel;
pub mod diagnostic;
pub mod dialect;
pub mod manifest;
pub mod model;
pub mod path;
pub mod source;
pub mod wire;
pub mod yaml;
