//! Where things are in the containers (the specification's "User-Facing Paths").

/// What providers are installed into.
pub(super) const PROVIDERS: &str = "/opt/llama-stack/external-providers";
/// Their Python packages.
pub(super) const PACKAGES: &str = "/opt/llama-stack/external-providers/python-packages";
/// The configuration that is merged into.
pub(super) const BASE_CONFIG: &str = "/opt/llama-stack/base-config";
/// The merged configuration.
pub(super) const CONFIG: &str = "/opt/llama-stack/config";
/// The file of it that the server is started with.
pub(super) const RUN_YAML: &str = "/opt/llama-stack/config/run.yaml";
/// The file with nothing but the external providers.
pub(super) const EXTRA_PROVIDERS: &str = "/opt/llama-stack/config/extra-providers.yaml";
/// The user's configuration, where the server reads it itself.
pub(super) const USER_CONFIG: &str = "/etc/llama-stack";
/// Certificates.
pub(super) const CA_BUNDLE: &str = "/etc/ssl/certs/ca-bundle";
/// The file that holds them.
pub(super) const CA_KEY: &str = "ca-bundle.crt";
/// This program in its image.
pub(super) const PROGRAM: &str = "/usr/local/bin/kubefoundry";
