//! Text for terminals: colours, and nothing that a terminal would obey.

use std::borrow::Cow;

use kubefoundry::diagnostic::render::Style;

/// How a word stands out.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Paint {
    /// A heading.
    Bold,
    /// What matters less.
    Dim,
    /// What was chosen, what is true.
    Green,
    /// What is closed, what is false.
    Red,
}

/// `text`, painted when the style has colours.
pub(crate) fn paint(text: &str, paint: Paint, style: Style) -> String {
    let code = match paint {
        Paint::Bold => 1,
        Paint::Dim => 2,
        Paint::Green => 32,
        Paint::Red => 31,
    };
    match style {
        Style::Plain => text.to_owned(),
        Style::Colored => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
    }
}

/// `text` on one line, whatever a user put into it: control characters are escaped.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_control) {
        let mut out = String::new();
        for c in text.chars() {
            if c.is_control() {
                out.extend(c.escape_default());
            } else {
                out.push(c);
            }
        }
        Cow::Owned(out)
    } else {
        Cow::Borrowed(text)
    }
}

/// `1 error`, `2 errors`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A model named with an escape sequence must not repaint the terminal of whoever looks at it.
    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\u{1b}[31mb\nc\u{9b}"), "a\\u{1b}[31mb\\nc\\u{9b}");
        assert_eq!(printable("Größe"), "Größe");
    }

    #[test]
    fn nouns_agree_with_their_number() {
        assert_eq!([0, 1, 2].map(|number| count(number, "error")), ["0 errors", "1 error", "2 errors"]);
    }
}
