//! Paths in the containers (the specification's "User-Facing Paths").

/// The directory into which providers are installed.
pub(super) const PROVIDERS: &str = "/opt/llama-stack/external-providers";
/// The directory of the providers' Python packages.
pub(super) const PACKAGES: &str = "/opt/llama-stack/external-providers/python-packages";
/// The directory of the base configuration.
pub(super) const BASE_CONFIG: &str = "/opt/llama-stack/base-config";
/// The directory of the merged configuration.
pub(super) const CONFIG: &str = "/opt/llama-stack/config";
/// The merged file with which the server starts.
pub(super) const RUN_YAML: &str = "/opt/llama-stack/config/run.yaml";
/// The file with only the external providers.
pub(super) const EXTRA_PROVIDERS: &str = "/opt/llama-stack/config/extra-providers.yaml";
/// The directory of the user's configuration, if the server reads it directly.
pub(super) const USER_CONFIG: &str = "/etc/llama-stack";
/// The directory of the trusted certificates.
pub(super) const CA_BUNDLE: &str = "/etc/ssl/certs/ca-bundle";
/// The name of the file with the certificates.
pub(super) const CA_KEY: &str = "ca-bundle.crt";
/// The path of this program in its image.
pub(super) const PROGRAM: &str = "/usr/local/bin/kubefoundry";
