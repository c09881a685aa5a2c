//! CRD validation rules (`x-kubernetes-validations`), evaluated as the API server does when an object is created or
//! changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use cel::objects::{Key, Map, OptionalValue};
use serde_json::Value;

use super::SchemaViolation;
use super::references::Resolver;
use crate::codes;
use kubefoundry_cel::crd::{RuleEvaluator, ValidationRule};
use kubefoundry_cel::{Limits, RESERVED};
use kubefoundry_yaml::field_path::FieldPath;

/// The validation rules at and below one subschema. Subschemas without rules are omitted.
#[derive(Debug, Default)]
pub(super) struct RuleNode {
    rules: Vec<CompiledRule>,
    properties: BTreeMap<String, RuleNode>,
    items: Option<Box<RuleNode>>,
    additional: Option<Box<RuleNode>>,
}

#[derive(Debug)]
struct CompiledRule {
    text: String,
    expression: Result<ValidationRule, String>,
    message: Option<String>,
    message_expression: Option<ValidationRule>,
    field_path: Option<String>,
    optional_old_self: bool,
}

impl RuleNode {
    pub(super) fn from_schema(schema: &Value, resolver: Resolver) -> Self {
        if !resolver.may_have_rules(schema) {
            return Self::default();
        }
        let schema = resolver.resolve(schema);
        let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array);
        let properties = schema.get("properties").and_then(Value::as_object);
        let child = |key: &str| {
            let node = schema.get(key).map(|schema| Self::from_schema(schema, resolver));
            node.filter(|node| !node.is_empty()).map(Box::new)
        };
        let properties =
            properties.into_iter().flatten().map(|(name, schema)| (name.clone(), Self::from_schema(schema, resolver)));
        Self {
            rules: rules.into_iter().flatten().map(CompiledRule::from_json).collect(),
            properties: properties.filter(|(_, node)| !node.is_empty()).collect(),
            items: child("items"),
            additional: child("additionalProperties"),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.properties.is_empty() && self.items.is_none() && self.additional.is_none()
    }
}

impl CompiledRule {
    fn from_json(rule: &Value) -> Self {
        let text = |field: &str| rule.get(field).and_then(Value::as_str);
        let expression = text("rule").unwrap_or_default();
        let parse = |text: &str| ValidationRule::parse(text, Limits::default()).map_err(|error| error.message);
        Self {
            text: expression.to_owned(),
            expression: parse(expression),
            message: text("message").map(str::to_owned),
            message_expression: text("messageExpression").and_then(|expression| parse(expression).ok()),
            field_path: text("fieldPath").map(str::to_owned),
            optional_old_self: rule.get("optionalOldSelf").and_then(Value::as_bool).unwrap_or(false),
        }
    }

    /// Evaluates the rule for a value and reports a violation, or why the rule cannot be evaluated.
    fn check(
        &self,
        itself: &cel::Value,
        before: OldValue<&cel::Value>,
        path: &FieldPath,
        evaluator: &RuleEvaluator,
        out: &mut Vec<SchemaViolation>,
    ) {
        let evaluated = match (&self.expression, before) {
            // There is no old value when an object or a field is created.
            (Ok(rule), OldValue::Created | OldValue::Changed(None)) if rule.transition && !self.optional_old_self => {
                return;
            }
            // Rules that do not read `oldSelf` are evaluated when the new object is checked by itself.
            (Ok(rule), OldValue::Changed(_)) if !rule.transition => return,
            (Ok(rule), OldValue::Changed(Some(old))) => evaluator.evaluate_change(rule, itself, || {
                let old = old.clone();
                if self.optional_old_self { cel::Value::Opaque(Arc::new(OptionalValue::of(old))) } else { old }
            }),
            (Ok(rule), OldValue::Created | OldValue::Changed(None)) => evaluator.evaluate(rule, itself),
            (Err(_), OldValue::Changed(_)) => return,
            (Err(error), OldValue::Created) => Err(error.clone()),
        };
        let reason = match evaluated {
            Ok(cel::Value::Bool(true)) => return,
            Ok(cel::Value::Bool(false)) => None,
            Ok(other) => Some(format!("it is a value of type {}", other.type_of())),
            Err(error) => Some(error),
        };
        if let Some(reason) = reason {
            out.push(SchemaViolation {
                code: &codes::CRD_RULE_NOT_EVALUATED,
                path: path.clone(),
                message: format!("{:?}: {reason}", abbreviate_rule(&self.text)),
                help: None,
                value: None,
                is_wrong_type: false,
            });
            return;
        }
        let computed_message = self.message_expression.as_ref().and_then(|rule| evaluator.evaluate(rule, itself).ok());
        let computed_message = computed_message.and_then(|value| match value {
            cel::Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            _ => None,
        });
        let field = parse_field_path(self.field_path.as_deref().unwrap_or_default()).into_iter();
        out.push(SchemaViolation {
            code: &codes::CRD_RULE_VIOLATED,
            path: field.fold(path.clone(), |path, name| path.key(name)),
            message: computed_message
                .or_else(|| self.message.clone())
                .unwrap_or_else(|| "a rule of the CRD".to_owned()),
            help: Some(format!("the rule is {:?}", abbreviate_rule(&self.text))),
            value: None,
            is_wrong_type: false,
        });
    }
}

