//! Objects as they are in a cluster: what `kubectl get -o yaml` and `-o json` print, lists and their items.

pub mod time;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::codes;
use crate::reading::{self, Documents, report_failure};
use kubefoundry_diagnostics::source::{Purpose, Source, SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, DocumentScope, Findings, Location, ObjectRef, RelatedLocation};
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::wire::metadata;
use kubefoundry_model::wire;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{FieldPart, Limits, Node};

/// A dump of a whole cluster is one document.
const LIMITS: Limits =
    Limits { documents: 250_000, document_bytes: 64 * 1024 * 1024, nodes: 8_000_000, depth: 100, alias_nodes: 50_000 };

/// An object of a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveObject {
    /// What it is.
    pub object: ObjectRef,
    /// The whole of it.
    pub value: Value,
    /// Where it stands.
    pub location: Location,
}

/// What a dump holds, and what is wrong with it.
#[derive(Debug, Clone, Default)]
pub struct ClusterSnapshot {
    /// Each object once, in the order of the dump.
    pub objects: Vec<LiveObject>,
    /// Text that cannot be read, and objects that the dump has in two states.
    pub diagnostics: Vec<Diagnostic>,
}

/// Version, kind, namespace and name: of one object there is one state.
type ObjectKey = (Arc<str>, Arc<str>, Option<Arc<str>>, Arc<str>);

impl ClusterSnapshot {
    /// Reads every text of a purpose. Items of lists are objects on their own, and of a typed list they need not say what
    /// they are. An object that is there twice is kept once; in two states it is an error.
    ///
    /// ```
    /// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    /// use kubefoundry_compiler::cluster_snapshot::ClusterSnapshot;
    /// let mut sources = SourceSet::default();
    /// sources.add_for(Purpose::ClusterSnapshot, "dump.yaml", "
    /// apiVersion: v1
    /// kind: List
    /// items:
    /// - {apiVersion: kaito.sh/v1beta1, kind: Workspace, metadata: {name: phi, namespace: ml}, status: {state: Ready}}
    /// ");
    /// let live = ClusterSnapshot::read(&sources, Purpose::ClusterSnapshot);
    /// assert_eq!(live.objects[0].object.to_string(), "Workspace ml/phi");
    /// assert!(live.diagnostics.is_empty());
    /// ```
    pub fn read(sources: &SourceSet, purpose: Purpose) -> Self {
        let mut reader = SnapshotReader::default();
        for (id, source) in sources.iter().filter(|(_, source)| source.purpose == purpose) {
            let mut documents = Documents::new(source, &LIMITS);
            for document in documents.by_ref() {
                reader.document(id, source, &document);
            }
            reader.live.diagnostics.extend(reading::report(id, &source.text, 0, &documents.into_failures()));
        }
        reader.live
    }
}

#[derive(Default)]
struct SnapshotReader {
    live: ClusterSnapshot,
    seen: BTreeMap<ObjectKey, usize>,
}

impl SnapshotReader {
    fn document(&mut self, id: SourceId, source: &Source, document: &yaml::Document<'_>) {
        let object = Header::of(&document.root).object();
        let object = (!object.kind.is_empty()).then_some(object);
        let (index, root) = (document.index, &document.root);
        let mut findings =
            Findings::new(DocumentScope { source: id, text: &source.text, document: index, root, object });
        document.problems.iter().for_each(|problem| report_failure(problem, &mut findings));
        // What was read up to a limit is a part, and says nothing of what is missing.
        if !document.problems.iter().any(|problem| problem.kind.is_limit()) {
            self.node(root, None, &FieldPath::root(), &mut findings);
        }
        self.live.diagnostics.extend(findings.into_diagnostics());
    }

