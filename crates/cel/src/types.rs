//! The types of what a rule can read.

use std::fmt;

/// The declared type of a variable or field. Made to live in `static` tables.
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
    /// A 64-bit floating point number; a JSON integer is taken as one.
    Double,
    /// Text.
    String,
    /// Text that has one of these values; comparing it with another one is worth a warning.
    Enum(&'static [&'static str]),
    /// A list whose elements have this type.
    List(&'static Type),
    /// A map from strings to values of this type.
    Map(&'static Type),
    /// An object with these fields and no others.
    Object(&'static [FieldType]),
    /// Anything; what is done with it is checked while a rule runs.
    Dyn,
}

/// A field of a [`Type::Object`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FieldType {
    /// The name in JSON.
    pub name: &'static str,
    /// The type of its value.
    pub ty: Type,
    /// Whether it may be absent. Reading it without `has()` is allowed, and an evaluation error if it is.
    pub optional: bool,
}

impl FieldType {
    /// A field that is always there.
    pub const fn required(name: &'static str, ty: Type) -> Self {
        Self { name, ty, optional: false }
    }

    /// A field that may be absent.
    pub const fn optional(name: &'static str, ty: Type) -> Self {
        Self { name, ty, optional: true }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Inferred::from(*self).fmt(f)
    }
}

/// The type of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Inferred {
    /// Fits everywhere: an error was reported already, or there is no value, as in an empty list.
    Unknown,
    Null,
    Bool,
    Int,
    Double,
    String,
    Enum(&'static [&'static str]),
    List(Box<Inferred>),
    Map(Box<Inferred>, Box<Inferred>),
    Object(&'static [FieldType]),
    Dyn,
}

impl From<Type> for Inferred {
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

impl fmt::Display for Inferred {
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

impl Inferred {
    /// Whether nothing can be checked: the type is not known, or its error is already reported.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Dyn | Self::Unknown)
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::String | Self::Enum(_)) || self.is_open()
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Double)
    }

    /// The type that both have, if there is one.
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

    /// Whether its values have one size, whatever they are.
    pub(super) fn is_scalar(&self) -> bool {
        matches!(self, Self::Null | Self::Bool | Self::Int | Self::Double)
    }
}
