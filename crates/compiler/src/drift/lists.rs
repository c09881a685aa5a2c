//! How the items of a list are told apart: by the CRD, when there is one, and else as Kubernetes has it for the fields of a
//! pod (`patchMergeKey` and `listMapKey` in `k8s.io/api/core/v1/types.go`).

use serde_json::Value;

use kubefoundry_model::provider::ListKeys;
use kubefoundry_model::providers::PROVIDERS;

/// A field that tells items apart, and its default.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ItemKey {
    pub(super) name: String,
    pub(super) default: Option<Value>,
}

/// What a list is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ListKind {
    /// One value: its items have an order, and there are no others.
    Atomic,
    /// Scalars without an order; others may add theirs.
    Set,
    /// Items with names; others may add theirs.
    Map(Vec<ItemKey>),
}

const fn row(field: &'static str, keys: &'static [&'static str]) -> ListKeys {
    ListKeys { field, keys }
}

/// The keys of lists of Kubernetes' own types. Providers know those of their objects.
const KUBERNETES: [ListKeys; 13] = [
    row("containers", &["name"]),
    row("env", &["name"]),
    row("ephemeralContainers", &["name"]),
    row("hostAliases", &["ip"]),
    row("imagePullSecrets", &["name"]),
    row("initContainers", &["name"]),
    row("ownerReferences", &["uid"]),
    row("resourceClaims", &["name"]),
    row("topologySpreadConstraints", &["topologyKey", "whenUnsatisfiable"]),
    row("volumeDevices", &["devicePath"]),
    row("volumeMounts", &["mountPath"]),
    row("volumes", &["name"]),
    row("volumeClaimTemplates", &["name"]),
];

/// What the list in a field is. `items` are the rendered and the live ones: where their keys do not tell them apart, it is
/// one value.
pub(super) fn kind(schema: Option<&Value>, field: &str, items: [&[Value]; 2]) -> ListKind {
    let said = match schema.and_then(|schema| schema.get("x-kubernetes-list-type")).and_then(Value::as_str) {
        Some("set") => return ListKind::Set,
        Some("map") => schema.map(keys_of).unwrap_or_default(),
        // A schema that says nothing of it means atomic.
        Some(_) => Vec::new(),
        None if schema.is_some() => Vec::new(),
        None => known(field, items),
    };
    let is_told_apart = !said.is_empty() && items.iter().all(|items| are_told_apart(items, &said));
    if is_told_apart { ListKind::Map(said) } else { ListKind::Atomic }
}

/// The keys by which people tell the items of a list apart, though it is one value.
pub(super) fn names(field: &str, items: [&[Value]; 2]) -> Option<Vec<ItemKey>> {
    let keys = known(field, items);
    (!keys.is_empty() && items.iter().all(|items| are_told_apart(items, &keys))).then_some(keys)
}

fn keys_of(schema: &Value) -> Vec<ItemKey> {
    let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
    let default = |name: &str| schema.pointer(&format!("/items/properties/{name}/default")).cloned();
    let keys = keys.into_iter().flatten().filter_map(Value::as_str);
    keys.map(|name| ItemKey { name: name.to_owned(), default: default(name) }).collect()
}

fn known(field: &str, items: [&[Value]; 2]) -> Vec<ItemKey> {
    let has = |name: &str| items.iter().flat_map(|items| *items).any(|item| item.get(name).is_some());
    if field == "ports" {
        // Of a container, or of a Service.
        let port = if has("containerPort") { "containerPort" } else { "port" };
        let protocol = ItemKey { name: "protocol".to_owned(), default: Some(Value::from("TCP")) };
        return vec![ItemKey { name: port.to_owned(), default: None }, protocol];
    }
    let of_providers = PROVIDERS.iter().flat_map(|provider| provider.info().list_keys);
    let rows = || of_providers.clone().chain(&KUBERNETES).filter(|row| row.field == field);
    let fits = |row: &&ListKeys| row.keys.first().is_some_and(|key| has(key));
    let row = rows().find(fits).or_else(|| rows().next_back());
    let keys = row.map(|row| row.keys).unwrap_or_default();
    keys.iter().map(|name| ItemKey { name: (*name).to_owned(), default: None }).collect()
}

/// The value of a key in an item.
pub(super) fn part<'v>(item: &'v Value, key: &'v ItemKey) -> Option<&'v Value> {
    item.get(&key.name).or(key.default.as_ref())
}

/// Whether two items are the same one.
pub(super) fn is_same(one: &Value, other: &Value, keys: &[ItemKey]) -> bool {
    keys.iter().all(|key| part(one, key) == part(other, key))
}

fn are_told_apart(items: &[Value], keys: &[ItemKey]) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    items.iter().all(|item| {
        let parts: Option<Vec<String>> = keys.iter().map(|key| part(item, key).map(Value::to_string)).collect();
        parts.is_some_and(|parts| seen.insert(parts))
    })
}
