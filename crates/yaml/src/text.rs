//! Helpers for messages: spelling suggestions, and input text made short and printable.

use std::borrow::Cow;

use crate::secret::mask;

/// Returns the candidate that `given` is probably a misspelling of: equal except for case, `-` and `_`, or close by
/// Damerau-Levenshtein distance. At most one edit per three characters, and at most four, are tolerated. Among equally
/// close candidates, the alphabetically first is returned.
///
/// ```
/// use kubefoundry_yaml::text::closest;
/// assert_eq!(closest("replicsa", ["replicas", "resources"]), Some("replicas"));
/// assert_eq!(closest("nodeselector", ["nodeSelector"]), Some("nodeSelector"));
/// assert_eq!(closest("zzz", ["replicas"]), None);
/// ```
pub fn closest<'c>(given: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    if given.len() > 256 {
        return None;
    }
    let (mut folded_given, mut folded) = (String::new(), String::new());
    let given = FoldedText::new(given, &mut folded_given);
    let mut best: Option<(usize, &'c str)> = None;
    for candidate in candidates {
        let folded = FoldedText::new(candidate, &mut folded);
        let tolerated = (folded.length / 3).clamp(1, 4);
        // A bound of the distance excludes most candidates, and is cheaper to compute.
        if folded.min_distance(&given) > tolerated {
            continue;
        }
        let distance = strsim::damerau_levenshtein(given.text, folded.text);
        let is_close = distance <= tolerated && distance < folded.length;
        if is_close && best.is_none_or(|best| (distance, candidate) < best) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Whether two texts have the same letters and digits: they differ only in case and punctuation.
///
/// ```
/// use kubefoundry_yaml::text::is_same_word;
/// assert!(is_same_word("llama.cpp", "llamacpp"));
/// assert!(!is_same_word("vlm", "vllm"));
/// ```
pub fn is_same_word(one: &str, other: &str) -> bool {
    let (mut folded_one, mut folded_other) = (String::new(), String::new());
    FoldedText::new(one, &mut folded_one).text == FoldedText::new(other, &mut folded_other).text
}

/// A text in lower case without punctuation.
struct FoldedText<'b> {
    text: &'b str,
    /// The number of its characters.
    length: usize,
    /// A bit for each character, by its lowest six bits.
    characters: u64,
}

impl<'b> FoldedText<'b> {
    /// Folds a text into a buffer, whose content is replaced.
    fn new(text: &str, buffer: &'b mut String) -> Self {
        buffer.clear();
        if text.is_ascii() {
            let letters = text.bytes().filter(u8::is_ascii_alphanumeric);
            buffer.extend(letters.map(|byte| char::from(byte.to_ascii_lowercase())));
        } else {
            let letters: String = text.chars().filter(|c| c.is_alphanumeric()).collect();
            buffer.push_str(&letters.to_lowercase());
        }
        let (mut length, mut characters) = (0, 0);
        for c in buffer.chars() {
            length += 1;
            characters |= 1_u64 << (u32::from(c) % 64);
        }
        Self { text: buffer, length, characters }
    }

    /// Returns a lower bound of the edit distance to another text. An edit changes the length by at most one, and at
    /// most one character that only one of the texts has.
    fn min_distance(&self, other: &FoldedText<'_>) -> usize {
        let only_here = (self.characters & !other.characters).count_ones();
        let only_there = (other.characters & !self.characters).count_ones();
        self.length.abs_diff(other.length).max(only_here.max(only_there) as usize)
    }
}

/// Joins the values that a message expects: `one of a, b`, or `a` if there is only one.
///
/// ```
/// use kubefoundry_yaml::text::one_of;
/// assert_eq!(one_of(&["vllm", "sglang"]), "one of vllm, sglang");
/// assert_eq!(one_of(&["vllm"]), "vllm");
/// ```
pub fn one_of<S: std::borrow::Borrow<str>>(values: &[S]) -> String {
    let joined = values.join(", ");
    if values.len() == 1 { joined } else { format!("one of {joined}") }
}

/// Shortens a text to at most 40 characters. Secrets are masked first, because the rest of one is not recognizable.
pub fn shorten(text: &str) -> String {
    let text = mask(text);
    if text.chars().nth(40).is_none() {
        text.into_owned()
    } else {
        text.chars().take(37).chain("...".chars()).collect()
    }
}

/// Makes text of users safe to print on one line of a terminal, a log or a CI: [masks](mask) secrets, and
/// [escapes](escape_unprintable) what is not printable.
///
/// ```
/// use kubefoundry_yaml::text::printable;
/// assert_eq!(printable("llama"), "llama");
/// assert_eq!(printable("a\n::error::\u{1b}[2J"), "a\\n::error::\\u{1b}[2J");
/// assert_eq!(printable("a\u{202e}b\u{200b}"), "a\\u{202e}b\\u{200b}");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    match mask(text) {
        Cow::Borrowed(text) => escape_unprintable(text),
        Cow::Owned(masked) => Cow::Owned(escape_unprintable(&masked).into_owned()),
    }
}

