//! Builds the kustomizations that lead to objects of kubefoundry, so that what is judged is what is applied.
//!
//! ```text
//! files ─ kustomizations ─ closure of each ─ roots ─┬─ rewritten, built by kustomize ─ text + origins
//!                                                   ├─ refusals: an error, nothing is built
//!                                                   └─ obstacle: not built, its files are read as they are
//! ```

mod build;
mod closure;
mod entry;
mod expansion;
mod follow;
mod origins;
mod schema;
mod selector;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use kubefoundry_compiler::codes::input as codes;
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_yaml::fingerprint::sha256;
use kubefoundry_yaml::text::one_line;
use rayon::prelude::*;

use crate::error::InputError;
use crate::files::Files;
use crate::program::{self, Permissions, ProgramError, TimeBudget};
use build::{Builder, Workspace, requested_annotations};
use closure::{Closure, FunctionInput, Obstacle};
use expansion::Spent;
use follow::follow;

pub(crate) use build::BuiltText;
pub(crate) use closure::Place;
pub(crate) use origins::BuiltSource;
pub use origins::Origins;
pub(crate) use origins::name_of;

/// A kustomization that no other one includes, and that leads to objects of kubefoundry.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) directory: PathBuf,
    pub(crate) file: PathBuf,
    /// The directory that nothing may lead out of.
    pub(crate) boundary: PathBuf,
    pub(crate) closure: Rc<Closure>,
    pub(crate) outcome: Outcome,
}

/// What became of a root.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    Built(BuiltText),
    /// It was not built; the finding says why.
    Unbuilt(Diagnostic),
    /// Like [`Outcome::Unbuilt`], but it was not built because it needs a permission.
    NotPermitted(Diagnostic),
    /// It cannot be built. Without a place, the finding is about its kustomization file.
    Failed(Vec<(Option<Place>, Diagnostic)>),
    /// The machine had no more time or memory for it, so it was not judged.
    Exhausted(String),
}

/// What became of the roots of an earlier input. A root whose files are the same is not built again.
#[derive(Debug, Default)]
pub struct KnownBuilds(BTreeMap<PathBuf, (String, Outcome)>);

impl KnownBuilds {
    /// Returns what became of a root with this fingerprint.
    fn find(&self, directory: &Path, fingerprint: &str) -> Option<&Outcome> {
        self.0.get(directory).filter(|(known, _)| known == fingerprint).map(|(_, outcome)| outcome)
    }
}

/// Hashes everything that the result of a build depends on. A build that may run programs or use the network can depend on
/// anything, so it has no fingerprint.
fn fingerprint(closure: &Closure, files: &Files, permissions: Permissions) -> Result<Option<String>, InputError> {
    if (Permissions { unconfined: false, ..permissions }) != Permissions::default() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    for file in closure.files() {
        let content = files.read(file)?.unwrap_or_default();
        bytes.extend_from_slice(format!("{} {}\n", file.display(), content.len()).as_bytes());
        bytes.extend_from_slice(&content);
    }
    Ok(Some(sha256(&bytes)))
}

impl Root {
    /// Returns the options that our own function has in the root, with the file that has them.
    pub(crate) fn function_options(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.closure.functions.iter().filter_map(|function| match &function.input {
            FunctionInput::Options(text) => Some((function.file.as_path(), text.as_str())),
            FunctionInput::Deployment(_) => None,
        })
    }
}

/// A root before it is built.
struct Candidate {
    directory: PathBuf,
    file: PathBuf,
    boundary: PathBuf,
    closure: Closure,
}

/// Finds the roots among kustomization files and builds them. `boundary` returns the directory that nothing may lead out
/// of. Roots that are as they were when they became what is `known` are not built again; without it, nothing is kept for a
/// next run.
pub(crate) fn build_roots(
    kustomizations: &[PathBuf],
    files: &Files,
    permissions: Permissions,
    boundary: &dyn Fn(&Path) -> PathBuf,
    known: Option<&mut KnownBuilds>,
) -> Result<Vec<Root>, InputError> {
    build_candidates(find_roots(kustomizations, files, boundary)?, files, permissions, known)
}

