//! The constant shell scripts of the init containers that install providers and extract a distribution's `run.yaml`.
//!
//! Ids, images and settings are never inserted into a script. The script gets them as environment variables, so no
//! value can be run as a command. The scripts contain neither `$$` nor `$(`, because Kubernetes expands these in a
//! command.
//!
//! Source: `specs/001-deploy-time-providers-l1/spec.md` of `github.com/llamastack/llama-stack-k8s-operator`, "Container
//! Startup Sequence".

use serde_json::Value;

use super::wire::Api;
use kubefoundry_yaml::edit::to_json_line;

/// The script of an external provider's init container, for `/bin/sh -c`. It reads the variables of [`environment`].
pub const PROVIDER_SCRIPT: &str = include_str!("install-provider.sh");

/// The script of the init container `extract-distribution-config`, for `/bin/sh -c`. It searches the known
/// paths, those in [`EXTRA_BASE_CONFIGS`], and the image's Python package of llama-stack.
pub const EXTRACT_SCRIPT: &str = concat!(include_str!("find-config.sh"), include_str!("extract-config.sh"));

/// The variable of [`EXTRACT_SCRIPT`] with additional paths to search, one per line.
pub const EXTRA_BASE_CONFIGS: &str = "LLS_EXTRA_BASE_CONFIGS";

/// The variable of [`EXTRACT_SCRIPT`] with the name of the distribution, for images that do not name it.
pub const DISTRIBUTION: &str = "LLS_DISTRIBUTION";

/// The description of an external provider that its init container gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Provider<'p> {
    /// The provider's id in the server.
    pub provider_id: &'p str,
    /// The image that contains its packages.
    pub image: &'p str,
    /// The API under which it is listed.
    pub api: Api,
    /// Its position among all external providers, counted from 0.
    pub order: usize,
    /// The provider's settings.
    pub config: Option<&'p Value>,
}

/// Returns the variables of [`PROVIDER_SCRIPT`] as names and values for the pod. The values are escaped so that the
/// script sees the original text after Kubernetes has expanded them.
///
/// ```
/// use kubefoundry_llamastack::install::{Provider, environment};
/// use kubefoundry_llamastack::wire::Api;
///
/// let config = serde_json::json!({"url": "$(HOSTNAME)"});
/// let provider =
///     Provider { provider_id: "vllm", image: "quay.io/acme/vllm:1", api: Api::VectorIo, order: 0, config: Some(&config) };
/// let environment = environment(&provider);
/// assert_eq!(environment[2], ("LLS_PROVIDER_API", "vector_io".to_owned()));
/// assert_eq!(environment[4], ("LLS_PROVIDER_CONFIG", r#"{"url":"$$(HOSTNAME)"}"#.to_owned()));
/// ```
pub fn environment(provider: &Provider<'_>) -> Vec<(&'static str, String)> {
    let mut variables = vec![
        ("LLS_PROVIDER_ID", unexpanded(provider.provider_id)),
        ("LLS_PROVIDER_IMAGE", unexpanded(provider.image)),
        ("LLS_PROVIDER_API", provider.api.as_str().to_owned()),
        ("LLS_PROVIDER_ORDER", provider.order.to_string()),
    ];
    if let Some(config) = provider.config {
        variables.push(("LLS_PROVIDER_CONFIG", unexpanded(&to_json_line(config))));
    }
    variables
}

/// Escapes a text for an environment variable of a pod, so that the container sees it unchanged. Kubernetes expands
/// `$(NAME)` and reduces two dollar signs to one.
///
/// ```
/// use kubefoundry_llamastack::install::unexpanded;
/// assert_eq!(unexpanded("${env.PORT:=80} $(PORT) $$"), "${env.PORT:=80} $$(PORT) $$$");
/// ```
pub fn unexpanded(text: &str) -> String {
    let mut value = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        value.push(c);
        if c == '$' && matches!(rest.peek(), Some('$' | '(')) {
            value.push('$');
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expansion of Kubernetes (`third_party/forked/golang/expansion`) without any variables.
    fn expand(value: &str) -> String {
        let mut seen = String::new();
        let mut rest = value.chars().peekable();
        while let Some(c) = rest.next() {
            seen.push(c);
            if c == '$' && rest.peek() == Some(&'$') {
                rest.next();
            }
        }
        seen
    }

    proptest::proptest! {
        #[test]
        fn escaping_survives_expansion(text in "[$(){}a ]{0,12}") {
            let value = unexpanded(&text);
            proptest::prop_assert_eq!(expand(&value), text);
            proptest::prop_assert!(!value.replace("$$", "").contains("$("), "{}", value);
        }

        /// A line break would end the setting in the script, and other control characters are invalid in YAML.
        #[test]
        fn settings_are_a_single_line_that_parses_back(text in proptest::string::string_regex("[\\PC\u{0}-\u{a0}\u{2028}\u{feff}]{0,12}").unwrap()) {
            let config = serde_json::json!({"text": text});
            let line = to_json_line(&config);
            proptest::prop_assert!(!line.contains(char::is_control), "{:?}", line);
            let parsed = kubefoundry_yaml::parse(&line, &kubefoundry_yaml::Limits::default());
            proptest::prop_assert_eq!(parsed.documents.first().map(|document| document.root.to_json()), Some(config));
        }
    }

    /// Kubernetes replaces `$$` by `$` in a command, and `$(name)` by the value of a variable.
    #[test]
    fn scripts_contain_nothing_to_expand() {
        for script in [PROVIDER_SCRIPT, EXTRACT_SCRIPT] {
            assert!(!script.contains("$$") && !script.contains("$("));
        }
    }
}
