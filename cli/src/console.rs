//! Standard output and standard error. Output is printed at once, when all of it is known to be good.

use std::io::{self, BufWriter, ErrorKind, IsTerminal as _, Write as _};

use kubefoundry_diagnostics::render::TextStyle;

use crate::args::ColorChoice;

/// Which of the two streams are for colours.
#[derive(Debug)]
pub(crate) struct Console {
    color: ColorChoice,
    suppressed: bool,
}

/// Standard output could not be written.
#[derive(Debug, thiserror::Error)]
#[error("standard output: {0}")]
pub(crate) struct StdoutError(io::Error);

/// Prints the parts of a text to standard output. A reader that went away (`| head`) has what it wanted.
pub(crate) fn print<S: AsRef<str>>(parts: impl IntoIterator<Item = S>) -> Result<(), StdoutError> {
    let mut stdout = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    let written = parts.into_iter().try_for_each(|part| stdout.write_all(part.as_ref().as_bytes()));
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(StdoutError(error)),
        _ => Ok(()),
    }
}

/// Prints to standard error. When that fails there is nowhere left to say so.
pub(crate) fn note(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

impl Console {
    /// The console of this process. Without a choice, colour is for terminals, and `NO_COLOR` turns it off.
    pub(crate) fn new(color: ColorChoice) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self { color, suppressed: no_color || dumb }
    }

    /// Whether standard output is for colours.
    pub(crate) fn stdout_style(&self) -> TextStyle {
        self.style(io::stdout().is_terminal())
    }

    /// Whether standard error is for colours.
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

    /// The choice on the command line is nearer than the environment, and the environment nearer than the terminal.
    #[test]
    fn colour_is_for_terminals_unless_somebody_says_otherwise() {
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
