//! The files that are generated from the CRDs: skeletons, their index, the table of the library, and NOTICE.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use kubefoundry_yaml as yaml;
use kubefoundry_yaml::append;
use serde_json::{Map, Value, json};

use super::encode::Encoder;
use super::{Crd, entries};
use crate::Failure;
use crate::files::{broken, workspace, write};

/// The folder of the skeletons, relative to the project root.
const FOLDER: &str = "crates/crd/schemas";
/// The maximum size of all files in [`FOLDER`], because the program embeds them.
const MAX_BYTES: usize = 500_000;

/// A stale file.
pub(super) struct Change {
    path: PathBuf,
    /// The new text; `None` if the file is to be removed.
    text: Option<String>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = if self.text.is_some() { "write " } else { "remove" };
        write!(f, "{action} {}", self.path.display())
    }
}

impl Change {
    /// Writes or removes the file.
    pub(super) fn apply(&self) -> Result<(), Failure> {
        let path = workspace().join(&self.path);
        match &self.text {
            Some(text) => write(&path, text),
            None => fs::remove_file(&path).map_err(|error| broken(&path, error)),
        }
    }
}

/// Returns the stale files of the work tree.
pub(super) fn changes(crds: &[Crd]) -> Result<Vec<Change>, Failure> {
    let files = expected_files(crds)?;
    let mut changes = Vec::new();
    for (path, text) in &files {
        if fs::read_to_string(workspace().join(path)).ok().as_ref() != Some(text) {
            changes.push(Change { path: path.clone(), text: Some(text.clone()) });
        }
    }
    for folder in entries(&workspace().join(FOLDER))?.into_iter().filter(|path| path.is_dir()) {
        for file in entries(&folder)? {
            let path = file.strip_prefix(workspace()).unwrap_or(&file).to_owned();
            if !files.contains_key(&path) {
                changes.push(Change { path, text: None });
            }
        }
    }
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(changes)
}

/// Returns the expected text of every file, by its path relative to the project root.
fn expected_files(crds: &[Crd]) -> Result<BTreeMap<PathBuf, String>, Failure> {
    let mut sorted: Vec<&Crd> = crds.iter().collect();
    sorted.sort_by_key(|crd| (&crd.reduced.group, &crd.reduced.kind, crd.fact.age));
    let mut encoder = Encoder::default();
    let mut files = BTreeMap::new();
    for crd in &sorted {
        let head = skeleton_text(crd, &mut encoder).map_err(Failure::Broken)?;
        let path = Path::new(FOLDER).join(skeleton_path(crd));
        if files.insert(path.clone(), head).is_some() {
            return Err(Failure::Broken(format!("two CRDs share the file {}", path.display())));
        }
    }
    files.insert(Path::new(FOLDER).join("subtrees.txt"), encoder.text());
    let bytes: usize = files.values().map(String::len).sum();
    if bytes > MAX_BYTES {
        return Err(Failure::Unmet(format!("the skeletons take {bytes} bytes, expected at most {MAX_BYTES}")));
    }
    files.insert(Path::new(FOLDER).join("index.yaml"), index_text(&sorted));
    files.insert(PathBuf::from("crates/crd/src/upstream/table.rs"), table_text(&sorted));
    files.insert(PathBuf::from("NOTICE"), notice_text(crds));
    Ok(files)
}

/// Returns the path of a skeleton in [`FOLDER`].
fn skeleton_path(crd: &Crd) -> String {
    let commit = crd.fact.commit.get(..8).unwrap_or(&crd.fact.commit);
    format!("{}_{}/{commit}.json", crd.reduced.group, crd.reduced.kind.to_lowercase())
}

/// Returns the text of a skeleton: the CRD with its schemas replaced by references into `subtrees.txt`.
fn skeleton_text(crd: &Crd, encoder: &mut Encoder) -> Result<String, String> {
    let mut spec: Map<String, Value> = crd.reduced.spec.clone();
    for version in spec.get_mut("versions").and_then(Value::as_array_mut).into_iter().flatten() {
        let schema = encoder.encode(version.get("schema").unwrap_or(&Value::Null))?;
        if let Some(version) = version.as_object_mut() {
            version.insert("schema".to_owned(), schema);
        }
    }
    let head = json!({"metadata": crd.reduced.metadata, "spec": spec});
    serde_json::to_string_pretty(&head).map(|text| text + "\n").map_err(|error| error.to_string())
}

