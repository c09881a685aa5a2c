//! What wire types look like, as data: [`wire_object!`] and [`string_enum!`] make it from the very declaration that they make
//! the reader from, so that a schema cannot say something else than the reader does. `cargo xtask generate` writes the
//! schemas from it; nothing here is used while reading.
//!
//! [`wire_object!`]: crate::wire_object
//! [`string_enum!`]: crate::string_enum

use super::facets::{Facet, Facets};
use super::reader::{IntegerOrString, Map};
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

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

impl ObjectShape {
    /// Whether the reader checks that a field is there.
    #[must_use]
    pub const fn has_required_fields(&self) -> bool {
        let mut rest = self.fields;
        while let [field, after @ ..] = rest {
            if field.facets.is_read(Facet::Required) {
                return true;
            }
            rest = after;
        }
        false
    }

    /// The fields, at any depth, that an API group does not have: their paths, without the indexes of lists.
    pub fn absent_in(&self, group: &str) -> Vec<FieldPath> {
        let mut absent = Vec::new();
        self.add_absent(group, &FieldPath::root(), &mut absent);
        absent
    }

    fn add_absent(&self, group: &str, path: &FieldPath, absent: &mut Vec<FieldPath>) {
        for field in self.fields {
            let at = path.key(field.key);
            if field.facets.not_in.contains(&group) {
                absent.push(at);
            } else if let Some(object) = field.full_shape().object() {
                object.add_absent(group, &at, absent);
            }
        }
    }

    /// The field at a path, at any depth.
    pub fn field_at(&self, path: &FieldPath) -> Option<&'static FieldShape> {
        let mut keys = path.segments().iter().filter_map(Segment::as_key);
        let mut field = self.field(keys.next()?)?;
        for key in keys {
            field = field.full_shape().object()?.field(key)?;
        }
        Some(field)
    }

    /// The field with a key.
    pub fn field(&self, key: &str) -> Option<&'static FieldShape> {
        self.fields.iter().find(|field| field.key == key)
    }
}

impl Shape {
    /// The object that a value is, or that the items of a list or the values of a mapping are.
    pub fn object(&self) -> Option<&'static ObjectShape> {
        match self {
            Self::Object(object) => Some(object),
            Self::List(items) | Self::Map(items) => items.object(),
            Self::OneOf(shapes) => shapes.iter().find_map(Self::object),
            _ => None,
        }
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
