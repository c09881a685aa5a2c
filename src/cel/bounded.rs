//! What one evaluation may use up.

use super::Limits;
use super::error::{EvaluationError, EvaluationErrorKind, Span};
use super::value::Value;

/// What is left of the steps and bytes of one evaluation.
pub(super) struct Budget {
    limits: Limits,
    steps: u64,
    bytes: usize,
}

impl Budget {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, steps: limits.steps, bytes: limits.value_bytes }
    }

    /// Takes some steps.
    pub(super) fn spend(&mut self, steps: u64, span: Span) -> Result<(), EvaluationError> {
        if let Some(left) = self.steps.checked_sub(steps) {
            self.steps = left;
            return Ok(());
        }
        self.steps = 0;
        let message = format!("the rule takes more than {} steps for this input", self.limits.steps);
        Err(EvaluationError::new(EvaluationErrorKind::StepLimit, span, message))
    }

    /// Takes the steps of reading `bytes` bytes of text.
    pub(super) fn spend_text(&mut self, bytes: usize, span: Span) -> Result<(), EvaluationError> {
        const BYTES_OF_A_STEP: usize = 16;
        self.spend(u64::try_from(bytes / BYTES_OF_A_STEP).unwrap_or(u64::MAX), span)
    }

    /// Takes the memory, and the time to fill it, of a new text.
    pub(super) fn make_text(&mut self, bytes: usize, span: Span) -> Result<(), EvaluationError> {
        self.spend_text(bytes, span)?;
        if let Some(left) = self.bytes.checked_sub(bytes) {
            self.bytes = left;
            return Ok(());
        }
        self.bytes = 0;
        let message = format!("the rule makes values of more than {} bytes for this input", self.limits.value_bytes);
        Err(EvaluationError::new(EvaluationErrorKind::ValueLimit, span, message))
    }

    /// Takes the memory of a new list or map.
    pub(super) fn make_elements(&mut self, count: usize, span: Span) -> Result<(), EvaluationError> {
        self.make_text(count.saturating_mul(size_of::<Value<'_>>()), span)
    }

    /// Whether two values are equal, numbers by their value, all else by type and content.
    pub(super) fn equal(&mut self, left: &Value<'_>, right: &Value<'_>, span: Span) -> Result<bool, EvaluationError> {
        self.equal_at(left, right, span, self.limits.nesting)
    }

    fn equal_at(
        &mut self,
        left: &Value<'_>,
        right: &Value<'_>,
        span: Span,
        depth: usize,
    ) -> Result<bool, EvaluationError> {
        self.spend(1, span)?;
        let Some(depth) = depth.checked_sub(1) else {
            let message = format!("values nested deeper than {} levels are not compared", self.limits.nesting);
            return Err(EvaluationError::new(EvaluationErrorKind::ValueLimit, span, message));
        };
        match (left, right) {
            (Value::Null, Value::Null) => Ok(true),
            (Value::Text(left), Value::Text(right)) => {
                let (left, right) = (left.as_str(), right.as_str());
                if left.len() != right.len() {
                    return Ok(false);
                }
                self.spend_text(left.len(), span)?;
                Ok(left == right)
            }
            (Value::List(left), Value::List(right)) => {
                if left.len() != right.len() {
                    return Ok(false);
                }
                for (left, right) in left.iter().zip(right.iter()) {
                    if !self.equal_at(&left, &right, span, depth)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Value::Map(left), Value::Map(right)) => {
                if left.len() != right.len() {
                    return Ok(false);
                }
                self.make_elements(left.len(), span)?;
                for key in left.keys().iter() {
                    let (Some(left), Some(right)) = (left.get(&key), right.get(&key)) else { return Ok(false) };
                    if !self.equal_at(&left, &right, span, depth)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(left.order(right).is_some_and(std::cmp::Ordering::is_eq)),
        }
    }
}
