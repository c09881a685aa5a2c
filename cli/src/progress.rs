//! A line on a terminal that tells what a long run does.
//!
//! Without a terminal, as in CI, there is none: a log has no use for a line that is overwritten.

use std::io::{self, IsTerminal as _, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::style::count;

/// A run that ends earlier shows nothing.
const DELAY: Duration = Duration::from_secs(1);
/// The time between two updates.
const INTERVAL: Duration = Duration::from_millis(500);

/// Erases the line and returns to its start.
const CLEAR_LINE: &str = "\r\u{1b}[K";

/// Shows a line on standard error, from a second after its creation until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Starts to show what the program does: `reading the input`. Shows nothing if standard error is not a terminal that
    /// can clear a line, or if the user wants no notes.
    pub(crate) fn start(action: impl Into<String>, is_quiet: bool) -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        if is_quiet || is_dumb || !io::stderr().is_terminal() {
            return Self::default();
        }
        Self::start_on(io::stderr(), action.into(), DELAY, INTERVAL)
    }

    /// Starts to show that a number of files is compiled.
    pub(crate) fn compiling(files: usize, is_quiet: bool) -> Self {
        Self::start(format!("compiling {}", count(files, "file")), is_quiet)
    }

    fn start_on(
        mut terminal: impl Write + Send + 'static,
        action: String,
        delay: Duration,
        interval: Duration,
    ) -> Self {
        let (sender, stopped) = channel::<()>();
        let started = Instant::now();
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(move || {
            let mut wait = delay;
            // The sender is dropped when the action ends.
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let seconds = started.elapsed().as_secs();
                let _ = write!(terminal, "{CLEAR_LINE}kubefoundry: {action} ({seconds} s)");
                let _ = terminal.flush();
                wait = interval;
            }
            if wait == interval {
                let _ = write!(terminal, "{CLEAR_LINE}");
                let _ = terminal.flush();
            }
        });
        // Without a thread there is no line, and nothing else is missing.
        Self { running: thread.ok().map(|thread| (sender, thread)) }
    }
}

impl Drop for Progress {
    /// Clears the line, before anything else is printed.
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.running.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Screen(Arc<Mutex<Vec<u8>>>);

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Screen {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    fn start(screen: &Screen, delay: Duration) -> Progress {
        Progress::start_on(screen.clone(), "reading".to_owned(), delay, Duration::from_millis(1))
    }

    #[test]
    fn a_short_run_shows_nothing() {
        let screen = Screen::default();
        drop(start(&screen, Duration::from_secs(3600)));
        assert_eq!(screen.text(), "");
    }

    /// The line is gone when the program prints its result.
    #[test]
    fn a_long_run_shows_a_line_and_clears_it() {
        let screen = Screen::default();
        let progress = start(&screen, Duration::ZERO);
        while screen.text().is_empty() {
            std::thread::yield_now();
        }
        drop(progress);
        let shown = screen.text();
        assert!(shown.starts_with("\r\u{1b}[Kkubefoundry: reading ("), "{shown:?}");
        assert!(shown.ends_with(" s)\r\u{1b}[K"), "{shown:?}");
        assert!(!shown.contains('\n'), "{shown:?}");
    }
}
