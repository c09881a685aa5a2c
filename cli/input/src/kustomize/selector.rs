//! The target of a patch: which resources it selects. Source: `api/types/selector.go` and `Select` of
//! `api/resmap/reswrangler.go` of kustomize.

use std::collections::BTreeMap;

use kubefoundry_kubernetes::header::Header;
use kubefoundry_yaml::Node;
use regex::RegexBuilder;

/// Size limit of a compiled pattern in bytes, far above that of any name.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// A resource that the target of a patch may select.
pub(super) struct Candidate<'c> {
    /// Its identity in the output.
    pub(super) current: &'c Header,
    /// Its identity in its file, which kustomize compares first.
    pub(super) original: Option<&'c Header>,
    pub(super) labels: &'c BTreeMap<String, String>,
    pub(super) annotations: &'c BTreeMap<String, String>,
}

/// Returns whether the target of a patch selects a resource.
pub(super) fn selects(target: &Node<'_>, candidate: &Candidate<'_>) -> bool {
    let Candidate { current, original, labels, annotations } = candidate;
    let word = |key: &str| target.get(key).and_then(Node::as_str).filter(|text| !text.is_empty());
    let headers = || original.iter().copied().chain([*current]);
    let any = |pattern: Option<&str>, value: &dyn Fn(&Header) -> String| {
        pattern.is_none_or(|pattern| headers().any(|header| matches(pattern, &value(header))))
    };
    let version = |header: &Header| header.api_version.rsplit('/').next().unwrap_or_default().to_owned();
    let namespace = |header: &Header| header.namespace.as_deref().unwrap_or("default").to_owned();
    any(word("group"), &|header| header.group().to_owned())
        && any(word("version"), &version)
        && any(word("kind"), &|header| header.kind.to_string())
        && any(word("name"), &|header| header.name.to_string())
        && any(word("namespace"), &namespace)
        && word("labelSelector").is_none_or(|selector| selects_labels(selector, labels))
        && word("annotationSelector").is_none_or(|selector| selects_labels(selector, annotations))
}

/// Returns whether a pattern matches all of a text. Kustomize refuses to build with an invalid pattern.
fn matches(pattern: &str, text: &str) -> bool {
    let pattern = RegexBuilder::new(&format!("^(?:{pattern})$")).size_limit(MAX_PATTERN_BYTES).build();
    pattern.is_ok_and(|pattern| pattern.is_match(text))
}

/// Returns whether a label selector selects labels: `app=a`, `app!=a`, `app in (a, b)`, `app notin (a, b)`, `app` and
/// `!app`, separated by commas.
fn selects_labels(selector: &str, labels: &BTreeMap<String, String>) -> bool {
    requirements(selector).into_iter().all(|requirement| is_met(requirement.trim(), labels))
}

/// Splits a selector at the commas outside of parentheses.
fn requirements(selector: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    selector
        .split(|c: char| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        })
        .collect()
}

fn is_met(requirement: &str, labels: &BTreeMap<String, String>) -> bool {
    if let Some(key) = requirement.strip_prefix('!') {
        return !labels.contains_key(key.trim());
    }
    let value_of = |key: &str| labels.get(key.trim()).map(String::as_str);
    for (operator, is_negated) in [(" notin ", true), (" in ", false)] {
        if let Some((key, values)) = requirement.split_once(operator) {
            let values = values.trim().trim_start_matches('(').trim_end_matches(')');
            let is_listed = value_of(key).is_some_and(|value| values.split(',').any(|it| it.trim() == value));
            return is_listed != is_negated;
        }
    }
    for (operator, is_negated) in [("!=", true), ("==", false), ("=", false)] {
        if let Some((key, value)) = requirement.split_once(operator) {
            return (value_of(key) == Some(value.trim())) != is_negated;
        }
    }
    labels.contains_key(requirement)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects_one(target: &str) -> bool {
        let parse = |text: &str| {
            let parsed = kubefoundry_yaml::parse(text, &kubefoundry_yaml::Limits::default());
            Header::from_node(&parsed.documents[0].root)
        };
        let current = parse(
            "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: dev-llama, namespace: ml}\n",
        );
        let original = parse("apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: llama}\n");
        let labels = BTreeMap::from([("tier".to_owned(), "gold".to_owned())]);
        let candidate =
            Candidate { current: &current, original: Some(&original), labels: &labels, annotations: &labels };
        let parsed = kubefoundry_yaml::parse(target, &kubefoundry_yaml::Limits::default());
        selects(&parsed.documents[0].root, &candidate)
    }

    /// Patterns are anchored at both ends, and the name may be that of the file or that of the output.
    #[test]
    fn targets_select_as_in_kustomize() {
        for target in [
            "{kind: ModelDeployment}",
            "{kind: Model.*}",
            "{name: llama}",
            "{name: dev-llama}",
            "{name: l.*a}",
            "{name: phi|llama}",
            "{group: kubefoundry.ai, version: v1alpha1}",
            "{namespace: ml}",
            "{namespace: default}",
            "{labelSelector: tier=gold}",
            "{labelSelector: 'tier in (silver, gold),!team'}",
            "{labelSelector: tier}",
            "{annotationSelector: 'tier!=silver'}",
            "{name: ''}",
        ] {
            assert!(selects_one(target), "{target}");
        }
        for target in [
            "{kind: Model}",
            "{kind: Deployment}",
            "{name: lam}",
            "{name: phi.*}",
            "{name: '('}",
            "{version: v1}",
            "{namespace: prod}",
            "{labelSelector: tier=silver}",
            "{labelSelector: 'tier notin (gold)'}",
            "{labelSelector: '!tier'}",
            "{annotationSelector: team}",
        ] {
            assert!(!selects_one(target), "{target}");
        }
    }
}
