//! Checks objects against structural schemas as the API server does, with one exception: an unknown field is refused,
//! where the API server drops it.
//!
//! The walk follows the object and reads only the parts of the schema that describe it. Nothing is compiled in advance.
//! Structural schemas are a small, closed language (see "Extend the Kubernetes API with CustomResourceDefinitions" in
//! the Kubernetes documentation, and `k8s.io/kube-openapi/pkg/validation` for types, null and formats), so other
//! keywords are ignored.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Number, Value};

use super::pattern::PatternCache;
use super::references::Resolver;
use super::violation::{self, RefusalReason, RootSchema};
use super::walk_path::WalkPath;
use super::{SchemaViolation, defaults, format, list_types, metadata, number};
use kubefoundry_yaml::append;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// JSON types, in the order in which messages list them.
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// Checks values against a schema.
#[derive(Debug)]
pub(super) struct Checker<'c> {
    /// The schema of the whole object, or of the checked part of it.
    pub(super) root: RootSchema<'c>,
    pub(super) patterns: &'c PatternCache,
    pub(super) scope: CheckScope,
}

/// The part of a schema that is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckScope {
    /// Everything.
    Everything,
    /// Only the existence and types of fields, which all objects with the same outline share.
    Outline,
}

/// Whether a value is a Kubernetes object, which has apiVersion, kind and metadata even if its schema does not declare
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueRole {
    WholeObject,
    Field,
}

/// The schema of a field.
enum FieldSchema<'s> {
    /// The field is declared with this schema.
    Declared(&'s Value),
    /// The field is allowed, with any value.
    Anything,
    /// The field is apiVersion or kind, which every object has.
    TypeMeta,
    /// The field is the metadata of an object, which is validated independently of its schema.
    Metadata(Option<&'s Value>),
    /// The field is not allowed.
    Unknown,
}

/// The receiver of violations.
enum ViolationSink<'o> {
    /// Collects all violations.
    Report(&'o mut Vec<SchemaViolation>),
    /// Records only whether there is any violation.
    Probe { is_refused: bool },
}

impl ViolationSink<'_> {
    fn is_done(&self) -> bool {
        matches!(self, ViolationSink::Probe { is_refused: true })
    }
}

/// The keywords of a schema that declare types and fields, as opposed to those that constrain values.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a keyword of the language")]
struct SchemaNode<'s> {
    kind: Option<&'s str>,
    format: Option<&'s str>,
    properties: Option<&'s Map<String, Value>>,
    additional: Option<&'s Value>,
    items: Option<&'s Value>,
    is_nullable: bool,
    is_int_or_string: bool,
    preserves_unknown_fields: bool,
    is_embedded: bool,
}

impl<'s> SchemaNode<'s> {
    fn from_schema(schema: &'s Value) -> Self {
        let mut node = Self::default();
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            let is_true = value.as_bool().unwrap_or(false);
            match keyword.as_str() {
                "type" => node.kind = value.as_str(),
                "format" => node.format = value.as_str(),
                "properties" => node.properties = value.as_object(),
                "additionalProperties" => node.additional = Some(value),
                "items" => node.items = Some(value),
                "nullable" => node.is_nullable = is_true,
                "x-kubernetes-int-or-string" => node.is_int_or_string = is_true,
                "x-kubernetes-preserve-unknown-fields" => node.preserves_unknown_fields = is_true,
                "x-kubernetes-embedded-resource" => node.is_embedded = is_true,
                _ => {}
            }
        }
        node
    }

    /// Returns the schema of a field.
    fn field_schema(&self, name: &str, role: ValueRole, resolver: Resolver<'s>) -> FieldSchema<'s> {
        let property = self.properties.and_then(|properties| properties.get(name));
        let is_object = role == ValueRole::WholeObject || self.is_embedded;
        if is_object && name == "metadata" {
            return FieldSchema::Metadata(property.or(self.additional));
        }
        match (property, self.additional.map(|schema| resolver.resolve(schema))) {
            (Some(schema), _) => FieldSchema::Declared(schema),
            (None, _) if is_object && matches!(name, "apiVersion" | "kind") => FieldSchema::TypeMeta,
            (None, Some(schema @ Value::Object(fields))) if !fields.is_empty() => FieldSchema::Declared(schema),
            (None, Some(Value::Object(_) | Value::Bool(true))) => FieldSchema::Anything,
            (None, _) if self.preserves_unknown_fields => FieldSchema::Anything,
            // The API server drops every field that no keyword allows.
            (None, _) => FieldSchema::Unknown,
        }
    }
}

