//! What clients write on an item: where it comes from, and notes of their own.

use kubefoundry_compiler::composition;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::manifest::Identity;
pub(crate) use kubefoundry_kubernetes::manifest::is_bookkeeping;
use kubefoundry_yaml::{Node, Value};

/// Where the file of an item is named, the present key first; clients write both.
pub(crate) const PATH: [&str; 2] = ["internal.config.kubernetes.io/path", "config.kubernetes.io/path"];
/// Which document of its file it is.
pub(crate) const INDEX: [&str; 2] = ["internal.config.kubernetes.io/index", "config.kubernetes.io/index"];
/// kpt: the package that a path is relative to, as an absolute path.
pub(crate) const PACKAGE: &str = "internal.config.kubernetes.io/package-path";
/// On the configuration of a function.
pub(crate) const FUNCTION: &str = "config.kubernetes.io/function";
/// What carries it is no part of the output of `kustomize build`.
pub(crate) const LOCAL: &str = "config.kubernetes.io/local-config";
/// Written by kpt on everything that it read from a file.
pub(crate) const KPT_INDENT: &str = "internal.config.kubernetes.io/seqindent";
/// Written by kpt on every object where selectors show a function a part of them; newer and older spelling.
const KPT_SELECTED: [&str; 2] =
    ["internal.config.kubernetes.io/kpt-resource-id", "internal.config.k8s.io/kpt-resource-id"];
/// Written by `kustomize build`, and by no other command.
const KUSTOMIZE_BUILD: &str = "kustomize.config.k8s.io/id";

/// The file that an object comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Origin {
    /// Its package, where the client says so.
    pub(crate) package: Option<String>,
    /// Relative to the package.
    pub(crate) path: String,
    /// Which document of the file.
    pub(crate) index: usize,
}

impl Origin {
    /// The origin that an object is annotated with.
    pub(crate) fn of(object: &Node<'_>) -> Option<Self> {
        let first = |keys: [&str; 2]| keys.into_iter().find_map(|key| annotation(object, key));
        let index = first(INDEX).and_then(|index| index.parse().ok()).unwrap_or_default();
        let package = annotation(object, PACKAGE).map(str::to_owned);
        first(PATH).filter(|path| !path.is_empty()).map(|path| Self { package, path: path.to_owned(), index })
    }

    /// The folder of the file, with a slash at its end; empty at the top.
    pub(crate) fn folder(&self) -> &str {
        self.path.rfind('/').and_then(|at| self.path.get(..=at)).unwrap_or_default()
    }
}

/// An annotation of an object.
pub(crate) fn annotation<'n>(object: &'n Node<'_>, key: &str) -> Option<&'n str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

/// A text field of an object, or of its metadata.
pub(crate) fn word<'n>(object: &'n Node<'_>, keys: &[&str]) -> Option<&'n str> {
    keys.iter().try_fold(object, |node, key| node.get(key))?.as_str()
}

/// `apiVersion` and `kind`.
pub(crate) fn type_of<'n>(object: &'n Node<'_>) -> (&'n str, &'n str) {
    (word(object, &["apiVersion"]).unwrap_or_default(), word(object, &["kind"]).unwrap_or_default())
}

/// Whether it is a ModelDeployment of an API group that we know.
pub(crate) fn is_model_deployment(object: &Node<'_>) -> bool {
    let (api_version, kind) = type_of(object);
    kind == kubefoundry_model::wire::KIND && API_GROUPS.iter().any(|api_group| api_group.api_version() == api_version)
}

/// Whether it is of a kind that is turned into objects.
pub(crate) fn is_source(object: &Node<'_>) -> bool {
    let (api_version, kind) = type_of(object);
    composition::is_source(api_version, kind)
}

/// What tells an object from others.
pub(crate) fn identity(object: &Node<'_>) -> Identity {
    let (api_version, kind) = type_of(object);
    let name = word(object, &["metadata", "name"]).unwrap_or_default();
    Identity::new(api_version, kind, word(object, &["metadata", "namespace"]), name)
}

/// An object as results name it.
pub(crate) fn reference(object: &Node<'_>) -> ObjectRef {
    let (api_version, kind) = type_of(object);
    ObjectRef {
        api_version: api_version.into(),
        kind: kind.into(),
        namespace: word(object, &["metadata", "namespace"]).map(Into::into),
        name: word(object, &["metadata", "name"]).unwrap_or_default().into(),
    }
}

/// Whether an item was given by `kustomize build`, where there are no files to come back to.
pub(crate) fn is_in_kustomize_build(object: &Node<'_>) -> bool {
    annotation(object, KUSTOMIZE_BUILD).is_some()
}

/// Whether an item was chosen for this function by selectors of kpt (`selectors`, `exclude`, `--match-…`,
/// `--exclude-…`), which hide others.
pub(crate) fn is_selected(object: &Node<'_>) -> bool {
    KPT_SELECTED.iter().any(|key| annotation(object, key).is_some())
}

/// How many lines of an object's text, before a byte, hold nothing but a client's annotations: they are not in the
/// user's file.
pub(crate) fn bookkeeping_lines(object: &Node<'_>, text: &str, before: usize) -> usize {
    let Some(entry) = object.get("metadata").and_then(|metadata| metadata.entry("annotations")) else { return 0 };
    let Value::Mapping(annotations) = &entry.node.value else { return 0 };
    let line_breaks = |from: usize, to: usize| text.get(from..to).map_or(0, |part| part.matches('\n').count());
    if annotations.first().is_none_or(|first| line_breaks(entry.key_span.start, first.key_span.start) == 0) {
        // Flow style: no line was added.
        return 0;
    }
    // These two are users' own words in their files.
    let is_added = |key: &str| is_bookkeeping(key) && key != FUNCTION && key != LOCAL;
    let added = annotations.iter().filter(|entry| is_added(&entry.key));
    let lines: usize = added
        .clone()
        .filter(|entry| entry.key_span.start < before)
        .map(|entry| 1 + line_breaks(entry.key_span.start, entry.node.span.end.max(entry.key_span.end)))
        .sum();
    let all = added.count() == annotations.len() && entry.key_span.start < before;
    lines + usize::from(all)
}
