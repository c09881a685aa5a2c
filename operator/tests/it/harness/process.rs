//! A program that never outlives the test that started it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Runs the program, says its process id, and ends with it. When the test is gone, however it ended, so is its side of
/// the pipe: then the program is killed, and the folder that it worked in is removed.
const KEEPER: &str = r#"
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

/// A running program, and its log.
pub struct Process {
    keeper: Mutex<Child>,
    pid: u32,
}

impl Process {
    /// Starts a program; what it says is appended to a file. `folder` is removed when the test ends before the program.
    pub fn start(program: &Path, arguments: &[String], log: &Path, folder: Option<&Path>) -> Self {
        let mut keeper = Command::new("bash")
            .args(["-c", KEEPER, "keeper"])
            .arg(log)
            .arg(folder.unwrap_or_else(|| Path::new("")))
            .arg(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // What it says of its own: that it killed something.
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pid = line.trim().parse().unwrap_or_else(|_| panic!("no process id of {}: {line:?}", program.display()));
        Self { keeper: Mutex::new(keeper), pid }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it has not ended.
    pub fn is_running(&self) -> bool {
        self.keeper.lock().unwrap().try_wait().unwrap().is_none()
    }

    /// Sends a signal by its name: `TERM`, `STOP`, `CONT`.
    pub fn signal(&self, name: &str) {
        // It may have ended on its own.
        let _ = Command::new("kill").arg(format!("-{name}")).arg(self.pid.to_string()).stderr(Stdio::null()).status();
    }

    /// Waits until it has ended: its exit code, 128 and the number of the signal that killed it, or nothing in time.
    pub async fn ended(&self, within: Duration) -> Option<i32> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.keeper.lock().unwrap().try_wait().unwrap() {
                return status.code();
            }
            if started.elapsed() > within {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Kills it as a power cut would, and waits until it is gone.
    pub async fn kill(self) {
        self.signal("KILL");
        assert!(self.ended(Duration::from_secs(10)).await.is_some(), "{} cannot be killed", self.pid);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut keeper = self.keeper.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // The keeper kills it, and removes its folder.
        drop(keeper.stdin.take());
        let _ = keeper.wait();
    }
}
