//! `plan`: every case of `testdata/plan`, as text, Markdown and JSON; revisions of a repository; exit statuses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sandbox::{PINNED, Sandbox, broken, model};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The folders of the cases, and the arguments that each is planned with.
pub(crate) fn cases() -> Vec<(PathBuf, Vec<String>)> {
    let entries = fs::read_dir(root().join("testdata/plan")).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let arguments = |folder: &Path| {
        let text = fs::read_to_string(folder.join("args")).unwrap_or_else(|_| "old new".to_owned());
        text.split_whitespace().map(str::to_owned).collect()
    };
    folders.into_iter().map(|folder| (folder.clone(), arguments(&folder))).collect()
}

fn planned(folder: &Path, arguments: &[String], more: &[&str]) -> String {
    let command = Command::new(env!("CARGO_BIN_EXE_kubefoundry"))
        .arg("plan")
        .args(arguments)
        .args(more)
        .current_dir(folder)
        .output()
        .unwrap();
    let err = String::from_utf8(command.stderr).unwrap();
    assert_eq!(command.status.code(), Some(0), "{}: {err}", folder.display());
    String::from_utf8(command.stdout).unwrap()
}

/// What the command prints: `plan.snap` for people, `markdown.snap` for pull requests.
#[test]
fn cases_are_planned_as_recorded() {
    for (folder, arguments) in cases() {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(&folder);
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.remove_description();
        settings.bind(|| {
            insta::assert_snapshot!("plan", planned(&folder, &arguments, &[]));
            insta::assert_snapshot!("markdown", planned(&folder, &arguments, &["--output", "markdown"]));
        });
    }
}
