//! Extraction of the constants with which a rule compares fields. The analysis of selection rules tries values around
//! these constants, because the result of the rule can change only there.

use serde_json::Value;

use super::Rule;
use super::lower::variable;
use super::syntax::{Kind, Node, Operator};
use super::types::InferredType;
use kubefoundry_yaml::field_path::FieldPath;

/// A field that a rule reads, and the constants that are used together with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The field.
    pub field: FieldPath,
    /// The kind of values that the field may have.
    pub domain: FieldDomain,
    /// Whether the rule tests its presence with `has()`.
    pub tested: bool,
    /// The constants without duplicates, in the order of the rule.
    pub constants: Vec<Value>,
    /// Whether the result can change only where the field's value equals, crosses or contains one of the constants. It
    /// is false if the rule computes with the field or compares it with another field.
    pub exact: bool,
    /// Whether the rule searches for the constants in the text of the field.
    pub searched: bool,
}

/// The kind of values that a field may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldDomain {
    /// `true` or `false`.
    Bool,
    /// An integer.
    Int,
    /// Text.
    Text,
    /// One of these strings.
    Words(&'static [&'static str]),
    /// A list.
    List,
    /// A map.
    Map,
    /// Any other value.
    Other,
}

impl Rule {
    /// Returns the fields that the rule reads with the constants of their comparisons, in the order of the rule. A
    /// field that is used only in a macro or a function call gets the constants of that whole part of the rule.
    ///
    /// ```
    /// use kubefoundry_cel::{Environment, FieldType, FieldDomain, Limits, Type};
    /// static GPU: [FieldType; 1] = [FieldType::required("count", Type::Int)];
    /// let environment = Environment::new(vec![("gpu", Type::Object(&GPU)), ("name", Type::String)], Limits::default());
    /// let (rule, _) = environment.compile("gpu.count > 1 && (gpu.count < 9 || name.startsWith('big-'))").unwrap();
    /// let comparisons = rule.comparisons();
    /// assert_eq!(comparisons[0].field.to_string(), "gpu.count");
    /// assert_eq!(comparisons[0].constants, [1, 9]);
    /// assert_eq!((comparisons[1].domain.clone(), comparisons[1].constants[0].as_str()), (FieldDomain::Text, Some("big-")));
    /// ```
    pub fn comparisons(&self) -> Vec<Comparison> {
        let mut comparisons = Vec::new();
        collect_conditions(&self.root, &mut comparisons);
        let mut merged: Vec<Comparison> = Vec::new();
        for comparison in comparisons {
            match merged.iter_mut().find(|other| other.field == comparison.field && other.domain == comparison.domain) {
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

/// Collects the comparisons of all boolean operands. Only constants within one of them can affect its fields.
fn collect_conditions(node: &Node, comparisons: &mut Vec<Comparison>) {
    match &node.kind {
        _ if variable(node).is_some() => collect_pairs(node, comparisons),
        Kind::Logic { terms, .. } => terms.iter().for_each(|term| collect_conditions(term, comparisons)),
        Kind::Not(operand) => collect_conditions(operand, comparisons),
        Kind::Conditional(branches) => branches.iter().for_each(|branch| collect_conditions(branch, comparisons)),
        _ => collect_pairs(node, comparisons),
    }
}

/// Pairs every field of a condition with every constant in it.
fn collect_pairs(node: &Node, comparisons: &mut Vec<Comparison>) {
    let (mut fields, mut constants) = (Vec::new(), Vec::new());
    collect_operands(node, &mut fields, &mut constants);
    let has_one_field = fields.windows(2).all(|pair| matches!(pair, [first, second] if first.0 == second.0));
    let (exact, searched) = (has_one_field && is_exact(node), has_search(node));
    comparisons.extend(fields.into_iter().map(|(field, domain, tested)| Comparison {
        field,
        domain,
        tested,
        constants: constants.clone(),
        exact,
        searched,
    }));
}

/// The functions that search for a text in another one.
const SEARCH_FUNCTIONS: &[&str] = &["startsWith", "endsWith", "contains"];

/// Returns whether a condition searches for a text in another one.
fn has_search(node: &Node) -> bool {
    match &node.kind {
        Kind::Call(call) => SEARCH_FUNCTIONS.contains(&call.name.as_str()),
        Kind::Binary { left, right, .. } => has_search(left) || has_search(right),
        _ => false,
    }
}

/// Returns whether an expression only compares, indexes and searches.
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
        Kind::Call(call) => SEARCH_FUNCTIONS.contains(&call.name.as_str()) && call.arguments.iter().all(is_exact),
    }
}

/// Collects the fields and the constants of an expression, in the order of the rule.
fn collect_operands(node: &Node, fields: &mut Vec<(FieldPath, FieldDomain, bool)>, constants: &mut Vec<Value>) {
    if let Some(path) = &node.path {
        let tested = matches!(node.kind, Kind::Select { test: true, .. });
        let domain = match &node.ty {
            // The type of the node is that of the test, not that of the field.
            _ if tested => FieldDomain::Other,
            InferredType::Bool => FieldDomain::Bool,
            InferredType::Int => FieldDomain::Int,
            InferredType::String => FieldDomain::Text,
            InferredType::Enum(words) => FieldDomain::Words(words),
            InferredType::List(_) => FieldDomain::List,
            InferredType::Map(..) => FieldDomain::Map,
            _ => FieldDomain::Other,
        };
        fields.push((path.clone(), domain, tested));
        return;
    }
    match &node.kind {
        Kind::Int(value) => constants.push(Value::from(*value)),
        Kind::Uint(value) => constants.push(Value::from(*value)),
        Kind::Text(text) => constants.push(Value::from(text.as_str())),
        Kind::Double(value) => constants.push(Value::from(*value)),
        Kind::Bool(_) | Kind::Null | Kind::Bytes(_) | Kind::Variable(_) => {}
        Kind::List(items) => items.iter().for_each(|item| collect_operands(item, fields, constants)),
        Kind::Map(entries) => entries.iter().for_each(|(key, value)| {
            collect_operands(key, fields, constants);
            collect_operands(value, fields, constants);
        }),
        Kind::Select { operand, .. } | Kind::Not(operand) | Kind::Negate(operand) => {
            collect_operands(operand, fields, constants);
        }
        Kind::Index { operand: left, index: right } | Kind::Binary { left, right, .. } => {
            collect_operands(left, fields, constants);
            collect_operands(right, fields, constants);
        }
        Kind::Logic { terms, .. } => terms.iter().for_each(|term| collect_operands(term, fields, constants)),
        Kind::Conditional(branches) => branches.iter().for_each(|part| collect_operands(part, fields, constants)),
        Kind::Call(call) => call.arguments.iter().for_each(|argument| collect_operands(argument, fields, constants)),
        Kind::Macro(comprehension) => {
            collect_operands(&comprehension.range, fields, constants);
            comprehension.filter.iter().for_each(|filter| collect_operands(filter, fields, constants));
            collect_operands(&comprehension.body, fields, constants);
        }
    }
}
