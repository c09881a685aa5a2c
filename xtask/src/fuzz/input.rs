//! An input of the fuzzer and the check of its invariants.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_yaml as yaml;
use serde_json::Value;

use super::test_support::invariants;

/// The files of a case folder.
#[derive(Debug, Clone, Default)]
pub(crate) struct Input {
    pub(crate) files: Vec<File>,
}

/// One file; `kubefoundry.yaml` holds options.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Reads the goldens, the examples and the saved failures.
pub(crate) fn initial_corpus(root: &Path) -> Vec<Input> {
    let mut folders = Vec::new();
    for group in folders_in(&root.join("testdata/golden")) {
        folders.extend(folders_in(&group));
    }
    folders.extend(folders_in(&root.join("examples")));
    folders.extend(folders_in(&root.join("testdata/fuzz/failures")));
    folders.iter().map(|folder| read(folder)).filter(|input| !input.files.is_empty()).collect()
}

fn folders_in(path: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn read(folder: &Path) -> Input {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<File> = entries
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "yaml" || extension == "json"))
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            Some(File { name, bytes: std::fs::read(entry.path()).ok()? })
        })
        .collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Input { files }
}

/// Returns an input with one file that holds these documents.
pub(crate) fn from_documents(documents: &[Value]) -> Input {
    let bytes = yaml::to_yaml_stream(documents).into_bytes();
    Input { files: vec![File { name: "input.yaml".to_owned(), bytes }] }
}

/// Checks the invariants of an input and returns its findings.
///
/// # Errors
/// The broken invariant, the panic, or that the check took longer than `max_time`.
pub(crate) fn check(input: &Input, max_time: Duration) -> Result<Vec<Diagnostic>, String> {
    let mut sources = SourceSet::default();
    for file in &input.files {
        let purpose = if file.name == "kubefoundry.yaml" { Purpose::Options } else { Purpose::Input };
        sources.add_bytes(purpose, file.name.as_str(), file.bytes.clone());
    }
    let start = Instant::now();
    let checked = catch_unwind(AssertUnwindSafe(|| invariants::check(&sources)));
    let took = start.elapsed();
    match checked {
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(format!("a panic: {}", text.unwrap_or_default()))
        }
        Ok(_) if took > max_time => Err(format!("it takes {took:?}")),
        Ok(checked) => checked.map(|compilation| compilation.diagnostics),
    }
}
