//! `kubefoundry man`: prints man pages, one for each command.

use std::path::PathBuf;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::CommandError;
use crate::args::{Args, ManArgs};
use crate::console;
use crate::exit::ExitStatus;
use crate::output::file_replacement::FileReplacement;

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
    ("1", "The input has an error; with lint and plan, a finding or a change at least as severe as --fail-on."),
    ("2", "Wrong usage or options, or a file that cannot be read or written."),
];

const FILES: &[(&str, &str)] = &[(
    "kubefoundry.yaml",
    "Options, a document of kind Render: CRD versions, runtime versions, image replacements, severities, limits. It is \
     read if PATH is its directory and the only PATH. --config names another file, which overrides it; flags override both.",
)];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("NO_COLOR", "If set and not empty, disables colors unless --color=always is given."),
    ("TERM", "If \"dumb\", disables colors unless --color=always is given."),
];

pub(super) fn run(args: &ManArgs) -> Result<ExitStatus, CommandError> {
    let program = program();
    match &args.out_dir {
        Some(directory) => {
            let mut replacement = FileReplacement::default();
            for (name, page) in format_pages(&program) {
                let path = directory.join(format!("{name}.1"));
                std::fs::create_dir_all(directory)
                    .and_then(|()| replacement.stage(&path, &page, None))
                    .map_err(|source| ManError::Write { path, source })?;
            }
            replacement.commit().map_err(|(path, source)| ManError::Write { path, source })?;
        }
        None => console::print([format_page(&program, args.command.as_deref())?])?,
    }
    Ok(ExitStatus::Success)
}

/// Returns the command line of the program. clap has built it, so that each command includes the global options.
fn program() -> Command {
    let mut program = Args::command().disable_help_subcommand(true);
    program.build();
    program
}

/// Formats the page of the program, or of one of its commands.
fn format_page(program: &Command, command: Option<&str>) -> Result<String, ManError> {
    match command {
        None => Ok(roff(program, program)),
        Some(name) => match program.find_subcommand(name) {
            Some(command) => Ok(roff(program, command)),
            None => Err(ManError::UnknownCommand(name.to_owned(), command_names(program).join(", "))),
        },
    }
}

/// Formats every page. Returns them with their names: `kubefoundry`, `kubefoundry-render`.
fn format_pages(program: &Command) -> Vec<(String, String)> {
    let main = (program.get_name().to_owned(), roff(program, program));
    let commands = program.get_subcommands().map(|command| (page_name(program, command), roff(program, command)));
    std::iter::once(main).chain(commands).collect()
}

fn command_names(program: &Command) -> Vec<&str> {
    program.get_subcommands().map(Command::get_name).collect()
}

fn page_name(program: &Command, command: &Command) -> String {
    let (program, command) = (program.get_name(), command.get_name());
    if program == command { program.to_owned() } else { format!("{program}-{command}") }
}

fn roff(program: &Command, command: &Command) -> String {
    let name = page_name(program, command);
    // The text after the options in `--help` is split into sections: notes, exit status, examples.
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let version = program.get_version().unwrap_or_default();
    let man =
        Man::new(command.clone()).title(name.to_uppercase()).section("1").source(format!("kubefoundry {version}"));
    let man = man.manual("kubefoundry manual").date("");
    let mut out = Vec::new();
    // Writing to memory does not fail.
    let _ = man.render_title(&mut out);
    let _ = man.render_name_section(&mut out);
    let _ = man.render_synopsis_section(&mut out);
    let _ = man.render_description_section(&mut out);
    let _ = man.render_options_section(&mut out);
    if command.has_subcommands() {
        let _ = man.render_subcommands_section(&mut out);
    }
    let mut sections = Roff::new();
    let (notes, examples) = after.split_once("Examples:\n").unwrap_or(("", &after));
    if !notes.trim().is_empty() {
        sections.control("SH", ["NOTES"]);
        for paragraph in notes.trim().split("\n\n") {
            sections.control("PP", []).text([roman(paragraph.replace('\n', " "))]);
        }
    }
    write_definitions(&mut sections, "EXIT STATUS", EXIT_STATUS);
    write_definitions(&mut sections, "FILES", FILES);
    write_definitions(&mut sections, "ENVIRONMENT", ENVIRONMENT);
    // An exit status after the examples is skipped: the section above describes it.
    let lines: Vec<&str> = examples.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    if !lines.is_empty() {
        sections.control("SH", ["EXAMPLES"]);
        sections.control("nf", []);
        for line in lines {
            sections.text([roman(line)]);
        }
        sections.control("fi", []);
    }
    write_see_also(&mut sections, program, &name);
    let mut text = String::from_utf8_lossy(&out).into_owned();
    text.push_str(&sections.to_roff());
    text
}

fn write_definitions(sections: &mut Roff, title: &str, rows: &[(&str, &str)]) {
    sections.control("SH", [title]);
    for (term, meaning) in rows {
        sections.control("TP", []).text([bold(*term)]).text([roman(*meaning)]);
    }
}

fn write_see_also(sections: &mut Roff, program: &Command, current: &str) {
    let commands = program.get_subcommands().map(|command| page_name(program, command));
    let pages = std::iter::once(program.get_name().to_owned()).chain(commands).filter(|page| page != current);
    let pages: Vec<String> = pages.collect();
    sections.control("SH", ["SEE ALSO"]);
    let mut line = Vec::new();
    for (position, page) in pages.iter().enumerate() {
        line.push(bold(page.as_str()));
        line.push(roman(if position + 1 < pages.len() { "(1), " } else { "(1)" }));
    }
    sections.text(line);
}
