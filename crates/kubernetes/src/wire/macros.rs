//! Macros that declare wire types. From a table of fields or strings they generate the type, its reader and its
//! description.

/// Declares a wire object: a struct whose fields are all `Option`, with its field names, reader and description.
/// Editors show the documentation of types and fields. Brackets after a key hold calls of the methods of
/// [`Facets`](crate::wire::Facets): `replicas: i32 = "replicas" [minimum(0)]`.
#[macro_export]
macro_rules! wire_object {
    (
        $(#[doc = $doc:literal])*
        $vis:vis struct $name:ident {
            $($(#[doc = $field_doc:literal])* $field:ident: $ty:ty = $key:literal $([$($facet:ident($($facet_value:expr)?)),*])?),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Default, PartialEq)]
        $vis struct $name { $($(#[doc = $field_doc])* pub $field: Option<$ty>),* }

        impl $name {
            /// The keys of the fields in YAML.
            pub const FIELDS: &'static [&'static str] = &[$($key),*];

            /// Reads the object except for the known fields `elsewhere`, which other code reads.
            pub fn read_except(
                node: &$crate::__private::Node<'_>,
                path: &$crate::__private::FieldPath,
                elsewhere: &[&'static str],
                reader: &mut $crate::wire::Reader<'_, '_>,
            ) -> Option<Self> {
                let $crate::__private::Value::Mapping(entries) = &node.value else {
                    $crate::wire::report_wrong_type(node, path, <Self as $crate::wire::Read>::EXPECTED, reader);
                    return None;
                };
                let mut object = Self::default();
                for entry in entries {
                    match entry.key.as_ref() {
                        $($key => {
                            #[allow(unused_imports, reason = "few facets name a shape")]
                            use $crate::wire::Describe as _;
                            const FACETS: $crate::wire::Facets =
                                $crate::wire::Facets::NONE $($(.$facet($($facet_value)?))*)?;
                            if entry.node.value != $crate::__private::Value::Null {
                                let at = path.key($key);
                                if const { !FACETS.not_in.is_empty() } {
                                    $crate::wire::report_field_outside_group(&FACETS, &at, reader);
                                }
                                if !const { FACETS.has_reader_checks() }
                                    || $crate::check::facets::check_value(&FACETS, &entry.node, &at, reader)
                                {
                                    object.$field = $crate::wire::Read::read(&entry.node, &at, reader);
                                }
                            }
                        })*
                        key if elsewhere.contains(&key) => {}
                        key => {
                            let known = Self::OBJECT.keys_in(reader.api_group).chain(elsewhere.iter().copied());
                            $crate::wire::report_unknown_field(node, key, path, &known.collect::<Vec<_>>(), reader);
                        }
                    }
                }
                if const { Self::OBJECT.has_required_fields() } {
                    $crate::check::facets::check_required(&Self::OBJECT, node, path, reader);
                }
                Some(object)
            }

            const OBJECT: $crate::wire::ObjectShape = $crate::wire::ObjectShape {
                name: stringify!($name),
                doc: concat!($($doc, "\n"),*),
                fields: &[$($crate::wire::FieldShape {
                    key: $key,
                    doc: concat!($($field_doc, "\n"),*),
                    shape: <$ty as $crate::wire::Describe>::SHAPE,
                    facets: {
                        #[allow(unused_imports, reason = "few facets name a shape")]
                        use $crate::wire::Describe as _;
                        $crate::wire::Facets::NONE $($(.$facet($($facet_value)?))*)?
                    },
                }),*],
            };
        }

        impl $crate::wire::Describe for $name {
            const SHAPE: $crate::wire::Shape = $crate::wire::Shape::Object(&Self::OBJECT);
        }

        // The type is anonymous: code gets one from `path()` or from the methods of other paths.
        const _: () = {
            /// The path of an object.
            #[derive(Debug, Clone, PartialEq, Eq)]
            $vis struct Path($crate::__private::FieldPath);

            impl $name {
                /// Returns the root path, for an object that is a whole document.
                #[allow(dead_code, reason = "few objects are documents")]
                #[must_use]
                $vis fn path() -> Path {
                    Path($crate::__private::FieldPath::root())
                }
            }

            #[allow(dead_code, reason = "a path exists for every field")]
            impl Path {
                $($(#[doc = $field_doc])*
                #[must_use]
                $vis fn $field(self) -> <$ty as $crate::wire::HasPath>::Path {
                    self.0.with_key($key).into()
                })*
            }

            impl $crate::wire::HasPath for $name {
                type Path = Path;
            }

            impl From<$crate::__private::FieldPath> for Path {
                fn from(path: $crate::__private::FieldPath) -> Self {
                    Self(path)
                }
            }

            impl From<Path> for $crate::__private::FieldPath {
                fn from(path: Path) -> Self {
                    path.0
                }
            }

            impl From<&Path> for $crate::__private::FieldRef {
                fn from(path: &Path) -> Self {
                    Self::value(&path.0)
                }
            }

            impl From<Path> for $crate::__private::FieldRef {
                fn from(path: Path) -> Self {
                    Self::value(&path.0)
                }
            }

            impl std::fmt::Display for Path {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    self.0.fmt(f)
                }
            }

            impl std::ops::Deref for Path {
                type Target = $crate::__private::FieldPath;

                fn deref(&self) -> &Self::Target {
                    &self.0
                }
            }
        };

        impl $crate::wire::Read for $name {
            const EXPECTED: &'static str = "a mapping";

            fn read(
                node: &$crate::__private::Node<'_>,
                path: &$crate::__private::FieldPath,
                reader: &mut $crate::wire::Reader<'_, '_>,
            ) -> Option<Self> {
                Self::read_except(node, path, &[], reader)
            }
        }
    };
}

/// Declares an enum that is a string in YAML, with its reader, its output and its description. Editors show the
/// documentation.
#[macro_export]
macro_rules! string_enum {
    (
        $(#[doc = $doc:literal])*
        $vis:vis enum $name:ident { $($(#[doc = $variant_doc:literal])* $variant:ident = $word:literal),* $(,)? }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        $vis enum $name { $($(#[doc = $variant_doc])* $variant),* }

        impl $name {
            /// Returns the string in YAML.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }

        impl $crate::wire::StringEnum for $name {
            const VARIANTS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),*];
        }

        impl $crate::wire::Describe for $name {
            const SHAPE: $crate::wire::Shape = $crate::wire::Shape::Enum(&$crate::wire::EnumShape {
                name: stringify!($name),
                doc: concat!($($doc, "\n"),*),
                values: &[$(($word, concat!($($variant_doc, "\n"),*))),*],
            });
        }

        impl $crate::wire::HasPath for $name {
            type Path = $crate::wire::ValuePath;
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::__private::serde::Serialize for $name {
            fn serialize<S: $crate::__private::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl $crate::wire::Read for $name {
            const EXPECTED: &'static str = "a string";

            fn read(
                node: &$crate::__private::Node<'_>,
                path: &$crate::__private::FieldPath,
                reader: &mut $crate::wire::Reader<'_, '_>,
            ) -> Option<Self> {
                $crate::wire::read_string_enum(node, path, reader)
            }
        }
    };
}
