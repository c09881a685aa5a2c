//! Lowering: converts a checked rule to the expression tree of the `cel` crate.
//!
//! The crate's own parser is not used because it drops positions, reads `!!x` as `x == false`, and overflows the stack
//! on long rules. Macros become the same comprehensions as in the crate, with three differences: each iteration of a
//! loop is charged by a call of [`FUEL`], new texts and lists pass through [`CHARGE`], and the keys of a map come in a
//! fixed order from [`ELEMENTS`].
//!
//! The crate copies the operand at each step of a field access, so `spec.engine.args` would copy the whole `spec`. A
//! path with literal steps therefore becomes a single variable named after the path; see [`InputField`].

use std::collections::{BTreeMap, BTreeSet};

use cel::IdedExpr;
use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, ListExpr, LiteralValue, MapEntryExpr, MapExpr,
    SelectExpr, operators,
};

use super::functions::Function;
use super::syntax::{Kind, Macro, MacroKind, Node, Operator};
use super::types::InferredType;
use kubefoundry_yaml::field_path::FieldPath;

/// Internal function that charges for an iteration of a loop and returns the loop condition. Its arguments are the
/// number of the macro, the condition and, if the loop collects a list, the accumulator. As the loop condition it runs
/// before each iteration.
pub(super) const FUEL: &str = "@fuel";
/// Internal function that charges for a new text or list and returns it.
pub(super) const CHARGE: &str = "@charge";
/// Internal function that returns a list itself, or the sorted keys of a map.
pub(super) const ELEMENTS: &str = "@elements";

/// The variable that accumulates the result of a loop.
const ACCUMULATOR: &str = "@result";

/// An input field that a rule reads. It becomes a variable of the lowered rule.
#[derive(Debug)]
pub(super) struct InputField {
    pub(super) path: FieldPath,
    pub(super) ty: InferredType,
    /// Whether the variable is the result of `has()` rather than the value.
    pub(super) test: bool,
}

/// Lowers one rule, and collects the input fields and functions that its evaluation context must provide.
#[derive(Debug, Default)]
pub(super) struct Lowering {
    pub(super) input_fields: BTreeMap<String, InputField>,
    pub(super) functions: BTreeSet<Function>,
    /// Whether the receiver of a call stays the receiver. The functions of this crate take it as their first argument.
    /// Those of `kube-cel` need it, also to resolve names such as `sets.contains`.
    pub(super) receivers: bool,
}

/// Returns the name of the variable for the input field that a node reads, if it reads one.
pub(super) fn variable(node: &Node) -> Option<String> {
    let path = node.path.as_ref()?;
    Some(if matches!(node.kind, Kind::Select { test: true, .. }) { format!("has {path}") } else { path.to_string() })
}

