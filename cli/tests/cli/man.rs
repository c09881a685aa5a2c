//! `man`: the manual. That groff formats it without a warning is checked in `tests/conformance/pictures`.

use std::path::Path;
use std::{env, fs};

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
    let nested = [
        "argocd-generate",
        "argocd-discover",
        "argocd-params",
        "llamastack-merge-config",
        "llamastack-validate-provider",
    ];
    expected.extend(nested.map(|command| format!("kubefoundry-{command}.1")));
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

/// A command of a command has a page, which others refer to.
#[test]
fn nested_commands_have_pages() {
    let sandbox = Sandbox::new();
    let page = sandbox.run(&["man", "llamastack", "merge-config"]).exits(0).out;
    assert!(page.contains(".TH KUBEFOUNDRY-LLAMASTACK-MERGE-CONFIG 1 "), "{page}");
    assert!(page.contains("\\fBkubefoundry llamastack merge\\-config\\fR ["), "{page}");
    assert!(sandbox.run(&["man"]).exits(0).out.contains("\\fBkubefoundry\\-argocd\\-generate\\fR(1)"));
    let ran = sandbox.run(&["man", "argocd", "genrate"]).exits(2);
    let expected = "kubefoundry: there is no command \"genrate\"; expected one of generate, discover, params\n";
    assert_eq!(ran.err, expected);
}

/// The synopsis shows which options take a value, and which can be repeated.
#[test]
fn the_synopsis_has_values() {
    let sandbox = Sandbox::new();
    let synopsis = |command: &str| {
        let page = sandbox.run(&["man", command]).exits(0).out;
        let line = page.split(".SH SYNOPSIS\n").nth(1).unwrap().lines().next().unwrap().to_owned();
        line.replace("\\fB", "").replace("\\fI", "").replace("\\fR", "").replace("\\-", "-")
    };
    let lint = synopsis("lint");
    for part in
        ["kubefoundry lint [-o|--output FORMAT]", " [--config FILE]", " [--crds PATH]...", " [--fix]", " [-q|--quiet]"]
    {
        assert!(lint.contains(part), "{part}: {lint}");
    }
    assert!(lint.ends_with(" [PATH]...") && !lint.contains("--target"), "{lint}");
    assert!(synopsis("schema").contains(" [--upstream [GROUP/KIND]]"));
    assert!(synopsis("drift").ends_with(" <SPEC> <SNAPSHOT>"));
}

/// docs/commands has the same pages in Markdown. `REWRITE=1` writes them.
#[test]
fn pages_of_the_documentation_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/commands");
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["man", "--markdown", "--out-dir", "commands"]).exits(0).out, "");
    let pages = sandbox.files("commands");
    if env::var_os("REWRITE").is_some() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        for page in &pages {
            fs::write(folder.join(page), sandbox.read(&format!("commands/{page}"))).unwrap();
        }
    }
    let mut committed: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    committed.sort();
    let command = "run `REWRITE=1 cargo test -p kubefoundry-cli --test cli man::`";
    assert_eq!(committed, pages, "{command}");
    for page in pages {
        let text = fs::read_to_string(folder.join(&page)).unwrap();
        assert_eq!(text, sandbox.read(&format!("commands/{page}")), "docs/commands/{page}: {command}");
    }
}

/// A page has every option of `--help`, and links only to pages that exist.
#[test]
fn a_page_in_markdown_is_complete() {
    let sandbox = Sandbox::new();
    sandbox.run(&["man", "--markdown", "--out-dir", "commands"]).exits(0);
    let lint = sandbox.read("commands/lint.md");
    let help = sandbox.run(&["lint", "--help"]).exits(0).out;
    let options = help.split_whitespace().filter_map(|word| word.strip_prefix("--"));
    for option in options.map(|option| option.trim_end_matches(|c: char| !c.is_alphanumeric())) {
        assert!(option == "help" || lint.contains(&format!("--{option}")), "{option}: {lint}");
    }
    for part in ["# kubefoundry lint\n", "\n## Examples\n\n```sh\nkubefoundry lint .\n", "- `-o, --output <FORMAT>`: "]
    {
        assert!(lint.contains(part), "{part}: {lint}");
    }
    let index = sandbox.read("commands/README.md");
    for page in sandbox.files("commands").iter().filter(|page| *page != "README.md") {
        assert!(index.contains(&format!("]({page})")), "{page}");
    }
    sandbox.run(&["man", "--markdown"]).exits(2);
}

#[test]
fn rejects_an_unknown_command() {
    let ran = Sandbox::new().run(&["man", "rendr"]).exits(2);
    assert_eq!(ran.out, "");
    assert!(
        ran.err.starts_with("kubefoundry: there is no command \"rendr\"; expected one of init, render"),
        "{}",
        ran.err
    );
    let ran = Sandbox::new().with("file", "").run(&["man", "--out-dir", "file/man1"]).exits(2);
    assert!(ran.err.contains("file/man1"), "{}", ran.err);
}
