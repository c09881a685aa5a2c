//! Recognizes secrets in text, so that no report repeats them: tokens by their form (`hf_…`, `AKIA…`, a JSON Web Token,
//! a private key), and other values by the name of the field, variable or flag that holds them.
//!
//! Texts that only stand for a secret are none: placeholders (`hf_xxx`, `<token>`, `$(HF_TOKEN)`), the names of Secrets,
//! digests, commits and ids of models.

use std::borrow::Cow;
use std::ops::Range;

use crate::field_path::{FieldPath, Segment};
use crate::{Node, Value};

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
const MARKS: &[u8] = b"_AGS9J-";

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

/// Names whose values are secrets whatever they look like, in lower case without punctuation: variables of Hugging
/// Face, of the engines' servers and of common services, and flags of engines.
const SECRET_NAMES: &[&str] = &[
    "adminapikey",
    "apikey",
    "apikeys",
    "awssecretaccesskey",
    "awssessiontoken",
    "hftoken",
    "huggingfacehubtoken",
    "llamaapikey",
    "ngcapikey",
    "openaiapikey",
    "vllmapikey",
    "wandbapikey",
];

/// How the name of a field decides whether its value is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameStrength {
    /// Any literal value is one.
    Certain,
    /// A value that looks random is one. Others name a Secret or a key in it.
    Possible,
}

/// Maximum length of a name in front of a value.
const MAX_NAME_BYTES: usize = 80;

/// Masks the secrets in a text; see [the module](self). At most the prefix that tells the kind of a token is left. Line
/// ends stay where they are.
///
/// ```
/// use kubefoundry_yaml::secret::mask;
/// let token = ["hf_", "QwErTyUiOpAsDfGh", "JkLzXcVbNm123456"].concat();
/// assert_eq!(mask(&format!("is \"{token}\", expected a name")), "is \"hf_****\", expected a name");
/// assert_eq!(mask("DB_PASSWORD=hunter2 HF_TOKEN=$(TOKEN) hf_xxx"), "DB_PASSWORD=**** HF_TOKEN=$(TOKEN) hf_xxx");
/// ```
pub fn mask(text: &str) -> Cow<'_, str> {
    replace(text, &find_secrets(text), |piece, out| {
        if !piece.is_empty() {
            out.push_str("****");
        }
    })
}

/// Masks the secrets in a text like [`mask`], but with as many bytes, so that offsets stay valid.
pub fn mask_in_place(text: &str) -> Cow<'_, str> {
    replace_in_place(text, &find_secrets(text))
}

/// Masks ranges of a text with as many bytes.
pub fn replace_in_place<'t>(text: &'t str, ranges: &[Range<usize>]) -> Cow<'t, str> {
    replace(text, ranges, |piece, out| out.extend(piece.bytes().map(|_| '*')))
}

/// Returns lines of a text with their secrets masked in place. `lines` is their range. A secret can be recognizable only
/// by the lines around them: the name of its variable, or the start of a private key.
pub fn mask_lines_in_place(text: &str, lines: Range<usize>) -> Cow<'_, str> {
    let shown = text.get(lines.clone()).unwrap_or_default();
    let start = context_start(text, lines.start, shown);
    let rest = text.get(lines.end..).unwrap_or_default();
    let end = lines.end + rest.find('\n').unwrap_or(rest.len()).min(MAX_NAME_BYTES);
    let end = (lines.end..=end).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(lines.end);
    let offset = lines.start - start;
    let inside = find_secrets(text.get(start..end).unwrap_or_default()).into_iter().filter_map(|range| {
        let range = range.start.saturating_sub(offset)..range.end.saturating_sub(offset).min(shown.len());
        (range.start < range.end).then_some(range)
    });
    replace_in_place(shown, &inside.collect::<Vec<_>>())
}

/// Whether a text contains a secret; see [the module](self).
pub fn has_secret(text: &str) -> bool {
    !find_secrets(text).is_empty()
}

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
    let is_whole = find_token(text, 0).is_some_and(|(_, end)| end == text.len());
    match text {
        _ if is_whole && text.starts_with("sk-") => Some(TokenLikeness::LooseForm),
        _ if is_whole || find_key_block(text, 0).is_some() => Some(TokenLikeness::Form),
        _ if looks_random(text) => Some(TokenLikeness::Random),
        _ => None,
    }
}

