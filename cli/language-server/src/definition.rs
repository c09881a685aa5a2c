//! Go to definition: from a patch of a kustomization to the object that it patches, and from the entries of a
//! kustomization to their files.
//!
//! Only files of the workspace folder are looked at, as they were read; a path that leads out of the folder is not a place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use kubefoundry_input::workspace;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::wire::metadata;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::{self as yaml, FieldPart, Limits, Node, Span};

use kubefoundry_editor::place;

/// How deep directories of resources may refer to each other.
const MAX_DEPTH: usize = 32;

/// The texts in which definitions are searched: the files of a workspace folder and the documents that are open.
pub(crate) struct Texts<'t> {
    root: &'t Path,
    texts: &'t BTreeMap<&'t Path, &'t str>,
}

/// The place of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) path: PathBuf,
    pub(crate) span: Span,
}

/// Selects the objects that a patch applies to. What is `None` matches every object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Selector {
    group: Option<String>,
    kind: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

impl<'t> Texts<'t> {
    pub(crate) fn new(root: &'t Path, texts: &'t BTreeMap<&'t Path, &'t str>) -> Self {
        Self { root, texts }
    }

    /// Returns the text of a file, and the file as a place.
    fn text(&self, path: &Path) -> Option<&'t str> {
        self.texts.get(path).copied()
    }

    /// Returns the definitions of what stands at an offset of a document.
    pub(crate) fn definitions(&self, path: &Path, offset: usize) -> Vec<Definition> {
        let Some(text) = self.text(path) else { return Vec::new() };
        if workspace::is_kustomization(path) {
            return self.of_kustomization(path, text, offset);
        }
        let Some(patch) = document_at(text, offset) else { return Vec::new() };
        let mut found = Vec::new();
        for (kustomization, entry_target) in self.appliers(path) {
            let own = Some(&patch).filter(|own| own.kind.is_some());
            self.find_bases(&kustomization, entry_target.as_ref(), own, &mut found);
        }
        found
    }

    /// Finds the objects that a patch applies to: by its target, and by the identity in the patch itself.
    fn find_bases(
        &self,
        kustomization: &Path,
        target: Option<&Selector>,
        own: Option<&Selector>,
        found: &mut Vec<Definition>,
    ) {
        let Some(selector) = target.or(own) else { return };
        for file in self.resources(kustomization) {
            let Some(text) = self.text(&file) else { continue };
            for document in yaml::documents(text, &Limits::default()) {
                let definition = Definition { path: file.clone(), span: name_span(&document.root) };
                if selector.matches(&Header::from_node(&document.root)) && !found.contains(&definition) {
                    found.push(definition);
                }
            }
        }
    }

    /// Returns the kustomizations that apply a file as a patch, each with the target that it names.
    fn appliers(&self, patch: &Path) -> Vec<(PathBuf, Option<Selector>)> {
        let mut appliers = Vec::new();
        for (path, text) in self.texts.iter().filter(|(path, _)| workspace::is_kustomization(path)) {
            let directory = path.parent().unwrap_or(self.root);
            for document in yaml::documents(text, &Limits::default()) {
                let named = patch_entries(&document.root);
                let applied = named
                    .filter(|(file, _)| file.and_then(|file| self.resolve(directory, file)).as_deref() == Some(patch));
                appliers.extend(applied.map(|(_, target)| (path.to_path_buf(), target)));
            }
        }
        appliers
    }

    /// Returns the files of a kustomization's resources, with those of the kustomizations that they lead to.
    fn resources(&self, kustomization: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut seen = BTreeSet::new();
        let mut pending = vec![(kustomization.to_owned(), 0)];
        while let Some((path, depth)) = pending.pop() {
            if depth > MAX_DEPTH || !seen.insert(path.clone()) {
                continue;
            }
            let (Some(text), Some(directory)) = (self.text(&path), path.parent()) else { continue };
            for document in yaml::documents(text, &Limits::default()) {
                for named in ["resources", "bases", "components"]
                    .iter()
                    .filter_map(|field| document.root.get(field))
                    .flat_map(Node::items)
                {
                    let Some(place) = named.as_str().and_then(|named| self.resolve(directory, named)) else { continue };
                    match self.kustomization_in(&place) {
                        Some(inner) => pending.push((inner, depth + 1)),
                        None => files.push(place),
                    }
                }
            }
        }
        files.sort();
        files.dedup();
        files
    }

    fn kustomization_in(&self, directory: &Path) -> Option<PathBuf> {
        workspace::kustomizations_of(directory).find(|file| self.texts.contains_key(file.as_path()))
    }

    /// Resolves a path relative to a directory, lexically. Returns `None` if it leads out of the folder.
    fn resolve(&self, directory: &Path, relative: &str) -> Option<PathBuf> {
        let mut resolved = directory.to_owned();
        for component in Path::new(relative).components() {
            match component {
                Component::Normal(part) => resolved.push(part),
                Component::CurDir => {}
                Component::ParentDir if resolved != self.root => drop(resolved.pop()),
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        resolved.starts_with(self.root).then_some(resolved)
    }

    /// Returns the definitions of an entry in a kustomization: the file of a path, or the object of an inline patch.
    fn of_kustomization(&self, path: &Path, text: &str, offset: usize) -> Vec<Definition> {
        let (Some(place), Some(directory)) = (place::find(text, offset), path.parent()) else { return Vec::new() };
        let written = place.document.pointer(&place.path.json_pointer()).and_then(serde_json::Value::as_str);
        let named = written.filter(|_| place.part == FieldPart::Value).filter(|written| !written.contains('\n'));
        if let Some(file) = named.and_then(|named| self.resolve(directory, named)) {
            let file = self.kustomization_in(&file).unwrap_or(file);
            if self.texts.contains_key(file.as_path()) {
                return vec![Definition { path: file, span: Span::default() }];
            }
        }
        let [Segment::Key(field), Segment::Index(index), ..] = place.path.segments() else { return Vec::new() };
        let entry = FieldPath::root().with_key(field.clone()).with_index(*index);
        let mut found = Vec::new();
        for document in yaml::documents(text, &Limits::default()) {
            let Some(entry) = document.root.at(&entry).filter(|_| field.starts_with("patches")) else { continue };
            let inline = entry.get("patch").or(Some(entry)).and_then(Node::as_str);
            let own = inline.and_then(|patch| document_at(patch, 0));
            self.find_bases(path, target_of(entry).as_ref(), own.as_ref().filter(|own| own.kind.is_some()), &mut found);
        }
        found
    }
}

/// Lists the patches of a kustomization: the file, unless the patch is inline, and the target.
fn patch_entries<'n>(root: &'n Node<'_>) -> impl Iterator<Item = (Option<&'n str>, Option<Selector>)> {
    let entries = ["patches", "patchesJson6902"].into_iter().filter_map(|field| root.get(field)).flat_map(Node::items);
    let old = root.get("patchesStrategicMerge").into_iter().flat_map(Node::items);
    let of_entry = |entry: &'n Node<'_>| (entry.get("path").and_then(Node::as_str), target_of(entry));
    entries.map(of_entry).chain(old.map(|path| (path.as_str(), None)))
}

