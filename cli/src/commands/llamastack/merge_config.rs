//! `llamastack merge-config`, which the init container of the same name runs.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use kubefoundry_llamastack::merge::{self, CRD_CONFIG, Installed, MergeError};
use kubefoundry_llamastack::package;

use crate::args::MergeConfigArgs;
use crate::console;
use crate::exit::ExitStatus;
use crate::output::file_replacement::FileReplacement;

/// Names of the base configuration in a directory, in order of preference.
const BASE_FILE_NAMES: [&str; 2] = ["run.yaml", "config.yaml"];

/// The directory of the volumes in a pod.
const POD_ROOT: &str = "/opt/llama-stack";

pub(super) fn run(args: &MergeConfigArgs) -> ExitStatus {
    match merge_files(args) {
        Ok(notes) => {
            note(&notes, "");
            ExitStatus::Success
        }
        Err(mut blocks) => {
            // In a pod, an error names the container that failed. A merge elsewhere has none.
            if args.metadata_dir.starts_with(POD_ROOT) {
                blocks.push("Init Container: merge-config".to_owned());
            }
            note(&blocks, "\n");
            ExitStatus::Findings
        }
    }
}

/// Prints blocks of lines to standard error. Blocks quote files, so control characters other than line breaks are
/// escaped.
fn note(blocks: &[String], between: &str) {
    let printable = |block: &String| {
        block.lines().flat_map(|line| [kubefoundry_yaml::text::printable(line), "\n".into()]).collect()
    };
    let blocks: Vec<String> = blocks.iter().map(printable).collect();
    console::note(&blocks.join(between));
}

/// Merges and writes the files. Returns notes, or all errors, in which case no file was changed.
fn merge_files(args: &MergeConfigArgs) -> Result<Vec<String>, Vec<String>> {
    let mut errors = Vec::new();
    let base = if args.extra_providers_only { None } else { Some(read_base(&args.base)) };
    let base = base.transpose().unwrap_or_else(|error| {
        errors.push(error);
        None
    });
    let discovered = read_metadata(&args.metadata_dir)
        .map_err(|error| vec![error])
        .and_then(|installed| merge::discover(&installed));
    let discovered = discovered.unwrap_or_else(|blocks| {
        errors.extend(blocks);
        merge::Discovered::default()
    });
    let text = base.as_ref().map(|(_, text)| text.as_str());
    let merged = merge::merge(text, &discovered.entries).map_err(|merge_errors| {
        let path = base.as_ref().map_or(args.base.as_path(), |(path, _)| path);
        errors.extend(merge_errors.iter().map(|error| match error {
            MergeError::Base(error) => error.block(&path.display().to_string()),
            other => other.to_string(),
        }));
    });
    let Some(merged) = merged.ok().filter(|_| errors.is_empty()) else { return Err(errors) };
    // run.yaml comes last: the server reads it, so it must not be replaced unless the other files were.
    let mut files = vec![
        (args.log.as_path(), merged.log.as_str()),
        (args.extra_providers_output.as_path(), merged.extra_providers_yaml.as_str()),
    ];
    files.extend(merged.run_yaml.as_deref().map(|text| (args.output.as_path(), text)));
    write(&files).map_err(|(path, error)| {
        vec![format!(
            "ERROR: Cannot write {}: {error}\n\nResolution: Name files in directories that exist and may be written to.",
            path.display()
        )]
    })?;
    let mut notes = discovered.warnings;
    notes.extend(merged.warnings);
    let main = files.last().map_or(args.output.as_path(), |(path, _)| path);
    notes.push(format!("Merged external providers: {} (into {})", discovered.entries.len(), main.display()));
    Ok(notes)
}

/// Reads the base configuration. Returns its path and text.
fn read_base(path: &Path) -> Result<(PathBuf, String), String> {
    let directory =
        if path.is_dir() { Some(path) } else { path.parent().filter(|_| path.ends_with(BASE_FILE_NAMES[0])) };
    let candidates = match directory {
        Some(directory) => BASE_FILE_NAMES.iter().map(|name| directory.join(name)).collect(),
        None => vec![path.to_owned()],
    };
    let base = candidates.iter().find(|candidate| candidate.exists());
    let Some(base) = base else {
        let names: Vec<String> = candidates.iter().map(|candidate| candidate.display().to_string()).collect();
        return Err(format!(
            "ERROR: Missing base configuration: {} not found\n\nResolution: Put run.yaml into the user ConfigMap, or use a \
             distribution image that includes run.yaml.",
            names.join(" and ")
        ));
    };
    let text = read(base).map_err(|error| {
        let path = base.display();
        format!("ERROR: Cannot read base configuration {path}: {error}\n\nResolution: Write it as UTF-8 text that every user may read.")
    })?;
    Ok((base.clone(), text))
}

/// Reads a file as text. Fails for text that is not UTF-8.
fn read(path: &Path) -> io::Result<String> {
    fs::read_to_string(path)
}

/// Reads the metadata of the installed providers, sorted by directory name.
///
/// Hidden directories are skipped: the install scripts do not create them, but mounted volumes contain some.
fn read_metadata(directory: &Path) -> Result<Vec<Installed>, String> {
    let failed = |path: &Path, error: &io::Error| {
        format!(
            "ERROR: Cannot read provider metadata {}: {error}\n\nResolution: Name the directory that the init containers of the \
             providers wrote to, and let every user read it.",
            path.display()
        )
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(|error| failed(directory, &error))? {
        let entry = entry.map_err(|error| failed(directory, &error))?;
        if entry.path().is_dir() {
            match entry.file_name().into_string() {
                Ok(name) if name.starts_with('.') => {}
                Ok(name) => names.push(name),
                Err(_) => return Err(failed(&entry.path(), &ErrorKind::InvalidFilename.into())),
            }
        }
    }
    names.sort();
    let file = |path: PathBuf| match read(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(&path, &error)),
    };
    let installed = names.into_iter().map(|name| {
        let folder = directory.join(&name);
        Ok(Installed { name, metadata: file(folder.join(package::FILE))?, crd_config: file(folder.join(CRD_CONFIG))? })
    });
    installed.collect()
}

/// Writes all files or none: they are staged as temporary files first and then renamed. They are readable by all users,
/// because the server can run as any user.
fn write(files: &[(&Path, &str)]) -> Result<(), (PathBuf, io::Error)> {
    for (position, (path, _)) in files.iter().enumerate() {
        if files.iter().take(position).any(|(other, _)| other == path) {
            return Err((
                path.to_path_buf(),
                io::Error::new(ErrorKind::InvalidInput, "another output is written there"),
            ));
        }
    }
    #[cfg(unix)]
    let permissions = {
        use std::os::unix::fs::PermissionsExt as _;
        Some(fs::Permissions::from_mode(0o644))
    };
    #[cfg(not(unix))]
    let permissions = None;
    let mut replacement = FileReplacement::default();
    for (path, text) in files {
        replacement.stage(path, text, permissions.as_ref()).map_err(|error| (path.to_path_buf(), error))?;
    }
    replacement.commit()
}
