//! Stores the certificate in a Secret that all replicas share.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use kube::api::ObjectMeta;

use super::issue::{CertificateError, Issued, Pair, is_server_name, issue, server_config, verify};

/// Keys of the Secret: those of the type `kubernetes.io/tls`, and for the bundle the key that cert-manager also uses.
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const BUNDLE: &str = "ca.crt";
/// When the certificate expires.
const EXPIRES: &str = "kubefoundry.ai/expires";
/// When the last of the earlier certificates expires whose authorities are still in the bundle.
const PREVIOUS_EXPIRE: &str = "kubefoundry.ai/previous-expire";
/// The names in the certificate. Replicas with different flags, as during an upgrade, share one certificate for all
/// names.
const NAMES: &str = "kubefoundry.ai/names";
/// Maximum number of CAs in a bundle. A replica that renews keeps the two newest ones of the bundle before it.
const MAX_AUTHORITIES: usize = 3;
/// Maximum number of names in a certificate. Beyond it the names of earlier flags are dropped.
const MAX_NAMES: usize = 16;

/// The content of the Secret. It has no `Debug`, since it contains a key.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct StoredCertificate {
    pub(super) pair: Pair,
    pub(super) bundle: String,
    names: Vec<String>,
    expires: Option<SystemTime>,
    previous_expire: Option<SystemTime>,
}

/// The maintenance that a stored certificate needs now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Maintenance {
    NotDue,
    /// Two thirds of its lifetime are over, or it is not usable.
    Renewal,
    /// The authorities of expired certificates have to be removed.
    Pruning,
}

impl StoredCertificate {
    /// Reads a Secret; none when one of its keys is missing.
    pub(super) fn read(secret: &Secret) -> Option<Self> {
        let text = |key| String::from_utf8(secret.data.as_ref()?.get(key)?.0.clone()).ok();
        let annotation = |key| secret.metadata.annotations.as_ref()?.get(key).map(String::as_str);
        let time = |key| Some(SystemTime::from(annotation(key)?.parse::<Timestamp>().ok()?));
        let names = annotation(NAMES).unwrap_or_default().split(',');
        Some(Self {
            pair: Pair { certificate: text(CERTIFICATE)?, key: text(KEY)? },
            bundle: text(BUNDLE)?,
            names: names.filter(|name| is_server_name(name)).map(str::to_owned).collect(),
            expires: time(EXPIRES),
            previous_expire: time(PREVIOUS_EXPIRE),
        })
    }

    /// Issues the first certificate, or the successor of one. The bundle keeps earlier authorities, so that replicas
    /// which still serve the old certificate stay trusted.
    pub(super) fn renew(
        before: Option<&Self>,
        names: &[String],
        lifetime: Duration,
        now: SystemTime,
    ) -> Result<Self, CertificateError> {
        let mut names = names.to_vec();
        let others = before.iter().flat_map(|before| before.names.clone());
        names.extend(others.filter(|name| !names.contains(name)).collect::<Vec<_>>());
        names.truncate(MAX_NAMES);
        let Issued { pair, authority, expires } = issue(&names, lifetime, now)?;
        let Some(before) = before else {
            return Ok(Self { pair, bundle: authority, names, expires: Some(expires), previous_expire: None });
        };
        // An old certificate of unknown lifetime is assumed to live as long as the new one.
        let previous_expire = before.expires.unwrap_or(expires).max(before.previous_expire.unwrap_or(now));
        let old = pem_blocks(&before.bundle).into_iter().take(MAX_AUTHORITIES - 1);
        let bundle = std::iter::once(authority.as_str()).chain(old).map(with_line_end).collect();
        Ok(Self { pair, bundle, names, expires: Some(expires), previous_expire: Some(previous_expire) })
    }

    /// Returns a bundle with the authorities of this certificate that it lacks.
    pub(super) fn add_to(&self, bundle: &str) -> String {
        let present = pem_blocks(bundle);
        let more = pem_blocks(&self.bundle).into_iter().filter(|block| !present.contains(block)).map(with_line_end);
        std::iter::once(bundle.to_owned()).chain(more).collect()
    }

