//! `extra-providers.yaml`: the external providers alone, for a llama-stack that reads them itself.

use serde::Serialize;
use serde_json::Value;

use super::Entry;
use super::provider_entries::{entries_of_api, provider};
use crate::wire::Api;
use kubefoundry_yaml as yaml;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExternalProviders {
    api_version: &'static str,
    kind: &'static str,
    providers: Value,
}

pub(super) fn extra_providers(entries: &[&Entry]) -> String {
    let sections = Api::ALL.into_iter().map(|api| (api, entries_of_api(entries, api)));
    let sections = sections.filter(|(_, entries)| !entries.is_empty());
    let providers = sections.map(|(api, entries)| {
        (api.as_str().to_owned(), entries.iter().map(|entry| provider(entry)).collect::<Vec<_>>().into())
    });
    let file = ExternalProviders {
        api_version: "llamastack.io/v1alpha1",
        kind: "ExternalProviders",
        providers: Value::Object(providers.collect()),
    };
    let mut text = String::new();
    yaml::to_yaml(&file, &mut text);
    text
}
