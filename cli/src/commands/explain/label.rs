//! The text in a box of a diagram that cannot wrap or scroll.

use super::graph::{Node, Rule};
use crate::style::printable;

/// Characters in a line; a longer one is broken where it has a space.
const WIDTH: usize = 60;
/// Characters of a text; what is beyond is left to `text`, `json` and `html`.
const LONGEST: usize = 240;

/// What stands in a box: what it is, what is known of it, its rules.
pub(super) fn lines(node: &Node) -> Vec<String> {
    let rules = node.rules.iter().map(rule);
    let texts = std::iter::once(node.title.clone()).chain(node.lines.iter().cloned()).chain(rules);
    texts.flat_map(|text| wrap(&shorten(&printable(&text)))).collect()
}

/// A title on one line.
pub(super) fn title(text: &str) -> String {
    shorten(&printable(text))
}

fn rule(rule: &Rule) -> String {
    format!("{}, priority {}: {}", rule.value.as_str(), rule.priority, rule.condition)
}

fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn wrap(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        if let Some(line) = lines.last_mut() {
            let fits = line.chars().count() + 1 + word.chars().count() <= WIDTH;
            if line.is_empty() {
                line.push_str(word);
            } else if fits {
                line.push(' ');
                line.push_str(word);
            } else {
                lines.push(word.to_owned());
            }
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_broken_at_spaces_and_end_somewhere() {
        let words = "word ".repeat(20);
        let lines = wrap(words.trim());
        assert!(lines.len() == 2 && lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:?}");
        assert_eq!(lines.join(" "), words.trim());
        assert_eq!(shorten(&"é".repeat(LONGEST)), "é".repeat(LONGEST));
        assert_eq!(shorten(&"é".repeat(LONGEST + 1)), format!("{}…", "é".repeat(LONGEST)));
    }
}
