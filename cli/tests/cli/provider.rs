//! Provider images as directories, with wheels that `pip` installs: `/lls-provider` and the volumes below a root.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use kubefoundry_llamastack::install::{self, EXTRACT_SCRIPT, PROVIDER_SCRIPT};
use kubefoundry_llamastack::wire::Api;
use serde_json::Value;

use crate::sandbox::{Ran, Sandbox, skipped};

/// Writes a wheel: a zip with modules and `METADATA`. Arguments: path, requirements with `;` between them, modules as
/// `PATH=TEXT`.
const WHEEL: &str = r#"
import sys, zipfile, os
path, requires, modules = sys.argv[1], sys.argv[2], sys.argv[3:]
name, version = os.path.basename(path).split("-")[:2]
info = f"{name}-{version}.dist-info"
files = dict(module.split("=", 1) for module in modules)
metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
metadata += "".join(f"Requires-Dist: {it}\n" for it in requires.split(";") if it)
tag = "-".join(os.path.basename(path)[:-4].split("-")[-3:])
files[f"{info}/METADATA"] = metadata
files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n"
record = "".join(f"{file},,\n" for file in files) + f"{info}/RECORD,,\n"
files[f"{info}/RECORD"] = record
with zipfile.ZipFile(path, "w") as wheel:
    for file, text in files.items():
        wheel.writestr(zipfile.ZipInfo(file), text)
"#;

/// Whether `sh`, `python3` and `pip` are here. In CI they must be.
pub(crate) fn has_pip() -> bool {
    let has = |program: &str| {
        let run = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        run.is_ok_and(|status| status.success())
    };
    let has = has("python3") && has("pip");
    assert!(has || env::var_os("CI").is_none(), "CI needs python3 and pip: provider images are installed with them");
    if !has {
        skipped("python3 or pip is not installed, so no provider is installed");
    }
    has
}

/// A pod: its volumes, and one root directory for each image.
pub(crate) struct Pod {
    pub(crate) sandbox: Sandbox,
    shell: &'static str,
}

/// The environment of an init container.
pub(crate) struct Start<'s> {
    pub(crate) id: &'s str,
    pub(crate) image: &'s str,
    pub(crate) api: Api,
    pub(crate) order: usize,
    pub(crate) config: Option<Value>,
}

impl Pod {
    pub(crate) fn new() -> Self {
        Self::with_shell("/bin/sh")
    }

    /// One whose images have another program for `sh`.
    pub(crate) fn with_shell(shell: &'static str) -> Self {
        let sandbox = Sandbox::new();
        for directory in ["external-providers", "base-config", "config"] {
            fs::create_dir_all(sandbox.path("opt/llama-stack").join(directory)).unwrap();
        }
        Self { sandbox, shell }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.sandbox.path(name)
    }

    /// The file of the volume of external providers.
    pub(crate) fn shared(&self, name: &str) -> PathBuf {
        self.path("opt/llama-stack/external-providers").join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.shared(name)).unwrap()
    }

    /// Puts a provider image in place of the one before: metadata, and wheels as `FILE`, requirements and modules.
    pub(crate) fn image(&self, metadata: &str, wheels: &[(&str, &str, &[&str])]) {
        let package = self.path("lls-provider");
        let _ = fs::remove_dir_all(&package);
        fs::create_dir_all(package.join("packages")).unwrap();
        fs::write(package.join("lls-provider-spec.yaml"), metadata).unwrap();
        for (file, requires, modules) in wheels {
            wheel(&package.join("packages").join(file), requires, modules);
        }
    }

    /// Runs the provider script as the init container of a provider does.
    pub(crate) fn install(&self, start: &Start<'_>) -> Ran {
        self.install_with(start, |_| {})
    }

    /// The same with changes to how it is run.
    pub(crate) fn install_with(&self, start: &Start<'_>, change: impl FnOnce(&mut Command)) -> Ran {
        let Start { id, image, api, order, config } = start;
        let provider = install::Provider { provider_id: id, image, api: *api, order: *order, config: config.as_ref() };
        let mut command = self.shell(PROVIDER_SCRIPT);
        for (name, value) in install::environment(&provider) {
            command.env(name, expanded(&value));
        }
        change(&mut command);
        ran(command)
    }

    /// Runs the script that fetches the distribution's run.yaml.
    pub(crate) fn extract(&self, extra: Option<&str>, variables: &[(&str, &str)]) -> Ran {
        let mut command = self.shell(EXTRACT_SCRIPT);
        command.envs(variables.iter().copied());
        if let Some(extra) = extra {
            command.env(install::EXTRA_BASE_CONFIGS, extra);
        }
        ran(command)
    }

    fn shell(&self, script: &str) -> Command {
        let mut command = Command::new(self.shell);
        if self.shell == "busybox" {
            command.arg("sh");
        }
        command.args(["-c", script]).current_dir(self.path("."));
        command.env("LLS_ROOT", self.path("x").parent().unwrap());
        command
    }
}

fn ran(mut command: Command) -> Ran {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// What Kubernetes makes of a value that has no variable to expand in it.
fn expanded(value: &str) -> String {
    value.replace("$$", "$")
}

fn wheel(path: &Path, requires: &str, modules: &[&str]) {
    let mut command = Command::new("python3");
    command.args(["-c", WHEEL]).arg(path).arg(requires).args(modules);
    assert!(command.status().unwrap().success());
}

/// The metadata of a package with one wheel.
pub(crate) fn metadata(name: &str, provider_type: &str, module: &str, api: &str, wheel: &str) -> String {
    format!(
        "apiVersion: llamastack.io/v1alpha1
kind: ProviderPackage
metadata:
  name: {name}
  version: 1.0.0
  vendor: Acme
spec:
  packageName: {module}
  providerType: {provider_type}
  api: {api}
  wheelPath: {wheel} # the provider itself
"
    )
}

/// The permission bits of a file.
pub(crate) fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Gives everything below a directory to everyone, as in an image and in a volume of a group.
pub(crate) fn open(directory: &Path) {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            open(&path);
        } else {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        }
    }
}
