//! Outlines of objects. An outline covers the fields of an object and the JSON types of their values. Objects with
//! equal outlines differ only in strings, numbers, booleans and the lengths of lists of similar items.
//!
//! The check of a rendered object against an upstream skeleton depends only on its outline, so its result is reused for
//! all objects with the same one.

use std::fmt;

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// Returns a hash of the outline of a value's JSON form. The order of fields matters. The hash is computed by a
/// serializer that writes nothing. It is not collision-resistant: do not rely on it for input that an attacker chooses.
///
/// ```
/// use kubefoundry_kubernetes::outline::outline;
/// use serde_json::json;
/// let first = outline(&json!({"name": "a", "args": ["x"], "replicas": 1}));
/// assert_eq!(first, outline(&json!({"name": "b", "args": ["x", "y"], "replicas": 20})));
/// assert_ne!(first, outline(&json!({"name": "a", "args": ["x"], "replicas": "1"})));
/// assert_ne!(first, outline(&json!({"name": "a", "arg": ["x"], "replicas": 1})));
/// ```
///
/// Returns `None` for a value that cannot be serialized, or that contains a mapping whose keys are not strings.
pub fn outline(value: &(impl Serialize + ?Sized)) -> Option<u64> {
    value.serialize(Outline::Value).ok()
}

/// Constants that represent JSON types in the hash. Those of collections also mark their end.
mod mark {
    pub(super) const NULL: u64 = 1;
    pub(super) const BOOLEAN: u64 = 2;
    pub(super) const INTEGER: u64 = 3;
    pub(super) const FRACTION: u64 = 4;
    pub(super) const TEXT: u64 = 5;
    pub(super) const LIST: u64 = 6;
    pub(super) const MAPPING: u64 = 7;
}