    /// An object, or the items of the list that it is. `of` says what the items of a typed list are.
    fn node(&mut self, node: &Node<'_>, of: Option<&Header>, path: &FieldPath, findings: &mut Findings<'_>) {
        let mut header = Header::of(node);
        if let Some(of) = of
            && header.kind.is_empty()
        {
            header.api_version.clone_from(&of.api_version);
            header.kind.clone_from(&of.kind);
        }
        if let Some(kind) = header.kind.strip_suffix("List")
            && let Some(items) = node.get("items")
        {
            let of = Header { kind: Arc::from(kind), ..header.clone() };
            let of = (!kind.is_empty()).then_some(&of);
            for (position, item) in items.items().iter().enumerate() {
                self.node(item, of, &path.key("items").index(position), findings);
            }
            return;
        }
        if header.kind.is_empty() || header.api_version.is_empty() {
            let message = "apiVersion and kind are required, expected an object as kubectl get -o yaml prints it";
            findings.report(&codes::REQUIRED_FIELD, path, message);
            return;
        }
        if header.name.is_empty() {
            let message = "metadata.name is required, expected an object as kubectl get -o yaml prints it";
            findings.report(&codes::REQUIRED_FIELD, &path.key("metadata").key("name"), message);
            return;
        }
        self.object(node, &header, findings);
    }

    fn object(&mut self, node: &Node<'_>, header: &Header, findings: &mut Findings<'_>) {
        let scope = findings.scope();
        let path = FieldPath::from(metadata().name());
        let span = node.locate(&path, FieldPart::Value);
        let location = Location::new(scope.source, scope.document, span, path);
        let mut value = node.to_json();
        // Items of a typed list do not say it themselves.
        if let Some(fields) = value.as_object_mut() {
            fields.insert("apiVersion".to_owned(), Value::from(&*header.api_version));
            fields.insert("kind".to_owned(), Value::from(&*header.kind));
        }
        let Header { api_version, kind, namespace, name } = header.clone();
        let object = header.object();
        match self.seen.get(&(api_version.clone(), kind.clone(), namespace.clone(), name.clone())) {
            None => {
                self.seen.insert((api_version, kind, namespace, name), self.live.objects.len());
                self.live.objects.push(LiveObject { object, value, location });
            }
            Some(position) => {
                let Some(first) = self.live.objects.get_mut(*position) else { return };
                if without_managers(&first.value) != without_managers(&value) {
                    let message = format!("{object} is in the cluster snapshot twice, in different states");
                    let mut found = Diagnostic::new(&codes::OBJECT_COLLISION, message);
                    found.location = Some(location);
                    found.object = Some(object);
                    let message = "the other state".to_owned();
                    found.related = vec![RelatedLocation { location: first.location.clone(), message }];
                    findings.add(found);
                } else if first.value.pointer(MANAGERS).is_none() {
                    // Of the same state, the one that says more.
                    first.value = value;
                }
            }
        }
    }
}

const MANAGERS: &str = "/metadata/managedFields";

fn without_managers(value: &Value) -> Value {
    let mut value = value.clone();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("managedFields");
    }
    value
}

impl LiveObject {
    /// The API group.
    pub(crate) fn group(&self) -> &str {
        self.object.api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }

    /// The deployment that its ownership annotation names, `namespace/name`, and in whose words.
    pub(crate) fn owner_annotation(&self) -> Option<(&'static ApiGroup, &str)> {
        let annotations = self.value.pointer("/metadata/annotations")?;
        API_GROUPS
            .iter()
            .find_map(|api_group| Some((api_group, annotations.get(api_group.label("model-deployment"))?.as_str()?)))
    }

    /// The owner that controls it: version, kind, name and uid.
    pub(crate) fn controller(&self) -> Option<ControllerReference<'_>> {
        let owners = self.value.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let owner = owners.into_iter().flatten().find(|owner| owner.get("controller") == Some(&Value::Bool(true)))?;
        let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
        Some(ControllerReference {
            group: text("apiVersion").rsplit_once('/').map_or("", |(group, _)| group),
            kind: text("kind"),
            name: text("name"),
            uid: text("uid"),
        })
    }

    /// Whether it is a ModelDeployment.
    pub(crate) fn is_deployment(&self) -> bool {
        &*self.object.kind == wire::KIND && ApiGroup::find(self.group()).is_some()
    }
}

