//! Labels of the boxes of `mermaid`, which do not wrap or scroll on their own.

use kubefoundry_reports::graph::{EvaluatedRule, Node};
use kubefoundry_yaml::text::printable;

/// Line width in characters; longer lines are wrapped at spaces.
const WIDTH: usize = 60;
/// Longer texts are truncated; `text`, `json` and `html` print them whole.
const MAX_TEXT_CHARS: usize = 240;

/// Returns the lines of a box: the title, the facts and the selection rules.
pub(super) fn lines(node: &Node) -> Vec<String> {
    let rules = node.rules.iter().map(format_rule);
    let texts = std::iter::once(node.title.clone()).chain(node.lines.iter().cloned()).chain(rules);
    texts.flat_map(|text| wrap(&shorten(&printable(&text)))).collect()
}

/// Joins a title or edge label into one line.
pub(super) fn title(text: &str) -> String {
    shorten(&printable(text))
}

fn format_rule(rule: &EvaluatedRule) -> String {
    format!("{}, priority {}: {}", rule.value.as_str(), rule.priority, rule.condition)
}

fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(MAX_TEXT_CHARS).collect();
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
    fn wraps_and_truncates_long_texts() {
        let words = "word ".repeat(20);
        let lines = wrap(words.trim());
        assert!(lines.len() == 2 && lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:?}");
        assert_eq!(lines.join(" "), words.trim());
        assert_eq!(shorten(&"é".repeat(MAX_TEXT_CHARS)), "é".repeat(MAX_TEXT_CHARS));
        assert_eq!(shorten(&"é".repeat(MAX_TEXT_CHARS + 1)), format!("{}…", "é".repeat(MAX_TEXT_CHARS)));
    }
}
