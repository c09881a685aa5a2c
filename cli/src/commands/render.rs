//! `kubefoundry render`: prints the objects to apply, or writes them to files.

use std::borrow::Cow;
use std::path::Path;

use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::options::render::OutputMode;
use kubefoundry_compiler::pipeline::{OutputForm, YamlText};
use serde_json::{Map, Value};

use super::{CommandError, Run};
use crate::args::{FailOn, ObjectFormat, RenderArgs};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::output::{self, OutDirError, StreamError};

pub(super) fn run(args: &RenderArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    match (&args.out_dir, args.output) {
        (Some(directory), format) => write_files(args, console, directory, format),
        (None, ObjectFormat::Yaml) => {
            print_objects::<YamlText>(args, console, |run, mode| output::yaml(&run.sources, &run.compilation, mode))
        }
        (None, ObjectFormat::Json) => print_objects::<Value>(args, console, |run, mode| {
            Ok(vec![output::json(&run.sources, &run.compilation, mode)?.into()])
        }),
    }
}

/// Compiles the input and prints the findings.
fn compile_input<O: OutputForm>(args: &RenderArgs, console: &Console) -> Result<Run<O>, CommandError> {
    let mut options = Map::new();
    if args.all {
        options.insert("output".to_owned(), Value::from("replace"));
    }
    let run = Run::new(&args.input, &args.diagnostics.findings, options, Thoroughness::Needed)?;
    run.note_findings(args.diagnostics.diagnostics, console);
    Ok(run)
}

fn print_objects<O: OutputForm>(
    args: &RenderArgs,
    console: &Console,
    text: impl for<'r> Fn(&'r Run<O>, OutputMode) -> Result<Vec<Cow<'r, str>>, StreamError>,
) -> Result<ExitStatus, CommandError> {
    let run = compile_input::<O>(args, console)?;
    if run.has_failed() {
        return Ok(run.status(FailOn::Error));
    }
    console::print(text(&run, run.output_mode())?)?;
    Ok(ExitStatus::Success)
}

fn write_files(
    args: &RenderArgs,
    console: &Console,
    directory: &Path,
    format: ObjectFormat,
) -> Result<ExitStatus, CommandError> {
    let run = compile_input::<Value>(args, console)?;
    if run.has_failed() {
        return Ok(run.status(FailOn::Error));
    }
    if run.output_mode() != OutputMode::Generated {
        return Err(OutDirError::NotGenerated.into());
    }
    output::write_files(directory, &run.compilation, format)?;
    Ok(ExitStatus::Success)
}
