//! Reads files in a revision of a git repository from its object store, without a checkout.
//!
//! git runs without a shell. Arguments of users follow `--`, or are revisions that must not start with a dash, so that
//! they cannot become options.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, thread};

use super::{KUSTOMIZATIONS, MAX_BYTES, OPTIONS_FILE, walk};

/// Reasons why a revision cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    #[error("--git {0:?}: expected revisions, such as main..HEAD, main...HEAD or main")]
    Revisions(String),
    #[error(
        "--git: there is no revision {0:?} in this repository; in a shallow clone, fetch it first (fetch-depth: 0)"
    )]
    Unknown(String),
    #[error("--git: {0} and {1} have no common ancestor")]
    Unrelated(String, String),
    #[error("--git: {0} is outside the working directory; use a relative path")]
    Absolute(String),
    #[error("--git cannot read standard input; name files or directories")]
    Stdin,
    #[error("--git: cannot start git: {0}")]
    Start(io::Error),
    #[error("--git: git {command} failed: {message}")]
    Failed { command: String, message: String },
    #[error(
        "--git: {path} cannot be read: its object {object} is missing or damaged; fetch it, for example with git fetch --refetch"
    )]
    Missing { path: String, object: String },
    #[error("--git: neither revision contains {0}")]
    NotInRevisions(String),
}

/// A commit and the name by which the user referred to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Revision {
    pub(crate) name: String,
    commit: String,
}

/// Parses the value of `--git` into the old and the new revision. `None` is the working tree.
pub(crate) fn parse_revisions(text: &str) -> Result<(Revision, Option<Revision>), GitError> {
    let names = text.split_once("...").or_else(|| text.split_once(".."));
    // These prefixes are an option, an extra dot, or an exclusion (`^main`).
    let is_name =
        |name: &str| !name.starts_with(['-', '.', '^']) && !name.contains("..") && !name.contains(char::is_control);
    let are_names = names.map_or(!text.is_empty() && is_name(text), |(old, new)| is_name(old) && is_name(new));
    if !are_names {
        return Err(GitError::Revisions(text.to_owned()));
    }
    if let Some((old, new)) = text.split_once("...") {
        let (old, new) = (resolve(or_head(old))?, resolve(or_head(new))?);
        let output = run_git(&["merge-base", &old.commit, &new.commit])?;
        let commit = trimmed_text(&output.stdout);
        if commit.is_empty() {
            return Err(GitError::Unrelated(old.name, new.name));
        }
        let name = format!("{}...{}", old.name, new.name);
        return Ok((Revision { name, commit }, Some(new)));
    }
    if let Some((old, new)) = text.split_once("..") {
        return Ok((resolve(or_head(old))?, Some(resolve(or_head(new))?)));
    }
    Ok((resolve(text)?, None))
}

/// Replaces an omitted side of a range by `HEAD`, as git does.
fn or_head(name: &str) -> &str {
    if name.is_empty() { "HEAD" } else { name }
}

fn resolve(name: &str) -> Result<Revision, GitError> {
    let output = run_git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")])?;
    let commit = trimmed_text(&output.stdout);
    if !output.status.success() || commit.is_empty() {
        let message = String::from_utf8_lossy(&output.stderr);
        if !message.trim().is_empty() {
            return Err(command_error("rev-parse", &output.stderr));
        }
        return Err(GitError::Unknown(name.to_owned()));
    }
    Ok(Revision { name: name.to_owned(), commit })
}

/// The manifests of a revision at and below some paths.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(super) revision: Revision,
    /// The content by path relative to the working directory; `None` for a file that is too large.
    files: BTreeMap<String, Option<Vec<u8>>>,
}

/// A file of a revision and the ID of its object.
struct Blob {
    object: String,
    size: u64,
    is_link: bool,
}

