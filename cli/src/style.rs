//! Text for terminals: colors and counts.

use kubefoundry_diagnostics::render::TextStyle;
pub(crate) use kubefoundry_yaml::text::printable;

/// The emphasis of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Paint {
    /// Headings.
    Bold,
    /// Less important text.
    Dim,
    /// Selected or true.
    Green,
    /// Not eligible, failed or alarming.
    Red,
}

/// Adds color codes to `text` if the style has colors.
pub(crate) fn paint(text: &str, paint: Paint, style: TextStyle) -> String {
    let code = match paint {
        Paint::Bold => 1,
        Paint::Dim => 2,
        Paint::Green => 32,
        Paint::Red => 31,
    };
    if style == TextStyle::Colored { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// Formats a count with the singular or plural of its noun: `1 error`, `2 errors`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An escape sequence in a model name must not reach the terminal.
    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\u{1b}[31mb\nc\u{9b}"), "a\\u{1b}[31mb\\nc\\u{9b}");
        assert_eq!(printable("a\u{202e}b\u{200b}"), "a\\u{202e}b\\u{200b}");
        assert_eq!(printable("Größe"), "Größe");
    }

    #[test]
    fn count_uses_the_plural() {
        assert_eq!([0, 1, 2].map(|number| count(number, "error")), ["0 errors", "1 error", "2 errors"]);
    }
}
