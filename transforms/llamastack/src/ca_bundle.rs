//! CA certificates that the server trusts. The certificates of several keys are combined into one file in a ConfigMap.
//!
//! Source: the managed CA bundle of `controllers/resource_helper.go` and its controller.

use super::inputs::MAX_CONFIG_MAP_BYTES;
use super::server::{CaBundle, Server};
use super::validate::check_ca_key;
use super::{codes, inputs, objects, paths};
use crate::ObjectSet;
use crate::wire::LlamaStackDistribution;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;

/// Maximum number of certificates, as in the upstream operator. Its limit of 10 MiB is not checked because a ConfigMap
/// cannot contain that much.
const MAX_CERTIFICATES: usize = 1000;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// The ConfigMap that the pod mounts for certificates.
#[derive(Debug)]
pub(super) struct CertificateMount {
    /// The name of the ConfigMap.
    pub(super) config_map: String,
    /// The key with the certificates.
    pub(super) key: String,
    /// The generated ConfigMap and the hash of its content. `None` if an existing one is mounted.
    pub(super) generated: Option<(Manifest, String)>,
}

/// Determines the certificates of a server, if it has a CA bundle. Returns `None` after reporting errors.
pub(super) fn prepare_mount(
    server: &Server,
    set: &ObjectSet<'_, '_>,
    findings: &mut Findings<'_>,
) -> Option<CertificateMount> {
    let bundle = server.ca_bundle.as_ref()?;
    let own = server.namespace.as_deref();
    let namespace = bundle.namespace.as_deref().or(own);
    let Some((_, source)) = set.find_input("", "ConfigMap", namespace, &bundle.config_map) else {
        return mount_directly(bundle, namespace == own, findings);
    };
    let mut certificates = Vec::new();
    let before = findings.error_count();
    // An invalid key was reported by validation.
    for (index, key) in bundle.keys.iter().enumerate().filter(|(_, key)| check_ca_key(key).is_ok()) {
        let place = FieldRef::value(&path().join("configMapKeys").index(index));
        let Some(text) = inputs::find_data(&source.root, key) else {
            let message = format!("ConfigMap {} has no key {key:?} with certificates", bundle.config_map);
            findings.report(&codes::UNUSABLE_CA_BUNDLE, place, message);
            continue;
        };
        match read(text) {
            Ok(read) => certificates.extend(read),
            Err(problem) => {
                let message = format!("key {:?} of ConfigMap {}: {problem}", shorten(key), bundle.config_map);
                findings.report(&codes::UNUSABLE_CA_BUNDLE, place, message);
            }
        }
    }
    let text = certificates.concat();
    let size = (certificates.len() > MAX_CERTIFICATES).then(|| format!("{} certificates", certificates.len()));
    let size =
        size.or_else(|| (text.len() > MAX_CONFIG_MAP_BYTES).then(|| format!("{} bytes of certificates", text.len())));
    if let Some(size) = size {
        let message = format!(
            "ConfigMap {} has {size}, expected at most {MAX_CERTIFICATES} in {MAX_CONFIG_MAP_BYTES} bytes",
            bundle.config_map
        );
        findings.report(&codes::UNUSABLE_CA_BUNDLE, &path(), message);
    }
    if findings.error_count() > before {
        return None;
    }
    let name = server.object_name("ca-bundle");
    let data = vec![(paths::CA_KEY.to_owned(), text)];
    let hash = inputs::hash_data(data.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    let generated = Some((objects::config_map(name.clone(), data), hash));
    Some(CertificateMount { config_map: name, key: paths::CA_KEY.to_owned(), generated })
}

/// Mounts a ConfigMap that is not in the input. This works for a single key of a ConfigMap in the pod's namespace.
fn mount_directly(bundle: &CaBundle, is_near: bool, findings: &mut Findings<'_>) -> Option<CertificateMount> {
    if let ([key], true) = (bundle.keys.as_slice(), is_near) {
        return Some(CertificateMount { config_map: bundle.config_map.clone(), key: key.clone(), generated: None });
    }
    let why = if is_near {
        format!("the certificates of its {} keys are combined in one file", bundle.keys.len())
    } else {
        "a pod mounts only ConfigMaps of its own namespace".to_owned()
    };
    let message = format!("ConfigMap {} must be in the input: {why}", bundle.config_map);
    findings
        .report(&codes::UNUSABLE_CA_BUNDLE, &path().join("configMapName"), message)
        .help("add the ConfigMap to the input");
    None
}

fn path() -> FieldPath {
    FieldPath::from(LlamaStackDistribution::path().spec().server().tls_config().ca_bundle())
}

/// Returns the certificates in a text, each as PEM with a final line break. Text between them is dropped.
fn read(text: &str) -> Result<Vec<String>, String> {
    let mut certificates = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(BEGIN) {
        let Some((body, after)) = after.split_once(END) else {
            return Err(format!("certificate {} has no END line", certificates.len() + 1));
        };
        let lines: Vec<&str> = body.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
        if lines.is_empty() || !lines.iter().all(|line| line.bytes().all(is_base64)) {
            return Err(format!("certificate {} is not PEM, expected base64", certificates.len() + 1));
        }
        certificates.push(format!("{BEGIN}\n{}\n{END}\n", lines.join("\n")));
        rest = after;
    }
    if certificates.is_empty() {
        return Err("found no certificate, expected PEM".to_owned());
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_told_from_what_is_between_them() {
        let one = format!("{BEGIN}\nTUlJ\n{END}\n");
        assert_eq!(read(&one), Ok(vec![one.clone()]));
        assert_eq!(
            read(&format!("# root\r\n{BEGIN}\r\n TUlJ\r\n{END}\r\nCN=x\n{one}")),
            Ok(vec![one.clone(), one.clone()])
        );
        for (text, problem) in [
            ("", "found no certificate, expected PEM"),
            ("-----BEGIN PRIVATE KEY-----", "found no certificate, expected PEM"),
            ("-----BEGIN CERTIFICATE-----\nTUlJ\n", "certificate 1 has no END line"),
            ("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----", "certificate 1 is not PEM, expected base64"),
            (
                "-----BEGIN CERTIFICATE-----\n$(rm)\n-----END CERTIFICATE-----",
                "certificate 1 is not PEM, expected base64",
            ),
        ] {
            assert_eq!(read(text), Err(problem.to_owned()), "{text:?}");
        }
    }
}
