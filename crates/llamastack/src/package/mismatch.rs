//! Comparison of a package's metadata with the result of its `get_provider_spec()`.
//!
//! `llama-stack preflight` uses it, because only it can call the provider's code. Source:
//! `specs/001-deploy-time-providers-l1/spec.md`, "Metadata Field Comparison".

use super::ProviderPackage;

/// The result of a provider's `get_provider_spec()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runtime<'r> {
    /// `ProviderSpec.provider_type`.
    pub provider_type: &'r str,
    /// `ProviderSpec.api`.
    pub api: &'r str,
}

/// Returns a warning if a provider's metadata and code differ. The server uses the values of the code.
///
/// ```
/// # let text = "{apiVersion: llamastack.io/v1alpha1, kind: ProviderPackage, metadata: {name: a, version: 1.0.0, vendor: b}, \
/// # spec: {packageName: a, providerType: 'remote::custom-vllm', api: inference, wheelPath: a.whl}}";
/// use kubefoundry_llamastack::package::{Runtime, compare, read};
/// let package = read(text).unwrap().package;
/// let agrees = Runtime { provider_type: "remote::custom-vllm", api: "inference" };
/// assert_eq!(compare("custom-vllm", &package, &agrees), None);
/// let differs = Runtime { provider_type: "remote::vllm-v2", ..agrees };
/// assert!(compare("custom-vllm", &package, &differs).unwrap().contains("  Using: remote::vllm-v2 (runtime value)\n"));
/// ```
pub fn compare(provider_id: &str, package: &ProviderPackage, runtime: &Runtime<'_>) -> Option<String> {
    let fields = [
        ("provider_type", package.provider_type.as_str(), runtime.provider_type),
        ("api", package.api.as_str(), runtime.api),
    ];
    if fields.iter().all(|(_, metadata, runtime)| metadata == runtime) {
        return None;
    }
    let mut warning = format!("WARNING: Provider metadata mismatch (non-blocking)\n\nProvider: {provider_id}\n");
    for (field, metadata, runtime) in fields {
        let verdict =
            if metadata == runtime { "Match \u{2713}".to_owned() } else { format!("Using: {runtime} (runtime value)") };
        let sides =
            format!("  Metadata (lls-provider-spec.yaml): {metadata}\n  Runtime (get_provider_spec()): {runtime}\n");
        warning.extend([&format!("\nField: {field}\n"), &sides, &format!("  {verdict}\n")].map(String::as_str));
    }
    Some(warning)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    /// The expected text is copied from the specification.
    #[test]
    fn reports_a_mismatch_as_specified() {
        let text = "{apiVersion: llamastack.io/v1alpha1, kind: ProviderPackage, metadata: {name: a, version: 1.0.0, \
                    vendor: b}, spec: {packageName: a, providerType: 'remote::custom-vllm', api: inference, wheelPath: a}}";
        let runtime = Runtime { provider_type: "remote::vllm-v2", api: "inference" };
        let expected = "\
WARNING: Provider metadata mismatch (non-blocking)

Provider: custom-vllm

Field: provider_type
  Metadata (lls-provider-spec.yaml): remote::custom-vllm
  Runtime (get_provider_spec()): remote::vllm-v2
  Using: remote::vllm-v2 (runtime value)

Field: api
  Metadata (lls-provider-spec.yaml): inference
  Runtime (get_provider_spec()): inference
  Match \u{2713}
";
        assert_eq!(compare("custom-vllm", &read(text).unwrap().package, &runtime).unwrap(), expected);
    }
}
