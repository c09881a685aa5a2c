//! Values of any serializable type straight to block-style YAML: no tree in between.

use std::fmt;

use serde::ser::{Impossible, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::emit::{Position, leaf, string, write_key};

/// Something that only serde-saphyr, or JSON, knows how to write. Nothing that we write for a cluster has it.
#[derive(Debug, thiserror::Error)]
#[error("not a value that the writer knows")]
pub(super) struct Unknown;

impl serde::ser::Error for Unknown {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

type Written = Result<(), Unknown>;

/// Spaces of one level.
const STEP: usize = 2;

/// What a value stands behind.
#[derive(Clone, Copy, PartialEq)]
enum At {
    /// Nothing: it is the document.
    Root,
    /// `key:`, which is indented by so much.
    Key(usize),
    /// `- `, which is indented by so much.
    Dash(usize),
}

/// Writes one value.
pub(super) struct Writer<'o> {
    out: &'o mut String,
    at: At,
}

/// Writes a document; a scalar alone is none.
pub(super) fn document<T: Serialize + ?Sized>(value: &T, out: &mut String) -> Written {
    value.serialize(Writer { out, at: At::Root })
}

fn pad(indent: usize, out: &mut String) {
    const SPACES: &str = "                                                                ";
    let mut left = indent;
    while left > 0 {
        let some = left.min(SPACES.len());
        out.push_str(SPACES.get(..some).unwrap_or(SPACES));
        left -= some;
    }
}

impl<'o> Writer<'o> {
    /// Where a scalar goes, behind what stands before it.
    fn leaf(self) -> Result<(&'o mut String, Position, usize), Unknown> {
        match self.at {
            At::Root => Err(Unknown),
            At::Key(indent) => {
                self.out.push(' ');
                Ok((self.out, Position::Value, indent))
            }
            At::Dash(indent) => Ok((self.out, Position::Item, indent)),
        }
    }

    fn word(self, word: &str) -> Written {
        let (out, ..) = self.leaf()?;
        out.push_str(word);
        out.push('\n');
        Ok(())
    }

    fn ask(self, value: &Value) -> Written {
        let (out, position, indent) = self.leaf()?;
        leaf(value, position, indent, out).ok_or(Unknown)
    }
}

/// Writes the entries of a mapping or the items of a list.
pub(super) struct Entries<'o> {
    out: &'o mut String,
    at: At,
    /// Indentation of the entries.
    indent: usize,
    empty: bool,
    is_list: bool,
}

impl<'o> Entries<'o> {
    fn new(Writer { out, at }: Writer<'o>, is_list: bool) -> Self {
        let indent = match at {
            At::Root => 0,
            // Dashes stand at their key's indentation.
            At::Key(indent) if is_list => indent,
            At::Key(indent) | At::Dash(indent) => indent + STEP,
        };
        Self { out, at, indent, empty: true, is_list }
    }

    /// Begins an entry.
    fn next(&mut self) {
        match (self.empty, self.at) {
            // The first is on the line that is begun already.
            (true, At::Root | At::Dash(_)) => {}
            (true, At::Key(_)) => {
                self.out.push('\n');
                pad(self.indent, self.out);
            }
            (false, _) => pad(self.indent, self.out),
        }
        self.empty = false;
    }

    fn key(&mut self, key: &str) -> Written {
        self.next();
        write_key(key, self.out).ok_or(Unknown)
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        value.serialize(Writer { out: self.out, at: At::Key(self.indent) })
    }

    fn item<T: Serialize + ?Sized>(&mut self, item: &T) -> Written {
        self.next();
        self.out.push_str("- ");
        item.serialize(Writer { out: self.out, at: At::Dash(self.indent) })
    }

    fn finish(self) {
        if self.empty {
            if matches!(self.at, At::Key(_)) {
                self.out.push(' ');
            }
            self.out.push_str(if self.is_list { "[]\n" } else { "{}\n" });
        }
    }
}

impl<'o> Serializer for Writer<'o> {
    type Ok = ();
    type Error = Unknown;
    type SerializeSeq = Entries<'o>;
    type SerializeTuple = Entries<'o>;
    type SerializeTupleStruct = Entries<'o>;
    type SerializeTupleVariant = Impossible<(), Unknown>;
    type SerializeMap = Entries<'o>;
    type SerializeStruct = Entries<'o>;
    type SerializeStructVariant = Impossible<(), Unknown>;

