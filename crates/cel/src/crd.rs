//! Validation rules of CRDs (`x-kubernetes-validations`).
//!
//! These rules come from CRDs of a cluster rather than from a user, and may use all extensions of Kubernetes to CEL.
//! They are therefore not type-checked, and are evaluated with the functions of `kube-cel`. Like selection rules, they
//! go through the parser and the meter of this crate, because the parser of the `cel` crate overflows the stack on long
//! rules and panics on named types.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cel::extractors::{Arguments, This};
use cel::objects::OptionalValue;
use cel::{Context, ExecutionError, IdedExpr, Value};
use kube_cel::KubeCelExt as _;

use super::error::CompileErrorKind;
use super::evaluate::resolve;
use super::functions::Function;
use super::library::{Meter, register, register_meter};
use super::lower::Lowering;
use super::size::measure;
use super::syntax::{Kind, Node};
use super::{CompileError, Limits, Span, evaluation_errors, parser};

/// Functions of this crate that replace those of `kube-cel`. They count characters rather than bytes, add conversions
/// that the crate lacks, or limit the size of a pattern.
const OWN_FUNCTIONS: [Function; 4] = [Function::Size, Function::Bool, Function::Dyn, Function::Matches];
/// Steps for a call, which may parse a quantity or copy a list.
const CALL_STEPS: u64 = 200;
/// Steps for a call that compiles a pattern.
const PATTERN_STEPS: u64 = 20_000;
/// Maximum size, in bytes, of the result of one call of `replace` or `join`.
const MAX_RESULT_BYTES: usize = 1 << 20;
/// Maximum number of steps that an iteration is charged for the size of `self`.
const MAX_INPUT_STEPS: u64 = 4096;

/// A parsed CRD validation rule. It can be evaluated any number of times, on any thread.
#[derive(Debug)]
pub struct ValidationRule {
    expression: IdedExpr,
    /// Steps for evaluating all parts of the rule once. Each iteration of a loop is charged this amount, as an upper
    /// bound for its body.
    steps: u64,
    /// Whether it reads `oldSelf`.
    pub transition: bool,
}

impl ValidationRule {
    /// Parses a rule.
    ///
    /// # Errors
    /// Returns an error if the text is not valid CEL, uses unsupported features, or exceeds `limits`.
    pub fn parse(text: &str, limits: Limits) -> Result<Self, CompileError> {
        if text.len() > limits.expression_bytes {
            let message = format!("the rule is longer than {} bytes", limits.expression_bytes);
            return Err(CompileError::new(CompileErrorKind::TooLong, Span { start: 0, end: text.len() }, message));
        }
        let root = parser::parse(text, limits.nesting).map_err(|error| CompileError {
            // The parser's messages are worded for selection rules.
            message: error.message.replace(" in selection rules", " here"),
            ..error
        })?;
        if let Some(call) = find(&root, &is_lists_range) {
            let message = "`lists.range` is not supported";
            return Err(CompileError::new(CompileErrorKind::Unsupported, call.span, message));
        }
        let mut lowering = Lowering { receivers: true, ..Lowering::default() };
        let expression = lowering.lower(&root);
        let transition = find(&root, &|node| matches!(&node.kind, Kind::Variable(name) if name == "oldSelf")).is_some();
        Ok(Self { expression, steps: estimate_steps(&root), transition })
    }
}

/// Returns all children of a node, including the bodies of macros.
fn children(node: &Node) -> Vec<&Node> {
    let mut children = evaluation_errors::operands(node);
    if let Kind::Macro(inner) = &node.kind {
        children.extend(inner.filter.iter().chain([&inner.body]));
    }
    children
}

/// Returns the first node that satisfies a predicate, in a depth-first search that includes `node`.
fn find<'n>(node: &'n Node, predicate: &dyn Fn(&Node) -> bool) -> Option<&'n Node> {
    if predicate(node) {
        return Some(node);
    }
    children(node).into_iter().find_map(|child| find(child, predicate))
}

/// Returns whether a node calls `lists.range(n)`, which would allocate an arbitrary amount of memory in one step.
fn is_lists_range(node: &Node) -> bool {
    let Kind::Call(call) = &node.kind else { return false };
    let is_on_lists =
        call.arguments.first().is_some_and(|it| matches!(&it.kind, Kind::Variable(name) if name == "lists"));
    call.name == "range" && is_on_lists
}

/// Returns the steps for evaluating all parts of a rule once.
fn estimate_steps(node: &Node) -> u64 {
    let own_steps = match &node.kind {
        Kind::Call(call) if matches!(call.name.as_str(), "find" | "findAll" | "matches") => PATTERN_STEPS,
        Kind::Call(_) => CALL_STEPS,
        _ => 1,
    };
    children(node).into_iter().fold(own_steps, |sum, child| sum.saturating_add(estimate_steps(child)))
}

