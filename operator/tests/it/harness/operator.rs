//! The operator as a process.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

use super::cluster::{Kind, Namespace, SOON};
use super::process::Process;
use super::{ControlPlane, end_of, eventually, free_port};

/// The options of an operator process. All addresses are on loopback and free; times are short, and there is no leader election, unless a
/// flag says otherwise.
#[derive(Clone)]
pub struct Options {
    flags: Vec<(String, String)>,
    switches: Vec<String>,
    kubeconfig: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        let options = Self { flags: Vec::new(), switches: vec!["--no-leader-election".to_owned()], kubeconfig: None };
        [
            ("--finalizer-timeout", "3s"),
            ("--stale-after", "2s"),
            ("--heartbeat-interval", "1s"),
            // Not a matter of how busy the machine is.
            ("--heartbeat-timeout", "60s"),
            // What watches deliver and what is reconciled, for which tests wait, is logged at this level.
            ("--log", "info,kubefoundry=trace"),
        ]
        .into_iter()
        .fold(options, |options, (flag, value)| options.flag(flag, value))
    }
}

impl Options {
    /// Sets a flag with a value, instead of the one that it has.
    pub fn flag(mut self, flag: &str, value: &str) -> Self {
        self.flags.retain(|(given, _)| given != flag);
        self.flags.push((flag.to_owned(), value.to_owned()));
        self
    }

    /// Sets `--roles`.
    pub fn roles(self, roles: &str) -> Self {
        self.flag("--roles", roles)
    }

    /// Adds a flag without a value.
    pub fn switch(mut self, flag: &str) -> Self {
        self.switches.push(flag.to_owned());
        self
    }

    /// Enables leader election with this lease duration.
    pub fn leader_election(mut self, lease_duration: &str) -> Self {
        self.switches.retain(|switch| switch != "--no-leader-election");
        self.flag("--lease-duration", lease_duration)
    }

    /// Sets the kubeconfig, which is the administrator's by default.
    pub fn kubeconfig(mut self, path: &Path) -> Self {
        self.kubeconfig = Some(path.to_owned());
        self
    }

    /// Starts the operator. `name` is part of the name of its log in `target/tmp`.
    pub fn start(&self, plane: &ControlPlane, name: &str) -> Operator {
        let (webhook, metrics, health) = (free_port(), free_port(), free_port());
        let mut flags = vec![
            ("--kubeconfig".to_owned(), self.kubeconfig.as_deref().unwrap_or(plane.kubeconfig()).display().to_string()),
            ("--webhook-address".to_owned(), format!("127.0.0.1:{webhook}")),
            ("--webhook-url".to_owned(), format!("https://127.0.0.1:{webhook}")),
            ("--metrics-address".to_owned(), format!("127.0.0.1:{metrics}")),
            ("--health-address".to_owned(), format!("127.0.0.1:{health}")),
        ];
        flags.retain(|(flag, _)| !self.flags.iter().any(|(given, _)| given == flag));
        flags.extend(self.flags.iter().cloned());
        let mut arguments = vec!["run".to_owned()];
        arguments.extend(flags.iter().flat_map(|(flag, value)| [flag.clone(), value.clone()]));
        arguments.extend(self.switches.iter().cloned());
        let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("operator-{name}.log"));
        let _ = fs::remove_file(&log);
        // Measurements can use another program, such as the static one of a release.
        let from_env = std::env::var_os("KUBEFOUNDRY_OPERATOR").map(PathBuf::from);
        let program = from_env.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_kubefoundry-operator")));
        let process = Some(Process::start(&program, &arguments, &log, None));
        let address = |flag: &str| flags.iter().find(|(given, _)| given == flag).unwrap().1.clone();
        Operator {
            metrics: address("--metrics-address"),
            health: address("--health-address"),
            webhook: address("--webhook-address"),
            program,
            arguments,
            log,
            process,
        }
    }

    /// Starts the operator, and waits until it is ready.
    pub async fn start_ready(&self, plane: &ControlPlane, name: &str) -> Operator {
        let operator = self.start(plane, name);
        operator.until_ready().await;
        operator
    }
}

/// A running operator. It is killed when the value is dropped, or when the test process ends.
pub struct Operator {
    program: PathBuf,
    arguments: Vec<String>,
    log: PathBuf,
    process: Option<Process>,
    metrics: String,
    health: String,
    webhook: String,
}

impl Operator {
    /// The running process.
    pub fn process(&self) -> &Process {
        self.process.as_ref().expect("it has been killed")
    }

    /// Waits until `/readyz` answers 200.
    pub async fn until_ready(&self) {
        eventually(SOON, "the operator ready", async || {
            assert!(self.process().is_running(), "the operator has ended:\n{}", self.end_of_log());
            match self.get(&self.health, "/readyz").await {
                Ok((200, _)) => Ok(()),
                other => Err(format!("{other:?}\n{}", self.end_of_log())),
            }
        })
        .await;
    }

