//! What a dump of CRDs has to say: which version of a provider's CRDs is written, and whether the objects fit them.

use serde_json::Value;

use crate::codes;
use crate::composition::crd_kinds_of;
use crate::options::Options;
use kubefoundry_crd::{Crds, Schema, Violation};
use kubefoundry_diagnostics::{Findings, Place};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_model::provider::{Provider, SchemaQuery};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

/// What to do about a field that the cluster does not know.
const WAYS_OUT: &str =
    "install a CRD that has the field, write another version of it (--target), or leave out what needs the field";

/// A dump of CRDs as translations ask it.
#[derive(Debug)]
pub(super) struct Schemas<'c>(pub(super) &'c Crds<'c>);

impl SchemaQuery for Schemas<'_> {
    fn has_field(&self, api_version: &str, kind: &str, path: &str) -> Option<bool> {
        self.0.has_field(api_version, kind, path)
    }
}

/// The CRD version to write: as the options say, or the first of the provider's that the dump serves. `None` means that
/// findings say why there is none.
pub(super) fn target(
    provider: &'static dyn Provider,
    options: &Options,
    crds: Option<&Crds<'_>>,
    findings: &mut Findings<'_>,
) -> Option<String> {
    let (wanted, kinds) = (options.target(provider), crd_kinds_of(provider));
    let Some(crds) = crds else {
        // With a dump that cannot be used nothing comes out; the default finds what else is wrong.
        return wanted.or_else(|| provider.targets().first().copied()).map(str::to_owned);
    };
    let served = match wanted {
        Some(target) => Some(target).filter(|target| crds.serves(&kinds, target)),
        None => provider.targets().iter().copied().find(|target| crds.serves(&kinds, target)),
    };
    if served.is_none() {
        let expected = wanted.map_or_else(|| provider.targets().join(" or "), str::to_owned);
        not_installed(provider, &expected, "", crds, findings);
    }
    served.map(str::to_owned)
}

/// Checks the objects of a deployment, the main one last, and returns the fingerprint of its schema.
pub(super) fn check(
    manifests: &[Manifest],
    provider: &'static dyn Provider,
    crds: &Crds<'_>,
    findings: &mut Findings<'_>,
) -> Option<String> {
    let mut fingerprint = None;
    // Objects of the core group are not defined by CRDs.
    for manifest in manifests.iter().filter(|manifest| manifest.api_version.contains('/')) {
        match crds.schema(&manifest.api_version, &manifest.kind) {
            Ok(schema) => {
                fingerprint = Some(schema.fingerprint.clone());
                let name = format!("{} {}", manifest.kind, manifest.metadata.name);
                for violation in schema.check(&manifest.clone().into_json()) {
                    report(&violation, &name, schema, findings);
                }
            }
            Err(Some(problem)) => findings.add(problem.diagnostic()),
            Err(None) => not_installed(provider, &manifest.api_version, &manifest.kind, crds, findings),
        }
    }
    fingerprint
}

/// Checks new objects whose kinds are no provider's: all but those that come with Kubernetes.
pub(super) fn check_objects(objects: &[Value], crds: &Crds<'_>, findings: &mut Findings<'_>) {
    for object in objects {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        if is_built_in(api_version) {
            continue;
        }
        match crds.schema(api_version, kind) {
            Ok(schema) => {
                let name = format!("{kind} {}", text("/metadata/name"));
                for violation in schema.check(object) {
                    report(&violation, &name, schema, findings);
                }
            }
            Err(Some(problem)) => findings.add(problem.diagnostic()),
            Err(None) => {
                let message = format!("CRD of {kind} ({api_version}) is not installed in the cluster");
                findings
                    .report(&codes::CRD_NOT_INSTALLED, "metadata.name", message)
                    .help("install what brings it, or leave out what needs it");
            }
        }
    }
}

