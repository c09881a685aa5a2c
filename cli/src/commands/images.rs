//! `kubefoundry images`: lists the container images of the output, for mirroring or scanning.

use std::collections::BTreeSet;

use kubefoundry_compiler::Thoroughness;
use kubefoundry_kubernetes::manifest;
use serde_json::{Map, json};

use super::{CommandError, Run};
use crate::args::{FailOn, ImagesArgs, TextFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;

pub(super) fn run(args: &ImagesArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let run: Run = Run::new(&args.input, &args.diagnostics.findings, Map::new(), Thoroughness::Needed)?;
    run.note_findings(args.diagnostics.diagnostics, console);
    if run.has_failed() {
        return Ok(run.status(FailOn::Error));
    }
    let images: BTreeSet<&str> =
        run.compilation.outputs.iter().flat_map(|output| manifest::images(&output.object)).collect();
    let report = match args.output {
        TextFormat::Text => images.iter().flat_map(|image| [image, "\n"]).collect(),
        TextFormat::Json => format!("{:#}\n", json!({"version": 1, "images": images})),
    };
    console::print([&report])?;
    Ok(ExitStatus::Success)
}
