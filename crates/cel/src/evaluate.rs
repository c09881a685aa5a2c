//! Evaluation of a rule for one input by the `cel` crate, within limits.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cel::{Context, ExecutionError, IdedExpr, Value};
use serde_json::Value as Json;

use super::cost::CostEstimator;
use super::error::{EvaluationError, EvaluationErrorKind};
use super::evaluation_errors;
use super::input;
use super::library::{ExhaustedLimit, Meter, register, register_meter};
use super::lower::Lowering;
use super::size::{Size, text_steps};
use super::syntax::{Kind, Node};
use super::{Limits, Rule};

/// How often a value is copied on its way from JSON into the context.
const INPUT_COPIES: u64 = 4;

/// The state of one evaluation: the input and the remaining budget.
struct Evaluation<'r> {
    rule: &'r Rule,
    input: &'r Json,
    /// The paths for which `has()` is false although they have a value.
    unwritten: &'r BTreeSet<String>,
    meter: Arc<Meter>,
    sizes: BTreeMap<&'r str, Size>,
}

/// Evaluates a rule and subtracts its steps from `remaining`.
pub(super) fn evaluate(
    rule: &Rule,
    input: &Json,
    unwritten: &BTreeSet<String>,
    remaining: &mut u64,
) -> Result<bool, EvaluationError> {
    let limits = Limits { steps: rule.limits.steps.min(*remaining), ..rule.limits };
    let meter = Arc::new(Meter::new(limits));
    let mut evaluation = Evaluation { rule, input, unwritten, meter, sizes: BTreeMap::new() };
    let result = evaluation.run();
    *remaining = remaining.saturating_sub(evaluation.meter.spent(limits.steps));
    result
}

