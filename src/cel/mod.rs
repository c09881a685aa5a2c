//! Selection rules: the conditions, written in CEL, under which a provider is chosen.
//!
//! A rule is checked against declared types when it is compiled, so that a typing error is found where the rule is
//! written and not when a model is deployed. Compiling and evaluating take bounded time and memory for any rule and
//! any input; see [`Limits`].
//!
//! This is the part of CEL that conditions on a `ModelDeployment` need, with the meaning it has in Kubernetes. It is
//! written here because the `cel` crate (0.13) cannot give what rules are promised: it forgets where expressions
//! stand, answers `false` for the fields of a string and for `!!true`, and copies the values that it reads, so that
//! `spec.env.all(x, size(spec.env) > 0)` over ten thousand elements takes eleven seconds. The tests hold both together
//! where that crate is right.
//!
//! ```
//! use kubefoundry::cel::{Environment, FieldType, Limits, Type};
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

mod bounded;
mod check;
mod check_calls;
mod check_paths;
mod error;
mod evaluate;
mod functions;
mod lexer;
mod operate;
mod parser;
mod parser_values;
mod syntax;
#[cfg(test)]
mod tests;
mod types;
mod value;

use bounded::Budget;
use check::Checker;
use error::Span;
pub use error::{CompileError, CompileErrorKind, EvaluationError, EvaluationErrorKind, Warning, WarningKind};
use evaluate::Evaluation;
use syntax::Node;
pub use types::{FieldType, Type};

/// What a rule may cost. Past a limit there is an error, never a wrong answer.
///
/// ```
/// use kubefoundry::cel::{CompileErrorKind, Environment, Limits};
/// let limits = Limits { expression_bytes: 10, ..Limits::default() };
/// let errors = Environment::new(vec![], limits).compile("1 + 1 == 2 || false").unwrap_err();
/// assert_eq!(errors[0].kind, CompileErrorKind::TooLong);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one rule: 4096.
    pub expression_bytes: usize,
    /// Levels of the tree of a rule, and of the values that `==` compares: 32. A chain of `+` or of field accesses is
    /// as deep as it is long, `&&` and `||` are not. A level takes up to 24 KiB of stack without optimization.
    pub nesting: usize,
    /// Steps of one evaluation: 1,000,000. Each part of the rule that is evaluated, each element that is compared, and
    /// each 16 bytes of text that are read or written are one.
    pub steps: u64,
    /// Bytes of the strings, lists and maps that one evaluation makes: 1 MiB.
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
/// use kubefoundry::cel::{Environment, Limits, Type};
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
    /// use kubefoundry::cel::{CompileErrorKind, Environment, Limits, Type};
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
        let Checker { mut errors, mut warnings, reads, .. } = checker;
        if !errors.is_empty() {
            errors.sort_by_key(|error| error.offset.start);
            return Err(errors);
        }
        warnings.sort_by_key(|warning| warning.offset.start);
        Ok((Rule { root, reads: reads.into_iter().collect(), limits: self.limits }, warnings))
    }
}

/// A compiled rule; made by [`Environment::compile`]. It can be shared between threads.
#[derive(Debug)]
pub struct Rule {
    root: Node,
    reads: Vec<String>,
    limits: Limits,
}

impl Rule {
    /// Whether the rule is true for an input: an object with one key for each variable, and of the declared types.
    /// Fields that are absent are left out, not null.
    ///
    /// A rule that has no value is an error, never false. Only `||`, `&&`, `exists` and `all` hide the error of one
    /// part when another part decides, as CEL has it:
    ///
    /// ```
    /// use kubefoundry::cel::{Environment, Limits, Type};
    /// let environment = Environment::new(vec![("args", Type::Map(&Type::String))], Limits::default());
    /// let (rule, _) = environment.compile("args.a == '1' || args.b == '2'").unwrap();
    /// assert_eq!(rule.evaluate(&serde_json::json!({"args": {"b": "2"}})), Ok(true));
    /// assert!(rule.evaluate(&serde_json::json!({"args": {"b": "3"}})).is_err());
    /// ```
    pub fn evaluate(&self, variables: &serde_json::Value) -> Result<bool, EvaluationError> {
        let mut evaluation = Evaluation { input: variables, locals: Vec::new(), budget: Budget::new(self.limits) };
        evaluation.rule(&self.root)
    }

    /// The fields that the rule reads, sorted, as [`FieldPath`](crate::path::FieldPath) writes them. A field is read
    /// with all that is below it; inputs that agree on these fields agree on the rule.
    pub fn reads(&self) -> &[String] {
        &self.reads
    }
}
