//! Hashes of identities, which tell the few objects of a run that can collide from all others.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::manifest::Identity;

/// The hash of the identity of an object. Equal identities have equal hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IdentityHash(u64);

impl From<&Identity> for IdentityHash {
    fn from(Identity { group, kind, namespace, name }: &Identity) -> Self {
        Self::new(group, kind, namespace.as_deref(), name)
    }
}

impl From<&Header> for IdentityHash {
    fn from(header: &Header) -> Self {
        Self::new(header.group(), &header.kind, header.namespace.as_deref(), &header.name)
    }
}

impl IdentityHash {
    fn new(group: &str, kind: &str, namespace: Option<&str>, name: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        (group, kind, namespace, name).hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// The hashes that occur more than once. To sort numbers is much cheaper than to look up every object in a map.
pub(crate) struct RepeatedHashes(Vec<IdentityHash>);

impl FromIterator<IdentityHash> for RepeatedHashes {
    fn from_iter<I: IntoIterator<Item = IdentityHash>>(hashes: I) -> Self {
        let mut hashes: Vec<IdentityHash> = hashes.into_iter().collect();
        hashes.sort_unstable();
        let repeated = hashes.chunk_by(PartialEq::eq).filter(|equal| equal.len() > 1);
        Self(repeated.filter_map(|equal| equal.first().copied()).collect())
    }
}

impl RepeatedHashes {
    pub(crate) fn contains(&self, hash: IdentityHash) -> bool {
        !self.0.is_empty() && self.0.binary_search(&hash).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_repeated_hashes_are_contained() {
        let repeated: RepeatedHashes = [3, 1, 2, 3, 1, 3].map(IdentityHash).into_iter().collect();
        assert_eq!([0, 1, 2, 3].map(|hash| repeated.contains(IdentityHash(hash))), [false, true, false, true]);
    }

    /// The version of an object is not part of its identity.
    #[test]
    fn an_input_has_the_hash_of_the_object_that_is_generated_again() {
        let header = Header {
            api_version: "apps/v1beta1".into(),
            kind: "Deployment".into(),
            namespace: Some("ml".into()),
            name: "phi".into(),
        };
        let hash_of =
            |namespace: Option<&str>| IdentityHash::from(&Identity::new("apps/v1", "Deployment", namespace, "phi"));
        assert_eq!(IdentityHash::from(&header), hash_of(Some("ml")));
        assert_ne!(IdentityHash::from(&header), hash_of(None));
    }
}
