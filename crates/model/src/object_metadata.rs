//! Labels and annotations of the provider's main object (`spec.provider.overrides.metadata`): by them users find their
//! objects, and some controllers read switches in them.

use serde_json::Value;

use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_deployment::wire::{MainObjectMetadata, SharedOverrides};
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::api_group::{AIRUNWAY, API_GROUPS};
use kubefoundry_kubernetes::check::Checker;
use kubefoundry_kubernetes::manifest::{Manifest, is_bookkeeping};
use kubefoundry_kubernetes::wire::{Map, Read as _, Reader};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;

/// The key of the labels and annotations in the overrides, which providers read with their own ones.
const METADATA: &str = "metadata";

/// Keys, or prefixes of keys that end with `/`, by which a tool recognizes the objects that it owns. An object with them
/// that the tool did not create is pruned, or adopted.
const MARKS_OF_TOOLS: &[(&str, &str)] = &[
    ("applyset.kubernetes.io/", "kubectl"),
    ("argocd.argoproj.io/instance", "Argo CD"),
    ("argocd.argoproj.io/installation-id", "Argo CD"),
    ("argocd.argoproj.io/tracking-id", "Argo CD"),
    ("helm.toolkit.fluxcd.io/", "Flux"),
    ("kustomize.toolkit.fluxcd.io/", "Flux"),
    ("meta.helm.sh/", "Helm"),
];

/// Keys, or prefixes of keys, in which a client or a controller stores its own state.
///
/// Sources: `WorkspaceHashAnnotation` in pkg/workspace/controllers/workspace_controller.go and
/// `WorkspaceRevisionAnnotation` in api/v1beta1/labels.go of kaito-project/kaito; deploy/operator/internal/consts/consts.go
/// of ai-dynamo/dynamo.
const STATE_OF_CONTROLLERS: &[(&str, &str)] = &[
    ("kubectl.kubernetes.io/", "kubectl"),
    ("workspace.kaito.io/", "KAITO"),
    ("nvidia.com/current-worker-hash", "Dynamo's operator"),
    ("nvidia.com/dynamo-operator-origin-version", "Dynamo's operator"),
];

/// Labels and annotations for the main object, which are valid.
#[derive(Debug, Default)]
pub(crate) struct ObjectMetadata {
    labels: Vec<(String, String)>,
    annotations: Vec<(String, String)>,
}

impl ObjectMetadata {
    /// Reads and checks the labels and annotations for the main object. What cannot be read is reported by the
    /// provider, together with its other overrides.
    pub(crate) fn read(deployment: &Deployment, findings: &mut Findings<'_>) -> Self {
        let overrides = deployment.provider.overrides.as_ref().filter(|_| deployment.api_group.name != AIRUNWAY);
        let Some(node) = overrides.and_then(|overrides| overrides.get(METADATA)) else { return Self::default() };
        let path = SharedOverrides::path_of_metadata();
        let mut repeated = Findings::new(findings.scope().clone());
        let mut reader = Reader::for_overrides(&mut repeated, deployment.api_group);
        let Some(MainObjectMetadata { labels, annotations }) = MainObjectMetadata::read(node, &path, &mut reader)
        else {
            return Self::default();
        };
        let pairs = |map: Option<Map<String>>| map.map_or_else(Vec::new, |map| map.0);
        let mut metadata = Self { labels: pairs(labels), annotations: pairs(annotations) };
        let mut check = Checker { api_group: Some(deployment.api_group), findings };
        let (labels_path, annotations_path) = (path.clone().labels().into(), path.annotations().into());
        check.check_labels(&labels_path, &metadata.labels);
        check.check_annotations(&annotations_path, &metadata.annotations);
        for (path, pairs) in [(&labels_path, &mut metadata.labels), (&annotations_path, &mut metadata.annotations)] {
            refuse_owned_keys(path, pairs, findings);
        }
        metadata
    }

