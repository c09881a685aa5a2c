//! What can be wrong with a rule, before and while it runs.

use std::fmt;
use std::ops::Range;

use kubefoundry_yaml::text::{one_line, shorten};

/// Why a rule was refused; the message of [`CompileError`] says it in words.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompileErrorKind {
    /// Longer than [`Limits::expression_bytes`](super::Limits::expression_bytes).
    TooLong,
    /// Nested deeper than [`Limits::nesting`](super::Limits::nesting).
    TooDeep,
    /// Not CEL.
    Parse,
    /// No variable has this name.
    UnknownIdentifier {
        /// What was probably meant.
        suggestion: Option<String>,
    },
    /// The object has no such field.
    UnknownField {
        /// What was probably meant.
        suggestion: Option<String>,
    },
    /// No function has this name.
    UnknownFunction {
        /// What was probably meant.
        suggestion: Option<String>,
    },
    /// A function or macro is called with the wrong number or form of arguments.
    Arguments,
    /// An operator or function does not take a value of this type.
    TypeMismatch,
    /// The rule as a whole is not `true` or `false`.
    NotBoolean,
    /// CEL has it, selection rules do not.
    Unsupported,
}

/// Why a rule cannot be used, and where.
///
/// ```
/// use kubefoundry_cel::{CompileErrorKind, Environment, Limits, Type};
/// let environment = Environment::new(vec![("replicas", Type::Int)], Limits::default());
/// let errors = environment.compile("replica > 1").unwrap_err();
/// assert_eq!(errors[0].offset, 0..7);
/// assert_eq!(errors[0].message, "unknown name `replica`; did you mean `replicas`?");
/// let suggestion = Some("replicas".to_owned());
/// assert_eq!(errors[0].kind, CompileErrorKind::UnknownIdentifier { suggestion });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileError {
    /// The kind, for code.
    pub kind: CompileErrorKind,
    /// One line for people: what was found and what is expected.
    pub message: String,
    /// The bytes of the expression that are at fault.
    pub offset: Range<usize>,
}

impl CompileError {
    pub(super) fn new(kind: CompileErrorKind, span: Span, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), offset: span.range() }
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CompileError {}

/// What a [`Warning`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WarningKind {
    /// The value has no declared type, so what is done with it was not statically checked.
    Unchecked,
    /// A comparison with a value that the field never has.
    NeverEqual,
}

/// Something in an accepted rule that deserves a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The kind, for code.
    pub kind: WarningKind,
    /// One line for people.
    pub message: String,
    /// The bytes of the expression that it is about.
    pub offset: Range<usize>,
}

/// Why a rule has no value for this input; the message of [`EvaluationError`] says it in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EvaluationErrorKind {
    /// A declared variable was not given.
    MissingVariable,
    /// An absent field or map key was read.
    NoSuchField,
    /// A list index lies outside of the list.
    IndexOutOfRange,
    /// An integer does not fit into 64 bits.
    Overflow,
    /// Division or remainder by 0.
    DivisionByZero,
    /// A value of an undeclared type was used as another type.
    TypeMismatch,
    /// `int()`, `double()` or `bool()` of a value that cannot be converted.
    Conversion,
    /// A map that has one key twice. Keys that are written out twice are refused when the rule is compiled, and others
    /// are not found yet.
    RepeatedKey,
    /// More steps than [`Limits::steps`](super::Limits::steps).
    StepLimit,
    /// More memory than [`Limits::value_bytes`](super::Limits::value_bytes).
    ValueLimit,
    /// The value of the rule is not `true` or `false`.
    NotBoolean,
}

/// Why a rule is neither true nor false for an input.
///
/// ```
/// use kubefoundry_cel::{Environment, EvaluationErrorKind, Limits, Type};
/// let environment = Environment::new(vec![("args", Type::Map(&Type::String))], Limits::default());
/// let (rule, _) = environment.compile("args['quantization'] == 'fp8'").unwrap();
/// let error = rule.evaluate(&serde_json::json!({"args": {}})).unwrap_err();
/// assert_eq!(error.kind, EvaluationErrorKind::NoSuchField);
/// assert_eq!(error.message, "no such key: \"quantization\"");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluationError {
    /// The kind, for code.
    pub kind: EvaluationErrorKind,
    /// One line for people.
    pub message: String,
    /// The bytes of the expression that failed; of a failure inside a macro, the macro, unless a field was absent.
    pub offset: Range<usize>,
}

impl EvaluationError {
    pub(super) fn new(kind: EvaluationErrorKind, span: Span, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), offset: span.range() }
    }
}

impl fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for EvaluationError {}

/// A byte range of the expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Span {
    pub(super) fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// The text below the span, shortened and on one line.
    pub(super) fn quote(self, text: &str) -> String {
        brief(text.get(self.range()).unwrap_or_default())
    }
}

/// `text` shortened and on one line.
pub(super) fn brief(text: &str) -> String {
    one_line(&shorten(text))
}
