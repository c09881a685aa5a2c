//! What the init containers run that install providers and fetch a distribution's `run.yaml`: constant shell scripts.
//!
//! An id, an image or a setting never becomes part of a script: it reaches the script as an environment variable, so
//! nothing in it can be a command. The scripts hold neither `$$` nor `$(`, which Kubernetes would expand in a command
//! before the shell sees it.
//!
//! Source: `specs/001-deploy-time-providers-l1/spec.md` of `github.com/llamastack/llama-stack-k8s-operator`, "Container
//! Startup Sequence".

use serde_json::Value;

use super::wire::Api;
use kubefoundry_yaml::edit::to_json_line;

/// What the init container of an external provider runs, by `/bin/sh -c`, with the variables of [`environment`].
pub const PROVIDER_SCRIPT: &str = include_str!("install-provider.sh");

/// What the init container `extract-distribution-config` runs, by `/bin/sh -c`. [`EXTRA_BASE_CONFIGS`] may name more
/// paths than the two that it knows.
pub const EXTRACT_SCRIPT: &str = include_str!("extract-config.sh");

/// The variable of [`EXTRACT_SCRIPT`] with further paths to look at, one a line.
pub const EXTRA_BASE_CONFIGS: &str = "LLS_EXTRA_BASE_CONFIGS";

/// An external provider as its init container is told of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Provider<'p> {
    /// What it is called in the server.
    pub provider_id: &'p str,
    /// The image that holds its packages.
    pub image: &'p str,
    /// The API that it is listed under.
    pub api: Api,
    /// Its place among all external providers, counted from 0.
    pub order: usize,
    /// Its settings.
    pub config: Option<&'p Value>,
}

/// The variables of [`PROVIDER_SCRIPT`], as names and the values to write into a pod: Kubernetes makes of them what the
/// script is to see.
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

/// The value of an environment variable of a pod from which the container sees `text`. Kubernetes replaces `$(NAME)`, and
/// makes one dollar sign of two.
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

    /// What Kubernetes does with a value (`third_party/forked/golang/expansion`), with no variable to expand.
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
        /// The container sees the very text, and Kubernetes nothing to expand.
        #[test]
        fn what_is_written_is_what_the_container_sees(text in "[$(){}a ]{0,12}") {
            let value = unexpanded(&text);
            proptest::prop_assert_eq!(expand(&value), text);
            proptest::prop_assert!(!value.replace("$$", "").contains("$("), "{}", value);
        }

        /// A line break would end the setting for the script; other control characters are no YAML.
        #[test]
        fn settings_are_one_line_that_reads_back(text in proptest::string::string_regex("[\\PC\u{0}-\u{a0}\u{2028}\u{feff}]{0,12}").unwrap()) {
            let config = serde_json::json!({"text": text});
            let line = to_json_line(&config);
            proptest::prop_assert!(!line.contains(char::is_control), "{:?}", line);
            let parsed = kubefoundry_yaml::parse(&line, &kubefoundry_yaml::Limits::default());
            proptest::prop_assert_eq!(parsed.documents.first().map(|document| document.root.to_json()), Some(config));
        }
    }

    /// `$$` becomes `$` in a command, and `$(name)` the value of a variable.
    #[test]
    fn kubernetes_leaves_the_scripts_as_they_are() {
        for script in [PROVIDER_SCRIPT, EXTRACT_SCRIPT] {
            assert!(!script.contains("$$") && !script.contains("$("));
        }
    }
}
