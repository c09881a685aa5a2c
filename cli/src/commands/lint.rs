//! `kubefoundry lint`: everything that is wrong with the input.

use kubefoundry::Thoroughness;
use serde_json::{Map, Value};

use super::{CommandError, Run};
use crate::args::{LintArgs, ReportFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;

pub(super) fn run(args: &LintArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    // A change that touches no ModelDeployment is a good change.
    let options = Map::from_iter([("allowEmpty".to_owned(), Value::Bool(true))]);
    let run = Run::new(&args.input, options, Thoroughness::Everything)?;
    let mut report = run.report(args.output, console.stdout_style());
    if report.is_empty() && args.output == ReportFormat::Text {
        report = format!("{}\n", run.summary());
    }
    console::print(&report)?;
    Ok(run.status(args.fail_on))
}
