//! `render --watch` and `lint --watch`: the program runs again when its input changes, and ends when it is interrupted.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use crate::interruptions::send;
use crate::sandbox::{PINNED, Sandbox, broken, model};

/// How long a test waits for a line. A slow machine with a debug build needs less than a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running program, its standard output, and the lines that it prints to standard error.
struct Watching {
    child: Child,
    /// A file, and not a pipe: what the program has printed can be read at once.
    out: fs::File,
    err: Receiver<String>,
}

impl Watching {
    /// Starts the program, and waits until it has shown the input for the first time.
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> (Self, String) {
        // Outside of what is watched.
        let out = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut child = sandbox.command(arguments).stdout(out.reopen().unwrap()).spawn().unwrap();
        let err = lines(child.stderr.take().unwrap());
        let watching = Self { child, out: out.into_file(), err };
        let notes = watching.until("; press Ctrl-C to stop");
        assert!(notes.contains("kubefoundry: watching "), "{notes}");
        (watching, notes)
    }

    /// Returns what the program prints to standard error up to a line with this text.
    fn until(&self, text: &str) -> String {
        let end = Instant::now() + PATIENCE;
        let mut notes = String::new();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.err.recv_timeout(left).unwrap_or_else(|_| panic!("{text:?} does not follow\n{notes}"));
            notes += &line;
            if line.contains(text) {
                return notes;
            }
        }
    }

    /// Waits for the next run, and returns its notes.
    fn next(&self) -> String {
        self.until("; press Ctrl-C to stop")
    }

    /// Returns what the program has printed since the last call. It prints everything before its note.
    fn printed(&self) -> String {
        let mut text = String::new();
        (&self.out).read_to_string(&mut text).unwrap();
        text
    }

    /// Waits for the next run that prints what is accepted, and returns its notes. One change may cause several runs.
    fn until_printed(&self, is_accepted: impl Fn(&str) -> bool) -> String {
        loop {
            let notes = self.next();
            if is_accepted(&self.printed()) {
                return notes;
            }
        }
    }

    /// Interrupts the program: it must end with success.
    fn interrupt(mut self) {
        send("INT", &self.child);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends the lines of a pipe as they come.
fn lines(pipe: ChildStderr) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines() {
            let Ok(line) = line else { return };
            if sender.send(line + "\n").is_err() {
                return;
            }
        }
    });
    receiver
}

/// Writes a file at once, so that the program sees one change: a file that is written in place is empty for a moment.
fn write(sandbox: &Sandbox, name: &str, text: &str) {
    let whole = tempfile::NamedTempFile::new().unwrap();
    fs::write(whole.path(), text).unwrap();
    whole.persist(sandbox.path(name)).unwrap();
}

#[test]
fn lint_reports_each_change() {
    let sandbox =
        Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a")).with("b.yaml", broken("b"));
    let (watching, notes) = Watching::start(&sandbox, &["lint", ".", "--watch"]);
    assert!(notes.contains("watching 3 files ("), "{notes}");
    let report = watching.printed();
    assert!(report.contains("error[KF0112]") && report.contains("1 error in 2 files"), "{report}");
    assert!(!report.contains('\u{1b}'), "{report}");

    fs::write(sandbox.path("b.yaml"), model("b")).unwrap();
    let notes = watching.until_printed(|report| report == "no findings in 2 files\n");
    assert!(notes.contains("kubefoundry: b.yaml changed ("), "{notes}");

    // Editors write another file and rename it.
    fs::write(sandbox.path("b.yaml.tmp"), broken("b")).unwrap();
    fs::rename(sandbox.path("b.yaml.tmp"), sandbox.path("b.yaml")).unwrap();
    let notes = watching.until_printed(|report| report.contains("error[KF0112]"));
    assert!(notes.contains("b.yaml changed"), "{notes}");
    watching.interrupt();
}

