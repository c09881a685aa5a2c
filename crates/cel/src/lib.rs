//! Selection rules: the conditions, written in CEL, under which a provider is chosen.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.
//!
//! A rule is checked against declared types when it is compiled, so that a typing error is found where the rule is
//! written and not when a model is deployed. Compiling and evaluating take bounded time and memory for any rule and
//! any input; see [`Limits`].
//!
//! Rules are parsed and checked here, for the `cel` crate (0.13) forgets where expressions stand and knows no types;
//! they are evaluated by that crate, which is given our tree and never sees the text. Field access, literals,
//! comparison, logic, `in`, `has`, `size`, the functions on strings, the conversions and the macros over typed values
//! are checked. What else the crate has is accepted with a warning: unsigned integers, byte strings, `uint()`,
//! `bytes()`, `max()`, `min()`, values of type `dyn`, and patterns of `matches()` that are not written out.
//!
//! The crate has no limits and copies much of what it reads, so a rule pays: for its parts that run once before it
//! starts, for each turn of a loop when it begins, by the size of the fields that are read there; and for what it makes
//! when it is made. A rule that cannot pay has no value, even if the rest of it would be true.
//!
//! Otherwise than in Kubernetes
//! - `all` and `exists` fail with the first element that fails, even if a later one decides;
//! - an int, a uint and a double of type `dyn` are never equal; compare with a value of the same type;
//! - a field of a text or number of type `dyn` that a macro goes through is `false`, not an error;
//! - two keys of a map literal that are computed and equal are not an error, the later one wins;
//! - comparing with NaN by `<` is an error, and `int()` and `uint()` of a double just above their range give the largest;
//! - ints and doubles are ordered as doubles, which beyond 2^53 may take neighbours for equal;
//! - negating a `dyn`, `string()` of a bool, optional values, timestamps, durations, named types and the libraries of
//!   Kubernetes (quantity, url, ip, semver, lists, …) are refused when the rule is compiled.
//!
//! ```
//! use kubefoundry_cel::{Environment, FieldType, Limits, Type};
//! use serde_json::json;
//!
//! static GPU: [FieldType; 1] = [FieldType::required("count", Type::Int)];
//! static RESOURCES: [FieldType; 1] = [FieldType::optional("gpu", Type::Object(&GPU))];
//! static SPEC: [FieldType; 1] = [FieldType::required("resources", Type::Object(&RESOURCES))];
//!
//! let environment = Environment::new(vec![("spec", Type::Object(&SPEC))], Limits::default());
//! let (rule, warnings) = environment.compile("!has(spec.resources.gpu) || spec.resources.gpu.count == 0").unwrap();
//! assert!(warnings.is_empty());
//! assert_eq!(rule.reads(), ["spec.resources.gpu", "spec.resources.gpu.count"]);
//! assert_eq!(rule.evaluate(&json!({"spec": {"resources": {"gpu": {"count": 0}}}})), Ok(true));
//! assert_eq!(rule.evaluate(&json!({"spec": {"resources": {}}})), Ok(true));
//! assert_eq!(rule.evaluate(&json!({"spec": {"resources": {"gpu": {"count": 2}}}})), Ok(false));
//! ```

mod check;
mod check_calls;
mod check_paths;
mod constants;
mod cost;
pub mod crd;
mod error;
mod evaluate;
mod functions;
mod input;
mod lexer;
mod library;
mod lower;
mod parser;
mod parser_values;
mod patterns;
pub use patterns::compile as compile_pattern;
mod size;
mod syntax;
#[cfg(test)]
mod tests;
mod trouble;
mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use check::Checker;
pub use constants::{Comparison, Holds};
use error::Span;
pub use error::{CompileError, CompileErrorKind, EvaluationError, EvaluationErrorKind, Warning, WarningKind};
use functions::Function;
use lower::{Lowering, Reading};
pub use parser_values::RESERVED;
use syntax::Node;
pub use types::{FieldType, Type};

/// What a rule may cost. Past a limit there is an error, never a wrong answer.
///
/// ```
/// use kubefoundry_cel::{CompileErrorKind, Environment, Limits};
/// let limits = Limits { expression_bytes: 10, ..Limits::default() };
/// let errors = Environment::new(vec![], limits).compile("1 + 1 == 2 || false").unwrap_err();
/// assert_eq!(errors[0].kind, CompileErrorKind::TooLong);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one rule: 4096.
    pub expression_bytes: usize,
    /// Levels of the tree of a rule, and of the values that it reads: 32. A chain of `+` or of field accesses is as deep
    /// as it is long, `&&` and `||` are not, a macro is three levels. A level takes up to 48 KiB of stack without
    /// optimization, and 8 KiB with it.
    pub nesting: usize,
    /// Steps of one evaluation: 1,000,000, at most about 200 ns each. Each part of the rule that is evaluated, each
    /// element that is compared, and each 16 bytes of text that are read or written are one; four for each value that is
    /// read from the input. A loop pays for the largest element it could meet.
    pub steps: u64,
    /// Bytes of the strings and lists that one evaluation makes: 1 MiB.
    pub value_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { expression_bytes: 4096, nesting: 32, steps: 1_000_000, value_bytes: 1 << 20 }
    }
}

