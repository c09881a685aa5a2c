//! Checks patches that are lists of operations (RFC 6902): `- {op: replace, path: /spec/scaling/replicas, value: 2}`.
//!
//! The `target` in the kustomization determines to which object an operation applies. Each operation is checked as the
//! partial object that it creates: the fields must exist, and the values must have the right type. Values below an item
//! of a list are not checked, because their type is unknown without the list.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{Diagnostic, DocumentScope, Findings, ObjectRef};
use kubefoundry_model::composition::{Composition, kinds_of};
use kubefoundry_transform::AnyTransform;
use kubefoundry_yaml::{MappingEntry, Node, Span, Value};

/// The kind and object to which operations apply.
#[derive(Clone)]
pub(crate) struct PatchTarget {
    transform: &'static dyn AnyTransform,
    kind: &'static str,
    object: Option<ObjectRef>,
}

impl fmt::Debug for PatchTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PatchTarget").field("kind", &self.kind).field("object", &self.object).finish_non_exhaustive()
    }
}

impl PatchTarget {
    /// Returns the target of an entry of `patches`, if it is an input kind: in an API group of a transformation or, if
    /// `has_input_kinds` states that the input has objects of such kinds, without a group.
    pub(crate) fn from_entry(composition: &Composition, entry: &Node<'_>, has_input_kinds: bool) -> Option<Self> {
        let target = entry.get("target")?;
        let word = |key: &str| target.get(key).and_then(Node::as_str);
        let target_kind = word("kind")?;
        let owners = composition.transforms().iter().copied().filter(|transform| transform.owns_groups());
        let mut kinds = owners.flat_map(|transform| kinds_of(transform).map(move |kind| (transform, kind)));
        let (transform, kind) = kinds.find(|(_, kind)| *kind == target_kind)?;
        let group = word("group");
        if !group.map_or(has_input_kinds, |group| transform.has_group(group)) {
            return None;
        }
        let api_version = group.map_or_else(String::new, |group| format!("{group}/{}", transform.version(group)));
        let api_version = Arc::from(api_version);
        let namespace = word("namespace").map(Arc::from);
        let object =
            word("name").map(|name| ObjectRef { api_version, kind: Arc::from(kind), namespace, name: Arc::from(name) });
        Some(Self { transform, kind, object })
    }
}

/// The position of a list of operations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PatchSource<'t> {
    pub(crate) source: SourceId,
    pub(crate) text: &'t str,
    pub(crate) document: usize,
}

/// The maximum number of segments of a path. No field of an input kind is deeper.
const MAX_PATH_SEGMENTS: usize = 32;

/// Checks operations. Kustomize itself reports invalid ones.
pub(crate) fn check(operations: &Node<'_>, target: &PatchTarget, patch: PatchSource<'_>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for operation in operations.items() {
        let value = operation.get("value").filter(|_| word(operation, "op").is_some_and(has_value));
        for (pointer, value) in [("path", value), ("from", None)] {
            if let Some(node) = operation.get(pointer)
                && let Some(path) = node.as_str()
            {
                diagnostics.extend(check_pointer(path, node.span, value, target, patch));
            }
        }
    }
    diagnostics
}

fn word<'n>(node: &'n Node<'_>, key: &str) -> Option<&'n str> {
    node.get(key)?.as_str()
}

fn has_value(operation: &str) -> bool {
    matches!(operation, "add" | "replace" | "test")
}

/// Checks the field that a pointer names, and the value if the operation sets one. `at` is the span of the pointer.
fn check_pointer(
    path: &str,
    at: Span,
    value: Option<&Node<'_>>,
    target: &PatchTarget,
    patch: PatchSource<'_>,
) -> Vec<Diagnostic> {
    let (root, is_exact) = partial_object(path, at, value, patch.text);
    let PatchSource { source, text, document } = patch;
    let scope = DocumentScope { source, text, document, root: &root, object: target.object.clone() };
    let mut findings = Findings::new(scope);
    target.transform.check_patch(target.kind, &root, &mut findings);
    let mut diagnostics = findings.into_diagnostics();
    if !is_exact {
        // The bytes of a segment are escaped, so a fix cannot replace them with a field name.
        let is_in_pointer = |span: Span| at.start <= span.start && span.end <= at.end;
        for diagnostic in &mut diagnostics {
            diagnostic.fix.take_if(|fix| fix.edits.iter().any(|edit| is_in_pointer(edit.range)));
        }
    }
    diagnostics
}

