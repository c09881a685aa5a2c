//! Names for findings that stay the same while lines move, so that a code host knows an old finding again.

use std::collections::BTreeMap;

use super::checkout::Checkout;
use crate::Diagnostic;
use crate::source::SourceSet;
use kubefoundry_yaml::fingerprint::fnv1a_64;

/// One name for each finding, in their order: a hash of code, file, object, field and message, and of how many findings
/// before it have the same. Lines, columns and the number of the document are left out: they move.
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
