//! Descriptions of wire types as data. [`wire_object!`] and [`string_enum!`] derive them from the same declaration as
//! the reader, so that a schema cannot contradict the reader. `cargo xtask generate` writes the schemas from them. Only
//! facets are also used while reading.
//!
//! [`wire_object!`]: crate::wire_object
//! [`string_enum!`]: crate::string_enum

use super::facets::{Facet, Facets};
use super::reader::{Argument, IntegerOrString, Map, Nullable};
use crate::api_group::ApiGroup;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// A type that describes the shape of its values.
///
/// ```
/// use kubefoundry_kubernetes::wire::{Describe as _, Shape};
/// kubefoundry_kubernetes::wire_object! {
///     /// GPUs of one worker.
///     struct Gpu {
///         /// The number of GPUs.
///         count: i32 = "count" [minimum(0)],
///     }
/// }
/// let Shape::Object(gpu) = Gpu::SHAPE else { panic!("an object") };
/// assert_eq!(gpu.fields[0].key, "count");
/// assert_eq!(gpu.fields[0].facets.minimum, Some(0));
/// assert!(gpu.fields[0].doc.contains("GPUs"));
/// ```
pub trait Describe {
    /// The shape of a value.
    const SHAPE: Shape;
}

/// The shape of a value.
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
    /// A signed integer of the given number of bits.
    Integer(u32),
    /// Text, or an integer that is read as text.
    IntegerOrString,
    /// A constant, as JSON text.
    Literal(&'static str),
    /// A list of values of one shape.
    List(&'static Shape),
    /// A mapping with arbitrary keys and values of one shape.
    Map(&'static Shape),
    /// A mapping with declared fields.
    Object(&'static ObjectShape),
    /// One of a fixed set of strings.
    Enum(&'static EnumShape),
    /// One of several shapes, distinguished by their JSON types.
    OneOf(&'static [Shape]),
}

/// A mapping with declared fields.
#[derive(Debug, Clone, Copy)]
pub struct ObjectShape {
    /// The name of the Rust type.
    pub name: &'static str,
    /// The documentation of the Rust type, with its line breaks.
    pub doc: &'static str,
    /// The fields, in order of declaration.
    pub fields: &'static [FieldShape],
}

/// A field of a mapping.
#[derive(Debug, Clone, Copy)]
pub struct FieldShape {
    /// The key in YAML.
    pub key: &'static str,
    /// The documentation, with its line breaks.
    pub doc: &'static str,
    /// The shape of the value as it is read.
    pub shape: Shape,
    /// Constraints and other facts about the value.
    pub facets: Facets,
}

/// A fixed set of strings.
#[derive(Debug, Clone, Copy)]
pub struct EnumShape {
    /// The name of the Rust type.
    pub name: &'static str,
    /// The documentation of the Rust type, with its line breaks.
    pub doc: &'static str,
    /// Every string with its documentation.
    pub values: &'static [(&'static str, &'static str)],
}

impl ObjectShape {
    /// Returns whether any field is required and the reader checks it.
    #[must_use]
    pub const fn has_required_fields(&self) -> bool {
        let mut rest = self.fields;
        while let [field, after @ ..] = rest {
            if field.facets.is_checked_by_reader(Facet::Required) {
                return true;
            }
            rest = after;
        }
        false
    }

    /// Returns the keys of the fields that exist in an API group, or of all fields if the group does not matter.
    pub fn keys_in(&self, api_group: Option<&ApiGroup>) -> impl Iterator<Item = &'static str> + use<> {
        let group = api_group.map(|api_group| api_group.name);
        let fields = self.fields.iter();
        fields
            .filter(move |field| group.is_none_or(|group| !field.facets.not_in.contains(&group)))
            .map(|field| field.key)
    }

    /// Returns the paths of the fields, at any depth, that do not exist in an API group. The paths have no list
    /// indexes.
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

    /// Returns the field at a path, at any depth. List indexes are ignored.
    pub fn field_at(&self, path: &FieldPath) -> Option<&'static FieldShape> {
        let mut keys = path.segments().iter().filter_map(Segment::as_key);
        let mut field = self.field(keys.next()?)?;
        for key in keys {
            field = field.full_shape().object()?.field(key)?;
        }
        Some(field)
    }

    /// Returns the field with a key.
    pub fn field(&self, key: &str) -> Option<&'static FieldShape> {
        self.fields.iter().find(|field| field.key == key)
    }
}

impl Shape {
    /// Returns the shape of the object that a value is, or of the items of a list or the values of a mapping.
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
    /// Returns the shape of the value, including that of a value which the reader keeps as a [`Node`].
    pub fn full_shape(&self) -> Shape {
        self.facets.shape.unwrap_or(self.shape)
    }
}

impl Describe for String {
    const SHAPE: Shape = Shape::String;
}
impl Describe for Argument {
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
impl<T: Describe> Describe for Nullable<T> {
    const SHAPE: Shape = Shape::OneOf(&[T::SHAPE, Shape::Literal("null")]);
}
impl<T: Describe> Describe for Map<T> {
    const SHAPE: Shape = Shape::Map(&T::SHAPE);
}
