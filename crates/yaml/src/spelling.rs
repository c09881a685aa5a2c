//! The spellings of a word in a text that has not been parsed.
//!
//! Almost every word of a YAML or JSON document stands in its text as it is: folding, literal blocks, anchors, merge
//! keys and explicit keys (`? kind`) move or repeat words, but do not change them. Only three things do, and all of
//! them are resolved or assumed here, so that a text in which a word is not found does not have it:
//!
//! - escapes in double quotes: `"Model\x44eployment"`, and a line break that a backslash removes;
//! - UTF-16, in which a NUL accompanies each letter;
//! - base64 under the tag `!!binary`, which may itself be spelled with escapes, in angle brackets, or by a `%TAG`
//!   directive.

use std::borrow::Cow;
use std::cell::OnceCell;

/// The line breaks of YAML 1.1. A backslash before one joins two lines in double quotes.
const LINE_BREAKS: [&[u8]; 6] =
    [b"\r\n", b"\n", b"\r", "\u{85}".as_bytes(), "\u{2028}".as_bytes(), "\u{2029}".as_bytes()];

/// Returns whether `contains` finds a word in a text, whatever its spelling. The answer `false` is always right; `true`
/// is wrong for some texts with the tag `!!binary`, whose values are not decoded.
///
/// ```
/// use kubefoundry_yaml::spelling::may_spell;
/// let is_model = |text: &[u8]| text.windows(5).any(|word| word == b"Model");
/// assert!(may_spell(b"kind: Model", is_model));
/// assert!(may_spell(br#"kind: "M\x6fdel""#, is_model));
/// assert!(may_spell(b"kind: !!binary TW9kZWw=", is_model));
/// assert!(!may_spell(br#"kind: "M\todel""#, is_model));
/// ```
pub fn may_spell(text: &[u8], contains: impl Fn(&[u8]) -> bool) -> bool {
    SpelledText::new(text).may_spell(contains)
}

/// A text that is searched for several words; see [`may_spell`]. It is decoded once, when the first one is not found.
#[derive(Debug)]
pub struct SpelledText<'t> {
    written: &'t [u8],
    decoded: OnceCell<Decoded<'t>>,
}

/// What a text may spell besides what is written.
#[derive(Debug)]
enum Decoded<'t> {
    Nothing,
    Anything,
    Text(Cow<'t, [u8]>),
}

impl<'t> SpelledText<'t> {
    /// Takes the bytes of a text.
    pub fn new(text: &'t [u8]) -> Self {
        Self { written: text, decoded: OnceCell::new() }
    }

    /// Returns whether `contains` finds a word in the text, whatever its spelling.
    pub fn may_spell(&self, contains: impl Fn(&[u8]) -> bool) -> bool {
        contains(self.written)
            || match self.decoded.get_or_init(|| Decoded::new(self.written)) {
                Decoded::Nothing => false,
                Decoded::Anything => true,
                Decoded::Text(plain) => contains(plain),
            }
    }
}

impl<'t> Decoded<'t> {
    fn new(text: &'t [u8]) -> Self {
        let letters = without_nuls(text);
        if may_be_binary(&letters) {
            return Self::Anything;
        }
        match without_escapes(&letters) {
            Cow::Owned(plain) => Self::Text(Cow::Owned(plain)),
            Cow::Borrowed(_) => match letters {
                Cow::Owned(letters) => Self::Text(Cow::Owned(letters)),
                Cow::Borrowed(_) => Self::Nothing,
            },
        }
    }
}

fn without_nuls(text: &[u8]) -> Cow<'_, [u8]> {
    match memchr::memchr(0, text) {
        None => Cow::Borrowed(text),
        Some(_) => text.iter().copied().filter(|byte| *byte != 0).collect(),
    }
}

/// Returns whether a text has what may be the tag of base64: `!!b…`, `!<tag:…>`, the same with an escaped first letter,
/// or a directive that redefines other tags.
pub fn may_be_binary(text: &[u8]) -> bool {
    let is_tag = |at: usize| matches!(text.get(at + 1..), Some([b'!', b'b' | b'%', ..] | [b'<', b't' | b'%', ..]));
    memchr::memchr_iter(b'!', text).any(is_tag) || memchr::memmem::find(text, b"%TAG").is_some()
}

/// Replaces the escapes that stand for a part of a word, and drops line breaks after a backslash with the indentation
/// that follows. All other escapes stand for what is in no word.
fn without_escapes(text: &[u8]) -> Cow<'_, [u8]> {
    let mut plain: Vec<u8> = Vec::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(distance) = text.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let backslash = at + distance;
        // Most escapes stand for a quote or a line break: `\"`, `\n`.
        if !matches!(text.get(backslash + 1), Some(b'\n' | b'\r' | 0xc2 | 0xe2 | b'x' | b'u' | b'U' | b'/' | b'\\')) {
            at = backslash + 1;
            continue;
        }
        let (replacement, length) = read_escape(text.get(backslash + 1..).unwrap_or_default());
        at = (backslash + 1 + length).min(text.len());
        if let Some(replacement) = replacement {
            plain.extend(text.get(copied..backslash).unwrap_or_default());
            plain.extend(replacement.into_bytes());
            copied = at;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    plain.extend(text.get(copied..).unwrap_or_default());
    Cow::Owned(plain)
}