/// Returns the text of `index.yaml`.
fn index_text(crds: &[&Crd]) -> String {
    let entries: Vec<Value> = crds
        .iter()
        .map(|crd| {
            let fact = &crd.fact;
            let mut entry = json!({
                "kind": format!("{}/{}", crd.reduced.group, crd.reduced.kind),
                "versions": versions(crd),
                "project": fact.project,
                "releases": releases(crd, crds),
                "date": fact.date,
                "source": {"repository": fact.repository, "commit": fact.commit, "path": fact.path},
                "sha256": crd.sha256,
                "rulesLeftOut": crd.reduced.rules,
                "skeleton": skeleton_path(crd),
            });
            if let Some(fields) = entry.as_object_mut() {
                fields.retain(|_, value| !value.is_null());
            }
            entry
        })
        .collect();
    let mut text = "\
        # Written by `cargo xtask upstream` from xtask/facts/upstream.yaml and dumps of CRDs; do not edit.\n\
        #\n\
        # releases: a skeleton is used for the releases from `from` on and before `before`. If `exact` is true, it is the CRD of\n\
        # `from`; otherwise it is from a commit between two releases. Without `from`, no release is recorded.\n\
        # sha256 is the hash of the upstream file; rulesLeftOut is the number of its CEL rules, which a skeleton omits.\n"
        .to_owned();
    yaml::to_yaml(&json!({ "skeletons": entries }), &mut text);
    text
}

fn versions(crd: &Crd) -> Vec<&Value> {
    let versions = crd.reduced.spec.get("versions").and_then(Value::as_array);
    versions.into_iter().flatten().filter_map(|version| version.get("name")).collect()
}

/// Returns the releases for which a skeleton is used.
fn releases(crd: &Crd, all: &[&Crd]) -> Value {
    let same = |other: &&&Crd| other.reduced.group == crd.reduced.group && other.reduced.kind == crd.reduced.kind;
    let next = all.iter().filter(same).find(|other| other.fact.age > crd.fact.age);
    let Some(from) = &crd.fact.release else { return Value::Null };
    let mut releases = json!({"from": from, "exact": crd.fact.is_tagged});
    if let (Some(fields), Some(before)) = (releases.as_object_mut(), next.and_then(|next| next.fact.release.as_ref())) {
        fields.insert("before".to_owned(), Value::from(before.as_str()));
    }
    releases
}

/// Returns the source of the library's table of skeletons.
fn table_text(crds: &[&Crd]) -> String {
    let mut text = "\
        //! Written by `cargo xtask upstream`; do not edit.\n\n\
        use super::SkeletonOrigin;\n\n\
        /// Every skeleton, by group and kind, oldest first.\n\
        pub(super) static ORIGINS: &[SkeletonOrigin] = &[\n"
        .to_owned();
    for crd in crds {
        let fact = &crd.fact;
        // Writing to a string cannot fail.
        append!(
            text,
            "    SkeletonOrigin {{\n        group: {:?},\n        kind: {:?},\n        project: {:?},\n        repository: {:?},\n        \
             commit: {:?},\n        date: {:?},\n        release: {:?},\n        is_tagged: {},\n        path: {:?},\n        \
             sha256: {:?},\n        rules: {},\n        head: include_str!(\"../../schemas/{}\"),\n    }},\n",
            crd.reduced.group,
            crd.reduced.kind,
            fact.project,
            fact.repository,
            fact.commit,
            fact.date,
            fact.release,
            fact.is_tagged,
            fact.path,
            crd.sha256,
            crd.reduced.rules,
            skeleton_path(crd),
        );
    }
    text + "];\n"
}

/// Returns the text of `NOTICE`.
fn notice_text(crds: &[Crd]) -> String {
    let mut text = "\
        KubeFoundry\n\
        \n\
        The files in crates/crd/schemas are interface facts taken from CustomResourceDefinitions of the projects below:\n\
        the names, types and limits of fields, without descriptions and rules. The index.yaml there names the commit,\n\
        the path and the SHA-256 of each original. Each project is licensed as stated here by its own authors.\n"
        .to_owned();
    let projects: BTreeSet<(&str, &str, &str)> =
        crds.iter().map(|Crd { fact, .. }| (&*fact.project, &*fact.home, &*fact.license)).collect();
    for (project, home, license) in projects {
        let kinds: BTreeSet<String> = crds
            .iter()
            .filter(|crd| crd.fact.project == project)
            .map(|crd| format!("{}/{}", crd.reduced.group, crd.reduced.kind))
            .collect();
        let kinds: Vec<String> = kinds.into_iter().collect();
        append!(
            text,
            "\n{project}\n  https://github.com/{home}\n  License: {license}\n  Kinds: {}\n",
            kinds.join(", ")
        );
    }
    text + "\nThe text of the Apache License, Version 2.0, is in the file LICENSE.\n"
}
