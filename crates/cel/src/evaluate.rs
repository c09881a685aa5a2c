//! The value of a rule for one input: what the `cel` crate makes of it, within limits.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cel::{Context, ExecutionError, IdedExpr, Value};
use serde_json::Value as Json;

use super::cost::Costing;
use super::error::{EvaluationError, EvaluationErrorKind};
use super::input;
use super::library::{Exhausted, Meter, register, register_meter};
use super::lower::Lowering;
use super::size::{Size, text};
use super::syntax::{Kind, Node};
use super::trouble;
use super::{Limits, Rule};

/// Times that a value is copied on its way from JSON into the context.
const COPIES: u64 = 4;

/// One evaluation: what the rule sees and what it may still use up.
struct Evaluation<'r> {
    rule: &'r Rule,
    input: &'r Json,
    meter: Arc<Meter>,
    sizes: BTreeMap<&'r str, Size>,
}

/// Evaluates a rule, and takes its steps out of those that are left.
pub(super) fn evaluate(rule: &Rule, input: &Json, left: &mut u64) -> Result<bool, EvaluationError> {
    let limits = Limits { steps: rule.limits.steps.min(*left), ..rule.limits };
    let meter = Arc::new(Meter::new(limits));
    let mut evaluation = Evaluation { rule, input, meter, sizes: BTreeMap::new() };
    let result = evaluation.run();
    *left = left.saturating_sub(evaluation.meter.spent(limits.steps));
    result
}

impl Evaluation<'_> {
    fn run(&mut self) -> Result<bool, EvaluationError> {
        let mut context = Context::empty();
        self.bind(&mut context)?;
        let most = text(self.rule.limits.value_bytes);
        let mut costing = Costing::new(&self.sizes, most);
        let (steps, _) = costing.weigh(&self.rule.root);
        let turns = costing.turns;
        let _ = self.meter.spend(steps);
        self.check_limits()?;
        register_meter(&mut context, &self.meter, move |number| turns.get(number).copied());
        for function in &self.rule.functions {
            register(&mut context, *function, &self.rule.patterns);
        }
        let result = resolve(&self.rule.expression, &context);
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

    /// Gives the context the fields that the rule reads. One that is absent is left out: reading it is an error then.
    fn bind(&mut self, context: &mut Context<'_>) -> Result<(), EvaluationError> {
        let limits = self.rule.limits;
        for (name, reading) in &self.rule.readings {
            if reading.test {
                if let Ok(found) = input::has(self.input, &reading.path) {
                    context.add_variable_from_value(name.as_str(), found);
                }
                continue;
            }
            let Ok(json) = input::find(self.input, &reading.path) else { continue };
            let Some(size) = Size::of(json, limits.nesting) else {
                let message = format!("`{}` is nested deeper than {} levels", reading.path, limits.nesting);
                let span = trouble::reader(&self.rule.root, name).map_or(self.rule.root.span, |node| node.span);
                return Err(EvaluationError::new(EvaluationErrorKind::ValueLimit, span, message));
            };
            let _ = self.meter.spend(size.total().saturating_mul(COPIES));
            self.check_limits()?;
            context.add_variable_from_value(name.as_str(), input::convert(json, &reading.ty));
            self.sizes.insert(name, size);
        }
        Ok(())
    }

    fn check_limits(&self) -> Result<(), EvaluationError> {
        let limits = self.rule.limits;
        let span = self.rule.root.span;
        match self.meter.exhausted() {
            None => Ok(()),
            Some(Exhausted::Steps) => {
                let message = format!("the rule takes more than {} steps for this input", limits.steps);
                Err(EvaluationError::new(EvaluationErrorKind::StepLimit, span, message))
            }
            Some(Exhausted::Bytes) => {
                let message = format!("the rule makes values of more than {} bytes for this input", limits.value_bytes);
                Err(EvaluationError::new(EvaluationErrorKind::ValueLimit, span, message))
            }
        }
    }

    fn explain(&self, error: &ExecutionError, context: &Context<'_>) -> EvaluationError {
        if let ExecutionError::UndeclaredReference(name) = error
            && let Some(reading) = self.rule.readings.get(name.as_str())
            && let Some(node) = trouble::reader(&self.rule.root, name)
        {
            return trouble::unreadable(self.input, reading, node);
        }
        let node = self.locate(error, context);
        let (kind, message) = trouble::describe(error);
        let span = match (&node.kind, kind) {
            (Kind::Select { field_span, .. }, _) => *field_span,
            (Kind::Index { index, .. }, EvaluationErrorKind::NoSuchField | EvaluationErrorKind::IndexOutOfRange) => {
                index.span
            }
            _ => node.span,
        };
        EvaluationError::new(kind, span, message)
    }

    /// The smallest part of the rule that fails in the same way. The crate does not say where an error arose, so the
    /// parts are evaluated again, from what is left of the steps; parts of a loop's body cannot be.
    fn locate(&self, error: &ExecutionError, context: &Context<'_>) -> &Node {
        let mut at = &self.rule.root;
        loop {
            let failing = trouble::parts(at).into_iter().find(|part| {
                let most = text(self.rule.limits.value_bytes);
                let (steps, _) = Costing::new(&self.sizes, most).weigh(part);
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

/// What the crate makes of an expression. The checker refuses all that is known to make it panic; what is not known yet
/// must not end the program.
pub(super) fn resolve(expression: &IdedExpr, context: &Context<'_>) -> Result<Value, ExecutionError> {
    catch_unwind(AssertUnwindSafe(|| Value::resolve(expression, context)))
        .unwrap_or_else(|_| Err(ExecutionError::function_error("evaluate", "the crate failed")))
}