/// Returns what the escape with these bytes after its backslash stands for, and how many of them belong to it. `None`
/// is an escape that stays.
fn read_escape(rest: &[u8]) -> (Option<String>, usize) {
    if let Some(line_break) = LINE_BREAKS.into_iter().find(|line_break| rest.starts_with(line_break)) {
        let blanks = rest.get(line_break.len()..).unwrap_or_default();
        let blanks = blanks.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        return (Some(String::new()), line_break.len() + blanks);
    }
    let digits = match rest.first() {
        Some(b'x') => 2,
        Some(b'u') => 4,
        Some(b'U') => 8,
        Some(b'/') => return (Some("/".to_owned()), 1),
        // The second backslash starts no escape of its own.
        Some(b'\\') => return (None, 1),
        _ => return (None, 0),
    };
    let code = rest.get(1..=digits).and_then(|digits| std::str::from_utf8(digits).ok());
    match code.and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32) {
        Some(c) => (Some(c.to_string()), 1 + digits),
        None => (None, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Node, Value, parse};
    use proptest::prelude::*;

    fn may_spell_word(text: impl AsRef<[u8]>) -> bool {
        may_spell(text.as_ref(), |text| memchr::memmem::find(text, b"a.b/Kind").is_some())
    }

    #[test]
    fn finds_a_word_in_any_spelling() {
        let utf16 = "kind: \"a\\u002eb/Kind\"".encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
        assert!(may_spell_word(utf16));
        for text in [
            "a.b/Kind",
            r#""a.b\/Kind""#,
            r#""a\x2Eb/Kin\U00000064""#,
            "\"a.b/\\\n   Kind\"",
            "\"a.b/\\\r\n\tKind\"",
            "\"a.b/\\\u{2028}Kind\"",
            r#""\\\x61.b/Kind""#,
            "a\0.\0b\0/\0K\0i\0n\0d\0",
            "!!binary YS5iL0tpbmQ=",
            "!!%62inary YS5iL0tpbmQ=",
            "{k: !<tag:yaml.org,2002:binary> YS5iL0tpbmQ=}",
            "!<%74ag:yaml.org,2002:binary> YS5iL0tpbmQ=",
            "%TAG !e! tag:yaml.org,2002:bi\n---\n!e!nary YS5iL0tpbmQ=",
            "!\0!\0b\0i\0n\0a\0r\0y\0",
        ] {
            assert!(may_spell_word(text), "{text:?}");
        }
        for text in [
            "",
            "\\",
            "\"a.b/\\nKind\"",
            r#""a.b/\\x4bind""#,
            r#""\x", "\u12", "\U110000000""#,
            "#!/bin/sh\n[ ! -f x ] || echo done!! && echo !<(x)",
            "!Ref x",
            "! x",
            "!!str x",
            "a.b/\n\n  Kind",
        ] {
            assert!(!may_spell_word(text), "{text:?}");
        }
    }

    const PIECES: &[&str] = &[
        "a.b",
        "\\x2e",
        "b",
        "/",
        "\\/",
        "Kind",
        "K",
        "ind",
        "\\u004b",
        "\\\n  ",
        "\\\\",
        "\\",
        "\"",
        "'",
        " ",
        "\n",
        "\n  ",
        "k: ",
        "? ",
        "!!binary ",
        "YS5iL0tpbmQ=",
        "!x ",
        "&x ",
        "*x",
        "<<: ",
        "{",
        "}",
        "[",
        "]",
        ", ",
        ": ",
        "- ",
        "|\n  ",
        ">-\n  ",
        "---\n",
        "%TAG ! tag:yaml.org,2002:\n",
        "!binary ",
        "\t",
        "#",
    ];

    fn has_word(node: &Node<'_>) -> bool {
        match &node.value {
            Value::String(text) => text.contains("a.b/Kind"),
            Value::Sequence(items) => items.iter().any(has_word),
            Value::Mapping(entries) => entries.iter().any(|it| it.key.contains("a.b/Kind") || has_word(&it.node)),
            _ => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 16384, failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever the parser reads as the word is found without it.
        #[test]
        fn no_word_of_a_document_is_missed(pieces in proptest::collection::vec(0..PIECES.len(), 0..12)) {
            let text: String = pieces.iter().map(|piece| PIECES[*piece]).collect();
            let documents = parse(&text, &Limits::default()).documents;
            if documents.iter().any(|document| has_word(&document.root)) {
                prop_assert!(may_spell_word(&text), "{:?}", text);
            }
        }
    }
}