/// Escapes control characters, and characters that change the direction of text, break lines or are invisible.
pub fn escape_unprintable(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) || !text.chars().any(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_unprintable(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Returns whether a character is a control character, a directional mark, an invisible character, a line separator or
/// a Unicode noncharacter.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
        || u32::from(c) & 0xfffe == 0xfffe
        || ('\u{fdd0}'..='\u{fdef}').contains(&c)
}

/// Escapes the unprintable characters of a JSON text, except line ends between its tokens. The text means the same.
///
/// ```
/// use kubefoundry_yaml::text::printable_json;
/// let text = "{\n \"name\": \"a\u{202e}b\u{e0041}\"\n}";
/// let escaped = printable_json(text.to_owned());
/// assert_eq!(escaped, "{\n \"name\": \"a\\u202eb\\udb40\\udc41\"\n}");
/// ```
pub fn printable_json(text: String) -> String {
    let is_escaped = |c: char| c != '\n' && is_unprintable(c);
    if text.is_ascii() || !text.chars().any(is_escaped) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_escaped(c) {
            // A JSON string has no raw control characters, so this is one that JSON allows and a terminal obeys.
            out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// Breaks the marks in a text that start a command of a CI runner anywhere in a line: `##[…]` (GitHub's runner, source:
/// `TryParse` in `src/Runner.Common/ActionCommand.cs` of actions/runner) and `##vso[…]` (Azure Pipelines).
///
/// ```
/// use kubefoundry_yaml::text::break_commands;
/// assert_eq!(break_commands("a ##[add-mask]b ##vso[x]c ## d"), "a #\\u{23}[add-mask]b #\\u{23}vso[x]c ## d");
/// ```
pub fn break_commands(text: &str) -> Cow<'_, str> {
    replace_command_marks(text, "\\u{23}")
}

/// Breaks the marks of [`break_commands`] in a JSON text. The text means the same.
pub fn break_json_commands(text: &str) -> Cow<'_, str> {
    replace_command_marks(text, "\\u0023")
}

/// Breaks the marks of [`break_commands`] in XML or HTML. The text means the same.
pub fn break_xml_commands(text: &str) -> Cow<'_, str> {
    replace_command_marks(text, "&#35;")
}

/// Replaces the second `#` of each mark.
fn replace_command_marks<'t>(text: &'t str, replacement: &str) -> Cow<'t, str> {
    let (mut out, mut from, mut search) = (String::new(), 0, 0);
    while let Some(found) = text.get(search..).and_then(|rest| memchr::memmem::find(rest.as_bytes(), b"##")) {
        let second = search + found + 1;
        let rest = text.get(second + 1..).unwrap_or_default();
        if rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).starts_with('[') {
            out.push_str(text.get(from..second).unwrap_or_default());
            out.push_str(replacement);
            from = second + 1;
        }
        search = second;
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(out)
}

/// Breaks prose into lines of at most `width` bytes. A longer word has a line of its own.
///
/// ```
/// use kubefoundry_yaml::text::wrap;
/// assert_eq!(wrap("a model to  serve", 8), ["a model", "to serve"]);
/// assert_eq!(wrap("", 8), [""]);
/// ```
pub fn wrap(prose: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in prose.split_whitespace() {
        let line = lines.last().map_or(0, String::len);
        if line > 0 && line + 1 + word.len() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// Like [`printable`], as an owned text.
pub fn one_line(text: &str) -> String {
    printable(text).into_owned()
}
