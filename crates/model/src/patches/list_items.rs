//! How the items of a list are matched with those of a patch: as the CRD declares, and otherwise by the name of the
//! list.

use std::collections::BTreeMap;

use serde_json::Value;

use kubefoundry_transform::ListType;

/// How a patch changes a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ListRule {
    /// The patch has the new list.
    Whole,
    /// The patch has scalars to add.
    Set,
    /// The patch has items to change or to add, which are matched by keys.
    Items(ItemKeys),
}

/// The fields that identify an item.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ItemKeys {
    /// The keys that the CRD declares, with their defaults.
    Declared(Vec<(String, Option<Value>)>),
    /// One of these fields, the first that an item has.
    Field(&'static [&'static str]),
    /// The name of a port, or its number and protocol.
    Port,
}

/// The keys of lists that no CRD describes, as Kubernetes and the providers use them. Dynamo's v1alpha1 calls the path
/// of a mount `mountPoint` (`deploy/operator/api/v1alpha1/common.go` of ai-dynamo).
const FIELD_KEYS: &[(&str, &[&str])] = &[
    ("components", &["name"]),
    ("containers", &["name"]),
    ("env", &["name"]),
    ("volumeMounts", &["mountPath", "mountPoint"]),
    ("volumes", &["name"]),
    ("workerGroupSpecs", &["groupName"]),
];

impl ListRule {
    /// Decides how a patch changes the list in a field. `declared` is what the CRD says about it.
    pub(super) fn choose(declared: Option<ListType>, field: &str, items: &[Value], changes: &[Value]) -> Self {
        match declared {
            Some(ListType::Atomic) => return Self::Whole,
            Some(ListType::Set) => return Self::Set,
            Some(ListType::Map(keys)) => return Self::Items(ItemKeys::Declared(keys)),
            None => {}
        }
        // A list of the same name may hold other things, which have no keys.
        if !items.iter().chain(changes).all(Value::is_object) {
            return Self::Whole;
        }
        if field == "ports" {
            return Self::Items(ItemKeys::Port);
        }
        let keys = FIELD_KEYS.iter().find(|(name, _)| *name == field);
        keys.map_or(Self::Whole, |(_, keys)| Self::Items(ItemKeys::Field(keys)))
    }
}

impl ItemKeys {
    /// Returns the values of the keys, or `None` if the item lacks one.
    pub(super) fn identity(&self, item: &Value) -> Option<Identity> {
        match self {
            Self::Declared(keys) => {
                let value =
                    |(key, default): &(String, Option<Value>)| Some(item.get(key).or(default.as_ref())?.to_string());
                keys.iter().map(value).collect()
            }
            Self::Field(keys) => keys.iter().find_map(|key| item.get(*key)).map(|value| vec![value.to_string()]),
            Self::Port => port_name(item).or_else(|| port_number(item)),
        }
    }

    /// Describes the keys for a message.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Declared(keys) => keys.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>().join(" and "),
            Self::Field(keys) => keys.first().copied().unwrap_or_default().to_owned(),
            Self::Port => "name or containerPort".to_owned(),
        }
    }
}

/// The values of an item's keys as JSON text.
pub(super) type Identity = Vec<String>;

/// Where the items of a list are, by their identities. Lists can be long, so items are not searched one by one.
#[derive(Debug, Default)]
pub(super) struct ItemIndex {
    by_identity: BTreeMap<Identity, usize>,
    /// Ports by number and protocol: all of them, and those without a name.
    by_number: BTreeMap<Identity, usize>,
    unnamed_by_number: BTreeMap<Identity, usize>,
}

impl ItemIndex {
    /// Adds an item. Of several items with the same identity, the first counts.
    pub(super) fn add(&mut self, item: &Value, position: usize, keys: &ItemKeys) {
        if let Some(identity) = keys.identity(item) {
            self.by_identity.entry(identity).or_insert(position);
        }
        if let Some(number) = port_number(item).filter(|_| *keys == ItemKeys::Port) {
            if port_name(item).is_none() {
                self.unnamed_by_number.entry(number.clone()).or_insert(position);
            }
            self.by_number.entry(number).or_insert(position);
        }
    }

    /// Returns the position of the item that a patch of an item is meant for. A patch may give a port its name, so the
    /// name of a port decides only if both have one.
    pub(super) fn find(&self, change: &Value, keys: &ItemKeys) -> Option<usize> {
        if let Some(position) = keys.identity(change).and_then(|identity| self.by_identity.get(&identity)) {
            return Some(*position);
        }
        let number = port_number(change).filter(|_| *keys == ItemKeys::Port)?;
        let numbers = if port_name(change).is_some() { &self.unnamed_by_number } else { &self.by_number };
        numbers.get(&number).copied()
    }
}

fn port_name(port: &Value) -> Option<Identity> {
    port.get("name").map(|name| vec![name.to_string()])
}

/// Returns the number and the protocol of a port. A Service calls the number `port`.
fn port_number(port: &Value) -> Option<Identity> {
    let number = port.get("containerPort").or_else(|| port.get("port"))?;
    let protocol = port.get("protocol").map_or_else(|| Value::from("TCP").to_string(), Value::to_string);
    Some(vec![number.to_string(), protocol])
}
