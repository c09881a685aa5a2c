//! The provenance of upstream CRDs, from `xtask/facts/upstream.yaml`.

use std::collections::BTreeMap;

use kubefoundry_yaml as yaml;
use serde::Deserialize;

use crate::Failure;
use crate::files::{broken, workspace};

/// The file, relative to the project root.
pub(super) const PATH: &str = "xtask/facts/upstream.yaml";

/// The provenance of one CRD.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    pub(crate) project: String,
    /// The repository of the project.
    pub(crate) home: String,
    /// The repository that the CRD was read from.
    pub(crate) repository: String,
    pub(crate) license: String,
    pub(crate) commit: String,
    pub(crate) date: Option<String>,
    pub(crate) release: Option<String>,
    pub(crate) is_tagged: bool,
    /// The name of the dump in its folder.
    pub(crate) dump: String,
    /// The path in the repository.
    pub(crate) path: String,
    /// The position among the commits of its project: the newest has the highest.
    pub(crate) age: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Project {
    #[serde(rename = "project")]
    name: String,
    repository: String,
    license: String,
    commits: Vec<Commit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Commit {
    #[serde(rename = "commit")]
    id: String,
    repository: Option<String>,
    date: Option<String>,
    release: Option<String>,
    #[serde(default)]
    tagged: bool,
    crds: BTreeMap<String, String>,
}

/// Reads [`PATH`]. Returns a fact for each CRD of each listed commit.
pub(super) fn read() -> Result<Vec<Fact>, Failure> {
    let path = workspace().join(PATH);
    let text = crate::files::read(&path)?;
    let parsed = yaml::parse(&text, &yaml::Limits::default());
    let root = parsed.documents.first().map(|document| document.root.to_json());
    let (Some(root), None) = (root, &parsed.failure) else { return Err(broken(&path, "invalid YAML")) };
    let projects: Vec<Project> = serde_json::from_value(root).map_err(|error| broken(&path, error.to_string()))?;
    Ok(projects.into_iter().flat_map(facts_of_project).collect())
}

fn facts_of_project(project: Project) -> Vec<Fact> {
    let Project { name: project, repository: home, license, commits } = project;
    let mut facts = Vec::new();
    for (age, commit) in commits.into_iter().enumerate() {
        for (dump, path) in commit.crds {
            facts.push(Fact {
                project: project.clone(),
                home: home.clone(),
                repository: commit.repository.clone().unwrap_or_else(|| home.clone()),
                license: license.clone(),
                commit: commit.id.clone(),
                date: commit.date.clone(),
                release: commit.release.clone(),
                is_tagged: commit.tagged,
                dump,
                path,
                age,
            });
        }
    }
    facts
}
