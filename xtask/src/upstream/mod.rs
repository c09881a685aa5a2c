//! `cargo xtask upstream`: writes, checks, compares and prints the skeletons in `crates/crd/schemas`.
//!
//! `xtask/facts/upstream.yaml` lists the CRDs. A CRD is read from its dump if the folder has it, otherwise from its
//! committed skeleton, so that adding a release needs only the dump of that release. All files are then written from
//! all CRDs, which makes the result independent of the dumps at hand.

mod compare;
mod encode;
mod facts;
mod files;
mod reduced_crd;

use std::fs;
use std::path::{Path, PathBuf};

use kubefoundry_crd::upstream;
use kubefoundry_yaml as yaml;
use serde_json::Value;

use crate::Failure;
use crate::files::{broken, read};
use facts::Fact;
use reduced_crd::ReducedCrd;

/// An upstream CRD with its provenance.
pub(crate) struct Crd {
    pub(crate) fact: Fact,
    /// The SHA-256 of the upstream file.
    pub(crate) sha256: String,
    /// Whether the dump was read; otherwise the CRD comes from its embedded skeleton.
    pub(crate) is_read: bool,
    pub(crate) reduced: ReducedCrd,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The folder with dumps of CRDs; a skeleton whose dump is not there stays unchanged
    #[arg(long, value_name = "FOLDER")]
    crds: Option<PathBuf>,
    /// Write nothing, fail when a committed file is stale
    #[arg(long)]
    check: bool,
    /// Check 1,000 mutated objects against the dumps and their skeletons; fail when the results differ
    #[arg(long, requires = "crds", conflicts_with = "check")]
    compare: bool,
    /// Print a skeleton as a CustomResourceDefinition
    #[arg(long, value_name = "GROUP/KIND", conflicts_with_all = ["crds", "check"])]
    print: Option<String>,
    /// The release whose skeleton is printed
    #[arg(long, requires = "print")]
    release: Option<String>,
    /// Write every skeleton as a CustomResourceDefinition
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["crds", "check", "print"])]
    export: Option<PathBuf>,
}

/// Runs the task with its options.
pub(crate) fn run(options: &Options) -> Result<String, Failure> {
    let crds = options.crds.as_deref();
    match (&options.print, &options.export, crds) {
        (Some(name), ..) => print(name, options.release.as_deref()),
        (_, Some(folder), _) => export(folder),
        (_, _, Some(folder)) if options.compare => compare::run(folder),
        _ if options.check => check(crds),
        _ => write(crds),
    }
}

/// Writes every stale file and removes skeletons whose CRD is no longer listed.
fn write(folder: Option<&Path>) -> Result<String, Failure> {
    let crds = read_crds(folder)?;
    let changes = files::changes(&crds)?;
    changes.iter().try_for_each(files::Change::apply)?;
    let report: Vec<String> = changes.iter().map(|change| format!("{change}\n")).collect();
    Ok(report.concat() + &summary(&crds, folder)?)
}

/// Fails if [`write`] would change a file.
fn check(folder: Option<&Path>) -> Result<String, Failure> {
    let crds = read_crds(folder)?;
    let stale: Vec<String> = files::changes(&crds)?.iter().map(ToString::to_string).collect();
    if stale.is_empty() {
        return summary(&crds, folder);
    }
    Err(Failure::Unmet(format!("stale, run `cargo xtask upstream --crds FOLDER`:\n{}", stale.join("\n"))))
}

/// Counts the skeletons and names the dumps that are not listed. The folder serves more than this product, so such a dump
/// is not a mistake, but a release that was put there and not listed should be seen.
fn summary(crds: &[Crd], folder: Option<&Path>) -> Result<String, Failure> {
    let from_dumps = crds.iter().filter(|crd| crd.is_read).count();
    let names = folder.map(dump_names).transpose()?.unwrap_or_default();
    let unlisted = names.iter().filter(|name| !crds.iter().any(|crd| crd.fact.dump == **name));
    let notes: Vec<String> = unlisted
        .map(|name| format!("note: {name} has no skeleton, because {} does not list it\n", facts::PATH))
        .collect();
    Ok(format!("{} skeletons, {from_dumps} of them read from dumps\n{}", crds.len(), notes.concat()))
}

/// Reads every listed CRD: from its dump if the folder has it, otherwise from its embedded skeleton.
fn read_crds(folder: Option<&Path>) -> Result<Vec<Crd>, Failure> {
    let facts = facts::read()?;
    facts.into_iter().map(|fact| read_crd(fact, folder)).collect()
}