/// Reads the target of an entry of `patches`.
fn target_of(entry: &Node<'_>) -> Option<Selector> {
    let target = entry.get("target")?;
    let word = |key: &str| target.get(key).and_then(Node::as_str).map(str::to_owned);
    Some(Selector { group: word("group"), kind: word("kind"), namespace: word("namespace"), name: word("name") })
}

/// Returns the identity of the document at an offset, or `None` if there is no document. A list of operations has none, so
/// that its selector is empty.
fn document_at(text: &str, offset: usize) -> Option<Selector> {
    let mut documents = yaml::documents(text, &Limits::default());
    let document = documents.find(|document| document.span.start <= offset && offset <= document.span.end)?;
    let header = Header::from_node(&document.root);
    if header.kind.is_empty() {
        return Some(Selector::default());
    }
    let namespace = header.namespace.as_deref().map(str::to_owned);
    Some(Selector {
        group: Some(header.group().to_owned()),
        kind: Some(header.kind.to_string()),
        namespace,
        name: Some(header.name.to_string()),
    })
}

impl Selector {
    /// Whether an object is one that the patch applies to. A base without a namespace gets it from its kustomization.
    fn matches(&self, header: &Header) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        let is_namespace = header.namespace.as_deref().is_none_or(|namespace| is(&self.namespace, namespace));
        !header.kind.is_empty()
            && is(&self.group, header.group())
            && is(&self.kind, &header.kind)
            && is(&self.name, &header.name)
            && is_namespace
    }
}

