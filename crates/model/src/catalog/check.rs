//! Checks of a provider configuration when it is read: names, engines and selection rules.

use std::collections::BTreeSet;

use kubefoundry_cel::{Environment, WarningKind};
use kubefoundry_deployment::codes;
use kubefoundry_deployment::wire::{EngineEntry, EngineType, InferenceProviderConfig};
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::check::Checker;
use kubefoundry_kubernetes::names;
use kubefoundry_kubernetes::wire::{StringEnum as _, typed_path};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::closest;
use kubefoundry_yaml::{Node, Span, Value};

/// The limit for one configuration. Each rule may be evaluated for each deployment.
const MAX_RULES_PER_CONFIG: usize = 256;

/// The limit for all configurations together.
const MAX_RULES: usize = 1024;

/// Checks the provider's name and the names of its engines in the configuration at `at`.
pub(super) fn check_names(config: &InferenceProviderConfig, at: &FieldPath, findings: &mut Findings<'_>) {
    let name = config.metadata.as_ref().and_then(|metadata| metadata.name.as_ref());
    let path = typed_path::<InferenceProviderConfig>(at);
    require_field(name, &path.clone().metadata().name(), findings);
    if let Some(name) = name {
        Checker { api_group: None, findings }.check_name(
            &path.clone().metadata().name(),
            name,
            names::dns_1123_subdomain,
        );
    }
    let capabilities = config.spec.as_ref().and_then(|spec| spec.capabilities.as_ref());
    let engines = capabilities.and_then(|capabilities| capabilities.engines.as_ref());
    let engines_path = path.clone().spec().capabilities().engines();
    if engines.is_none_or(Vec::is_empty) && !has_value(findings.scope().root, &engines_path) {
        let message = "the configuration lists no engine, so it never selects its provider";
        findings
            .report(&codes::INERT_CONFIGURATION, path.clone().metadata().name(), message)
            .help(format!("list the provider's engines in {engines_path}, or remove the configuration"));
    }
    let mut seen = BTreeSet::new();
    for (index, engine) in
        capabilities.and_then(|capabilities| capabilities.engines.as_ref()).into_iter().flatten().enumerate()
    {
        let path = path.clone().spec().capabilities().engines().index(index);
        let name = match engine {
            EngineEntry::Name(name) => Some(name),
            EngineEntry::Capability(capability) => capability.name.as_ref(),
        };
        require_field(name, &path.clone().name(), findings);
        let Some(name) = name else { continue };
        if !seen.insert(name) {
            let message = format!("{path} is {name:?}, which an earlier entry already has");
            findings.report(&codes::DUPLICATE_ENTRY, &path, message);
        }
        if !EngineType::VARIANTS.iter().any(|(word, _)| word == name) {
            let message = format!("engine {name:?} is unknown, so no ModelDeployment can request it");
            let reported = findings.report(&codes::UNKNOWN_ENGINE_IN_CONFIG, &path, message);
            let known: Vec<&str> = EngineType::VARIANTS.iter().map(|(word, _)| *word).collect();
            match closest(name, known.iter().copied()) {
                Some(meant) => reported.help(format!("did you mean {meant:?}?")),
                None => reported.help(format!("known engines: {}", known.join(", "))),
            };
        }
    }
}

/// Checks and compiles every selection rule, used or not, and returns the span of each condition. `total` counts the
/// rules of the configurations read so far; the number of these rules is added to it.
pub(super) fn check_rules(
    config: &InferenceProviderConfig,
    at: &FieldPath,
    root: &Node<'_>,
    environment: &Environment,
    total: &mut usize,
    findings: &mut Findings<'_>,
) -> Vec<Option<Span>> {
    let rules = config.spec.as_ref().and_then(|spec| spec.selection_rules.as_ref());
    let count = rules.map_or(0, Vec::len);
    let list = typed_path::<InferenceProviderConfig>(at).spec().selection_rules();
    if count > MAX_RULES_PER_CONFIG {
        let message = format!("{list} has {count} rules, expected at most {MAX_RULES_PER_CONFIG}");
        findings.report(&codes::LIMIT_EXCEEDED, &list, message);
        return Vec::new();
    }
    if *total + count > MAX_RULES {
        let message = format!(
            "{list} has {count} rules and earlier configurations have {total}, expected at most {MAX_RULES} \
             in total"
        );
        findings.report(&codes::LIMIT_EXCEEDED, &list, message);
        return Vec::new();
    }
    *total += count;
    let mut spans = Vec::new();
    for (index, rule) in rules.into_iter().flatten().enumerate() {
        let path = list.clone().index(index);
        let condition = path.clone().condition();
        require_field(rule.condition.as_ref(), &condition, findings);
        let node = root.at(&condition);
        spans.push(node.map(|node| node.span));
        let (Some(node), Some(text)) = (node, &rule.condition) else { continue };
        let source = findings.scope().text;
        let span_of = |offset: &std::ops::Range<usize>| span_within_scalar(source, node.span, text, offset);
        match environment.compile(text) {
            Ok((_, warnings)) => {
                for warning in warnings {
                    let code = match warning.kind {
                        WarningKind::NeverEqual => &codes::RULE_NEVER_TRUE,
                        _ => &codes::RULE_NOT_CHECKED,
                    };
                    findings.report_at(code, FieldRef::value(&condition), span_of(&warning.offset), warning.message);
                }
            }
            Err(errors) => {
                for error in errors {
                    let span = span_of(&error.offset);
                    findings.report_at(&codes::INVALID_RULE, FieldRef::value(&condition), span, error.message);
                }
            }
        }
    }
    spans
}

/// Returns whether a list is written and has items, even if none could be read. Those already have a finding.
fn has_value(root: &Node<'_>, list: &FieldPath) -> bool {
    root.at(list).is_some_and(|node| {
        !matches!(&node.value, Value::Null) && !matches!(&node.value, Value::Sequence(items) if items.is_empty())
    })
}

/// Reports a field that is absent. A field that is present but unreadable already has a finding.
fn require_field(value: Option<&String>, path: &FieldPath, findings: &mut Findings<'_>) {
    if value.is_none() && findings.scope().root.at(path).is_none() {
        findings.report(&codes::REQUIRED_FIELD, path, format!("{path} is required"));
    }
}

/// Returns the span of a part of a scalar's value. The offsets of a value with escapes or folded lines differ from
/// those of the text, so for such a scalar this returns the span of the whole.
fn span_within_scalar(text: &str, scalar: Span, value: &str, part: &std::ops::Range<usize>) -> Span {
    let written = scalar.of(text);
    let quotes = usize::from(written.starts_with(['"', '\'']));
    if written.get(quotes..).is_some_and(|written| written.starts_with(value)) {
        Span { start: scalar.start + quotes + part.start, end: scalar.start + quotes + part.end }
    } else {
        scalar
    }
}
