//! `cargo xtask flags`: the engine flag tables of the product, from the facts collected about each engine version.
//!
//! One text file per engine, all its versions in it. After the header comes one entry per line, sorted by name:
//! `<name> <versions> <type> [attribute …]`, `<alias> <versions> =<name>`, or `<off form> <versions> !<name>`.

mod facts;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Failure;
use facts::{Entry, Facts};

/// One committed table.
struct Table {
    /// File name without extension.
    file: &'static str,
    /// Key in the facts.
    engine: &'static str,
    /// The versions the product knows, oldest first.
    versions: &'static [&'static str],
    /// Where the facts come from.
    source: &'static str,
    /// The facts were not taken from exactly this software.
    uncertain: bool,
}

const TABLES: &[Table] = &[
    Table {
        file: "dynamo-sglang",
        engine: "dynamo.sglang",
        versions: &["1.1.1", "1.4.0", "1.6.1"],
        source: "ai-dynamo wheels of exactly these versions",
        uncertain: false,
    },
    Table {
        file: "dynamo-trtllm",
        engine: "dynamo.trtllm",
        versions: &["1.1.1", "1.4.0", "1.6.1"],
        source: "ai-dynamo wheels of exactly these versions",
        uncertain: false,
    },
    Table {
        file: "dynamo-vllm",
        engine: "dynamo.vllm",
        versions: &["1.1.1", "1.4.0", "1.6.1"],
        source: "ai-dynamo wheels of exactly these versions",
        uncertain: false,
    },
    Table {
        file: "llama-server",
        engine: "llama.cpp-server",
        versions: &["stored-readme-00dc8057"],
        source: "flags transcribed from tools/server/README.md at 00dc8057; other flags exist",
        uncertain: true,
    },
    Table {
        file: "sglang",
        engine: "sglang",
        versions: &["0.5.10.post1", "0.5.12.post1", "0.5.16", "0.5.21", "0.5.23"],
        source: "sglang wheels of exactly these versions",
        uncertain: false,
    },
    Table {
        file: "trtllm",
        engine: "tensorrt-llm.LLM",
        versions: &["stored-main-0004396"],
        source: "configuration keys transcribed from llm_args.py at 0004396, after 1.3.0rc21; other keys exist",
        uncertain: true,
    },
    Table {
        file: "vllm",
        engine: "vllm",
        versions: &["0.19.0", "0.20.2", "0.22.0", "0.26.0", "0.29.0", "0.31.0", "0.33.0"],
        source: "vllm packages of exactly these versions",
        uncertain: false,
    },
];

/// Writes every table that differs from what is committed.
pub(crate) fn write() -> Result<String, Failure> {
    let mut report = String::new();
    for (path, text) in generate(&source_path())? {
        let stale = fs::read_to_string(&path).is_ok_and(|old| old == text);
        if !stale {
            fs::write(&path, &text).map_err(|error| Failure::Broken(format!("{}: {error}", path.display())))?;
        }
        let _ = writeln!(report, "{} {}", if stale { "unchanged" } else { "wrote    " }, path.display());
    }
    Ok(report)
}

/// Fails when a committed table is not what [`write`] would make.
pub(crate) fn check() -> Result<String, Failure> {
    let stale: Vec<String> = generate(&source_path())?
        .into_iter()
        .filter(|(path, text)| fs::read_to_string(path).ok().as_deref() != Some(text))
        .map(|(path, _)| path.display().to_string())
        .collect();
    if stale.is_empty() {
        Ok(format!("{} flag tables are up to date\n", TABLES.len()))
    } else {
        Err(Failure::Unmet(format!("stale, run `cargo xtask flags`: {}", stale.join(", "))))
    }
}

fn workspace() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

fn source_path() -> PathBuf {
    workspace().join("../shared/data/engine-flags.json")
}

/// The path and text of every table.
fn generate(source: &Path) -> Result<Vec<(PathBuf, String)>, Failure> {
    let mut facts = Facts::default();
    for path in [source.to_owned(), workspace().join("xtask/facts/engine-flags-extra.json")] {
        facts.read(&path).map_err(|error| Failure::Broken(format!("{}: {error}", path.display())))?;
    }
    let directory = workspace().join("crates/model/src/engines/flags/data");
    TABLES
        .iter()
        .map(|table| {
            let text = render(table, &facts).map_err(|error| Failure::Broken(format!("{}: {error}", table.engine)))?;
            Ok((directory.join(format!("{}.txt", table.file)), text))
        })
        .collect()
}

fn render(table: &Table, facts: &Facts) -> Result<String, String> {
    // (name, what is said of it) -> one character per version that says it.
    let mut lines: BTreeMap<(String, String), String> = BTreeMap::new();
    let letters: Vec<char> = ('a'..='z').take(table.versions.len()).collect();
    for (version, &letter) in table.versions.iter().zip(&letters) {
        for Entry { name, text } in facts.entries(table.engine, version, table.versions)? {
            lines.entry((name, text)).or_default().push(letter);
        }
    }
    let mut lines: Vec<(String, String, String)> =
        lines.into_iter().map(|((name, text), versions)| (name, versions, text)).collect();
    lines.sort();

    let versions: Vec<String> =
        letters.iter().zip(table.versions).map(|(letter, version)| format!("{letter}={version}")).collect();
    let mut text = format!(
        "# Written by `cargo xtask flags`; do not edit. {}\n\
         # Source: {}.\n\
         # Entry: <name> <versions> <type> [attribute ...] | <alias> <versions> =<name> | <off form> <versions> !<name>\n\
         # Type: switch, pair (--x, --no-x) or that of the value, `?` value may be left out, `+` several values, `&` may be repeated.\n\
         #versions {}\n",
        table.engine,
        table.source,
        versions.join(" "),
    );
    if table.uncertain {
        text.push_str("#uncertain\n");
    }
    for (name, present, line) in lines {
        let _ = writeln!(text, "{name} {} {line}", version_column(&present, &letters));
    }
    Ok(text)
}

/// `*` for all versions, otherwise runs of letters: `a-c` up to a version, `d-` from one on, `b`, `a-be-`.
fn version_column(present: &str, letters: &[char]) -> String {
    if present.len() == letters.len() {
        return "*".to_owned();
    }
    let mut column = String::new();
    let mut rest: Vec<char> = present.chars().collect();
    while let Some(&first) = rest.first() {
        let run = rest.iter().zip(first..).take_while(|(have, want)| *have == want).count();
        column.push(first);
        if run > 1 {
            column.push('-');
            let last = rest.get(run - 1).copied().unwrap_or(first);
            if Some(&last) != letters.last() {
                column.push(last);
            }
        }
        rest.drain(..run);
    }
    column
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_tables_are_what_the_generator_makes() {
        if !source_path().exists() {
            // Past the test runner's capture: a skipped check is said, not hidden.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), b"skipped: ../shared absent\n");
            return;
        }
        check().expect("up to date");
    }

    #[test]
    fn absent_source_is_a_failure_that_names_the_file() {
        let Err(Failure::Broken(message)) = generate(Path::new("/nonexistent/engine-flags.json")) else {
            panic!("an absent source must break the task");
        };
        assert!(message.contains("/nonexistent/engine-flags.json"), "{message}");
    }

    #[test]
    fn version_columns_are_runs() {
        let letters = ['a', 'b', 'c', 'd', 'e'];
        for (present, column) in
            [("abcde", "*"), ("a", "a"), ("e", "e"), ("abc", "a-c"), ("cde", "c-"), ("abde", "a-bd-"), ("ac", "ac")]
        {
            assert_eq!(version_column(present, &letters), column);
        }
    }
}