/// The owner that controls an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ControllerReference<'o> {
    /// Its API group.
    pub(crate) group: &'o str,
    /// Its kind.
    pub(crate) kind: &'o str,
    /// Its name.
    pub(crate) name: &'o str,
    /// Its identity.
    pub(crate) uid: &'o str,
}

impl ControllerReference<'_> {
    /// Whether it is a ModelDeployment.
    pub(crate) fn is_deployment(&self) -> bool {
        self.kind == wire::KIND && ApiGroup::find(self.group).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(texts: &[&str]) -> ClusterSnapshot {
        let mut sources = SourceSet::default();
        for (index, text) in texts.iter().enumerate() {
            sources.add_for(Purpose::ClusterSnapshot, format!("{index}.yaml"), *text);
        }
        ClusterSnapshot::read(&sources, Purpose::ClusterSnapshot)
    }

    fn names(live: &ClusterSnapshot) -> Vec<String> {
        live.objects.iter().map(|object| format!("{} {}", object.object.api_version, object.object)).collect()
    }

    #[test]
    fn lists_are_their_items() {
        let typed =
            "{apiVersion: ray.io/v1, kind: RayServiceList, items: [{metadata: {name: a}}, {metadata: {name: b}}]}";
        let nested = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items: \
                      [{apiVersion: v1, kind: Service, metadata: {name: s, namespace: ml}}]\n";
        let live = live(&[typed, nested, "apiVersion: v1\nitems: []\nkind: List\n"]);
        assert_eq!(names(&live), ["ray.io/v1 RayService a", "ray.io/v1 RayService b", "v1 Service ml/s"]);
        assert!(live.diagnostics.is_empty());
    }

    /// With and without `--show-managed-fields` it is one state; two moments are two.
    #[test]
    fn an_object_has_one_state() {
        let object = |more: &str| format!("{{apiVersion: v1, kind: Service, metadata: {{name: s{more}}}}}");
        let twice = live(&[&object(""), &object(", managedFields: []"), &object("")]);
        assert_eq!(names(&twice), ["v1 Service s"]);
        assert!(twice.objects[0].value.pointer(MANAGERS).is_some() && twice.diagnostics.is_empty());
        let differs = live(&[&object(""), &object(", generation: 2")]);
        let messages: Vec<_> = differs.diagnostics.iter().map(|found| found.message.as_str()).collect();
        assert_eq!(messages, ["Service s is in the cluster snapshot twice, in different states"]);
    }

    /// A dump of a cluster is one document, larger than any that is written by hand.
    #[test]
    fn a_dump_may_be_large() {
        let long = "x".repeat(5 * 1024 * 1024);
        let large =
            live(&[&format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}, data: {{a: {long}}}}}")]);
        assert_eq!((names(&large), large.diagnostics.len()), (vec!["v1 ConfigMap c".to_owned()], 0));
        let deep = "[".repeat(120) + &"]".repeat(120);
        let deep = live(&[&format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}, data: {deep}}}")]);
        assert_eq!((deep.objects.len(), deep.diagnostics[0].code.name), (0, "limit-exceeded"));
    }

    #[test]
    fn what_is_no_object_is_said() {
        let nameless = "apiVersion: kaito.sh/v1beta1\nkind: Workspace\nmetadata: {name: 3}\n";
        let live = live(&["a: 1\n", "No resources found\n", "kind: [\n", nameless]);
        assert!(live.objects.is_empty());
        let codes: Vec<_> = live.diagnostics.iter().map(|found| found.code.name).collect();
        assert_eq!(codes, ["required-field", "required-field", "syntax", "required-field"]);
    }
}
