//! Selection rules: conditions in CEL that decide whether a provider is selected.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.
//!
//! The compiler checks a rule against declared types, so that a typing error is found when the rule is written and not
//! when a model is deployed. Compilation and evaluation take bounded time and memory for any rule and any input; see
//! [`Limits`].
//!
//! This crate has its own parser and type checker because the `cel` crate (0.13) drops source positions and has no type
//! checker. It uses the `cel` crate only for evaluation, on an expression tree that it builds itself. It checks the
//! types of field access, literals, comparison, logic, `in`, `has`, `size`, string functions, conversions and macros
//! over typed values. It accepts other features of the `cel` crate with a warning: unsigned integers, byte strings,
//! `uint()`, `bytes()`, `max()`, `min()`, values of type `dyn`, and patterns of `matches()` that are not literals.
//!
//! The `cel` crate has no limits and copies many values, so evaluation is metered. A rule is charged in advance for the
//! parts that run once, and at the start of each iteration of a loop for its body. Both charges depend on the size of
//! the fields that are read. A string or list is charged when it is created. A rule that exceeds its budget has no
//! value, even if its remaining parts would make it true.
//!
//! Differences from Kubernetes:
//! - `all` and `exists` fail with the first element that fails, even if a later element decides the result;
//! - an int, a uint and a double are never equal if they have type `dyn`; compare with a value of the same type;
//! - in a macro, a field of a string or number of type `dyn` is `false`, not an error;
//! - two computed keys of a map literal that are equal are not an error, and the later entry wins;
//! - comparing with NaN by `<` is an error, and `int()` and `uint()` of a double just above their range return the
//!   maximum;
//! - ints and doubles are compared as doubles, so that adjacent integers beyond 2^53 may compare as equal;
//! - negating a `dyn`, `string()` of a bool, optional values, timestamps, durations, named types and the libraries of
//!   Kubernetes (quantity, url, ip, semver, lists, …) are compile errors.
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
mod comparisons;
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
mod evaluation_errors;
mod size;
mod syntax;
#[cfg(test)]
mod tests;
mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use check::Checker;
pub use comparisons::{Comparison, FieldDomain};
use error::Span;
pub use error::{CompileError, CompileErrorKind, EvaluationError, EvaluationErrorKind, Warning, WarningKind};
use functions::Function;
use lower::{InputField, Lowering};
pub use parser_values::RESERVED;
use syntax::Node;
pub use types::{FieldType, Type};

/// The limits of a rule. Exceeding one is an error and never changes the result.
///
/// ```
/// use kubefoundry_cel::{CompileErrorKind, Environment, Limits};
/// let limits = Limits { expression_bytes: 10, ..Limits::default() };
/// let errors = Environment::new(vec![], limits).compile("1 + 1 == 2 || false").unwrap_err();
/// assert_eq!(errors[0].kind, CompileErrorKind::TooLong);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of a rule, in bytes. Default: 4096.
    pub expression_bytes: usize,
    /// Maximum depth of a rule's tree, and of the values that it reads. Default: 32.
    ///
    /// Each `+` or field access of a chain adds a level. A chain of `&&` or `||` adds one level in total, and a macro
    /// adds three. A level takes up to 48 KiB of stack in debug builds and 8 KiB in release builds.
    pub nesting: usize,
    /// Maximum number of steps of one evaluation. Default: 1,000,000, at most about 200 ns each.
    ///
    /// One step is charged for each evaluated node, each compared element and each 16 bytes of text that are read or
    /// written; four for each value that is read from the input. A loop is charged for the largest element that it
    /// could meet.
    pub steps: u64,
    /// Maximum total size, in bytes, of the strings and lists that one evaluation creates. Default: 1 MiB.
    pub value_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { expression_bytes: 4096, nesting: 32, steps: 1_000_000, value_bytes: 1 << 20 }
    }
}

/// The variables that rules can read, and the limits of rules. It is cheap to create.
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
    /// Creates an environment with these variables.
    pub fn new(variables: Vec<(&'static str, Type)>, limits: Limits) -> Self {
        Self { variables, limits }
    }

    /// Parses and checks a rule.
    ///
    /// Warnings name parts that could not be checked and comparisons that are never true. Everything that is certainly
    /// wrong is an error:
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
        checker.check_rule(&mut root);
        let Checker { mut errors, mut warnings, reads, patterns, .. } = checker;
        if !errors.is_empty() {
            errors.sort_by_key(|error| error.offset.start);
            return Err(errors);
        }
        warnings.sort_by_key(|warning| warning.offset.start);
        let mut lowering = Lowering::default();
        let expression = lowering.lower(&root);
        let Lowering { input_fields, functions, .. } = lowering;
        let (reads, patterns) = (reads.into_iter().collect(), Arc::new(patterns));
        Ok((Rule { root, expression, input_fields, functions, patterns, reads, limits: self.limits }, warnings))
    }
}