/// Mixes a 64-bit word into a hash.
fn mix(hash: u64, word: u64) -> u64 {
    // The constant of Fibonacci hashing: it is odd and its bits are spread well.
    (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn mix_text(hash: u64, text: &str) -> u64 {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let words = text.as_bytes().chunks(8);
    words.fold(mix(hash, text.len() as u64), |hash, bytes| mix(hash, word(bytes)))
}

/// The serializer. It computes the outline of a value, or mixes a key into the hash of its mapping.
enum Outline {
    Value,
    Key(u64),
}

impl Outline {
    /// Returns the mark of a type that a key cannot have, or an error for a key.
    fn mark(self, mark: u64) -> Result<u64, fmt::Error> {
        match self {
            Self::Value => Ok(mark),
            Self::Key(_) => Err(fmt::Error),
        }
    }

    fn text(self, text: &str) -> u64 {
        match self {
            Self::Value => mark::TEXT,
            Self::Key(hash) => mix_text(hash, text),
        }
    }
}

/// The state of a list. An item whose outline equals that of the previous item is skipped, so the length of a list of
/// similar items does not matter.
struct List {
    hash: u64,
    last: Option<u64>,
    /// The name of the enum variant whose content the list is, if any.
    variant: Option<&'static str>,
}

/// The state of a mapping.
struct Mapping {
    hash: u64,
    /// The name of the enum variant whose content the mapping is, if any.
    variant: Option<&'static str>,
}

impl List {
    fn new(variant: Option<&'static str>) -> Self {
        Self { hash: mark::LIST, last: None, variant }
    }

    fn push(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), fmt::Error> {
        let item = value.serialize(Outline::Value)?;
        if self.last != Some(item) {
            self.hash = mix(self.hash, item);
            self.last = Some(item);
        }
        Ok(())
    }

    fn finish(self) -> u64 {
        in_variant(self.variant, mix(self.hash, mark::LIST))
    }
}

impl Mapping {
    fn new(variant: Option<&'static str>) -> Self {
        Self { hash: mark::MAPPING, variant }
    }

    fn finish(self) -> u64 {
        in_variant(self.variant, mix(self.hash, mark::MAPPING))
    }
}

/// Wraps an outline in that of a mapping with the variant as its only field, as serde writes enum variants. Without a
/// variant it returns the content.
fn in_variant(variant: Option<&'static str>, content: u64) -> u64 {
    match variant {
        Some(variant) => mix(mix(mix_text(mark::MAPPING, variant), content), mark::MAPPING),
        None => content,
    }
}

macro_rules! scalars {
    ($($method:ident: $type:ty => $mark:expr;)*) => {
        $(fn $method(self, _: $type) -> Result<u64, fmt::Error> {
            self.mark($mark)
        })*
    };
}

impl Serializer for Outline {
    type Ok = u64;
    type Error = fmt::Error;
    type SerializeSeq = List;
    type SerializeTuple = List;
    type SerializeTupleStruct = List;
    type SerializeTupleVariant = List;
    type SerializeMap = Mapping;
    type SerializeStruct = Mapping;
    type SerializeStructVariant = Mapping;

    scalars! {
        serialize_bool: bool => mark::BOOLEAN;
        serialize_i8: i8 => mark::INTEGER;
        serialize_i16: i16 => mark::INTEGER;
        serialize_i32: i32 => mark::INTEGER;
        serialize_i64: i64 => mark::INTEGER;
        serialize_u8: u8 => mark::INTEGER;
        serialize_u16: u16 => mark::INTEGER;
        serialize_u32: u32 => mark::INTEGER;
        serialize_u64: u64 => mark::INTEGER;
    }

    fn serialize_char(self, _: char) -> Result<u64, fmt::Error> {
        self.mark(mark::TEXT)
    }

    fn serialize_str(self, text: &str) -> Result<u64, fmt::Error> {
        Ok(self.text(text))
    }

    fn serialize_f32(self, value: f32) -> Result<u64, fmt::Error> {
        self.serialize_f64(value.into())
    }

    /// A schema treats a number without a fraction as an integer, even when it is written as `1.0`.
    fn serialize_f64(self, value: f64) -> Result<u64, fmt::Error> {
        self.mark(if value.fract() == 0.0 { mark::INTEGER } else { mark::FRACTION })
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<u64, fmt::Error> {
        Serialize::serialize(value, self)
    }

    fn serialize_none(self) -> Result<u64, fmt::Error> {
        self.mark(mark::NULL)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<u64, fmt::Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<u64, fmt::Error> {
        self.mark(mark::NULL)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<u64, fmt::Error> {
        self.mark(mark::NULL)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<u64, fmt::Error> {
        Ok(self.text(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<u64, fmt::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<u64, fmt::Error> {
        Ok(in_variant(Some(variant), value.serialize(self)?))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List, fmt::Error> {
        Ok(List::new(None))
    }

    fn serialize_tuple(self, _: usize) -> Result<List, fmt::Error> {
        Ok(List::new(None))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List, fmt::Error> {
        Ok(List::new(None))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<List, fmt::Error> {
        Ok(List::new(Some(variant)))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Mapping, fmt::Error> {
        Ok(Mapping::new(None))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Mapping, fmt::Error> {
        Ok(Mapping::new(None))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Mapping, fmt::Error> {
        Ok(Mapping::new(Some(variant)))
    }
}

macro_rules! lists {
    ($($of:ident: $method:ident;)*) => {
        $(impl $of for List {
            type Ok = u64;
            type Error = fmt::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
                self.push(value)
            }

            fn end(self) -> Result<u64, fmt::Error> {
                Ok(self.finish())
            }
        })*
    };
}

lists! {
    SerializeSeq: serialize_element;
    SerializeTuple: serialize_element;
    SerializeTupleStruct: serialize_field;
    SerializeTupleVariant: serialize_field;
}

macro_rules! structs {
    ($($of:ident),*) => {
        $(impl $of for Mapping {
            type Ok = u64;
            type Error = fmt::Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), fmt::Error> {
                self.hash = mix(mix_text(self.hash, key), value.serialize(Outline::Value)?);
                Ok(())
            }

            fn end(self) -> Result<u64, fmt::Error> {
                Ok(self.finish())
            }
        })*
    };
}

structs! { SerializeStruct, SerializeStructVariant }

impl SerializeMap for Mapping {
    type Ok = u64;
    type Error = fmt::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), fmt::Error> {
        self.hash = key.serialize(Outline::Key(self.hash))?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
        self.hash = mix(self.hash, value.serialize(Outline::Value)?);
        Ok(())
    }

    fn end(self) -> Result<u64, fmt::Error> {
        Ok(self.finish())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[derive(serde::Serialize)]
    struct Object<'o> {
        name: &'o str,
        replicas: Option<u32>,
        kind: Kind,
        labels: BTreeMap<&'o str, f64>,
        pair: (i8, char),
    }

    #[derive(Clone, Copy, serde::Serialize)]
    #[serde(rename_all = "camelCase")]
    enum Kind {
        Plain,
        OfOne(bool),
        OfTwo(bool, u8),
        Named { inner: () },
    }

    #[test]
    fn equals_the_outline_of_the_json_form() {
        for kind in [Kind::Plain, Kind::OfOne(true), Kind::OfTwo(true, 1), Kind::Named { inner: () }] {
            for (replicas, label) in [(None, 1.0), (Some(2), 0.5)] {
                let object = Object { name: "a", replicas, kind, labels: [("x", label)].into(), pair: (1, 'c') };
                let written = serde_json::to_value(&object).unwrap();
                assert!(outline(&object).is_some() && outline(&object) == outline(&written), "{written}");
            }
        }
    }

    #[test]
    fn differs_wherever_a_schema_may_differ() {
        let all = [
            json!(null),
            json!(true),
            json!(1),
            json!(1.5),
            json!("1"),
            json!([]),
            json!({}),
            json!([[]]),
            json!([{}]),
            json!({"": null}),
            json!({"a": null}),
            json!({"a": {"b": 1}}),
            json!({"a": {}, "b": 1}),
            json!({"a": "b"}),
            json!({"ab": ""}),
            json!({"a": ["b"]}),
            json!([1, "a"]),
            json!([1, "a", 1]),
            json!(["a", 1]),
            json!({"abcdefgh": 1}),
            json!({"abcdefghi": 1}),
        ];
        for (left_index, left) in all.iter().enumerate() {
            for (right_index, right) in all.iter().enumerate() {
                assert_eq!(outline(left) == outline(right), left_index == right_index, "{left} {right}");
            }
        }
    }

    #[test]
    fn ignores_scalars_and_repeated_items() {
        for (one, two) in [
            (json!({"a": 1, "b": false}), json!({"a": -7.0, "b": true})),
            (json!([{"name": "a"}]), json!([{"name": "b"}, {"name": "c"}])),
            (json!(1.5), json!(0.1)),
        ] {
            assert_eq!(outline(&one), outline(&two), "{one} {two}");
        }
    }

    #[test]
    fn has_no_outline_with_keys_that_are_not_strings() {
        assert_eq!(outline(&BTreeMap::from([(1, 2)])), None);
    }
}
