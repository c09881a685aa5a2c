//! Values that a shell offers for arguments that also accept others. The name of an argument's value tells which: an
//! argument `PROVIDER` gets the names of providers.
//!
//! They are not part of the arguments themselves, where clap would refuse all other values.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Command};
use clap_complete::Shell;
use kubefoundry::registry;
use kubefoundry_composition::PROVIDERS;

/// A value with a description for shells that show one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hint {
    pub(super) value: &'static str,
    /// Plain text without quotes and other characters that a shell expands.
    pub(super) description: String,
}

/// The hints for the positional arguments of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PositionalHints {
    /// The name of the command.
    pub(super) command: String,
    pub(super) hints: Vec<Hint>,
    /// Whether the argument also takes paths.
    pub(super) takes_paths: bool,
    /// The options of the command that have no value, such as `--trace`.
    pub(super) switches: Vec<String>,
}

/// The value that stands for the hints of a command in a script for zsh, until [`super::scripts`] replaces it.
pub(super) fn placeholder(command: &str) -> &'static str {
    keep(format!("KUBEFOUNDRY_{}_OR_FILES", command.to_ascii_uppercase()))
}

/// Makes a text live as long as the program, which ends once the script is printed: clap wants its values so.
fn keep(text: String) -> &'static str {
    text.leak()
}

/// Adds hints to every argument of a built program that has some. Also returns those of positional arguments, because not
/// every generator of clap writes them.
pub(super) fn add_hints(program: Command, shell: Shell) -> (Command, Vec<PositionalHints>) {
    // `help` has no page of its own.
    let documented = program.get_subcommands().filter(|command| command.get_name() != "help" && !command.is_hide_set());
    let commands: Vec<Hint> = documented.map(|command| hint(command.get_name(), &about(command))).collect();
    let mut positional = Vec::new();
    let program = program.mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        let switches: Vec<String> = command
            .get_arguments()
            .filter(|arg| !arg.get_action().takes_values())
            .filter_map(|arg| arg.get_long().map(|long| format!("--{long}")))
            .collect();
        let command = command.mut_subcommands(|inner| inner.mut_args(|arg| add_to(arg, &commands)));
        command.mut_args(|arg| {
            let hints = hints_for(&arg, &commands);
            if !arg.is_positional() || hints.is_empty() {
                return add_to(arg, &commands);
            }
            let takes_paths = value_words(&arg).iter().any(|word| word == "PATH");
            positional.push(PositionalHints {
                command: name.clone(),
                hints: hints.clone(),
                takes_paths,
                switches: switches.clone(),
            });
            // The generator for zsh writes either values or files.
            let is_replaced = shell == Shell::Zsh && takes_paths;
            if is_replaced { arg.value_parser([placeholder(&name)]) } else { with_values(arg, &hints) }
        })
    });
    (program, positional)
}

fn add_to(arg: Arg, commands: &[Hint]) -> Arg {
    let hints = hints_for(&arg, commands);
    if hints.is_empty() { arg } else { with_values(arg, &hints) }
}

fn with_values(arg: Arg, hints: &[Hint]) -> Arg {
    let values = hints.iter().map(|Hint { value, description }| {
        let shown = PossibleValue::new(*value);
        if description.is_empty() { shown } else { shown.help(description.clone()) }
    });
    arg.value_parser(PossibleValuesParser::new(values))
}

/// Returns the names of the kinds of values that an argument takes: `PATH|CODE|FIELD` has three.
fn value_words(arg: &Arg) -> Vec<String> {
    let names = arg.get_value_names().unwrap_or_default();
    names.iter().flat_map(|name| name.split('|')).map(str::to_owned).collect()
}

fn hints_for(arg: &Arg, commands: &[Hint]) -> Vec<Hint> {
    let takes_values = arg.get_action().takes_values() && arg.get_possible_values().is_empty();
    if !takes_values {
        return Vec::new();
    }
    let of_word = |word: String| match word.as_str() {
        "CODE" => codes(),
        "COMMAND" => commands.to_vec(),
        "PROVIDER" => PROVIDERS.iter().map(|provider| hint(provider.name(), provider.display_name())).collect(),
        "PROVIDER=APIVERSION" => assignments(|info| [info.crd_versions, &["auto"]].concat()),
        "PROVIDER=VERSION" => assignments(|info| info.runtimes.to_vec()),
        _ => Vec::new(),
    };
    value_words(arg).into_iter().flat_map(of_word).collect()
}

/// Returns the identifiers and the names of all diagnostic codes.
fn codes() -> Vec<Hint> {
    let mut codes: Vec<_> = registry::codes().collect();
    codes.sort_by_key(|code| code.id);
    let ids = codes.iter().map(|code| hint(code.id, &format!("{}, {}", code.name, code.summary)));
    let names = codes.iter().map(|code| hint(code.name, &format!("{}, {}", code.id, code.summary)));
    ids.chain(names).collect()
}

fn assignments(versions: impl Fn(&kubefoundry_provider::ProviderInfo) -> Vec<&'static str>) -> Vec<Hint> {
    let of_provider = |name: &str, versions: Vec<&'static str>| -> Vec<Hint> {
        versions.iter().map(|version| hint(&format!("{name}={version}"), "")).collect()
    };
    PROVIDERS.iter().flat_map(|provider| of_provider(provider.name(), versions(provider.info()))).collect()
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

fn hint(value: &str, description: &str) -> Hint {
    let is_plain = |c: &char| !matches!(c, '"' | '\'' | '`' | '$' | '\\' | '\n' | '[' | ']');
    Hint { value: keep(value.to_owned()), description: description.chars().filter(is_plain).collect() }
}
