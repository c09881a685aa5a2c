//! Validation of external providers and of the uniqueness of their ids (FR-008 to FR-010, FR-020).

use std::collections::BTreeMap;

use crate::options::Options;
use crate::read::providers_path;
use crate::server::Provider;
use crate::wire::{Api, ExternalProvider, ExternalProviders, ImagePullPolicy};
use crate::{codes, options};
use kubefoundry_diagnostics::FieldRef;
use kubefoundry_kubernetes::check::{Checker, REVOKE, non_empty};
use kubefoundry_kubernetes::image::image_reference;
use kubefoundry_kubernetes::image::path_and_tag;
use kubefoundry_kubernetes::names;
use kubefoundry_transform::codes as shared;
use kubefoundry_yaml::edit::to_json_line;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;
use kubefoundry_yaml::{Node, Value, wide_integers};

/// Maximum length of an id. The name of the init container is `external-provider-<id>` and has at most 63 characters.
const MAX_PROVIDER_ID_LENGTH: usize = 63 - "external-provider-".len();

/// Maximum size of a provider's settings as JSON, in bytes. Linux does not start a program with an environment variable
/// of more than 128 KiB (`MAX_ARG_STRLEN`), including its name and terminator.
const MAX_CONFIG_BYTES: usize = 128 * 1024 - 64;

/// Validates the providers and returns them in order of installation.
pub(super) fn validate_providers(
    wire: Option<&ExternalProviders>,
    options: &Options<'_>,
    check: &mut Checker<'_, '_>,
) -> Vec<Provider> {
    let Some(wire) = wire else { return Vec::new() };
    let mut providers = Vec::new();
    for api in Api::ALL {
        let section = providers_path().key(api.section());
        for (index, provider) in wire.of_api(api).iter().enumerate() {
            providers.extend(validate_provider(provider, api, &section.index(index), options, check));
        }
    }
    report_duplicate_ids(&providers, check);
    providers
}

/// Validates one provider. Returns `None` if it has no id or no image.
fn validate_provider(
    wire: &ExternalProvider,
    api: Api,
    path: &FieldPath,
    options: &Options<'_>,
    check: &mut Checker<'_, '_>,
) -> Option<Provider> {
    let id_path = path.join("providerId");
    let id = non_empty(wire.provider_id.as_deref());
    if let Some(id) = id.filter(|id| id.len() > MAX_PROVIDER_ID_LENGTH && names::dns_1123_label(id).is_ok()) {
        let message = format!(
            "{id_path} has {} characters, expected at most {MAX_PROVIDER_ID_LENGTH}: its init container is named external-provider-{id}",
            id.len()
        );
        check.findings.report(&shared::NAME_TOO_LONG, &id_path, message);
    }
    let image_path = path.join("image");
    let image = non_empty(wire.image.as_deref());
    if let Some(image) = image.filter(|image| image_reference(image).is_ok()) {
        report_mutable_image(id.unwrap_or_default(), image, &image_path, check);
    }
    let config = validate_config(wire.config.as_ref(), id.unwrap_or_default(), image, &path.join("config"), check);
    Some(Provider {
        id: id?.to_owned(),
        image: options::mirrored_image(options, image?),
        pull_policy: wire.image_pull_policy.unwrap_or(ImagePullPolicy::IfNotPresent),
        api,
        config,
        path: path.clone(),
    })
}

/// Reports an image without a digest. The owner of a tag can change the code that runs in the server after a review.
fn report_mutable_image(id: &str, image: &str, path: &FieldPath, check: &mut Checker<'_, '_>) {
    if image.contains('@') {
        return;
    }
    let (_, tag) = path_and_tag(image);
    let pinning = match tag {
        None => "has no tag, which means :latest".to_owned(),
        Some("latest") => "has the tag latest".to_owned(),
        Some(tag) => format!("has the tag {tag} and no digest"),
    };
    let message = format!("provider '{id}' (image: {image}) {pinning}, so the package that is installed can change");
    check
        .findings
        .report(&codes::MUTABLE_PROVIDER_IMAGE, path, message)
        .help("pin the image by its digest: <image>@sha256:<64 hexadecimal digits>");
}

/// Validates a provider's settings, which can be any mapping.
fn validate_config(
    wire: Option<&Node<'static>>,
    id: &str,
    image: Option<&str>,
    path: &FieldPath,
    check: &mut Checker<'_, '_>,
) -> Option<serde_json::Value> {
    let config = wire?;
    if !matches!(config.value, Value::Mapping(_)) {
        let message = format!("{path} is {}, expected a mapping of the provider's settings", config.describe());
        check.findings.report(&shared::WRONG_TYPE, path, message);
        return None;
    }
    report_inline_secrets(config, id, image.unwrap_or_default(), path, check);
    report_wide_integers(config, path, check);
    let config = config.to_json();
    let length = to_json_line(&config).len();
    if length > MAX_CONFIG_BYTES {
        let message = format!(
            "{path} has {length} bytes as JSON, expected at most {MAX_CONFIG_BYTES}: a container gets it in an environment variable"
        );
        check.findings.report(&shared::OUT_OF_RANGE, path, message).help(format!(
            "put the settings into a file, mount it with spec.server.podOverrides, and give provider '{id}' (image: \
             {}) its path",
            image.unwrap_or_default()
        ));
    }
    Some(config)
}

