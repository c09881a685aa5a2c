//! A real kube-apiserver, the operator as a process before it, and what tests do with both.
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
    /// Passed on after the process has ended.
    _turn: Option<Turn>,
}

impl ControlPlane {
    /// Waits for a turn without other tests, and starts a control plane for the caller. It ends when the value is
    /// dropped. None where there is no program to start.
    pub async fn start() -> Option<Self> {
        let turn = turn::alone().await;
        Some(Self { _turn: Some(turn), ..Self::launch().await? })
    }

    /// The same while other tests of this group run, each with a control plane of its own.
    pub async fn start_beside(group: &'static str) -> Option<Self> {
        let turn = turn::beside(group).await;
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
        // The program takes its own file away while it is not ready; clients may start at any time.
        fs::copy(plane.directory.join("kubeconfig"), &plane.kubeconfig).unwrap();
        Some(plane)
    }

    /// Kills it as a power cut would. What it stored stays.
    pub async fn kill(&self) {
        let process = self.process.lock().unwrap().take();
        if let Some(process) = process {
            process.kill().await;
        }
    }

    /// Kills it where it runs, and starts it again with what it stored: the same cluster, port and certificates.
    pub async fn restart(&self) {
        self.kill().await;
        let log = self.directory.join("log");
        let arguments = ["-dir".to_owned(), self.directory.display().to_string()];
        let ready = self.directory.join("kubeconfig");
        if ready.exists() {
            // It is there again when this run is ready.
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

    /// Where files may be put that go when the control plane goes.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The process id of the control plane, for measurements.
    pub fn pid(&self) -> Option<u32> {
        self.process.lock().unwrap().as_ref().map(Process::pid)
    }

    /// A client that may do everything. It belongs to the runtime of the test that asks.
    pub async fn admin(&self) -> Client {
        self.client("admin").await
    }

    /// A client of the user `plain-user` of the group `plain-users`, who may do nothing unless a test allows it.
    pub async fn plain_user(&self) -> Client {
        self.client("plain-user").await
    }

    async fn client(&self, context: &str) -> Client {
        let file = Kubeconfig::read_from(&self.kubeconfig).unwrap();
        let options = KubeConfigOptions { context: Some(context.to_owned()), ..KubeConfigOptions::default() };
        let config = kube::Config::from_custom_kubeconfig(file, &options).await.unwrap();
        Client::try_from(config).unwrap()
    }

    /// Writes a kubeconfig for somebody with a token, and says where.
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

/// Waits until a closure answers `Ok`, and gives that; `Err` says what it saw instead.
///
/// # Panics
/// After the timeout, with what was seen last.
pub async fn eventually<T>(timeout: Duration, what: &str, mut look: impl AsyncFnMut() -> Result<T, String>) -> T {
    let started = Instant::now();
    loop {
        match look().await {
            Ok(found) => return found,
            Err(seen) if started.elapsed() > timeout => panic!("after {timeout:?}: not {what}; seen last: {seen}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Checks again and again that something stays as it is.
///
/// # Panics
/// As soon as the closure answers `Err`.
pub async fn stays(time: Duration, what: &str, mut look: impl AsyncFnMut() -> Result<(), String>) {
    let started = Instant::now();
    while started.elapsed() < time {
        if let Err(seen) = look().await {
            panic!("after {:?}: not {what} any more: {seen}", started.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A port that nobody listens on now.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The project's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The last lines of a log.
pub fn end_of(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}
