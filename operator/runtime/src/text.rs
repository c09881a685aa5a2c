//! Texts that the API server or a reader accepts only up to a length.

/// Returns the longest prefix of a text that has at most `max` bytes and ends between two characters.
///
/// ```
/// use kubefoundry_controller_runtime::text::truncate;
/// assert_eq!((truncate("aé", 2), truncate("aé", 3)), ("a", "aé"));
/// ```
pub fn truncate(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.split_at(end).0
}