/// Builds the kustomization of a directory, whether or not it leads to objects of kubefoundry; `None` if there is none.
pub(crate) fn build_directory(directory: &Path, files: &Files, boundary: PathBuf) -> Result<Option<Root>, InputError> {
    let Some(file) = files.kustomization_in(directory) else { return Ok(None) };
    let closure = follow(directory, &boundary, files)?;
    let candidate = Candidate { directory: directory.to_owned(), file, boundary, closure };
    Ok(build_candidates(vec![candidate], files, Permissions::default(), None)?.pop())
}

fn build_candidates(
    candidates: Vec<Candidate>,
    files: &Files,
    permissions: Permissions,
    mut known: Option<&mut KnownBuilds>,
) -> Result<Vec<Root>, InputError> {
    let builder = Builder::find();
    let (mut spent, budget) = (Spent::default(), TimeBudget::start());
    let mut workspaces = Vec::new();
    let mut fingerprints = Vec::new();
    for Candidate { directory, boundary, closure, .. } in &candidates {
        let fingerprint = if known.is_some() { fingerprint(closure, files, permissions)? } else { None };
        let same = known.as_deref().zip(fingerprint.as_deref());
        let same = same.and_then(|(known, fingerprint)| known.find(directory, fingerprint));
        let refused = || refuse(closure, directory, permissions, &mut spent);
        workspaces.push(match (same.cloned().or_else(refused), builder) {
            (Some(outcome), _) => Err(outcome),
            (None, None) => Err(Outcome::Unbuilt(unbuilt(directory, closure, "kustomize is not on the PATH", MISSING))),
            (None, Some(builder)) => Ok((builder, Workspace::create(closure, boundary, files, permissions)?)),
        });
        fingerprints.push(fingerprint);
    }
    // Most of the time is that of kustomize itself.
    let outcomes: Vec<Outcome> = workspaces
        .into_par_iter()
        .zip(&candidates)
        .map(|(workspace, Candidate { directory, closure, .. })| {
            let (builder, workspace) = match workspace {
                Ok(prepared) => prepared,
                Err(outcome) => return outcome,
            };
            let kept = closure.kustomizations.last().map(requested_annotations).unwrap_or_default();
            match workspace.build(builder, permissions, &budget, &kept) {
                Ok(text) => Outcome::Built(text),
                Err(error) if error.is_exhaustion() => Outcome::Exhausted(format!("kustomize {error}")),
                Err(error @ ProgramError::NotIsolated) => {
                    Outcome::NotPermitted(unbuilt(directory, closure, &error.to_string(), ALLOW_UNCONFINED))
                }
                // Without our function, a patch of what it renders has no target.
                Err(error) if !closure.functions.is_empty() => {
                    let reason = format!("it cannot be built without kubefoundry-fn: {error}");
                    Outcome::Unbuilt(unbuilt(directory, closure, &one_line(&reason), USE_FUNCTION))
                }
                Err(error) => Outcome::Failed(vec![(None, failure(directory, &error))]),
            }
        })
        .collect();
    if let Some(known) = &mut known {
        let fingerprinted = candidates.iter().zip(fingerprints).zip(&outcomes);
        // A build that failed, for example because it took too long, is tried again.
        known.0 = fingerprinted
            .filter(|(_, outcome)| matches!(outcome, Outcome::Built(_)))
            .filter_map(|((candidate, fingerprint), outcome)| {
                Some((candidate.directory.clone(), (fingerprint?, outcome.clone())))
            })
            .collect();
    }
    let root = |(Candidate { directory, file, boundary, closure }, outcome)| {
        let closure = Rc::new(closure);
        Root { directory, file, boundary, closure, outcome }
    };
    Ok(candidates.into_iter().zip(outcomes).map(root).collect())
}

