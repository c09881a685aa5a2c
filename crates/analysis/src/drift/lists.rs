//! Decides how the items of a list are matched: by the list type of the CRD if there is one, and otherwise by the merge
//! keys of Kubernetes' own types (`patchMergeKey` and `listMapKey` in `k8s.io/api/core/v1/types.go`).

use serde_json::Value;

use kubefoundry_model::composition::Composition;
use kubefoundry_provider::ListKeys;

/// A field that identifies items, and its default value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ItemKey {
    pub(super) name: String,
    pub(super) default: Option<Value>,
}

/// How a list is compared.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ListKind {
    /// An atomic value: order and number of items matter.
    Atomic,
    /// Unordered scalars, to which other writers may add.
    Set,
    /// Items identified by keys, to which other writers may add.
    Map(Vec<ItemKey>),
}

const fn list_keys(field: &'static str, keys: &'static [&'static str]) -> ListKeys {
    ListKeys { field, keys }
}

/// Keys of the lists in Kubernetes' own types. Providers declare those of their objects.
const KUBERNETES_LIST_KEYS: [ListKeys; 13] = [
    list_keys("containers", &["name"]),
    list_keys("env", &["name"]),
    list_keys("ephemeralContainers", &["name"]),
    list_keys("hostAliases", &["ip"]),
    list_keys("imagePullSecrets", &["name"]),
    list_keys("initContainers", &["name"]),
    list_keys("ownerReferences", &["uid"]),
    list_keys("resourceClaims", &["name"]),
    list_keys("topologySpreadConstraints", &["topologyKey", "whenUnsatisfiable"]),
    list_keys("volumeDevices", &["devicePath"]),
    list_keys("volumeMounts", &["mountPath"]),
    list_keys("volumes", &["name"]),
    list_keys("volumeClaimTemplates", &["name"]),
];

/// Decides how to compare the list in a field. `items` are the rendered and the live items. If the keys do not identify
/// every item, the list is atomic.
pub(super) fn list_kind(
    composition: &Composition,
    schema: Option<&Value>,
    field: &str,
    items: [&[Value]; 2],
) -> ListKind {
    let keys = match schema {
        Some(schema) => match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
            Some("set") => return ListKind::Set,
            Some("map") => schema_keys(schema),
            // The default list type of a schema is atomic.
            _ => Vec::new(),
        },
        None => known_keys(composition, field, items),
    };
    let is_identified = !keys.is_empty() && items.iter().all(|items| are_identified(items, &keys));
    if is_identified { ListKind::Map(keys) } else { ListKind::Atomic }
}

/// Returns the keys by which the items of an atomic list can be matched for a report; `None` unless they identify every
/// item.
pub(super) fn name_keys(composition: &Composition, field: &str, items: [&[Value]; 2]) -> Option<Vec<ItemKey>> {
    let keys = known_keys(composition, field, items);
    (!keys.is_empty() && items.iter().all(|items| are_identified(items, &keys))).then_some(keys)
}

/// Returns the keys that the schema of a `map` list declares.
fn schema_keys(schema: &Value) -> Vec<ItemKey> {
    let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
    let default = |name: &str| schema.pointer(&format!("/items/properties/{name}/default")).cloned();
    let keys = keys.into_iter().flatten().filter_map(Value::as_str);
    keys.map(|name| ItemKey { name: name.to_owned(), default: default(name) }).collect()
}

/// Returns the keys of a list without a declaration, from the name of its field.
fn known_keys(composition: &Composition, field: &str, items: [&[Value]; 2]) -> Vec<ItemKey> {
    let any_has = |name: &str| items.iter().flat_map(|items| *items).any(|item| item.get(name).is_some());
    if field == "ports" {
        // Ports of a container have `containerPort`, those of a Service `port`.
        let port = if any_has("containerPort") { "containerPort" } else { "port" };
        let protocol = ItemKey { name: "protocol".to_owned(), default: Some(Value::from("TCP")) };
        return vec![ItemKey { name: port.to_owned(), default: None }, protocol];
    }
    let provider_keys = composition.providers().iter().flat_map(|provider| provider.info().list_keys);
    // Several kinds may have a list of the same name, so the row whose key occurs in the items is preferred.
    let rows = || provider_keys.clone().chain(&KUBERNETES_LIST_KEYS).filter(|row| row.field == field);
    let fits = |row: &&ListKeys| row.keys.first().is_some_and(|key| any_has(key));
    let row = rows().find(fits).or_else(|| rows().next_back());
    let keys = row.map(|row| row.keys).unwrap_or_default();
    keys.iter().map(|name| ItemKey { name: (*name).to_owned(), default: None }).collect()
}

/// Returns the value of a key in an item, or the key's default.
pub(super) fn key_value<'v>(item: &'v Value, key: &'v ItemKey) -> Option<&'v Value> {
    item.get(&key.name).or(key.default.as_ref())
}

/// Returns whether two items have the same keys.
pub(super) fn is_same(one: &Value, other: &Value, keys: &[ItemKey]) -> bool {
    keys.iter().all(|key| key_value(one, key) == key_value(other, key))
}

/// Returns whether every item has all keys, and no two items have the same ones.
fn are_identified(items: &[Value], keys: &[ItemKey]) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    items.iter().all(|item| {
        let parts: Option<Vec<String>> = keys.iter().map(|key| key_value(item, key).map(Value::to_string)).collect();
        parts.is_some_and(|parts| seen.insert(parts))
    })
}