/// Splits a `fieldPath` such as `.services['Front.end'].x` into field names. Inside quotes, a backslash escapes the
/// next character (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel`, `ValidFieldPath`).
fn parse_field_path(field_path: &str) -> Vec<String> {
    let mut steps = Vec::new();
    let mut rest = field_path;
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix("['") {
            let (mut name, mut end, mut escaped) = (String::new(), quoted.len(), false);
            for (at, c) in quoted.char_indices() {
                match c {
                    '\\' if !escaped => escaped = true,
                    '\'' if !escaped => {
                        end = at;
                        break;
                    }
                    c => {
                        name.push(c);
                        escaped = false;
                    }
                }
            }
            steps.push(name);
            let after = quoted.get(end..).unwrap_or_default();
            rest = after.strip_prefix("']").unwrap_or_default();
        } else {
            let plain = rest.strip_prefix('.').unwrap_or(rest);
            let end =
                plain.char_indices().skip(1).find(|(_, c)| matches!(c, '.' | '[')).map_or(plain.len(), |(at, _)| at);
            let (name, after) = plain.split_at(end);
            if !name.is_empty() {
                steps.push(name.to_owned());
            }
            rest = after;
        }
    }
    steps
}

/// Abbreviates a rule to one line of at most 160 characters.
fn abbreviate_rule(rule: &str) -> String {
    let line = rule.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= 160 { line } else { line.chars().take(157).chain("...".chars()).collect() }
}

/// The value before a change.
#[derive(Debug, Clone, Copy)]
enum OldValue<T> {
    /// The object is created.
    Created,
    /// The object changes. This is the old value of the same field or item, if one can be identified.
    Changed(Option<T>),
}

/// What the evaluation of every rule of a schema needs.
#[derive(Clone, Copy)]
pub(super) struct RuleContext<'c> {
    pub(super) evaluator: &'c RuleEvaluator,
    pub(super) resolver: Resolver<'c>,
}

/// Evaluates the rules of a schema for the creation of an object.
pub(super) fn check(
    rules: &RuleNode,
    schema: &Value,
    object: &Value,
    context: RuleContext,
    out: &mut Vec<SchemaViolation>,
) {
    check_node(rules, schema, (OldValue::Created, object), &FieldPath::root(), context, out);
}

/// Evaluates the rules that compare an object with its old value (transition rules).
pub(super) fn check_change(
    rules: &RuleNode,
    schema: &Value,
    (old, object): (&Value, &Value),
    context: RuleContext,
    out: &mut Vec<SchemaViolation>,
) {
    check_node(rules, schema, (OldValue::Changed(Some(old)), object), &FieldPath::root(), context, out);
}

