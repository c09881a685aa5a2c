//! The diagnostics that only LlamaStackDistributions need.

use kubefoundry_diagnostics::declare_codes;
pub use kubefoundry_transform::codes::*;

declare_codes! {
    FOREIGN_DISTRIBUTION = "KF2001" "llama-stack-foreign-distribution" Error "a LlamaStackDistribution with external providers under an API group that is not rendered";
    DUPLICATE_PROVIDER_ID = "KF2002" "llama-stack-duplicate-provider-id" Error "two external providers with one id";
    MUTABLE_PROVIDER_IMAGE = "KF2003" "llama-stack-mutable-provider-image" Warning "a provider image without a digest";
    INLINE_PROVIDER_SECRET = "KF2004" "llama-stack-inline-provider-secret" Warning "a secret written into a provider's config";
    UNKNOWN_DISTRIBUTION = "KF2005" "llama-stack-unknown-distribution" Error "a distribution without a known image";
    UNUSABLE_USER_CONFIG = "KF2006" "llama-stack-unusable-user-config" Error "a ConfigMap without a usable configuration of the server";
    VOLUME_CLASH = "KF2007" "llama-stack-volume-clash" Error "a volume or mount that conflicts with one that kubefoundry adds";
    START_OVERRIDDEN = "KF2008" "llama-stack-start-overridden" Warning "a command, argument or variable that starts the server without its external providers";
    UNUSABLE_CA_BUNDLE = "KF2009" "llama-stack-unusable-ca-bundle" Error "certificates that cannot be combined in a bundle";
    NO_SERVICE = "KF2010" "llama-stack-no-service" Warning "a server without a Service";
    INVALID_PROVIDER_PACKAGE = "KF2011" "llama-stack-invalid-provider-package" Error "invalid metadata of a provider";
    PROVIDER_API_MISMATCH = "KF2012" "llama-stack-provider-api-mismatch" Error "a provider in the section of another API";
    MERGE_IMPOSSIBLE = "KF2013" "llama-stack-merge-impossible" Error "a configuration that cannot be merged while rendering";
    PROVIDER_OVERRIDDEN = "KF2014" "llama-stack-provider-overridden" Warning "a provider of the configuration that an external one replaces";
    UNPUBLISHED_RENDERER = "KF2015" "llama-stack-unpublished-renderer" Warning "an init container with an image that you must build";
    UNUSED_PROVIDER_METADATA = "KF2016" "llama-stack-unused-provider-metadata" Warning "metadata of a provider that no distribution has";
}
