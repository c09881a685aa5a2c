//! Standard output and standard error. A command prints its output only when all of it is complete.

use std::io::{self, BufWriter, ErrorKind, IsTerminal as _, Write as _};

use kubefoundry_diagnostics::render::TextStyle;

use crate::args::ColorChoice;

/// Decides whether standard output and standard error are colored.
#[derive(Debug)]
pub(crate) struct Console {
    color: ColorChoice,
    /// Whether the environment turns colors off (`NO_COLOR`, `TERM=dumb`).
    suppressed: bool,
}

/// Standard output could not be written.
#[derive(Debug, thiserror::Error)]
#[error("standard output: {0}")]
pub(crate) struct StdoutError(io::Error);

/// Prints the parts of a text to standard output. A closed pipe is not an error: the reader (`| head`) has read enough.
pub(crate) fn print<S: AsRef<str>>(parts: impl IntoIterator<Item = S>) -> Result<(), StdoutError> {
    let mut stdout = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    let written = parts.into_iter().try_for_each(|part| stdout.write_all(part.as_ref().as_bytes()));
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(StdoutError(error)),
        _ => Ok(()),
    }
}

/// Prints to standard error. Errors are ignored, because there is no other place to report them.
pub(crate) fn note(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Prints the parts of a text to standard error, like [`note`].
pub(crate) fn note_parts(parts: impl IntoIterator<Item = String>) {
    let mut stderr = BufWriter::with_capacity(64 * 1024, io::stderr().lock());
    let _ = parts.into_iter().try_for_each(|part| stderr.write_all(part.as_bytes()));
}

impl Console {
    /// Creates the console of this process. With `ColorChoice::Auto`, only terminals get colors, and `NO_COLOR`
    /// disables them.
    pub(crate) fn new(color: ColorChoice) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self { color, suppressed: no_color || dumb }
    }

    pub(crate) fn stdout_style(&self) -> TextStyle {
        self.style(io::stdout().is_terminal())
    }

    pub(crate) fn stderr_style(&self) -> TextStyle {
        self.style(io::stderr().is_terminal())
    }

    fn style(&self, terminal: bool) -> TextStyle {
        let colored = match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && !self.suppressed,
        };
        if colored { TextStyle::Colored } else { TextStyle::Plain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command line overrides the environment, and the environment overrides the terminal.
    #[test]
    fn colors_follow_the_flag_then_the_environment_then_the_terminal() {
        for (color, suppressed, terminal, expected) in [
            (ColorChoice::Auto, false, true, TextStyle::Colored),
            (ColorChoice::Auto, false, false, TextStyle::Plain),
            (ColorChoice::Auto, true, true, TextStyle::Plain),
            (ColorChoice::Always, true, false, TextStyle::Colored),
            (ColorChoice::Never, false, true, TextStyle::Plain),
        ] {
            assert_eq!(Console { color, suppressed }.style(terminal), expected, "{color:?} {suppressed} {terminal}");
        }
    }
}
