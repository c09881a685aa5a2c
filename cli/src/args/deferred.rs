//! Arguments that are declared only when they are needed.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// The arguments of a command, declared when that command is used or when the help of all commands is printed. To
/// declare those of all commands takes a third of the instructions of a run over one document.
#[derive(Debug)]
pub(crate) struct Deferred<T>(pub(crate) T);

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| move_global_last(T::augment_args(command)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(T::augment_args_for_update)
    }
}

/// Moves the global option to the end, so that its section of `--help` is the last one.
fn move_global_last(command: Command) -> Command {
    let has_color = command.get_arguments().any(|argument| argument.get_id() == "color");
    if has_color { command.mut_arg("color", |color| color) } else { command }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
