//! Skeletons as CRDs of a cluster, and the rules that tests add to them.

use std::fs;
use std::path::Path;

use kubefoundry_crd::upstream;
use kubefoundry_crd::upstream::{Skeleton, SkeletonOrigin};
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_yaml as yaml;
use serde_json::{Value, json};

/// Returns the newest skeleton of every kind.
pub(crate) fn newest() -> Vec<Skeleton> {
    let same = |one: &SkeletonOrigin, other: &SkeletonOrigin| (one.group, one.kind) == (other.group, other.kind);
    let origins = upstream::origins();
    let is_newest = |position: usize| {
        let next = origins.get(position + 1);
        next.is_none_or(|next| !same(&origins[position], next))
    };
    upstream::skeletons().enumerate().filter(|(position, _)| is_newest(*position)).map(|(_, it)| it).collect()
}

/// Returns the newest CRD of a kind.
pub(crate) fn crd(group: &str, kind: &str) -> Value {
    upstream::skeleton(group, kind, None).unwrap().to_crd().unwrap()
}

/// Returns sources with these CRDs.
pub(crate) fn dump<'c>(crds: impl IntoIterator<Item = &'c Value>) -> SourceSet {
    let mut sources = SourceSet::default();
    for crd in crds {
        let name = format!("{}.yaml", crd["metadata"]["name"].as_str().unwrap());
        sources.add_for(Purpose::Crds, name, yaml::to_yaml_stream([crd]));
    }
    sources
}

/// Returns sources with the newest CRD of every kind.
pub(crate) fn newest_dump() -> SourceSet {
    let crds: Vec<Value> = newest().iter().map(|skeleton| skeleton.to_crd().unwrap()).collect();
    dump(&crds)
}

/// A rule of an upstream CRD that reads `oldSelf`: its path, and an equivalent rule that we wrote.
pub(crate) struct TransitionRule {
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) version: String,
    /// The steps from the root; `*` is any key of a map or any item of a list.
    pub(crate) at: Vec<String>,
    rule: Value,
}

impl TransitionRule {
    /// Reads all rules from `testdata/upstream/transition-rules.yaml`.
    pub(crate) fn all() -> Vec<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/upstream/transition-rules.yaml");
        let text = fs::read_to_string(path).unwrap();
        let rules = yaml::parse(&text, &yaml::Limits::default()).documents[0].root.to_json();
        let of = |entry: &Value| {
            let text = |field: &str| entry[field].as_str().unwrap().to_owned();
            let (group, kind) = entry["kind"].as_str().unwrap().split_once('/').unwrap();
            let mut rule = json!({"rule": text("rule"), "message": text("message")});
            if let Some(optional) = entry.get("optionalOldSelf") {
                rule["optionalOldSelf"] = optional.clone();
            }
            Self {
                group: group.to_owned(),
                kind: kind.to_owned(),
                version: text("version"),
                at: text("at").split('.').map(str::to_owned).collect(),
                rule,
            }
        };
        rules["rules"].as_array().unwrap().iter().map(of).collect()
    }

    /// Returns whether the rule makes its field immutable.
    pub(crate) fn makes_immutable(&self) -> bool {
        self.rule["rule"] == "self == oldSelf"
    }

    /// Adds the rule to a CRD of its kind.
    pub(crate) fn add_to(&self, crd: &mut Value) {
        let versions = crd["spec"]["versions"].as_array_mut().unwrap();
        let version = versions.iter_mut().find(|version| version["name"] == self.version.as_str()).unwrap();
        let mut schema = &mut version["schema"]["openAPIV3Schema"];
        for step in &self.at {
            let (parent, key) = match step.as_str() {
                "*" if schema["items"].is_object() => (schema, "items"),
                "*" => (schema, "additionalProperties"),
                name => (&mut schema["properties"], name),
            };
            schema = parent.get_mut(key).unwrap_or_else(|| panic!("{}: no {key}", self.at.join(".")));
        }
        let rules = schema.as_object_mut().unwrap().entry("x-kubernetes-validations").or_insert_with(|| json!([]));
        rules.as_array_mut().unwrap().push(self.rule.clone());
    }
}
