//! The diagnostics that only LlamaStackDistributions need.

use kubefoundry_diagnostics::declare_codes;
pub use kubefoundry_transform::codes::*;

declare_codes! {
    FOREIGN_DISTRIBUTION = "KF0700" "foreign-distribution" Error "a LlamaStackDistribution with external providers under an API group that is not rendered";
    DUPLICATE_PROVIDER_ID = "KF0707" "duplicate-provider-id" Error "two external providers with one id";
    MUTABLE_PROVIDER_IMAGE = "KF0708" "mutable-provider-image" Warning "a provider image without a digest";
    INLINE_PROVIDER_SECRET = "KF0709" "inline-provider-secret" Warning "a secret written into a provider's config";
    UNKNOWN_DISTRIBUTION = "KF0710" "unknown-distribution" Error "a distribution without a known image";
    UNUSABLE_USER_CONFIG = "KF0711" "unusable-user-config" Error "a ConfigMap without a usable configuration of the server";
    VOLUME_CLASH = "KF0712" "volume-clash" Error "a volume or mount that conflicts with one that kubefoundry adds";
    START_OVERRIDDEN = "KF0713" "start-overridden" Warning "a command, argument or variable that starts the server without its external providers";
    UNUSABLE_CA_BUNDLE = "KF0714" "unusable-ca-bundle" Error "certificates that cannot be combined in a bundle";
    NO_SERVICE = "KF0715" "no-service" Warning "a server without a Service";
    INVALID_PROVIDER_PACKAGE = "KF0716" "invalid-provider-package" Error "invalid metadata of a provider";
    PROVIDER_API_MISMATCH = "KF0717" "provider-api-mismatch" Error "a provider in the section of another API";
    MERGE_IMPOSSIBLE = "KF0718" "merge-impossible" Error "a configuration that cannot be merged while rendering";
    PROVIDER_OVERRIDDEN = "KF0719" "provider-overridden" Warning "a provider of the configuration that an external one replaces";
    UNPUBLISHED_RENDERER = "KF0724" "unpublished-renderer" Warning "an init container with an image that you must build";
    UNUSED_PROVIDER_METADATA = "KF0725" "unused-provider-metadata" Warning "metadata of a provider that no distribution has";
}
