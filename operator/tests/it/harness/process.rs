//! A program that never outlives the test that started it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A shell script that runs the program, prints its process id, and exits with its code. When the test process ends,
/// however that happens, its end of the pipe closes: then the script kills the program and removes its folder.
const SUPERVISOR: &str = r#"
log=$1 folder=$2; shift 2
exec 3<&0
"$@" </dev/null >>"$log" 2>&1 3<&- &
program=$!
echo "$program"
exec >&-
{ read -r _ <&3; kill -KILL "$program"; [ -z "$folder" ] || { sleep 0.2; rm -rf -- "$folder"; }; } 2>/dev/null &
reader=$!
wait "$program"
code=$?
# A killed program may be one whose test is gone: then the reader has something left to do.
read -r -t 0.05 _ <&3; [ $? -eq 1 ] && { wait "$reader"; exit "$code"; }
kill "$reader" 2>/dev/null
exit "$code"
"#;

/// A running program.
pub struct Process {
    supervisor: Mutex<Child>,
    pid: u32,
}

impl Process {
    /// Starts a program, whose output is appended to `log`. `folder` is removed when the test ends before the program.
    pub fn start(program: &Path, arguments: &[String], log: &Path, folder: Option<&Path>) -> Self {
        let mut supervisor = Command::new("bash")
            .args(["-c", SUPERVISOR, "supervisor"])
            .arg(log)
            .arg(folder.unwrap_or_else(|| Path::new("")))
            .arg(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Bash itself reports here that it killed the program.
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(supervisor.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pid = line.trim().parse().unwrap_or_else(|_| panic!("no process id of {}: {line:?}", program.display()));
        Self { supervisor: Mutex::new(supervisor), pid }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether the program still runs.
    pub fn is_running(&self) -> bool {
        self.supervisor.lock().unwrap().try_wait().unwrap().is_none()
    }

    /// Sends a signal by its name: `TERM`, `STOP`, `CONT`.
    pub fn signal(&self, name: &str) {
        // The program may have ended already.
        let _ = Command::new("kill").arg(format!("-{name}")).arg(self.pid.to_string()).stderr(Stdio::null()).status();
    }

    /// Waits until the program ends, and returns its exit code; 128 plus the number for a signal. None after the timeout.
    pub async fn wait(&self, within: Duration) -> Option<i32> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.supervisor.lock().unwrap().try_wait().unwrap() {
                return status.code();
            }
            if started.elapsed() > within {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Kills the program with SIGKILL, and waits until it has ended.
    pub async fn kill(self) {
        self.signal("KILL");
        assert!(self.wait(Duration::from_secs(60)).await.is_some(), "{} cannot be killed", self.pid);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut supervisor = self.supervisor.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // The supervisor kills the program, and removes its folder.
        drop(supervisor.stdin.take());
        let _ = supervisor.wait();
    }
}
