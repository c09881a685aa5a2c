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
    let folded = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
    if given.len() > 256 {
        return None;
    }
    let folded_given = folded(given);
    let length = folded_given.chars().count();
    let tolerated = |candidate: &str| (candidate.chars().count() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .map(|candidate| (folded(candidate), candidate))
        // The distance is at least the difference of the lengths, which is cheaper to compute.
        .filter(|(folded, _)| folded.chars().count().abs_diff(length) <= tolerated(folded))
        .map(|(folded, candidate)| (strsim::damerau_levenshtein(&folded_given, &folded), folded, candidate))
        .filter(|(distance, folded, _)| *distance <= tolerated(folded) && *distance < folded.chars().count())
        .min_by_key(|(distance, _, candidate)| (*distance, *candidate))
        .map(|(.., candidate)| candidate)
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
