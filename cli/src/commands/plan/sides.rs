//! The two states that are compared: two paths, two revisions of one, or one path under two sets of options.

use std::path::{Path, PathBuf};

use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::pipeline::YamlText;
use serde_json::{Map, Value};

use crate::args::{Assignment, InputArgs, PlanArgs};
use crate::commands::{CommandError, Run};
use crate::input::git::{self, GitError, Tree};
use crate::input::{self, Pipes};

/// What cannot be compared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlanUsage {
    #[error("plan needs two states: OLD and NEW, --git REVISIONS, or PATH with options for NEW (--new-runtime, ...)")]
    OneSide,
    #[error("expected OLD and NEW, found {0} paths; with --git or with options for NEW there may be more")]
    ManySides(usize),
    #[error("OLD and NEW are both standard input, expected one of them to be a file or a directory")]
    StdinTwice,
    #[error(transparent)]
    Plan(#[from] kubefoundry_compiler::plan::PlanError),
}

/// Both states, compiled.
pub(super) struct Sides {
    pub(super) old: Run<YamlText>,
    pub(super) new: Run<YamlText>,
    /// What the state before is called in messages.
    pub(super) old_name: String,
}

/// Reads and compiles both.
pub(super) fn read(args: &PlanArgs) -> Result<Sides, CommandError> {
    let (mut old, mut new) = (args.input.clone(), args.input.clone());
    apply_new_options(args, &mut new);
    let (mut old_tree, mut new_tree, mut old_name) = (None, None, "OLD".to_owned());
    if let Some(revisions) = &args.git {
        let (before, after) = git::revisions(revisions).map_err(input::InputError::from)?;
        if args.input.paths.is_empty() {
            let here = vec![PathBuf::from(".")];
            (old.paths, new.paths) = (here.clone(), here);
        }
        if is_stdin(&old.paths) {
            return Err(input::InputError::from(GitError::Stdin).into());
        }
        let tree = |revision| Tree::read(revision, &old.paths).map_err(input::InputError::from);
        let trees = (tree(&before)?, after.as_ref().map(tree).transpose()?);
        for path in &old.paths {
            let is_there = trees.1.as_ref().map_or_else(|| path.exists(), |tree| tree.has(path));
            if !is_there && !trees.0.has(path) && path.as_os_str() != "." {
                return Err(input::InputError::from(GitError::Nowhere(path.display().to_string())).into());
            }
        }
        old_name = format!("OLD ({})", before.name);
        (old_tree, new_tree) = (Some(trees.0), trees.1);
        if after.is_none() {
            // What is gone from the working tree is no file to read.
            let there: Vec<PathBuf> = new.paths.iter().filter(|path| path.exists()).cloned().collect();
            if there.is_empty() {
                new_tree = Some(Tree::empty("the working tree"));
            } else {
                new.paths = there;
            }
        }
    } else if !has_new_options(args) || args.input.paths.len() == 2 {
        match args.input.paths.as_slice() {
            [one, other] if is_dash(one) && is_dash(other) => return Err(PlanUsage::StdinTwice.into()),
            [one, other] => (old.paths, new.paths) = (vec![one.clone()], vec![other.clone()]),
            [] | [_] => return Err(PlanUsage::OneSide.into()),
            more => return Err(PlanUsage::ManySides(more.len()).into()),
        }
    }
    let mut pipes = Pipes::default();
    let old = input::read_at(&old, options(), old_tree, &mut pipes)?;
    let new = input::read_at(&new, options(), new_tree, &mut pipes)?;
    let old: Run<YamlText> = Run::of(old, Thoroughness::Needed)?;
    let new: Run<YamlText> = Run::of(new, Thoroughness::Needed)?;
    Ok(Sides { old, new, old_name })
}

/// A state without a ModelDeployment is one: before the first, after the last.
fn options() -> Map<String, Value> {
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

/// Puts what is said of NEW in the place of what is said of both.
fn apply_new_options(args: &PlanArgs, new: &mut InputArgs) {
    if let Some(config) = &args.new_config {
        new.config = Some(config.clone());
    }
    let lists = [(&args.new_providers, &mut new.providers), (&args.new_crds, &mut new.crds)];
    for (given, list) in lists.into_iter().filter(|(given, _)| !given.is_empty()) {
        list.clone_from(given);
    }
    let assignments = [(&args.new_crd_version, &mut new.crd_version), (&args.new_runtime, &mut new.runtime)];
    for (given, list) in assignments {
        list.retain(|old: &Assignment| !given.iter().any(|new| new.provider == old.provider));
        list.extend(given.iter().cloned());
    }
}
