//! Provider entries of `run.yaml`, and the merge on values instead of text.

use serde_json::{Map, Value, json};

use super::Entry;
use crate::wire::Api;
use kubefoundry_yaml::Node;

/// Returns the entry of `run.yaml` for an external provider.
pub(super) fn provider(entry: &Entry) -> Value {
    let mut provider = json!({
        "provider_id": entry.provider_id,
        "provider_type": entry.metadata.provider_type,
        "module": entry.metadata.package_name,
    });
    if let (Some(config), Some(provider)) = (&entry.config, provider.as_object_mut()) {
        provider.insert("config".to_owned(), config.clone());
    }
    provider
}

/// Returns the entries of one API.
pub(super) fn entries_of_api<'e>(entries: &[&'e Entry], api: Api) -> Vec<&'e Entry> {
    entries.iter().copied().filter(|entry| entry.api == api).collect()
}

/// Returns whether an item of a section has the id of one of these providers, which then replaces it.
pub(super) fn is_replaced(item: &Node<'_>, entries: &[&Entry]) -> bool {
    let id = item.get("provider_id").and_then(Node::as_str).map(effective_id);
    id.is_some_and(|id| entries.iter().any(|entry| entry.provider_id == id))
}

/// Returns the id that a provider has when it is enabled. Distributions of llama-stack write `${env.OLLAMA_URL:+ollama}`
/// for a provider that exists only if a variable is set.
fn effective_id(id: &str) -> &str {
    let condition = id.strip_prefix("${env.").and_then(|rest| rest.strip_suffix('}'));
    condition.and_then(|condition| condition.split_once(":+")).map_or(id, |(_, id)| id)
}

/// Returns the base configuration with external providers as a value.
pub(super) fn tree(root: Option<&Node<'_>>, entries: &[&Entry], apis: &[Api]) -> Value {
    let mut tree = map(root.map(Node::to_json));
    let mut providers = map(tree.remove("providers"));
    let sections = root.and_then(|root| root.get("providers"));
    for api in Api::ALL {
        let entries = entries_of_api(entries, api);
        if entries.is_empty() {
            continue;
        }
        let items = sections.and_then(|sections| sections.get(api.as_str())).map_or(&[][..], Node::items);
        let kept = items.iter().filter(|item| !is_replaced(item, &entries)).map(Node::to_json);
        let section: Vec<Value> = kept.chain(entries.iter().map(|entry| provider(entry))).collect();
        providers.insert(api.as_str().to_owned(), Value::Array(section));
    }
    tree.insert("providers".to_owned(), Value::Object(providers));
    if let Some(list) = tree.get_mut("apis").and_then(Value::as_array_mut) {
        list.extend(apis.iter().map(|api| Value::from(api.as_str())));
    }
    Value::Object(tree)
}

fn map(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}
