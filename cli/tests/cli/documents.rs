//! What the documentation shows of the command line is what the command line prints: every `console` block is run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The commands of a page's `console` blocks, each with what it is said to print.
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

/// A chart stands after the command that draws it, so that it is the one that the command draws today.
#[test]
fn charts_are_what_is_drawn() {
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

/// A line `...` at the end of the expected text stands for more of it.
#[test]
fn console_blocks_show_what_is_printed() {
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
