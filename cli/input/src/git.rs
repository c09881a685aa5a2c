//! Runs git.
//!
//! It runs without a shell. Arguments of users follow `--`, or are revisions that must not start with a dash, so that
//! they cannot become options.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

/// Reasons why a revision cannot be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum GitError {
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

/// Reads the content of objects with one `git cat-file`. Returns it by object ID.
pub(crate) fn read_objects<'o>(objects: impl Iterator<Item = &'o str>) -> Result<BTreeMap<String, Vec<u8>>, GitError> {
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

fn git_command(arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    // Without this, git would interpret wildcards and `:(...)` in paths.
    command.arg("--literal-pathspecs");
    // A repository's own configuration names programs: a monitor of the file system, and a remote that git asks for
    // missing objects. GIT_NO_LAZY_FETCH is known since git 2.45; older versions obey the list of protocols, which is
    // empty and comes before `protocol.<name>.allow` of any configuration.
    command.args(["-c", "core.fsmonitor=false"]).env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "");
    command.args(arguments).env("GIT_OPTIONAL_LOCKS", "0").stdin(Stdio::null());
    command
}

pub(crate) fn run_git(arguments: &[&str]) -> Result<std::process::Output, GitError> {
    git_command(arguments).output().map_err(GitError::Start)
}

/// Returns the commit that is checked out in the repository of a path. `None` outside of a repository, or without git.
pub fn checked_out_commit(path: &Path) -> Option<String> {
    let directory = if path.is_dir() { path } else { path.parent()? };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let output =
        git_command(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).current_dir(directory).output().ok()?;
    Some(trimmed_text(&output.stdout)).filter(|commit| output.status.success() && !commit.is_empty())
}

/// Returns the paths that git tracks in the repository at `root`, relative to it. `None` if git is missing or fails.
pub(crate) fn tracked_files(root: &Path) -> Option<BTreeSet<String>> {
    let mut command = git_command(&["ls-files", "-z", "--cached"]);
    // In a hook, these name the repository of the commit, which may be another one.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"] {
        command.env_remove(variable);
    }
    let output = command.current_dir(root).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.split_terminator('\0').map(str::to_owned).collect())
}

/// Creates the error for a failed git command, with the first line of its standard error.
pub(crate) fn command_error(command: &str, stderr: &[u8]) -> GitError {
    let message = String::from_utf8_lossy(stderr);
    let message = message.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    GitError::Failed { command: command.to_owned(), message: message.to_owned() }
}

pub(crate) fn trimmed_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs git in a repository whose configuration does all it can to have git ask a remote for the objects that it
    /// lacks. Returns whether git started the remote's program.
    fn is_remote_asked(remove: &[&str]) -> bool {
        let directory = tempfile::tempdir().unwrap();
        let run = |command: &mut Command| {
            let output = command.current_dir(directory.path()).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let git = |arguments: &[&str]| {
            let identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
            run(Command::new("git").args(identity).args(arguments))
        };
        git(&["init", "--quiet", "."]);
        std::fs::write(directory.path().join("old.yaml"), "a: 1\n").unwrap();
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "one"]);
        let object = git(&["rev-parse", "HEAD:old.yaml"]);
        let (folder, file) = object.split_at(2);
        std::fs::remove_file(directory.path().join(".git/objects").join(folder).join(file)).unwrap();
        let url = format!("file://{}", directory.path().display());
        for (key, value) in [
            ("core.repositoryformatversion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.url", url.as_str()),
            ("remote.origin.promisor", "true"),
            ("remote.origin.uploadpack", "touch asked; git-upload-pack"),
            ("protocol.allow", "always"),
            ("protocol.file.allow", "always"),
        ] {
            git(&["config", key, value]);
        }
        let mut command = git_command(&["cat-file", "blob", &object]);
        for variable in remove {
            command.env_remove(variable);
        }
        run(&mut command);
        directory.path().join("asked").exists()
    }

    /// Each wall holds alone: older versions of git know only the list of protocols.
    #[test]
    fn no_configuration_has_git_fetch_missing_objects() {
        if Command::new("git").arg("--version").output().is_err() {
            return;
        }
        assert!(!is_remote_asked(&[]));
        assert!(!is_remote_asked(&["GIT_NO_LAZY_FETCH"]));
        assert!(is_remote_asked(&["GIT_NO_LAZY_FETCH", "GIT_ALLOW_PROTOCOL"]), "the test proves nothing");
    }
}
