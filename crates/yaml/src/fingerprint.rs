//! Hashes that are the same on every machine and in every version.

use sha2::{Digest as _, Sha256};

use crate::append;

/// Returns the 64-bit FNV-1a hash. The standard library's hasher may change between releases; FNV-1a is fixed by its
/// definition.
///
/// ```
/// assert_eq!(kubefoundry_yaml::fingerprint::fnv1a_64(b"foobar"), 0x8594_4171_f739_67e8);
/// ```
pub fn fnv1a_64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns the SHA-256 in hexadecimal, for names that must resist deliberate collisions.
///
/// ```
/// let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// assert_eq!(kubefoundry_yaml::fingerprint::sha256(b""), empty);
/// ```
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        append!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::fnv1a_64;

    /// The published test vectors. Names of live objects end in this hash, so it must never change.
    #[test]
    fn hash_is_fnv_1a() {
        assert_eq!(fnv1a_64(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a_64(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a_64(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