impl Tree {
    /// Reads the manifests at and below the paths, and the kustomizations above them.
    pub(crate) fn read(revision: &Revision, paths: &[PathBuf]) -> Result<Self, GitError> {
        let mut wanted = Vec::new();
        for path in paths {
            let path = relative_to_current_dir(path)?;
            // The path itself comes first, because git names the first path outside the repository in its error.
            wanted.push(if path.is_empty() { ".".to_owned() } else { path.clone() });
            // A kustomization in the directory or the one above tells whether a file is a patch.
            for folder in Path::new(&path).ancestors().skip(1).take(2).filter(|_| !path.is_empty()) {
                wanted.extend(KUSTOMIZATIONS.iter().map(|name| folder.join(name).display().to_string()));
            }
        }
        let mut arguments = vec!["ls-tree", "-r", "-z", "-l", revision.commit.as_str(), "--"];
        arguments.extend(wanted.iter().map(String::as_str));
        let output = run_git(&arguments)?;
        if !output.status.success() {
            return Err(command_error("ls-tree", &output.stderr));
        }
        let mut blobs: BTreeMap<String, Blob> = String::from_utf8_lossy(&output.stdout)
            .split('\0')
            .filter_map(|line| parse_entry(line).transpose())
            .filter(|entry| entry.as_ref().map_or(true, |(path, _)| walk::is_manifest(Path::new(path))))
            .collect::<Result<_, _>>()?;
        let links: Vec<String> = blobs.iter().filter(|(_, blob)| blob.is_link).map(|(path, _)| path.clone()).collect();
        if !links.is_empty() {
            let mut link_targets =
                read_objects(blobs.iter().filter(|(_, blob)| blob.is_link).map(|(_, blob)| &*blob.object))?;
            for path in links {
                let target = blobs.remove(&path).and_then(|blob| link_targets.remove(&blob.object)).unwrap_or_default();
                let target =
                    Path::new(&path).parent().unwrap_or(Path::new("")).join(&*String::from_utf8_lossy(&target));
                // A link to a file outside the paths is skipped.
                if let Some(Blob { object, size, is_link: false }) = blobs.get(&normalize(&target)) {
                    let blob = Blob { object: object.clone(), size: *size, is_link: false };
                    blobs.insert(path, blob);
                }
            }
        }
        let is_readable = |blob: &Blob| blob.size <= MAX_BYTES;
        let contents = read_objects(blobs.values().filter(|blob| is_readable(blob)).map(|blob| &*blob.object))?;
        let files = blobs.into_iter().map(|(path, blob)| (path, contents.get(&blob.object).cloned())).collect();
        Ok(Self { revision: revision.clone(), files })
    }

    /// Creates a tree without files, for paths that were deleted.
    pub(crate) fn empty(name: &str) -> Self {
        let revision = Revision { name: name.to_owned(), commit: String::new() };
        Self { revision, files: BTreeMap::new() }
    }

    /// Returns the file at a path; `None` inside means that it is too large.
    pub(super) fn file(&self, path: &Path) -> Option<(&str, Option<&[u8]>)> {
        let (name, bytes) = self.files.get_key_value(&relative_to_current_dir(path).ok()?)?;
        Some((name, bytes.as_deref()))
    }

    /// Returns the files below a directory in order, without hidden ones.
    pub(super) fn below(&self, path: &Path) -> Vec<(&str, Option<&[u8]>)> {
        let Ok(path) = relative_to_current_dir(path) else { return Vec::new() };
        let inside = |name: &str| {
            let rest = if path.is_empty() { Some(name) } else { name.strip_prefix(&path)?.strip_prefix('/') };
            rest.filter(|rest| !rest.starts_with("../") && !rest.split('/').any(|part| part.starts_with('.')))
                .map(|_| ())
        };
        let files = self.files.iter().filter(|(name, _)| inside(name).is_some());
        files.map(|(name, bytes)| (name.as_str(), bytes.as_deref())).collect()
    }

    /// Returns the options file of a directory.
    pub(super) fn options(&self, directory: &Path) -> Option<(&str, Option<&[u8]>)> {
        self.file(&directory.join(OPTIONS_FILE))
    }

    /// Whether the revision has anything at or below a path.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.file(path).is_some() || !self.below(path).is_empty()
    }
}

/// Parses a line of `git ls-tree -l`: `<mode> <type> <object> <size>\t<path>`. Returns `None` for submodules.
///
/// # Errors
/// If git cannot tell the size of a file, because it does not have its object (`BAD`). A manifest that was left out would
/// look like a deleted one.
fn parse_entry(line: &str) -> Result<Option<(String, Blob)>, GitError> {
    let Some((attributes, path)) = line.split_once('\t') else { return Ok(None) };
    let mut attributes = attributes.split_ascii_whitespace();
    let (Some(mode), Some(kind), Some(object), Some(size)) =
        (attributes.next(), attributes.next(), attributes.next(), attributes.next())
    else {
        return Ok(None);
    };
    // The only other type with `-r` is a commit: a submodule.
    if kind != "blob" {
        return Ok(None);
    }
    match size.parse() {
        Ok(size) => Ok(Some((path.to_owned(), Blob { object: object.to_owned(), size, is_link: mode == "120000" }))),
        Err(_) if walk::is_manifest(Path::new(path)) => {
            Err(GitError::Missing { path: path.to_owned(), object: object.to_owned() })
        }
        Err(_) => Ok(None),
    }
}

