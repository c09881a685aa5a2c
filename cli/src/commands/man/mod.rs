//! `kubefoundry man`: prints man pages, one for each command.

mod markdown;

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgGroup, Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};

use crate::args::{Args, ManArgs};
use crate::console;
use crate::exit::ExitStatus;
use crate::output::file_replacement::FileReplacement;
use crate::run::CommandError;

/// Reasons why a page cannot be printed or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManError {
    #[error("there is no command {0:?}; expected one of {1}")]
    UnknownCommand(String, String),
    #[error("{}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
}

const EXIT_STATUS: &[(&str, &str)] = &[
    ("0", "Success."),
    (
        "1",
        "The input has an error; with lint and plan, a finding or a change at least as severe as --fail-on; with drift, \
         drift; with render --check, files that are not fresh.",
    ),
    (
        "2",
        "Wrong usage or options, or a file that cannot be read or written; with plan, drift and render --check, an input \
         with an error.",
    ),
];

const FILES: &[(&str, &str)] = &[(
    "kubefoundry.yaml",
    "Options, a document of kind Render: CRD versions, runtime versions, image replacements, severities, limits. Each one \
     in the directory of an input file or above it applies to that file, and the nearest wins. --config names another file, \
     which overrides them; flags override all.",
)];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("NO_COLOR", "If set and not empty, disables colors unless --color=always is given."),
    (
        "FORCE_COLOR, CLICOLOR_FORCE",
        "If set and neither empty nor 0, enables colors without a terminal, as --color=always.",
    ),
    ("TERM", "If \"dumb\", disables colors unless --color=always is given."),
];

pub(super) fn run(args: &ManArgs) -> Result<ExitStatus, CommandError> {
    let program = program();
    match &args.out_dir {
        Some(directory) => {
            let mut replacement = FileReplacement::default();
            let pages = if args.markdown { markdown::format_pages(&program) } else { format_pages(&program) };
            for (name, page) in pages {
                let path = directory.join(name);
                std::fs::create_dir_all(directory)
                    .and_then(|()| replacement.stage(&path, &page, None))
                    .map_err(|source| ManError::Write { path, source })?;
            }
            replacement.commit().map_err(|(path, source)| ManError::Write { path, source })?;
        }
        None => console::print_as_is([roff(&program, find_command(&program, &args.command)?)])?,
    }
    Ok(ExitStatus::Success)
}

/// Returns the command line of the program. clap has built it, so that each command includes the global options.
fn program() -> Command {
    let mut program = Args::command().disable_help_subcommand(true);
    program.build();
    program
}

/// Finds the program itself, one of its commands, or a command of a command.
fn find_command<'p>(program: &'p Command, names: &[String]) -> Result<&'p Command, ManError> {
    names.iter().try_fold(program, |command, name| {
        let known = || command.get_subcommands().map(Command::get_name).collect::<Vec<_>>().join(", ");
        command.find_subcommand(name).ok_or_else(|| ManError::UnknownCommand(name.clone(), known()))
    })
}

/// Formats every page. Returns them with the names of their files: `kubefoundry.1`, `kubefoundry-argocd-generate.1`.
fn format_pages(program: &Command) -> Vec<(String, String)> {
    let pages = all_commands(program).into_iter();
    pages.map(|command| (format!("{}.1", page_name(command)), roff(program, command))).collect()
}

/// Returns a command and all commands below it.
fn all_commands(command: &Command) -> Vec<&Command> {
    let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    std::iter::once(command).chain(shown.flat_map(all_commands)).collect()
}

/// Returns the name of a page: `kubefoundry-argocd-generate`.
fn page_name(command: &Command) -> String {
    command.get_bin_name().unwrap_or_else(|| command.get_name()).replace(' ', "-")
}