    fn serialize_bool(self, value: bool) -> Written {
        self.word(if value { "true" } else { "false" })
    }
    fn serialize_i8(self, value: i8) -> Written {
        self.serialize_i64(value.into())
    }
    fn serialize_i16(self, value: i16) -> Written {
        self.serialize_i64(value.into())
    }
    fn serialize_i32(self, value: i32) -> Written {
        self.serialize_i64(value.into())
    }
    fn serialize_i64(self, value: i64) -> Written {
        self.word(&value.to_string())
    }
    fn serialize_u8(self, value: u8) -> Written {
        self.serialize_u64(value.into())
    }
    fn serialize_u16(self, value: u16) -> Written {
        self.serialize_u64(value.into())
    }
    fn serialize_u32(self, value: u32) -> Written {
        self.serialize_u64(value.into())
    }
    fn serialize_u64(self, value: u64) -> Written {
        self.word(&value.to_string())
    }
    fn serialize_f32(self, value: f32) -> Written {
        self.ask(&Value::from(value))
    }
    fn serialize_f64(self, value: f64) -> Written {
        self.ask(&Value::from(value))
    }
    fn serialize_char(self, value: char) -> Written {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(self, value: &str) -> Written {
        let (out, position, indent) = self.leaf()?;
        string(value, position, indent, out).ok_or(Unknown)
    }
    fn serialize_bytes(self, _: &[u8]) -> Written {
        Err(Unknown)
    }
    fn serialize_none(self) -> Written {
        self.word("null")
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Written {
        self.word("null")
    }
    fn serialize_unit_struct(self, _: &'static str) -> Written {
        self.word("null")
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written {
        self.serialize_str(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Written {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Written {
        let mut entries = Entries::new(self, false);
        entries.key(variant)?;
        entries.value(value)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Entries<'o>, Unknown> {
        Ok(Entries::new(self, true))
    }
    fn serialize_tuple(self, _: usize) -> Result<Entries<'o>, Unknown> {
        Ok(Entries::new(self, true))
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Entries<'o>, Unknown> {
        Ok(Entries::new(self, true))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Unknown> {
        Err(Unknown)
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Entries<'o>, Unknown> {
        Ok(Entries::new(self, false))
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Entries<'o>, Unknown> {
        Ok(Entries::new(self, false))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Unknown> {
        Err(Unknown)
    }
}

impl SerializeSeq for Entries<'_> {
    type Ok = ();
    type Error = Unknown;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        self.item(value)
    }
    fn end(self) -> Written {
        self.finish();
        Ok(())
    }
}

impl SerializeTuple for Entries<'_> {
    type Ok = ();
    type Error = Unknown;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        self.item(value)
    }
    fn end(self) -> Written {
        self.finish();
        Ok(())
    }
}

impl SerializeTupleStruct for Entries<'_> {
    type Ok = ();
    type Error = Unknown;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        self.item(value)
    }
    fn end(self) -> Written {
        self.finish();
        Ok(())
    }
}

impl SerializeMap for Entries<'_> {
    type Ok = ();
    type Error = Unknown;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Written {
        key.serialize(Key(self))
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        self.value(value)
    }
    fn end(self) -> Written {
        self.finish();
        Ok(())
    }
}

impl SerializeStruct for Entries<'_> {
    type Ok = ();
    type Error = Unknown;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Written {
        self.key(key)?;
        self.value(value)
    }
    fn end(self) -> Written {
        self.finish();
        Ok(())
    }
}

/// A key, which is a string, as in JSON.
struct Key<'e, 'o>(&'e mut Entries<'o>);

/// Everything that a key is not.
macro_rules! no_key {
    ($($name:ident($($argument:ty),*))*) => {
        $(fn $name(self $(, _: $argument)*) -> Written {
            Err(Unknown)
        })*
    };
}

/// Every collection that a key is not.
macro_rules! no_keys {
    ($($name:ident($($argument:ty),*) $kind:ident)*) => {
        $(fn $name(self $(, _: $argument)*) -> Result<Self::$kind, Unknown> {
            Err(Unknown)
        })*
    };
}

impl Serializer for Key<'_, '_> {
    type Ok = ();
    type Error = Unknown;
    type SerializeSeq = Impossible<(), Unknown>;
    type SerializeTuple = Impossible<(), Unknown>;
    type SerializeTupleStruct = Impossible<(), Unknown>;
    type SerializeTupleVariant = Impossible<(), Unknown>;
    type SerializeMap = Impossible<(), Unknown>;
    type SerializeStruct = Impossible<(), Unknown>;
    type SerializeStructVariant = Impossible<(), Unknown>;

    fn serialize_str(self, key: &str) -> Written {
        self.0.key(key)
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written {
        self.0.key(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Written {
        value.serialize(self)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Written {
        Err(Unknown)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Written {
        Err(Unknown)
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
