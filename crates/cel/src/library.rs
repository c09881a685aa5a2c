//! Functions for the context of the `cel` crate: those that rules may call, including ones that the crate lacks, and
//! the meter that enforces limits during evaluation.
//!
//! The crate offers no hook for limits. The lowered rule therefore contains calls of internal functions ([`FUEL`],
//! [`CHARGE`]) that spend from the meter, and fail when it is exhausted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use cel::extractors::This;
use cel::{Context, ExecutionError, FunctionContext, Value, functions};
use regex::Regex;

use super::Limits;
use super::functions::Function;
use super::lower::{CHARGE, ELEMENTS, FUEL};
use super::patterns;
use super::size::measure;

type Text = This<Arc<String>>;

/// The remaining steps and bytes of one evaluation. The counters are atomic because functions in a context must be
/// `Sync`; the evaluation itself runs on one thread.
#[derive(Debug)]
pub(super) struct Meter {
    steps: AtomicU64,
    bytes: AtomicU64,
    value_bytes: u64,
    /// The limit that was reached first: 0 for none, otherwise a discriminant of [`ExhaustedLimit`] plus 1.
    exhausted: AtomicU8,
}

/// A limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExhaustedLimit {
    Steps,
    Bytes,
}

impl Meter {
    pub(super) fn new(limits: Limits) -> Self {
        let value_bytes = u64::try_from(limits.value_bytes).unwrap_or(u64::MAX);
        Self {
            steps: AtomicU64::new(limits.steps),
            bytes: AtomicU64::new(value_bytes),
            value_bytes,
            exhausted: AtomicU8::new(0),
        }
    }

    /// Resets the meter for another evaluation.
    pub(super) fn refill(&self, limits: Limits) {
        self.steps.store(limits.steps, Ordering::Relaxed);
        self.bytes.store(self.value_bytes, Ordering::Relaxed);
        self.exhausted.store(0, Ordering::Relaxed);
    }

    /// Returns how many steps of the initial budget were spent: all of them if the steps were exhausted.
    pub(super) fn spent(&self, budget: u64) -> u64 {
        let remaining =
            if self.exhausted() == Some(ExhaustedLimit::Steps) { 0 } else { self.steps.load(Ordering::Relaxed) };
        budget.saturating_sub(remaining)
    }

    /// Returns the limit that was reached first. Callers must check it even if the rule has a result, because `||` and
    /// `&&` hide the error by which the meter stops an operand.
    pub(super) fn exhausted(&self) -> Option<ExhaustedLimit> {
        match self.exhausted.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(ExhaustedLimit::Steps),
            _ => Some(ExhaustedLimit::Bytes),
        }
    }

    /// Subtracts steps from the remaining ones. Fails if too few remain, or if any limit was reached before.
    pub(super) fn spend(&self, steps: u64) -> Result<(), ExecutionError> {
        self.take(&self.steps, steps, 1)
    }

    /// Subtracts steps from the remaining ones. The meter remembers whether too few remain: the caller asks it later.
    pub(super) fn charge(&self, steps: u64) {
        self.subtract(&self.steps, steps, 1);
    }

    /// Charges for a new value: its bytes, and its steps twice.
    fn charge_value(&self, value: &Value) -> Result<(), ExecutionError> {
        let (steps, bytes) = measure(value);
        self.spend(steps.saturating_mul(2))?;
        self.take(&self.bytes, bytes, 2)
    }

    /// Charges for the accumulator of a loop, which the `cel` crate copies in each iteration. Only one copy exists at a
    /// time, so its bytes are compared with the limit but not added up.
    fn charge_accumulator(&self, value: &Value) -> Result<(), ExecutionError> {
        let (steps, bytes) = measure(value);
        self.spend(steps.saturating_mul(3))?;
        if bytes > self.value_bytes { self.take(&self.bytes, u64::MAX, 2) } else { Ok(()) }
    }

    /// Subtracts an amount from a counter. If the counter is too small, or any limit was reached before, it fails and
    /// records the limit `kind`.
    fn take(&self, counter: &AtomicU64, amount: u64, kind: u8) -> Result<(), ExecutionError> {
        if self.subtract(counter, amount, kind) {
            return Ok(());
        }
        Err(ExecutionError::function_error(FUEL, "exhausted"))
    }

    /// Does what [`take`](Self::take) does, and returns whether there was enough.
    fn subtract(&self, counter: &AtomicU64, amount: u64, kind: u8) -> bool {
        let result = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(amount));
        let is_enough = result.is_ok() && self.exhausted().is_none();
        if !is_enough {
            // It fails if a limit was reached before, which is the one that counts.
            let _ = self.exhausted.compare_exchange(0, kind, Ordering::Relaxed, Ordering::Relaxed);
        }
        is_enough
    }
}

