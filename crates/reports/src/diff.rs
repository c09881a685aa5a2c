//! Unified diffs without secrets.

use std::borrow::Cow;

use kubefoundry_yaml::secret::mask;
use kubefoundry_yaml::{append, append_line};
use similar::{ChangeTag, TextDiff};

/// Formats the differences of two texts as a unified diff with these names. Secrets are masked in its lines, which still
/// show that a secret was changed. `patch` refuses such a diff, so that it never writes a mask.
pub fn unified_diff(old: &str, new: &str, old_name: &str, new_name: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let (old_masked, new_masked) = (mask(old), mask(new));
    if matches!((&old_masked, &new_masked), (Cow::Borrowed(_), Cow::Borrowed(_))) {
        return diff.unified_diff().header(old_name, new_name).to_string();
    }
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) =
        (old_masked.split_inclusive('\n').collect(), new_masked.split_inclusive('\n').collect());
    let mut out = String::new();
    for hunk in diff.unified_diff().iter_hunks() {
        if out.is_empty() {
            append!(out, "--- {old_name}\n+++ {new_name}\n");
        }
        // Without lines to compare with, `patch` would write the masks.
        let header = if old.is_empty() { "@@ secrets are masked @@".to_owned() } else { hunk.header().to_string() };
        append_line!(out, "{header}");
        for change in hunk.iter_changes() {
            let (sign, line) = match change.tag() {
                ChangeTag::Insert => ('+', change.new_index().and_then(|line| new_lines.get(line))),
                ChangeTag::Delete => ('-', change.old_index().and_then(|line| old_lines.get(line))),
                ChangeTag::Equal => (' ', change.old_index().and_then(|line| old_lines.get(line))),
            };
            append_line!(out, "{sign}{}", line.map_or("", |line| line.strip_suffix('\n').unwrap_or(line)));
            if change.missing_newline() {
                out.push_str("\\ No newline at end of file\n");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that are not those of a secret are as in an ordinary diff.
    #[test]
    fn masks_secrets_and_shows_that_they_changed() {
        let text = |token: &str, replicas: u8| format!("a: 1\nHF_TOKEN: {token}\nreplicas: {replicas}");
        let diff = unified_diff(&text("abcdefgh", 1), &text("ijklmnop", 2), "old", "new");
        let expected = "--- old\n+++ new\n@@ -1,3 +1,3 @@\n a: 1\n-HF_TOKEN: ****\n-replicas: 1\n\\ No newline at end of file\n\
                        +HF_TOKEN: ****\n+replicas: 2\n\\ No newline at end of file\n";
        assert_eq!(diff, expected);
        let ordinary = TextDiff::from_lines("a: 1\nb: 2", "a: 1\nb: 3").unified_diff().header("old", "new").to_string();
        assert_eq!(unified_diff("a: 1\nb: 2", "a: 1\nb: 3", "old", "new"), ordinary);
        let created = unified_diff("", "HF_TOKEN: abcdefgh\n", "/dev/null", "new");
        assert_eq!(created, "--- /dev/null\n+++ new\n@@ secrets are masked @@\n+HF_TOKEN: ****\n");
    }
}
