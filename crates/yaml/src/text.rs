//! What messages need of texts: what was probably meant, and no more of a text than fits.

/// The candidate that was probably meant: close in spelling, or equal but for case, `-` and `_`. At most one slip in three
/// characters, and no more than four, make a resemblance; of equally close ones the first in the alphabet is meant.
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
    let given = folded(given);
    let length = given.chars().count();
    let tolerated = |candidate: &str| (candidate.chars().count() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .map(|candidate| (folded(candidate), candidate))
        // Names differ at least by as much as their lengths do; comparing long ones is not cheap.
        .filter(|(folded, _)| folded.chars().count().abs_diff(length) <= tolerated(folded))
        .map(|(folded, candidate)| (strsim::damerau_levenshtein(&given, &folded), folded, candidate))
        .filter(|(distance, folded, _)| *distance <= tolerated(folded) && *distance < folded.chars().count())
        .min_by_key(|(distance, _, candidate)| (*distance, *candidate))
        .map(|(.., candidate)| candidate)
}

/// At most 40 characters of a text.
pub fn shorten(text: &str) -> String {
    if text.chars().nth(40).is_none() { text.to_owned() } else { text.chars().take(37).chain("...".chars()).collect() }
}

/// Text without control characters: what a document says may stand in a message, and may not end its line or talk to a
/// terminal.
pub fn one_line(text: &str) -> String {
    if !text.contains(char::is_control) {
        return text.to_owned();
    }
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}
