//! Typed paths. [`wire_object!`](crate::wire_object) declares a path type for every object, with a method for each
//! field, so that a path to a field that does not exist does not compile.

use std::marker::PhantomData;
use std::ops::Deref;

use kubefoundry_diagnostics::FieldRef;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

use super::reader::{Argument, IntegerOrString, Map, Nullable};

/// A wire type with a path type.
///
/// ```
/// use kubefoundry_kubernetes::wire::EnvVar;
/// let source = EnvVar::path().value_from().secret_key_ref();
/// assert_eq!(source.key().to_string(), "valueFrom.secretKeyRef.key");
/// ```
pub trait HasPath {
    /// The type of a path to a value of this type.
    type Path: From<FieldPath>;
}

/// The type of the path of a `T`: `PathOf<EnvVar>` has a method for each field of an environment variable.
pub type PathOf<T> = <T as HasPath>::Path;

/// Converts the path of an object to a typed path, with a method for each field of `T`.
///
/// ```
/// use kubefoundry_kubernetes::wire::{EnvVar, typed_path};
/// use kubefoundry_yaml::field_path::FieldPath;
/// let variable = typed_path::<EnvVar>(&FieldPath::parse("env").index(0));
/// assert_eq!(variable.value_from().secret_key_ref().key().to_string(), "env[0].valueFrom.secretKeyRef.key");
/// ```
#[must_use]
pub fn typed_path<T: HasPath>(path: &FieldPath) -> T::Path {
    path.clone().into()
}

/// The path of a scalar, or of a value whose fields are not declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValuePath(FieldPath);

/// The path of a list. `P` is the path type of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPath<P>(FieldPath, PhantomData<fn() -> P>);

/// The path of a mapping with arbitrary keys. `P` is the path type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapPath<P>(FieldPath, PhantomData<fn() -> P>);

impl<P: From<FieldPath>> ListPath<P> {
    /// Returns the path of an item, counted from 0.
    #[must_use]
    pub fn index(self, index: usize) -> P {
        self.0.with_index(index).into()
    }
}

impl<P: From<FieldPath>> MapPath<P> {
    /// Returns the path of the value of a key.
    #[must_use]
    pub fn key(self, key: impl Into<std::borrow::Cow<'static, str>>) -> P {
        self.0.with_key(key).into()
    }
}

/// A path that can be shown as a pattern in tables of fields.
pub trait Pattern {
    /// Returns the path, with `*` for any key of a mapping and `[]` for any item of a list.
    ///
    /// ```
    /// use kubefoundry_kubernetes::wire::{ObjectMeta, Pattern as _};
    /// assert_eq!(ObjectMeta::path().name().pattern(), "name");
    /// assert_eq!(ObjectMeta::path().labels().pattern(), "labels.*");
    /// ```
    fn pattern(self) -> String;
}

impl Pattern for ValuePath {
    fn pattern(self) -> String {
        self.to_string()
    }
}

impl<P> Pattern for ListPath<P> {
    fn pattern(self) -> String {
        format!("{self}[]")
    }
}

impl<P> Pattern for MapPath<P> {
    fn pattern(self) -> String {
        format!("{self}.*")
    }
}

/// Implements the conversions between a path type and a [`FieldPath`].
macro_rules! impl_conversions {
    ($([$($generic:ident)?] $name:ty, $path:ident => $new:expr;)*) => {$(
        impl<$($generic)?> From<FieldPath> for $name {
            fn from($path: FieldPath) -> Self {
                $new
            }
        }
        impl<$($generic)?> From<$name> for FieldPath {
            fn from(path: $name) -> Self {
                path.0
            }
        }
        impl<$($generic)?> From<&$name> for FieldRef {
            fn from(path: &$name) -> Self {
                Self::value(&path.0)
            }
        }
        impl<$($generic)?> From<$name> for FieldRef {
            fn from(path: $name) -> Self {
                Self::value(&path.0)
            }
        }
        impl<$($generic)?> std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
        impl<$($generic)?> Deref for $name {
            type Target = FieldPath;

            fn deref(&self) -> &FieldPath {
                &self.0
            }
        }
    )*};
}

impl_conversions! {
    [] ValuePath, path => Self(path);
    [P] ListPath<P>, path => Self(path, PhantomData);
    [P] MapPath<P>, path => Self(path, PhantomData);
}

macro_rules! impl_value_path {
    ($($name:ty),*) => {$(impl HasPath for $name { type Path = ValuePath; })*};
}

impl_value_path! { String, Argument, bool, i32, i64, IntegerOrString, Node<'static> }

impl<T: HasPath> HasPath for Vec<T> {
    type Path = ListPath<T::Path>;
}

impl<T: HasPath> HasPath for Nullable<T> {
    type Path = T::Path;
}

impl<T: HasPath> HasPath for Map<T> {
    type Path = MapPath<T::Path>;
}
