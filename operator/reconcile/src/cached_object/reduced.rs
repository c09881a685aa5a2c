//! Reads an object without the managed fields that the operator does not need.
//!
//! Managed fields can be larger than the rest of the object, and every watch event has them. The operator needs the status
//! fields of deployments by name, to see which ones each manager owns; of other objects, only whether an entry is about the
//! status.

use std::fmt::{self, Formatter};
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

/// The kinds whose status the controllers write.
const SOURCE_KINDS: [&str; 3] =
    [kubefoundry_deployment::wire::KIND, kubefoundry_actor::KIND, kubefoundry_llamastack::wire::KIND];

/// The fields of an object, of whose managed fields the manager, the time and the status fields are left.
pub(super) struct ReducedObject(pub(super) Map<String, Value>);

impl<'de> Deserialize<'de> for ReducedObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Fields(mut fields, _) = Fields::<Object>::deserialize(deserializer)?;
        let kind = fields.get("kind").and_then(Value::as_str);
        if !kind.is_some_and(|kind| SOURCE_KINDS.contains(&kind)) {
            forget_status_fields(&mut fields);
        }
        Ok(Self(fields))
    }
}

/// Leaves only whether an entry of the managed fields is about the status.
fn forget_status_fields(object: &mut Map<String, Value>) {
    let entries = object.get_mut("metadata").and_then(|metadata| metadata.get_mut("managedFields")?.as_array_mut());
    for entry in entries.into_iter().flatten() {
        if let Some(status) = entry.pointer_mut("/fieldsV1/f:status") {
            *status = Value::Object(Map::new());
        }
    }
}

/// What is read of the fields at one place in an object.
trait Place {
    /// Reads the value of a field; none if the field is left out.
    fn read<'de, A: MapAccess<'de>>(name: &str, map: &mut A) -> Result<Option<Value>, A::Error>;
}

/// The fields at a place.
struct Fields<P>(Map<String, Value>, PhantomData<P>);

impl<'de, P: Place> Deserialize<'de> for Fields<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self(Map::new(), PhantomData))
    }
}

impl<'de, P: Place> Visitor<'de> for Fields<P> {
    type Value = Self;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if let Some(value) = P::read(&name, &mut map)? {
                self.0.insert(name, value);
            }
        }
        Ok(self)
    }
}

fn read<'de, A: MapAccess<'de>, P: Place>(map: &mut A) -> Result<Option<Value>, A::Error> {
    Ok(map.next_value::<Option<Fields<P>>>()?.map(|fields| Value::Object(fields.0)))
}

struct Object;

impl Place for Object {
    fn read<'de, A: MapAccess<'de>>(name: &str, map: &mut A) -> Result<Option<Value>, A::Error> {
        match name {
            "metadata" => read::<A, Metadata>(map),
            _ => map.next_value().map(Some),
        }
    }
}

struct Metadata;

impl Place for Metadata {
    fn read<'de, A: MapAccess<'de>>(name: &str, map: &mut A) -> Result<Option<Value>, A::Error> {
        match name {
            "managedFields" => {
                let entries = map.next_value::<Option<Vec<Fields<Entry>>>>()?.unwrap_or_default();
                let entries: Vec<Value> = entries.into_iter().map(|entry| Value::Object(entry.0)).collect();
                Ok((!entries.is_empty()).then_some(Value::Array(entries)))
            }
            _ => map.next_value().map(Some),
        }
    }
}

/// An entry of the managed fields.
struct Entry;

impl Place for Entry {
    fn read<'de, A: MapAccess<'de>>(name: &str, map: &mut A) -> Result<Option<Value>, A::Error> {
        match name {
            "manager" | "operation" | "subresource" | "time" => map.next_value().map(Some),
            "fieldsV1" => Ok(read::<A, FieldsV1>(map)?.filter(|fields| *fields != Value::Object(Map::new()))),
            _ => map.next_value::<IgnoredAny>().map(|_| None),
        }
    }
}

struct FieldsV1;

impl Place for FieldsV1 {
    fn read<'de, A: MapAccess<'de>>(name: &str, map: &mut A) -> Result<Option<Value>, A::Error> {
        match name {
            "f:status" => read::<A, StatusFields>(map),
            _ => map.next_value::<IgnoredAny>().map(|_| None),
        }
    }
}

/// Two levels of names reach the types of conditions: `f:conditions`, then `k:{"type":"Ready"}`.
struct StatusFields;

impl Place for StatusFields {
    fn read<'de, A: MapAccess<'de>>(_: &str, map: &mut A) -> Result<Option<Value>, A::Error> {
        read::<A, Names>(map)
    }
}

/// The names of fields, without what is below them.
struct Names;

impl Place for Names {
    fn read<'de, A: MapAccess<'de>>(_: &str, map: &mut A) -> Result<Option<Value>, A::Error> {
        map.next_value::<IgnoredAny>().map(|_| Some(Value::Object(Map::new())))
    }
}
