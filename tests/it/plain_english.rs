//! The words of the repository: phrases that a reader stumbles over stay out, and limits are named alike.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::rust_source::rust_files;

const LIST: &str = include_str!("banned_phrases.txt");

/// Folders that hold no text of this project: build output, other projects' files, and what is made from them.
const FOREIGN: [&str; 10] = [
    ".git",
    "target",
    "node_modules",
    "crates/crd/schemas",
    "crates/engines/src/flags/data",
    "testdata/upstream",
    "xtask/facts",
    "schemas/kubefoundry.json",
    "schemas/modeldeployment.json",
    "Cargo.lock",
];

/// Files that name the phrases in order to refuse them.
const EXEMPT: [&str; 3] = ["tests/it/banned_phrases.txt", "tests/it/plain_english.rs", "docs/glossary.md"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of the repository with text of this project, relative to its root.
fn text_files(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(root().join(folder))
        .unwrap()
        .map(|entry| folder.join(entry.unwrap().file_name()))
        .filter(|path| !FOREIGN.iter().any(|foreign| path == Path::new(foreign) || path.ends_with(foreign)))
        .collect();
    entries.sort();
    let files = entries.into_iter().flat_map(|path| {
        let absolute = root().join(&path);
        if absolute.is_dir() && !absolute.is_symlink() { text_files(&path) } else { vec![path] }
    });
    files.collect()
}

/// A text as one line: markers of comments and indentation are removed, so that a phrase is found across a line break.
/// The second value holds the offset at which each line begins.
fn join_lines(text: &str) -> (String, Vec<usize>) {
    let mut joined = String::with_capacity(text.len());
    let mut starts = Vec::new();
    for line in text.lines() {
        starts.push(joined.len());
        let line = line.trim();
        let line = ["//!", "///", "//", "#", "* "].iter().find_map(|marker| line.strip_prefix(marker)).unwrap_or(line);
        joined.push_str(&line.trim().to_lowercase());
        joined.push(' ');
    }
    (joined, starts)
}

/// The lines, counted from 1, on which a phrase begins. It must consist of whole words.
fn lines_with(phrase: &str, joined: &str, starts: &[usize]) -> Vec<usize> {
    let is_part_of_word = |character: Option<char>| character.is_some_and(|it| it.is_alphanumeric() || it == '_');
    let is_whole = |at: usize| {
        !is_part_of_word(joined[..at].chars().next_back())
            && !is_part_of_word(joined[at + phrase.len()..].chars().next())
    };
    let offsets = joined.match_indices(phrase).map(|(at, _)| at).filter(|at| is_whole(*at));
    offsets.map(|at| starts.partition_point(|start| *start <= at)).collect()
}

fn banned_phrases() -> Vec<(&'static str, &'static str)> {
    LIST.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_once(": ").unwrap()).collect()
}

#[test]
fn no_text_contains_a_banned_phrase() {
    let phrases = banned_phrases();
    let mut found = Vec::new();
    for path in text_files(Path::new("")).iter().filter(|path| !EXEMPT.iter().any(|exempt| *path == Path::new(exempt)))
    {
        let Ok(text) = fs::read_to_string(root().join(path)) else { continue };
        let (joined, starts) = join_lines(&text);
        for (phrase, instead) in &phrases {
            for line in lines_with(phrase, &joined, &starts) {
                found.push(format!("{}:{line}: {phrase:?}, write: {instead}", path.display()));
            }
        }
    }
    assert!(
        found.is_empty(),
        "{} banned phrases (see tests/it/banned_phrases.txt):\n{}",
        found.len(),
        found.join("\n")
    );
}

/// "X is no Y" is written "X is not a Y". After "no" stand only these; `result` does in a script that is rendered, whose
/// manifests a better comment must not change.
const AFTER_NO: [&str; 12] =
    ["concern", "larger", "less", "longer", "more", "newer", "older", "one", "problem", "reason", "result", "such"];

/// The lines, counted from 1, with a noun that "no" negates; "there is no Y" is right.
fn lines_with_negated_noun(joined: &str, starts: &[usize]) -> Vec<usize> {
    let negations = ["is no ", "are no "].iter().flat_map(|verb| around(verb, joined));
    let wrong = negations.filter(|(before, after)| {
        let noun = after.split(|it: char| !it.is_alphanumeric()).next().unwrap_or_default();
        !noun.is_empty() && !AFTER_NO.contains(&noun) && !["there ", "where "].iter().any(|it| before.ends_with(it))
    });
    let mut lines: Vec<usize> =
        wrong.map(|(before, _)| starts.partition_point(|start| *start <= before.len())).collect();
    lines.sort_unstable();
    lines
}

/// The text before and after each occurrence of a phrase that begins with a whole word.
fn around<'t>(phrase: &'t str, joined: &'t str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let found = joined.match_indices(phrase).map(move |(at, _)| (&joined[..at], &joined[at + phrase.len()..]));
    found.filter(|(before, _)| before.is_empty() || before.ends_with(' '))
}

#[test]
fn nouns_are_negated_by_not() {
    let mut found = Vec::new();
    for path in text_files(Path::new("")).iter().filter(|path| !EXEMPT.iter().any(|exempt| *path == Path::new(exempt)))
    {
        let Ok(text) = fs::read_to_string(root().join(path)) else { continue };
        let (joined, starts) = join_lines(&text);
        found.extend(lines_with_negated_noun(&joined, &starts).iter().map(|line| format!("{}:{line}", path.display())));
    }
    assert!(found.is_empty(), "write \"is not a …\" for \"is no …\":\n{}", found.join("\n"));
}

/// A constant for an upper bound is named `MAX_*`, so that one search finds all of them.
#[test]
fn limits_are_named_max() {
    let folders = ["crates", "src", "cli", "krm/src", "operator", "xtask/src", "tools", "benches"];
    for file in folders.iter().flat_map(|folder| rust_files(&root().join(folder))) {
        let source = fs::read_to_string(&file).unwrap();
        let old = source
            .split(|it: char| !it.is_alphanumeric() && it != '_')
            .find(|word| ["MOST_", "LONGEST_", "LARGEST_", "DEEPEST_"].iter().any(|start| word.starts_with(start)));
        assert_eq!(old, None, "{}: a limit is named MAX_*", file.display());
    }
}

#[test]
fn a_phrase_is_found_across_lines_and_as_whole_words_only() {
    let (joined, starts) = join_lines("/// What is\n/// said of it.\nlet x = 1; // Nobody\nnobody_else\n");
    assert_eq!(lines_with("is said", &joined, &starts), [1]);
    assert_eq!(lines_with("said of", &joined, &starts), [2]);
    assert_eq!(lines_with("nobody", &joined, &starts), [3]);
    assert_eq!(lines_with("absent", &joined, &starts), [0; 0]);
}

#[test]
fn a_negated_noun_is_found_where_nothing_is_absent() {
    let (joined, starts) =
        join_lines("/// A pipe is\n/// no file.\nThere is no file.\nIt is no longer one.\nThese are no files.\n");
    assert_eq!(lines_with_negated_noun(&joined, &starts), [1, 5]);
}

#[test]
fn the_list_is_sorted_and_says_what_to_write() {
    let phrases = banned_phrases();
    assert!(phrases.windows(2).all(|pair| pair[0].0 < pair[1].0), "sort tests/it/banned_phrases.txt");
    assert!(phrases.iter().all(|(phrase, instead)| *phrase == phrase.to_lowercase() && !instead.is_empty()));
}