/// Registers the internal functions that charge the meter. `iteration_steps` returns the cost of an iteration of a
/// loop.
pub(super) fn register_meter(
    context: &mut Context<'_>,
    meter: &Arc<Meter>,
    iteration_steps: impl Fn(usize) -> Option<u64> + Send + Sync + 'static,
) {
    // The function evaluates the loop condition itself, after charging, so that an exhausted meter ends the loop.
    let loop_meter = Arc::clone(meter);
    context.add_function(FUEL, move |call: &FunctionContext<'_, '_>, number: i64| -> Result<Value, ExecutionError> {
        let cost = usize::try_from(number).ok().and_then(&iteration_steps);
        // A loop that the estimator does not know must not run for free.
        loop_meter.spend(cost.unwrap_or(u64::MAX))?;
        if let Some(collected) = call.args.get(2) {
            loop_meter.charge_accumulator(&Value::resolve(collected, call.ptx)?)?;
        }
        let condition = call.args.get(1).ok_or_else(ExecutionError::missing_argument_or_target)?;
        Value::resolve(condition, call.ptx)
    });
    let value_meter = Arc::clone(meter);
    context.add_function(CHARGE, move |This(value): This<Value>| -> Result<Value, ExecutionError> {
        value_meter.charge_value(&value)?;
        Ok(value)
    });
    context.add_function(ELEMENTS, |This(range): This<Value>| -> Result<Value, ExecutionError> {
        let Value::Map(entries) = &range else { return Ok(range) };
        // The order of a hash map differs between runs and must not affect the result.
        let mut keys: Vec<_> = entries.map.keys().collect();
        keys.sort();
        Ok(Value::List(Arc::new(keys.into_iter().map(Value::from).collect())))
    });
}

/// Registers a function that rules can call.
pub(super) fn register(context: &mut Context<'_>, function: Function, patterns: &Arc<BTreeMap<String, Regex>>) {
    match function {
        Function::Size => context.add_function("size", size),
        Function::Contains => {
            context.add_function("contains", |This(text): Text, part: Arc<String>| text.contains(part.as_str()));
        }
        Function::StartsWith => context.add_function("startsWith", functions::starts_with),
        Function::EndsWith => context.add_function("endsWith", functions::ends_with),
        Function::Matches => {
            let compiled = Arc::clone(patterns);
            context.add_function("matches", move |This(text): Text, pattern: Arc<String>| {
                let is_match = match compiled.get(pattern.as_str()) {
                    Some(regex) => Ok(regex.is_match(&text)),
                    None => patterns::compile(&pattern).map(|regex| regex.is_match(&text)),
                };
                is_match.map_err(|message| ExecutionError::function_error("matches", message))
            });
        }
        Function::LowerAscii => context.add_function("lowerAscii", |This(text): Text| text.to_ascii_lowercase()),
        Function::UpperAscii => context.add_function("upperAscii", |This(text): Text| text.to_ascii_uppercase()),
        Function::Trim => context.add_function("trim", |This(text): Text| text.trim().to_owned()),
        Function::String => context.add_function("string", functions::string),
        Function::Int => context.add_function("int", int),
        Function::Double => context.add_function("double", functions::double),
        Function::Bool => context.add_function("bool", bool),
        Function::Uint => context.add_function("uint", uint),
        Function::Bytes => context.add_function("bytes", functions::bytes),
        Function::Dyn => context.add_function("dyn", |This(value): This<Value>| -> Result<_, _> { Ok(value) }),
        Function::Max => context.add_function("max", functions::max),
        Function::Min => context.add_function("min", functions::min),
    }
}

/// `size()`. The crate's function returns the length of a text in bytes, but CEL specifies characters.
fn size(call: &FunctionContext<'_, '_>, This(value): This<Value>) -> Result<i64, ExecutionError> {
    match &value {
        Value::String(text) => i64::try_from(text.chars().count()).map_err(|error| call.error(error)),
        _ => functions::size(call, This(value)),
    }
}

/// `int()`. The crate's function turns a NaN into 0, and CEL specifies a range error.
fn int(call: &FunctionContext<'_, '_>, This(value): This<Value>) -> Result<Value, ExecutionError> {
    refuse_nan(call, &value)?;
    functions::int(call, This(value))
}

/// `uint()`, with the same correction as [`int`].
fn uint(call: &FunctionContext<'_, '_>, This(value): This<Value>) -> Result<Value, ExecutionError> {
    refuse_nan(call, &value)?;
    functions::uint(call, This(value))
}

fn refuse_nan(call: &FunctionContext<'_, '_>, value: &Value) -> Result<(), ExecutionError> {
    match value {
        Value::Float(number) if number.is_nan() => Err(call.error("integer overflow")),
        _ => Ok(()),
    }
}

/// `bool()`, which the crate lacks.
fn bool(call: &FunctionContext<'_, '_>, This(value): This<Value>) -> Result<bool, ExecutionError> {
    match &value {
        Value::Bool(value) => Ok(*value),
        Value::String(text) => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
            _ => Err(call.error("not a bool")),
        },
        _ => Err(call.error("cannot convert")),
    }
}