fn read_crd(fact: Fact, folder: Option<&Path>) -> Result<Crd, Failure> {
    let path = folder.map(|folder| folder.join(&fact.dump)).filter(|path| path.exists());
    if let Some(path) = path {
        let text = read(&path)?;
        let reduced = ReducedCrd::from_dump(&parse_definition(&text, &path)?).map_err(|what| broken(&path, &what))?;
        return Ok(Crd {
            fact,
            sha256: kubefoundry_yaml::fingerprint::sha256(text.as_bytes()),
            is_read: true,
            reduced,
        });
    }
    let known = upstream::origins().iter().find(|origin| origin.commit == fact.commit && origin.path == fact.path);
    let Some(origin) = known else {
        return Err(Failure::Unmet(format!(
            "{} is listed in {}, but has neither a dump in the folder nor a skeleton",
            fact.dump,
            facts::PATH
        )));
    };
    let skeleton = upstream::skeletons().find(|skeleton| std::ptr::eq(skeleton.origin(), origin));
    let skeleton = skeleton.ok_or_else(|| Failure::Broken(format!("{origin} has no skeleton")))?;
    let crd = skeleton.to_crd().map_err(|error| Failure::Broken(error.to_string()))?;
    let reduced = ReducedCrd::from_skeleton(&crd, origin.rules).map_err(Failure::Broken)?;
    Ok(Crd { fact, sha256: origin.sha256.to_owned(), is_read: false, reduced })
}

/// Prints the skeleton of a kind, given as `group/Kind`, as a CRD that can be installed.
fn print(name: &str, release: Option<&str>) -> Result<String, Failure> {
    let (group, kind) = name.split_once('/').unwrap_or((name, ""));
    let Some(skeleton) = upstream::skeleton(group, kind, release) else {
        let known: Vec<String> = upstream::origins().iter().map(|it| format!("{}/{}", it.group, it.kind)).collect();
        return Err(Failure::Unmet(format!("there is no skeleton of {name}, expected one of {}", known.join(", "))));
    };
    skeleton.to_yaml().map_err(|error| Failure::Broken(error.to_string()))
}

/// Writes every skeleton as a CRD, each under the name of its dump.
pub(crate) fn export(folder: &Path) -> Result<String, Failure> {
    let facts = facts::read()?;
    for fact in &facts {
        let is_it = |skeleton: &upstream::Skeleton| {
            skeleton.origin().commit == fact.commit && skeleton.origin().path == fact.path
        };
        let skeleton = upstream::skeletons().find(is_it);
        let skeleton = skeleton.ok_or_else(|| Failure::Unmet(format!("{} has no skeleton", fact.dump)))?;
        let text = skeleton.to_yaml().map_err(|error| Failure::Broken(error.to_string()))?;
        crate::files::write(&folder.join(&fact.dump), &text)?;
    }
    Ok(format!("wrote {} CRDs to {}\n", facts.len(), folder.display()))
}

/// Returns the names of the YAML files in a folder and its direct subfolders: `a.yaml`, `older/b.yaml`.
fn dump_names(folder: &Path) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for path in entries(folder)? {
        let inside = if path.is_dir() { entries(&path)? } else { vec![path] };
        let yaml = inside.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
        names.extend(yaml.filter_map(|path| path.strip_prefix(folder).ok().map(|name| name.display().to_string())));
    }
    names.sort();
    Ok(names)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| broken(folder, error);
    let entries = fs::read_dir(folder).map_err(failed)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(failed)).collect()
}

/// Parses a file that contains exactly one CustomResourceDefinition.
fn parse_definition(text: &str, path: &Path) -> Result<Value, Failure> {
    let limits = yaml::Limits { document_bytes: 64 << 20, nodes: 4_000_000, depth: 100, ..yaml::Limits::default() };
    let parsed = yaml::parse(text, &limits);
    if let Some(failure) = &parsed.failure {
        return Err(broken(path, failure.sentence()));
    }
    let mut crds: Vec<Value> = parsed.documents.iter().map(|document| document.root.to_json()).collect();
    crds.retain(|crd| crd.get("kind").is_some_and(|kind| kind == "CustomResourceDefinition"));
    match crds.pop() {
        Some(crd) if crds.is_empty() => Ok(crd),
        _ => Err(broken(path, "expected one CustomResourceDefinition")),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_dump_that_is_not_listed_is_noted_and_fails_nothing() {
        let folder = std::env::temp_dir().join(format!("kubefoundry-dumps-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("older")).expect("a folder for temporary files exists");
        for name in ["example.com_widgets.yaml", "older/example.com_gadgets.2025-01-01.yaml", "SOURCES.txt"] {
            std::fs::write(folder.join(name), "no CRD that this product reads").expect("the folder was just made");
        }
        let summary = check(Some(&folder));
        std::fs::remove_dir_all(&folder).expect("the folder was just made");
        let summary = summary.expect("the skeletons are up to date");
        let notes: Vec<&str> = summary.lines().filter(|line| line.starts_with("note: ")).collect();
        assert_eq!(notes.len(), 2, "{summary}");
        assert!(notes.iter().any(|note| note.contains(" older/example.com_gadgets.2025-01-01.yaml ")), "{summary}");
    }
}
