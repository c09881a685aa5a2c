//! Files as they are in a revision of a git repository: read from its object store, nothing is checked out.
//!
//! git is started without a shell. What a user says stands behind `--`, or is a revision that does not start with a
//! dash.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, thread};

use super::{KUSTOMIZATIONS, MAX_BYTES, OPTIONS_FILE, walk};

/// Why a revision cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    #[error("--git {0:?}: expected revisions, such as main..HEAD, main...HEAD or main")]
    Revisions(String),
    #[error("--git: there is no revision {0:?} in this repository")]
    Unknown(String),
    #[error("--git: {0} and {1} have no common ancestor")]
    Unrelated(String, String),
    #[error("--git: {0}: expected a path in the working directory or relative to it")]
    Absolute(String),
    #[error("--git: standard input is in no revision; expected files or directories")]
    Stdin,
    #[error("--git: git cannot be started: {0}")]
    Start(io::Error),
    #[error("--git: git {command} failed: {message}")]
    Failed { command: String, message: String },
    #[error("--git: {0}: in none of the revisions")]
    Nowhere(String),
}

/// A commit, and how it was called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Revision {
    pub(crate) name: String,
    commit: String,
}

/// What `--git` names: the revision before, and the one after; none is the working tree.
pub(crate) fn revisions(text: &str) -> Result<(Revision, Option<Revision>), GitError> {
    let names = text.split_once("...").or_else(|| text.split_once(".."));
    // What starts so is an option, a dot too many, or what is to be left out.
    let is_name =
        |name: &str| !name.starts_with(['-', '.', '^']) && !name.contains("..") && !name.contains(char::is_control);
    let are_names = names.map_or(!text.is_empty() && is_name(text), |(one, other)| is_name(one) && is_name(other));
    if !are_names {
        return Err(GitError::Revisions(text.to_owned()));
    }
    if let Some((one, other)) = text.split_once("...") {
        let (one, other) = (resolve(or_head(one))?, resolve(or_head(other))?);
        let output = run(&["merge-base", &one.commit, &other.commit])?;
        let commit = line(&output.stdout);
        if commit.is_empty() {
            return Err(GitError::Unrelated(one.name, other.name));
        }
        let name = format!("{}...{}", one.name, other.name);
        return Ok((Revision { name, commit }, Some(other)));
    }
    if let Some((one, other)) = text.split_once("..") {
        return Ok((resolve(or_head(one))?, Some(resolve(or_head(other))?)));
    }
    Ok((resolve(text)?, None))
}

/// What is left out is where one is, as git has it.
fn or_head(name: &str) -> &str {
    if name.is_empty() { "HEAD" } else { name }
}

fn resolve(name: &str) -> Result<Revision, GitError> {
    let output = run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")])?;
    let commit = line(&output.stdout);
    if !output.status.success() || commit.is_empty() {
        let message = String::from_utf8_lossy(&output.stderr);
        if !message.trim().is_empty() {
            return Err(failed("rev-parse", &output.stderr));
        }
        return Err(GitError::Unknown(name.to_owned()));
    }
    Ok(Revision { name: name.to_owned(), commit })
}

/// The manifests of a revision at and below some paths.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(super) revision: Revision,
    /// By path from the working directory: the bytes, or none for a file that is too large.
    files: BTreeMap<String, Option<Vec<u8>>>,
}

/// A file of a revision, by its object.
struct Blob {
    object: String,
    size: u64,
    is_link: bool,
}

