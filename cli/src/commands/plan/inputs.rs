//! Reads the two inputs of a plan: two paths, two revisions of a path, or one path under two sets of options.

use std::path::{Path, PathBuf};

use kubefoundry_analysis::plan::{choices_made, stored_choices};
use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::pipeline::{YamlText, compile_keeping};
use kubefoundry_composition::BUILTIN;
use kubefoundry_input::{self as input, Assignment, InputArgs, Pipes, Sides};
use serde_json::{Map, Value};

use crate::args::{ApplierChoice, FailOn, PlanArgs};
use crate::progress::Progress;
use crate::run::{CommandError, Run};

/// Reasons why there is no plan.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlanUsageError {
    #[error("nothing to compare: give OLD and NEW, --git REVISIONS, or PATH with options for NEW (--new-runtime, ...)")]
    TooFewPaths,
    #[error("expected two paths, OLD and NEW, but found {0}; more are allowed only with --git or with options for NEW")]
    TooManyPaths(usize),
    #[error("OLD and NEW are both standard input; name a file or a directory for one of them")]
    StdinTwice,
    #[error(transparent)]
    Plan(#[from] kubefoundry_analysis::plan::PlanError),
}

/// The old and the new input, compiled.
pub(super) struct PlanInputs {
    pub(super) old: Run<YamlText>,
    pub(super) new: Run<YamlText>,
    /// The name of OLD in messages; with `--git`, it includes the revision.
    pub(super) old_name: String,
}

/// Reads and compiles both inputs.
pub(super) fn read(args: &PlanArgs) -> Result<PlanInputs, CommandError> {
    let (mut old, mut new) = (args.input.clone(), args.input.clone());
    apply_new_options(args, &mut new);
    // OLD runs already, wherever it is. Only NEW would notice that standard input was read for something else.
    old.cluster.clear();
    if is_stdin(&new.cluster) && (is_stdin(&old.paths) || is_stdin(&old.crds)) {
        return Err(input::InputError::StdinTwice.into());
    }
    let mut sides = None;
    if let Some(revisions) = &args.git {
        let read = Sides::read(revisions, &args.input.paths)?;
        (old.paths, new.paths) = (read.old_paths.clone(), read.new_paths.clone());
        sides = Some(read);
    } else if !has_new_options(args) || args.input.paths.len() == 2 {
        match args.input.paths.as_slice() {
            [one, other] if is_dash(one) && is_dash(other) => return Err(PlanUsageError::StdinTwice.into()),
            [one, other] => (old.paths, new.paths) = (vec![one.clone()], vec![other.clone()]),
            [] | [_] => return Err(PlanUsageError::TooFewPaths.into()),
            more => return Err(PlanUsageError::TooManyPaths(more.len()).into()),
        }
    }
    let mut pipes = Pipes::default();
    let findings = &args.diagnostics.findings;
    let options = findings.add_severities(allow_empty());
    let progress = Progress::start("reading the input", findings.quiet);
    let old_name = sides.as_ref().map_or("OLD".to_owned(), |sides| format!("OLD ({})", sides.old_name()));
    // Options that the user names are those of OLD if the repository has them: they judge both sides.
    let (base, new_tree) = sides.map_or((None, None), |sides| (Some(sides.old), sides.new));
    let old = input::read_at(&old, options.clone(), base.clone(), base.clone(), &mut pipes)?;
    let new = input::read_at(&new, options, new_tree, base, &mut pipes)?;
    drop(progress);
    let mut old: Run<YamlText> = Run::from_input(old, findings, Thoroughness::Needed)?;
    let new: Run<YamlText> = match args.applier {
        ApplierChoice::Apply => Run::from_input(new, findings, Thoroughness::Needed)?,
        ApplierChoice::Operator => {
            let stored = stored_choices(&old.sources, &old.compilation);
            if !stored.is_empty() {
                old.compilation = compile_keeping(&BUILTIN, &old.sources, Thoroughness::Needed, stored);
                input::name_flags(&old.sources, &mut old.compilation.diagnostics);
                findings.retain(&mut old.compilation.diagnostics, FailOn::Error);
            }
            Run::from_input_keeping(new, findings, Thoroughness::Needed, choices_made(&old.compilation))?
        }
    };
    Ok(PlanInputs { old, new, old_name })
}

/// Returns the options that allow a side without a ModelDeployment: OLD before the first one is added, NEW after the
/// last one is deleted.
fn allow_empty() -> Map<String, Value> {
    Map::from_iter([("allowEmpty".to_owned(), Value::Bool(true))])
}

fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn is_stdin(paths: &[PathBuf]) -> bool {
    paths.iter().any(|path| is_dash(path))
}

fn has_new_options(args: &PlanArgs) -> bool {
    args.new_config.is_some()
        || !args.new_providers.is_empty()
        || !args.new_crds.is_empty()
        || !args.new_crd_version.is_empty()
        || !args.new_runtime.is_empty()
}

/// Replaces the options of both inputs by those for NEW. Assignments are replaced for each provider.
fn apply_new_options(args: &PlanArgs, new: &mut InputArgs) {
    if let Some(config) = &args.new_config {
        new.config = Some(config.clone());
    }
    let lists = [(&args.new_providers, &mut new.providers), (&args.new_crds, &mut new.crds)];
    for (new_values, list) in lists.into_iter().filter(|(new_values, _)| !new_values.is_empty()) {
        list.clone_from(new_values);
    }
    let assignments = [(&args.new_crd_version, &mut new.crd_version), (&args.new_runtime, &mut new.runtime)];
    for (new_values, list) in assignments {
        list.retain(|old: &Assignment| !new_values.iter().any(|new| new.provider == old.provider));
        list.extend(new_values.iter().cloned());
    }
}
