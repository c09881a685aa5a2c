//! Tokens by their form, and private keys.

use std::ops::Range;

use super::random::{has_mixed_characters, is_stand_in, looks_random};

/// A kind of token that its form identifies.
struct TokenForm {
    /// What the token starts with. A masked token keeps it.
    prefix: &'static str,
    /// Minimum number of characters after the prefix.
    min_length: usize,
    is_body: fn(u8) -> bool,
    /// Where the prefix has the first of [`MARKS`], by which it is found.
    mark: usize,
}

/// Bytes that are rare in texts, one of which is in each prefix.
pub(super) const MARKS: &[u8] = b"_AGS9J-";

const fn is_mark(byte: u8) -> bool {
    let mut at = 0;
    while at < MARKS.len() {
        if MARKS[at] == byte {
            return true;
        }
        at += 1;
    }
    false
}

const fn form(prefix: &'static str, min_length: usize, is_body: fn(u8) -> bool) -> TokenForm {
    let mut mark = 0;
    while !is_mark(prefix.as_bytes()[mark]) {
        mark += 1;
    }
    TokenForm { prefix, min_length, is_body, mark }
}

/// Sources: the documentation of each issuer, and the rules of gitleaks (`config/gitleaks.toml`). The shortest lengths
/// are below those of the issuers, so that a token that was cut off at its end is one, too.
const TOKEN_FORMS: &[TokenForm] = &[
    form("hf_", 20, is_alphanumeric),
    form("api_org_", 20, is_alphanumeric),
    form("AKIA", 16, is_upper_alphanumeric),
    form("ASIA", 16, is_upper_alphanumeric),
    form("AIza", 30, is_word),
    form("GOCSPX-", 20, is_word),
    form("ya29.", 20, is_word),
    form("AccountKey=", 40, is_base64),
    form("SharedAccessKey=", 40, is_base64),
    form("ghp_", 30, is_alphanumeric),
    form("gho_", 30, is_alphanumeric),
    form("ghu_", 30, is_alphanumeric),
    form("ghs_", 30, is_jwt),
    form("ghr_", 30, is_alphanumeric),
    form("github_pat_", 22, is_word),
    form("glpat-", 20, is_jwt),
    form("gldt-", 20, is_word),
    form("glrt-", 20, is_jwt),
    form("sk-", 20, is_word),
    form("nvapi-", 30, is_word),
    form("xoxb-", 20, is_word),
    form("xoxp-", 20, is_word),
    form("xoxa-", 20, is_word),
    form("xoxr-", 20, is_word),
    form("xoxs-", 20, is_word),
    form("xoxe-", 20, is_word),
    form("xapp-", 20, is_word),
    form("dckr_pat_", 20, is_word),
    form("eyJ", 30, is_jwt),
];

/// How certain it is that a whole text is a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenLikeness {
    /// It has the form of one.
    Form,
    /// It has such a form, but words with dashes can have it, too.
    LooseForm,
    /// It looks random.
    Random,
}

/// Returns how certain it is that a text, which should be a name, is a token instead.
pub fn token_likeness(text: &str) -> Option<TokenLikeness> {
    let text = text.trim();
    let is_token = is_token(text);
    match text {
        _ if is_token && text.starts_with("sk-") => Some(TokenLikeness::LooseForm),
        _ if is_token || find_key_block(text, 0).is_some() => Some(TokenLikeness::Form),
        _ if looks_random(text) => Some(TokenLikeness::Random),
        _ => None,
    }
}

/// Finds the token whose prefix has its mark at an offset.
pub(super) fn find_token_by_mark(text: &str, mark: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut forms = FORMS_BY_MARK[*bytes.get(mark)? as usize];
    while forms != 0 {
        let form = TOKEN_FORMS.get(forms.trailing_zeros() as usize)?;
        forms &= forms - 1;
        let Some(at) = mark.checked_sub(form.mark) else { continue };
        let prefix = form.prefix.as_bytes();
        if bytes.get(at) == prefix.first() && bytes.get(at..)?.starts_with(prefix) && is_boundary(bytes, at) {
            return read_token(text, at, form);
        }
    }
    None
}

