//! Markdown for comments on pull requests.

use kubefoundry_yaml::text::printable;

/// Formats text as inline code in a table cell, where a pipe has to be escaped even in code.
pub(crate) fn cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// Formats text as inline code outside of tables.
pub(crate) fn code(text: &str) -> String {
    let text = printable(text);
    if !text.contains('`') {
        return format!("`{text}`");
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    format!("{fence} {text} {fence}")
}

/// Escapes text for use between tags of HTML.
pub(crate) fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text of users must not open a tag or end a table cell or inline code.
    #[test]
    fn escapes_tags_pipes_and_backticks() {
        assert_eq!(html("<img src=x>"), "&lt;img src=x&gt;");
        assert_eq!(cell("a|b"), "`a\\|b`");
        assert_eq!(code("a || b"), "`a || b`");
        assert_eq!(code("a``b"), "``` a``b ```");
        assert_eq!(cell("a\n| b"), "`a\\n\\| b`");
    }
}
