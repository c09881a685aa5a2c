//! The schema of one version of a CRD, ready to judge objects.

use std::sync::{Arc, Mutex, OnceLock};

use jsonschema::{Draft, Validator};
use serde_json::Value;

use super::pattern::Unusable;
use super::rules::RuleNode;
use super::{Origin, Problem, Violation, defaults, judgement, metadata, pattern, rules, strict, structure};
use crate::codes;
use kubefoundry_cel::Limits;
use kubefoundry_cel::crd::Machine;
use kubefoundry_diagnostics::{Code, Diagnostic};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::fingerprint::fnv1a_64;
use kubefoundry_yaml::text::shorten;

/// What the rules of a CRD may cost for one object, all together.
const RULES: Limits = Limits { expression_bytes: 4096, nesting: 32, steps: 5_000_000, value_bytes: 8 << 20 };

/// A schema, and what was made of it.
pub struct Schema {
    /// What it is the schema of: `ray.io/v1 RayService`.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The same schema has the same fingerprint, however it is written and described.
    pub fingerprint: String,
    raw: Arc<Value>,
    validator: Validator,
    /// Its patterns that cannot be evaluated.
    unusable: Vec<(String, String)>,
    rules: OnceLock<RuleNode>,
    /// What evaluates rules; one for each thread that does at a time.
    machines: Mutex<Vec<Machine>>,
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schema").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Schema {
    pub(super) fn build(name: String, raw: &Arc<Value>, origin: &Origin) -> Result<Self, Problem> {
        let unusable = Unusable::default();
        let options = jsonschema::options()
            .with_draft(Draft::Draft7)
            .offline()
            .with_keyword(pattern::KEYWORD, pattern::factory(Unusable::clone(&unusable)))
            .should_validate_formats(true)
            .with_format("duration", is_duration)
            .with_format("byte", is_base64);
        let validator = options.build(&strict::object(raw)).map_err(|error| {
            let message = format!("the schema of {name} cannot be used: {}", shorten(&error.masked().to_string()));
            Problem::new(&codes::UNUSABLE_CRD, origin, message)
        })?;
        let unusable = unusable.lock().map(|mut found| std::mem::take(&mut *found)).unwrap_or_default();
        let fingerprint = fingerprint(raw);
        let (rules, machines) = (OnceLock::new(), Mutex::new(Vec::new()));
        Ok(Self {
            name,
            origin: origin.clone(),
            fingerprint,
            raw: Arc::clone(raw),
            validator,
            unusable,
            rules,
            machines,
        })
    }

    /// A finding about the schema itself, at the CRD.
    pub fn diagnostic(&self, code: &'static Code, message: String) -> Diagnostic {
        Problem::new(code, &self.origin, message).diagnostic()
    }

    /// The schema as the CRD has it, without what it says to people.
    pub fn raw(&self) -> &Value {
        &self.raw
    }

    /// Whether a field is in the schema. `*` stands for any key of a map, or any item of a list.
    pub fn has_field(&self, path: &str) -> bool {
        path.split('.').try_fold(&*self.raw, child).is_some()
    }

    /// What the apiserver would not take of an object that is created, or would drop from it.
    pub fn check(&self, object: &Value) -> Vec<Violation> {
        let mut object = object.clone();
        defaults::apply(&self.raw, &mut object);
        let mut violations: Vec<Violation> = Vec::new();
        for error in self.validator.iter_errors(&object) {
            judgement::explain(&error, &self.raw, &object, &mut violations);
        }
        structure::check(&self.raw, &object, &mut violations);
        metadata::check(&object, &mut violations);
        if violations.is_empty() {
            let rules = self.rules.get_or_init(|| RuleNode::of(&self.raw));
            if !rules.is_empty() {
                let machine = self.machine();
                machine.refill();
                rules::check(rules, &self.raw, &object, &machine, &mut violations);
                self.give_back(machine);
            }
        }
        if !self.unusable.is_empty() {
            pattern::report(&self.unusable, &self.raw, &object, &FieldPath::root(), &mut violations);
        }
        violations.sort();
        violations.dedup();
        violations
    }

    /// What the rules of the schema have against a change of an object (transition rules, those that read `oldSelf`).
    pub fn check_change(&self, old: &Value, new: &Value) -> Vec<Violation> {
        let rules = self.rules.get_or_init(|| RuleNode::of(&self.raw));
        let mut violations = Vec::new();
        if !rules.is_empty() {
            let with_defaults = |object: &Value| {
                let mut object = object.clone();
                defaults::apply(&self.raw, &mut object);
                object
            };
            let (old, new) = (with_defaults(old), with_defaults(new));
            let machine = self.machine();
            machine.refill();
            rules::check_change(rules, &self.raw, (&old, &new), &machine, &mut violations);
            self.give_back(machine);
        }
        violations.retain(|violation| violation.code == &codes::CRD_RULE_VIOLATED);
        violations.sort();
        violations.dedup();
        violations
    }

    fn machine(&self) -> Machine {
        let kept = self.machines.lock().ok().and_then(|mut machines| machines.pop());
        kept.unwrap_or_else(|| Machine::new(RULES))
    }

    fn give_back(&self, machine: Machine) {
        if let Ok(mut machines) = self.machines.lock() {
            machines.push(machine);
        }
    }
}

/// A short name for a schema.
pub(super) fn fingerprint(raw: &Value) -> String {
    let mut text = String::new();
    canonical(raw, &mut text);
    format!("{:016x}", fnv1a_64(text.as_bytes()))
}

/// The schema of a field of what a schema describes.
fn child<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    match name {
        "*" => schema.get("additionalProperties").or_else(|| schema.get("items")),
        _ => schema.get("properties").and_then(|properties| properties.get(name)),
    }
}

/// A value as JSON with its keys in order.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (key, value) in sorted {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// What `time.ParseDuration` of Go reads, that is `1h30m`, and not what ISO 8601 calls a duration.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    let mut parts = 0;
    while !rest.is_empty() {
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let digits = rest.len() - number.len();
        let figure = rest.get(..digits).unwrap_or_default();
        if !figure.bytes().any(|byte| byte.is_ascii_digit()) || figure.matches('.').count() > 1 {
            return false;
        }
        let units = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
        let Some(unit) = units.into_iter().find(|unit| number.starts_with(unit)) else { return false };
        rest = number.get(unit.len()..).unwrap_or_default();
        parts += 1;
    }
    parts > 0
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        assert!(["0", "1h30m", "1.5s", "-10ms", "300us", ".5s"].into_iter().all(is_duration));
        assert!(!["", "1", "PT1H", "1d", "h", "1..5s", "."].into_iter().any(is_duration));
    }

    #[test]
    fn bytes_are_base64() {
        assert!(["", "YQ==", "YWI=", "YWJj"].into_iter().all(is_base64));
        assert!(!["YQ", "Y===", "a b=", "====", "YQ=a"].into_iter().any(is_base64));
    }

    #[test]
    fn a_fingerprint_does_not_depend_on_order() {
        let text = |json: Value| {
            let mut out = String::new();
            canonical(&json, &mut out);
            out
        };
        assert_eq!(text(json!({"a": 1, "b": [{"c": 1, "d": "é"}]})), text(json!({"b": [{"d": "é", "c": 1}], "a": 1})));
        assert_ne!(text(json!({"a": ["b", "c"]})), text(json!({"a": ["c", "b"]})));
        assert_ne!(text(json!(["1"])), text(json!([1])));
    }
}