/// Checks what a change brings to an object that was there, when the dump has its kind. What was wrong before is not said:
/// the object is somebody else's.
pub(super) fn check_change(old: &Value, new: &Value, crds: &Crds<'_>, findings: &mut Findings<'_>) {
    let text = |pointer: &str| new.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("/apiVersion"), text("/kind"));
    if is_built_in(api_version) {
        return;
    }
    match crds.schema(api_version, kind) {
        Ok(schema) => {
            let name = format!("{kind} {}", text("/metadata/name"));
            let before = schema.check(old);
            for violation in schema.check(new).iter().filter(|violation| !before.contains(violation)) {
                report(violation, &name, schema, findings);
            }
        }
        Err(Some(problem)) => findings.add(problem.diagnostic()),
        Err(None) => {}
    }
}

/// Whether a kind comes with Kubernetes: its group is the core, a bare word, or below `k8s.io`.
fn is_built_in(api_version: &str) -> bool {
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    !group.contains('.') || group.ends_with(".k8s.io")
}

fn not_installed(
    provider: &'static dyn Provider,
    version: &str,
    kind: &str,
    crds: &Crds<'_>,
    findings: &mut Findings<'_>,
) {
    let place = if findings.scope().root.at(&FieldPath::parse("spec.provider.name")).is_some() {
        FieldPath::parse("spec.provider.name")
    } else {
        FieldPath::parse("spec")
    };
    let kinds = crd_kinds_of(provider);
    if let Some(problem) = crds.problem_of(&kinds) {
        findings.add(problem.diagnostic());
        return;
    }
    let message = format!("Provider '{}' CRD not installed in cluster", provider.name());
    let served = crds.served_by(&kinds);
    let has = if served.is_empty() { "none of its kinds".to_owned() } else { served.join(", ") };
    let wanted = [version, kind].join(" ");
    findings
        .report(&codes::CRD_NOT_INSTALLED, &place, message)
        .help(format!("installed: {has}; expected {}", wanted.trim_end()));
}

fn report(violation: &Violation, name: &str, schema: &Schema, findings: &mut Findings<'_>) {
    let Violation { code, help, value, .. } = violation;
    let message = violation.sentence(name, schema);
    if *code == &codes::CRD_RULE_NOT_EVALUATED {
        // It says nothing about the deployment: the place is the CRD's, and the same for all.
        let mut diagnostic = schema.diagnostic(code, message);
        diagnostic.help = Some("the apiserver evaluates it when the object is applied".to_owned());
        findings.add(diagnostic);
        return;
    }
    let reported = findings.report(code, origin(findings.scope().root, value.as_deref()), message);
    // What comes close to one of our own fields is not what anybody meant.
    let help = if *code == &codes::FIELD_NOT_IN_SCHEMA { Some(WAYS_OUT) } else { help.as_deref() };
    if let Some(help) = help {
        reported.help(help);
    }
}

/// The field of the input whose text came out: where there is just one that holds it, or the deployment.
fn origin(root: &Node<'_>, value: Option<&str>) -> Place {
    let mut found = Vec::new();
    if let (Some(value), Some(spec)) = (value, root.get("spec")) {
        holders(spec, value, &FieldPath::parse("spec"), &mut found);
    }
    match found.as_slice() {
        [path] => Place::value(path),
        _ => Place::value(&FieldPath::parse("metadata.name")),
    }
}

fn holders(node: &Node<'_>, text: &str, path: &FieldPath, found: &mut Vec<FieldPath>) {
    match &node.value {
        yaml::Value::String(here) if here == text => found.push(path.clone()),
        yaml::Value::Mapping(entries) => {
            for entry in entries {
                holders(&entry.node, text, &path.key(entry.key.clone().into_owned()), found);
            }
        }
        yaml::Value::Sequence(items) => {
            for (position, item) in items.iter().enumerate() {
                holders(item, text, &path.index(position), found);
            }
        }
        _ => {}
    }
}
