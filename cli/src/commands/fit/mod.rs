//! `kubefoundry fit`: on which GPUs the models fit, and with how much context.

mod figures;
mod markdown;
mod product;
mod text;

use kubefoundry_compiler::Thoroughness;
use kubefoundry_facts::fit::WorkerFit;
use kubefoundry_reports::fit as report;
use kubefoundry_reports::run::LocatedDecision;
use serde_json::Map;

pub(super) use figures::format_parts;

use crate::args::{FailOn, FitArgs, TableFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::run::{CommandError, Run};

/// A worker of a deployment.
struct FitRow<'r> {
    located: &'r LocatedDecision<'r>,
    worker: &'r WorkerFit,
}

impl FitRow<'_> {
    /// Returns the namespace and name of the deployment, with the role if there are several.
    fn title(&self) -> String {
        let object = &self.located.decision.object;
        let name = kubefoundry_kubernetes::manifest::owner_name(object.namespace.as_deref(), &object.name);
        match self.located.decision.workers.len() {
            1 => name,
            _ => format!("{name} ({})", self.worker.role),
        }
    }
}

pub(super) fn run(args: &FitArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let run: Run<()> = Run::new(&args.input, &args.diagnostics.findings, Map::new(), Thoroughness::Everything)?;
    let mut locator = run.result().locator();
    let decisions: Vec<LocatedDecision<'_>> = run.result().locate_decisions(&mut locator).collect();
    let rows: Vec<FitRow<'_>> = decisions
        .iter()
        .flat_map(|located| located.decision.workers.iter().map(move |worker| FitRow { located, worker }))
        .collect();
    let report = match args.output {
        TableFormat::Text => text::text(&rows, console.stdout_style()),
        TableFormat::Json => report::json(run.result()),
        TableFormat::Markdown => markdown::markdown(&rows),
    };
    console::print_report([&report], args.output == TableFormat::Json)?;
    if args.output != TableFormat::Json {
        run.note_findings(args.diagnostics.diagnostics, console);
    }
    if rows.is_empty() && !run.has_failed() && args.output != TableFormat::Json && !run.is_quiet {
        console::note("The input has no ModelDeployment whose engine runs on GPUs.\n");
    }
    Ok(run.status(FailOn::Error))
}
