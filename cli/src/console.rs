//! Standard output and standard error. A command prints its output only when all of it is complete.

use std::borrow::Cow;
use std::io::{self, BufWriter, ErrorKind, IsTerminal as _, StdoutLock, Write as _};

use kubefoundry_diagnostics::render::TextStyle;
use kubefoundry_yaml::secret::mask;
use kubefoundry_yaml::text::break_commands;

use crate::args::ColorChoice;

/// Decides whether standard output and standard error are colored.
#[derive(Debug)]
pub(crate) struct Console {
    color: ColorChoice,
    /// What the environment says about colors, if anything.
    environment: Option<TextStyle>,
}

/// Standard output could not be written.
#[derive(Debug, thiserror::Error)]
#[error("standard output: {0}")]
pub(crate) struct StdoutError(io::Error);

/// Prints the parts of a report for people to standard output: secrets are masked, and in the log of a CI runner no text is a
/// command.
pub(crate) fn print<S: AsRef<str>>(parts: impl IntoIterator<Item = S>) -> Result<(), StdoutError> {
    let is_terminal = io::stdout().is_terminal();
    write_parts(parts, |part, out| out.write_all(inert(part, is_terminal).as_bytes()))
}

/// Prints the parts of a text to standard output as they are: manifests, texts without anything of users, and reports for
/// programs, whose writers mask each value. A closed pipe is not an error: the reader (`| head`) has read enough.
pub(crate) fn print_as_is<S: AsRef<str>>(parts: impl IntoIterator<Item = S>) -> Result<(), StdoutError> {
    write_parts(parts, |part, out| out.write_all(part.as_bytes()))
}

/// Prints the parts of a report, which is either for people or, if `is_parsed`, for programs.
pub(crate) fn print_report<S: AsRef<str>>(
    parts: impl IntoIterator<Item = S>,
    is_parsed: bool,
) -> Result<(), StdoutError> {
    if is_parsed { print_as_is(parts) } else { print(parts) }
}

fn write_parts<S: AsRef<str>>(
    parts: impl IntoIterator<Item = S>,
    write: impl Fn(&str, &mut BufWriter<StdoutLock<'_>>) -> io::Result<()>,
) -> Result<(), StdoutError> {
    let mut stdout = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    let written = parts.into_iter().try_for_each(|part| write(part.as_ref(), &mut stdout));
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(StdoutError(error)),
        _ => Ok(()),
    }
}

/// Makes the text of a report inert: it repeats no secret, and is not a command of the CI runner that reads the log. A
/// terminal has no such commands.
fn inert(text: &str, is_terminal: bool) -> Cow<'_, str> {
    match mask(text) {
        masked if is_terminal => masked,
        Cow::Borrowed(text) => break_commands(text),
        Cow::Owned(masked) => Cow::Owned(break_commands(&masked).into_owned()),
    }
}

/// Prints to standard error, like [`print`]. Errors are ignored, because there is no other place to report them.
pub(crate) fn note(text: &str) {
    let stderr = io::stderr();
    let text = inert(text, stderr.is_terminal());
    let _ = stderr.lock().write_all(text.as_bytes());
}

/// Prints the parts of a report to standard error, like [`print_report`].
pub(crate) fn note_report(parts: impl IntoIterator<Item = String>, is_parsed: bool) {
    let is_terminal = io::stderr().is_terminal();
    let mut stderr = BufWriter::with_capacity(64 * 1024, io::stderr().lock());
    let _ = parts.into_iter().try_for_each(|part| {
        let part = if is_parsed { Cow::Borrowed(&*part) } else { inert(&part, is_terminal) };
        stderr.write_all(part.as_bytes())
    });
}

/// Clears the screen and moves to its start if standard output is a terminal that understands it.
pub(crate) fn clear_screen() {
    let is_dumb = std::env::var_os("TERM").is_none_or(|value| value == "dumb");
    if io::stdout().is_terminal() && !is_dumb {
        let mut stdout = io::stdout().lock();
        // Without a terminal that reads it, there is nothing to clear.
        let _ = stdout.write_all(b"\x1b[H\x1b[2J\x1b[3J").and_then(|()| stdout.flush());
    }
}

impl Console {
    /// Creates the console of this process. With `ColorChoice::Auto`, only terminals get colors, `NO_COLOR` disables them,
    /// and `FORCE_COLOR` or `CLICOLOR_FORCE` enables them.
    pub(crate) fn new(color: ColorChoice) -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        // As in other programs, 0 is the value that forces nothing.
        let forces = |name: &str| is_set(name) && std::env::var_os(name).is_some_and(|value| value != "0");
        let environment = if is_set("NO_COLOR") {
            Some(TextStyle::Plain)
        } else if forces("FORCE_COLOR") || forces("CLICOLOR_FORCE") {
            Some(TextStyle::Colored)
        } else if std::env::var_os("TERM").is_some_and(|value| value == "dumb") {
            Some(TextStyle::Plain)
        } else {
            None
        };
        Self { color, environment }
    }

    pub(crate) fn stdout_style(&self) -> TextStyle {
        self.style(io::stdout().is_terminal())
    }

    pub(crate) fn stderr_style(&self) -> TextStyle {
        self.style(io::stderr().is_terminal())
    }

    fn style(&self, terminal: bool) -> TextStyle {
        match self.color {
            ColorChoice::Always => TextStyle::Colored,
            ColorChoice::Never => TextStyle::Plain,
            ColorChoice::Auto => {
                self.environment.unwrap_or(if terminal { TextStyle::Colored } else { TextStyle::Plain })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command line overrides the environment, and the environment overrides the terminal.
    #[test]
    fn colors_follow_the_flag_then_the_environment_then_the_terminal() {
        let (plain, colored) = (Some(TextStyle::Plain), Some(TextStyle::Colored));
        for (color, environment, terminal, expected) in [
            (ColorChoice::Auto, None, true, TextStyle::Colored),
            (ColorChoice::Auto, None, false, TextStyle::Plain),
            (ColorChoice::Auto, plain, true, TextStyle::Plain),
            (ColorChoice::Auto, colored, false, TextStyle::Colored),
            (ColorChoice::Always, plain, false, TextStyle::Colored),
            (ColorChoice::Never, colored, true, TextStyle::Plain),
        ] {
            let console = Console { color, environment };
            assert_eq!(console.style(terminal), expected, "{console:?} {terminal}");
        }
    }
}
