//! Helpers for messages: spelling suggestions, and input text made short and printable.

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

/// Shortens a text to at most 40 characters.
pub fn shorten(text: &str) -> String {
    if text.chars().nth(40).is_none() { text.to_owned() } else { text.chars().take(37).chain("...".chars()).collect() }
}

/// Escapes control characters, so that text from a document can neither break the line of a message nor control the
/// terminal.
pub fn one_line(text: &str) -> String {
    if !text.contains(char::is_control) {
        return text.to_owned();
    }
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}