impl<'c> Checker<'c> {
    /// Checks a value against a declaring schema, that is, one outside of `allOf`, `anyOf`, `oneOf` and `not`.
    pub(super) fn check(
        &self,
        schema: &'c Value,
        value: &Value,
        at: &WalkPath<'_>,
        role: ValueRole,
        out: &mut Vec<SchemaViolation>,
    ) {
        let schema = self.resolver().resolve(schema);
        let node = SchemaNode::from_schema(schema);
        let allowed = match node.kind {
            _ if node.is_int_or_string => ["integer", "string"].as_slice(),
            Some(ref kind) => std::slice::from_ref(kind),
            None => &[],
        };
        let is_allowed = allowed.is_empty() || has_type(value, allowed) || node.is_nullable && value.is_null();
        if !is_allowed {
            let null = node.is_nullable.then_some("null");
            self.refuse(
                &RefusalReason::Type(null.into_iter().chain(allowed.iter().copied()).collect()),
                value,
                at,
                out,
            );
        }
        let bounds =
            node.kind.filter(|_| !node.is_int_or_string && self.scope == CheckScope::Everything).zip(node.format);
        if let (Value::Number(number), Some((minimum, maximum))) =
            (value, bounds.and_then(|(kind, format)| format::numeric_range(kind, format)))
        {
            if number::compare(number, &minimum).is_lt() {
                self.refuse(&RefusalReason::Keyword("minimum"), value, at, out);
            }
            if number::compare(number, &maximum).is_gt() {
                self.refuse(&RefusalReason::Keyword("maximum"), value, at, out);
            }
        }
        self.check_constraints(schema, value, at, true, &mut ViolationSink::Report(out));
        match value {
            Value::Object(fields) => self.check_fields(&node, fields, at, role, out),
            Value::Array(items) => {
                if let Some(schema) = node.items {
                    for (position, item) in items.iter().enumerate() {
                        self.check(schema, item, &at.index(position), ValueRole::Field, out);
                    }
                }
            }
            _ => {}
        }
    }

    /// Checks the fields of an object, and reports those that the schema does not allow.
    fn check_fields(
        &self,
        node: &SchemaNode<'c>,
        fields: &Map<String, Value>,
        at: &WalkPath<'_>,
        role: ValueRole,
        out: &mut Vec<SchemaViolation>,
    ) {
        for (name, value) in fields {
            let at_field = at.key(name);
            match node.field_schema(name, role, self.resolver()) {
                FieldSchema::Declared(schema) => self.check(schema, value, &at_field, ValueRole::Field, out),
                FieldSchema::Anything => {}
                FieldSchema::TypeMeta => self.check_type(value, "string", &at_field, out),
                FieldSchema::Metadata(schema) => {
                    // `metadata::check` checks its fields.
                    self.check_type(value, "object", &at_field, out);
                    if let Some(schema) = schema.filter(|_| self.scope == CheckScope::Everything) {
                        self.patterns.report_uncompilable_below(schema, value, &at_field, self.resolver(), out);
                    }
                }
                FieldSchema::Unknown => out.push(violation::unknown_field(self.root, &at.to_field_path(), name, value)),
            }
        }
        if node.is_embedded {
            for name in ["apiVersion", "kind"].into_iter().filter(|name| !fields.contains_key(*name)) {
                out.push(violation::missing_field(&at.to_field_path(), name));
            }
        }
    }

