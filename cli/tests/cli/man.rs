//! `man`: the manual. That groff formats it without a warning is checked in `tests/conformance/pictures`.

use crate::sandbox::Sandbox;

/// The sections of a page, in their order.
fn sections(page: &str) -> Vec<&str> {
    page.lines().filter_map(|line| line.strip_prefix(".SH ")).map(|title| title.trim_matches('"')).collect()
}

#[test]
fn every_command_has_a_page() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["man", "--out-dir", "man1"]).exits(0).out, "");
    let pages = sandbox.files("man1");
    let help = sandbox.run(&["--help"]).exits(0).out;
    let commands = help.split_once("Commands:\n").unwrap().1.split("\n\n").next().unwrap();
    let commands = commands.lines().filter_map(|line| line.strip_prefix("  "));
    let mut expected: Vec<String> = commands
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .map(|command| format!("kubefoundry-{command}.1"))
        .collect();
    expected.push("kubefoundry.1".to_owned());
    expected.sort();
    assert_eq!(pages, expected);
    for page in &pages {
        let text = sandbox.read(&format!("man1/{page}"));
        let name = page.strip_suffix(".1").unwrap();
        assert!(text.contains(&format!(".TH {} 1 ", name.to_uppercase())), "{text}");
        let found = sections(&text);
        for section in ["NAME", "SYNOPSIS", "OPTIONS", "EXIT STATUS", "FILES", "ENVIRONMENT", "EXAMPLES", "SEE ALSO"] {
            assert!(found.contains(&section), "{page} has {found:?}");
        }
        for word in ["kubefoundry.yaml", "NO_COLOR"] {
            assert!(text.contains(word), "{page}");
        }
    }
}

#[test]
fn one_page_goes_to_standard_output() {
    let sandbox = Sandbox::new();
    sandbox.run(&["man", "--out-dir", "man1"]).exits(0);
    assert_eq!(sandbox.run(&["man"]).exits(0).out, sandbox.read("man1/kubefoundry.1"));
    let render = sandbox.run(&["man", "render"]).exits(0).out;
    assert_eq!(render, sandbox.read("man1/kubefoundry-render.1"));
    assert!(render.contains("kubefoundry render models/ \\-\\-out\\-dir manifests"), "{render}");
    assert!(render.contains(".SH NOTES"), "{render}");
}

#[test]
fn rejects_an_unknown_command() {
    let ran = Sandbox::new().run(&["man", "rendr"]).exits(2);
    assert_eq!(ran.out, "");
    assert!(
        ran.err.starts_with("kubefoundry: there is no command \"rendr\"; expected one of render, lint"),
        "{}",
        ran.err
    );
    let ran = Sandbox::new().with("file", "").run(&["man", "--out-dir", "file/man1"]).exits(2);
    assert!(ran.err.contains("file/man1"), "{}", ran.err);
}
