//! Positions of tokens that the parser's events do not carry, found by scanning the text.

/// Returns the start of the token after `cursor`, past blanks, line breaks, comments, tags, anchors and the indicators
/// between nodes. With `at_dash`, the dash of a list's first item counts as a token.
pub(crate) fn token_start(text: &str, cursor: usize, at_dash: bool) -> usize {
    let bytes = text.as_bytes();
    let mut at = cursor;
    while let Some(byte) = bytes.get(at) {
        let blank_after = matches!(bytes.get(at + 1), None | Some(b' ' | b'\t' | b'\r' | b'\n'));
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' | b'?' => at += 1,
            b'#' => at = line_end(bytes, at),
            b'!' | b'&' => {
                while bytes.get(at).is_some_and(|byte| !byte.is_ascii_whitespace()) {
                    at += 1;
                }
            }
            b'-' if at_dash && blank_after => break,
            b'-' if blank_after => at += 1,
            _ if text.get(at..).is_some_and(|rest| rest.starts_with('\u{feff}')) => at += '\u{feff}'.len_utf8(),
            _ => break,
        }
    }
    at
}

/// Returns the position directly after the colon of the key that ends at `key_end`, if it has a colon.
pub(crate) fn after_colon(text: &str, key_end: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = key_end;
    loop {
        match bytes.get(at)? {
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b'#' => at = line_end(bytes, at),
            b':' => return Some(at + 1),
            _ => return None,
        }
    }
}

/// Returns the start of the content after a `---` that ends at `marker_end`: on this line if content follows, otherwise
/// on the next one.
pub(crate) fn content_start(text: &str, marker_end: usize) -> usize {
    let rest = text.get(marker_end..).unwrap_or("");
    let content = rest.trim_start_matches([' ', '\t']);
    let skipped = rest.len() - content.len();
    let line_break = match content.as_bytes() {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    };
    marker_end + skipped + line_break
}

/// Returns the start of the first line from `from` on that begins with `---`, or the end of the text.
pub(crate) fn next_marker(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        let at_line_start = at == 0 || bytes.get(at - 1).is_some_and(|byte| matches!(byte, b'\r' | b'\n'));
        if at_line_start && bytes.get(at..).is_some_and(|rest| rest.starts_with(b"---")) {
            return at;
        }
        at = line_end(bytes, at) + 1;
        if at >= bytes.len() {
            return bytes.len();
        }
    }
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(rest.len())
}