/// Whether a name of a variable or flag says that any value of it is a secret.
///
/// ```
/// use kubefoundry_yaml::secret::is_secret_name;
/// assert!(is_secret_name("hf-token") && is_secret_name("OPENAI_API_KEY") && is_secret_name("DB_PASSWORD"));
/// assert!(!is_secret_name("MAX_TOKENS") && !is_secret_name("SECRET_NAME"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    name_strength(name) == Some(NameStrength::Certain)
}

/// Whether the value of a field, variable or flag is a secret, by its form or by the name.
pub fn is_secret(name: &str, value: &str) -> bool {
    name_strength(name).is_some_and(|strength| is_secret_value(strength, value)) || has_secret(value)
}

/// Returns what a report shows for the value of a field, variable or flag: a mask if the name says that it is a secret.
pub fn mask_value<'t>(name: &str, value: &'t str) -> Cow<'t, str> {
    if name_strength(name).is_some_and(|strength| is_secret_value(strength, value)) {
        return Cow::Owned("****".to_owned());
    }
    mask(value)
}

/// Masks the secrets in an object, as [`mask`] does in its text. Variables and flags in lists are recognized by their
/// names.
pub fn mask_object(object: &mut serde_json::Value) {
    mask_named(object, "");
}

/// Masks the secrets in a value that was taken from a place in an object.
pub fn mask_at(object: &serde_json::Value, path: &FieldPath, value: &mut serde_json::Value) {
    let text_at = |path: &FieldPath| {
        let found = path.segments().iter().try_fold(object, |value, segment| match segment {
            Segment::Key(key) => value.get(key.as_ref()),
            Segment::Index(index) => value.get(index),
        });
        found?.as_str()
    };
    mask_named(value, name_of(path, text_at).unwrap_or_default());
}

/// Returns the text of a field if its name says that the text is a secret.
///
/// ```
/// use kubefoundry_yaml::{Limits, field_path::FieldPath, parse, secret::secret_at};
/// let document = "env:\n- name: DB_PASSWORD\n  value: 20241131\n- name: PORT\n  value: 8000\n";
/// let parsed = parse(document, &Limits::default());
/// let at = |path: &str| secret_at(&parsed.documents[0].root, document, &FieldPath::try_parse(path).unwrap());
/// assert_eq!(at("env[0].value").as_deref(), Some("20241131"));
/// assert_eq!(at("env[1].value"), None);
/// ```
pub fn secret_at(root: &Node<'_>, text: &str, path: &FieldPath) -> Option<String> {
    // Almost all names are of no secret, which costs less than to find the value.
    let strength = name_strength(name_of(path, |path| root.at(path)?.as_str())?)?;
    let node = root.at(path)?;
    let value = match &node.value {
        Value::String(value) => value.clone().into_owned(),
        Value::Sequence(_) | Value::Mapping(_) => return None,
        _ => text.get(node.span.start..node.span.end)?.to_owned(),
    };
    is_secret_value(strength, &value).then_some(value)
}

/// Returns the name that decides whether the value at a path is a secret: the key, the name of the variable, or the flag
/// before it in a list.
fn name_of<'t>(path: &'t FieldPath, text_at: impl Fn(&FieldPath) -> Option<&'t str>) -> Option<&'t str> {
    match path.segments().last()? {
        Segment::Key(key) if key == "value" => text_at(&path.parent().key("name")),
        Segment::Key(key) => Some(key.as_ref()),
        Segment::Index(index) => {
            text_at(&path.parent().index(index.checked_sub(1)?)).filter(|item| item.starts_with("--"))
        }
    }
}

