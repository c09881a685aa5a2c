//! Wire types: declaring, reading and describing objects as users write them.

mod condition;
mod facets;
mod macros;
mod objects;
mod path;
mod reader;
mod shape;

pub use condition::{Condition, ConditionStatus, Timestamp};
pub use facets::{Facet, Facets, Syntax};
pub use objects::{
    ConfigMapKeySelector, EnvVar, EnvVarSource, FieldSelector, FileKeySelector, LocalObjectReference, ObjectMeta,
    ResourceFieldSelector, SecretKeySelector, Toleration, metadata,
};
pub use path::{HasPath, ListPath, MapPath, PathOf, Pattern, ValuePath, typed_path};
pub use reader::{
    Argument, IntegerOrString, Map, Nullable, Read, Reader, StringEnum, read_string_enum, report_field_outside_group,
    report_unknown_field, report_wrong_type,
};
pub use shape::{Describe, EnumShape, FieldShape, ObjectShape, Shape};
