//! Whether a text looks random, or only stands for a secret.

/// Whether a value looks as if a machine had drawn its characters.
pub(super) fn looks_random(value: &str) -> bool {
    let is_hash = value.len() >= 32 && value.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    let is_separated = |c: char| matches!(c, '-' | '_' | '.' | ':' | '/' | '@' | '[' | ']');
    let is_one_word = value.len() >= 20 && !value.contains(is_separated);
    let has = |is_one: fn(&u8) -> bool| value.bytes().any(|byte| is_one(&byte));
    let has_case = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    (16..=1024).contains(&value.len())
        && value.bytes().all(|byte| byte.is_ascii_graphic())
        && !value.contains("://")
        && !value.starts_with(['/', '.'])
        && !is_hash
        && digits >= 2
        && (has_case || (is_one_word && has(u8::is_ascii_alphabetic)))
        && !is_stand_in(value)
        // In words with a version, and in paths of fields, digits are apart from long words.
        && value.split(is_separated).any(|part| {
            part.len() >= 12 && has_mixed_characters(part) && part.bytes().any(|byte| byte.is_ascii_digit())
        })
}

/// Whether a text has both letters of one case, and digits or letters of the other case.
pub(super) fn has_mixed_characters(text: &str) -> bool {
    let has = |is_one: fn(&u8) -> bool| usize::from(text.bytes().any(|byte| is_one(&byte)));
    has(u8::is_ascii_lowercase) + has(u8::is_ascii_uppercase) + has(u8::is_ascii_digit) >= 2
}

/// Whether a text stands for a token in documentation: `xxxxxxxx`, `yourTokenHere`, `HF_TOKEN`.
pub(super) fn is_stand_in(text: &str) -> bool {
    let mut seen = 0_u128;
    for byte in text.bytes().filter(u8::is_ascii) {
        seen |= 1 << u32::from(byte.to_ascii_lowercase());
    }
    let is_repeated = seen.count_ones() <= 4 && text.len() > 8;
    let lower = || text.to_ascii_lowercase();
    let words = ["your", "placeholder", "redacted", "changeme", "xxxx"];
    let is_word_only = !text.bytes().any(|byte| byte.is_ascii_digit());
    // The name of a variable, or of a key in a Secret.
    let is_name = text.contains('_') && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    is_repeated
        || is_name
        || text.contains("****")
        || (is_word_only && words.iter().any(|word| lower().contains(word)))
        || ["password", "secret", "token", "unset"].contains(&lower().as_str())
}
