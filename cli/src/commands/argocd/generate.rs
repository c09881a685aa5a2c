//! `kubefoundry argocd generate`: the manifests, or nothing.

use std::path::Path;

use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::pipeline::YamlText;

use super::served::Served;
use super::{ArgoCdError, given, kustomize, parameters};
use crate::args::{FailOn, ReportFormat};
use crate::commands::{CommandError, Run};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::input;
use crate::output;

pub(super) fn run(console: &Console) -> Result<ExitStatus, CommandError> {
    let mut given = given()?;
    let served = Served::read();
    let missing = served.choose_crd_versions(&mut given).map_err(ArgoCdError::from)?;
    let built = if given.get("kustomize").is_some_and(|value| value == true) {
        Some(("<kustomize build>", kustomize::build().map_err(ArgoCdError::from)?))
    } else {
        if kustomize::is_there() {
            console::note("kubefoundry: kustomization.yaml is not applied; the parameter kustomize: true applies it\n");
        }
        None
    };
    let config = given.get("config").and_then(|value| value.as_str()).filter(|name| !name.is_empty()).map(Path::new);
    let input = input::read_application(config, parameters::options(&given), built)?;
    let run: Run<YamlText> = Run::of(input, Thoroughness::Needed)?;
    // One line each: when the command fails, this is the error in Argo CD's UI.
    run.note_findings(ReportFormat::Concise, console);
    if run.has_failed() {
        return Ok(run.status(FailOn::Error));
    }
    Served::refuse_missing(&missing, &run.compilation).map_err(ArgoCdError::from)?;
    console::note(&served.warnings(&run.compilation));
    console::print(output::yaml(&run.sources, &run.compilation, run.output_mode())?)?;
    Ok(ExitStatus::Success)
}