/// Returns the bytes of an object's name.
fn name_span(root: &Node<'_>) -> Span {
    root.locate(&FieldPath::from(metadata().name()), FieldPart::Value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: phi}\n";
    const PATCH: &str = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: phi, namespace: prod}\nspec: {}\n";

    /// Returns the definitions at the first `|` of a file, as paths and the text of the span.
    fn definitions(files: &[(&str, &str)], from: &str) -> Vec<(String, String)> {
        let marked = files.iter().find(|(name, _)| *name == from).unwrap().1;
        let offset = marked.find('|').unwrap_or_default();
        let root = Path::new("/w");
        let owned: BTreeMap<PathBuf, String> = files
            .iter()
            .map(|(name, text)| {
                (root.join(name), if *name == from { text.replacen('|', "", 1) } else { (*text).to_owned() })
            })
            .collect();
        let texts = owned.iter().map(|(path, text)| (path.as_path(), text.as_str())).collect();
        let name = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
        let found = Texts::new(root, &texts).definitions(&root.join(from), offset).into_iter();
        found.map(|it| (name(&it.path), owned[&it.path][it.span.start..it.span.end].to_owned())).collect()
    }

    fn found(path: &str, text: &str) -> Vec<(String, String)> {
        vec![(path.to_owned(), text.to_owned())]
    }

    #[test]
    fn leads_from_a_patch_to_its_base_through_directories() {
        let files = [
            ("base/kustomization.yaml", "resources: [models, other.yaml]\n"),
            ("base/models/kustomization.yaml", "resources: [phi.yaml]\n"),
            ("base/models/phi.yaml", BASE),
            ("base/other.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: phi}\n"),
            ("elsewhere/phi.yaml", BASE),
            ("prod/kustomization.yaml", "resources: [../base]\npatches: [{path: patch.yaml}]\n"),
            ("prod/patch.yaml", PATCH),
        ];
        assert_eq!(definitions(&files, "prod/patch.yaml"), found("base/models/phi.yaml", "phi"));
    }

    #[test]
    fn a_target_selects_the_base_of_operations() {
        let kustomization =
            "resources: [phi.yaml]\npatches:\n- path: operations.yaml\n  target: {kind: ModelDeployment, name: phi}\n";
        let operations = "- {op: replace, path: /spec/scaling/replicas, value: 2}\n";
        let files = [("kustomization.yaml", kustomization), ("phi.yaml", BASE), ("operations.yaml", operations)];
        assert_eq!(definitions(&files, "operations.yaml"), found("phi.yaml", "phi"));
        let other = kustomization.replace("name: phi", "name: qwen");
        let files = [("kustomization.yaml", other.as_str()), files[1], files[2]];
        assert_eq!(definitions(&files, "operations.yaml"), []);
    }

    #[test]
    fn leads_from_the_entries_of_a_kustomization() {
        for (kustomization, expected) in [
            ("resources: [ph|i.yaml]\n", found("phi.yaml", "")),
            ("resources: [ba|se]\n", found("base/kustomization.yaml", "")),
            ("patches: [{path: ph|i.yaml}]\n", found("phi.yaml", "")),
            ("resources: [phi.yaml]\npatches: [{tar|get: {kind: ModelDeployment}}]\n", found("phi.yaml", "phi")),
            (
                "resources: [phi.yaml]\npatches: [{pat|ch: \"kind: ModelDeployment\\napiVersion: kubefoundry.ai/v1alpha1\\nmetadata: {name: phi}\"}]\n",
                found("phi.yaml", "phi"),
            ),
            ("resources: [../phi|.yaml]\n", vec![]),
            ("resources: [/etc/pass|wd]\n", vec![]),
        ] {
            let files = [
                ("kustomization.yaml", kustomization),
                ("phi.yaml", BASE),
                ("base/kustomization.yaml", "resources: []\n"),
            ];
            assert_eq!(definitions(&files, "kustomization.yaml"), expected, "{kustomization}");
        }
    }

    #[test]
    fn kustomizations_that_refer_to_each_other_end() {
        let files = [
            ("a/kustomization.yaml", "resources: [../b]\npatches: [{path: patch.yaml}]\n"),
            ("b/kustomization.yaml", "resources: [../a, phi.yaml]\n"),
            ("b/phi.yaml", BASE),
            ("a/patch.yaml", PATCH),
        ];
        assert_eq!(definitions(&files, "a/patch.yaml"), found("b/phi.yaml", "phi"));
    }

    #[test]
    fn a_file_that_is_no_patch_has_no_definition() {
        let files = [("kustomization.yaml", "resources: [phi.yaml]\n"), ("phi.yaml", BASE)];
        assert_eq!(definitions(&files, "phi.yaml"), []);
    }
}
