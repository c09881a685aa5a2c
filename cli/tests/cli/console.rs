//! Terminals, pipes and shells.

use std::fmt::Write as _;
use std::io::Read as _;
use std::process::Stdio;

use crate::sandbox::{Sandbox, broken, model, skipped};

/// Without a terminal, as in a CI log, the output has no escape sequences.
#[test]
fn pipes_get_no_colors() {
    let sandbox = Sandbox::new().with("a.yaml", broken("a")).with("b.yaml", model("b"));
    for arguments in [["lint", "."], ["explain", "."], ["render", "."], ["images", "."]] {
        let ran = sandbox.run(&arguments);
        assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'), "{arguments:?}: {ran:#?}");
    }
}

/// Some CI systems show colors although they are not terminals.
#[test]
fn colors_can_be_forced() {
    let sandbox = Sandbox::new().with("a.yaml", broken("a")).with("b.yaml", model("b"));
    assert!(sandbox.run(&["lint", ".", "--color", "always"]).exits(1).out.contains("\u{1b}["));
    assert!(sandbox.run(&["explain", "b.yaml", "--color=always"]).exits(0).out.contains("\u{1b}["));
    for (variables, colored) in [
        (&[("FORCE_COLOR", "1")][..], true),
        (&[("CLICOLOR_FORCE", "1")], true),
        (&[("FORCE_COLOR", "0"), ("CLICOLOR_FORCE", "")], false),
        (&[("FORCE_COLOR", "1"), ("NO_COLOR", "1")], false),
        (&[("FORCE_COLOR", "1"), ("TERM", "dumb")], true),
    ] {
        let output = sandbox.command(&["lint", "a.yaml"]).envs(variables.iter().copied()).output().unwrap();
        assert_eq!(output.stdout.contains(&0x1b), colored, "{variables:?}");
    }
}

/// Tests `NO_COLOR` and `--color never` on a terminal that `script` of util-linux provides.
#[cfg(target_os = "linux")]
#[test]
fn no_color_disables_colors_on_a_terminal() {
    let sandbox = Sandbox::new().with("a.yaml", broken("a"));
    let binary = env!("CARGO_BIN_EXE_kubefoundry");
    for (command, colored) in [
        (format!("{binary} lint a.yaml"), true),
        (format!("NO_COLOR=1 {binary} lint a.yaml"), false),
        (format!("NO_COLOR= {binary} lint a.yaml"), true),
        (format!("TERM=dumb {binary} lint a.yaml"), false),
        (format!("{binary} lint a.yaml --color never"), false),
    ] {
        let script = std::process::Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .current_dir(sandbox.path("."))
            .env_remove("NO_COLOR")
            .env("TERM", "xterm")
            .stdin(Stdio::null())
            .output();
        let Ok(output) = script else { return skipped("no terminal: `script` is not installed") };
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(out.contains("KF0112"), "{command}: {out}");
        assert_eq!(out.contains('\u{1b}'), colored, "{command}: {out}");
    }
}

/// Without a PATH, a terminal as standard input is an error: waiting for input would look like a hang.
#[cfg(target_os = "linux")]
#[test]
fn rejects_a_terminal_as_input() {
    let binary = env!("CARGO_BIN_EXE_kubefoundry");
    let script = std::process::Command::new("script")
        .args(["-qec", &format!("{binary} render"), "/dev/null"])
        .stdin(Stdio::null())
        .output();
    let Ok(output) = script else { return skipped("no terminal: `script` is not installed") };
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.starts_with("kubefoundry: no PATH given, and standard input is a terminal"), "{out}");
    assert_eq!(output.status.code(), Some(2));
}

/// A long run shows on a terminal what it waits for, and clears that line before it prints its result.
#[cfg(target_os = "linux")]
#[test]
fn a_long_run_shows_progress_on_a_terminal() {
    let sandbox = Sandbox::new().with("a.yaml", broken("a"));
    let slow = format!("(sleep 1.4; cat a.yaml) | {} lint -", env!("CARGO_BIN_EXE_kubefoundry"));
    for (command, shows) in
        [(slow.clone(), true), (format!("{slow} --quiet"), false), (format!("{slow} 2>&1 | cat"), false)]
    {
        let script = std::process::Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .current_dir(sandbox.path("."))
            .env("TERM", "xterm")
            .stdin(Stdio::null())
            .output();
        let Ok(output) = script else { return skipped("no terminal: `script` is not installed") };
        let out = String::from_utf8(output.stdout).unwrap();
        let line = "\r\u{1b}[Kkubefoundry: reading the input (1 s)";
        assert_eq!(out.starts_with(line), shows, "{command}: {out:?}");
        assert_eq!(out.matches("reading the input").count() > 0, shows, "{command}: {out:?}");
        let report = out.find("KF0112").unwrap();
        assert!(!shows || out[..report].contains("s)\r\u{1b}[K"), "{command}: {out:?}");
    }
}

/// `kubefoundry render | head` prints no error.
#[test]
fn a_closed_pipe_is_quiet() {
    let mut input = String::new();
    for number in 0..300 {
        let _ = writeln!(input, "{}---", model(&format!("m{number}")));
    }
    let sandbox = Sandbox::new().with("all.yaml", input);
    let mut child =
        sandbox.command(&["render", "all.yaml", "--diagnostics=concise"]).stderr(Stdio::null()).spawn().unwrap();
    let mut byte = [0];
    child.stdout.take().unwrap().read_exact(&mut byte).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// The exit status depends on the input, even if the report is not read.
#[test]
fn a_closed_pipe_keeps_the_status() {
    let sandbox = Sandbox::new().with("a.yaml", broken("a"));
    let mut child = sandbox.command(&["lint", "a.yaml"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(1), &[] as &[u8]));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = sandbox.command(&["render", "a.yaml"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("kubefoundry: standard output: No space left"));
}

#[test]
fn prints_completions_for_each_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = Sandbox::new().run(&["completions", shell]).exits(0);
        assert!(ran.out.contains("kubefoundry") && ran.out.contains("out-dir"), "{shell}");
    }
}

