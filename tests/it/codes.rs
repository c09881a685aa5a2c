//! The pages of the diagnostic codes: every code has one, and every example behaves as its page states.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::code_page::mistakes;
use kubefoundry::registry;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/codes")
}

/// A link to a missing page is accepted here, because another test reports the page.
fn has_destination(link: &str) -> bool {
    folder().join(link).exists() || link.strip_suffix(".md").is_some_and(|id| registry::code(id).is_some())
}

#[test]
fn every_code_has_a_page() {
    let missing: Vec<String> = registry::codes()
        .filter(|code| !folder().join(format!("{}.md", code.id)).exists())
        .map(|code| format!("docs/codes/{}.md ({})", code.id, code.name))
        .collect();
    assert!(missing.is_empty(), "to be written, then `cargo xtask generate`:\n{}", missing.join("\n"));
}

#[test]
fn every_page_has_a_code() {
    let known: BTreeSet<String> = registry::codes().map(|code| format!("{}.md", code.id)).collect();
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "README.md" || known.contains(&name), "docs/codes/{name} has no code");
    }
}

/// The embedded pages match the folder.
#[test]
fn every_page_is_embedded() {
    for code in registry::codes() {
        let page = fs::read_to_string(folder().join(format!("{}.md", code.id))).ok();
        assert_eq!(registry::page(code), page.as_deref(), "{}: run `cargo xtask generate`", code.id);
    }
}

/// The failing example of each page triggers its code, and the corrected example does not.
#[test]
fn examples_behave_as_their_page_states() {
    let mut report = String::new();
    for code in registry::codes() {
        let Ok(page) = fs::read_to_string(folder().join(format!("{}.md", code.id))) else { continue };
        for mistake in mistakes(code, &page, has_destination) {
            let _ = writeln!(report, "docs/codes/{}.md: {mistake}", code.id);
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

/// The check itself works: a page with one mistake is refused for that mistake.
#[test]
fn a_wrong_page_is_refused() {
    let code = registry::code("unknown-field").unwrap();
    let page = fs::read_to_string(folder().join("KF0113.md")).unwrap();
    let found = |page: &str| mistakes(code, page, |_| true);
    assert_eq!(found(&page), [""; 0]);
    for (good, bad, expected) in [
        ("KF0113: unknown-field", "KF0113: unknown field", "expected the title `# KF0113: unknown-field`"),
        ("Error. ", "Warning. ", "expected severity and summary as in the registry: `Error. A field"),
        ("A field that", "A key that", "expected severity and summary as in the registry"),
        ("\n## Why it matters\n", "\n## Reasons\n", "expected the sections"),
        ("\n## Corrected\n", "\n", "expected the sections"),
        ("\n## Corrected\n", "\n## Example\n", "two blocks are example.yaml"),
        ("```text\n", "```ini\n", "a `ini` block that is neither a file nor the one report"),
        ("kind: ModelDeployment\n", "kind: Deployment\n", "it has no KF0113, it has\nexample.yaml:2:7: error[KF0106]"),
        ("    contextlength: 8192    # KF0113\n", "    contextlength: 8192\n", "mark it with `# KF0113` at the end"),
        ("    type: vllm\n", "    type: vllm # KF0113\n", "marked KF0113, which is not found there"),
        ("# KF0113\n", "# KF0113, KF0114\n", "marked KF0114, which is not found there"),
        ("unknown field \"replicas\"", "no field \"replicas\"", "the example has other findings than the text says"),
        ("    contextLength: 8192\n", "    contextlength: 8192\n", "it has findings"),
        ("\n## See also\n", "\n```yaml\na: 1\n```\n\n## See also\n", "two blocks are example.yaml"),
    ] {
        assert!(page.contains(good), "{good}");
        let found = found(&page.replacen(good, bad, 1));
        assert!(found.iter().any(|mistake| mistake.contains(expected)), "{bad:?} gives {found:#?}");
    }
    let found = mistakes(code, &page, |link| link != "KF0112.md");
    assert_eq!(found, ["the link to KF0112.md leads nowhere"]);
}