/// Writes the options with their values, and the arguments as `--help` has them.
fn write_synopsis(sections: &mut Roff, command: &Command) {
    sections.control("SH", ["SYNOPSIS"]);
    let mut line = vec![bold(command.get_bin_name().unwrap_or_else(|| command.get_name()))];
    // The usage has those of which one is required.
    let groups = command.get_groups().filter(|group| group.is_required_set());
    let in_groups: Vec<_> = groups.flat_map(ArgGroup::get_args).collect();
    let is_listed =
        |option: &&Arg| !option.is_positional() && !option.is_hide_set() && !in_groups.contains(&option.get_id());
    for option in command.get_arguments().filter(is_listed) {
        let (open, close) = if option.is_required_set() { (" ", "") } else { (" [", "]") };
        line.push(roman(open));
        if let Some(short) = option.get_short() {
            line.extend([bold(format!("-{short}")), roman("|")]);
        }
        line.push(bold(format!("--{}", option.get_long().unwrap_or_default())));
        let values = option.get_value_names().filter(|_| option.get_action().takes_values()).unwrap_or_default();
        if !values.is_empty() {
            // The value of some options can be omitted.
            let is_optional = option.get_num_args().is_some_and(|number| number.min_values() == 0);
            line.push(roman(if is_optional { " [" } else { " " }));
            line.push(italic(values.join(" ")));
            line.push(roman(if is_optional { "]" } else { "" }));
        }
        let is_repeatable = matches!(option.get_action(), ArgAction::Append);
        line.push(roman(format!("{close}{}", if is_repeatable { "..." } else { "" })));
    }
    let usage = command.clone().render_usage().to_string();
    let arguments = usage.rsplit_once("[OPTIONS]").map_or("", |(_, arguments)| arguments);
    line.push(roman(arguments.split_whitespace().fold(String::new(), |line, word| line + " " + word)));
    sections.text(line);
}

#[expect(clippy::expect_used, reason = "writing to memory does not fail")]
fn roff(program: &Command, command: &Command) -> String {
    let name = page_name(command);
    let (notes, examples) = split_after_help(command);
    let version = program.get_version().unwrap_or_default();
    let man =
        Man::new(command.clone()).title(name.to_uppercase()).section("1").source(format!("kubefoundry {version}"));
    let man = man.manual("kubefoundry manual").date("");
    let mut out = Vec::new();
    let mut synopsis = Roff::new();
    write_synopsis(&mut synopsis, command);
    let mut render = |section: &dyn Fn(&Man, &mut Vec<u8>) -> std::io::Result<()>| {
        section(&man, &mut out).expect("memory takes every byte");
    };
    render(&|man, out| man.render_title(out));
    render(&|man, out| man.render_name_section(out));
    render(&|_, out| {
        out.extend_from_slice(synopsis.to_roff().as_bytes());
        Ok(())
    });
    render(&|man, out| man.render_description_section(out));
    render(&|man, out| man.render_options_section(out));
    if command.has_subcommands() {
        render(&|man, out| man.render_subcommands_section(out));
    }
    let mut sections = Roff::new();
    if !notes.is_empty() {
        sections.control("SH", ["NOTES"]);
        for paragraph in notes {
            sections.control("PP", []).text([roman(paragraph)]);
        }
    }
    write_definitions(&mut sections, "EXIT STATUS", EXIT_STATUS);
    write_definitions(&mut sections, "FILES", FILES);
    write_definitions(&mut sections, "ENVIRONMENT", ENVIRONMENT);
    if !examples.is_empty() {
        sections.control("SH", ["EXAMPLES"]);
        sections.control("nf", []);
        for line in examples {
            sections.text([roman(line)]);
        }
        sections.control("fi", []);
    }
    write_see_also(&mut sections, program, &name);
    let mut text = String::from_utf8_lossy(&out).into_owned();
    text.push_str(&sections.to_roff());
    text
}

/// Splits the text after the options in `--help` into the paragraphs of the notes and the lines of the examples. An exit
/// status after the examples is skipped: a section of its own describes it.
fn split_after_help(command: &Command) -> (Vec<String>, Vec<String>) {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (notes, examples) = after.split_once("Examples:\n").unwrap_or(("", &after));
    let notes = notes.trim().split("\n\n").filter(|paragraph| !paragraph.is_empty());
    // The lines after the first one of a command are indented.
    let lines =
        examples.lines().take_while(|line| !line.is_empty()).map(|line| line.strip_prefix("  ").unwrap_or(line));
    (notes.map(|paragraph| paragraph.replace('\n', " ")).collect(), lines.map(str::to_owned).collect())
}

fn write_definitions(sections: &mut Roff, title: &str, rows: &[(&str, &str)]) {
    sections.control("SH", [title]);
    for (term, meaning) in rows {
        sections.control("TP", []).text([bold(*term)]).text([roman(*meaning)]);
    }
}

fn write_see_also(sections: &mut Roff, program: &Command, current: &str) {
    let pages: Vec<String> = all_commands(program).into_iter().map(page_name).filter(|page| page != current).collect();
    sections.control("SH", ["SEE ALSO"]);
    let mut line = Vec::new();
    for (position, page) in pages.iter().enumerate() {
        line.push(bold(page.as_str()));
        line.push(roman(if position + 1 < pages.len() { "(1), " } else { "(1)" }));
    }
    sections.text(line);
}
