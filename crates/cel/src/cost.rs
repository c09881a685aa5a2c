//! Cost estimates: an upper bound on the steps of a rule for an input of known size, computed before evaluation.
//!
//! The `cel` crate cannot be interrupted and copies many values, so costs must be charged before the work is done. Each
//! part of a rule is estimated from the sizes of the fields it reads. The parts that run once are charged at the start.
//! The body of a loop is charged at the start of each iteration, because the number of iterations is not known here and
//! nested loops multiply. Values whose size cannot be bounded in advance are measured when they are created; see
//! [`CHARGE`](super::lower::CHARGE).

use std::collections::BTreeMap;

use super::functions::Function;
use super::lower::variable;
use super::patterns;
use super::size::{Size, text_steps};
use super::syntax::{Call, Kind, Macro, MacroKind, Node, Operator};
use super::types::InferredType;

/// Steps for an iteration of a loop in addition to its body, and for a function call in addition to its arguments.
const ITERATION_STEPS: u64 = 6;
/// How often the `cel` crate copies the arguments and the result of a function.
const CALL_COPIES: u64 = 3;

/// Estimates the parts of one rule.
pub(super) struct CostEstimator<'r> {
    /// Sizes of the input fields, by variable name.
    pub(super) sizes: &'r BTreeMap<&'r str, Size>,
    /// Maximum size of a value that the rule creates. The meter stops the evaluation beyond it.
    pub(super) max_value_size: u64,
    /// Steps of one iteration of each loop, by the number of its macro.
    pub(super) iteration_steps: Vec<u64>,
    /// Sizes of the names that enclosing macros bind, innermost last.
    locals: Vec<(&'r str, Size)>,
}

impl<'r> CostEstimator<'r> {
    pub(super) fn new(sizes: &'r BTreeMap<&'r str, Size>, max_value_size: u64) -> Self {
        Self { sizes, max_value_size, iteration_steps: Vec::new(), locals: Vec::new() }
    }