fn mask_named(value: &mut serde_json::Value, name: &str) {
    use serde_json::Value;
    match value {
        Value::String(text) => {
            if let Cow::Owned(masked) = mask_value(name, text) {
                *text = masked;
            }
        }
        Value::Number(number)
            if name_strength(name).is_some_and(|strength| is_secret_value(strength, &number.to_string())) =>
        {
            *value = Value::from("****");
        }
        Value::Array(items) => {
            let mut name = name.to_owned();
            for item in items {
                let flag = item.as_str().filter(|text| text.starts_with("--") && !text.contains('='));
                let flag = flag.map(str::to_owned);
                mask_named(item, &name);
                name = flag.unwrap_or_default();
            }
        }
        Value::Object(fields) => {
            let variable = fields.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            for (key, value) in fields {
                mask_named(value, if key == "value" { &variable } else { key });
            }
        }
        _ => {}
    }
}

/// Builds a text in which the lines of ranges are replaced. Blanks around the content of a line stay.
fn replace<'t>(text: &'t str, ranges: &[Range<usize>], write: impl Fn(&str, &mut String)) -> Cow<'t, str> {
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for range in ranges {
        let Some((before, secret)) = text.get(from..range.start).zip(text.get(range.clone())) else { continue };
        out.push_str(before);
        for line in secret.split_inclusive('\n') {
            let content = line.trim();
            let start = line.len() - line.trim_start().len();
            out.push_str(line.get(..start).unwrap_or_default());
            write(content, &mut out);
            out.push_str(line.get(start + content.len()..).unwrap_or_default());
        }
        from = range.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(out)
}

/// Returns the ranges of the secrets in a text, in order, without the prefixes that a mask keeps.
fn find_secrets(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut add = |range: Range<usize>| match found.last_mut() {
        Some(last) if range.start < last.end => last.end = last.end.max(range.end),
        _ => found.push(range),
    };
    let bytes = text.as_bytes();
    let mut from = 0;
    // Almost all bytes are skipped here.
    while let Some(distance) =
        bytes.get(from..).and_then(|rest| rest.iter().position(|byte| CLASSES[*byte as usize] != OTHER))
    {
        let at = from + distance;
        from = at + 1;
        let range = if matches!(bytes.get(at), Some(b':' | b'=')) {
            find_named_value(text, at)
        } else {
            find_token_by_mark(text, at).or_else(|| find_key_block(text, at)).or_else(|| find_flag_value(text, at))
        };
        if let Some(range) = range {
            add(range);
        }
    }
    found
}

/// The class of a byte that tells nothing.
const OTHER: u8 = 0;

/// The class of each byte: one that can tell where a token, a private key, a flag or a value is, or not.
static CLASSES: [u8; 256] = {
    let mut classes = [OTHER; 256];
    let mut at = 0;
    while at < MARKS.len() {
        classes[MARKS[at] as usize] = 1;
        at += 1;
    }
    classes[b':' as usize] = 1;
    classes[b'=' as usize] = 1;
    classes
};