/// A compiled rule, created by [`Environment::compile`]. It can be shared between threads.
#[derive(Debug)]
pub struct Rule {
    root: Node,
    expression: cel::IdedExpr,
    /// The fields of the input that the rule reads, by their variable names in `expression`.
    input_fields: BTreeMap<String, InputField>,
    functions: BTreeSet<Function>,
    patterns: Arc<BTreeMap<String, regex::Regex>>,
    reads: Vec<String>,
    limits: Limits,
}

impl Rule {
    /// Evaluates the rule for an input: an object with one key for each variable, with values of the declared types.
    /// Absent fields must be omitted, not null.
    ///
    /// A rule that fails is an error, never false. As CEL specifies, `||` and `&&` ignore an error of one operand if
    /// the other operand decides the result:
    ///
    /// ```
    /// use kubefoundry_cel::{Environment, Limits, Type};
    /// let environment = Environment::new(vec![("args", Type::Map(&Type::String))], Limits::default());
    /// let (rule, _) = environment.compile("args.a == '1' || args.b == '2'").unwrap();
    /// assert_eq!(rule.evaluate(&serde_json::json!({"args": {"b": "2"}})), Ok(true));
    /// assert!(rule.evaluate(&serde_json::json!({"args": {"b": "3"}})).is_err());
    /// ```
    pub fn evaluate(&self, variables: &serde_json::Value) -> Result<bool, EvaluationError> {
        let mut remaining = u64::MAX;
        self.evaluate_within(variables, &mut remaining)
    }

    /// Evaluates the rule on a step budget that several evaluations share. It subtracts the steps it takes from
    /// `remaining`. If `remaining` is too small, the evaluation fails with [`EvaluationErrorKind::StepLimit`] and sets
    /// it to 0.
    ///
    /// ```
    /// use kubefoundry_cel::{Environment, EvaluationErrorKind, Limits};
    /// let (rule, _) = Environment::new(vec![], Limits::default()).compile("[1, 2, 3].all(x, x > 0)").unwrap();
    /// let mut remaining = 100;
    /// while rule.evaluate_within(&serde_json::json!({}), &mut remaining) == Ok(true) {}
    /// assert_eq!(remaining, 0);
    /// ```
    pub fn evaluate_within(&self, variables: &serde_json::Value, remaining: &mut u64) -> Result<bool, EvaluationError> {
        evaluate::evaluate(self, variables, &BTreeSet::new(), remaining)
    }

    /// Evaluates the rule like [`Self::evaluate_within`]. `unwritten` holds the paths of fields that have a value in
    /// `variables` but for which `has()` is false, in the syntax of [`Self::reads`].
    ///
    /// ```
    /// use kubefoundry_cel::{Environment, FieldType, Limits, Type};
    /// use serde_json::json;
    /// static SPEC: [FieldType; 1] = [FieldType::required("replicas", Type::Int)];
    /// let environment = Environment::new(vec![("spec", Type::Object(&SPEC))], Limits::default());
    /// let (rule, _) = environment.compile("!has(spec.replicas) && spec.replicas == 1").unwrap();
    /// let variables = json!({"spec": {"replicas": 1}});
    /// let unwritten = ["spec.replicas".to_owned()].into();
    /// assert_eq!(rule.evaluate_with_unwritten(&variables, &unwritten, &mut 1000), Ok(true));
    /// assert_eq!(rule.evaluate(&variables), Ok(false));
    /// ```
    pub fn evaluate_with_unwritten(
        &self,
        variables: &serde_json::Value,
        unwritten: &BTreeSet<String>,
        remaining: &mut u64,
    ) -> Result<bool, EvaluationError> {
        evaluate::evaluate(self, variables, unwritten, remaining)
    }

    /// Returns the fields that the rule reads, sorted, in the syntax of
    /// [`FieldPath`](kubefoundry_yaml::field_path::FieldPath). Each stands for the whole value below it. Two inputs
    /// with equal values in these fields have the same result.
    pub fn reads(&self) -> &[String] {
        &self.reads
    }
}