/// The positions of the forms in [`TOKEN_FORMS`] by the marks of their prefixes, as sets of bits.
static FORMS_BY_MARK: [u32; 256] = {
    let mut forms = [0; 256];
    let mut at = 0;
    while at < TOKEN_FORMS.len() {
        let form = &TOKEN_FORMS[at];
        forms[form.prefix.as_bytes()[form.mark] as usize] |= 1 << at;
        at += 1;
    }
    forms
};

/// Whether a token can start at an offset: after no letter or digit, unless that is the end of an escape sequence.
fn is_boundary(bytes: &[u8], at: usize) -> bool {
    let before = |distance: usize| at.checked_sub(distance).and_then(|at| bytes.get(at)).copied();
    match before(1) {
        Some(b'n' | b'r' | b't' | b'a' | b'b' | b'f') if before(2) == Some(b'\\') => true,
        Some(last) if last.is_ascii_hexdigit() && before(3) == Some(b'%') => true,
        Some(last) if last.is_ascii_hexdigit() && before(6) == Some(b'\\') => before(5) == Some(b'u'),
        last => !last.is_some_and(|last| last.is_ascii_alphanumeric()),
    }
}

/// Whether a whole text is a token.
pub(super) fn is_token(text: &str) -> bool {
    let form = TOKEN_FORMS.iter().find(|form| text.starts_with(form.prefix));
    form.and_then(|form| read_token(text, 0, form)).is_some_and(|body| body.end == text.len())
}

/// Returns the range of the body of a token whose prefix is at an offset, if it is one.
fn read_token(text: &str, at: usize, form: &TokenForm) -> Option<Range<usize>> {
    let start = at + form.prefix.len();
    let rest = text.as_bytes().get(start..)?;
    let end = start + rest.iter().take_while(|byte| (form.is_body)(**byte)).count();
    let body = text.get(start..end)?;
    let end = start + without_stop(body).len();
    let body = text.get(start..end)?;
    if body.len() < form.min_length || is_stand_in(body) {
        return None;
    }
    let is_one = match form.prefix {
        // Words with dashes, such as the name of an object, have no such part.
        "sk-" => body.split(['-', '_']).any(|part| part.len() >= 16 && has_mixed_characters(part)),
        // Three parts, the first two of which are JSON objects.
        "eyJ" => body.split_once('.').is_some_and(|(_, rest)| rest.starts_with("eyJ")),
        _ => true,
    };
    is_one.then_some(start..end)
}

/// Finds the body of a private key whose first line starts at an offset.
pub(super) fn find_key_block(text: &str, at: usize) -> Option<Range<usize>> {
    let header = text.get(at..)?.strip_prefix("-----BEGIN ")?;
    let name = header.split_once("-----")?.0;
    if name.len() > 40 || !name.ends_with("PRIVATE KEY") {
        return None;
    }
    let start = at + "-----BEGIN ".len() + name.len() + "-----".len();
    let (mut from, mut end) = (start, start);
    loop {
        from = skip_blanks(text, from);
        let rest = text.get(from..)?;
        // The lines of a key with a passphrase that say how it is encrypted.
        let is_header = ["Proc-Type:", "DEK-Info:"].iter().any(|header| rest.starts_with(header));
        let length = if is_header {
            rest.find(['\n', '\\', '"']).unwrap_or(rest.len())
        } else {
            rest.bytes().take_while(|byte| is_base64(*byte)).count()
        };
        let is_last = text.get(skip_blanks(text, from + length)..).is_some_and(|rest| rest.starts_with("-----END"));
        if length == 0 || (length < 16 && !is_last && !is_header) {
            break;
        }
        from += length;
        end = from;
    }
    (start < end).then(|| skip_blanks(text, start)..end)
}

/// Returns the offset after blanks and line ends, escaped ones included.
fn skip_blanks(text: &str, from: usize) -> usize {
    let mut rest = text.get(from..).unwrap_or_default();
    loop {
        let trimmed = rest.trim_start();
        let next = ["\\n", "\\r", "\\t", "\\\\n", "\\\\r"].iter().find_map(|escape| trimmed.strip_prefix(escape));
        match next {
            Some(next) => rest = next,
            None => return text.len() - trimmed.len(),
        }
    }
}

/// Returns a text without what ends the sentence around it.
pub(super) fn without_stop(text: &str) -> &str {
    text.trim_end_matches(['.', '-'])
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_upper_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_jwt(byte: u8) -> bool {
    is_word(byte) || byte == b'.'
}

pub(super) fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}