    /// Checks one field of an object and everything in it. Its ancestors are not checked.
    pub(super) fn check_at(&self, object: &Value, path: &FieldPath, out: &mut Vec<SchemaViolation>) {
        let (mut schema, mut value, mut role) = (self.root.schema, object, ValueRole::WholeObject);
        let mut at = FieldPath::root();
        for segment in path.segments() {
            let node = SchemaNode::from_schema(self.resolver().resolve(schema));
            match (segment, value) {
                (Segment::Key(name), Value::Object(fields)) => {
                    let Some(below) = fields.get(name.as_ref()) else { return };
                    let here = WalkPath::Start(&at);
                    schema = match node.field_schema(name, role, self.resolver()) {
                        FieldSchema::Declared(schema) => schema,
                        FieldSchema::Anything => return,
                        FieldSchema::TypeMeta => return self.check_type(below, "string", &here.key(name), out),
                        FieldSchema::Metadata(_) => {
                            let requires_name = role == ValueRole::WholeObject;
                            return metadata::check_fields(below, &at.key("metadata"), requires_name, out);
                        }
                        FieldSchema::Unknown => return out.push(violation::unknown_field(self.root, &at, name, below)),
                    };
                    (value, at) = (below, at.key(name.clone()));
                }
                (Segment::Index(index), Value::Array(items)) => {
                    let (Some(below), Some(item_schema)) = (items.get(*index), node.items) else { return };
                    (schema, value, at) = (item_schema, below, at.index(*index));
                }
                _ => return,
            }
            role = ValueRole::Field;
        }
        let mut value = value.clone();
        defaults::apply(schema, &mut value, self.resolver());
        let start = WalkPath::Start(&at);
        self.check(schema, &value, &start, role, out);
        list_types::check(schema, &value, &start, self.resolver(), out);
        if role == ValueRole::WholeObject {
            metadata::check(&value, out);
        }
    }

