//! Objects as they are written: how a type of the input is declared, read and described.

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
pub use path::{ListPath, Located, MapPath, PathOf, Pattern, ValuePath, located_at};
pub use reader::{
    IntegerOrString, Map, Read, Reader, Word, read_word, refuse_absent_in_group, unknown_field, wrong_type,
};
pub use shape::{Describe, FieldShape, ObjectShape, Shape, WordsShape};
