//! A temporary directory for each test, in which the binary runs.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// A temporary working directory.
pub(crate) struct Sandbox {
    directory: tempfile::TempDir,
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Adds a file and the folders above it.
    pub(crate) fn with(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A command that runs the binary in this directory, without the environment variables that it reads.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_kubefoundry")), arguments)
    }

    fn command_of(&self, binary: &Path, arguments: &[&str]) -> Command {
        #[cfg(unix)]
        heed_signals();
        let mut command = Command::new(binary);
        command.args(arguments).current_dir(self.directory.path()).env_remove("NO_COLOR").env_remove("TERM");
        // Whether the machine has kustomize, kubectl or helm must not matter.
        command.env("PATH", tools());
        command.env_remove("FORCE_COLOR").env_remove("CLICOLOR_FORCE");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs with nothing on standard input.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.pipe(arguments, "")
    }

    /// Runs with a text on standard input.
    pub(crate) fn pipe(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Ran {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        // The binary may exit without reading its input, so an error here is fine.
        let _ = child.stdin.take().unwrap().write_all(input.as_ref());
        Ran::of(child.wait_with_output().unwrap())
    }

    /// Runs as a user for whom the permissions of files count. For root they do not, so root gives the directory and a copy
    /// of the binary to a user that has nothing else.
    #[cfg(unix)]
    pub(crate) fn run_unprivileged(&self, arguments: &[&str]) -> Ran {
        use std::os::unix::fs::MetadataExt as _;
        use std::os::unix::process::CommandExt as _;

        const USER: u32 = 65534;
        if fs::metadata(self.path(".")).unwrap().uid() != 0 {
            return self.run(arguments);
        }
        // The folder of the binary may be closed to other users. A thread of this program that wrote the copy could keep
        // it open in the child of another thread, and then it cannot be executed.
        let copies = tempfile::tempdir().unwrap();
        let binary = copies.path().join("kubefoundry");
        assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_kubefoundry")).arg(&binary).status().unwrap().success());
        for directory in [copies.path(), self.directory.path()] {
            let owned = Command::new("chown").args(["-R", &format!("{USER}:{USER}")]).arg(directory).status().unwrap();
            assert!(owned.success());
        }
        let output = self.command_of(&binary, arguments).uid(USER).gid(USER).output().unwrap();
        Ran::of(output)
    }

    /// Runs git in this directory, as a person who may commit.
    pub(crate) fn git(&self, arguments: &[&str]) {
        let identity = ["-c", "user.name=n", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"];
        let output = Command::new("git").args(identity).args(arguments).current_dir(self.path(".")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Makes the directory a repository with all of its files, also those that are ignored, in one commit.
    pub(crate) fn committed(self) -> Self {
        self.git(&["init", "-q"]);
        self.git(&["add", "-A", "-f"]);
        self.git(&["commit", "-q", "-m", "base"]);
        self
    }

    /// Returns all files below the directory in order, including hidden ones.
    pub(crate) fn files(&self, below: &str) -> Vec<String> {
        let mut files = Vec::new();
        let root = self.path(below);
        collect(&root, &root, &mut files);
        files.sort();
        files
    }
}

/// Gives what the tests start the usual disposition of SIGHUP, SIGINT and SIGQUIT. `nohup` starts a program with the first
/// ignored, and a shell a job in the background with the others; tests inherit that, and so would the program, which then rightly
/// ignores them. A handler in the tests is not inherited, and this one ends them as the signal would.
#[cfg(unix)]
fn heed_signals() {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};

    static DONE: std::sync::Once = std::sync::Once::new();
    DONE.call_once(|| {
        for signal in [SIGHUP, SIGINT, SIGQUIT] {
            let always = Arc::new(AtomicBool::new(true));
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, always).unwrap();
        }
    });
}

fn collect(root: &Path, directory: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            files.push(path.strip_prefix(root).unwrap().display().to_string());
        }
    }
}

impl Ran {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Asserts the exit status.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// The `kind` of each document on standard output.
    pub(crate) fn kinds(&self) -> Vec<&str> {
        self.out.lines().filter_map(|line| line.strip_prefix("kind: ")).collect()
    }
}

/// A model that Dynamo runs, without findings once its runtime is pinned.
pub(crate) fn model(name: &str) -> String {
    format!(
        "apiVersion: kubefoundry.ai/v1alpha1
kind: ModelDeployment
metadata:
  name: {name}
  namespace: prod
spec:
  model:
    id: org/{name}
  engine:
    type: vllm
  resources:
    gpu:
      count: 1
"
    )
}

/// Options under which [`model`] has no findings.
pub(crate) const PINNED: &str = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nruntimes: {dynamo: 1.4.0}\n";

/// A model whose GPU count is not a number: one error.
pub(crate) fn broken(name: &str) -> String {
    model(name).replace("count: 1", "count: two")
}

/// A model with a replica count in the wrong mode: one warning.
pub(crate) fn doubtful(name: &str) -> String {
    model(name) + "  scaling:\n    prefill:\n      replicas: 1\n"
}

/// An object that kubefoundry does not render.
pub(crate) const SERVICE: &str = "apiVersion: v1\nkind: Service # kept\nmetadata: {name: web, namespace: prod}\n";

/// Notes that a test was skipped. It bypasses the output capture of the test runner.
pub(crate) fn skipped(why: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("skipped: {why}\n").as_bytes());
}

/// A directory with git alone, as the PATH of the binary. Its path is the same in every run: a value in a static is never
/// dropped, so a temporary directory would stay behind.
pub(crate) fn tools() -> &'static Path {
    static TOOLS: OnceLock<PathBuf> = OnceLock::new();
    let create = || {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("git-alone");
        fs::create_dir_all(&directory).unwrap();
        let link = directory.join("git");
        let path = std::env::var_os("PATH").unwrap_or_default();
        if let Some(git) = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|file| file.is_file())
            && fs::read_link(&link).ok().as_ref() != Some(&git)
        {
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(git, link).unwrap();
        }
        directory
    };
    TOOLS.get_or_init(create)
}
