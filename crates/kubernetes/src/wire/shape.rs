//! What wire types look like, as data: [`wire_object!`] and [`string_enum!`] make it from the very declaration that they make
//! the reader from, so that a schema cannot say something else than the reader does. `cargo xtask generate` writes the
//! schemas from it; nothing here is used while reading.
//!
//! [`wire_object!`]: crate::wire_object
//! [`string_enum!`]: crate::string_enum

use super::reader::{IntegerOrString, Map};
use kubefoundry_yaml::Node;

/// A type that can say what it looks like.
///
/// ```
/// use kubefoundry_kubernetes::wire::{Describe as _, Shape};
/// kubefoundry_kubernetes::wire_object! {
///     /// GPUs of one worker.
///     struct Gpu {
///         /// How many GPUs a worker has.
///         count: i32 = "count" [minimum(0)],
///     }
/// }
/// let Shape::Object(gpu) = Gpu::SHAPE else { panic!("an object") };
/// assert_eq!(gpu.fields[0].key, "count");
/// assert_eq!(gpu.fields[0].facets.minimum, Some(0));
/// assert!(gpu.fields[0].doc.contains("GPUs"));
/// ```
pub trait Describe {
    /// What a value looks like.
    const SHAPE: Shape;
}

/// What a value looks like.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Any value.
    Any,
    /// Text.
    String,
    /// A time as RFC 3339.
    Timestamp,
    /// `true` or `false`.
    Boolean,
    /// A whole number of so many bits, with a sign.
    Integer(u32),
    /// Text, or a whole number that stands for it.
    IntegerOrString,
    /// One value, as JSON text.
    Literal(&'static str),
    /// A list of values of one shape.
    List(&'static Shape),
    /// A mapping with free keys and values of one shape.
    Map(&'static Shape),
    /// A mapping with these fields.
    Object(&'static ObjectShape),
    /// One of these words.
    Words(&'static WordsShape),
    /// One of several shapes, told apart by their types.
    OneOf(&'static [Shape]),
}

/// A mapping with known fields.
#[derive(Debug, Clone, Copy)]
pub struct ObjectShape {
    /// The Rust type's name.
    pub name: &'static str,
    /// The Rust type's documentation, line by line as it was written.
    pub doc: &'static str,
    /// The fields, in the order in which they are declared.
    pub fields: &'static [FieldShape],
}

/// A field of a mapping.
#[derive(Debug, Clone, Copy)]
pub struct FieldShape {
    /// Its key in YAML.
    pub key: &'static str,
    /// Its documentation, line by line as it was written.
    pub doc: &'static str,
    /// What its value looks like.
    pub shape: Shape,
    /// What else is known of its value.
    pub facets: Facets,
}

/// A closed set of words.
#[derive(Debug, Clone, Copy)]
pub struct WordsShape {
    /// The Rust type's name.
    pub name: &'static str,
    /// The Rust type's documentation, line by line as it was written.
    pub doc: &'static str,
    /// Every word with its documentation.
    pub words: &'static [(&'static str, &'static str)],
}

/// What a text must look like: what the checks of `model::validate` and of the providers ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Syntax {
    /// A DNS-1123 label.
    DnsLabel,
    /// A DNS-1123 subdomain.
    DnsSubdomain,
    /// A quantity above zero.
    Quantity,
    /// An extended resource, such as `nvidia.com/gpu`.
    ExtendedResource,
    /// A container image reference.
    Image,
    /// The name of an environment variable.
    EnvironmentVariable,
    /// A key of a ConfigMap or a Secret.
    ConfigKey,
    /// The key of a label.
    LabelKey,
    /// An instance type of a cloud provider, such as `g5.4xlarge`.
    InstanceType,
    /// A version of three numbers.
    Version,
}

/// What is known of a field's value besides its shape.
#[derive(Debug, Clone, Copy)]
pub struct Facets {
    /// Whether every object must have the field, whatever else it says.
    pub required: bool,
    /// What an absent field means, as JSON text, where that can be written into the object without changing what it
    /// becomes.
    pub default: Option<&'static str>,
    /// The least number.
    pub minimum: Option<i64>,
    /// The most characters of a text, far above what any may have. A cluster needs it to tell what its rules cost.
    pub max_length: Option<usize>,
    /// The most entries of a list.
    pub max_items: Option<usize>,
    /// The field of a list's entries that tells them apart.
    pub list_key: Option<&'static str>,
    /// What a text must look like. An empty text means an absent one.
    pub syntax: Option<Syntax>,
    /// The words that a text must be one of. An empty text means an absent one.
    pub words: Option<&'static [&'static str]>,
    /// The shape of a value that is kept as it is while reading.
    pub shape: Option<Shape>,
}

impl Facets {
    /// Nothing is known.
    pub const NONE: Self = Self {
        required: false,
        default: None,
        minimum: None,
        max_length: None,
        max_items: None,
        list_key: None,
        syntax: None,
        words: None,
        shape: None,
    };

    /// Every object must have the field.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// What an absent field means, as JSON text.
    #[must_use]
    pub const fn default(self, json: &'static str) -> Self {
        Self { default: Some(json), ..self }
    }

    /// The least number.
    #[must_use]
    pub const fn minimum(self, minimum: i64) -> Self {
        Self { minimum: Some(minimum), ..self }
    }

    /// The most characters of a text, far above what any may have.
    #[must_use]
    pub const fn max_length(self, most: usize) -> Self {
        Self { max_length: Some(most), ..self }
    }

    /// The most entries of a list.
    #[must_use]
    pub const fn max_items(self, most: usize) -> Self {
        Self { max_items: Some(most), ..self }
    }

    /// The field of a list's entries that tells them apart.
    #[must_use]
    pub const fn list_key(self, field: &'static str) -> Self {
        Self { list_key: Some(field), ..self }
    }

    /// What a text must look like.
    #[must_use]
    pub const fn syntax(self, syntax: Syntax) -> Self {
        Self { syntax: Some(syntax), ..self }
    }

    /// The words that a text must be one of.
    #[must_use]
    pub const fn words(self, words: &'static [&'static str]) -> Self {
        Self { words: Some(words), ..self }
    }

    /// The shape of a value that is kept as it is while reading.
    #[must_use]
    pub const fn shape(self, shape: Shape) -> Self {
        Self { shape: Some(shape), ..self }
    }
}

impl FieldShape {
    /// What the field's value looks like, also where it is kept as it is while reading.
    pub fn full_shape(&self) -> Shape {
        self.facets.shape.unwrap_or(self.shape)
    }
}

impl Describe for String {
    const SHAPE: Shape = Shape::String;
}
impl Describe for bool {
    const SHAPE: Shape = Shape::Boolean;
}
impl Describe for i32 {
    const SHAPE: Shape = Shape::Integer(32);
}
impl Describe for i64 {
    const SHAPE: Shape = Shape::Integer(64);
}
impl Describe for IntegerOrString {
    const SHAPE: Shape = Shape::IntegerOrString;
}
impl Describe for Node<'static> {
    const SHAPE: Shape = Shape::Any;
}
impl<T: Describe> Describe for Vec<T> {
    const SHAPE: Shape = Shape::List(&T::SHAPE);
}
impl<T: Describe> Describe for Map<T> {
    const SHAPE: Shape = Shape::Map(&T::SHAPE);
}