/// The variables that rules can read, and what rules may cost. Cheap to make.
///
/// ```
/// use kubefoundry_cel::{Environment, Limits, Type};
/// let environment = Environment::new(vec![("name", Type::String)], Limits::default());
/// let (rule, _) = environment.compile("name.startsWith('llama-')").unwrap();
/// assert_eq!(rule.evaluate(&serde_json::json!({"name": "llama-8b"})), Ok(true));
/// ```
#[derive(Debug, Clone)]
pub struct Environment {
    variables: Vec<(&'static str, Type)>,
    limits: Limits,
}

impl Environment {
    /// An environment with these variables.
    pub fn new(variables: Vec<(&'static str, Type)>, limits: Limits) -> Self {
        Self { variables, limits }
    }

    /// Parses and checks a rule.
    ///
    /// A warning says what could not be checked, or what can never be true. What can be known to be wrong is an error:
    ///
    /// ```
    /// use kubefoundry_cel::{CompileErrorKind, Environment, Limits, Type};
    /// let environment = Environment::new(vec![("replicas", Type::Int), ("any", Type::Dyn)], Limits::default());
    ///
    /// let errors = environment.compile("replicas > 1 && replicas.startsWith('a')").unwrap_err();
    /// assert_eq!(errors[0].kind, CompileErrorKind::TypeMismatch);
    /// assert_eq!(errors[0].offset, 16..24);
    /// assert_eq!(errors[0].message, "startsWith() takes strings, this is of type int");
    ///
    /// let (_, warnings) = environment.compile("any.tier == 'gold'").unwrap();
    /// assert_eq!(warnings[0].offset, 0..8);
    /// ```
    pub fn compile(&self, expression: &str) -> Result<(Rule, Vec<Warning>), Vec<CompileError>> {
        let bytes = expression.len();
        if bytes > self.limits.expression_bytes {
            let message =
                format!("the rule is {bytes} bytes long, longer than the {} allowed", self.limits.expression_bytes);
            let span = Span { start: 0, end: bytes };
            return Err(vec![CompileError::new(CompileErrorKind::TooLong, span, message)]);
        }
        let mut root = parser::parse(expression, self.limits.nesting).map_err(|error| vec![error])?;
        let mut checker = Checker::new(expression, &self.variables);
        checker.rule(&mut root);
        let Checker { mut errors, mut warnings, reads, patterns, .. } = checker;
        if !errors.is_empty() {
            errors.sort_by_key(|error| error.offset.start);
            return Err(errors);
        }
        warnings.sort_by_key(|warning| warning.offset.start);
        let mut lowering = Lowering::default();
        let expression = lowering.lower(&root);
        let Lowering { readings, functions, .. } = lowering;
        let (reads, patterns) = (reads.into_iter().collect(), Arc::new(patterns));
        Ok((Rule { root, expression, readings, functions, patterns, reads, limits: self.limits }, warnings))
    }
}

/// A compiled rule; made by [`Environment::compile`]. It can be shared between threads.
#[derive(Debug)]
pub struct Rule {
    root: Node,
    expression: cel::IdedExpr,
    /// The fields it reads, by the names they have in `expression`.
    readings: BTreeMap<String, Reading>,
    functions: BTreeSet<Function>,
    patterns: Arc<BTreeMap<String, regex::Regex>>,
    reads: Vec<String>,
    limits: Limits,
}

impl Rule {
    /// Whether the rule is true for an input: an object with one key for each variable, and of the declared types.
    /// Fields that are absent are left out, not null.
    ///
    /// A rule that has no value is an error, never false. Only `||` and `&&` hide the error of one part when the other
    /// part decides, as CEL has it:
    ///
    /// ```
    /// use kubefoundry_cel::{Environment, Limits, Type};
    /// let environment = Environment::new(vec![("args", Type::Map(&Type::String))], Limits::default());
    /// let (rule, _) = environment.compile("args.a == '1' || args.b == '2'").unwrap();
    /// assert_eq!(rule.evaluate(&serde_json::json!({"args": {"b": "2"}})), Ok(true));
    /// assert!(rule.evaluate(&serde_json::json!({"args": {"b": "3"}})).is_err());
    /// ```
    pub fn evaluate(&self, variables: &serde_json::Value) -> Result<bool, EvaluationError> {
        let mut left = u64::MAX;
        self.evaluate_within(variables, &mut left)
    }

    /// The same, for one of several evaluations that share their steps: those that it takes are taken out of `left`. With
    /// fewer left than it needs, it fails as if that were its limit, and none are left.
    ///
    /// ```
    /// use kubefoundry_cel::{Environment, EvaluationErrorKind, Limits};
    /// let (rule, _) = Environment::new(vec![], Limits::default()).compile("[1, 2, 3].all(x, x > 0)").unwrap();
    /// let mut left = 100;
    /// while rule.evaluate_within(&serde_json::json!({}), &mut left) == Ok(true) {}
    /// assert_eq!(left, 0);
    /// ```
    pub fn evaluate_within(&self, variables: &serde_json::Value, left: &mut u64) -> Result<bool, EvaluationError> {
        evaluate::evaluate(self, variables, left)
    }

    /// The fields that the rule reads, sorted, as [`FieldPath`](kubefoundry_yaml::field_path::FieldPath) writes them. A field is read
    /// with all that is below it; inputs that agree on these fields agree on the rule.
    pub fn reads(&self) -> &[String] {
        &self.reads
    }
}
