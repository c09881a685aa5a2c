//! A cluster snapshot: live objects from the output of `kubectl get -o yaml` or `-o json`, with lists split into their
//! items.

pub(crate) mod nodes;
pub mod time;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::codes;
use crate::reading::{self, Documents, report_failure};
use kubefoundry_deployment::wire;
use kubefoundry_diagnostics::source::{Purpose, Source, SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, DocumentScope, Findings, Location, ObjectRef, RelatedLocation};
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_kubernetes::header::{Header, group_of};
use kubefoundry_kubernetes::wire::metadata;
use kubefoundry_model::composition::Composition;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{FieldPart, Limits, Node};

/// Limits for a dump. They exceed those of the input because a dump of a whole cluster is one document.
const LIMITS: Limits =
    Limits { documents: 250_000, document_bytes: 64 * 1024 * 1024, nodes: 8_000_000, depth: 100, alias_nodes: 50_000 };

/// An object as it is in a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveObject {
    /// The object's API version, kind, namespace and name.
    pub object: ObjectRef,
    /// The complete object as JSON, with `apiVersion` and `kind` even for items of a typed list.
    pub value: Value,
    /// The place of its name in the dump.
    pub location: Location,
}

/// The objects of a dump, and the findings in it.
#[derive(Debug, Clone, Default)]
pub struct ClusterSnapshot {
    /// Each object once, in the order of the dump.
    pub objects: Vec<LiveObject>,
    /// Unreadable text, and objects that the dump contains in two different states.
    pub diagnostics: Vec<Diagnostic>,
}

/// Version, kind, namespace and name. Each identifies one state.
type ObjectKey = (Arc<str>, Arc<str>, Option<Arc<str>>, Arc<str>);

impl ClusterSnapshot {
    /// Reads every text of a purpose. List items become objects of their own; items of a typed list inherit their type
    /// from the list. Repeated objects are kept once, and two different states of one object are an error.
    ///
    /// ```
    /// use kubefoundry_composition::BUILTIN;
    /// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    /// use kubefoundry_compiler::cluster_snapshot::ClusterSnapshot;
    /// let mut sources = SourceSet::default();
    /// sources.add_for(Purpose::ClusterSnapshot, "dump.yaml", "
    /// apiVersion: v1
    /// kind: List
    /// items:
    /// - {apiVersion: kaito.sh/v1beta1, kind: Workspace, metadata: {name: phi, namespace: ml}, status: {state: Ready}}
    /// ");
    /// let snapshot = ClusterSnapshot::read(&BUILTIN, &sources, Purpose::ClusterSnapshot);
    /// assert_eq!(snapshot.objects[0].object.to_string(), "Workspace ml/phi");
    /// assert!(snapshot.diagnostics.is_empty());
    /// ```
    pub fn read(composition: &'static Composition, sources: &SourceSet, purpose: Purpose) -> Self {
        let mut reader = SnapshotReader { composition, snapshot: Self::default(), seen: BTreeMap::new() };
        for (id, source) in sources.iter().filter(|(_, source)| source.purpose == purpose) {
            let mut documents = Documents::new(composition, source, &LIMITS);
            for document in documents.by_ref() {
                reader.read_document(id, source, &document);
            }
            reader.snapshot.diagnostics.extend(reading::failure_diagnostics(
                id,
                &source.text,
                0,
                &documents.into_failures(),
            ));
        }
        reader.snapshot
    }
}

struct SnapshotReader {
    composition: &'static Composition,
    snapshot: ClusterSnapshot,
    seen: BTreeMap<ObjectKey, usize>,
}

impl SnapshotReader {
    fn read_document(&mut self, id: SourceId, source: &Source, document: &yaml::Document<'_>) {
        let object = Header::from_node(&document.root).object();
        let object = (!object.kind.is_empty()).then_some(object);
        let (index, root) = (document.index, &document.root);
        let mut findings =
            Findings::new(DocumentScope { source: id, text: &source.text, document: index, root, object });
        document.problems.iter().for_each(|problem| report_failure(problem, &mut findings));
        // A document cut off at a limit is incomplete: its objects cannot be compared.
        if !document.problems.iter().any(|problem| problem.kind.is_limit()) {
            self.read_node(root, None, &FieldPath::root(), &mut findings);
        }
        self.snapshot.diagnostics.extend(findings.into_diagnostics());
    }

