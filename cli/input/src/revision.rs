//! Reads files in a revision of a git repository from its object store, without a checkout.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::error::{InputError, MAX_BYTES};
use super::git::{GitError, command_error, read_objects, run_git, trimmed_text};
use super::paths::{is_manifest, lexical};

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

/// The files of a revision. What is needed of their contents is read from the object store.
#[derive(Debug)]
pub struct Tree {
    pub(crate) revision: Revision,
    /// The files by path relative to the working directory.
    files: BTreeMap<String, Blob>,
    /// The way from the working directory to the root of the repository: `../../`, or nothing.
    root: String,
    /// The contents that have been read, by object.
    contents: RefCell<BTreeMap<String, Rc<[u8]>>>,
}

/// A file of a revision and the ID of its object.
#[derive(Debug, Clone)]
struct Blob {
    object: String,
    /// Its size; `None` if git does not have the object.
    size: Option<u64>,
    is_link: bool,
    /// The path of the file itself if a link leads to it.
    target: Option<String>,
}

impl Tree {
    /// Lists the files of a revision, and reads the manifests at and below the paths.
    pub(crate) fn read(revision: &Revision, paths: &[PathBuf]) -> Result<Self, GitError> {
        let prefix = run_git(&["rev-parse", "--show-prefix"])?;
        if !prefix.status.success() {
            return Err(command_error("rev-parse", &prefix.stderr));
        }
        let prefix = trimmed_text(&prefix.stdout);
        let root = "../".repeat(prefix.matches('/').count());
        let output = run_git(&["ls-tree", "-r", "-z", "-l", "--full-tree", revision.commit.as_str()])?;
        if !output.status.success() {
            return Err(command_error("ls-tree", &output.stderr));
        }
        let name = |path: String| match path.strip_prefix(&prefix) {
            Some(inside) => inside.to_owned(),
            None => relative_to_prefix(&path, &prefix),
        };
        let entries = String::from_utf8_lossy(&output.stdout);
        let files = entries.split('\0').filter_map(parse_entry).map(|(path, blob)| (name(path), blob)).collect();
        let mut tree = Self { revision: revision.clone(), files, root, contents: RefCell::default() };
        tree.resolve_links()?;
        for path in paths {
            let path = relative_to_current_dir(path)?;
            if path.starts_with("../") && !is_inside(&path, &tree.root) {
                return Err(GitError::Failed {
                    command: "ls-tree".to_owned(),
                    message: format!("{path} is outside of the repository"),
                });
            }
        }
        let wanted: Vec<String> = paths.iter().flat_map(|path| tree.manifests_at(path)).collect();
        tree.load(&wanted)?;
        Ok(tree)
    }

    /// Creates a tree without files, for paths that were deleted.
    pub(crate) fn empty(name: &str) -> Self {
        let revision = Revision { name: name.to_owned(), commit: String::new() };
        Self { revision, files: BTreeMap::new(), root: String::new(), contents: RefCell::default() }
    }

    /// Replaces links by the files that they lead to. A link to a directory or out of the repository is left out.
    fn resolve_links(&mut self) -> Result<(), GitError> {
        let links: Vec<String> =
            self.files.iter().filter(|(_, blob)| blob.is_link).map(|(path, _)| path.clone()).collect();
        if links.is_empty() {
            return Ok(());
        }
        let targets = read_objects(self.files.values().filter(|blob| blob.is_link).map(|blob| blob.object.as_str()))?;
        for path in links {
            // Links with the same text are one object.
            let Some(text) = self.files.remove(&path).and_then(|blob| targets.get(&blob.object)) else { continue };
            let target = Path::new(&path).parent().unwrap_or(Path::new("")).join(&*String::from_utf8_lossy(text));
            let target = normalize(&target);
            if let Some(blob) = self.files.get(&target).filter(|blob| !blob.is_link) {
                let target = blob.target.clone().or(Some(target));
                self.files.insert(path, Blob { target, ..blob.clone() });
            }
        }
        Ok(())
    }