/// Finds the token whose prefix has its mark at an offset.
fn find_token_by_mark(text: &str, mark: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut forms = FORMS_BY_MARK[*bytes.get(mark)? as usize];
    while forms != 0 {
        let form = TOKEN_FORMS.get(forms.trailing_zeros() as usize)?;
        forms &= forms - 1;
        let Some(at) = mark.checked_sub(form.mark) else { continue };
        let prefix = form.prefix.as_bytes();
        if bytes.get(at) == prefix.first() && bytes.get(at..)?.starts_with(prefix) && is_boundary(bytes, at) {
            return find_token(text, at).map(|(body, end)| body..end);
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

/// Finds the token that starts at an offset. Returns where its body starts and ends.
fn find_token(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = text.as_bytes().get(at..)?;
    let form = TOKEN_FORMS.iter().find(|form| rest.starts_with(form.prefix.as_bytes()))?;
    let start = at + form.prefix.len();
    let end = start + rest.get(form.prefix.len()..)?.iter().take_while(|byte| (form.is_body)(**byte)).count();
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
    is_one.then_some((start, end))
}

/// Finds the body of a private key whose first line starts at an offset.
fn find_key_block(text: &str, at: usize) -> Option<Range<usize>> {
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

/// Finds the secret value after a separator: `api-key: value`, `DB_PASSWORD=value`, `"name": "TOKEN", "value": "…"`.
fn find_named_value(text: &str, separator: usize) -> Option<Range<usize>> {
    let name = name_before(text, separator)?;
    // `::` ends the properties of a workflow command.
    if text.get(separator + 1..)?.starts_with(':') {
        return None;
    }
    if let Some(strength) = name_strength(name) {
        let value = value_after(text, separator + 1);
        return is_secret_value(strength, text.get(value.clone())?).then_some(value);
    }
    // A variable, whose value is in the next field.
    if name != "name" {
        return None;
    }
    let variable = value_after(text, separator + 1);
    let strength = name_strength(text.get(variable.clone())?)?;
    let rest = text.get(variable.end..)?;
    let rest = rest.trim_start_matches(['"', '\'', '\\', ',', ' ', '\n', '\r']).strip_prefix("value")?;
    let rest = rest.trim_start_matches(['"', '\'', '\\']).strip_prefix(':')?;
    let value = value_after(text, text.len() - rest.len());
    is_secret_value(strength, text.get(value.clone())?).then_some(value)
}

/// Finds the secret value that follows a flag as an item of its own: `"--api-key", "value"`.
fn find_flag_value(text: &str, at: usize) -> Option<Range<usize>> {
    let (before, rest) = (text.get(..at)?, text.get(at..)?);
    let rest = rest.strip_prefix("--").filter(|rest| !rest.starts_with('-'))?;
    let length = rest.bytes().take(MAX_NAME_BYTES).take_while(|byte| is_word(*byte)).count();
    let strength = name_strength(rest.get(..length)?)?;
    let after = rest.get(length..)?;
    // A text that ends with the name of a flag is not followed by its value.
    if ["\\\"", "\"", "'"].iter().any(|quote| after.starts_with(quote) && !before.ends_with(quote)) {
        return None;
    }
    let value = after.trim_start_matches(['"', '\'', '\\', ',', ' ', '\n', '\r']);
    let between = after.get(..after.len() - value.len())?;
    let value = value.strip_prefix("- ").filter(|_| between.contains('\n')).unwrap_or(value);
    let is_item = between.contains([',', '\n']);
    let range = value_after(text, text.len() - value.len());
    let found = text.get(range.clone())?;
    // The next key of an object.
    if text.get(range.end..)?.trim_start_matches(['"', '\'', '\\']).trim_start().starts_with(':') {
        return None;
    }
    let strength = if is_item { strength } else { NameStrength::Possible };
    (!between.is_empty() && !found.starts_with('-') && is_secret_value(strength, found)).then_some(range)
}

/// Returns the name that ends before a separator.
fn name_before(text: &str, separator: usize) -> Option<&str> {
    let before = text.get(..separator)?.trim_end_matches(['"', '\'', '\\', ' ']);
    let bytes = before.as_bytes();
    if !has_ending_of_secrets(bytes) && !bytes.ends_with(b"name") {
        return None;
    }
    let length = bytes.iter().rev().take(MAX_NAME_BYTES).take_while(|byte| is_word(**byte)).count();
    before.get(before.len() - length..).filter(|name| !name.is_empty())
}

/// Returns the range of the value that starts at an offset, without quotes.
fn value_after(text: &str, from: usize) -> Range<usize> {
    let rest = text.get(from..).unwrap_or_default();
    let value = rest.trim_start_matches(' ');
    let value = value.strip_prefix('\\').filter(|value| value.starts_with('"')).unwrap_or(value);
    let value = value.strip_prefix(['"', '\'']).unwrap_or(value);
    let start = text.len() - value.len();
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | ',' | ';' | '`' | '<' | '>' | '&');
    let end = value.find(is_end).unwrap_or(value.len());
    // Brackets can be part of a password, and of the flow style around it.
    let value = value.get(..end).unwrap_or_default().trim_end_matches(['}', ']', ')']);
    start..start + without_stop(value).len()
}

/// Returns a text without what ends the sentence around it.
fn without_stop(text: &str) -> &str {
    text.trim_end_matches(['.', '-'])
}

/// Whether a name ends as one of [`name_strength`] does. Almost all names do not.
fn has_ending_of_secrets(name: &[u8]) -> bool {
    let Some([one, two, three]) = name.last_chunk::<3>() else { return false };
    let ending = [one.to_ascii_lowercase(), two.to_ascii_lowercase(), three.to_ascii_lowercase()];
    matches!(&ending, b"key" | b"eys" | b"ken" | b"ret" | b"ord" | b"swd" | b"ase" | b"ial" | b"als")
}

fn name_strength(name: &str) -> Option<NameStrength> {
    if !has_ending_of_secrets(name.as_bytes()) || name.len() > MAX_NAME_BYTES {
        return None;
    }
    let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
    let name: String = letters.map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    let ends_with = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if SECRET_NAMES.contains(&name.as_str()) || ends_with(&["password", "passwd", "passphrase"]) {
        Some(NameStrength::Certain)
    } else if ends_with(&["token", "secret", "key", "apikeys", "credential", "credentials"]) {
        Some(NameStrength::Possible)
    } else {
        None
    }
}

fn is_secret_value(strength: NameStrength, value: &str) -> bool {
    // Its form tells more than its name.
    if find_token(value, 0).is_some_and(|(_, end)| end == value.len()) {
        return false;
    }
    // What is no literal: a reference, a template, a collection, a block, an alias, a type in a schema.
    let is_literal = value.len() >= 4
        && !value.starts_with(['$', '<', '{', '[', '|', '>', '&', '*', '!', '%', '?', '('])
        && !matches!(value, "null" | "true" | "false" | "string" | "none" | "None");
    match strength {
        NameStrength::Certain => is_literal && !is_stand_in(value),
        NameStrength::Possible => is_literal && looks_random(value),
    }
}

/// Whether a value looks as if a machine had drawn its characters.
fn looks_random(value: &str) -> bool {
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
fn has_mixed_characters(text: &str) -> bool {
    let has = |is_one: fn(&u8) -> bool| usize::from(text.bytes().any(|byte| is_one(&byte)));
    has(u8::is_ascii_lowercase) + has(u8::is_ascii_uppercase) + has(u8::is_ascii_digit) >= 2
}

/// Whether a text stands for a token in documentation: `xxxxxxxx`, `yourTokenHere`, `HF_TOKEN`.
fn is_stand_in(text: &str) -> bool {
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

/// Returns where the lines start that tell what the lines at an offset are.
fn context_start(text: &str, start: usize, shown: &str) -> usize {
    let line_before = |at: usize| {
        let end = at.checked_sub(1)?;
        let earliest = (end.saturating_sub(MAX_CONTEXT_LINE_BYTES)..=end).find(|at| text.is_char_boundary(*at))?;
        let before = text.get(earliest..end)?;
        let start = before.rfind('\n').map(|at| earliest + at + 1).or((earliest == 0).then_some(0))?;
        Some((start, text.get(start..end)?))
    };
    let is_body = |line: &str| {
        let line = line.trim();
        line.len() >= 16 && line.bytes().all(is_base64)
    };
    let mut at = line_before(start).map_or(start, |(start, _)| start);
    let first = shown.lines().next().unwrap_or_default();
    let ends_block = first.trim_start().len() < 80 && first.trim().bytes().all(is_base64);
    if !is_body(first) && !ends_block {
        return at;
    }
    let mut from = start;
    for _ in 0..MAX_KEY_LINES {
        let Some((start, line)) = line_before(from) else { break };
        from = start;
        if line.contains("-----BEGIN ") {
            at = start;
            break;
        }
        if !is_body(line) && !line.contains("DEK-Info:") && !line.contains("Proc-Type:") && !line.trim().is_empty() {
            break;
        }
    }
    at
}

/// Maximum number of lines of a private key: one of RSA with 16384 bits has 200.
const MAX_KEY_LINES: usize = 256;

/// Maximum length of a line that is searched for the name of a variable, or is part of a private key.
const MAX_CONTEXT_LINE_BYTES: usize = 256;

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_upper_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_jwt(byte: u8) -> bool {
    is_word(byte) || byte == b'.'
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

#[cfg(test)]
mod tests;
