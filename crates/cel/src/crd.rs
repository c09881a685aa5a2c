//! Validation rules of CRDs (`x-kubernetes-validations`).
//!
//! They come with a dump and not from a user, and may use all that Kubernetes adds to CEL: so they are not checked for
//! types, and evaluated with the functions of `kube-cel`. They are parsed by us and pay for what they do, as selection
//! rules are and do; the crate's own parser would overflow the stack on a long one, and panic on a named type.

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
use super::{CompileError, Limits, Span, parser, trouble};

/// Of the functions that both have, ours: they count characters, know what the crate lacks, or bound a pattern.
const OURS: [Function; 4] = [Function::Size, Function::Bool, Function::Dyn, Function::Matches];
/// Steps for a call, which may read a quantity or copy a list.
const CALL: u64 = 200;
/// Steps for a call that compiles a pattern.
const PATTERN: u64 = 20_000;
/// Bytes that one call may make of what it is given.
const MOST_MADE: usize = 1 << 20;
/// The most that a turn is charged for the values that it reads.
const MOST_A_TURN: u64 = 4096;

/// A rule that can be evaluated, any number of times and in any thread.
#[derive(Debug)]
pub struct ValidationRule {
    expression: IdedExpr,
    /// Steps for all of its parts once; each turn of a loop pays for all.
    weight: u64,
    /// Whether it reads `oldSelf`.
    pub transition: bool,
}

impl ValidationRule {
    /// Parses a rule.
    ///
    /// # Errors
    /// When it is not CEL, or uses what cannot be evaluated here, or is longer or deeper than `limits`.
    pub fn parse(text: &str, limits: Limits) -> Result<Self, CompileError> {
        if text.len() > limits.expression_bytes {
            let message = format!("the rule is longer than {} bytes", limits.expression_bytes);
            return Err(CompileError::new(CompileErrorKind::TooLong, Span { start: 0, end: text.len() }, message));
        }
        let root = parser::parse(text, limits.nesting).map_err(|error| CompileError {
            // The parser speaks of the rules that it was written for.
            message: error.message.replace(" in selection rules", " here"),
            ..error
        })?;
        if let Some(call) = find(&root, &makes_any_number) {
            let message = "`lists.range` is not supported";
            return Err(CompileError::new(CompileErrorKind::Unsupported, call.span, message));
        }
        let mut lowering = Lowering { receivers: true, ..Lowering::default() };
        let expression = lowering.lower(&root);
        let transition = find(&root, &|node| matches!(&node.kind, Kind::Variable(name) if name == "oldSelf")).is_some();
        Ok(Self { expression, weight: weigh(&root), transition })
    }
}

/// The parts of a node, the bodies of loops among them.
fn parts(node: &Node) -> Vec<&Node> {
    let mut parts = trouble::parts(node);
    if let Kind::Macro(inner) = &node.kind {
        parts.extend(inner.filter.iter().chain([&inner.body]));
    }
    parts
}

/// The first node below and including this one of which something is true.
fn find<'n>(node: &'n Node, is: &dyn Fn(&Node) -> bool) -> Option<&'n Node> {
    if is(node) { Some(node) } else { parts(node).into_iter().find_map(|part| find(part, is)) }
}

/// `lists.range(n)` would take any amount of memory at once.
fn makes_any_number(node: &Node) -> bool {
    let Kind::Call(call) = &node.kind else { return false };
    let of_lists = call.arguments.first().is_some_and(|it| matches!(&it.kind, Kind::Variable(name) if name == "lists"));
    call.name == "range" && of_lists
}

fn weigh(node: &Node) -> u64 {
    let own = match &node.kind {
        Kind::Call(call) if matches!(call.name.as_str(), "find" | "findAll" | "matches") => PATTERN,
        Kind::Call(_) => CALL,
        _ => 1,
    };
    parts(node).into_iter().fold(own, |sum, part| sum.saturating_add(weigh(part)))
}

/// `text.replace(old, new[, limit])`, which could make of two short texts one that does not fit into memory.
fn replace(This(text): This<Arc<String>>, Arguments(arguments): Arguments) -> Result<Value, ExecutionError> {
    let error = |message: &str| ExecutionError::function_error("replace", message);
    let (old, new, limit) = match arguments.as_slice() {
        [Value::String(old), Value::String(new)] => (old, new, usize::MAX),
        // A negative limit is none.
        [Value::String(old), Value::String(new), Value::Int(limit)] => {
            (old, new, usize::try_from(*limit).unwrap_or(usize::MAX))
        }
        _ => return Err(error("expected two texts and a limit")),
    };
    let found = text.matches(old.as_str()).take(limit).count();
    if found.saturating_mul(new.len()).saturating_add(text.len()) > MOST_MADE {
        return Err(error("a text of more than 1 MiB"));
    }
    Ok(Value::from(text.replacen(old.as_str(), new, found)))
}