    /// Adds an object, or the items of a list. `item_type` is the type that a typed list implies for its items.
    fn read_node(
        &mut self,
        node: &Node<'_>,
        item_type: Option<&Header>,
        path: &FieldPath,
        findings: &mut Findings<'_>,
    ) {
        let mut header = Header::from_node(node);
        if let Some(item_type) = item_type
            && header.kind.is_empty()
        {
            header.api_version.clone_from(&item_type.api_version);
            header.kind.clone_from(&item_type.kind);
        }
        if let Some(kind) = header.kind.strip_suffix("List")
            && let Some(items) = node.get("items")
        {
            let item_type = Header { kind: Arc::from(kind), ..header.clone() };
            let item_type = (!kind.is_empty()).then_some(&item_type);
            for (position, item) in items.items().iter().enumerate() {
                self.read_node(item, item_type, &path.key("items").index(position), findings);
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
        self.composition.report_left_out(&header, path, findings);
        self.add_object(node, &header, findings);
    }

    /// Adds an object, unless the snapshot contains it already. Two different states of one object are reported.
    fn add_object(&mut self, node: &Node<'_>, header: &Header, findings: &mut Findings<'_>) {
        let scope = findings.scope();
        let path = FieldPath::from(metadata().name());
        let span = node.locate(&path, FieldPart::Value);
        let location = Location::new(scope.source, scope.document, span, path);
        let mut value = node.to_json();
        // Items of a typed list carry no type of their own.
        if let Some(fields) = value.as_object_mut() {
            fields.insert("apiVersion".to_owned(), Value::from(&*header.api_version));
            fields.insert("kind".to_owned(), Value::from(&*header.kind));
        }
        let Header { api_version, kind, namespace, name } = header.clone();
        let object = header.object();
        match self.seen.get(&(api_version.clone(), kind.clone(), namespace.clone(), name.clone())) {
            None => {
                self.seen.insert((api_version, kind, namespace, name), self.snapshot.objects.len());
                self.snapshot.objects.push(LiveObject { object, value, location });
            }
            Some(position) => {
                let Some(first) = self.snapshot.objects.get_mut(*position) else { return };
                if without_managers(&first.value) != without_managers(&value) {
                    let message = format!("{object} is in the cluster snapshot twice, in different states");
                    let mut collision = Diagnostic::new(&codes::OBJECT_COLLISION, message);
                    collision.location = Some(location);
                    collision.object = Some(object);
                    let message = "the other state".to_owned();
                    collision.related = vec![RelatedLocation { location: first.location.clone(), message }];
                    findings.add(collision);
                } else if first.value.pointer(MANAGERS).is_none() {
                    // Both are the same state: keep the one with managed fields.
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
    /// Returns the object's API group; empty for the core group.
    pub fn group(&self) -> &str {
        group_of(&self.object.api_version)
    }

    /// Returns the deployment `namespace/name` that the ownership annotation names, and the API group of that
    /// annotation.
    pub fn owner_annotation(&self) -> Option<(&'static ApiGroup, &str)> {
        let annotations = self.value.pointer("/metadata/annotations")?;
        API_GROUPS
            .iter()
            .find_map(|api_group| Some((api_group, annotations.get(api_group.label("model-deployment"))?.as_str()?)))
    }

    /// Returns the owner reference with `controller: true`.
    pub fn controller(&self) -> Option<ControllerReference<'_>> {
        let owners = self.value.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let owner = owners.into_iter().flatten().find(|owner| owner.get("controller") == Some(&Value::Bool(true)))?;
        let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
        Some(ControllerReference {
            group: group_of(text("apiVersion")),
            kind: text("kind"),
            name: text("name"),
            uid: text("uid"),
        })
    }

    /// Returns whether this is a ModelDeployment in one of the known API groups.
    pub fn is_deployment(&self) -> bool {
        &*self.object.kind == wire::KIND && ApiGroup::find(self.group()).is_some()
    }
}

/// The owner reference of the controller of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControllerReference<'o> {
    /// The API group.
    pub group: &'o str,
    /// The kind.
    pub kind: &'o str,
    /// The name.
    pub name: &'o str,
    /// The owner's uid: it tells a recreated owner from its predecessor.
    pub uid: &'o str,
}

impl ControllerReference<'_> {
    /// Returns whether this is a ModelDeployment in one of the known API groups.
    pub fn is_deployment(&self) -> bool {
        self.kind == wire::KIND && ApiGroup::find(self.group).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubefoundry_composition::BUILTIN;

    fn read(texts: &[&str]) -> ClusterSnapshot {
        let mut sources = SourceSet::default();
        for (index, text) in texts.iter().enumerate() {
            sources.add_for(Purpose::ClusterSnapshot, format!("{index}.yaml"), *text);
        }
        ClusterSnapshot::read(&BUILTIN, &sources, Purpose::ClusterSnapshot)
    }

    fn names(snapshot: &ClusterSnapshot) -> Vec<String> {
        snapshot.objects.iter().map(|object| format!("{} {}", object.object.api_version, object.object)).collect()
    }

    #[test]
    fn splits_lists_into_their_items() {
        let typed =
            "{apiVersion: ray.io/v1, kind: RayServiceList, items: [{metadata: {name: a}}, {metadata: {name: b}}]}";
        let nested = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items: \
                      [{apiVersion: v1, kind: Service, metadata: {name: s, namespace: ml}}]\n";
        let snapshot = read(&[typed, nested, "apiVersion: v1\nitems: []\nkind: List\n"]);
        assert_eq!(names(&snapshot), ["ray.io/v1 RayService a", "ray.io/v1 RayService b", "v1 Service ml/s"]);
        assert!(snapshot.diagnostics.is_empty());
    }

    /// A dump with and one without `--show-managed-fields` show the same state; dumps of two moments do not.
    #[test]
    fn reports_an_object_in_two_states() {
        let object = |more: &str| format!("{{apiVersion: v1, kind: Service, metadata: {{name: s{more}}}}}");
        let twice = read(&[&object(""), &object(", managedFields: []"), &object("")]);
        assert_eq!(names(&twice), ["v1 Service s"]);
        assert!(twice.objects[0].value.pointer(MANAGERS).is_some() && twice.diagnostics.is_empty());
        let differs = read(&[&object(""), &object(", generation: 2")]);
        let messages: Vec<_> = differs.diagnostics.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(messages, ["Service s is in the cluster snapshot twice, in different states"]);
    }

    /// A dump of a cluster is one document, larger than any document written by hand.
    #[test]
    fn reads_a_large_dump_up_to_its_limits() {
        let long = "x".repeat(5 * 1024 * 1024);
        let large =
            read(&[&format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}, data: {{a: {long}}}}}")]);
        assert_eq!((names(&large), large.diagnostics.len()), (vec!["v1 ConfigMap c".to_owned()], 0));
        let deep = "[".repeat(120) + &"]".repeat(120);
        let deep = read(&[&format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}, data: {deep}}}")]);
        assert_eq!((deep.objects.len(), deep.diagnostics[0].code.name), (0, "limit-exceeded"));
    }

    #[test]
    fn reports_documents_that_are_no_objects() {
        let nameless = "apiVersion: kaito.sh/v1beta1\nkind: Workspace\nmetadata: {name: 3}\n";
        let snapshot = read(&["a: 1\n", "No resources found\n", "kind: [\n", nameless]);
        assert!(snapshot.objects.is_empty());
        let codes: Vec<_> = snapshot.diagnostics.iter().map(|finding| finding.code.name).collect();
        assert_eq!(codes, ["required-field", "required-field", "syntax", "required-field"]);
    }
}
