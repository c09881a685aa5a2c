//! What a rule holds the fields that it reads against: the values among which its answer can change.

use serde_json::Value;

use super::Rule;
use super::lower::variable;
use super::syntax::{Kind, Node, Operator};
use super::types::Inferred;
use kubefoundry_yaml::field_path::FieldPath;

/// A field that a rule reads, and what it is compared with, looked for, or given to a function with.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The field.
    pub field: FieldPath,
    /// What may be in it.
    pub holds: Holds,
    /// Whether the rule asks if it is there.
    pub tested: bool,
    /// The constants, each once, in order.
    pub constants: Vec<Value>,
    /// Whether the answer changes only where the field's value is one of the constants, passes one, or has one in it: not
    /// where the rule computes with it, or holds it against another field.
    pub exact: bool,
    /// Whether the constants are looked for inside the field's text.
    pub searched: bool,
}

/// What may be in a field that a rule reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holds {
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Int,
    /// Text.
    Text,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A list.
    List,
    /// A map.
    Map,
    /// Anything else.
    Other,
}

impl Rule {
    /// The fields that the rule reads, each with what it is held against, in order. Of a field that is only passed through a
    /// macro or a function, the constants are those of that part of the rule.
    ///
    /// ```
    /// use kubefoundry_cel::{Environment, FieldType, Holds, Limits, Type};
    /// static GPU: [FieldType; 1] = [FieldType::required("count", Type::Int)];
    /// let environment = Environment::new(vec![("gpu", Type::Object(&GPU)), ("name", Type::String)], Limits::default());
    /// let (rule, _) = environment.compile("gpu.count > 1 && (gpu.count < 9 || name.startsWith('big-'))").unwrap();
    /// let comparisons = rule.comparisons();
    /// assert_eq!(comparisons[0].field.to_string(), "gpu.count");
    /// assert_eq!(comparisons[0].constants, [1, 9]);
    /// assert_eq!((comparisons[1].holds.clone(), comparisons[1].constants[0].as_str()), (Holds::Text, Some("big-")));
    /// ```
    pub fn comparisons(&self) -> Vec<Comparison> {
        let mut found = Vec::new();
        walk(&self.root, &mut found);
        let mut merged: Vec<Comparison> = Vec::new();
        for comparison in found {
            match merged.iter_mut().find(|other| other.field == comparison.field && other.holds == comparison.holds) {
                Some(other) => {
                    other.tested |= comparison.tested;
                    other.exact &= comparison.exact;
                    other.searched |= comparison.searched;
                    for constant in comparison.constants {
                        if !other.constants.contains(&constant) {
                            other.constants.push(constant);
                        }
                    }
                }
                None => merged.push(comparison),
            }
        }
        merged
    }
}

/// Goes down to the parts that are true or false on their own.
fn walk(node: &Node, found: &mut Vec<Comparison>) {
    match &node.kind {
        _ if variable(node).is_some() => collect(node, found),
        Kind::Logic { terms, .. } => terms.iter().for_each(|term| walk(term, found)),
        Kind::Not(operand) => walk(operand, found),
        Kind::Conditional(parts) => parts.iter().for_each(|part| walk(part, found)),
        _ => collect(node, found),
    }
}

/// Pairs every field of a part with every constant of it.
fn collect(node: &Node, found: &mut Vec<Comparison>) {
    let (mut fields, mut constants) = (Vec::new(), Vec::new());
    parts(node, &mut fields, &mut constants);
    let is_one = fields.windows(2).all(|pair| matches!(pair, [one, other] if one.0 == other.0));
    let (exact, searched) = (is_one && is_exact(node), searches(node));
    found.extend(fields.into_iter().map(|(field, holds, tested)| Comparison {
        field,
        holds,
        tested,
        constants: constants.clone(),
        exact,
        searched,
    }));
}

/// The functions that look for a text inside another.
const SEARCHES: &[&str] = &["startsWith", "endsWith", "contains"];

fn searches(node: &Node) -> bool {
    match &node.kind {
        Kind::Call(call) => SEARCHES.contains(&call.name.as_str()),
        Kind::Binary { left, right, .. } => searches(left) || searches(right),
        _ => false,
    }
}

/// Whether a part compares, looks up or looks for, and does nothing else.
fn is_exact(node: &Node) -> bool {
    if node.path.is_some() {
        return true;
    }
    match &node.kind {
        Kind::Int(_) | Kind::Uint(_) | Kind::Text(_) | Kind::Double(_) | Kind::Bool(_) | Kind::Null => true,
        Kind::Bytes(_) | Kind::Variable(_) | Kind::Conditional(_) | Kind::Macro(_) | Kind::Map(_) => false,
        Kind::List(items) => items.iter().all(is_exact),
        Kind::Select { operand, .. } | Kind::Not(operand) | Kind::Negate(operand) => is_exact(operand),
        Kind::Index { operand: left, index: right } => is_exact(left) && is_exact(right),
        Kind::Binary { operator, left, right } => {
            let computes = matches!(
                operator,
                Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder
            );
            !computes && is_exact(left) && is_exact(right)
        }
        Kind::Logic { terms, .. } => terms.iter().all(is_exact),
        Kind::Call(call) => SEARCHES.contains(&call.name.as_str()) && call.arguments.iter().all(is_exact),
    }
}

fn parts(node: &Node, fields: &mut Vec<(FieldPath, Holds, bool)>, constants: &mut Vec<Value>) {
    if let Some(path) = &node.path {
        let tested = matches!(node.kind, Kind::Select { test: true, .. });
        let holds = match &node.ty {
            // What is tested has the test's type.
            _ if tested => Holds::Other,
            Inferred::Bool => Holds::Bool,
            Inferred::Int => Holds::Int,
            Inferred::String => Holds::Text,
            Inferred::Enum(words) => Holds::Words(words),
            Inferred::List(_) => Holds::List,
            Inferred::Map(..) => Holds::Map,
            _ => Holds::Other,
        };
        fields.push((path.clone(), holds, tested));
        return;
    }
    match &node.kind {
        Kind::Int(value) => constants.push(Value::from(*value)),
        Kind::Uint(value) => constants.push(Value::from(*value)),
        Kind::Text(text) => constants.push(Value::from(text.as_str())),
        Kind::Double(value) => constants.push(Value::from(*value)),
        Kind::Bool(_) | Kind::Null | Kind::Bytes(_) | Kind::Variable(_) => {}
        Kind::List(items) => items.iter().for_each(|item| parts(item, fields, constants)),
        Kind::Map(entries) => entries.iter().for_each(|(key, value)| {
            parts(key, fields, constants);
            parts(value, fields, constants);
        }),
        Kind::Select { operand, .. } | Kind::Not(operand) | Kind::Negate(operand) => parts(operand, fields, constants),
        Kind::Index { operand: left, index: right } | Kind::Binary { left, right, .. } => {
            parts(left, fields, constants);
            parts(right, fields, constants);
        }
        Kind::Logic { terms, .. } => terms.iter().for_each(|term| parts(term, fields, constants)),
        Kind::Conditional(all) => all.iter().for_each(|part| parts(part, fields, constants)),
        Kind::Call(call) => call.arguments.iter().for_each(|argument| parts(argument, fields, constants)),
        Kind::Macro(parts_of) => {
            parts(&parts_of.range, fields, constants);
            parts_of.filter.iter().for_each(|filter| parts(filter, fields, constants));
            parts(&parts_of.body, fields, constants);
        }
    }
}
