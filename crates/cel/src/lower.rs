//! A checked rule as the expression tree of the `cel` crate.
//!
//! The crate's own parser is not used: it forgets positions, takes `!!x` for `x == false`, and overflows the stack on
//! long rules. Macros become the comprehensions that it makes of them, with three differences: each turn of a loop pays
//! through [`FUEL`], new texts and lists pass through [`MADE`], and the keys of a map come in order from [`ELEMENTS`].
//! A field of the input is not selected step by step, which the crate does by copying at each step, but is one variable
//! named by its path; see [`Reading`].

use std::collections::{BTreeMap, BTreeSet};

use cel::IdedExpr;
use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, ListExpr, LiteralValue, MapEntryExpr, MapExpr,
    SelectExpr, operators,
};

use super::functions::Function;
use super::syntax::{Kind, Macro, MacroKind, Node, Operator};
use super::types::Inferred;
use kubefoundry_yaml::field_path::FieldPath;

/// Pays for one turn of a loop: number of the macro, condition, and what the loop has collected so far.
pub(super) const FUEL: &str = "@fuel";
/// Pays for a value that was made, and is that value.
pub(super) const MADE: &str = "@made";
/// The elements of a list, or the keys of a map in their order.
pub(super) const ELEMENTS: &str = "@elements";

/// What a loop collects its result in.
const COLLECTED: &str = "@result";

/// A field of the input that a rule reads.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) path: FieldPath,
    pub(super) ty: Inferred,
    /// Whether `has()` asks if it is there.
    pub(super) test: bool,
}

/// Translates, and notes what the translation needs of its context.
#[derive(Debug, Default)]
pub(super) struct Lowering {
    pub(super) readings: BTreeMap<String, Reading>,
    pub(super) functions: BTreeSet<Function>,
    /// Whether the receiver of a call stays its receiver. Our own functions take it as their first argument; those of
    /// `kube-cel` look for it, and find names such as `sets.contains` by it.
    pub(super) receivers: bool,
}

/// The name of the variable that a node reads.
pub(super) fn variable(node: &Node) -> Option<String> {
    let path = node.path.as_ref()?;
    Some(if matches!(node.kind, Kind::Select { test: true, .. }) { format!("has {path}") } else { path.to_string() })
}

impl Lowering {
    pub(super) fn lower(&mut self, node: &Node) -> IdedExpr {
        if let (Some(name), Some(path)) = (variable(node), &node.path) {
            let test = matches!(node.kind, Kind::Select { test: true, .. });
            let reading = || Reading { path: path.clone(), ty: node.ty.clone(), test };
            self.readings.entry(name.clone()).or_insert_with(reading);
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
            // The crate panics on the smallest integer, or wraps, when it negates; it subtracts with a check.
            Kind::Negate(operand) if operand.ty == Inferred::Int => {
                call(operators::SUBSTRACT, vec![int(0), self.lower(operand)])
            }
            Kind::Negate(operand) => call(operators::NEGATE, vec![self.lower(operand)]),
            Kind::Binary { .. } if grows(node) => call(MADE, vec![self.sum(node)]),
            Kind::Binary { operator, left, right } => {
                call(name_of(*operator), vec![self.lower(left), self.lower(right)])
            }
            Kind::Logic { or, terms } => {
                let terms: Vec<_> = terms.iter().map(|term| self.lower(term)).collect();
                balanced(if *or { operators::LOGICAL_OR } else { operators::LOGICAL_AND }, &terms)
            }
            Kind::Conditional(parts) => {
                call(operators::CONDITIONAL, parts.iter().map(|part| self.lower(part)).collect())
            }
            Kind::Call(parts) => {
                self.functions.extend(parts.function);
                let mut args: Vec<_> = parts.arguments.iter().map(|argument| self.lower(argument)).collect();
                let receiver = self.receivers && parts.receiver && !args.is_empty();
                let target = receiver.then(|| Box::new(args.remove(0)));
                expr(Expr::Call(CallExpr { func_name: parts.name.clone(), target, args }))
            }
            Kind::Macro(parts) => self.comprehension(parts),
        }
    }

    /// Lowers a sum of texts or lists, or an operand of one: a sum within a sum is paid for with the whole.
    fn sum(&mut self, node: &Node) -> IdedExpr {
        match &node.kind {
            Kind::Binary { left, right, .. } if grows(node) => {
                call(operators::ADD, vec![self.sum(left), self.sum(right)])
            }
            _ => self.lower(node),
        }
    }

    fn comprehension(&mut self, parts: &Macro) -> IdedExpr {
        let range = self.lower(&parts.range);
        // The input may hold a map where a list is declared, and its order must not show either.
        let is_list = matches!(parts.range.kind, Kind::List(_) | Kind::Macro(_));
        let body = self.lower(&parts.body);
        let filter = parts.filter.as_ref().map(|filter| self.lower(filter));
        let collected = || ident(COLLECTED);
        let append = |element| call(operators::ADD, vec![collected(), list(vec![element])]);
        let append_if =
            |condition, element| call(operators::CONDITIONAL, vec![condition, append(element), collected()]);
        let goes_on = |condition| call(operators::NOT_STRICTLY_FALSE, vec![condition]);
        let bool = |value: bool| literal(LiteralValue::Boolean(value.into()));
        let mut result = collected();
        let (start, condition, step) = match parts.kind {
            MacroKind::All => (bool(true), goes_on(collected()), call(operators::LOGICAL_AND, vec![collected(), body])),
            MacroKind::Exists => {
                let condition = goes_on(call(operators::LOGICAL_NOT, vec![collected()]));
                (bool(false), condition, call(operators::LOGICAL_OR, vec![collected(), body]))
            }
            MacroKind::ExistsOne => {
                result = call(operators::EQUALS, vec![collected(), int(1)]);
                let next = call(operators::ADD, vec![collected(), int(1)]);
                (int(0), bool(true), call(operators::CONDITIONAL, vec![body, next, collected()]))
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
        let mut paid = vec![int(i64::try_from(parts.number).unwrap_or(i64::MAX)), condition];
        if matches!(parts.kind, MacroKind::Filter | MacroKind::Map) {
            paid.push(collected());
        }
        expr(Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: if is_list { range } else { call(ELEMENTS, vec![range]) },
            iter_var: parts.variable.clone(),
            iter_var2: None,
            accu_var: COLLECTED.to_owned(),
            accu_init: start,
            loop_cond: call(FUEL, paid),
            loop_step: step,
            result,
        })))
    }
}

/// Whether a node joins texts or lists.
fn grows(node: &Node) -> bool {
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

/// A chain of `&&` or `||` as a tree of little height.
fn balanced(operator: &str, terms: &[IdedExpr]) -> IdedExpr {
    match terms {
        [] => expr(Expr::Unspecified),
        [term] => term.clone(),
        _ => {
            let (left, right) = terms.split_at(terms.len() / 2);
            call(operator, vec![balanced(operator, left), balanced(operator, right)])
        }
    }
}

fn name_of(operator: Operator) -> &'static str {
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
