//! Hashes in names and annotations.

/// Formats the first 16 hexadecimal digits of a digest.
pub fn short_hex(digest: &[u8]) -> String {
    digest.iter().take(8).fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_hash_has_sixteen_digits() {
        assert_eq!(short_hex(&[0, 1, 0xab, 0xff, 4, 5, 6, 7, 8, 9]), "0001abff04050607");
    }
}
