//! `kubefoundry images`: lists the container images of the output, for mirroring or scanning.

use std::collections::{BTreeMap, BTreeSet};

use kubefoundry_compiler::Thoroughness;
use kubefoundry_diagnostics::render::{ReportVersion, to_object_report};
use kubefoundry_kubernetes::manifest;
use kubefoundry_reports::images::ImagesReport;
use serde_json::Map;

use crate::args::{FailOn, ImagesArgs, TextFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::run::{CommandError, Run};

pub(super) fn run(args: &ImagesArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let run: Run = Run::new(&args.input, &args.diagnostics.findings, Map::new(), Thoroughness::Needed)?;
    run.note_findings(args.diagnostics.diagnostics, console);
    if run.has_failed() {
        return Ok(run.status(FailOn::Error));
    }
    let (mut images, mut environments) = (BTreeSet::new(), BTreeMap::<&str, BTreeSet<&str>>::new());
    for output in &run.compilation.outputs {
        let decision = run.compilation.decisions.get(output.decision);
        let environment = decision.and_then(|decision| decision.environment.as_deref());
        for image in manifest::images(&output.object) {
            images.insert(image);
            environment.map(|environment| environments.entry(environment).or_default().insert(image));
        }
    }
    let report = match args.output {
        TextFormat::Text => images.iter().flat_map(|image| [image, "\n"]).collect(),
        TextFormat::Json => to_object_report(&ImagesReport { version: ReportVersion, images, environments }),
    };
    console::print_report([&report], args.output == TextFormat::Json)?;
    Ok(ExitStatus::Success)
}