    /// Returns the steps of evaluating a node once, without the iterations of loops, and the maximum size of its value.
    pub(super) fn estimate(&mut self, node: &'r Node) -> (u64, Size) {
        if let Some(name) = variable(node) {
            return (1, self.sizes.get(name.as_str()).copied().unwrap_or(Size::ONE));
        }
        let (steps, size) = match &node.kind {
            Kind::Null | Kind::Bool(_) | Kind::Int(_) | Kind::Uint(_) | Kind::Double(_) => (0, Size::ONE),
            Kind::Text(text) => (0, Size::from_text(text.len())),
            Kind::Bytes(bytes) => (0, Size::from_text(bytes.len())),
            Kind::Variable(name) => {
                let local = self.locals.iter().rev().find(|(local, _)| local == name);
                (0, local.map_or(Size::ONE, |(_, size)| *size))
            }
            Kind::List(elements) => {
                elements.iter().fold((0, Size::ONE), |(steps, size), element| self.add_element(steps, size, element))
            }
            Kind::Map(entries) => entries.iter().fold((0, Size::ONE), |(steps, size), (key, value)| {
                let (steps, size) = self.add_element(steps, size, key);
                self.add_element(steps, size, value)
            }),
            Kind::Select { operand, test, .. } => {
                let (steps, size) = self.estimate(operand);
                let element = size.element();
                if *test { (steps, Size::ONE) } else { (steps.saturating_add(element.total()), element) }
            }
            Kind::Index { operand, index } => {
                let ((first, size), (second, key)) = (self.estimate(operand), self.estimate(index));
                (first.saturating_add(second).saturating_add(key.total()), size.element())
            }
            Kind::Not(operand) | Kind::Negate(operand) => (self.estimate(operand).0, Size::ONE),
            Kind::Binary { operator, left, right } => self.estimate_binary(*operator, left, right),
            // The bound covers an evaluation that does not stop early.
            Kind::Logic { terms, .. } => {
                let steps = terms.iter().fold(0_u64, |steps, term| steps.saturating_add(self.estimate(term).0));
                (steps.saturating_add(u64::try_from(terms.len()).unwrap_or(u64::MAX)), Size::ONE)
            }
            // Only one of the branches is evaluated, so the larger one is charged.
            Kind::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                let (condition, (first, then), (second, otherwise)) =
                    (self.estimate(condition).0, self.estimate(then), self.estimate(otherwise));
                (condition.saturating_add(first.max(second)), then.max(otherwise))
            }
            Kind::Call(call) => self.estimate_call(call),
            Kind::Macro(parts) => self.estimate_macro(parts),
        };
        (steps.saturating_add(1), if node.ty.is_scalar() { Size::ONE } else { size })
    }

    /// Adds an element to the steps and the size of a list or map.
    fn add_element(&mut self, steps: u64, whole: Size, element: &'r Node) -> (u64, Size) {
        let (element_steps, size) = self.estimate(element);
        (steps.saturating_add(element_steps).saturating_add(size.total()), whole.and_element(size))
    }

    /// Estimates an operation from the sizes of its operands, which it compares, searches or copies.
    fn estimate_binary(&mut self, operator: Operator, left: &'r Node, right: &'r Node) -> (u64, Size) {
        let ((first, left_size), (second, right_size)) = (self.estimate(left), self.estimate(right));
        let work = match operator {
            // A map is searched by hash, a list element by element.
            Operator::In if matches!(right.ty, InferredType::Map(..)) => left_size.total(),
            Operator::In => right_size.total(),
            // On failure the crate copies both operands into the error.
            Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder => {
                left_size.total().saturating_add(right_size.total())
            }
            _ => left_size.total().min(right_size.total()),
        };
        let size = if operator == Operator::Add { left_size.join(right_size) } else { Size::ONE };
        (first.saturating_add(second).saturating_add(work), self.cap(size))
    }

    /// Estimates a call from the sizes of its arguments.
    fn estimate_call(&mut self, call: &'r Call) -> (u64, Size) {
        let mut steps = ITERATION_STEPS;
        // Room for the result of a conversion such as `string(1)`.
        let mut size = Size::from_text(32);
        let mut argument_size = 0_u64;
        for argument in &call.arguments {
            let (argument_steps, argument) = self.estimate(argument);
            steps = steps.saturating_add(argument_steps);
            argument_size = argument_size.saturating_add(argument.total());
            size = size.join(argument);
        }
        let mut work = argument_size.saturating_mul(CALL_COPIES);
        if call.function == Some(Function::Matches) {
            // In the worst case the regex engine visits every byte in every state of the pattern.
            work = work.saturating_add(argument_size.saturating_mul(text_steps(256)));
            if !matches!(call.arguments.get(1), Some(Node { kind: Kind::Text(_), .. })) {
                work = work.saturating_add(patterns::COMPILE_STEPS);
            }
        }
        (steps.saturating_add(work), size)
    }

    /// Estimates the range of a macro, and stores the steps of one iteration for the meter.
    fn estimate_macro(&mut self, parts: &'r Macro) -> (u64, Size) {
        let (steps, range) = self.estimate(&parts.range);
        let element = range.element();
        self.locals.push((&parts.variable, element));
        let filter = parts.filter.as_ref().map_or(0, |filter| self.estimate(filter).0);
        let (body, result) = self.estimate(&parts.body);
        self.locals.pop();
        let iteration = ITERATION_STEPS.saturating_add(element.total()).saturating_add(filter).saturating_add(body);
        if self.iteration_steps.len() <= parts.number {
            self.iteration_steps.resize(parts.number + 1, 0);
        }
        if let Some(steps) = self.iteration_steps.get_mut(parts.number) {
            *steps = iteration;
        }
        // A literal list or the result of a macro is moved. Any other range passes through a function, which copies it.
        let copies = if matches!(parts.range.kind, Kind::List(_) | Kind::Macro(_)) { 0 } else { CALL_COPIES };
        let size = match parts.kind {
            MacroKind::Filter => range,
            MacroKind::Map => Size::list(range.total(), result, self.max_value_size),
            MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne => Size::ONE,
        };
        (steps.saturating_add(range.total().saturating_mul(copies)), size)
    }

    /// Caps the size of a created value. The meter stops the evaluation before a value becomes larger, so a higher
    /// estimate would only refuse rules that are affordable.
    fn cap(&self, size: Size) -> Size {
        let max = self.max_value_size;
        if size.total() > max { Size::list(max, size.element(), max) } else { size }
    }
}
