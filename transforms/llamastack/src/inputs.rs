//! ConfigMaps of the input: the user's configuration, and the metadata of providers.

use crate::wire::{self, LlamaStackDistribution};
use std::collections::BTreeMap;

use super::merge::{self, Entry, Merged};
use super::package::{self, ProviderPackage};
use super::pod::Mode;
use super::server::{Provider, Server};
use super::{codes, external, objects};
use crate::ObjectSet;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_transform::InputObject;
use kubefoundry_transform::codes as shared;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::fingerprint;
use kubefoundry_yaml::infallible::to_json_text;
use kubefoundry_yaml::text::shorten;

/// The label of a ConfigMap with the metadata of a provider. Its value is the provider's id.
pub(super) const METADATA_LABEL: &str = "llamastack.io/provider-metadata";

/// Maximum size of a ConfigMap's data, in bytes (`MaxSecretSize` in `k8s.io/kubernetes/pkg/apis/core`).
pub(super) const MAX_CONFIG_MAP_BYTES: usize = 1024 * 1024;

/// Returns a value in the data of a ConfigMap.
pub(super) fn find_data<'n>(config_map: &'n Node<'_>, key: &str) -> Option<&'n str> {
    config_map.get("data")?.get(key)?.as_str()
}

/// Returns a hash of the data of a ConfigMap. The order of keys does not matter.
pub(super) fn hash_data<'d>(data: impl Iterator<Item = (&'d str, &'d str)>) -> String {
    let sorted: BTreeMap<&str, &str> = data.collect();
    fingerprint::sha256(to_json_text(&sorted).as_bytes())
}

/// The user's configuration, as far as it is in the input.
#[derive(Debug, Default)]
pub(super) struct UserConfig<'n> {
    /// The hash of its ConfigMap.
    pub(super) hash: Option<String>,
    /// The key of the configuration that is used, and its text.
    base: Option<(&'static str, &'n str)>,
}

/// Reads the user's ConfigMap, if it is in the input.
pub(super) fn read_user_config<'n>(
    server: &Server,
    mode: Mode,
    set: &ObjectSet<'n, '_>,
    findings: &mut Findings<'_>,
) -> UserConfig<'n> {
    let name = server.user_config.as_deref();
    let config_map = name.and_then(|name| set.find_input("", "ConfigMap", server.namespace.as_deref(), name));
    let (Some(name), Some((_, object))) = (name, config_map) else { return UserConfig::default() };
    let root = &object.root;
    let texts = |field: &str| {
        let entries = root.get(field).map(Node::entries).unwrap_or_default();
        entries.iter().filter_map(|entry| Some((&*entry.key, entry.node.as_str()?)))
    };
    let hash = hash_data(texts("data").chain(texts("binaryData")));
    // The operator starts the server with config.yaml, but the specification names run.yaml.
    let keys: &[&'static str] = if mode == Mode::Base { &["config.yaml"] } else { &["run.yaml", "config.yaml"] };
    let base = keys.iter().find_map(|key| Some((*key, find_data(root, key)?)));
    if base.is_none() {
        let keys = keys.join(" nor ");
        let neither = if mode == Mode::Base { "no" } else { "neither" };
        let message = format!("ConfigMap {name} has {neither} {keys} in its data");
        findings
            .report(
                &codes::UNUSABLE_USER_CONFIG,
                LlamaStackDistribution::path().spec().server().user_config().config_map_name(),
                message,
            )
            .related_in(object.source, object.document, object.root.span, "the ConfigMap")
            .help("rename the key with the configuration of the server to run.yaml");
    }
    UserConfig { hash: Some(hash), base }
}

/// Merges the configuration during rendering. Returns the ConfigMap and the hash of its content. If the pod runs the merge, it is
/// still tried here as far as the input suffices, to report errors that would otherwise occur in the pod.
pub(super) fn merge_configuration(
    server: &Server,
    mode: Mode,
    user: &UserConfig<'_>,
    set: &ObjectSet<'_, '_>,
    findings: &mut Findings<'_>,
) -> Option<(Manifest, String)> {
    let entries: Vec<Option<Entry>> = (0..)
        .zip(&server.providers)
        .map(|(order, provider)| merge_entry(order, provider, server, mode, set, findings))
        .collect();
    if mode == Mode::Static && user.hash.is_none() {
        report_missing_base(server, findings);
    }
    let (Some((key, base)), Some(name)) = (user.base, &server.user_config) else { return None };
    if matches!(mode, Mode::Base | Mode::Native) {
        return None;
    }
    // If the metadata of a provider is missing or has errors, only the base configuration can be checked.
    let complete: Option<Vec<Entry>> = entries.into_iter().collect();
    let complete = complete.filter(|_| !findings.has_errors()).unwrap_or_default();
    match merge::merge(Some(base), &complete) {
        Ok(merged) => {
            report_overridden(&server.providers, &merged, findings);
            (mode == Mode::Static).then(|| run_config_map(server, merged, findings))
        }
        Err(errors) => {
            for error in errors {
                let problem = match &error {
                    merge::MergeError::Base(base) => base.to_string(),
                    other => other.to_string(),
                };
                let message = format!("{key} of ConfigMap {name}, {problem}");
                findings
                    .report(
                        &codes::MERGE_IMPOSSIBLE,
                        LlamaStackDistribution::path().spec().server().user_config().config_map_name(),
                        message,
                    )
                    .help("correct the run.yaml in the user ConfigMap");
            }
            None
        }
    }
}

