//! Serializes any type directly to block-style YAML, without a tree of values in between.

use std::fmt;

use serde::ser::{Impossible, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::emit::{LeafPosition, write_key, write_leaf, write_string};

/// A value that only serde-saphyr or serde_json can write. Manifests contain none.
#[derive(Debug, thiserror::Error)]
#[error("not a value that the writer knows")]
pub(super) struct UnsupportedValue;

impl serde::ser::Error for UnsupportedValue {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

type WriteResult = Result<(), UnsupportedValue>;

/// Indentation of one level, in spaces.
const INDENT: usize = 2;

/// The token that precedes a value.
#[derive(Clone, Copy, PartialEq)]
enum WriteContext {
    /// Nothing: the value is the document.
    Root,
    /// `key:` at this indentation.
    Key(usize),
    /// `- ` at this indentation.
    Dash(usize),
}

/// Writes one value.
pub(super) struct ValueWriter<'o> {
    out: &'o mut String,
    context: WriteContext,
}

/// Writes a document. A scalar at the root is not supported.
pub(super) fn write_document<T: Serialize + ?Sized>(value: &T, out: &mut String) -> WriteResult {
    value.serialize(ValueWriter { out, context: WriteContext::Root })
}

/// Appends spaces.
pub(super) fn push_spaces(indent: usize, out: &mut String) {
    const SPACES: &str = "                                                                ";
    let mut left = indent;
    while left > 0 {
        let some = left.min(SPACES.len());
        out.push_str(SPACES.get(..some).unwrap_or(SPACES));
        left -= some;
    }
}

impl<'o> ValueWriter<'o> {
    /// Writes the space before a scalar, and returns where and how to write the scalar.
    fn begin_leaf(self) -> Result<(&'o mut String, LeafPosition, usize), UnsupportedValue> {
        match self.context {
            WriteContext::Root => Err(UnsupportedValue),
            WriteContext::Key(indent) => {
                self.out.push(' ');
                Ok((self.out, LeafPosition::Value, indent))
            }
            WriteContext::Dash(indent) => Ok((self.out, LeafPosition::Item, indent)),
        }
    }

    fn write_word(self, word: &str) -> WriteResult {
        let (out, ..) = self.begin_leaf()?;
        out.push_str(word);
        out.push('\n');
        Ok(())
    }

    fn write_with_library(self, value: &Value) -> WriteResult {
        let (out, position, indent) = self.begin_leaf()?;
        write_leaf(value, position, indent, out).ok_or(UnsupportedValue)
    }
}

/// Writes the entries of a mapping or the items of a sequence.
pub(super) struct CollectionWriter<'o> {
    out: &'o mut String,
    at: WriteContext,
    /// Indentation of the entries, in spaces.
    indent: usize,
    is_empty: bool,
    is_list: bool,
}

impl<'o> CollectionWriter<'o> {
    fn new(ValueWriter { out, context: at }: ValueWriter<'o>, is_list: bool) -> Self {
        let indent = match at {
            WriteContext::Root => 0,
            // Dashes are at their key's indentation.
            WriteContext::Key(indent) if is_list => indent,
            WriteContext::Key(indent) | WriteContext::Dash(indent) => indent + INDENT,
        };
        Self { out, at, indent, is_empty: true, is_list }
    }

    /// Starts the line of an entry.
    fn begin_entry(&mut self) {
        match (self.is_empty, self.at) {
            // The first entry of a document, or after a dash, is on the current line.
            (true, WriteContext::Root | WriteContext::Dash(_)) => {}
            (true, WriteContext::Key(_)) => {
                self.out.push('\n');
                push_spaces(self.indent, self.out);
            }
            (false, _) => push_spaces(self.indent, self.out),
        }
        self.is_empty = false;
    }

    fn write_key(&mut self, key: &str) -> WriteResult {
        self.begin_entry();
        write_key(key, self.out).ok_or(UnsupportedValue)
    }