/// `text.replace(old, new[, limit])` with a limit on the result. Repeated replacements could otherwise grow two short
/// texts beyond the available memory.
fn replace(This(text): This<Arc<String>>, Arguments(arguments): Arguments) -> Result<Value, ExecutionError> {
    let error = |message: &str| ExecutionError::function_error("replace", message);
    let (old, new, limit) = match arguments.as_slice() {
        [Value::String(old), Value::String(new)] => (old, new, usize::MAX),
        // A negative limit means no limit.
        [Value::String(old), Value::String(new), Value::Int(limit)] => {
            (old, new, usize::try_from(*limit).unwrap_or(usize::MAX))
        }
        _ => return Err(error("expected two texts and a limit")),
    };
    let count = text.matches(old.as_str()).take(limit).count();
    if count.saturating_mul(new.len()).saturating_add(text.len()) > MAX_RESULT_BYTES {
        return Err(error("a text of more than 1 MiB"));
    }
    Ok(Value::from(text.replacen(old.as_str(), new, count)))
}

/// `list.join([separator])` with a limit on the result, for the same reason.
fn join(This(list): This<Arc<Vec<Value>>>, Arguments(arguments): Arguments) -> Result<Value, ExecutionError> {
    let error = |message: &str| ExecutionError::function_error("join", message);
    let separator = match arguments.as_slice() {
        [] => "",
        [Value::String(separator)] => separator.as_str(),
        _ => return Err(error("expected one text")),
    };
    let text = |value: &Value| match value {
        Value::String(text) => Ok(Arc::clone(text)),
        _ => Err(error("expected a list of texts")),
    };
    let texts = list.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    let length = texts.iter().fold(0_usize, |sum, text| sum.saturating_add(text.len() + separator.len()));
    if length > MAX_RESULT_BYTES {
        return Err(error("a text of more than 1 MiB"));
    }
    Ok(Value::from(texts.iter().map(|text| text.as_str()).collect::<Vec<_>>().join(separator)))
}

/// An evaluator for CRD validation rules: the functions that rules call, and the meter for their cost. Creating one is
/// slow, so reuse it.
pub struct RuleEvaluator {
    context: Context<'static>,
    meter: Arc<Meter>,
    /// Steps per iteration of the rule that is being evaluated. The meter's function in the context reads it.
    iteration_steps: Arc<AtomicU64>,
    limits: Limits,
}

impl RuleEvaluator {
    /// Registers the functions. All evaluations together may take `limits.steps` until the next
    /// [`RuleEvaluator::refill`].
    pub fn new(limits: Limits) -> Self {
        let mut context = Context::default().with_all();
        for function in OWN_FUNCTIONS {
            register(&mut context, function, &Arc::new(BTreeMap::new()));
        }
        context.add_function("replace", replace);
        context.add_function("join", join);
        let (meter, iteration_steps) = (Arc::new(Meter::new(limits)), Arc::new(AtomicU64::new(0)));
        let cost = Arc::clone(&iteration_steps);
        register_meter(&mut context, &meter, move |_| Some(cost.load(Ordering::Relaxed)));
        Self { context, meter, iteration_steps, limits }
    }

    /// Resets the meter, for the rules of another object.
    pub fn refill(&self) {
        self.meter.refill(self.limits);
    }

    /// Evaluates a rule as on creation of an object: there is no old value, so `oldSelf` is an empty optional.
    ///
    /// # Errors
    /// Returns a message that says why the evaluation failed.
    pub fn evaluate(&self, rule: &ValidationRule, self_value: &Value) -> Result<Value, String> {
        self.evaluate_change(rule, self_value, || Value::Opaque(Arc::new(OptionalValue::none())))
    }

    /// Evaluates a rule for an update. `old` returns the old value and is called only if the rule reads it.
    ///
    /// # Errors
    /// Returns a message that says why the evaluation failed.
    pub fn evaluate_change(
        &self,
        rule: &ValidationRule,
        self_value: &Value,
        old: impl FnOnce() -> Value,
    ) -> Result<Value, String> {
        let (size, _) = measure(self_value);
        let steps = rule.steps.saturating_add(size.min(MAX_INPUT_STEPS));
        self.iteration_steps.store(steps, Ordering::Relaxed);
        self.meter.charge(steps);
        let mut scope = self.context.new_inner_scope();
        scope.add_variable_from_value("self", self_value.clone());
        if rule.transition {
            scope.add_variable_from_value("oldSelf", old());
        }
        let result = resolve(&rule.expression, &scope);
        if self.meter.exhausted().is_some() {
            return Err(format!("it takes more than {} steps", self.limits.steps));
        }
        result.map_err(|error| describe(&error))
    }