/// Reports that a static merge has no base configuration: no ConfigMap is named, or it is not in the input.
fn report_missing_base(server: &Server, findings: &mut Findings<'_>) {
    let at = LlamaStackDistribution::path().spec().server();
    let (location, message) = match &server.user_config {
        None => (
            FieldRef::from(at),
            "mergeMode: static needs the configuration in the input, but spec.server.userConfig is not set".to_owned(),
        ),
        Some(name) => (
            at.user_config().config_map_name().into(),
            format!("mergeMode: static needs ConfigMap {name} in the input"),
        ),
    };
    findings
        .report(&codes::MERGE_IMPOSSIBLE, location, message)
        .help("add the ConfigMap with run.yaml to the input, or set llamaStack.mergeMode to init");
}

/// Returns a provider with the metadata of its package. Returns `None` if the input has no metadata, which is an error only if
/// the merge happens during rendering.
fn merge_entry(
    order: u64,
    provider: &Provider,
    server: &Server,
    mode: Mode,
    set: &ObjectSet<'_, '_>,
    findings: &mut Findings<'_>,
) -> Option<Entry> {
    let provider_text = format!(
        "provider '{}' (image: {}, init container: {})",
        provider.id,
        provider.image,
        provider.container_name()
    );
    let config_maps: Vec<&InputObject<'_>> =
        set.inputs.iter().filter(|object| is_provider_metadata(object, provider, server)).collect();
    let Some(object) = config_maps.first() else {
        if mode == Mode::Static {
            let message = format!(
                "{provider_text}: mergeMode: static needs a ConfigMap with the label {METADATA_LABEL}: {} in the input",
                provider.id
            );
            findings.report(&codes::MERGE_IMPOSSIBLE, &provider.path.join("providerId"), message).help(
                "add one with lls-provider-spec.yaml from the provider's image, or set llamaStack.mergeMode to init",
            );
        }
        return None;
    };
    let name = &object.header.name;
    if let Some(second) = config_maps.get(1) {
        let message =
            format!("{provider_text}: its metadata is in ConfigMap {name} and in {}, expected one", second.header.name);
        findings
            .report(&codes::INVALID_PROVIDER_PACKAGE, &provider.path.join("providerId"), message)
            .related_in(second.source, second.document, second.root.span, "the second one")
            .help("remove the ConfigMap that was not copied from this image");
        return None;
    }
    let metadata = read_package(object, &provider_text, provider, findings)?;
    if metadata.api != provider.api {
        let (declared, listed) = (metadata.api, provider.api.section());
        let message = format!(
            "Provider API type mismatch: {provider_text} declares api={declared} in lls-provider-spec.yaml but is placed under externalProviders.{listed}"
        );
        findings
            .report(&codes::PROVIDER_API_MISMATCH, &provider.path.join("providerId"), message)
            .help(format!("Move the provider to externalProviders.{} section in the LLSD spec.", declared.section()));
        return None;
    }
    Some(Entry {
        provider_id: provider.id.clone(),
        api: provider.api,
        order,
        image: provider.image.clone(),
        config: provider.config.clone(),
        metadata,
    })
}

/// Returns whether an object is the ConfigMap with the metadata of a provider.
fn is_provider_metadata(object: &InputObject<'_>, provider: &Provider, server: &Server) -> bool {
    described_provider(object, server) == Some(&provider.id)
}

/// Returns the id of the provider that a ConfigMap in the server's namespace describes.
fn described_provider<'o>(object: &'o InputObject<'_>, server: &Server) -> Option<&'o str> {
    let header = &object.header;
    let is_near = &*header.kind == "ConfigMap"
        && header.group().is_empty()
        && header.namespace.as_deref() == server.namespace.as_deref();
    let labels = object.root.get("metadata").filter(|_| is_near)?.get("labels")?;
    labels.get(METADATA_LABEL).and_then(Node::as_str)
}