    /// Drops the authorities of expired certificates.
    pub(super) fn pruned(&self) -> Self {
        let bundle = pem_blocks(&self.bundle).first().copied().map(with_line_end).unwrap_or_default();
        Self { bundle, previous_expire: None, ..self.clone() }
    }

    /// Checks that a server can use it now and that clients trust it.
    pub(super) fn check_usable(&self, names: &[String], now: SystemTime) -> Result<(), CertificateError> {
        server_config(&self.pair)?;
        verify(&self.pair.certificate, &self.bundle, names, now)
    }

    /// Returns the maintenance that is due now.
    pub(super) fn due(&self, names: &[String], lifetime: Duration, now: SystemTime) -> Maintenance {
        let later = now.checked_add(lifetime / 3).unwrap_or(now);
        let lasts = verify(&self.pair.certificate, &self.bundle, names, later);
        if self.check_usable(names, now).is_err() || lasts.is_err() {
            Maintenance::Renewal
        } else if self.previous_expire.is_some_and(|expire| expire <= now) {
            Maintenance::Pruning
        } else {
            Maintenance::NotDue
        }
    }

    /// Returns the given Secret, or a new one, with this certificate in it; the caller stores it. A given Secret keeps its
    /// resourceVersion, so that a concurrent write by another replica causes a conflict.
    pub(super) fn write(&self, secret: Option<Secret>, name: &str, namespace: &str) -> Secret {
        let mut secret = secret.unwrap_or_else(|| Secret {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            type_: Some("kubernetes.io/tls".to_owned()),
            ..Secret::default()
        });
        let data = [(CERTIFICATE, &self.pair.certificate), (KEY, &self.pair.key), (BUNDLE, &self.bundle)];
        let bytes = |text: &String| ByteString(text.clone().into_bytes());
        secret.data = Some(data.map(|(key, text)| (key.to_owned(), bytes(text))).into());
        secret.metadata.managed_fields = None;
        let labels = secret.metadata.labels.get_or_insert_with(BTreeMap::new);
        labels.insert("kubefoundry.ai/managed-by".to_owned(), "kubefoundry".to_owned());
        let annotations = secret.metadata.annotations.get_or_insert_with(BTreeMap::new);
        annotations.insert(NAMES.to_owned(), self.names.join(","));
        for (key, time) in [(EXPIRES, self.expires), (PREVIOUS_EXPIRE, self.previous_expire)] {
            match time.and_then(|time| Timestamp::try_from(time).ok()) {
                Some(time) => annotations.insert(key.to_owned(), time.to_string()),
                None => annotations.remove(key),
            };
        }
        secret
    }
}

/// Returns the PEM blocks of a bundle.
fn pem_blocks(bundle: &str) -> Vec<&str> {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    const END: &str = "-----END CERTIFICATE-----";
    let parts = bundle.split_inclusive(END).filter(|part| part.ends_with(END));
    parts.filter_map(|part| part.get(part.rfind(BEGIN)?..)).collect()
}

