//! A fast check for strings that need no quotes, as most strings of a manifest do not.
//!
//! Only a positive answer is definite. Everything that is not clearly a string in both YAML 1.1 and 1.2 is left to
//! serde-saphyr, which implements all of their rules.

/// Words that some reader resolves to a boolean, a null or a number.
static RESERVED_WORDS: [&str; 12] =
    ["y", "n", "on", "no", "yes", "nan", "inf", "off", "true", "null", "false", "infinity"];

/// Whether a value needs no quotes after `key:` or `-`.
pub(super) fn is_plain_value(text: &str) -> bool {
    starts_like_string(text) && all_bytes(text, VALUE_BYTE) && has_only_inner_colons(text)
        || text.contains(ARROW) && text.trim_matches(' ') == text && text.split(ARROW).all(is_plain_part)
}

/// The arrow in the annotation that tells why a provider was selected. It is the only character outside of ASCII in
/// generated text, and every reader takes it as a part of a string.
const ARROW: char = '\u{2192}';

/// Whether a part of a text with arrows is plain by itself, except for spaces around it.
fn is_plain_part(part: &str) -> bool {
    let trimmed = part.trim_matches(' ');
    starts_like_string(trimmed) && all_bytes(trimmed, VALUE_BYTE) && !trimmed.contains(':')
}

/// Whether a text of several lines can be written as a literal block without indicators: it ends with one line break,
/// and its lines are printable ASCII that neither starts nor ends with a space.
pub(super) fn is_plain_literal(text: &str) -> bool {
    let Some(body) = text.strip_suffix('\n') else { return false };
    let is_plain_line = |line: &str| {
        let is_printable = line.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        is_printable && !line.ends_with(' ')
    };
    body.contains('\n')
        && !body.starts_with([' ', '\n'])
        && !body.ends_with('\n')
        && body.split('\n').all(is_plain_line)
}

/// Whether a value consists of digits and dots, which always need quotes.
pub(super) fn is_decimal(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Whether a key needs no quotes. Long keys are excluded because they may need a `?` before them.
pub(super) fn is_plain_key(text: &str) -> bool {
    text.len() <= MAX_PLAIN_KEY_BYTES && starts_like_string(text) && all_bytes(text, KEY_BYTE)
}

/// YAML allows at most 1024 characters for a key without `?`; this is well below.
const MAX_PLAIN_KEY_BYTES: usize = 128;

/// The class of bytes in plain values: printable ASCII without `#`.
const VALUE_BYTE: u8 = 1;

/// The class of bytes in plain keys.
const KEY_BYTE: u8 = 2;

/// The classes of each byte, as bits. One lookup per byte is several times cheaper than comparisons.
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        if matches!(byte, b' '..=b'~') && byte != b'#' {
            classes[byte as usize] |= VALUE_BYTE;
        }
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/') {
            classes[byte as usize] |= KEY_BYTE;
        }
        byte += 1;
    }
    classes
};

/// Whether all bytes of a text belong to a class.
fn all_bytes(text: &str, class: u8) -> bool {
    text.bytes().fold(class, |all, byte| all & CLASSES.get(usize::from(byte)).copied().unwrap_or(0)) != 0
}

/// Whether a text ends without a space, and starts like no other type: with a letter, a `/`, the `--` of a flag, or a
/// digit that is followed by a letter which occurs in no number or date (`32Gi`).
fn starts_like_string(text: &str) -> bool {
    let bytes = text.as_bytes();
    let starts = match bytes {
        [first, ..] if first.is_ascii_alphabetic() => bytes.len() > MAX_RESERVED_WORD_BYTES || !is_reserved_word(text),
        [b'/', ..] => true,
        [b'-', b'-', third, ..] => third.is_ascii_alphabetic(),
        [b'0'..=b'9', rest @ ..] => rest.iter().any(|byte| is_never_in_number(*byte)),
        _ => false,
    };
    starts && bytes.last() != Some(&b' ')
}

/// Length of the longest of [`RESERVED_WORDS`].
const MAX_RESERVED_WORD_BYTES: usize = 8;

/// Whether a text is a boolean, a null or a number in words, which always needs quotes.
pub(super) fn is_reserved_word(text: &str) -> bool {
    RESERVED_WORDS.iter().any(|word| word.len() == text.len() && word.eq_ignore_ascii_case(text))
}

/// Whether a letter occurs in no hexadecimal, octal or binary number, exponent, date or time.
fn is_never_in_number(byte: u8) -> bool {
    matches!(byte.to_ascii_lowercase(), b'g'..=b'n' | b'p'..=b's' | b'u'..=b'w' | b'y')
}

/// Whether no colon is followed by a space or the end of the text, where it would end a key.
fn has_only_inner_colons(text: &str) -> bool {
    if memchr::memchr(b':', text.as_bytes()).is_none() {
        return true;
    }
    let mut after_colon = false;
    for byte in text.bytes() {
        if after_colon && byte == b' ' {
            return false;
        }
        after_colon = byte == b':';
    }
    !after_colon
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_only_strings_that_every_reader_takes_as_strings() {
        for text in [
            "Llama-3.1-8B",
            "32Gi",
            "--seed=1",
            "/models",
            "a:b",
            "nvidia.com/gpu",
            "http://a:80/b",
            "two words",
            "default \u{2192} dynamo",
        ] {
            assert!(is_plain_value(text), "{text}");
        }
        for text in [
            "",
            "y",
            "Off",
            "NULL",
            "NaN",
            "1",
            "0x1F",
            "1e3",
            "2024-01-01T00:00:00Z",
            "1:30",
            "0b_",
            "-1",
            "-",
            "---",
            "--",
            "a: b",
            "a:",
            "a #b",
            " a",
            "a ",
            "é",
            "a\nb",
            "[a",
            "\"a",
            ".5",
            "~",
            "<<",
            "=",
            "? a",
            "1_000",
            "\u{2192} a",
            "a \u{2192} b ",
            " a \u{2192} b",
            "a \u{2192} # b",
            "a: \u{2192} b",
        ] {
            assert!(!is_plain_value(text), "{text:?}");
        }
        assert!(is_decimal("0.9") && is_decimal("1.2.3") && !is_decimal("") && !is_decimal(".5") && !is_decimal("1e3"));
        assert!(is_plain_key("apiVersion") && !is_plain_key("a:b") && !is_plain_key("on"));
    }
}