    /// Reads the contents of files that are not too large.
    fn load(&self, paths: &[String]) -> Result<(), GitError> {
        let mut wanted = BTreeSet::new();
        for path in paths {
            let Some(Blob { object, size, .. }) = self.files.get(path) else { continue };
            match size {
                None => return Err(GitError::Missing { path: path.clone(), object: object.clone() }),
                Some(size) if *size > MAX_BYTES || self.contents.borrow().contains_key(object) => {}
                Some(_) => drop(wanted.insert(object.as_str())),
            }
        }
        let read = read_objects(wanted.into_iter())?;
        self.contents.borrow_mut().extend(read.into_iter().map(|(object, bytes)| (object, bytes.into())));
        Ok(())
    }

    /// Returns the content of the file at a path, if there is one.
    ///
    /// # Errors
    /// [`InputError::TooLarge`], or a failure of git.
    pub(crate) fn file(&self, path: &Path) -> Result<Option<Rc<[u8]>>, InputError> {
        let name = relative_to_current_dir(path)?;
        let Some(blob) = self.files.get(&name) else { return Ok(None) };
        self.load(std::slice::from_ref(&name))?;
        match self.contents.borrow().get(&blob.object) {
            Some(bytes) => Ok(Some(Rc::clone(bytes))),
            // The content was not read, so the file may contain objects for kubefoundry.
            None => Err(InputError::TooLarge { name, is_foreign: false }),
        }
    }

    /// Returns the path of a file itself, if a link leads to it.
    pub(crate) fn link_target(&self, path: &Path) -> Option<&Path> {
        let name = relative_to_current_dir(path).ok()?;
        self.files.get(&name)?.target.as_deref().map(Path::new)
    }

    /// Whether there is a file at a path.
    pub(crate) fn is_file(&self, path: &Path) -> bool {
        relative_to_current_dir(path).is_ok_and(|name| self.files.contains_key(&name))
    }

    /// Returns the files below a directory in order.
    pub(crate) fn below(&self, path: &Path) -> Vec<&str> {
        let Ok(path) = relative_to_current_dir(path) else { return Vec::new() };
        let inside = |name: &str| {
            let rest = if path.is_empty() { Some(name) } else { name.strip_prefix(&path)?.strip_prefix('/') };
            rest.filter(|rest| !rest.starts_with("../")).map(|_| ())
        };
        self.files.keys().map(String::as_str).filter(|name| inside(name).is_some()).collect()
    }

    /// Returns the size of the file at a path, if there is one.
    pub(crate) fn size(&self, path: &Path) -> Option<u64> {
        self.files.get(&relative_to_current_dir(path).ok()?)?.size
    }

    /// Whether another revision has the same file at a path, or none as well.
    pub(crate) fn has_same(&self, other: &Self, path: &Path) -> bool {
        let Ok(name) = relative_to_current_dir(path) else { return false };
        let object = |tree: &Self| tree.files.get(&name).map(|blob| blob.object.clone());
        object(self) == object(other)
    }