impl Tree {
    /// Reads everything that the paths name.
    pub(crate) fn read(revision: &Revision, paths: &[PathBuf]) -> Result<Self, GitError> {
        let mut wanted = Vec::new();
        for path in paths {
            let path = relative(path)?;
            // It comes first: of several paths outside the repository, git names the first.
            wanted.push(if path.is_empty() { ".".to_owned() } else { path.clone() });
            // What says of a file that it is a patch.
            for folder in Path::new(&path).ancestors().skip(1).take(2).filter(|_| !path.is_empty()) {
                wanted.extend(KUSTOMIZATIONS.iter().map(|name| folder.join(name).display().to_string()));
            }
        }
        let mut arguments = vec!["ls-tree", "-r", "-z", "-l", revision.commit.as_str(), "--"];
        arguments.extend(wanted.iter().map(String::as_str));
        let output = run(&arguments)?;
        if !output.status.success() {
            return Err(failed("ls-tree", &output.stderr));
        }
        let mut blobs: BTreeMap<String, Blob> = String::from_utf8_lossy(&output.stdout)
            .split('\0')
            .filter_map(entry)
            .filter(|(path, _)| walk::is_manifest(Path::new(path)))
            .collect();
        let links: Vec<String> = blobs.iter().filter(|(_, blob)| blob.is_link).map(|(path, _)| path.clone()).collect();
        if !links.is_empty() {
            let mut links_to = fetch(blobs.iter().filter(|(_, blob)| blob.is_link).map(|(_, blob)| &*blob.object))?;
            for path in links {
                let target = blobs.remove(&path).and_then(|blob| links_to.remove(&blob.object)).unwrap_or_default();
                let target =
                    Path::new(&path).parent().unwrap_or(Path::new("")).join(&*String::from_utf8_lossy(&target));
                // One that leads elsewhere leads to no file that is read here.
                if let Some(Blob { object, size, is_link: false }) = blobs.get(&normal(&target)) {
                    let blob = Blob { object: object.clone(), size: *size, is_link: false };
                    blobs.insert(path, blob);
                }
            }
        }
        let is_readable = |blob: &Blob| blob.size <= MAX_BYTES;
        let contents = fetch(blobs.values().filter(|blob| is_readable(blob)).map(|blob| &*blob.object))?;
        let files = blobs.into_iter().map(|(path, blob)| (path, contents.get(&blob.object).cloned())).collect();
        Ok(Self { revision: revision.clone(), files })
    }

    /// A state without any file.
    pub(crate) fn empty(name: &str) -> Self {
        let revision = Revision { name: name.to_owned(), commit: String::new() };
        Self { revision, files: BTreeMap::new() }
    }

    /// A file at this very path.
    pub(super) fn file(&self, path: &Path) -> Option<(&str, Option<&[u8]>)> {
        let (name, bytes) = self.files.get_key_value(&relative(path).ok()?)?;
        Some((name, bytes.as_deref()))
    }

    /// The files of a directory, sorted, without hidden ones.
    pub(super) fn below(&self, path: &Path) -> Vec<(&str, Option<&[u8]>)> {
        let Ok(path) = relative(path) else { return Vec::new() };
        let inside = |name: &str| {
            let rest = if path.is_empty() { Some(name) } else { name.strip_prefix(&path)?.strip_prefix('/') };
            rest.filter(|rest| !rest.starts_with("../") && !rest.split('/').any(|part| part.starts_with('.')))
                .map(|_| ())
        };
        let files = self.files.iter().filter(|(name, _)| inside(name).is_some());
        files.map(|(name, bytes)| (name.as_str(), bytes.as_deref())).collect()
    }

    /// The options of a directory.
    pub(super) fn options(&self, directory: &Path) -> Option<(&str, Option<&[u8]>)> {
        self.file(&directory.join(OPTIONS_FILE))
    }

    /// Whether the revision has anything at or below a path.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.file(path).is_some() || !self.below(path).is_empty()
    }
}

/// A line of `git ls-tree -l`: `<mode> <type> <object> <size>\t<path>`.
fn entry(line: &str) -> Option<(String, Blob)> {
    let (facts, path) = line.split_once('\t')?;
    let mut facts = facts.split_ascii_whitespace();
    let (mode, kind, object, size) = (facts.next()?, facts.next()?, facts.next()?, facts.next()?);
    // The rest are repositories inside this one.
    let size = size.parse().ok().filter(|_| kind == "blob")?;
    Some((path.to_owned(), Blob { object: object.to_owned(), size, is_link: mode == "120000" }))
}

