//! Reading a LlamaStackDistribution. Common misplacements of fields, some of which are in examples of the
//! specification, get a specific finding instead of the general one for unknown fields.

use super::SECTION;
use super::wire::{Api, ExternalProviders, LlamaStackDistribution};
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::wire::{Read as _, Reader};
use kubefoundry_transform::codes;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::text::{closest, shorten};
use kubefoundry_yaml::{Node, Value};

/// Returns the path of the external providers.
pub(super) fn providers_path() -> FieldPath {
    FieldPath::from(LlamaStackDistribution::path().spec().server().external_providers())
}

/// Reads a distribution. Misplaced fields are reported and removed first, so that they have only one finding.
pub(super) fn read(root: &Node<'_>, findings: &mut Findings<'_>) -> Option<LlamaStackDistribution> {
    let mut root = root.clone();
    report_misplaced_section(&mut root, findings);
    if let Some(server) = get_mut(&mut root, "spec").and_then(|spec| get_mut(spec, "server")) {
        report_misplaced_service_account(server, findings);
        if let Some(providers) = get_mut(server, "externalProviders") {
            report_unknown_sections(providers, findings);
            report_provider_types(providers, findings);
        }
    }
    LlamaStackDistribution::read(&root, &FieldPath::root(), &mut Reader::strict(findings))
}

/// Reports external providers outside of `spec.server`.
fn report_misplaced_section(root: &mut Node<'_>, findings: &mut Findings<'_>) {
    let mut at = |node: &mut Node<'_>, path: FieldPath, place: &str| {
        if !remove_entries(node, |key| key == SECTION).is_empty() {
            findings
                .report(&codes::UNKNOWN_FIELD, FieldRef::key(&path), format!("unknown field {SECTION:?} in {place}"))
                .help(format!("move it to {}", providers_path()));
        }
    };
    at(root, FieldPath::parse(SECTION), "the distribution");
    if let Some(spec) = get_mut(root, "spec") {
        at(spec, FieldPath::from(LlamaStackDistribution::path().spec()).key(SECTION), "spec");
    }
}

/// Reports a ServiceAccount in `spec.server`. An example of the specification has it there, but the CRD does not.
fn report_misplaced_service_account(server: &mut Node<'_>, findings: &mut Findings<'_>) {
    if remove_entries(server, |key| key == "serviceAccountName").is_empty() {
        return;
    }
    let path = LlamaStackDistribution::path().spec().server().key("serviceAccountName");
    findings
        .report(&codes::UNKNOWN_FIELD, FieldRef::key(&path), "unknown field \"serviceAccountName\" in spec.server")
        .help("set spec.server.podOverrides.serviceAccountName instead");
}

/// Reports sections of unknown APIs.
fn report_unknown_sections(providers: &mut Node<'_>, findings: &mut Findings<'_>) {
    let path = providers_path();
    let known = ExternalProviders::FIELDS;
    for key in remove_entries(providers, |key| !known.contains(&key)) {
        let message = format!("unknown field {:?} in {path}, expected an API: {}", shorten(&key), known.join(", "));
        let suggestion = Api::from_name(&key).map(Api::section).or_else(|| closest(&key, known.iter().copied()));
        let is_present = suggestion.is_some_and(|suggestion| providers.get(suggestion).is_some());
        let reported = findings.report(&codes::UNKNOWN_FIELD, FieldRef::key(&path.key(key)), message);
        if let Some(suggestion) = suggestion {
            if is_present {
                reported.help(format!("remove it: {suggestion:?} is already set"));
            } else {
                reported
                    .help(format!("did you mean {suggestion:?}?"))
                    .replace_with(format!("rename it to {suggestion}"), suggestion);
            }
        }
    }
}

/// Reports provider types in the distribution. The provider's image declares its type (FR-010).
fn report_provider_types(providers: &mut Node<'_>, findings: &mut Findings<'_>) {
    let Value::Mapping(sections) = &mut providers.value else { return };
    for section in sections {
        let path = providers_path().key(section.key.clone().into_owned());
        let Value::Sequence(items) = &mut section.node.value else { continue };
        for (index, item) in items.iter_mut().enumerate() {
            if remove_entries(item, |key| key == "providerType").is_empty() {
                continue;
            }
            let path = path.index(index);
            let message = format!("unknown field \"providerType\" in {path}");
            findings
                .report(&codes::UNKNOWN_FIELD, FieldRef::key(&path.join("providerType")), message)
                .help("remove it: the type is spec.providerType in the image's lls-provider-spec.yaml");
        }
    }
}

/// Returns a help text for a finding about a provider, with its id, image and init container (FR-030).
pub(super) fn provider_at(root: &Node<'_>, path: &FieldPath) -> Option<String> {
    let section = providers_path();
    let [Segment::Key(api), Segment::Index(index), ..] = path.segments().get(section.segments().len()..)? else {
        return None;
    };
    let provider = root.at(&section.key(api.clone()).index(*index)).filter(|_| path.starts_with(&section))?;
    let text_of = |key: &str| provider.get(key).and_then(Node::as_str).filter(|text| !text.is_empty());
    let image = text_of("image").unwrap_or("(none)");
    Some(text_of("providerId").map_or_else(
        || format!("correct this entry (image: {image}), and give its provider an id"),
        |id| format!("correct the entry of provider '{id}' (image: {image}, init container: external-provider-{id})"),
    ))
}

/// Removes the matching entries from a mapping and returns their keys.
fn remove_entries(node: &mut Node<'_>, is_match: impl Fn(&str) -> bool) -> Vec<String> {
    let Value::Mapping(entries) = &mut node.value else { return Vec::new() };
    let taken =
        entries.iter().filter(|entry| is_match(&entry.key)).map(|entry| entry.key.clone().into_owned()).collect();
    entries.retain(|entry| !is_match(&entry.key));
    taken
}

fn get_mut<'n, 't>(node: &'n mut Node<'t>, key: &str) -> Option<&'n mut Node<'t>> {
    match &mut node.value {
        Value::Mapping(entries) => entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node),
        _ => None,
    }
}
