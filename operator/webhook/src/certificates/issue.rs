//! Issues certificates: each serving certificate is signed by a certificate authority of its own, whose key is then
//! dropped.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{RootCertStore, version};
use thiserror::Error;

/// Tolerated clock skew: a certificate is valid from this long before it is issued.
const SKEW: Duration = Duration::from_secs(3600);

/// Maximum lifetime of a certificate. A longer one cannot be encoded.
const MAX_LIFETIME: Duration = Duration::from_secs(100 * 365 * 86_400);

/// The reason why a certificate cannot be issued or used. No message contains a key.
#[derive(Debug, Error)]
pub(super) enum CertificateError {
    /// Issuing failed.
    #[error("issuing the certificate failed: {0}")]
    Issue(#[from] rcgen::Error),
    /// A key of the Secret is missing, or is not PEM.
    #[error("{0} is missing or not PEM")]
    Missing(&'static str),
    /// The key does not match the certificate, or a client would refuse it.
    #[error("{0}")]
    Refused(#[from] rustls::Error),
    /// A name that is neither a DNS name nor an IP address.
    #[error("{0:?} is not a valid server name")]
    Name(String),
}

/// A serving certificate with its key, as PEM. It has no `Debug`, so that the key cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) certificate: String,
    pub(super) key: String,
}

/// A new pair, and the certificate of the authority that signed it.
pub(super) struct Issued {
    pub(super) pair: Pair,
    pub(super) authority: String,
    pub(super) expires: SystemTime,
}

/// Creates an authority, and a certificate for these names that it signs. The key of the authority is dropped, so it
/// can sign nothing else: trust in the authority is trust in this certificate alone.
pub(super) fn issue(names: &[String], lifetime: Duration, now: SystemTime) -> Result<Issued, CertificateError> {
    let expires = now.checked_add(lifetime.min(MAX_LIFETIME)).unwrap_or(now);
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let valid = (epoch + since_epoch(now).saturating_sub(SKEW), epoch + since_epoch(expires));
    let subject = |name: &str| {
        let mut subject = DistinguishedName::new();
        subject.push(DnType::OrganizationName, "kubefoundry");
        subject.push(DnType::CommonName, name);
        subject
    };
    // A unique name for each authority: with equal names, verifiers would try the key of the wrong one first.
    let serial = since_epoch(now).as_millis();
    let mut parameters = CertificateParams::default();
    (parameters.not_before, parameters.not_after) = valid;
    parameters.distinguished_name = subject(&format!("kubefoundry webhooks CA {serial}"));
    parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let authority = CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)?;

    let key = KeyPair::generate()?;
    let mut parameters = CertificateParams::new(names)?;
    (parameters.not_before, parameters.not_after) = valid;
    parameters.distinguished_name = subject("kubefoundry webhooks");
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    parameters.use_authority_key_identifier_extension = true;
    let certificate = parameters.signed_by(&key, &authority)?;
    let pair = Pair { certificate: certificate.pem(), key: key.serialize_pem() };
    Ok(Issued { pair, authority: authority.pem(), expires })
}

fn since_epoch(time: SystemTime) -> Duration {
    // A clock before 1970 is at the epoch for the certificates.
    time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO)
}

/// Returns the names under which clients reach the webhooks: those of the Service, and the host of the URL if there is
/// one.
pub(super) fn names(service: &str, namespace: &str, url: Option<&str>) -> Vec<String> {
    let mut names = vec![format!("{service}.{namespace}.svc"), format!("{service}.{namespace}.svc.cluster.local")];
    let host = url.and_then(|url| url.parse::<http::Uri>().ok()?.host().map(str::to_owned));
    // Brackets belong to the URL, not to the IPv6 address.
    names.extend(host.map(|host| host.trim_matches(['[', ']']).to_owned()));
    names
}

/// Creates the configuration of a TLS server that uses this pair.
pub(super) fn server_config(pair: &Pair) -> Result<ServerConfig, CertificateError> {
    let chain = certificates(&pair.certificate);
    if chain.is_empty() {
        return Err(CertificateError::Missing("tls.crt"));
    }
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).map_err(|_| CertificateError::Missing("tls.key"))?;
    let mut server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&version::TLS13, &version::TLS12])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(server)
}

/// Checks that a client with this bundle trusts the certificate at this time under all of these names.
pub(super) fn verify(
    certificate: &str,
    bundle: &str,
    names: &[String],
    at: SystemTime,
) -> Result<(), CertificateError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates(bundle));
    if roots.is_empty() {
        return Err(CertificateError::Missing("ca.crt"));
    }
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let verifier = verifier.map_err(|_| CertificateError::Missing("ca.crt"))?;
    let chain = certificates(certificate);
    let (leaf, intermediates) = chain.split_first().ok_or(CertificateError::Missing("tls.crt"))?;
    let at = UnixTime::since_unix_epoch(since_epoch(at));
    for name in names {
        let server = ServerName::try_from(name.as_str()).map_err(|_| CertificateError::Name(name.clone()))?;
        verifier.verify_server_cert(leaf, intermediates, &server, &[], at)?;
    }
    Ok(())
}

/// Whether a text is valid as a name in a certificate.
pub(super) fn is_server_name(name: &str) -> bool {
    name.parse::<IpAddr>().is_ok() || ServerName::try_from(name).is_ok()
}

/// Parses the valid certificates of a PEM text.
pub(super) fn certificates(text: &str) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(text.as_bytes()).filter_map(Result::ok).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
    }

    #[test]
    fn a_certificate_is_trusted_for_its_names_and_lifetime() {
        let names = names("hooks", "system", Some("https://127.0.0.1:9443/x"));
        assert_eq!(names, ["hooks.system.svc", "hooks.system.svc.cluster.local", "127.0.0.1"]);
        let issued = issue(&names, Duration::from_secs(3600), at(0)).unwrap();
        let (certificate, authority) = (&issued.pair.certificate, &issued.authority);
        verify(certificate, authority, &names, at(0)).unwrap();
        verify(certificate, authority, &names, at(3599)).unwrap();
        let expired = verify(certificate, authority, &names, at(3602)).unwrap_err();
        assert!(matches!(expired, CertificateError::Refused(_)), "{expired}");
        assert!(verify(certificate, authority, &["other.system.svc".to_owned()], at(0)).is_err());
        server_config(&issued.pair).unwrap();
    }

    #[test]
    fn an_authority_verifies_only_its_own_certificate() {
        let names = names("hooks", "system", Some("https://[::1]:9443"));
        assert_eq!(names.last().unwrap(), "::1");
        let [first, second] = [0, 1].map(|time| issue(&names, Duration::from_secs(3600), at(time)).unwrap());
        assert!(verify(&first.pair.certificate, &second.authority, &names, at(1)).is_err());
        let both = second.authority + &first.authority;
        verify(&first.pair.certificate, &both, &names, at(1)).unwrap();
        verify(&second.pair.certificate, &both, &names, at(1)).unwrap();
        // A key and a certificate of different pairs are refused.
        assert!(server_config(&Pair { certificate: first.pair.certificate, key: second.pair.key }).is_err());
    }

    #[test]
    fn rejects_texts_that_are_not_certificates() {
        for text in ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            assert!(verify(text, text, &["a.b.svc".to_owned()], at(0)).is_err());
            assert!(server_config(&Pair { certificate: text.to_owned(), key: text.to_owned() }).is_err());
        }
    }
}
