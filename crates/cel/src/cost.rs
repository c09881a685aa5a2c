//! What a rule costs for an input of known size, before it runs.
//!
//! The crate has no limits and copies much of what it reads, so each part of a rule is weighed with the sizes of the
//! fields it reads: the parts that run once are paid for at the start, and each turn of a loop pays for its body when it
//! begins. What grows while the rule runs is measured then; see [`MADE`](super::lower::MADE).

use std::collections::BTreeMap;

use super::functions::Function;
use super::lower::variable;
use super::patterns;
use super::size::{Size, text};
use super::syntax::{Call, Kind, Macro, MacroKind, Node, Operator};
use super::types::Inferred;

/// Steps for a turn of a loop, besides its body.
const TURN: u64 = 6;
/// Times that the crate copies what a function takes and returns.
const COPIES: u64 = 3;

/// Weighs the parts of one rule.
pub(super) struct Costing<'r> {
    /// How large the variables are.
    pub(super) sizes: &'r BTreeMap<&'r str, Size>,
    /// How large a value can get that the rule makes.
    pub(super) most: u64,
    /// What a turn of each loop costs.
    pub(super) turns: Vec<u64>,
    locals: Vec<(&'r str, Size)>,
}

impl<'r> Costing<'r> {
    pub(super) fn new(sizes: &'r BTreeMap<&'r str, Size>, most: u64) -> Self {
        Self { sizes, most, turns: Vec::new(), locals: Vec::new() }
    }

    /// The steps of evaluating a node once, without the turns of loops, and the greatest size of its value.
    pub(super) fn weigh(&mut self, node: &'r Node) -> (u64, Size) {
        if let Some(name) = variable(node) {
            return (1, self.sizes.get(name.as_str()).copied().unwrap_or(Size::ONE));
        }
        let (steps, size) = match &node.kind {
            Kind::Null | Kind::Bool(_) | Kind::Int(_) | Kind::Uint(_) | Kind::Double(_) => (0, Size::ONE),
            Kind::Text(text) => (0, Size::of_text(text.len())),
            Kind::Bytes(bytes) => (0, Size::of_text(bytes.len())),
            Kind::Variable(name) => {
                let local = self.locals.iter().rev().find(|(local, _)| local == name);
                (0, local.map_or(Size::ONE, |(_, size)| *size))
            }
            Kind::List(elements) => {
                elements.iter().fold((0, Size::ONE), |(steps, size), element| self.and_element(steps, size, element))
            }
            Kind::Map(entries) => entries.iter().fold((0, Size::ONE), |(steps, size), (key, value)| {
                let (steps, size) = self.and_element(steps, size, key);
                self.and_element(steps, size, value)
            }),
            Kind::Select { operand, test, .. } => {
                let (steps, size) = self.weigh(operand);
                let element = size.element();
                if *test { (steps, Size::ONE) } else { (steps.saturating_add(element.total()), element) }
            }
            Kind::Index { operand, index } => {
                let ((first, size), (second, key)) = (self.weigh(operand), self.weigh(index));
                (first.saturating_add(second).saturating_add(key.total()), size.element())
            }
            Kind::Not(operand) | Kind::Negate(operand) => (self.weigh(operand).0, Size::ONE),
            Kind::Binary { operator, left, right } => self.binary(*operator, left, right),
            Kind::Logic { terms, .. } => {
                let steps = terms.iter().fold(0_u64, |steps, term| steps.saturating_add(self.weigh(term).0));
                (steps.saturating_add(u64::try_from(terms.len()).unwrap_or(u64::MAX)), Size::ONE)
            }
            Kind::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                let (condition, (first, then), (second, otherwise)) =
                    (self.weigh(condition).0, self.weigh(then), self.weigh(otherwise));
                (condition.saturating_add(first.max(second)), then.max(otherwise))
            }
            Kind::Call(call) => self.call(call),
            Kind::Macro(parts) => self.comprehension(parts),
        };
        (steps.saturating_add(1), if node.ty.is_scalar() { Size::ONE } else { size })
    }

    fn and_element(&mut self, steps: u64, whole: Size, element: &'r Node) -> (u64, Size) {
        let (more, size) = self.weigh(element);
        (steps.saturating_add(more).saturating_add(size.total()), whole.and_element(size))
    }

    fn binary(&mut self, operator: Operator, left: &'r Node, right: &'r Node) -> (u64, Size) {
        let ((first, left_size), (second, right_size)) = (self.weigh(left), self.weigh(right));
        let work = match operator {
            Operator::In if matches!(right.ty, Inferred::Map(..)) => left_size.total(),
            Operator::In => right_size.total(),
            // An error takes both values with it.
            Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder => {
                left_size.total().saturating_add(right_size.total())
            }
            _ => left_size.total().min(right_size.total()),
        };
        let size = if operator == Operator::Add { left_size.join(right_size) } else { Size::ONE };
        (first.saturating_add(second).saturating_add(work), self.limited(size))
    }

    fn call(&mut self, call: &'r Call) -> (u64, Size) {
        let mut steps = TURN;
        let mut size = Size::of_text(32);
        let mut arguments = 0_u64;
        for argument in &call.arguments {
            let (more, argument) = self.weigh(argument);
            steps = steps.saturating_add(more);
            arguments = arguments.saturating_add(argument.total());
            size = size.join(argument);
        }
        let mut work = arguments.saturating_mul(COPIES);
        if call.function == Some(Function::Matches) {
            // At worst every byte is looked at in every state of the pattern.
            work = work.saturating_add(arguments.saturating_mul(text(256)));
            if !matches!(call.arguments.get(1), Some(Node { kind: Kind::Text(_), .. })) {
                work = work.saturating_add(patterns::STEPS);
            }
        }
        (steps.saturating_add(work), size)
    }

    fn comprehension(&mut self, parts: &'r Macro) -> (u64, Size) {
        let (steps, range) = self.weigh(&parts.range);
        let element = range.element();
        self.locals.push((&parts.variable, element));
        let filter = parts.filter.as_ref().map_or(0, |filter| self.weigh(filter).0);
        let (body, made) = self.weigh(&parts.body);
        self.locals.pop();
        let turn = TURN.saturating_add(element.total()).saturating_add(filter).saturating_add(body);
        if self.turns.len() <= parts.number {
            self.turns.resize(parts.number + 1, 0);
        }
        if let Some(known) = self.turns.get_mut(parts.number) {
            *known = turn;
        }
        let copies = if matches!(parts.range.kind, Kind::List(_) | Kind::Macro(_)) { 0 } else { COPIES };
        let size = match parts.kind {
            MacroKind::Filter => range,
            MacroKind::Map => Size::list(range.total(), made, self.most),
            MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne => Size::ONE,
        };
        (steps.saturating_add(range.total().saturating_mul(copies)), size)
    }

    /// A made value that is larger stops the evaluation.
    fn limited(&self, size: Size) -> Size {
        if size.total() > self.most { Size::list(self.most, size.element(), self.most) } else { size }
    }
}
