//! What can be wrong with a configuration, found when it is read: names, engines, rules.

use std::collections::BTreeSet;

use crate::codes;
use crate::wire::{EngineEntry, EngineType, InferenceProviderConfig};
use kubefoundry_cel::{Environment, WarningKind};
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::check::Checker;
use kubefoundry_kubernetes::names;
use kubefoundry_kubernetes::wire::{Word as _, located_at};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::closest;
use kubefoundry_yaml::{Node, Span};

/// Each of them may be evaluated for each deployment.
const MOST_RULES: usize = 256;

/// So may those of all configurations together.
const MOST_RULES_OF_ALL: usize = 1024;

/// Checks the names in the configuration at `at`: the provider's own, and those of its engines.
pub(super) fn names(config: &InferenceProviderConfig, at: &FieldPath, findings: &mut Findings<'_>) {
    let name = config.metadata.as_ref().and_then(|metadata| metadata.name.as_ref());
    let path = located_at::<InferenceProviderConfig>(at);
    require(name, &path.clone().metadata().name(), findings);
    if let Some(name) = name {
        Checker { api_group: None, findings }.name(&path.clone().metadata().name(), name, names::dns_1123_subdomain);
    }
    let capabilities = config.spec.as_ref().and_then(|spec| spec.capabilities.as_ref());
    let mut seen = BTreeSet::new();
    for (index, engine) in capabilities.and_then(|all| all.engines.as_ref()).into_iter().flatten().enumerate() {
        let path = path.clone().spec().capabilities().engines().index(index);
        let name = match engine {
            EngineEntry::Name(name) => Some(name),
            EngineEntry::Capability(capability) => capability.name.as_ref(),
        };
        require(name, &path.clone().name(), findings);
        let Some(name) = name else { continue };
        if !seen.insert(name) {
            let message = format!("{path} is {name:?}, which an earlier entry has already");
            findings.report(&codes::DUPLICATE_ENTRY, &path, message);
        }
        if !EngineType::WORDS.iter().any(|(word, _)| word == name) {
            let message = format!("engine {name:?} is unknown, so no ModelDeployment can request it");
            let reported = findings.report(&codes::UNKNOWN_ENGINE_IN_CONFIG, &path, message);
            let known: Vec<&str> = EngineType::WORDS.iter().map(|(word, _)| *word).collect();
            match closest(name, known.iter().copied()) {
                Some(meant) => reported.help(format!("did you mean {meant:?}?")),
                None => reported.help(format!("known engines: {}", known.join(", "))),
            };
        }
    }
}

/// Checks and compiles every rule, whether or not it will be used, and returns where the conditions stand. `before` is
/// how many rules other configurations have; these are added.
pub(super) fn rules(
    config: &InferenceProviderConfig,
    at: &FieldPath,
    root: &Node<'_>,
    environment: &Environment,
    before: &mut usize,
    findings: &mut Findings<'_>,
) -> Vec<Option<Span>> {
    let rules = config.spec.as_ref().and_then(|spec| spec.selection_rules.as_ref());
    let count = rules.map_or(0, Vec::len);
    let list = located_at::<InferenceProviderConfig>(at).spec().selection_rules();
    if count > MOST_RULES {
        let message = format!("{list} has {count} rules, expected at most {MOST_RULES}");
        findings.report(&codes::LIMIT_EXCEEDED, &list, message);
        return Vec::new();
    }
    if *before + count > MOST_RULES_OF_ALL {
        let message = format!(
            "{list} has {count} rules and earlier configurations have {before}, expected at most {MOST_RULES_OF_ALL} \
             in total"
        );
        findings.report(&codes::LIMIT_EXCEEDED, &list, message);
        return Vec::new();
    }
    *before += count;
    let mut spans = Vec::new();
    for (index, rule) in rules.into_iter().flatten().enumerate() {
        let path = list.clone().index(index);
        let condition = path.clone().condition();
        require(rule.condition.as_ref(), &condition, findings);
        if rule.priority.is_some_and(|priority| priority < 0) {
            let path = path.priority();
            findings.report(&codes::OUT_OF_RANGE, &path, format!("{path} is negative, expected at least 0"));
        }
        let node = root.at(&condition);
        spans.push(node.map(|node| node.span));
        let (Some(node), Some(text)) = (node, &rule.condition) else { continue };
        let source = findings.scope().text;
        let part = |offset: &std::ops::Range<usize>| inside(source, node.span, text, offset);
        match environment.compile(text) {
            Ok((_, warnings)) => {
                for warning in warnings {
                    let code = match warning.kind {
                        WarningKind::NeverEqual => &codes::RULE_NEVER_TRUE,
                        _ => &codes::RULE_NOT_CHECKED,
                    };
                    findings.report_at(code, FieldRef::value(&condition), part(&warning.offset), warning.message);
                }
            }
            Err(errors) => {
                for error in errors {
                    let span = part(&error.offset);
                    findings.report_at(&codes::INVALID_RULE, FieldRef::value(&condition), span, error.message);
                }
            }
        }
    }
    spans
}

/// Reports a field that is not there. One that is there and could not be read has its finding already.
fn require(read: Option<&String>, path: &FieldPath, findings: &mut Findings<'_>) {
    if read.is_none() && findings.scope().root.at(path).is_none() {
        findings.report(&codes::REQUIRED_FIELD, path, format!("{path} is required"));
    }
}

/// The place of a part of a rule in the source. Only a scalar that stands in the text as it is can be pointed into; of
/// one with escapes or folded lines the whole is shown.
fn inside(text: &str, scalar: Span, value: &str, part: &std::ops::Range<usize>) -> Span {
    let written = text.get(scalar.start..scalar.end).unwrap_or_default();
    let quotes = usize::from(written.starts_with(['"', '\'']));
    if written.get(quotes..).is_some_and(|written| written.starts_with(value)) {
        Span { start: scalar.start + quotes + part.start, end: scalar.start + quotes + part.end }
    } else {
        scalar
    }
}