/// Evaluates the rules of a node, and those of the fields and items below it.
fn check_node(
    node: &RuleNode,
    schema: &Value,
    (before, value): (OldValue<&Value>, &Value),
    path: &FieldPath,
    context: RuleContext,
    out: &mut Vec<SchemaViolation>,
) {
    // The API server evaluates no rule on null.
    if value.is_null() {
        return;
    }
    let schema = context.resolver.resolve(schema);
    if !node.rules.is_empty() {
        let itself = to_cel_value(schema, value, context);
        let old = match before {
            OldValue::Changed(Some(old)) if !old.is_null() => Some(to_cel_value(schema, old, context)),
            _ => None,
        };
        let before =
            if matches!(before, OldValue::Created) { OldValue::Created } else { OldValue::Changed(old.as_ref()) };
        for rule in &node.rules {
            rule.check(&itself, before, path, context.evaluator, out);
        }
    }
    // A field is found in the old value by its key, and an item by `find_index`.
    let old_child = |find_index: &dyn Fn(&Value) -> Option<usize>, key: Option<&str>| match before {
        OldValue::Created => OldValue::Created,
        OldValue::Changed(None) => OldValue::Changed(None),
        OldValue::Changed(Some(old)) => {
            let index = key.is_none().then(|| find_index(old)).flatten();
            OldValue::Changed(key.map_or_else(|| old.get(index?), |key| old.get(key)))
        }
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let values = (old_child(&|_| None, Some(name)), value);
                let property = schema.get("properties").and_then(|properties| properties.get(name));
                match (property, node.properties.get(name)) {
                    (Some(schema), Some(node)) => {
                        check_node(node, schema, values, &path.key(name.clone()), context, out);
                    }
                    (Some(_), None) => {}
                    (None, _) => {
                        if let (Some(node), Some(schema)) = (&node.additional, schema.get("additionalProperties")) {
                            check_node(node, schema, values, &path.key(name.clone()), context, out);
                        }
                    }
                }
            }
        }
        Value::Array(items) => {
            if let (Some(node), Some(item_schema)) = (&node.items, schema.get("items")) {
                for (position, item) in items.iter().enumerate() {
                    let values = (old_child(&|old| find_old_item(schema, old, item), None), item);
                    check_node(node, item_schema, values, &path.index(position), context, out);
                }
            }
        }
        _ => {}
    }
}

/// Returns the index of an item in the old list. Only items of `map` lists can be identified, by their keys
/// (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel`, `MapList`).
fn find_old_item(schema: &Value, old: &Value, item: &Value) -> Option<usize> {
    if schema.get("x-kubernetes-list-type").and_then(Value::as_str) != Some("map") {
        return None;
    }
    let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array)?;
    let keys: Vec<&str> = keys.iter().filter_map(Value::as_str).collect();
    old.as_array()?.iter().position(|other| keys.iter().all(|key| other.get(key) == item.get(key)))
}

/// Converts a value to CEL according to its schema (`k8s.io/apiserver/pkg/cel/common`).
fn to_cel_value(schema: &Value, value: &Value, context: RuleContext) -> cel::Value {
    let schema = context.resolver.resolve(schema);
    let keyword = |key: &str| schema.get(key).and_then(Value::as_str);
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(value) => cel::Value::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(integer) if keyword("type") != Some("number") => cel::Value::Int(integer),
            _ => cel::Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => match keyword("format") {
            Some("date-time") => context.evaluator.convert("timestamp", text),
            Some("duration") => context.evaluator.convert("duration", text),
            _ => cel::Value::from(text.as_str()),
        },
        Value::Array(items) => {
            let schema = schema.get("items").unwrap_or(&Value::Null);
            cel::Value::List(Arc::new(items.iter().map(|item| to_cel_value(schema, item, context)).collect()))
        }
        Value::Object(fields) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let additional = context.resolver.keyword_schema(schema, "additionalProperties");
            let entries = fields.iter().map(|(name, value)| {
                let property = properties.and_then(|properties| properties.get(name));
                let schema = property.or(additional).unwrap_or(&Value::Null);
                // Map keys are data; only field names are escaped.
                let name = if additional.is_some() { name.clone() } else { escape_field_name(name) };
                (Key::from(name.as_str()), to_cel_value(schema, value, context))
            });
            cel::Value::Map(Map { map: Arc::new(entries.collect()) })
        }
    }
}

/// Returns the escaped name of a field in CEL (`k8s.io/apiserver/pkg/cel/escaping.go`).
fn escape_field_name(name: &str) -> String {
    if ["true", "false", "null", "in"].contains(&name) || RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__").replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_field_names_as_the_api_server_does() {
        for (name, escaped) in [
            ("namespace", "__namespace__"),
            ("a-b", "a__dash__b"),
            ("a.b/c", "a__dot__b__slash__c"),
            ("a_b", "a_b"),
            ("a__b", "a__underscores__b"),
        ] {
            assert_eq!(escape_field_name(name), escaped);
        }
    }

    #[test]
    fn splits_field_paths_with_quoted_names() {
        for (path, expected) in [
            ("", &[][..]),
            (".a", &["a"]),
            (".a.b", &["a", "b"]),
            (".services['Front.end'].x", &["services", "Front.end", "x"]),
            (r"['it\'s']['[x']", &["it's", "[x"]),
            (".a['b", &["a", "b"]),
            ("é.[", &["é", "["]),
        ] {
            assert_eq!(parse_field_path(path), expected, "{path}");
        }
    }

    #[test]
    fn abbreviates_a_long_rule() {
        assert_eq!(abbreviate_rule("a &&\n  b"), "a && b");
        assert_eq!(abbreviate_rule(&"x".repeat(500)).len(), 160);
    }
}