/// The bytes of objects, by their names.
fn fetch<'o>(objects: impl Iterator<Item = &'o str>) -> Result<BTreeMap<String, Vec<u8>>, GitError> {
    let objects: Vec<String> = objects.map(str::to_owned).collect();
    let mut found = BTreeMap::new();
    if objects.is_empty() {
        return Ok(found);
    }
    let mut child = git(&["cat-file", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(GitError::Start)?;
    let broken = |message: &str| GitError::Failed { command: "cat-file".to_owned(), message: message.to_owned() };
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(broken("no pipe"));
    };
    // git answers while it is asked, so somebody has to listen meanwhile.
    let asking = thread::spawn(move || objects.iter().try_for_each(|object| writeln!(stdin, "{object}")));
    let mut stdout = BufReader::new(stdout);
    let mut header = String::new();
    loop {
        header.clear();
        if stdout.read_line(&mut header).map_err(|error| broken(&error.to_string()))? == 0 {
            break;
        }
        let mut words = header.split_ascii_whitespace();
        let (Some(object), Some("blob"), Some(size)) = (words.next(), words.next(), words.next()) else {
            return Err(broken(header.trim()));
        };
        let size: u64 = size.parse().map_err(|_| broken(header.trim()))?;
        let object = object.to_owned();
        let mut bytes = Vec::new();
        stdout.by_ref().take(size + 1).read_to_end(&mut bytes).map_err(|error| broken(&error.to_string()))?;
        bytes.pop();
        found.insert(object, bytes);
    }
    // When nobody listens any more the answer is short, which its reader has seen.
    let _ = asking.join();
    let output = child.wait_with_output().map_err(|error| broken(&error.to_string()))?;
    if output.status.success() { Ok(found) } else { Err(failed("cat-file", &output.stderr)) }
}

/// A path from the working directory, without `.`; nothing for the directory itself.
fn relative(path: &Path) -> Result<String, GitError> {
    let outside = || GitError::Absolute(path.display().to_string());
    if path.is_absolute() {
        let here = env::current_dir().map_err(|_| outside())?;
        let inside = path.strip_prefix(&here).map_err(|_| outside())?;
        return Ok(normal(inside));
    }
    Ok(normal(path))
}

/// A path without `.`, and without `..` where it can be done.
fn normal(path: &Path) -> String {
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

fn git(arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    // A path is a path, whatever characters are in it.
    command.arg("--literal-pathspecs").args(arguments).env("GIT_OPTIONAL_LOCKS", "0").stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Result<std::process::Output, GitError> {
    git(arguments).output().map_err(GitError::Start)
}

fn failed(command: &str, stderr: &[u8]) -> GitError {
    let message = String::from_utf8_lossy(stderr);
    let message = message.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    GitError::Failed { command: command.to_owned(), message: message.to_owned() }
}

fn line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a user types as a revision never becomes an option of git.
    #[test]
    fn revisions_are_no_options() {
        for text in ["", "^main..HEAD", "--upload-pack=x", "-x..HEAD", "main..--output=x", "...-x", "a\nb", "a....b"] {
            assert!(matches!(revisions(text), Err(GitError::Revisions(_))), "{text:?}: {:?}", revisions(text));
        }
    }

    #[test]
    fn paths_are_made_normal() {
        for (path, expected) in [("./a/../b/c.yaml", "b/c.yaml"), (".", ""), ("../x", "../x"), ("a//b/", "a/b")] {
            assert_eq!(normal(Path::new(path)), expected);
        }
    }

    #[test]
    fn entries_of_a_tree_are_read() {
        let (path, blob) = entry("100644 blob 0123abc      42\ta b.yaml").unwrap();
        assert_eq!((path.as_str(), blob.object.as_str(), blob.size, blob.is_link), ("a b.yaml", "0123abc", 42, false));
        assert!(entry("160000 commit 0123abc       -\tmodule").is_none());
        assert!(entry("").is_none());
    }
}
