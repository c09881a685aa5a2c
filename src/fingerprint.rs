//! A short name for a text, the same on every machine and in every version.

/// FNV-1a of 64 bits. The standard library's hasher may change from one release to the next; this one is a definition.
///
/// ```
/// assert_eq!(kubefoundry::fingerprint::fnv1a_64(b"foobar"), 0x8594_4171_f739_67e8);
/// ```
pub fn fnv1a_64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::fnv1a_64;

    /// The published test vectors: names of live objects end in this hash, so it may never change.
    #[test]
    fn hash_is_fnv_1a() {
        assert_eq!(fnv1a_64(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a_64(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a_64(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
