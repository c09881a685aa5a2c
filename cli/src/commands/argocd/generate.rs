//! `kubefoundry argocd generate`: prints the manifests of an application.

use std::env;
use std::path::{Component, Path, PathBuf};

use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::pipeline::YamlText;
use kubefoundry_input::{self as input, workspace};

use super::served_versions::ServedVersions;
use super::{ArgoCdError, parameters, read_parameters};
use crate::args::{FailOn, FindingArgs, ReportFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::run::{CommandError, Run};

pub(super) fn run(console: &Console) -> Result<ExitStatus, CommandError> {
    let mut values = read_parameters()?;
    let served = ServedVersions::from_env();
    let missing = served.choose_crd_versions(&mut values).map_err(ArgoCdError::from)?;
    let builds = values.get("kustomize").is_some_and(|value| value == true);
    if !builds && workspace::kustomizations_of(Path::new("")).any(|file| file.is_file()) {
        console::note("kubefoundry: kustomization.yaml is ignored; set the parameter kustomize: true to apply it\n");
    }
    let config = values.get("config").and_then(|value| value.as_str()).filter(|name| !name.is_empty()).map(Path::new);
    let options = parameters::options(&values);
    let input = input::read_application(repository_root().as_deref(), config, options, builds)?;
    let mut run: Run<YamlText> = Run::from_input(input, &FindingArgs::default(), Thoroughness::Needed)?;
    // One line for each finding: if the command fails, Argo CD's UI shows the beginning of standard error.
    run.compilation.diagnostics.sort_by_key(|finding| finding.severity);
    run.note_findings(ReportFormat::Concise, console);
    if run.has_failed() {
        return Ok(run.status(FailOn::Error));
    }
    ServedVersions::reject_missing(&missing, &run.compilation).map_err(ArgoCdError::from)?;
    console::note(&served.warnings(&run.compilation));
    console::print_as_is(kubefoundry_reports::manifests::yaml(&run.sources, &run.compilation, run.output_mode())?)?;
    Ok(ExitStatus::Success)
}

/// Returns the root of the repository, from the application's path in it. Argo CD recommends to leave out `.git`, which
/// would mark the root. A path that does not lead to the working directory is not believed.
fn repository_root() -> Option<PathBuf> {
    let path = PathBuf::from(env::var_os("ARGOCD_APP_SOURCE_PATH")?);
    let directory = env::current_dir().ok()?.canonicalize().ok()?;
    let names: PathBuf = path.components().filter(|component| *component != Component::CurDir).collect();
    let is_below = names.components().all(|component| matches!(component, Component::Normal(_)));
    let levels = names.components().count();
    directory.ancestors().nth(levels).filter(|_| is_below && directory.ends_with(&names)).map(Path::to_owned)
}