/// Returns the partial object that a pointer (RFC 6901) and a value create, and whether the bytes at the span of each
/// key equal the key.
fn partial_object<'n>(path: &str, at: Span, value: Option<&Node<'n>>, text: &str) -> (Node<'n>, bool) {
    let start = at.of(text).find(path).filter(|_| !path.contains('~')).map(|offset| at.start + offset);
    let mut steps = Vec::new();
    let mut offset = 0;
    for (position, step) in path.split('/').take(MAX_PATH_SEGMENTS).enumerate() {
        // The text before the first `/` is not a segment.
        if position > 0 {
            let span = start.map_or(at, |start| Span { start: start + offset, end: start + offset + step.len() });
            steps.push((step, span));
        }
        offset += step.len() + 1;
    }
    let is_whole = path.split('/').nth(MAX_PATH_SEGMENTS).is_none();
    // The type of a list item is unknown, so the object ends at the list.
    let is_element = |step: &str| step == "-" || (!step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()));
    let known_depth = steps.iter().position(|(step, _)| is_element(step)).unwrap_or(steps.len());
    let null = || Node { value: Value::Null, span: at };
    let mut node = value.filter(|_| known_depth == steps.len() && is_whole).cloned().unwrap_or_else(null);
    for (step, span) in steps.iter().take(known_depth).rev() {
        let key = Cow::Owned(step.replace("~1", "/").replace("~0", "~"));
        node = Node { value: Value::Mapping(vec![MappingEntry { key, key_span: *span, node }]), span: *span };
    }
    (node, start.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubefoundry_composition::BUILTIN;
    use kubefoundry_yaml::{Limits, parse};

    fn check_operations(operations: &str, target: &str) -> Vec<(String, Span)> {
        check_in_input(true, operations, target)
    }

    fn check_in_input(has_input_kinds: bool, operations: &str, target: &str) -> Vec<(String, Span)> {
        let (parsed, target) = (parse(operations, &Limits::default()), parse(target, &Limits::default()));
        let patch = PatchSource { source: SourceId(0), text: operations, document: 0 };
        let Some(target) = PatchTarget::from_entry(&BUILTIN, &target.documents[0].root, has_input_kinds) else {
            return Vec::new();
        };
        let diagnostics = check(&parsed.documents[0].root, &target, patch);
        diagnostics.into_iter().map(|diagnostic| (diagnostic.message, diagnostic.location.unwrap().span)).collect()
    }

    /// A target is an input kind if it names a group of a transformation, or no group in an input with such objects.
    #[test]
    fn operations_on_other_kinds_are_ignored() {
        let operations = "[{op: add, path: /spec/zz, value: 1}]";
        for (target, count) in [
            ("target: {kind: ModelDeployment}", 1),
            ("target: {kind: ModelDeployment, group: kubeairunway.ai}", 1),
            ("target: {kind: ModelDeployment, group: example.com}", 0),
            ("target: {kind: Deployment}", 0),
            ("target: {name: m}", 0),
            ("path: x", 0),
        ] {
            assert_eq!(check_operations(operations, target).len(), count, "{target}");
        }
        assert_eq!(check_in_input(false, operations, "target: {kind: ModelDeployment}"), []);
        assert_eq!(
            check_in_input(false, operations, "target: {kind: ModelDeployment, group: kubefoundry.ai}").len(),
            1
        );
    }

    /// The segments of a path beyond the limit are ignored.
    #[test]
    fn paths_are_bounded() {
        let long = format!("[{{op: add, path: /metadata/labels{}, value: 1}}]", "/a".repeat(100_000));
        let diagnostics = check_operations(&long, "target: {kind: ModelDeployment}");
        assert_eq!(diagnostics.len(), 1, "{diagnostics:?}");
        assert!(
            diagnostics[0].0.starts_with("metadata.labels.a is a mapping, expected a string"),
            "{}",
            diagnostics[0].0
        );
    }

    #[test]
    fn a_segment_is_located_in_its_path() {
        let operations = r#"[{op: add, path: "/spec/zz", value: 1}, {op: remove, path: "/sp\x65c/zz"}]"#;
        let diagnostics = check_operations(operations, "target: {kind: ModelDeployment}");
        let words: Vec<&str> = diagnostics.iter().map(|(_, span)| &operations[span.start..span.end]).collect();
        assert_eq!(words, ["zz", r#""/sp\x65c/zz""#]);
    }
}