impl Evaluation<'_> {
    /// Evaluates the rule after charging for the parts that run once.
    fn run(&mut self) -> Result<bool, EvaluationError> {
        let mut context = Context::empty();
        self.bind_fields(&mut context)?;
        let max_value_size = text_steps(self.rule.limits.value_bytes);
        let mut estimator = CostEstimator::new(&self.sizes, max_value_size);
        let (steps, _) = estimator.estimate(&self.rule.root);
        let iteration_steps = estimator.iteration_steps;
        self.meter.charge(steps);
        self.check_limits()?;
        // The estimate covers everything outside loops. Iterations are charged as they happen, because their number may
        // be far below the upper bound.
        register_meter(&mut context, &self.meter, move |number| iteration_steps.get(number).copied());
        for function in &self.rule.functions {
            register(&mut context, *function, &self.rule.patterns);
        }
        let result = resolve(&self.rule.expression, &context);
        // Check the limits before the result: `||` and `&&` may have hidden the error that stopped a part.
        self.check_limits()?;
        match result {
            Ok(Value::Bool(value)) => Ok(value),
            Ok(other) => {
                let message = format!("a rule is true or false; this is a value of type {}", other.type_of());
                Err(EvaluationError::new(EvaluationErrorKind::NotBoolean, self.rule.root.span, message))
            }
            Err(error) => Err(self.explain(&error, &context)),
        }
    }

    /// Adds the fields that the rule reads to the context. Absent fields are not added, so that reading one is an
    /// error.
    fn bind_fields(&mut self, context: &mut Context<'_>) -> Result<(), EvaluationError> {
        let limits = self.rule.limits;
        for (name, field) in &self.rule.input_fields {
            if field.test {
                if let Ok(has_value) = input::has(self.input, &field.path) {
                    let is_present = has_value && !self.unwritten.contains(&field.path.to_string());
                    context.add_variable_from_value(name.as_str(), is_present);
                }
                continue;
            }
            let Ok(json) = input::find(self.input, &field.path) else { continue };
            let Some(size) = Size::from_json(json, limits.nesting) else {
                let message = format!("`{}` is nested deeper than {} levels", field.path, limits.nesting);
                let span =
                    evaluation_errors::find_reader(&self.rule.root, name).map_or(self.rule.root.span, |node| node.span);
                return Err(EvaluationError::new(EvaluationErrorKind::ValueLimit, span, message));
            };
            // A large value is charged before it is copied, because the copy is the work that the limit must prevent.
            self.meter.charge(size.total().saturating_mul(INPUT_COPIES));
            self.check_limits()?;
            context.add_variable_from_value(name.as_str(), input::convert(json, &field.ty));
            self.sizes.insert(name, size);
        }
        Ok(())
    }

    /// Fails if the meter has reached a limit.
    fn check_limits(&self) -> Result<(), EvaluationError> {
        let limits = self.rule.limits;
        let span = self.rule.root.span;
        match self.meter.exhausted() {
            None => Ok(()),
            Some(ExhaustedLimit::Steps) => {
                let message = format!("the rule takes more than {} steps for this input", limits.steps);
                Err(EvaluationError::new(EvaluationErrorKind::StepLimit, span, message))
            }
            Some(ExhaustedLimit::Bytes) => {
                let message = format!("the rule makes values of more than {} bytes for this input", limits.value_bytes);
                Err(EvaluationError::new(EvaluationErrorKind::ValueLimit, span, message))
            }
        }
    }

    /// Converts an error of the `cel` crate, and finds the part of the rule that failed.
    fn explain(&self, error: &ExecutionError, context: &Context<'_>) -> EvaluationError {
        if let ExecutionError::UndeclaredReference(name) = error
            && let Some(field) = self.rule.input_fields.get(name.as_str())
            && let Some(node) = evaluation_errors::find_reader(&self.rule.root, name)
        {
            return evaluation_errors::unreadable_field(self.input, field, node);
        }
        let node = self.locate(error, context);
        // A function of the crate may fail with an error of its own for an argument that has no value.
        let unreadable = evaluation_errors::operands(node).into_iter().find_map(|operand| {
            let field = self.rule.input_fields.get(&super::lower::variable(operand)?)?;
            (!field.test && input::find(self.input, &field.path).is_err()).then_some((field, operand))
        });
        if let Some((field, operand)) = unreadable {
            return evaluation_errors::unreadable_field(self.input, field, operand);
        }
        let (kind, mut message) = evaluation_errors::describe(error);
        if matches!(kind, EvaluationErrorKind::TypeMismatch | EvaluationErrorKind::Conversion) {
            let values = self.operand_values(node, context);
            message.push_str(&evaluation_errors::describe_values(&values));
        }
        let span = match (&node.kind, kind) {
            (Kind::Select { field_span, .. }, _) => *field_span,
            (Kind::Index { index, .. }, EvaluationErrorKind::NoSuchField | EvaluationErrorKind::IndexOutOfRange) => {
                index.span
            }
            _ => node.span,
        };
        EvaluationError::new(kind, span, message)
    }

    /// Evaluates the operands of a node again, for a message. Empty if one of them has no value.
    fn operand_values(&self, node: &Node, context: &Context<'_>) -> Vec<Value> {
        let max_value_size = text_steps(self.rule.limits.value_bytes);
        let values = evaluation_errors::operands(node).into_iter().map(|operand| {
            let (steps, _) = CostEstimator::new(&self.sizes, max_value_size).estimate(operand);
            self.meter.spend(steps).ok()?;
            resolve(&Lowering::default().lower(operand), context).ok()
        });
        values.collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    /// Finds the smallest part of the rule that fails with the same error. The `cel` crate does not report the position
    /// of an error, so the operands are evaluated again with the remaining steps. The body of a loop cannot be
    /// evaluated on its own, so the search stops at the macro.
    fn locate(&self, error: &ExecutionError, context: &Context<'_>) -> &Node {
        let mut at = &self.rule.root;
        loop {
            let failing = evaluation_errors::operands(at).into_iter().find(|part| {
                let max_value_size = text_steps(self.rule.limits.value_bytes);
                let (steps, _) = CostEstimator::new(&self.sizes, max_value_size).estimate(part);
                self.meter.spend(steps).is_ok()
                    && resolve(&Lowering::default().lower(part), context).as_ref() == Err(error)
            });
            match failing {
                Some(part) => at = part,
                None => return at,
            }
        }
    }
}

/// Evaluates an expression with the `cel` crate and turns a panic into an error. The type checker rejects every
/// construct that is known to make the crate panic; this guards against unknown ones.
pub(super) fn resolve(expression: &IdedExpr, context: &Context<'_>) -> Result<Value, ExecutionError> {
    catch_unwind(AssertUnwindSafe(|| Value::resolve(expression, context)))
        .unwrap_or_else(|_| Err(ExecutionError::function_error("evaluate", "the crate failed")))
}