/// Finds the kustomizations that no other one includes, and that lead to objects of kubefoundry.
fn find_roots(
    kustomizations: &[PathBuf],
    files: &Files,
    boundary: &dyn Fn(&Path) -> PathBuf,
) -> Result<Vec<Candidate>, InputError> {
    let mut all: BTreeMap<PathBuf, Candidate> = BTreeMap::new();
    for file in kustomizations {
        let directory = file.parent().unwrap_or(Path::new("")).to_owned();
        if !all.contains_key(&directory) {
            let boundary = boundary(&directory);
            let closure = follow(&directory, &boundary, files)?;
            let file = file.clone();
            all.insert(directory.clone(), Candidate { directory, file, boundary, closure });
        }
    }
    let included: BTreeSet<PathBuf> =
        all.values().flat_map(|candidate| candidate.closure.included().map(Path::to_owned)).collect();
    // Kustomizations that include each other in a circle have no root, so the first of them is taken.
    let mut reached: BTreeSet<PathBuf> = BTreeSet::new();
    for (directory, Candidate { closure, .. }) in all.iter().filter(|(directory, _)| !included.contains(*directory)) {
        reached.insert(directory.clone());
        reached.extend(closure.included().map(Path::to_owned));
    }
    let mut roots = Vec::new();
    for candidate in all.into_values() {
        let Candidate { directory, closure, .. } = &candidate;
        let is_first_of_circle = reached.insert(directory.clone());
        if is_first_of_circle {
            reached.extend(closure.included().map(Path::to_owned));
        }
        let is_root = (is_first_of_circle || !included.contains(directory)) && !closure.is_component();
        if is_root && (closure.has_models || !closure.functions.is_empty()) {
            roots.push(candidate);
        }
    }
    Ok(roots)
}

const USE_FUNCTION: &str = "if it patches rendered objects, check what kustomize builds with the function instead";

const MISSING: &str =
    "install kustomize or kubectl, or build the manifests and pass them: kustomize build DIR | kubefoundry lint -";

const ALLOW_UNCONFINED: &str = "use --no-isolation if you trust what it starts, or build the manifests elsewhere";

/// Returns what becomes of a kustomization that is not built.
fn refuse(closure: &Closure, directory: &Path, permissions: Permissions, spent: &mut Spent) -> Option<Outcome> {
    let refusals = closure.refusals.iter().filter(|refusal| !(refusal.is_remote && permissions.remote));
    let refused = refusals.map(|refusal| {
        let message = one_line(&format!("{}, so the kustomization is not built", refusal.reason));
        let finding = Diagnostic::new(&codes::FAILED_BUILD, message);
        let help = if refusal.help.is_empty() { HAND_OVER } else { &refusal.help };
        (Some(refusal.place.clone()), finding.help(help))
    });
    let refused: Vec<_> = refused.collect();
    if !refused.is_empty() {
        return Some(Outcome::Failed(refused));
    }
    let obstacle = closure.obstacles.iter().find_map(|obstacle| match obstacle {
        Obstacle::Remote(entry) if !permissions.remote => Some((
            format!("it reads {entry} from the network"),
            "use --allow-remote if you allow this, or keep a copy in the repository",
        )),
        Obstacle::Plugin(plugin) if !permissions.exec => Some((
            format!("it runs a program: {plugin}"),
            "use --enable-exec if you allow this, or build the manifests and pass them on standard input",
        )),
        Obstacle::Helm if !permissions.helm => Some((
            "it renders Helm charts".to_owned(),
            "use --helm if you allow this, or build the manifests and pass them on standard input",
        )),
        Obstacle::Helm if program::find("helm").is_none() => {
            Some(("helm is not on the PATH".to_owned(), "install helm, or build the manifests elsewhere"))
        }
        _ => None,
    });
    if let Some((reason, help)) = obstacle {
        return Some(Outcome::NotPermitted(unbuilt(directory, closure, &one_line(&reason), help)));
    }
    let reason = spent.spend(closure.expansion).err()?;
    let message = format!("the kustomization {} is too large: {reason}", name_of(directory));
    Some(Outcome::Failed(vec![(None, Diagnostic::new(&codes::FAILED_BUILD, message).help(DIVIDE))]))
}

const HAND_OVER: &str = "write it as the documentation of kustomize does";

const DIVIDE: &str = "check it in a run of its own, or divide it";

/// Creates the finding about a kustomization that is not built.
fn unbuilt(directory: &Path, closure: &Closure, reason: &str, help: &str) -> Diagnostic {
    let patches = match closure.patch_count() {
        0 => "its changes are not applied".to_owned(),
        1 => "its patch is not applied".to_owned(),
        count => format!("its {count} patches are not applied"),
    };
    let message = format!("the kustomization {} is not built, because {reason}; {patches}", name_of(directory));
    Diagnostic::new(&codes::UNBUILT_KUSTOMIZATION, message).help(help)
}

/// Creates the finding about a kustomization that kustomize refuses.
fn failure(directory: &Path, error: &ProgramError) -> Diagnostic {
    let message = one_line(&format!("kustomize cannot build {}: {error}", name_of(directory)));
    Diagnostic::new(&codes::FAILED_BUILD, message).help("run `kustomize build` there")
}