/// Reads the content of objects with one `git cat-file`. Returns it by object ID.
fn read_objects<'o>(objects: impl Iterator<Item = &'o str>) -> Result<BTreeMap<String, Vec<u8>>, GitError> {
    let objects: Vec<String> = objects.map(str::to_owned).collect();
    let mut contents = BTreeMap::new();
    if objects.is_empty() {
        return Ok(contents);
    }
    let mut child = git_command(&["cat-file", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(GitError::Start)?;
    let protocol_error =
        |message: &str| GitError::Failed { command: "cat-file".to_owned(), message: message.to_owned() };
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(protocol_error("no pipe"));
    };
    // git writes output while it reads requests. Without a separate thread for the requests, both pipes could fill up
    // and block.
    let request_thread = thread::spawn(move || objects.iter().try_for_each(|object| writeln!(stdin, "{object}")));
    let mut stdout = BufReader::new(stdout);
    let mut header = String::new();
    loop {
        header.clear();
        if stdout.read_line(&mut header).map_err(|error| protocol_error(&error.to_string()))? == 0 {
            break;
        }
        let mut words = header.split_ascii_whitespace();
        let (Some(object), Some("blob"), Some(size)) = (words.next(), words.next(), words.next()) else {
            return Err(protocol_error(header.trim()));
        };
        let size: u64 = size.parse().map_err(|_| protocol_error(header.trim()))?;
        let object = object.to_owned();
        let mut bytes = Vec::new();
        stdout.by_ref().take(size + 1).read_to_end(&mut bytes).map_err(|error| protocol_error(&error.to_string()))?;
        // Each object is followed by a newline.
        bytes.pop();
        contents.insert(object, bytes);
    }
    // An error of the thread means that git exited early, which its exit status reports.
    let _ = request_thread.join();
    let output = child.wait_with_output().map_err(|error| protocol_error(&error.to_string()))?;
    if output.status.success() { Ok(contents) } else { Err(command_error("cat-file", &output.stderr)) }
}

/// Converts a path to one relative to the working directory, which itself is an empty string.
fn relative_to_current_dir(path: &Path) -> Result<String, GitError> {
    let outside = || GitError::Absolute(path.display().to_string());
    if path.is_absolute() {
        let current_dir = env::current_dir().map_err(|_| outside())?;
        let inside = path.strip_prefix(&current_dir).map_err(|_| outside())?;
        return Ok(normalize(inside));
    }
    Ok(normalize(path))
}

/// Removes `.` components, and `..` components where possible, without reading the file system.
fn normalize(path: &Path) -> String {
    let mut parts: Vec<&OsStr> = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if parts.last().is_some_and(|part| *part != "..") => drop(parts.pop()),
            other => parts.push(other.as_os_str()),
        }
    }
    parts.iter().collect::<PathBuf>().display().to_string()
}

fn git_command(arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    // Without this, git would interpret wildcards and `:(...)` in paths.
    command.arg("--literal-pathspecs");
    // A repository's own configuration names programs: a monitor of the file system, and a remote that git asks for
    // missing objects. GIT_NO_LAZY_FETCH is known since git 2.45; older versions obey the protocol setting.
    command.args(["-c", "core.fsmonitor=false", "-c", "protocol.allow=never"]).env("GIT_NO_LAZY_FETCH", "1");
    command.args(arguments).env("GIT_OPTIONAL_LOCKS", "0").stdin(Stdio::null());
    command
}

fn run_git(arguments: &[&str]) -> Result<std::process::Output, GitError> {
    git_command(arguments).output().map_err(GitError::Start)
}

/// Creates the error for a failed git command, with the first line of its standard error.
fn command_error(command: &str, stderr: &[u8]) -> GitError {
    let message = String::from_utf8_lossy(stderr);
    let message = message.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    GitError::Failed { command: command.to_owned(), message: message.to_owned() }
}

fn trimmed_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A revision of a user must never become an option of git.
    #[test]
    fn rejects_options_as_revisions() {
        for text in ["", "^main..HEAD", "--upload-pack=x", "-x..HEAD", "main..--output=x", "...-x", "a\nb", "a....b"] {
            assert!(
                matches!(parse_revisions(text), Err(GitError::Revisions(_))),
                "{text:?}: {:?}",
                parse_revisions(text)
            );
        }
    }

    #[test]
    fn normalizes_paths() {
        for (path, expected) in [("./a/../b/c.yaml", "b/c.yaml"), (".", ""), ("../x", "../x"), ("a//b/", "a/b")] {
            assert_eq!(normalize(Path::new(path)), expected);
        }
    }

    #[test]
    fn parses_tree_entries() {
        let (path, blob) = parse_entry("100644 blob 0123abc      42\ta b.yaml").unwrap().unwrap();
        assert_eq!((path.as_str(), blob.object.as_str(), blob.size, blob.is_link), ("a b.yaml", "0123abc", 42, false));
        assert!(parse_entry("160000 commit 0123abc       -\tmodule").unwrap().is_none());
        assert!(parse_entry("").unwrap().is_none());
        assert!(matches!(parse_entry("100644 blob 0123abc     BAD\ta.yaml"), Err(GitError::Missing { .. })));
        assert!(parse_entry("100644 blob 0123abc     BAD\tREADME.md").unwrap().is_none());
    }
}