/// Reports metadata of a provider that no distribution in the server's namespace has.
pub(super) fn report_unused_metadata(server: &Server, set: &ObjectSet<'_, '_>, findings: &mut Findings<'_>) {
    let is_neighbor = |object: &&InputObject<'_>| {
        &*object.header.kind == wire::KIND && object.header.namespace.as_deref() == server.namespace.as_deref()
    };
    let neighbors: Vec<&InputObject<'_>> = set.inputs.iter().filter(is_neighbor).collect();
    let has_provider = |id: &str| {
        let sections =
            neighbors.iter().filter_map(|object| object.root.get("spec")?.get("server")?.get("externalProviders"));
        let mut providers = sections.flat_map(Node::entries).flat_map(|section| section.node.items());
        providers.any(|provider| provider.get("providerId").and_then(Node::as_str) == Some(id))
    };
    for object in set.inputs {
        let Some(id) = described_provider(object, server) else { continue };
        if server.providers.iter().any(|provider| provider.id == id) || has_provider(id) {
            continue;
        }
        let name = &object.header.name;
        let message = format!("ConfigMap {name} describes provider {:?}, which no distribution has", shorten(id));
        let at = LlamaStackDistribution::path().spec().server().external_providers();
        findings
            .report(&codes::UNUSED_PROVIDER_METADATA, at, message)
            .related_in(object.source, object.document, object.root.span, "the ConfigMap")
            .help(format!("correct the label {METADATA_LABEL}, or remove the ConfigMap"));
    }
}

/// Reads the metadata of a provider's package from its ConfigMap, and reports unknown fields and errors in it.
fn read_package(
    object: &InputObject<'_>,
    provider_text: &str,
    provider: &Provider,
    findings: &mut Findings<'_>,
) -> Option<ProviderPackage> {
    let name = &object.header.name;
    let result = match find_data(&object.root, package::FILE) {
        Some(text) => package::read(text).map_err(|error| format!("{provider_text}: ConfigMap {name}: {error}")),
        None => Err(format!("{provider_text}: ConfigMap {name} has no key {}", package::FILE)),
    };
    let is_missing = find_data(&object.root, package::FILE).is_none();
    let path = provider.path.join("providerId");
    match result {
        Ok(parsed) => {
            for warning in parsed.warnings {
                let message = format!("{provider_text}: {} in ConfigMap {name}: {warning}", package::FILE);
                findings.report(&shared::FIELD_IGNORED, &path, message).help("remove the field, or correct its name");
            }
            Some(parsed.package)
        }
        Err(message) => {
            findings
                .report(&codes::INVALID_PROVIDER_PACKAGE, &path, message)
                .related_in(object.source, object.document, object.root.span, "the ConfigMap")
                .help(if is_missing {
                    "store the provider's metadata under this key: copy lls-provider-spec.yaml from the provider's image"
                } else {
                    "correct lls-provider-spec.yaml in the provider's image, and copy it into the ConfigMap again"
                });
            None
        }
    }
}

/// Reports which providers of the configuration are replaced, with the texts of the merge log.
fn report_overridden(providers: &[Provider], merged: &Merged, findings: &mut Findings<'_>) {
    for warning in &merged.warnings {
        let is_named = |provider: &&Provider| warning.starts_with(&format!("External provider '{}' ", provider.id));
        let path =
            providers.iter().find(is_named).map_or_else(FieldPath::root, |provider| provider.path.join("providerId"));
        let mut lines = warning.lines().map(str::trim);
        let Some(first) = lines.next() else { continue };
        let message = format!("{first} ({})", lines.collect::<Vec<_>>().join(", "));
        findings
            .report(&codes::PROVIDER_OVERRIDDEN, &path, message)
            .help("give it another id to keep both: otherwise the external provider is used");
    }
}

/// Creates the ConfigMap with the merged configuration, and returns it with the hash of its data.
#[expect(clippy::expect_used, reason = "only a merge without a base configuration writes no run.yaml")]
fn run_config_map(server: &Server, merged: Merged, findings: &mut Findings<'_>) -> (Manifest, String) {
    let Merged { run_yaml, extra_providers_yaml, log, .. } = merged;
    let data = [
        ("run.yaml", run_yaml.expect("the merge had a base configuration")),
        ("extra-providers.yaml", extra_providers_yaml),
        ("merge-log.txt", log),
    ];
    let size: usize = data.iter().map(|(key, text)| key.len() + text.len()).sum();
    if size > MAX_CONFIG_MAP_BYTES {
        let name = server.object_name(external::RUN_CONFIG);
        let message = format!("ConfigMap {name} would have {size} bytes, expected at most {MAX_CONFIG_MAP_BYTES}");
        findings
            .report(
                &codes::MERGE_IMPOSSIBLE,
                LlamaStackDistribution::path().spec().server().external_providers(),
                message,
            )
            .help("set llamaStack.mergeMode to init, where the pod merges and has no such limit");
    }
    let hash = hash_data(data.iter().map(|(key, text)| (*key, text.as_str())));
    let data = data.map(|(key, text)| (key.to_owned(), text)).to_vec();
    (objects::config_map(server.object_name(external::RUN_CONFIG), data), hash)
}

#[cfg(test)]
mod tests {
    use super::hash_data;

    /// The expected hash is the output of `printf '{"a":"1","b":"2"}' | sha256sum`.
    #[test]
    fn hash_ignores_the_order_of_keys() {
        let expected = "21f76dfbfe6dfe21f762080ef484112cf2952974cef30741fd1931e1c6d92112";
        assert_eq!(hash_data([("a", "1"), ("b", "2")].into_iter()), expected);
        assert_eq!(hash_data([("b", "2"), ("a", "1")].into_iter()), expected);
    }
}