/// Scripts parse the version: `name number`.
#[test]
fn prints_the_version() {
    let ran = Sandbox::new().run(&["--version"]).exits(0);
    assert_eq!(ran.out, format!("kubefoundry {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn help_shows_examples() {
    for command in ["render", "lint", "explain", "images", "import", "migrate", "completions"] {
        let ran = Sandbox::new().run(&[command, "--help"]).exits(0);
        assert!(ran.out.contains(&format!("kubefoundry {command} ")), "{command}");
        assert!(ran.out.contains("Examples:"), "{command}");
    }
}

/// Every command, with those of commands.
const COMMANDS: [&[&str]; 21] = [
    &[],
    &["render"],
    &["lint"],
    &["explain"],
    &["plan"],
    &["fit"],
    &["images"],
    &["import"],
    &["migrate"],
    &["status"],
    &["drift"],
    &["argocd"],
    &["argocd", "generate"],
    &["argocd", "params"],
    &["llamastack"],
    &["llamastack", "merge-config"],
    &["llamastack", "validate-provider"],
    &["schema"],
    &["fn"],
    &["completions"],
    &["man"],
];

/// An example that is broken into two lines cannot be copied.
#[test]
fn no_example_is_wrapped_on_80_columns() {
    let sandbox = Sandbox::new();
    let help = |command: &[&str], columns: &str| {
        let mut run = sandbox.command(&[command, &["--help"]].concat());
        String::from_utf8(run.env("COLUMNS", columns).output().unwrap().stdout).unwrap()
    };
    for command in COMMANDS {
        let (narrow, wide) = (help(command, "80"), help(command, "1000"));
        let examples = |help: &str| {
            help.split_once("Examples:\n").map(|(_, examples)| examples.split("\n\n").next().unwrap().to_owned())
        };
        assert!(examples(&wide).is_some_and(|examples| examples.contains("kubefoundry")), "{command:?}");
        assert_eq!(examples(&narrow), examples(&wide), "{command:?}");
        // A paragraph that the source wraps would be wrapped twice on a narrow terminal.
        let after = wide.rsplit_once("\nExamples:").unwrap().0.rsplit_once("  ").unwrap_or_default().1;
        for (line, next) in after.lines().zip(after.lines().skip(1)).skip(1) {
            let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
            assert!(!(is_prose(line) && is_prose(next)), "{command:?}: {line}");
        }
    }
}

/// The command's own options come first, then those that it shares with others, by subject.
#[test]
fn options_have_headings() {
    for (command, expected) in [
        ("render", &["Arguments:", "Options:", "Input:", "Findings:", "Global options:"][..]),
        ("lint", &["Arguments:", "Options:", "Input:", "Findings:", "Global options:"]),
        ("plan", &["Arguments:", "Options:", "Input:", "Findings:", "Global options:"]),
        ("status", &["Arguments:", "Options:", "Findings:", "Global options:"]),
        ("schema", &["Arguments:", "Options:", "Global options:"]),
    ] {
        let help = Sandbox::new().run(&[command, "-h"]).exits(0).out;
        let is_heading = |line: &&str| line.ends_with(':') && !line.starts_with(' ') && !line.contains(',');
        let headings: Vec<&str> = help.lines().filter(is_heading).collect();
        assert_eq!(headings.strip_suffix(&["Examples:"]), Some(expected), "{help}");
        let own = help.split("Options:\n").nth(1).unwrap().split("\n\n").next().unwrap();
        assert!(!own.contains(" --color ") && !own.contains(" --crds "), "{own}");
    }
}

/// Wrong usage exits with 2, so that CI can distinguish it from findings.
#[test]
fn wrong_usage_is_a_failure() {
    for arguments in [&["nope"][..], &["render", "--nope"], &["lint", "-o", "xml"], &[]] {
        let ran = Sandbox::new().run(arguments).exits(2);
        assert!(ran.out.is_empty() && !ran.err.is_empty(), "{arguments:?}: {ran:?}");
    }
}

/// kubectl runs a program of this name as `kubectl kubefoundry`.
#[cfg(unix)]
#[test]
fn usage_of_the_kubectl_plugin_names_kubectl() {
    let sandbox = Sandbox::new();
    let plugin = sandbox.path("kubectl-kubefoundry");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kubefoundry"), &plugin).unwrap();
    for (arguments, usage) in [
        (&["--help"][..], "Usage: kubectl kubefoundry [OPTIONS] <COMMAND>"),
        (&["render", "--help"], "Usage: kubectl kubefoundry render "),
        (&["render", "--no-such-option"], "Usage: kubectl kubefoundry render "),
    ] {
        let output = std::process::Command::new(&plugin).args(arguments).output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(text.contains(usage), "{arguments:?}: {text}");
    }
}

/// The command of the specification is another program's, whose name the user learns.
#[test]
fn the_command_that_installs_the_operator_is_named() {
    for (arguments, command) in [
        (&["controller", "install"][..], "install"),
        (&["controller", "install", "--roles", "core"], "install"),
        (&["controller", "uninstall"], "uninstall"),
        (&["controller"], "install"),
    ] {
        let ran = Sandbox::new().run(arguments).exits(2);
        let says = format!("kubefoundry: the operator is a program of its own; run `kubefoundry-operator {command}`\n");
        assert_eq!((ran.out.as_str(), ran.err), ("", says), "{arguments:?}");
    }
}