/// Files appear and vanish, alone or with their folder.
#[test]
fn lint_sees_new_and_removed_files() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a"));
    let (watching, _) = Watching::start(&sandbox, &["lint", ".", "--watch", "--output", "concise"]);
    assert_eq!(watching.printed(), "");
    fs::create_dir(sandbox.path("new")).unwrap();
    // The system must observe the folder before the file is in it, or report both.
    write(&sandbox, "new/b.yaml", &broken("b"));
    watching.until_printed(|report| report.contains("new/b.yaml"));
    fs::remove_dir_all(sandbox.path("new")).unwrap();
    let notes = watching.until_printed(str::is_empty);
    assert!(notes.contains(" changed ("), "{notes}");
    watching.interrupt();
}

/// Options and provider configurations decide about all deployments.
#[test]
fn options_and_configurations_change_everything() {
    let config = |priority: u32| {
        format!(
            "apiVersion: kubefoundry.ai/v1alpha1\nkind: InferenceProviderConfig\nmetadata: {{name: edge}}\nspec:\n  \
             capabilities:\n    engines: [{{name: vllm, servingModes: [aggregated], gpuSupport: true}}]\n  \
             selectionRules: [{{condition: 'true', priority: {priority}}}]\n"
        )
    };
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("edge.yaml", config(1));
    let (watching, notes) = Watching::start(&sandbox, &["render", ".", "--watch"]);
    assert!(notes.contains("info[KF0503]"), "{notes}");
    let rendered = watching.printed();
    assert!(rendered.contains("kind: DynamoGraphDeployment"), "{rendered}");
    assert_eq!(rendered, sandbox.run(&["render", "."]).exits(0).out);

    write(&sandbox, "kubefoundry.yaml", PINNED);
    let notes = watching.next();
    assert!(notes.contains("the input changed") && !notes.contains("KF0503"), "{notes}");
    assert_eq!(watching.printed(), rendered);

    write(&sandbox, "edge.yaml", &config(1000));
    assert!(watching.next().contains("edge.yaml changed"));
    let passed_on = watching.printed();
    assert!(passed_on.contains("kind: ModelDeployment"), "{passed_on}");
    assert_eq!(passed_on, sandbox.run(&["render", "."]).exits(0).out);
    watching.interrupt();
}

#[test]
fn render_writes_only_changed_files() {
    let text = [model("a"), model("b")].join("---\n");
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("models/m.yaml", text);
    let arguments = ["render", "models", "--config", "kubefoundry.yaml", "--out-dir", "out", "--watch"];
    let (watching, _) = Watching::start(&sandbox, &arguments);
    let files = ["out/prod/dynamographdeployment_a.yaml", "out/prod/dynamographdeployment_b.yaml"];
    let [a, b] = files.map(|file| sandbox.read(file));
    // A file that is not written again keeps this.
    write(&sandbox, files[0], "changed by a user\n");

    let two = model("b").replace("count: 1", "count: 2");
    write(&sandbox, "models/m.yaml", &[model("a"), two.clone()].join("---\n"));
    watching.next();
    assert_eq!(sandbox.read(files[0]), "changed by a user\n");
    let changed = sandbox.read(files[1]);
    assert!(changed != b && changed.contains("gpu: \"2\""), "{changed}");

    // After an error nothing is written, and the next change is compared with what was written last.
    write(&sandbox, "models/m.yaml", &[broken("a"), model("b")].join("---\n"));
    assert!(watching.next().contains("error[KF0112]"));
    assert_eq!(sandbox.read(files[1]), changed);
    fs::write(sandbox.path(files[0]), &a).unwrap();
    write(&sandbox, "models/m.yaml", &[model("a"), model("b")].join("---\n"));
    watching.next();
    assert_eq!(files.map(|file| sandbox.read(file)), [a, b]);
    watching.interrupt();
}

/// The same object belongs to another file if its environment gets another name.
#[test]
fn render_writes_the_files_of_a_renamed_environment() {
    let mut sandbox = Sandbox::new();
    for name in ["dev", "prod"] {
        sandbox = sandbox.with(&format!("models/{name}/kubefoundry.yaml"), PINNED);
        sandbox = sandbox.with(&format!("models/{name}/m.yaml"), model("a"));
    }
    let (watching, _) = Watching::start(&sandbox, &["render", "models", "--out-dir", "out", "--watch"]);
    let written = sandbox.read("out/prod/prod/dynamographdeployment_a.yaml");
    fs::rename(sandbox.path("models/prod"), sandbox.path("models/stage")).unwrap();
    watching.next();
    assert_eq!(sandbox.read("out/stage/prod/dynamographdeployment_a.yaml"), written);
    watching.interrupt();
}