    fn write_value<T: Serialize + ?Sized>(&mut self, value: &T) -> WriteResult {
        value.serialize(ValueWriter { out: self.out, context: WriteContext::Key(self.indent) })
    }

    fn write_item<T: Serialize + ?Sized>(&mut self, item: &T) -> WriteResult {
        self.begin_entry();
        self.out.push_str("- ");
        item.serialize(ValueWriter { out: self.out, context: WriteContext::Dash(self.indent) })
    }

    fn finish(self) {
        if self.is_empty {
            if matches!(self.at, WriteContext::Key(_)) {
                self.out.push(' ');
            }
            self.out.push_str(if self.is_list { "[]\n" } else { "{}\n" });
        }
    }
}

impl<'o> Serializer for ValueWriter<'o> {
    type Ok = ();
    type Error = UnsupportedValue;
    type SerializeSeq = CollectionWriter<'o>;
    type SerializeTuple = CollectionWriter<'o>;
    type SerializeTupleStruct = CollectionWriter<'o>;
    type SerializeTupleVariant = Impossible<(), UnsupportedValue>;
    type SerializeMap = CollectionWriter<'o>;
    type SerializeStruct = CollectionWriter<'o>;
    type SerializeStructVariant = Impossible<(), UnsupportedValue>;

    fn serialize_bool(self, value: bool) -> WriteResult {
        self.write_word(if value { "true" } else { "false" })
    }
    fn serialize_i8(self, value: i8) -> WriteResult {
        self.serialize_i64(value.into())
    }
    fn serialize_i16(self, value: i16) -> WriteResult {
        self.serialize_i64(value.into())
    }
    fn serialize_i32(self, value: i32) -> WriteResult {
        self.serialize_i64(value.into())
    }
    fn serialize_i64(self, value: i64) -> WriteResult {
        self.write_word(&value.to_string())
    }
    fn serialize_u8(self, value: u8) -> WriteResult {
        self.serialize_u64(value.into())
    }
    fn serialize_u16(self, value: u16) -> WriteResult {
        self.serialize_u64(value.into())
    }
    fn serialize_u32(self, value: u32) -> WriteResult {
        self.serialize_u64(value.into())
    }
    fn serialize_u64(self, value: u64) -> WriteResult {
        self.write_word(&value.to_string())
    }
    fn serialize_f32(self, value: f32) -> WriteResult {
        self.write_with_library(&Value::from(value))
    }
    fn serialize_f64(self, value: f64) -> WriteResult {
        self.write_with_library(&Value::from(value))
    }
    fn serialize_char(self, value: char) -> WriteResult {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(self, value: &str) -> WriteResult {
        let (out, position, indent) = self.begin_leaf()?;
        write_string(value, position, indent, out).ok_or(UnsupportedValue)
    }
    fn serialize_bytes(self, _: &[u8]) -> WriteResult {
        Err(UnsupportedValue)
    }
    fn serialize_none(self) -> WriteResult {
        self.write_word("null")
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> WriteResult {
        value.serialize(self)
    }
    fn serialize_unit(self) -> WriteResult {
        self.write_word("null")
    }
    fn serialize_unit_struct(self, _: &'static str) -> WriteResult {
        self.write_word("null")
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> WriteResult {
        self.serialize_str(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> WriteResult {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> WriteResult {
        let mut entries = CollectionWriter::new(self, false);
        entries.write_key(variant)?;
        entries.write_value(value)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<CollectionWriter<'o>, UnsupportedValue> {
        Ok(CollectionWriter::new(self, true))
    }
    fn serialize_tuple(self, _: usize) -> Result<CollectionWriter<'o>, UnsupportedValue> {
        Ok(CollectionWriter::new(self, true))
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<CollectionWriter<'o>, UnsupportedValue> {
        Ok(CollectionWriter::new(self, true))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, UnsupportedValue> {
        Err(UnsupportedValue)
    }
    fn serialize_map(self, _: Option<usize>) -> Result<CollectionWriter<'o>, UnsupportedValue> {
        Ok(CollectionWriter::new(self, false))
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<CollectionWriter<'o>, UnsupportedValue> {
        Ok(CollectionWriter::new(self, false))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, UnsupportedValue> {
        Err(UnsupportedValue)
    }
}

impl SerializeSeq for CollectionWriter<'_> {
    type Ok = ();
    type Error = UnsupportedValue;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> WriteResult {
        self.write_item(value)
    }
    fn end(self) -> WriteResult {
        self.finish();
        Ok(())
    }
}

impl SerializeTuple for CollectionWriter<'_> {
    type Ok = ();
    type Error = UnsupportedValue;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> WriteResult {
        self.write_item(value)
    }
    fn end(self) -> WriteResult {
        self.finish();
        Ok(())
    }
}

impl SerializeTupleStruct for CollectionWriter<'_> {
    type Ok = ();
    type Error = UnsupportedValue;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> WriteResult {
        self.write_item(value)
    }
    fn end(self) -> WriteResult {
        self.finish();
        Ok(())
    }
}

impl SerializeMap for CollectionWriter<'_> {
    type Ok = ();
    type Error = UnsupportedValue;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> WriteResult {
        key.serialize(KeyWriter(self))
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> WriteResult {
        self.write_value(value)
    }
    fn end(self) -> WriteResult {
        self.finish();
        Ok(())
    }
}

impl SerializeStruct for CollectionWriter<'_> {
    type Ok = ();
    type Error = UnsupportedValue;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> WriteResult {
        self.write_key(key)?;
        self.write_value(value)
    }
    fn end(self) -> WriteResult {
        self.finish();
        Ok(())
    }
}

/// Serializes a key, which must be a string, as in JSON.
struct KeyWriter<'e, 'o>(&'e mut CollectionWriter<'o>);

/// Refuses the scalar types that a key cannot have.
macro_rules! no_key {
    ($($name:ident($($argument:ty),*))*) => {
        $(fn $name(self $(, _: $argument)*) -> WriteResult {
            Err(UnsupportedValue)
        })*
    };
}

/// Refuses collections as keys.
macro_rules! no_keys {
    ($($name:ident($($argument:ty),*) $kind:ident)*) => {
        $(fn $name(self $(, _: $argument)*) -> Result<Self::$kind, UnsupportedValue> {
            Err(UnsupportedValue)
        })*
    };
}

impl Serializer for KeyWriter<'_, '_> {
    type Ok = ();
    type Error = UnsupportedValue;
    type SerializeSeq = Impossible<(), UnsupportedValue>;
    type SerializeTuple = Impossible<(), UnsupportedValue>;
    type SerializeTupleStruct = Impossible<(), UnsupportedValue>;
    type SerializeTupleVariant = Impossible<(), UnsupportedValue>;
    type SerializeMap = Impossible<(), UnsupportedValue>;
    type SerializeStruct = Impossible<(), UnsupportedValue>;
    type SerializeStructVariant = Impossible<(), UnsupportedValue>;

    fn serialize_str(self, key: &str) -> WriteResult {
        self.0.write_key(key)
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> WriteResult {
        self.0.write_key(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> WriteResult {
        value.serialize(self)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> WriteResult {
        Err(UnsupportedValue)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> WriteResult {
        Err(UnsupportedValue)
    }
    no_key! {
        serialize_bool(bool) serialize_char(char) serialize_bytes(&[u8]) serialize_none() serialize_unit()
        serialize_unit_struct(&'static str)
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64)
        serialize_f32(f32) serialize_f64(f64)
    }
    no_keys! {
        serialize_seq(Option<usize>) SerializeSeq
        serialize_tuple(usize) SerializeTuple
        serialize_tuple_struct(&'static str, usize) SerializeTupleStruct
        serialize_tuple_variant(&'static str, u32, &'static str, usize) SerializeTupleVariant
        serialize_map(Option<usize>) SerializeMap
        serialize_struct(&'static str, usize) SerializeStruct
        serialize_struct_variant(&'static str, u32, &'static str, usize) SerializeStructVariant
    }
}