    /// Converts a text by `function`, which is `timestamp` or `duration`. Returns the text itself if it is not valid.
    pub fn convert(&self, function: &str, text: &str) -> Value {
        let text = Value::from(text);
        let mut scope = self.context.new_inner_scope();
        scope.add_variable_from_value("text", text.clone());
        let converted = parser::parse(&format!("{function}(text)"), self.limits.nesting)
            .map(|node| resolve(&Lowering::default().lower(&node), &scope));
        converted.ok().and_then(Result::ok).unwrap_or(text)
    }
}

/// Describes an evaluation error. The `cel` crate reports unknown functions as undeclared references.
fn describe(error: &ExecutionError) -> String {
    match error {
        ExecutionError::UndeclaredReference(name) => format!("`{name}` is not supported"),
        other => evaluation_errors::describe(other).1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(rule: &str) -> Result<Value, String> {
        let limits = Limits::default();
        let rule = ValidationRule::parse(rule, limits).map_err(|error| error.message)?;
        let self_value = Value::List(Arc::new(vec![Value::from("a"), Value::from("b")]));
        RuleEvaluator::new(limits).evaluate(&rule, &self_value)
    }

    #[test]
    fn supports_the_functions_of_kubernetes() {
        for rule in [
            "self.size() == 2 && size('é') == 1 && 'é'.size() == 1",
            "self.exists(x, x.upperAscii() == 'B')",
            "'a/b'.split('/')[0].size() <= 253 && 'a-b'.replace('-', '_') == 'a_b'",
            "quantity('1Gi').isGreaterThan(quantity('1Mi')) && !isQuantity('1gb')",
            "sets.contains(self, ['a']) && self.isSorted() && [1, 2].sum() == 3",
            "'v1.2'.find('[0-9]+') == '1' && 'a1'.matches('^[a-z][0-9]$')",
            "duration('1m') > duration('30s') && timestamp('2026-01-01T00:00:00Z').getFullYear() == 2026",
            "semver('1.2.3').isLessThan(semver('2.0.0')) && ip('10.0.0.1').family() == 4",
            "'%s-%d'.format(['a', 1]) == 'a-1'",
            "!oldSelf.hasValue()",
            "'aXbX'.replace('X', '-') == 'a-b-' && 'aXbX'.replace('X', '', 1) == 'abX' && self.join('+') == 'a+b'",
        ] {
            assert_eq!(run(rule), Ok(Value::Bool(true)), "{rule}");
        }
    }

    // A hostile rule must neither crash nor hang the program.
    #[test]
    fn stops_hostile_rules() {
        let long = format!("1{} == 0", " + 1".repeat(1000));
        let deep = format!("{}1{} == 1", "(".repeat(500), ")".repeat(500));
        let numbers = (0..100).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
        let endless = format!("[{numbers}].all(a, [{numbers}].all(b, [{numbers}].all(c, [{numbers}].all(d, true))))");
        let doubling = format!("'0123456789'{}.size() > 0", ".split('').map(x, x + x + x).join('')".repeat(12));
        let tenfold = format!("'a'{}.size() > 0", ".replace('a', 'aaaaaaaaaa')".repeat(20));
        let patterns = format!("[{numbers}].all(a, [{numbers}].all(b, 'x'.find('[a-z]{{1,500}}') == 'x'))");
        for rule in [
            &tenfold,
            &patterns,
            "lists.range(10000000000).size() > 0",
            "'%.99999999999f'.format([1.0]) == ''",
            "Foo{a: 1} == 1",
            &long,
            &deep,
            &endless,
            &doubling,
            "self.unknown()",
            "unknown",
            "self[7] == 'a'",
            "self.?a.hasValue()",
            "cel.bind(x, 1, x == 1)",
        ] {
            let result = run(rule);
            assert!(result.is_err(), "{rule}: {result:?}");
        }
    }

    #[test]
    fn detects_rules_that_read_the_old_value() {
        for (rule, transition) in [
            ("self == oldSelf", true),
            ("self.all(x, x in oldSelf)", true),
            ("self.filter(x, oldSelf.size() > 1).size() > 0", true),
            ("self == 'oldSelf'", false),
        ] {
            assert_eq!(ValidationRule::parse(rule, Limits::default()).unwrap().transition, transition, "{rule}");
        }
    }
}