/// What is not built is reported again with each run, although only the changed file is read.
#[test]
fn findings_about_the_input_stay() {
    let kustomization = "resources: [../base]\npatches: [{path: replicas.yaml}]\n";
    let patch = format!("{}  scaling: {{replicas: 3}}\n", model("a").split("  model:").next().unwrap());
    let sandbox = Sandbox::new()
        .with("kubefoundry.yaml", PINNED)
        .with("base/kustomization.yaml", "resources: [a.yaml]\n")
        .with("base/a.yaml", model("a"))
        .with("prod/kustomization.yaml", kustomization)
        .with("prod/replicas.yaml", patch)
        .with("other/b.yaml", model("b"));
    let (watching, _) = Watching::start(&sandbox, &["lint", ".", "--watch", "--output", "concise"]);
    let first = watching.printed();
    assert!(first.contains("warning[KF0108]"), "{first}");
    write(&sandbox, "other/b.yaml", &model("b").replace("count: 1", "count: 2"));
    assert!(watching.next().contains("other/b.yaml changed"));
    assert_eq!(watching.printed(), first);
    write(&sandbox, "prod/kustomization.yaml", "resources: [../base]\n");
    watching.next();
    assert!(watching.printed().contains("prod/kustomization.yaml:1:1: warning[KF0108]"));
    watching.interrupt();
}

/// An options file that applies to the input may lie, or appear, above it.
#[test]
fn options_above_the_input_are_watched() {
    let sandbox = Sandbox::new().with(".git/HEAD", "").with("models/a.yaml", model("a"));
    let (watching, _) = Watching::start(&sandbox, &["lint", "models", "--watch", "--output", "concise"]);
    assert!(watching.printed().contains("info[KF0503]"));
    write(&sandbox, "kubefoundry.yaml", PINNED);
    watching.next();
    assert_eq!(watching.printed(), "");
    watching.interrupt();
}

/// Each environment keeps its results when a file of another one changes.
#[test]
fn environments_are_watched_together() {
    let sandbox = Sandbox::new()
        .with("kubefoundry.yaml", format!("{PINNED}environments: [clusters/*]\n"))
        .with("clusters/dev/a.yaml", model("a"))
        .with("clusters/prod/a.yaml", model("a"));
    let (watching, _) = Watching::start(&sandbox, &["lint", ".", "--watch", "--output", "concise"]);
    assert_eq!(watching.printed(), "");
    write(&sandbox, "clusters/dev/a.yaml", &broken("a"));
    watching.next();
    assert!(watching.printed().starts_with("clusters/dev/a.yaml:"));
    write(&sandbox, "clusters/dev/a.yaml", &model("a"));
    watching.next();
    assert_eq!(watching.printed(), "");
    watching.interrupt();
}

/// A named file may be absent while an editor replaces it.
#[test]
fn a_file_can_vanish_and_return() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("m/a.yaml", model("a"));
    let (watching, _) = Watching::start(&sandbox, &["lint", "m/a.yaml", "--watch"]);
    fs::remove_file(sandbox.path("m/a.yaml")).unwrap();
    let notes = watching.until("m/a.yaml");
    assert!(notes.contains("kubefoundry: m/a.yaml: No such file"), "{notes}");
    watching.printed();
    write(&sandbox, "m/a.yaml", &broken("a"));
    watching.next();
    assert!(watching.printed().contains("error[KF0112]"));
    watching.interrupt();
}

#[test]
fn wrong_usage_is_refused() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    for arguments in [&["lint", "--watch"][..], &["render", "-", "--watch"], &["lint", ".", "--crds", "-", "--watch"]] {
        let ran = sandbox.run(arguments).exits(2);
        assert_eq!(ran.err, "kubefoundry: --watch cannot read standard input; name files or directories\n");
    }
    assert!(sandbox.run(&["lint", ".", "--watch", "--fix"]).exits(2).err.contains("cannot be used with"));
    assert!(sandbox.run(&["lint", "absent.yaml", "--watch"]).exits(2).err.contains("absent.yaml"));
}
