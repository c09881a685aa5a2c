//! A real kube-apiserver, the operator as a separate process, and helpers for tests of both.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::missing_panics_doc,
    reason = "for tests only"
)]

pub mod cluster;
pub mod crds;
pub mod fighter;
pub mod operator;
pub mod process;
pub mod proxy;
pub mod render;
pub mod shared;
pub mod turn;
pub mod webhooks;
pub mod world;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{env, fs};

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};

use process::Process;
use turn::Turn;

/// etcd, kube-apiserver, garbage collector and namespace controller, on a free port of this machine.
pub struct ControlPlane {
    program: PathBuf,
    directory: PathBuf,
    kubeconfig: PathBuf,
    process: Mutex<Option<Process>>,
    /// Dropped last, so that the next test starts after the process has ended.
    _turn: Option<Turn>,
}

impl ControlPlane {
    /// Waits for a turn without other tests, and starts a control plane for the caller. It ends when the value is
    /// dropped. None if KUBEFOUNDRY_CONTROLPLANE is not set.
    pub async fn start() -> Option<Self> {
        let turn = turn::alone().await;
        Some(Self { _turn: Some(turn), ..Self::launch().await? })
    }

    /// Starts a control plane while other tests of this group run, each with its own control plane.
    pub async fn start_in_group(group: &'static str) -> Option<Self> {
        let turn = turn::in_group(group).await;
        Some(Self { _turn: Some(turn), ..Self::launch().await? })
    }

    /// Starts a control plane; the caller has a turn.
    async fn launch() -> Option<Self> {
        let Some(program) = env::var_os("KUBEFOUNDRY_CONTROLPLANE") else {
            assert!(env::var_os("CI_OPERATOR").is_none(), "CI needs KUBEFOUNDRY_CONTROLPLANE");
            eprintln!("skipped: KUBEFOUNDRY_CONTROLPLANE is not set");
            return None;
        };
        let directory = tempfile::Builder::new().prefix("controlplane-").tempdir().unwrap().keep();
        let plane = Self {
            program: program.into(),
            kubeconfig: directory.join("admin.kubeconfig"),
            directory,
            process: Mutex::new(None),
            _turn: None,
        };
        plane.restart().await;
        // The program removes its own kubeconfig while it is not ready. Clients use this copy, so they can start at any time.
        fs::copy(plane.directory.join("kubeconfig"), &plane.kubeconfig).unwrap();
        Some(plane)
    }

    /// Kills the control plane with SIGKILL. Its data stays.
    pub async fn kill(&self) {
        let process = self.process.lock().unwrap().take();
        if let Some(process) = process {
            process.kill().await;
        }
    }

    /// Kills the control plane if it runs, and starts it again with the same data, port and certificates.
    pub async fn restart(&self) {
        self.kill().await;
        let log = self.directory.join("log");
        let arguments = ["-dir".to_owned(), self.directory.display().to_string()];
        let ready = self.directory.join("kubeconfig");
        if ready.exists() {
            // The program writes the file again when it is ready.
            fs::rename(&ready, self.directory.join("kubeconfig.pending")).unwrap();
        }
        let process = Process::start(&self.program, &arguments, &log, Some(&self.directory));
        let started = Instant::now();
        while !ready.exists() {
            assert!(
                process.is_running() && started.elapsed() < Duration::from_secs(90),
                "the control plane did not start:\n{}",
                end_of(&log)
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        *self.process.lock().unwrap() = Some(process);
    }

    /// The administrator's kubeconfig. It has a second context, `plain-user`.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A directory for files that are removed together with the control plane.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The process id of the control plane, for measurements.
    pub fn pid(&self) -> Option<u32> {
        self.process.lock().unwrap().as_ref().map(Process::pid)
    }

    /// Sends a signal to the control plane: `STOP`, `CONT`.
    pub fn signal(&self, name: &str) {
        self.process.lock().unwrap().as_ref().expect("it runs").signal(name);
    }

    /// The port of the apiserver.
    pub fn port(&self) -> u16 {
        let text = fs::read_to_string(&self.kubeconfig).unwrap();
        let (_, rest) = text.split_once("https://127.0.0.1:").unwrap();
        let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
        port.parse().unwrap()
    }

    /// A client with all permissions. It belongs to the tokio runtime of the calling test.
    pub async fn admin(&self) -> Client {
        self.client("admin").await
    }

    /// A client of the user `plain-user` of the group `plain-users`, who has no permissions unless a test grants them.
    pub async fn plain_user(&self) -> Client {
        self.client("plain-user").await
    }

    async fn client(&self, context: &str) -> Client {
        let file = Kubeconfig::read_from(&self.kubeconfig).unwrap();
        let options = KubeConfigOptions { context: Some(context.to_owned()), ..KubeConfigOptions::default() };
        let config = kube::Config::from_custom_kubeconfig(file, &options).await.unwrap();
        Client::try_from(config).unwrap()
    }

    /// Writes a kubeconfig for a user with this token, and returns its path.
    pub fn kubeconfig_with_token(&self, name: &str, token: &str) -> PathBuf {
        let mut file = Kubeconfig::read_from(&self.kubeconfig).unwrap();
        let cluster = file.clusters.first().unwrap().name.clone();
        let path = self.directory.join(format!("{name}.kubeconfig"));
        let value = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": name,
            "clusters": [file.clusters.remove(0)],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": name, "context": {"cluster": cluster, "user": name}}],
        });
        // JSON is YAML.
        fs::write(&path, value.to_string()).unwrap();
        path
    }
}

/// Polls until `look` returns `Ok`, and returns the value. An `Err` describes the state that was seen instead.
///
/// # Panics
/// After the timeout, with the last state.
pub async fn eventually<T>(timeout: Duration, what: &str, mut look: impl AsyncFnMut() -> Result<T, String>) -> T {
    let started = Instant::now();
    loop {
        match look().await {
            Ok(value) => return value,
            Err(seen) if started.elapsed() > timeout => panic!("after {timeout:?}: not {what}; seen last: {seen}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// A port on which no process listens now.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The root directory of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The last 40 lines of a log.
pub fn end_of(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}
