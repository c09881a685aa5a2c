//! Runs every command in a `console` block of the documentation and compares its output.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The commands in the `console` blocks of a page, with their documented output.
fn commands(text: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for block in text.split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                commands.push((command.to_owned(), String::new()));
            } else if let Some((_, output)) = commands.last_mut() {
                output.push_str(line);
                output.push('\n');
            }
        }
    }
    commands
}

/// A Mermaid chart must be the output of the command above it.
#[test]
fn charts_match_their_commands() {
    let text = fs::read_to_string(root().join("docs/explain.md")).unwrap();
    let mut count = 0;
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("```mermaid\n") {
        let (chart, after) = after.split_once("```").unwrap();
        let command = before.rsplit_once("```sh\n").unwrap().1.lines().next().unwrap();
        let words = command.strip_prefix("kubefoundry ").unwrap().split(' ');
        let run = Command::new(env!("CARGO_BIN_EXE_kubefoundry")).args(words).current_dir(root()).output().unwrap();
        assert_eq!(String::from_utf8(run.stdout).unwrap(), chart, "{command}");
        count += 1;
        rest = after;
    }
    assert_eq!(count, 1);
}

/// A final line `...` stands for further output.
#[test]
fn console_blocks_match_their_commands() {
    let mut count = 0;
    let mut pages = vec![root().join("README.md")];
    pages.extend(fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    for page in pages.iter().filter(|page| page.extension().is_some_and(|extension| extension == "md")) {
        for (command, expected) in commands(&fs::read_to_string(page).unwrap()) {
            let words = command.strip_suffix(" 2>/dev/null").unwrap_or(&command);
            let mut words = words.split(' ');
            assert_eq!(words.next(), Some("kubefoundry"), "{command}");
            let run = Command::new(env!("CARGO_BIN_EXE_kubefoundry")).args(words).current_dir(root()).output().unwrap();
            let printed = String::from_utf8(run.stdout).unwrap();
            match expected.strip_suffix("...\n") {
                Some(start) => assert!(printed.starts_with(start), "{command}\n{printed}"),
                None => assert_eq!(printed, expected, "{command}"),
            }
            count += 1;
        }
    }
    assert!(count >= 2, "{count} commands in the documentation");
}

/// Commands that need other programs are in `shell-session` blocks, which scripts of CI run.
#[test]
fn pages_with_shell_sessions_are_run_by_a_script() {
    let scripts = ["krm_docs.py", "tutorial.py"]
        .map(|name| fs::read_to_string(root().join("tests/conformance").join(name)).unwrap())
        .concat();
    let mut count = 0;
    for page in fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path()) {
        if page.is_file() && fs::read_to_string(&page).unwrap().contains("```shell-session\n") {
            let name = page.file_name().unwrap().to_str().unwrap();
            assert!(scripts.contains(&format!("\"{name}\"")), "no script in tests/conformance runs docs/{name}");
            count += 1;
        }
    }
    assert!(count >= 2, "{count} pages with shell sessions");
}
