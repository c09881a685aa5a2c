//! Errors and warnings of compiling and evaluating a rule.

use std::fmt;
use std::ops::Range;

use kubefoundry_yaml::text::{one_line, shorten};

/// The kind of a [`CompileError`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompileErrorKind {
    /// The rule is longer than [`Limits::expression_bytes`](super::Limits::expression_bytes).
    TooLong,
    /// The rule is nested deeper than [`Limits::nesting`](super::Limits::nesting).
    TooDeep,
    /// The text is not valid CEL.
    Parse,
    /// No variable has this name.
    UnknownIdentifier {
        /// A similar name that exists.
        suggestion: Option<String>,
    },
    /// The object has no such field.
    UnknownField {
        /// A similar name that exists.
        suggestion: Option<String>,
    },
    /// No function has this name.
    UnknownFunction {
        /// A similar name that exists.
        suggestion: Option<String>,
    },
    /// A function or macro is called with a wrong number or form of arguments.
    Arguments,
    /// An operator or function does not take a value of this type.
    TypeMismatch,
    /// The type of the whole rule is not bool.
    NotBoolean,
    /// A feature of CEL that selection rules do not support.
    Unsupported,
}

/// An error in a rule, with its position.
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
    /// The kind, for use in code.
    pub kind: CompileErrorKind,
    /// The message, on one line: what was found and what is expected.
    pub message: String,
    /// The byte range of the erroneous part of the expression.
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

/// The kind of a [`Warning`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WarningKind {
    /// The value has no declared type, so operations on it were not checked.
    Unchecked,
    /// The field never has the value with which it is compared.
    NeverEqual,
}

/// A suspicious part of a valid rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The kind, for use in code.
    pub kind: WarningKind,
    /// The message, on one line.
    pub message: String,
    /// The byte range of the part in the expression.
    pub offset: Range<usize>,
}

/// The kind of an [`EvaluationError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EvaluationErrorKind {
    /// The input lacks a declared variable.
    MissingVariable,
    /// An absent field or map key was read.
    NoSuchField,
    /// A list index is out of range.
    IndexOutOfRange,
    /// An integer does not fit into 64 bits.
    Overflow,
    /// Division or remainder by 0.
    DivisionByZero,
    /// A value of an undeclared type was used as another type.
    TypeMismatch,
    /// `int()`, `double()` or `bool()` of a value that cannot be converted.
    Conversion,
    /// A map has one key twice. Equal literal keys are a compile error. Equal computed keys are not detected yet.
    RepeatedKey,
    /// The evaluation needs more steps than [`Limits::steps`](super::Limits::steps).
    StepLimit,
    /// The evaluation needs more memory than [`Limits::value_bytes`](super::Limits::value_bytes).
    ValueLimit,
    /// The value of the rule is not `true` or `false`.
    NotBoolean,
}

/// A failed evaluation of a rule, with the position of the failing part.
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
    /// The kind, for use in code.
    pub kind: EvaluationErrorKind,
    /// The message, on one line.
    pub message: String,
    /// The byte range of the failing part. For a failure in the body of a macro it is the whole macro, except for an
    /// absent field.
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

    /// Returns the text in this range of `text`, shortened and on one line.
    pub(super) fn quote(self, text: &str) -> String {
        brief(text.get(self.range()).unwrap_or_default())
    }
}

/// Shortens a text and puts it on one line.
pub(super) fn brief(text: &str) -> String {
    one_line(&shorten(text))
}
