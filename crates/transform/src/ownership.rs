//! Owner references of generated objects, for the garbage collector of Kubernetes.

use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::manifest::OwnerReference;

use crate::codes;

/// Returns a reference to an owner with the uid of the input. Returns `None` after reporting that the input has no uid:
/// with a stale or invented one, the garbage collector would delete the workload.
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
