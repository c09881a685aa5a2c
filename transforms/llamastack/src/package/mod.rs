//! Packages of providers: `lls-provider-spec.yaml` in a provider's image, and the wheels next to it.
//!
//! Source: `specs/001-deploy-time-providers-l1/spec.md` ("Provider Metadata File") and `plan.md` (the texts of the
//! errors) of `github.com/llamastack/llama-stack-k8s-operator`.

mod contents;
mod read;
mod requirements;
mod syntax;
mod wheel;

use super::wire::Api;

pub use contents::{Bundled, Contents, Package, check, check_platform, conflicts, provider_module};
pub use read::{MetadataError, Read, read};
pub use requirements::Requirement;
pub use wheel::{Wheel, WheelNameError};

/// `apiVersion` of [`ProviderPackage`].
pub const API_VERSION: &str = "llamastack.io/v1alpha1";

/// `kind` of [`ProviderPackage`].
pub const KIND: &str = "ProviderPackage";

/// The name of the file with a [`ProviderPackage`].
pub const FILE: &str = "lls-provider-spec.yaml";

/// The validated metadata of a provider's image.
///
/// ```
/// let text = "\
/// apiVersion: llamastack.io/v1alpha1
/// kind: ProviderPackage
/// metadata: {name: acme-vllm, version: 1.0.0, vendor: Acme}
/// spec:
///   packageName: acme.vllm
///   providerType: remote::acme-vllm
///   api: inference
///   wheelPath: packages/acme_vllm-1.0.0-py3-none-any.whl
/// ";
/// let read = kubefoundry_llamastack::package::read(text).unwrap();
/// assert_eq!(read.package.package_name, "acme.vllm");
/// assert!(read.warnings.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderPackage {
    /// `metadata.name`: the name of the package.
    pub name: String,
    /// `metadata.version`: a semantic version.
    pub version: String,
    /// `metadata.vendor`: the vendor of the package.
    pub vendor: String,
    /// `metadata.description`: a description in prose.
    pub description: Option<String>,
    /// `metadata.maintainer`: the contact for the package.
    pub maintainer: Option<String>,
    /// `spec.packageName`: the Python module that llama-stack imports.
    pub package_name: String,
    /// `spec.providerType`, such as `remote::acme-vllm`.
    pub provider_type: String,
    /// `spec.api`: the API that the provider implements.
    pub api: Api,
    /// `spec.wheelPath`: the wheel of the provider itself.
    pub wheel_path: String,
    /// `spec.dependencyWheels`: the wheels of its dependencies.
    pub dependency_wheels: Vec<String>,
}