fn with_line_end(block: &str) -> String {
    format!("{}\n", block.trim_end())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    const LIFETIME: Duration = Duration::from_secs(9000);

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
    }

    fn names() -> Vec<String> {
        vec!["hooks.system.svc".to_owned()]
    }

    fn first() -> StoredCertificate {
        StoredCertificate::renew(None, &names(), LIFETIME, at(0)).unwrap()
    }

    #[test]
    fn a_certificate_survives_a_round_trip_through_its_secret() {
        let stored = StoredCertificate::renew(Some(&first()), &names(), LIFETIME, at(10)).unwrap();
        let secret = stored.write(None, "tls", "system");
        assert_eq!(secret.type_.as_deref(), Some("kubernetes.io/tls"));
        assert!(StoredCertificate::read(&secret).unwrap() == stored);
        // Labels that other clients added stay.
        let mut changed = secret.clone();
        changed.metadata.labels.as_mut().unwrap().insert("team".to_owned(), "a".to_owned());
        let again = first().write(Some(changed), "tls", "system");
        assert_eq!(again.metadata.labels.as_ref().unwrap().len(), 2);
        assert!(!again.metadata.annotations.as_ref().unwrap().contains_key(PREVIOUS_EXPIRE));
        let mut broken = secret;
        broken.data.as_mut().unwrap().remove(KEY);
        assert!(StoredCertificate::read(&broken).is_none());
    }

    #[test]
    fn renews_at_two_thirds_and_keeps_the_old_authority_until_its_certificate_expires() {
        let old = first();
        assert_eq!(old.due(&names(), LIFETIME, at(5900)), Maintenance::NotDue);
        assert_eq!(old.due(&names(), LIFETIME, at(6100)), Maintenance::Renewal);
        let new = StoredCertificate::renew(Some(&old), &names(), LIFETIME, at(6100)).unwrap();
        assert_eq!(pem_blocks(&new.bundle).len(), 2);
        // A replica that has not seen the renewal still serves the old certificate, so the new bundle must cover it.
        verify(&old.pair.certificate, &new.bundle, &names(), at(6100)).unwrap();
        verify(&new.pair.certificate, &new.bundle, &names(), at(6100)).unwrap();
        assert_eq!(new.due(&names(), LIFETIME, at(8999)), Maintenance::NotDue);
        assert_eq!(new.due(&names(), LIFETIME, at(9000)), Maintenance::Pruning);
        let pruned = new.pruned();
        assert_eq!(pem_blocks(&pruned.bundle).len(), 1);
        pruned.check_usable(&names(), at(9000)).unwrap();
        assert_eq!(pruned.due(&names(), LIFETIME, at(9000)), Maintenance::NotDue);
    }

    #[test]
    fn replicas_with_different_names_share_a_certificate_for_all_of_them() {
        let other = vec!["renamed.system.svc".to_owned()];
        let old = first();
        assert_eq!(old.due(&other, LIFETIME, at(0)), Maintenance::Renewal);
        let new = StoredCertificate::renew(Some(&old), &other, LIFETIME, at(1)).unwrap();
        assert_eq!(new.due(&other, LIFETIME, at(1)), Maintenance::NotDue);
        assert_eq!(new.due(&names(), LIFETIME, at(1)), Maintenance::NotDue);
    }

    #[test]
    fn a_pair_of_another_authority_is_trusted_beside_the_one_that_is_served() {
        let (served, foreign) = (first(), first());
        assert!(verify(&served.pair.certificate, &foreign.bundle, &names(), at(0)).is_err());
        let both = served.add_to(&foreign.bundle);
        for stored in [&served, &foreign] {
            verify(&stored.pair.certificate, &both, &names(), at(0)).unwrap();
        }
        // A renewed certificate has the authority already.
        let renewed = StoredCertificate::renew(Some(&served), &names(), LIFETIME, at(1)).unwrap();
        assert_eq!(served.add_to(&renewed.bundle), renewed.bundle);
    }

    #[test]
    fn a_bundle_has_at_most_three_authorities() {
        let mut stored = first();
        for time in 1..6 {
            stored = StoredCertificate::renew(Some(&stored), &names(), LIFETIME, at(time)).unwrap();
        }
        assert_eq!(pem_blocks(&stored.bundle).len(), 3);
        assert_eq!(super::super::issue::certificates(&stored.bundle).len(), 3);
    }

    #[test]
    fn renews_a_certificate_with_a_broken_bundle() {
        let mut stored = first();
        stored.bundle = "-----END CERTIFICATE-----".to_owned();
        assert_eq!(stored.due(&names(), LIFETIME, at(0)), Maintenance::Renewal);
        let new = StoredCertificate::renew(Some(&stored), &names(), LIFETIME, at(0)).unwrap();
        new.check_usable(&names(), at(0)).unwrap();
    }
}