impl Lowering {
    /// Lowers a node. A node that reads an input field becomes a variable.
    pub(super) fn lower(&mut self, node: &Node) -> IdedExpr {
        if let (Some(name), Some(path)) = (variable(node), &node.path) {
            let test = matches!(node.kind, Kind::Select { test: true, .. });
            let field = || InputField { path: path.clone(), ty: node.ty.clone(), test };
            self.input_fields.entry(name.clone()).or_insert_with(field);
            return ident(&name);
        }
        match &node.kind {
            Kind::Null => literal(LiteralValue::Null),
            Kind::Bool(value) => literal(LiteralValue::Boolean((*value).into())),
            Kind::Int(value) => int(*value),
            Kind::Uint(value) => literal(LiteralValue::UInt((*value).into())),
            Kind::Double(value) => literal(LiteralValue::Double((*value).into())),
            Kind::Text(text) => literal(LiteralValue::String(text.as_str().into())),
            Kind::Bytes(bytes) => literal(LiteralValue::Bytes(bytes.clone().into())),
            Kind::Variable(name) => ident(name),
            Kind::List(elements) => list(elements.iter().map(|element| self.lower(element)).collect()),
            Kind::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| {
                    let (key, value) = (self.lower(key), self.lower(value));
                    let entry = EntryExpr::MapEntry(MapEntryExpr { key, value, optional: false });
                    IdedEntryExpr { id: 0, expr: entry }
                });
                expr(Expr::Map(MapExpr { entries: entries.collect() }))
            }
            Kind::Select { operand, field, test, .. } => {
                let operand = Box::new(self.lower(operand));
                expr(Expr::Select(SelectExpr { operand, field: field.clone(), test: *test }))
            }
            Kind::Index { operand, index } => call(operators::INDEX, vec![self.lower(operand), self.lower(index)]),
            Kind::Not(operand) => call(operators::LOGICAL_NOT, vec![self.lower(operand)]),
            // The crate's negation of the smallest integer panics in debug builds and wraps in release builds. Its
            // subtraction is checked.
            Kind::Negate(operand) if operand.ty == InferredType::Int => {
                call(operators::SUBSTRACT, vec![int(0), self.lower(operand)])
            }
            Kind::Negate(operand) => call(operators::NEGATE, vec![self.lower(operand)]),
            Kind::Binary { .. } if is_concatenation(node) => call(CHARGE, vec![self.lower_concatenation(node)]),
            Kind::Binary { operator, left, right } => {
                call(operator_name(*operator), vec![self.lower(left), self.lower(right)])
            }
            Kind::Logic { or, terms } => {
                let terms: Vec<_> = terms.iter().map(|term| self.lower(term)).collect();
                balanced_tree(if *or { operators::LOGICAL_OR } else { operators::LOGICAL_AND }, &terms)
            }
            Kind::Conditional(parts) => {
                call(operators::CONDITIONAL, parts.iter().map(|part| self.lower(part)).collect())
            }
            Kind::Call(parts) => {
                self.functions.extend(parts.function);
                let mut args: Vec<_> = parts.arguments.iter().map(|argument| self.lower(argument)).collect();
                let has_target = self.receivers && parts.receiver && !args.is_empty();
                let target = has_target.then(|| Box::new(args.remove(0)));
                expr(Expr::Call(CallExpr { func_name: parts.name.clone(), target, args }))
            }
            Kind::Macro(parts) => self.lower_macro(parts),
        }
    }

    /// Lowers a concatenation of texts or lists, or an operand of one. The caller charges for the whole concatenation,
    /// so nested ones are not charged again.
    fn lower_concatenation(&mut self, node: &Node) -> IdedExpr {
        match &node.kind {
            Kind::Binary { left, right, .. } if is_concatenation(node) => {
                call(operators::ADD, vec![self.lower_concatenation(left), self.lower_concatenation(right)])
            }
            _ => self.lower(node),
        }
    }

    /// Lowers a macro to a comprehension of the `cel` crate, with a charge for each iteration.
    fn lower_macro(&mut self, parts: &Macro) -> IdedExpr {
        let range = self.lower(&parts.range);
        // An input may have a map where a list is declared, and its order must not affect the result. Only these two
        // kinds of ranges are certainly lists.
        let is_list = matches!(parts.range.kind, Kind::List(_) | Kind::Macro(_));
        let body = self.lower(&parts.body);
        let filter = parts.filter.as_ref().map(|filter| self.lower(filter));
        let accumulator = || ident(ACCUMULATOR);
        let append = |element| call(operators::ADD, vec![accumulator(), list(vec![element])]);
        let append_if =
            |condition, element| call(operators::CONDITIONAL, vec![condition, append(element), accumulator()]);
        // Only the value false ends the loop early. An error does not.
        let continue_unless_false = |condition| call(operators::NOT_STRICTLY_FALSE, vec![condition]);
        let bool = |value: bool| literal(LiteralValue::Boolean(value.into()));
        let mut result = accumulator();
        let (start, condition, step) = match parts.kind {
            MacroKind::All => (
                bool(true),
                continue_unless_false(accumulator()),
                call(operators::LOGICAL_AND, vec![accumulator(), body]),
            ),
            MacroKind::Exists => {
                let condition = continue_unless_false(call(operators::LOGICAL_NOT, vec![accumulator()]));
                (bool(false), condition, call(operators::LOGICAL_OR, vec![accumulator(), body]))
            }
            MacroKind::ExistsOne => {
                result = call(operators::EQUALS, vec![accumulator(), int(1)]);
                let next = call(operators::ADD, vec![accumulator(), int(1)]);
                (int(0), bool(true), call(operators::CONDITIONAL, vec![body, next, accumulator()]))
            }
            MacroKind::Filter => (list(Vec::new()), bool(true), append_if(body, ident(&parts.variable))),
            MacroKind::Map => {
                let step = match filter {
                    Some(filter) => append_if(filter, body),
                    None => append(body),
                };
                (list(Vec::new()), bool(true), step)
            }
        };
        // The crate copies the accumulator in each iteration. Only a list can grow, so only a list is charged.
        let mut fuel_arguments = vec![int(i64::try_from(parts.number).unwrap_or(i64::MAX)), condition];
        if matches!(parts.kind, MacroKind::Filter | MacroKind::Map) {
            fuel_arguments.push(accumulator());
        }
        expr(Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: if is_list { range } else { call(ELEMENTS, vec![range]) },
            iter_var: parts.variable.clone(),
            iter_var2: None,
            accu_var: ACCUMULATOR.to_owned(),
            accu_init: start,
            loop_cond: call(FUEL, fuel_arguments),
            loop_step: step,
            result,
        })))
    }
}

/// Returns whether a node concatenates texts or lists.
fn is_concatenation(node: &Node) -> bool {
    matches!(node.kind, Kind::Binary { operator: Operator::Add, .. }) && !node.ty.is_scalar()
}

fn expr(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}

fn literal(value: LiteralValue) -> IdedExpr {
    expr(Expr::Literal(value))
}

fn int(value: i64) -> IdedExpr {
    literal(LiteralValue::Int(value.into()))
}

fn ident(name: &str) -> IdedExpr {
    expr(Expr::Ident(name.to_owned()))
}

fn list(elements: Vec<IdedExpr>) -> IdedExpr {
    expr(Expr::List(ListExpr::new(elements)))
}

fn call(name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    expr(Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args }))
}

/// Converts a chain of `&&` or `||` to a balanced tree, which keeps the crate's recursion shallow.
fn balanced_tree(operator: &str, terms: &[IdedExpr]) -> IdedExpr {
    match terms {
        [] => expr(Expr::Unspecified),
        [term] => term.clone(),
        _ => {
            let (left, right) = terms.split_at(terms.len() / 2);
            call(operator, vec![balanced_tree(operator, left), balanced_tree(operator, right)])
        }
    }
}

/// Returns the crate's name of an operator.
fn operator_name(operator: Operator) -> &'static str {
    match operator {
        Operator::Equal => operators::EQUALS,
        Operator::NotEqual => operators::NOT_EQUALS,
        Operator::Less => operators::LESS,
        Operator::LessOrEqual => operators::LESS_EQUALS,
        Operator::Greater => operators::GREATER,
        Operator::GreaterOrEqual => operators::GREATER_EQUALS,
        Operator::In => operators::IN,
        Operator::Add => operators::ADD,
        Operator::Subtract => operators::SUBSTRACT,
        Operator::Multiply => operators::MULTIPLY,
        Operator::Divide => operators::DIVIDE,
        Operator::Remainder => operators::MODULO,
    }
}
