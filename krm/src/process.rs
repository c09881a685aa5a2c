//! The function as a process: standard input to standard output.

use std::io::{self, IsTerminal as _, Read as _, Write as _};

use crate::{Answer, refuse, run};

/// Runs the function once. The answer is written when it is whole; the exit status is 2 when it could not be read or
/// written.
pub fn serve() -> u8 {
    answer_with(run)
}

/// Answers that the function was started wrongly, with the whole list: a client that ignores the exit status must not
/// delete what is not in the answer. Somebody at a terminal gives no list and is not waited for.
pub fn serve_refusal(message: &str) -> u8 {
    if io::stdin().is_terminal() {
        let _ = writeln!(io::stderr().lock(), "error: kubefoundry-fn: {message}");
        return 1;
    }
    answer_with(|input| refuse(input, message))
}

fn answer_with(answer: impl FnOnce(&[u8]) -> Answer) -> u8 {
    let mut input = Vec::new();
    if let Err(error) = io::stdin().lock().read_to_end(&mut input) {
        // Half a list would tell a client to delete the other half, and nothing all of it.
        let _ = io::stdout().lock().write_all(crate::EMPTY_LIST);
        return fail("standard input", &error);
    }
    let answer = answer(&input);
    let _ = io::stderr().lock().write_all(answer.stderr.as_bytes());
    let mut stdout = io::stdout().lock();
    // A part of a ResourceList is none: the client must not take it for one, so a closed pipe is an error, too.
    match stdout.write_all(&answer.stdout).and_then(|()| stdout.flush()) {
        Ok(()) => answer.status,
        Err(error) => fail("standard output", &error),
    }
}

fn fail(what: &str, error: &io::Error) -> u8 {
    let _ = writeln!(io::stderr().lock(), "error: kubefoundry-fn: {what}: {error}");
    2
}
