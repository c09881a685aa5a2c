//! The `kubefoundry` command: files, standard input and flags in; manifests, findings and reasons out.
//!
//! This is a thin front end to the `kubefoundry` library: it reads texts, passes them to the library, and prints the
//! results. All decisions are made in the library.

mod args;
mod commands;
mod console;
mod exit;
mod markdown;
mod output;
mod progress;
mod run;
mod style;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    // Clients of KRM functions start a link to this program, because some of them pass no arguments.
    if words.next().is_some_and(|program| kubefoundry_krm::is_function(&program)) {
        let arguments: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
        return ExitCode::from(kubefoundry_krm::run_program(&arguments));
    }
    let args = match args::parse(std::env::args_os()) {
        Ok(args) => args,
        Err(error) if error.use_stderr() && args::is_for_function(std::env::args_os().skip(1)) => {
            // Clients take an empty output as a request to delete everything, so the list is returned with the error in
            // it.
            let message = format!("{}; set options in functionConfig", args::first_line(&error));
            return exit::ExitStatus::from_function(kubefoundry_krm::serve_refusal(&message)).into();
        }
        Err(usage) => return commands::print_usage(&usage),
    };
    let console = console::Console::new(args.color);
    let status = commands::run(&args.command, &console).unwrap_or_else(|error| {
        console::note(&format!("kubefoundry: {}\n", kubefoundry_yaml::text::printable(&error.to_string())));
        exit::ExitStatus::Failure
    });
    status.into()
}
