//! Runs the function as a process, from standard input to standard output.

use std::io::{self, IsTerminal as _, Read as _, Write as _};

use kubefoundry_yaml::text::{break_commands, printable};

use crate::{Answer, refuse, run};

/// Runs the function once and returns the exit status, which is 2 if standard input or output fails. Output is written
/// only when it is complete.
pub fn serve() -> u8 {
    process_stdin(run)
}

/// Reports wrong usage and returns the whole list, because clients that ignore the exit status delete every object that
/// is missing in the output. If standard input is a terminal, no list is read.
pub fn serve_refusal(message: &str) -> u8 {
    if io::stdin().is_terminal() {
        let _ = writeln!(io::stderr().lock(), "error: kubefoundry-fn: {}", break_commands(&printable(message)));
        return 1;
    }
    process_stdin(|input| refuse(input, message))
}

fn process_stdin(function: impl FnOnce(&[u8]) -> Answer) -> u8 {
    let mut input = Vec::new();
    if let Err(error) = io::stdin().lock().read_to_end(&mut input) {
        // A partial list would make clients delete the other objects, and empty output would make them delete
        // everything.
        let _ = io::stdout().lock().write_all(crate::EMPTY_LIST);
        return report_io_error("standard input", &error);
    }
    let answer = function(&input);
    // The client's standard error can be the log of a CI runner.
    let stderr = break_commands(&answer.stderr);
    let _ = io::stderr().lock().write_all(stderr.as_bytes());
    let mut stdout = io::stdout().lock();
    // A client must not mistake a truncated list for a complete one, so a closed pipe is an error, too.
    match stdout.write_all(&answer.stdout).and_then(|()| stdout.flush()) {
        Ok(()) => answer.status,
        Err(error) => report_io_error("standard output", &error),
    }
}

fn report_io_error(stream: &str, error: &io::Error) -> u8 {
    let _ = writeln!(io::stderr().lock(), "error: kubefoundry-fn: {stream}: {error}");
    2
}
