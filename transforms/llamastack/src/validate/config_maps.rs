//! Validation of references to ConfigMaps.

use crate::server::CaBundle;
use crate::{codes, wire};
use kubefoundry_kubernetes::check::{Checker, non_empty};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;

/// Validates the user's ConfigMap. A pod can mount only ConfigMaps of its own namespace. The upstream operator ignores another
/// namespace and uses a ConfigMap of that name in the pod's.
pub(super) fn validate_user_config(
    wire: Option<&wire::UserConfig>,
    own_namespace: Option<&str>,
    path: &FieldPath,
    check: &mut Checker<'_, '_>,
) -> Option<String> {
    let wire::UserConfig { config_map_name, config_map_namespace } = wire?;
    if let Some(namespace) = non_empty(config_map_namespace.as_deref())
        && own_namespace != Some(namespace)
    {
        let path = path.join("configMapNamespace");
        let expected = own_namespace.map_or_else(
            || "the namespace of the distribution, which is not set".to_owned(),
            |own_namespace| format!("{own_namespace:?}, the namespace of the distribution"),
        );
        let message = format!(
            "{path} is {:?}, expected {expected}: a pod mounts only ConfigMaps of its own namespace",
            shorten(namespace)
        );
        check
            .findings
            .report(&codes::UNUSABLE_USER_CONFIG, &path, message)
            .help("copy the ConfigMap to that namespace, and remove configMapNamespace");
    }
    non_empty(config_map_name.as_deref()).map(str::to_owned)
}

/// The default key of certificates in a ConfigMap.
const CA_KEY: &str = "ca-bundle.crt";

/// Validates the keys of the ConfigMap with certificates. Without keys, the default is `ca-bundle.crt`.
pub(super) fn validate_ca_bundle(wire: Option<&wire::TlsConfig>, check: &mut Checker<'_, '_>) -> Option<CaBundle> {
    let wire = wire?.ca_bundle.as_ref()?;
    let path = FieldPath::from(wire::LlamaStackDistribution::path().spec().server().tls_config().ca_bundle());
    let namespace = non_empty(wire.config_map_namespace.as_deref());
    let mut keys = wire.config_map_keys.clone().unwrap_or_default();
    let path = path.join("configMapKeys");
    for (index, key) in keys.iter().enumerate() {
        if let Err(problem) = check_ca_key(key) {
            check
                .findings
                .report(&codes::UNUSABLE_CA_BUNDLE, &path.index(index), problem)
                .help("use only letters, digits, '-', '_' and '.', with a letter or digit at the start and the end");
        }
    }
    if keys.is_empty() {
        keys.push(CA_KEY.to_owned());
    }
    let config_map = non_empty(wire.config_map_name.as_deref())?.to_owned();
    Some(CaBundle { config_map, namespace: namespace.map(str::to_owned), keys })
}

/// Checks a key like the upstream operator: in the same order and with the same messages.
pub(crate) fn check_ca_key(key: &str) -> Result<(), String> {
    let is_alphanumeric = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = key.as_bytes();
    let has_only_allowed = bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    let problem = if key.is_empty() {
        return Err("ConfigMap key cannot be empty".to_owned());
    } else if key.len() > 253 {
        "too long (max 253 characters)"
    } else if key.contains("..") || key.contains('/') {
        "contains invalid path characters"
    } else if !has_only_allowed || !is_alphanumeric(bytes.first()) || !is_alphanumeric(bytes.last()) {
        "contains invalid characters. Only alphanumeric characters, hyphens, underscores, and dots are allowed"
    } else {
        return Ok(());
    };
    Err(format!("failed to validate ConfigMap key '{}': {problem}", shorten(key)))
}
