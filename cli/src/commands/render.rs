//! `kubefoundry render`: the objects to apply, or nothing.

use kubefoundry::Thoroughness;
use kubefoundry::wire::OutputMode;
use serde_json::{Map, Value};

use super::{CommandError, Run};
use crate::args::{FailOn, RenderArgs};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::output::{self, OutDirError};

pub(super) fn run(args: &RenderArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let mut options = Map::new();
    if args.all {
        options.insert("output".to_owned(), Value::from("replace"));
    }
    let run = Run::new(&args.input, options, Thoroughness::Needed)?;
    run.note_findings(args.diagnostics.diagnostics, console);
    if run.compilation.has_errors() {
        return Ok(run.status(FailOn::Error));
    }
    let mode = run.compilation.options.output.unwrap_or(OutputMode::Generated);
    match &args.out_dir {
        None => console::print(&output::stream(&run.sources, &run.compilation, mode, args.output)?)?,
        Some(directory) if mode == OutputMode::Generated => {
            output::write_files(directory, &run.compilation, args.output)?;
        }
        Some(_) => return Err(OutDirError::NotGenerated.into()),
    }
    Ok(ExitStatus::Success)
}