    fn resolver(&self) -> Resolver<'c> {
        self.root.resolver
    }

    fn check_type(&self, value: &Value, kind: &'static str, at: &WalkPath<'_>, out: &mut Vec<SchemaViolation>) {
        if !has_type(value, &[kind]) {
            self.refuse(&RefusalReason::Type(vec![kind]), value, at, out);
        }
    }

    /// Checks the keywords that constrain a value. With `is_declared`, the schema is a declaring one, whose types and
    /// fields [`Checker::check`] handles. Otherwise it is inside `allOf`, `anyOf`, `oneOf` or `not`, where types and
    /// fields are constraints, too.
    fn check_constraints(
        &self,
        schema: &'c Value,
        value: &Value,
        at: &WalkPath<'_>,
        is_declared: bool,
        sink: &mut ViolationSink<'_>,
    ) {
        let Some(keywords) = self.resolver().resolve(schema).as_object() else { return };
        for (keyword, constraint) in keywords {
            if sink.is_done() {
                return;
            }
            match keyword.as_str() {
                "type" if !is_declared => {
                    let types: Vec<&str> = match constraint {
                        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
                        kind => kind.as_str().into_iter().collect(),
                    };
                    if !has_type(value, &types) {
                        self.record(
                            || RefusalReason::Type(TYPES.into_iter().filter(|kind| types.contains(kind)).collect()),
                            value,
                            at,
                            sink,
                        );
                    }
                }
                "properties" | "additionalProperties" | "items" if !is_declared => {
                    self.check_constraints_below(keyword, keywords, constraint, value, at, sink);
                }
                // The most frequent keywords that are not constraints.
                "type" | "properties" | "additionalProperties" | "items" | "default" | "nullable" => {}
                extension if extension.starts_with("x-kubernetes-") => {}
                "required" => Self::check_required(constraint, value, at, sink),
                "allOf" => self.check_junctor(keyword, constraint, value, at, is_declared, sink),
                // All other keywords constrain values, or depend on them.
                _ if self.scope == CheckScope::Outline => {}
                "anyOf" | "oneOf" | "not" => self.check_junctor(keyword, constraint, value, at, is_declared, sink),
                _ => {
                    if let Some(reason) = self.constraint_violation(keyword, constraint, keywords, value) {
                        self.record(|| reason, value, at, sink);
                    } else if keyword == "pattern"
                        && let (Value::String(pattern), Value::String(_)) = (constraint, value)
                        && let ViolationSink::Report(out) = sink
                        && is_declared
                    {
                        self.patterns.report_uncompilable(pattern, at, out);
                    }
                }
            }
        }
    }

    /// Returns the violation of a keyword that constrains the value itself, not its children. `constraint` is the value
    /// of the keyword.
    fn constraint_violation<'s>(
        &self,
        keyword: &str,
        constraint: &'s Value,
        keywords: &Map<String, Value>,
        value: &Value,
    ) -> Option<RefusalReason<'s>> {
        let bound = |is_refused: fn(std::cmp::Ordering) -> bool, strict: &'static str, plain: &'static str| {
            let (Value::Number(number), Value::Number(limit)) = (value, constraint) else { return None };
            let is_strict = keywords.get(strict).and_then(Value::as_bool).unwrap_or(false);
            let order = number::compare(number, limit);
            let keyword = if is_strict { strict } else { plain };
            (is_refused(order) || is_strict && order.is_eq()).then_some(RefusalReason::Keyword(keyword))
        };
        let keyword = match (keyword, value) {
            ("minimum", _) => return bound(std::cmp::Ordering::is_lt, "exclusiveMinimum", "minimum"),
            ("maximum", _) => return bound(std::cmp::Ordering::is_gt, "exclusiveMaximum", "maximum"),
            ("enum", _) => {
                let options = constraint.as_array()?;
                let is_known = options.iter().any(|option| number::is_enum_option(option, value));
                return (!is_known).then_some(RefusalReason::Enum(options));
            }
            ("pattern", Value::String(text)) => {
                let pattern = constraint.as_str()?;
                return (!self.patterns.is_match(pattern, text)).then_some(RefusalReason::Pattern(pattern));
            }
            ("format", Value::String(text)) => {
                let format = constraint.as_str()?;
                return (!format::is_valid(format, text)).then_some(RefusalReason::Format(format));
            }
            ("multipleOf", Value::Number(number)) => {
                (!number::is_multiple(number, constraint.as_number()?)).then_some("multipleOf")
            }
            ("maxLength", Value::String(text)) => exceeds(text.chars().count(), constraint)?.then_some("maxLength"),
            ("minLength", Value::String(text)) => falls_short(text.chars().count(), constraint)?.then_some("minLength"),
            ("maxItems", Value::Array(items)) => exceeds(items.len(), constraint)?.then_some("maxItems"),
            ("minItems", Value::Array(items)) => falls_short(items.len(), constraint)?.then_some("minItems"),
            ("maxProperties", Value::Object(fields)) => exceeds(fields.len(), constraint)?.then_some("maxProperties"),
            ("minProperties", Value::Object(fields)) => {
                falls_short(fields.len(), constraint)?.then_some("minProperties")
            }
            ("uniqueItems", Value::Array(items)) => {
                (constraint.as_bool()? && has_duplicates(items)).then_some("uniqueItems")
            }
            _ => None,
        };
        keyword.map(RefusalReason::Keyword)
    }

    fn check_required(names: &Value, value: &Value, at: &WalkPath<'_>, sink: &mut ViolationSink<'_>) {
        let Some(fields) = value.as_object() else { return };
        for name in names.as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                match sink {
                    ViolationSink::Report(out) => out.push(violation::missing_field(&at.to_field_path(), name)),
                    ViolationSink::Probe { is_refused } => *is_refused = true,
                }
            }
        }
    }

    /// Checks `allOf`, `anyOf`, `oneOf` or `not`.
    fn check_junctor(
        &self,
        keyword: &str,
        constraint: &'c Value,
        value: &Value,
        at: &WalkPath<'_>,
        is_declared: bool,
        sink: &mut ViolationSink<'_>,
    ) {
        let schemas = match constraint {
            Value::Array(schemas) => schemas.as_slice(),
            schema => std::slice::from_ref(schema),
        };
        let is_usable = self.scope == CheckScope::Outline
            || schemas.iter().all(|schema| self.patterns.are_usable(schema, self.resolver()));
        if !is_usable
            && is_declared
            && let ViolationSink::Report(out) = sink
        {
            for schema in schemas {
                self.patterns.report_uncompilable_below(schema, value, at, self.resolver(), out);
            }
        }
        let matching = || schemas.iter().filter(|schema| self.is_satisfied_by(schema, value, at));
        // A pattern that cannot be compiled matches everything. That makes `allOf` and `anyOf` more lenient, but
        // `oneOf` and `not` stricter, so these two are skipped then.
        let keyword = match keyword {
            "allOf" => {
                for schema in schemas {
                    self.check_constraints(schema, value, at, false, sink);
                }
                return;
            }
            "anyOf" => matching().next().is_none().then_some("anyOf"),
            "oneOf" => (is_usable && matching().take(2).count() != 1).then_some("oneOf"),
            _ => (is_usable && matching().next().is_some()).then_some("not"),
        };
        if let Some(keyword) = keyword {
            self.record(|| RefusalReason::Keyword(keyword), value, at, sink);
        }
    }

    /// Checks the children of a value inside `allOf`, `anyOf`, `oneOf` or `not`.
    fn check_constraints_below(
        &self,
        keyword: &str,
        keywords: &Map<String, Value>,
        constraint: &'c Value,
        value: &Value,
        at: &WalkPath<'_>,
        sink: &mut ViolationSink<'_>,
    ) {
        match (keyword, value) {
            ("properties", Value::Object(fields)) => {
                for (name, schema) in constraint.as_object().into_iter().flatten() {
                    if let Some(value) = fields.get(name) {
                        self.check_constraints(schema, value, &at.key(name), false, sink);
                    }
                }
            }
            ("additionalProperties", Value::Object(fields)) => {
                let properties = keywords.get("properties").and_then(Value::as_object);
                let is_other = |name: &str| properties.is_none_or(|properties| !properties.contains_key(name));
                for (name, value) in fields.iter().filter(|(name, _)| is_other(name)) {
                    self.check_constraints(constraint, value, &at.key(name), false, sink);
                }
            }
            ("items", Value::Array(items)) => {
                for (position, item) in items.iter().enumerate() {
                    self.check_constraints(constraint, item, &at.index(position), false, sink);
                }
            }
            _ => {}
        }
    }

    fn is_satisfied_by(&self, schema: &'c Value, value: &Value, at: &WalkPath<'_>) -> bool {
        let mut sink = ViolationSink::Probe { is_refused: false };
        self.check_constraints(schema, value, at, false, &mut sink);
        !sink.is_done()
    }

    /// Passes a violation to the sink. The reason is built only if the sink collects violations.
    fn record<'s>(
        &self,
        reason: impl FnOnce() -> RefusalReason<'s>,
        value: &Value,
        at: &WalkPath<'_>,
        sink: &mut ViolationSink<'_>,
    ) {
        match sink {
            ViolationSink::Report(out) => self.refuse(&reason(), value, at, out),
            ViolationSink::Probe { is_refused } => *is_refused = true,
        }
    }

    fn refuse(&self, reason: &RefusalReason<'_>, value: &Value, at: &WalkPath<'_>, out: &mut Vec<SchemaViolation>) {
        out.push(violation::refused_value(self.root, reason, value, at.to_field_path()));
    }
}