    /// Returns the text of the file at a path, if there is one.
    pub fn text(&self, path: &Path) -> Result<Option<String>, InputError> {
        Ok(self.file(path)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Returns the root of the repository, relative to the working directory.
    pub(crate) fn repository_root(&self) -> PathBuf {
        PathBuf::from(self.root.trim_end_matches('/'))
    }

    /// Whether the revision has anything at or below a path.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.is_file(path) || !self.below(path).is_empty()
    }

    fn manifests_at(&self, path: &Path) -> Vec<String> {
        let file = relative_to_current_dir(path).ok().filter(|name| self.files.contains_key(name));
        let below = self.below(path).into_iter().filter(|name| is_manifest(Path::new(name))).map(str::to_owned);
        file.into_iter().chain(below).collect()
    }
}

/// The two sides of a change in a repository.
#[derive(Debug)]
pub struct Sides {
    /// The old revision.
    pub old: Rc<Tree>,
    /// The new revision; `None` for the working tree.
    pub new: Option<Rc<Tree>>,
    /// The paths of the old side, and those of them that the new one has.
    pub old_paths: Vec<PathBuf>,
    /// See `old_paths`.
    pub new_paths: Vec<PathBuf>,
}

impl Sides {
    /// Reads the revisions of `--git`. Without a path, they are compared in the working directory.
    pub fn read(revisions: &str, paths: &[PathBuf]) -> Result<Self, InputError> {
        let (before, after) = parse_revisions(revisions)?;
        let old_paths = if paths.is_empty() { vec![PathBuf::from(".")] } else { paths.to_vec() };
        if old_paths.iter().any(|path| path.as_os_str() == "-") {
            return Err(GitError::Stdin.into());
        }
        let old = Tree::read(&before, &old_paths)?;
        let mut new = after.map(|revision| Tree::read(&revision, &old_paths)).transpose()?;
        for path in &old_paths {
            let is_in_new = new.as_ref().map_or_else(|| path.exists(), |tree| tree.has(path));
            if !is_in_new && !old.has(path) && path.as_os_str() != "." {
                return Err(GitError::NotInRevisions(path.display().to_string()).into());
            }
        }
        let mut new_paths = old_paths.clone();
        if new.is_none() {
            // A path that only the old revision has was deleted in the working tree and must not be opened.
            new_paths.retain(|path| path.exists());
            if new_paths.is_empty() {
                new = Some(Tree::empty("the working tree"));
                new_paths.clone_from(&old_paths);
            }
        }
        Ok(Self { old: Rc::new(old), new: new.map(Rc::new), old_paths, new_paths })
    }

    /// Returns the name of the old revision.
    pub fn old_name(&self) -> &str {
        &self.old.revision.name
    }
}

/// Converts a path of the repository to one relative to the working directory, which is at `prefix` (`a/b/`) and does
/// not contain it.
fn relative_to_prefix(path: &str, prefix: &str) -> String {
    let is_common = |(one, other): &(&str, &str)| one == other;
    let common = path.split('/').zip(prefix.split_terminator('/')).take_while(is_common).count();
    let ups = prefix.split_terminator('/').count() - common;
    let rest: Vec<&str> = path.split('/').skip(common).collect();
    "../".repeat(ups) + &rest.join("/")
}

/// Returns whether a path that leads up from the working directory stays below the root of the repository.
fn is_inside(path: &str, root: &str) -> bool {
    let ups = |text: &str| text.split('/').take_while(|part| *part == "..").count();
    ups(path) <= ups(root)
}

/// Parses a line of `git ls-tree -l`: `<mode> <type> <object> <size>\t<path>`. Returns `None` for submodules.
fn parse_entry(line: &str) -> Option<(String, Blob)> {
    let (attributes, path) = line.split_once('\t')?;
    let mut attributes = attributes.split_ascii_whitespace();
    let (mode, kind, object, size) = (attributes.next()?, attributes.next()?, attributes.next()?, attributes.next()?);
    // The only other type with `-r` is a commit: a submodule.
    let blob = || Blob { object: object.to_owned(), size: size.parse().ok(), is_link: mode == "120000", target: None };
    (kind == "blob").then(|| (path.to_owned(), blob()))
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

fn normalize(path: &Path) -> String {
    lexical(path).display().to_string()
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
    fn parses_tree_entries() {
        let (path, blob) = parse_entry("100644 blob 0123abc      42\ta b.yaml").unwrap();
        assert_eq!(
            (path.as_str(), blob.object.as_str(), blob.size, blob.is_link),
            ("a b.yaml", "0123abc", Some(42), false)
        );
        assert!(parse_entry("160000 commit 0123abc       -\tmodule").is_none());
        assert!(parse_entry("").is_none());
        assert_eq!(parse_entry("100644 blob 0123abc     BAD\ta.yaml").unwrap().1.size, None);
    }

    #[test]
    fn names_files_relative_to_the_working_directory() {
        for (path, prefix, expected) in
            [("a.yaml", "x/", "../a.yaml"), ("x/a.yaml", "x/y/", "../a.yaml"), ("xy/a.yaml", "x/", "../xy/a.yaml")]
        {
            assert_eq!(relative_to_prefix(path, prefix), expected);
        }
    }
}
