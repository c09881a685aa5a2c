//! Helpers for tests that check the sources of the workspace.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the Rust files below a folder, sorted.
pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let files = entries.into_iter().flat_map(|path| {
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        if path.is_dir() { rust_files(&path) } else { Vec::from_iter(is_rust.then_some(path)) }
    });
    files.collect()
}

/// Returns the Rust files below a folder without tests: no files named `tests*`, and none in a folder `tests`.
pub(crate) fn files_without_tests(folder: &Path) -> Vec<PathBuf> {
    let is_test = |file: &PathBuf| {
        let inside = file.strip_prefix(folder).unwrap();
        inside.parent().is_some_and(|path| path.iter().any(|part| part == "tests"))
            || inside.file_name().is_some_and(|name| name.to_string_lossy().starts_with("tests"))
    };
    rust_files(folder).into_iter().filter(|file| !is_test(file)).collect()
}

/// Returns the lines of a source, with their numbers from 1, without comments and without the test module.
pub(crate) fn code_lines(source: &str) -> impl Iterator<Item = (usize, &str)> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    (1..).zip(code.lines()).filter(|(_, line)| !line.trim_start().starts_with("//"))
}
