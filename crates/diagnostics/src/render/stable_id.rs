//! Identifiers of findings that do not change when lines move, so that a code host recognizes an old finding.

use std::collections::BTreeMap;

use super::checkout::Checkout;
use crate::Diagnostic;
use crate::source::SourceSet;
use kubefoundry_yaml::fingerprint::fnv1a_64;

/// Returns one identifier per finding, in order: a hash of code, file, object, field and message, and of the number of
/// earlier findings that are equal in all of these. Lines, columns and the number of the document are excluded because
/// they move.
pub(super) fn stable_ids(diagnostics: &[Diagnostic], sources: &SourceSet, checkout: &Checkout) -> Vec<String> {
    let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
    let id = |diagnostic: &Diagnostic| {
        let location = diagnostic.location.as_ref();
        let file = location.map(|location| sources.get(location.source).name.as_str());
        let file = file.and_then(|name| checkout.relative(name)).unwrap_or_default();
        let object = diagnostic.object.as_ref().map(ToString::to_string).unwrap_or_default();
        let path = location.map(|location| location.path.to_string()).unwrap_or_default();
        let parts = [diagnostic.code.id, &file, &object, &path, &diagnostic.message];
        let hash = fnv1a_64(parts.join("\0").as_bytes());
        let before = seen.entry(hash).or_default();
        let id = fnv1a_64(format!("{hash:016x}{before}").as_bytes());
        *before += 1;
        format!("{id:016x}")
    };
    diagnostics.iter().map(id).collect()
}