/// `list.join([separator])`, for the same reason.
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
    if length > MOST_MADE {
        return Err(error("a text of more than 1 MiB"));
    }
    Ok(Value::from(texts.iter().map(|text| text.as_str()).collect::<Vec<_>>().join(separator)))
}

/// The functions that rules call, and what is left of what they may cost. Making one takes a while: keep it.
pub struct Machine {
    context: Context<'static>,
    meter: Arc<Meter>,
    turn: Arc<AtomicU64>,
    limits: Limits,
}

impl Machine {
    /// Registers the functions, with `limits.steps` to spend on all evaluations together.
    pub fn new(limits: Limits) -> Self {
        let mut context = Context::default().with_all();
        for function in OURS {
            register(&mut context, function, &Arc::new(BTreeMap::new()));
        }
        context.add_function("replace", replace);
        context.add_function("join", join);
        let (meter, turn) = (Arc::new(Meter::new(limits)), Arc::new(AtomicU64::new(0)));
        let cost = Arc::clone(&turn);
        register_meter(&mut context, &meter, move |_| Some(cost.load(Ordering::Relaxed)));
        Self { context, meter, turn, limits }
    }

    /// Gives the rules of another object what they may cost, all together.
    pub fn refill(&self) {
        self.meter.refill(self.limits);
    }

    /// What a rule makes of a value, on creation: there is no old value, and a rule that takes an optional one gets none.
    ///
    /// # Errors
    /// A few words about why there is no result.
    pub fn evaluate(&self, rule: &ValidationRule, itself: &Value) -> Result<Value, String> {
        self.evaluate_change(rule, itself, || Value::Opaque(Arc::new(OptionalValue::none())))
    }

    /// The same on a change, with what a rule that reads it gets as the old value.
    ///
    /// # Errors
    /// A few words about why there is no result.
    pub fn evaluate_change(
        &self,
        rule: &ValidationRule,
        itself: &Value,
        old: impl FnOnce() -> Value,
    ) -> Result<Value, String> {
        let (size, _) = measure(itself);
        let turn = rule.weight.saturating_add(size.min(MOST_A_TURN));
        self.turn.store(turn, Ordering::Relaxed);
        let _ = self.meter.spend(turn);
        let mut scope = self.context.new_inner_scope();
        scope.add_variable_from_value("self", itself.clone());
        if rule.transition {
            scope.add_variable_from_value("oldSelf", old());
        }
        let result = resolve(&rule.expression, &scope);
        if self.meter.exhausted().is_some() {
            return Err(format!("it takes more than {} steps", self.limits.steps));
        }
        result.map_err(|error| describe(&error))
    }

    /// A text as the timestamp or duration that CEL reads in it; the text itself when it is none.
    pub fn convert(&self, function: &str, text: &str) -> Value {
        let text = Value::from(text);
        let mut scope = self.context.new_inner_scope();
        scope.add_variable_from_value("text", text.clone());
        let converted = parser::parse(&format!("{function}(text)"), self.limits.nesting)
            .map(|node| resolve(&Lowering::default().lower(&node), &scope));
        converted.ok().and_then(Result::ok).unwrap_or(text)
    }
}

/// The crate names functions that it does not have as undeclared references.
fn describe(error: &ExecutionError) -> String {
    match error {
        ExecutionError::UndeclaredReference(name) => format!("`{name}` is not supported"),
        other => trouble::describe(other).1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(rule: &str) -> Result<Value, String> {
        let limits = Limits::default();
        let rule = ValidationRule::parse(rule, limits).map_err(|error| error.message)?;
        let itself = Value::List(Arc::new(vec![Value::from("a"), Value::from("b")]));
        Machine::new(limits).evaluate(&rule, &itself)
    }

    /// What Kubernetes adds to CEL, in each of the forms in which functions are called.
    #[test]
    fn functions_of_kubernetes_are_there() {
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

    /// None of them may end the program, or keep it.
    #[test]
    fn hostile_rules_end() {
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
            let found = run(rule);
            assert!(found.is_err(), "{rule}: {found:?}");
        }
    }

    #[test]
    fn a_rule_that_reads_the_old_value_says_so() {
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