    /// Kills the operator with SIGKILL.
    pub async fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill().await;
        }
    }

    /// Sends SIGTERM, and returns the exit code.
    pub async fn terminate(&mut self) -> Option<i32> {
        let process = self.process.take()?;
        process.signal("TERM");
        process.wait(SOON).await
    }

    /// Starts the operator again with the same flags. The log is continued.
    pub fn restart(&mut self) {
        drop(self.process.take());
        self.process = Some(Process::start(&self.program, &self.arguments, &self.log, None));
    }

    /// The whole log.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// The last lines of the log.
    pub fn end_of_log(&self) -> String {
        end_of(&self.log)
    }

    /// Waits until a watch, such as `workspaces.kaito.sh`, has delivered an object in this version or a later one. Then
    /// the controllers that it concerns have it in their queues.
    pub async fn until_delivered(&self, watch: &str, object: &Value) {
        self.until_logged("delivered", &format!("watch={watch:?}"), object).await;
    }

    /// Waits until a controller, such as `core` or `kaito`, has reconciled an object in this version or a later one.
    pub async fn until_reconciled(&self, controller: &str, object: &Value) {
        self.until_logged("reconciled", &format!("controller={controller:?}"), object).await;
    }

    /// Changes an annotation of an object that means nothing, and waits until these controllers have reconciled it
    /// since. None reconciles an object twice at a time: what they began before, or had in their queues, has ended then.
    pub async fn look_at(&self, namespace: &Namespace, kind: Kind, name: &str, controllers: &[&str]) -> Value {
        static LOOKS: AtomicU64 = AtomicU64::new(0);
        let look = LOOKS.fetch_add(1, Ordering::Relaxed).to_string();
        let object = namespace.annotate(kind, name, "example.com/look", Some(&look)).await;
        for controller in controllers {
            self.until_reconciled(controller, &object).await;
        }
        object
    }

    /// Waits for a line of the log about an object in this version or a later one.
    async fn until_logged(&self, message: &str, source: &str, object: &Value) {
        let metadata = &object["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        let version: u64 = text("resourceVersion").parse().unwrap_or_else(|_| panic!("no version: {metadata}"));
        let parts = [
            message.to_owned(),
            source.to_owned(),
            format!(" namespace={:?}", text("namespace")),
            format!(" name={:?}", text("name")),
        ];
        let is_it = |line: &str| {
            let found = line.split_once(" version=\"").and_then(|(_, rest)| rest.split_once('"'));
            let is_new = found.is_some_and(|(found, _)| found.parse().is_ok_and(|found: u64| found >= version));
            is_new && parts.iter().all(|part| line.contains(part.as_str()))
        };
        let mut log = fs::File::open(&self.log).unwrap();
        let mut unread = Vec::new();
        eventually(SOON, &format!("{message} in the log, {source}: {metadata}"), async || {
            log.read_to_end(&mut unread).unwrap();
            // The last line may not be complete.
            let end = unread.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let lines: Vec<u8> = unread.drain(..end).collect();
            if String::from_utf8_lossy(&lines).lines().any(is_it) { Ok(()) } else { Err(self.end_of_log()) }
        })
        .await;
    }

    /// The listen address of the metrics.
    pub fn metrics_address(&self) -> &str {
        &self.metrics
    }

    /// The listen address of the probes.
    pub fn health_address(&self) -> &str {
        &self.health
    }

    /// The listen address of the webhooks.
    pub fn webhook_address(&self) -> &str {
        &self.webhook
    }

    /// The text of `/metrics`.
    pub async fn metrics(&self) -> String {
        let (code, text) = self.get(&self.metrics, "/metrics").await.unwrap();
        assert_eq!(code, 200, "{text}");
        text
    }

    /// The sum of a metric over the samples whose labels contain all of these texts: `[r#"verb="apply""#]`.
    pub async fn metric(&self, name: &str, labels: &[&str]) -> f64 {
        let text = self.metrics().await;
        let samples = text.lines().filter_map(|line| {
            let rest = line.strip_prefix(name)?;
            let (sample_labels, value) = rest.rsplit_once(' ')?;
            let is_same_metric = sample_labels.is_empty() || sample_labels.starts_with('{');
            (is_same_metric && labels.iter().all(|label| sample_labels.contains(label)))
                .then(|| value.parse::<f64>().unwrap())
        });
        samples.sum()
    }

    /// Sends a plain HTTP request, and returns the status code and the body.
    pub async fn get(&self, address: &str, path: &str) -> Result<(u16, String), String> {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let read = async {
            let mut stream = tokio::net::TcpStream::connect(address).await?;
            let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await?;
            Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer).into_owned())
        };
        let answer = tokio::time::timeout(MAX_ANSWER_TIME, read).await;
        let answer = answer.map_err(|_| "no answer")?.map_err(|error| error.to_string())?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| format!("{answer:?}"))?;
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(|| head.to_owned())?;
        let body = if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            decode_chunked(body)
        } else {
            body.to_owned()
        };
        Ok((code, body))
    }
}

/// Bounds a wait for an answer that never comes.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(60);

/// Decodes a chunked body.
fn decode_chunked(mut chunks: &str) -> String {
    let mut body = String::new();
    while let Some((length, rest)) = chunks.split_once("\r\n") {
        let length = usize::from_str_radix(length.trim(), 16).unwrap();
        body.push_str(&rest[..length]);
        if length == 0 {
            break;
        }
        chunks = rest[length..].trim_start_matches("\r\n");
    }
    body
}
