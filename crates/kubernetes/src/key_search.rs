//! Search for keys in the JSON form of a value, which is not built.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Returns whether a mapping in the JSON form of a value has a key for which `is_wanted` holds. Returns `true` for a value
/// that cannot be serialized.
///
/// ```
/// use kubefoundry_kubernetes::key_search::has_key;
/// use serde_json::json;
/// let value = json!({"volumes": [{"name": "hostPath", "emptyDir": {}}]});
/// assert!(has_key(&value, &|key| key == "emptyDir"));
/// assert!(!has_key(&value, &|key| key == "hostPath"));
/// ```
pub fn has_key(value: &(impl Serialize + ?Sized), is_wanted: &dyn Fn(&str) -> bool) -> bool {
    let finder = KeyFinder { is_wanted, in_key: false };
    value.serialize(&mut Serializer::with_formatter(io::sink(), finder)).is_err()
}

/// A formatter that writes nothing that matters, and ends the serialization with an error at the first wanted key.
struct KeyFinder<'w> {
    is_wanted: &'w dyn Fn(&str) -> bool,
    in_key: bool,
}

impl Formatter for KeyFinder<'_> {
    fn begin_object_key<W: ?Sized + io::Write>(&mut self, _: &mut W, _: bool) -> io::Result<()> {
        self.in_key = true;
        Ok(())
    }

    fn end_object_key<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.in_key = false;
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, _: &mut W, fragment: &str) -> io::Result<()> {
        if self.in_key && (self.is_wanted)(fragment) { Err(io::ErrorKind::Other.into()) } else { Ok(()) }
    }
}
