//! Conversion between byte offsets and the offsets of JavaScript, which count UTF-16 units.

/// Returns the byte offset of an offset in UTF-16 units. One past the end stands for the end, and one inside of a
/// character for its start.
pub(crate) fn to_bytes(text: &str, units: usize) -> usize {
    let mut passed = 0;
    for (at, character) in text.char_indices() {
        passed += character.len_utf16();
        if passed > units {
            return at;
        }
    }
    text.len()
}

/// Returns the offset in UTF-16 units of a byte offset.
pub(crate) fn to_units(text: &str, bytes: usize) -> usize {
    text.char_indices().take_while(|(at, _)| *at < bytes).map(|(_, character)| character.len_utf16()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_survives_the_round_trip() {
        let text = "a: é😀b\r\nü";
        for at in text.char_indices().map(|(at, _)| at).chain([text.len()]) {
            assert_eq!(to_bytes(text, to_units(text, at)), at, "{at}");
        }
        assert_eq!(to_units(text, text.find('b').unwrap()), 6);
        assert_eq!(to_bytes(text, 5), text.find('😀').unwrap(), "the second half of a pair");
        assert_eq!(to_bytes(text, 99), text.len());
    }
}
