//! Annotations that clients add to items: the origin of an item, and their own bookkeeping.

use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::manifest::Identity;
pub(crate) use kubefoundry_kubernetes::manifest::is_bookkeeping;
use kubefoundry_yaml::{Node, Value};

/// The path of the file of an item. Clients write the current and the legacy annotation; the current one comes first.
pub(crate) const PATH: [&str; 2] = ["internal.config.kubernetes.io/path", "config.kubernetes.io/path"];
/// The index of the document in its file.
pub(crate) const INDEX: [&str; 2] = ["internal.config.kubernetes.io/index", "config.kubernetes.io/index"];
/// Added by kpt: the absolute path of the package that `PATH` is relative to.
pub(crate) const PACKAGE: &str = "internal.config.kubernetes.io/package-path";
/// Marks the configuration of a function.
pub(crate) const FUNCTION: &str = "config.kubernetes.io/function";
/// Objects with this annotation are not part of the output of `kustomize build`.
pub(crate) const LOCAL: &str = "config.kubernetes.io/local-config";
/// Added by kpt to every object that it reads from a file.
pub(crate) const KPT_INDENT: &str = "internal.config.kubernetes.io/seqindent";
/// Added by kpt to every object if selectors limit the input of a function; current and legacy spelling.
const KPT_SELECTED: [&str; 2] =
    ["internal.config.kubernetes.io/kpt-resource-id", "internal.config.k8s.io/kpt-resource-id"];
/// Added only by `kustomize build`.
const KUSTOMIZE_BUILD: &str = "kustomize.config.k8s.io/id";

/// The file that an object comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Origin {
    /// The package of the file; only kpt provides it.
    pub(crate) package: Option<String>,
    /// The path relative to the package.
    pub(crate) path: String,
    /// The index of the document in the file.
    pub(crate) index: usize,
}

impl Origin {
    /// Reads the origin from the annotations of an object.
    pub(crate) fn from_annotations(object: &Node<'_>) -> Option<Self> {
        let first = |keys: [&str; 2]| keys.into_iter().find_map(|key| annotation(object, key));
        let index = first(INDEX).and_then(|index| index.parse().ok()).unwrap_or_default();
        let package = annotation(object, PACKAGE).map(str::to_owned);
        first(PATH).filter(|path| !path.is_empty()).map(|path| Self { package, path: path.to_owned(), index })
    }

    /// Returns the folder of the file with a trailing slash; empty for the root of the package.
    pub(crate) fn folder(&self) -> &str {
        self.path.trim_end_matches(|c| c != '/')
    }
}

/// Returns the value of an annotation.
pub(crate) fn annotation<'n>(object: &'n Node<'_>, key: &str) -> Option<&'n str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

/// Returns the text at a path of keys.
pub(crate) fn text_at<'n>(object: &'n Node<'_>, keys: &[&str]) -> Option<&'n str> {
    keys.iter().try_fold(object, |node, key| node.get(key))?.as_str()
}

/// Returns `apiVersion` and `kind`; a missing one is empty.
pub(crate) fn type_of<'n>(object: &'n Node<'_>) -> (&'n str, &'n str) {
    (text_at(object, &["apiVersion"]).unwrap_or_default(), text_at(object, &["kind"]).unwrap_or_default())
}

/// Whether it is a ModelDeployment of an API group that we know.
pub(crate) fn is_model_deployment(object: &Node<'_>) -> bool {
    let (api_version, kind) = type_of(object);
    kind == kubefoundry_deployment::wire::KIND
        && API_GROUPS.iter().any(|api_group| api_group.api_version() == api_version)
}

/// Whether `kubefoundry` renders objects of this kind.
pub(crate) fn is_source(object: &Node<'_>) -> bool {
    let (api_version, kind) = type_of(object);
    BUILTIN.is_source(api_version, kind)
}

pub(crate) fn identity(object: &Node<'_>) -> Identity {
    let (api_version, kind) = type_of(object);
    let name = text_at(object, &["metadata", "name"]).unwrap_or_default();
    Identity::new(api_version, kind, text_at(object, &["metadata", "namespace"]), name)
}

/// Returns the reference to an object in results.
pub(crate) fn reference(object: &Node<'_>) -> ObjectRef {
    let (api_version, kind) = type_of(object);
    ObjectRef {
        api_version: api_version.into(),
        kind: kind.into(),
        namespace: text_at(object, &["metadata", "namespace"]).map(Into::into),
        name: text_at(object, &["metadata", "name"]).unwrap_or_default().into(),
    }
}

/// Whether an item comes from `kustomize build`, in which items have no files to write back.
pub(crate) fn is_in_kustomize_build(object: &Node<'_>) -> bool {
    annotation(object, KUSTOMIZE_BUILD).is_some()
}

/// Whether selectors of kpt (`selectors`, `exclude`, `--match-…`, `--exclude-…`) limit the input of this function.
pub(crate) fn is_selected(object: &Node<'_>) -> bool {
    KPT_SELECTED.iter().any(|key| annotation(object, key).is_some())
}

/// Counts the lines before a byte offset that contain only bookkeeping annotations. These lines are not in the file of
/// the user, so they must be subtracted from line numbers.
pub(crate) fn count_bookkeeping_lines(object: &Node<'_>, text: &str, before: usize) -> usize {
    let Some(entry) = object.get("metadata").and_then(|metadata| metadata.entry("annotations")) else { return 0 };
    let Value::Mapping(annotations) = &entry.node.value else { return 0 };
    let line_breaks = |from: usize, to: usize| text.get(from..to).map_or(0, |part| part.matches('\n').count());
    if annotations.first().is_none_or(|first| line_breaks(entry.key_span.start, first.key_span.start) == 0) {
        // In flow style, the annotations add no lines.
        return 0;
    }
    // Users write these two annotations themselves.
    let is_added = |key: &str| is_bookkeeping(key) && key != FUNCTION && key != LOCAL;
    let added = annotations.iter().filter(|entry| is_added(&entry.key));
    let lines: usize = added
        .clone()
        .filter(|entry| entry.key_span.start < before)
        .map(|entry| 1 + line_breaks(entry.key_span.start, entry.node.span.end.max(entry.key_span.end)))
        .sum();
    let adds_the_key = added.count() == annotations.len() && entry.key_span.start < before;
    lines + usize::from(adds_the_key)
}
