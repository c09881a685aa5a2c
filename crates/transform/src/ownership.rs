//! Who owns a generated object, for the garbage collector of a cluster.

use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::manifest::OwnerReference;

use crate::codes;

/// The reference to an owner, with the uid of the input: with a stale or made-up one the garbage collector would delete the
/// workload. Without a uid there is none, and a finding says so.
pub fn owner_reference(
    api_version: String,
    kind: &str,
    name: &str,
    uid: Option<&str>,
    findings: &mut Findings<'_>,
) -> Option<OwnerReference> {
    let Some(uid) = uid else {
        findings
            .report(
                &codes::OWNER_WITHOUT_UID,
                "metadata",
                "ownerReferences need metadata.uid, which only objects from a cluster have",
            )
            .help("turn ownerReferences off to render manifests from files");
        return None;
    };
    let (kind, name, uid) = (kind.to_owned(), name.to_owned(), uid.to_owned());
    Some(OwnerReference { api_version, kind, name, uid, controller: true, block_owner_deletion: true })
}
