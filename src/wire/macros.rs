//! How wire types are declared: a table of fields, or of words, from which type and reader are made.

/// Declares a wire object: a struct whose fields are all `Option`, its field names, and how it is read.
macro_rules! wire_object {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$field_meta:meta])* $field:ident: $ty:ty = $key:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq)]
        $vis struct $name { $($(#[$field_meta])* pub $field: Option<$ty>),* }

        impl $name {
            /// The fields as they are written in YAML.
            pub const FIELDS: &'static [&'static str] = &[$($key),*];
        }

        impl $crate::wire::Read for $name {
            const EXPECTED: &'static str = "a mapping";

            fn read(
                node: &$crate::yaml::Node<'_>,
                path: &$crate::path::FieldPath,
                reader: &mut $crate::wire::Reader<'_, '_>,
            ) -> Option<Self> {
                let $crate::yaml::Value::Mapping(entries) = &node.value else {
                    $crate::wire::wrong_type(node, path, Self::EXPECTED, reader);
                    return None;
                };
                let mut object = Self::default();
                for entry in entries {
                    match entry.key.as_ref() {
                        $($key => {
                            if entry.node.value != $crate::yaml::Value::Null {
                                object.$field = $crate::wire::Read::read(&entry.node, &path.key($key), reader);
                            }
                        })*
                        key => $crate::wire::unknown_field(node, key, path, Self::FIELDS, reader),
                    }
                }
                Some(object)
            }
        }
    };
}
pub(crate) use wire_object;

/// Declares an enum of words and how it is read and printed.
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        $vis enum $name { $($(#[$variant_meta])* $variant),* }

        impl $name {
            /// The word as it is written in YAML.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }

        impl $crate::wire::Word for $name {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),*];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl $crate::wire::Read for $name {
            const EXPECTED: &'static str = "a string";

            fn read(
                node: &$crate::yaml::Node<'_>,
                path: &$crate::path::FieldPath,
                reader: &mut $crate::wire::Reader<'_, '_>,
            ) -> Option<Self> {
                $crate::wire::read_word(node, path, reader)
            }
        }
    };
}
pub(crate) use words;
