//! kubefoundry: a `ModelDeployment` in, the manifests of the serving stack that runs it out.
pub mod cel;
pub mod path;
pub mod source;
pub mod yaml;
pub mod model;
