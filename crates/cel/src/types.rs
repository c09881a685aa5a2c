//! Declared types of variables and fields, and inferred types of expressions.

use std::fmt;

/// The declared type of a variable or field. It refers to other types by `'static` references, so that tables of types
/// can be `static` items.
///
/// ```
/// use kubefoundry_cel::{FieldType, Type};
/// static ENGINE: [FieldType; 2] = [
///     FieldType::required("type", Type::Enum(&["vllm", "sglang"])),
///     FieldType::optional("args", Type::Map(&Type::String)),
/// ];
/// static SPEC: [FieldType; 1] = [FieldType::required("engine", Type::Object(&ENGINE))];
/// assert_eq!(Type::Object(&SPEC).to_string(), "object");
/// assert_eq!(Type::Map(&Type::String).to_string(), "map(string, string)");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Type {
    /// `true` or `false`.
    Bool,
    /// A 64-bit signed integer.
    Int,
    /// A 64-bit floating-point number. A JSON integer is converted to one.
    Double,
    /// Text.
    String,
    /// Text with one of these values. Comparing it with any other value causes a warning.
    Enum(&'static [&'static str]),
    /// A list whose elements have this type.
    List(&'static Type),
    /// A map from strings to values of this type.
    Map(&'static Type),
    /// An object with these fields and no others.
    Object(&'static [FieldType]),
    /// Any value. Operations on it are checked during evaluation.
    Dyn,
}

/// A field of a [`Type::Object`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FieldType {
    /// The field's key in JSON.
    pub name: &'static str,
    /// The type of the value.
    pub ty: Type,
    /// Whether the field may be absent. A rule may read it without `has()`, which is an evaluation error if it is
    /// absent.
    pub optional: bool,
}

impl FieldType {
    /// Declares a field that is always present.
    pub const fn required(name: &'static str, ty: Type) -> Self {
        Self { name, ty, optional: false }
    }

    /// Declares a field that may be absent.
    pub const fn optional(name: &'static str, ty: Type) -> Self {
        Self { name, ty, optional: true }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        InferredType::from(*self).fmt(f)
    }
}

/// The type of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum InferredType {
    /// Compatible with every type. The expression has an error that was already reported, or no value exists, as for
    /// the elements of an empty list.
    Unknown,
    Null,
    Bool,
    Int,
    Double,
    String,
    Enum(&'static [&'static str]),
    List(Box<InferredType>),
    Map(Box<InferredType>, Box<InferredType>),
    Object(&'static [FieldType]),
    Dyn,
}

impl From<Type> for InferredType {
    fn from(declared: Type) -> Self {
        match declared {
            Type::Bool => Self::Bool,
            Type::Int => Self::Int,
            Type::Double => Self::Double,
            Type::String => Self::String,
            Type::Enum(values) => Self::Enum(values),
            Type::List(element) => Self::List(Box::new((*element).into())),
            Type::Map(value) => Self::Map(Box::new(Self::String), Box::new((*value).into())),
            Type::Object(fields) => Self::Object(fields),
            Type::Dyn => Self::Dyn,
        }
    }
}

impl fmt::Display for InferredType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown | Self::Dyn => f.write_str("dyn"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Double => f.write_str("double"),
            Self::String | Self::Enum(_) => f.write_str("string"),
            Self::List(element) => write!(f, "list({element})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Object(_) => f.write_str("object"),
        }
    }
}

impl InferredType {
    /// Returns whether the type cannot be checked, because it is not known or its error was already reported.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Dyn | Self::Unknown)
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::String | Self::Enum(_)) || self.is_open()
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Double)
    }

    /// Returns the common type of both types, if there is one.
    pub(super) fn unify(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Unknown, known) | (known, Self::Unknown) => Some(known.clone()),
            (Self::Dyn, _) | (_, Self::Dyn) => Some(Self::Dyn),
            (Self::Object(left), Self::Object(right)) => std::ptr::eq(*left, *right).then(|| self.clone()),
            (Self::Enum(left), Self::Enum(right)) if left == right => Some(self.clone()),
            (Self::String | Self::Enum(_), Self::String | Self::Enum(_)) => Some(Self::String),
            (Self::List(left), Self::List(right)) => Some(Self::List(Box::new(left.unify(right)?))),
            (Self::Map(key, value), Self::Map(other_key, other_value)) => {
                Some(Self::Map(Box::new(key.unify(other_key)?), Box::new(value.unify(other_value)?)))
            }
            _ => (self == other).then(|| self.clone()),
        }
    }

    /// Returns whether all values of the type have the same size.
    pub(super) fn is_scalar(&self) -> bool {
        matches!(self, Self::Null | Self::Bool | Self::Int | Self::Double)
    }
}