/// Returns whether a value has one of the types. A whole number such as `1.0` is an integer.
fn has_type(value: &Value, kinds: &[&str]) -> bool {
    kinds.iter().any(|kind| match value {
        Value::Null => *kind == "null",
        Value::Bool(_) => *kind == "boolean",
        Value::Number(number) => *kind == "number" || *kind == "integer" && number::is_whole(number),
        Value::String(_) => *kind == "string",
        Value::Array(_) => *kind == "array",
        Value::Object(_) => *kind == "object",
    })
}

fn exceeds(length: usize, limit: &Value) -> Option<bool> {
    Some(number::compare(&Number::from(length), limit.as_number()?).is_gt())
}

fn falls_short(length: usize, limit: &Value) -> Option<bool> {
    Some(number::compare(&Number::from(length), limit.as_number()?).is_lt())
}

/// Returns whether two items are equal. A set of normal forms avoids comparing every pair in a long list.
fn has_duplicates(items: &[Value]) -> bool {
    let mut seen = BTreeSet::new();
    items.iter().any(|item| {
        let mut text = String::new();
        write_normal_form(item, &mut text);
        !seen.insert(text)
    })
}

/// Writes a text that is equal for two values exactly if the values are equal.
fn write_normal_form(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) => match number.as_f64().filter(|_| number::is_whole(number)) {
            // Whole floats are written like integers, which JSON writes without a fraction.
            Some(float) if number.is_f64() => append!(out, "{:.0}", float + 0.0),
            _ => append!(out, "{number}"),
        },
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_normal_form(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let sorted: BTreeMap<_, _> = fields.iter().collect();
            out.push('{');
            for (name, value) in sorted {
                append!(out, "{name:?}:");
                write_normal_form(value, out);
                out.push(',');
            }
            out.push('}');
        }
        scalar => append!(out, "{scalar}"),
    }
}