/// Reports integers that Kubernetes, as any reader of JSON with 64 bits, makes floats of: their last digits are lost.
fn report_wide_integers(config: &Node<'_>, path: &FieldPath, check: &mut Checker<'_, '_>) {
    for wide in wide_integers(config, path, check.findings.scope().text) {
        let message = format!("{} is {}, which 64 bits cannot hold; expected a string", wide.path, shorten(wide.text));
        let quoted = format!("\"{}\"", wide.text);
        check
            .findings
            .report(&shared::WRONG_TYPE, &wide.path, message)
            .help(format!("quote it: {}", shorten(&quoted)))
            .replace_with("quote it", quoted);
    }
}

/// Reports settings that contain a literal secret, judging by their names. Everyone who can read the object or the repository
/// could read the secret.
fn report_inline_secrets(node: &Node<'_>, id: &str, image: &str, path: &FieldPath, check: &mut Checker<'_, '_>) {
    for (index, item) in node.items().iter().enumerate() {
        report_inline_secrets(item, id, image, &path.index(index), check);
    }
    for entry in node.entries() {
        let at = path.key(entry.key.clone().into_owned());
        let is_literal = match &entry.node.value {
            Value::String(value) => !value.is_empty() && !value.starts_with("${env."),
            // A password can consist of digits. A number of tokens is not a secret.
            Value::Integer(_) => !entry.key.to_ascii_lowercase().ends_with("token"),
            _ => false,
        };
        let has_password = matches!(&entry.node.value, Value::String(value) if has_password(value));
        if has_password || is_literal && names_a_secret(&entry.key) {
            let message = format!(
                "provider '{id}' (image: {image}) has a secret in its config as plain text: {:?}",
                shorten(&entry.key)
            );
            check
                .findings
                .report(&codes::INLINE_PROVIDER_SECRET, FieldRef::value(&at), message)
                .help(format!(
                    "set a variable in spec.server.containerSpec.env from a Secret, and write ${{env.NAME}} here; {REVOKE}"
                ))
                .conceal(&at);
        }
        report_inline_secrets(&entry.node, id, image, &at, check);
    }
}

/// Returns whether a key names a secret, such as `api_key`, `hfToken` or `db-password`, but not `max_tokens` or
/// `token_file`.
fn names_a_secret(key: &str) -> bool {
    let folded: String = key.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_ascii_lowercase();
    let words =
        ["apikey", "token", "password", "secret", "secretkey", "accesskey", "credential", "credentials", "bearer"];
    words.iter().any(|word| folded.ends_with(word))
}

/// Returns whether a text is a URL with a literal password, such as `https://user:pw@host/`.
fn has_password(text: &str) -> bool {
    let rest = text.split_once("://").map(|(_, rest)| rest);
    let authority = rest.map(|rest| rest.split_once(['/', '?', '#']).map_or(rest, |(authority, _)| authority));
    let user = authority.and_then(|authority| authority.rsplit_once('@')).and_then(|(user, _)| user.split_once(':'));
    user.is_some_and(|(_, password)| !password.is_empty() && !password.starts_with("${env."))
}

/// Reports duplicate ids. Two providers with one id would share a directory and the name of an init container.
fn report_duplicate_ids(providers: &[Provider], check: &mut Checker<'_, '_>) {
    let mut seen: BTreeMap<&str, &Provider> = BTreeMap::new();
    for provider in providers {
        let first = *seen.entry(&provider.id).or_insert(provider);
        if first.path == provider.path {
            continue;
        }
        let message = format!(
            "duplicate provider_id '{}' in externalProviders: found in both {} and {} API sections (images: {} and {}, init container: {})",
            provider.id,
            first.api.section(),
            provider.api.section(),
            first.image,
            provider.image,
            provider.container_name(),
        );
        check
            .findings
            .report(&codes::DUPLICATE_PROVIDER_ID, &provider.path.join("providerId"), message)
            .related(&first.path.join("providerId"), "first used here")
            .help("give each provider its own id");
    }
}

#[cfg(test)]
mod tests {
    use super::{has_password, names_a_secret};

    #[test]
    fn recognizes_passwords_in_urls() {
        assert!(has_password("https://u:pw@h/") && has_password("postgresql://u:p@h:5432/db?a=b"));
        for text in
            ["https://u@h/", "https://h/a:b@c", "https://u:@h/", "https://u:${env.PW}@h", "u:pw@h", "http://h:80"]
        {
            assert!(!has_password(text), "{text}");
        }
    }

    #[test]
    fn recognizes_keys_of_secrets() {
        for key in [
            "api_key",
            "apiKey",
            "API-KEY",
            "token",
            "hf_token",
            "password",
            "db.password",
            "secret_key",
            "client_secret",
            "api_token",
            "secret",
            "credentials",
            "bearer",
        ] {
            assert!(names_a_secret(key), "{key}");
        }
        for key in ["max_tokens", "token_file", "passwordless", "secret_name", "url", "key"] {
            assert!(!names_a_secret(key), "{key}");
        }
    }
}
