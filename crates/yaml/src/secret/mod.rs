//! Recognizes secrets in text, so that no report repeats them: tokens by their form (`hf_…`, `AKIA…`, a JSON Web Token,
//! a private key), and other values by the name of the field, variable or flag that holds them.
//!
//! Texts that only stand for a secret are not secrets: placeholders (`hf_xxx`, `<token>`, `$(HF_TOKEN)`), the names of Secrets,
//! digests, commits and ids of models.

use std::borrow::Cow;
use std::ops::Range;

mod name;
mod object;
mod random;
mod token;

pub use name::is_secret_name;
pub use object::{mask_at, mask_object, secret_at};
pub use token::{TokenLikeness, token_likeness};

use name::{MAX_NAME_BYTES, NameStrength, has_ending_of_secrets, is_named_secret, is_secret_value, name_strength};
use token::{MARKS, find_key_block, find_token_by_mark, is_base64, is_word, without_stop};

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

/// Whether the value of a field, variable or flag is a secret, by its form or by the name.
pub fn is_secret(name: &str, value: &str) -> bool {
    is_named_secret(name, value) || has_secret(value)
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
            let (blanks, rest) = line.split_at(line.len() - line.trim_start().len());
            let (content, end) = rest.split_at(rest.trim_end().len());
            out.push_str(blanks);
            write(content, &mut out);
            out.push_str(end);
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
    while let Some(distance) = bytes.get(from..).and_then(|rest| rest.iter().position(|byte| IS_CLUE[*byte as usize])) {
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

/// Whether a byte can tell where a token, a private key, a flag or a value is.
static IS_CLUE: [bool; 256] = {
    let mut is_clue = [false; 256];
    let mut at = 0;
    while at < MARKS.len() {
        is_clue[MARKS[at] as usize] = true;
        at += 1;
    }
    is_clue[b':' as usize] = true;
    is_clue[b'=' as usize] = true;
    is_clue
};

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
    let value = value.split_once(is_end).map_or(value, |(value, _)| value);
    // Brackets can be part of a password, and of the flow style around it.
    let value = value.trim_end_matches(['}', ']', ')']);
    start..start + without_stop(value).len()
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

#[cfg(test)]
mod tests;