    /// Adds the labels and annotations to an object, and reports those that it has with another value.
    pub(crate) fn add_to(self, manifest: &mut Manifest, findings: &mut Findings<'_>) {
        if self.labels.is_empty() && self.annotations.is_empty() {
            return;
        }
        let path = SharedOverrides::path_of_metadata();
        let kind = &manifest.kind;
        let targets = [
            (FieldPath::from(path.clone().labels()), self.labels, &mut manifest.metadata.labels),
            (FieldPath::from(path.annotations()), self.annotations, &mut manifest.metadata.annotations),
        ];
        for (path, pairs, target) in targets {
            for (key, value) in pairs {
                let rendered = target.get(&key).and_then(Value::as_str).filter(|rendered| *rendered != value);
                if let Some(rendered) = rendered {
                    let at = path.key(key);
                    let message = format!("{at} is {:?}, but the {kind} has {rendered:?}", shorten(&value));
                    findings.report(&codes::OWNED_OBJECT_METADATA, &at, message).help("remove it");
                } else {
                    target.insert(key, Value::String(value));
                }
            }
        }
    }
}

/// Returns who owns a label or an annotation of a generated object, if it is not the user. The text completes the sentence
/// `it has the key …,`.
pub fn owner_of_key(key: &str) -> Option<String> {
    let find = |table: &[(&'static str, &'static str)]| {
        let is_owned = |mark: &str| if mark.ends_with('/') { key.starts_with(mark) } else { key == mark };
        table.iter().find(|(mark, _)| is_owned(mark)).map(|(_, owner)| *owner)
    };
    if API_GROUPS.iter().any(|api_group| key.starts_with(api_group.label_prefix)) {
        return Some("which only kubefoundry sets on generated objects".to_owned());
    }
    if is_bookkeeping(key) {
        return Some("in which kustomize and kpt store their own state".to_owned());
    }
    let state = find(STATE_OF_CONTROLLERS).map(|owner| format!("in which {owner} stores its own state"));
    state.or_else(|| find(MARKS_OF_TOOLS).map(|tool| format!("by which {tool} recognizes the objects that it manages")))
}

/// Reports and removes the keys that others own.
fn refuse_owned_keys(path: &FieldPath, pairs: &mut Vec<(String, String)>, findings: &mut Findings<'_>) {
    pairs.retain(|(key, _)| {
        let owner = owner_of_key(key);
        if let Some(owner) = &owner {
            let message = format!("{path} has the key {:?}, {owner}", shorten(key));
            findings
                .report(&codes::OWNED_OBJECT_METADATA, FieldRef::key(&path.key(key.clone())), message)
                .help("remove it");
        }
        owner.is_none()
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubefoundry_diagnostics::source::SourceId;
    use kubefoundry_diagnostics::{Diagnostic, DocumentScope};
    use kubefoundry_yaml::{Limits, parse};
    use serde_json::json;

    #[test]
    fn a_rendered_value_stays() {
        let parsed = parse("a: 1", &Limits::default());
        let root = &parsed.documents[0].root;
        let scope = DocumentScope { source: SourceId(0), text: "a: 1", document: 0, root, object: None };
        let mut findings = Findings::new(scope);
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let labels = vec![pair("app", "other"), pair("team", "chat"), pair("tier", "one")];
        let metadata = ObjectMetadata { labels, annotations: vec![pair("app", "other")] };
        let mut manifest =
            Manifest::new("v1", "Kind", "name", json!({})).with_label("app", "m").with_label("tier", "one");
        metadata.add_to(&mut manifest, &mut findings);
        assert_eq!(json!(manifest.metadata.labels), json!({"app": "m", "tier": "one", "team": "chat"}));
        assert_eq!(json!(manifest.metadata.annotations), json!({"app": "other"}));
        let codes: Vec<&str> = findings.iter().map(|finding: &Diagnostic| finding.code.id).collect();
        assert_eq!(codes, ["KF0611"]);
    }

    #[test]
    fn marks_of_tools_have_owners() {
        let owned = ["airunway.ai/x", "config.k8s.io/x", "meta.helm.sh/release-name", "argocd.argoproj.io/tracking-id"];
        assert!(owned.into_iter().all(|key| owner_of_key(key).is_some()));
        let free = ["app.kubernetes.io/name", "argocd.argoproj.io/sync-wave", "kaito.sh/runtime", "team"];
        assert!(free.into_iter().all(|key| owner_of_key(key).is_none()));
    }
}
