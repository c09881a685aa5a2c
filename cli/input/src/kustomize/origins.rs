//! Traces a place in a built text back to the file that wrote it: a patch, the file of the resource, or the
//! kustomization.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use kubefoundry_diagnostics::source::{SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Location, RelatedLocation};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::wire::metadata;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::{FieldPart, Node, Span, Value};

use super::build::BuiltDocument;
use super::closure::{Closure, Kustomization};
use super::selector::{self, Candidate};
use crate::paths::lexical;

/// The maximum number of kustomizations that a finding in a shared file names.
const MAX_BUILDERS: usize = 5;

/// The start of the note that names kustomizations.
const BUILT_FROM: &str = "built by kustomize from ";

/// A text that kustomize built, with the files that it was built from.
#[derive(Debug)]
pub(crate) struct BuiltSource {
    /// The directory of the kustomization.
    pub(crate) root: PathBuf,
    pub(crate) closure: Rc<Closure>,
    /// The documents of the built text, with their files as the texts are keyed.
    pub(crate) documents: Vec<BuiltDocument>,
    /// The texts of the files.
    pub(crate) texts: BTreeMap<PathBuf, SourceId>,
}

/// The built texts of an input.
#[derive(Debug, Default)]
pub struct Origins {
    pub(crate) built: BTreeMap<SourceId, BuiltSource>,
}

/// An object of a built text.
struct BuiltObject<'o> {
    source: &'o BuiltSource,
    document: &'o BuiltDocument,
}

/// A place that may have written a field.
#[derive(Debug, Clone)]
struct Writer {
    location: Location,
    /// The kustomization that applies it.
    applied_by: PathBuf,
}

impl kubefoundry_reports::run::Origins for Origins {
    fn trace_name(&self, sources: &SourceSet, id: SourceId, offset: usize) -> Option<Location> {
        let documents = &self.built.get(&id)?.documents;
        let document = documents.partition_point(|document| document.start <= offset).checked_sub(1)?;
        let name = FieldPath::from(metadata().name());
        self.trace(sources, &Location::new(id, document, Span::default(), name)).map(|(location, _)| location)
    }
}

impl Origins {
    /// Whether no text was built.
    pub fn is_empty(&self) -> bool {
        self.built.is_empty()
    }

    /// Returns every file from which a text was built.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.built.values().flat_map(|built| built.closure.files())
    }

    /// Whether a text was built.
    pub fn is_built(&self, id: SourceId) -> bool {
        self.built.contains_key(&id)
    }

    /// Moves findings in built texts to the files that wrote the fields. A problem of a file that several kustomizations
    /// include is reported once.
    pub fn trace_findings(&self, sources: &SourceSet, findings: &mut Vec<Diagnostic>) {
        if self.built.is_empty() {
            return;
        }
        for finding in findings.iter_mut() {
            self.trace_finding(sources, finding);
        }
        merge_equal(findings);
    }

    fn trace_finding(&self, sources: &SourceSet, finding: &mut Diagnostic) {
        for related in &mut finding.related {
            if let Some((location, _)) = self.trace(sources, &related.location) {
                related.location = location;
            }
        }
        let Some(location) = &finding.location else { return };
        let Some((traced, others)) = self.trace(sources, location) else { return };
        let built = location.clone();
        let text = |location: &Location| {
            sources.get(location.source).text.get(location.span.start..location.span.end).map(str::to_owned)
        };
        let is_same_text = text(&built) == text(&traced);
        // A fix is right for the file if it only replaces the text that was found there, too.
        finding.fix = finding.fix.take().filter(|_| is_same_text).and_then(|mut fix| {
            for edit in &mut fix.edits {
                let is_inside = built.span.start <= edit.range.start && edit.range.end <= built.span.end;
                let shift = |offset: usize| traced.span.start + (offset - built.span.start);
                if !is_inside {
                    return None;
                }
                edit.range = Span { start: shift(edit.range.start), end: shift(edit.range.end) };
            }
            Some(fix)
        });
        finding.related.extend(others);
        if let Some(source) = self.built.get(&built.source)
            && let Some(kustomization) = source.root_location()
            && kustomization.source != traced.source
        {
            let message = format!("{BUILT_FROM}{}", name_of(&source.root));
            finding.related.push(RelatedLocation { location: kustomization, message });
        }
        finding.location = Some(traced);
    }

    /// Returns where a field was written, and other places that may have written it.
    fn trace(&self, sources: &SourceSet, location: &Location) -> Option<(Location, Vec<RelatedLocation>)> {
        let source = self.built.get(&location.source)?;
        let document = source.documents.get(location.document)?;
        let object = BuiltObject { source, document };
        // What is missing is reported where its nearest parent was written.
        let mut path = location.path.clone();
        let mut writers = object.writers(&path, sources);
        while writers.is_empty() && !path.segments().is_empty() {
            path = path.parent();
            writers = object.writers(&path, sources);
        }
        let Some(last) = writers.pop() else {
            return source.root_location().map(|location| (location, Vec::new()));
        };
        let others = writers.into_iter().filter(|writer| writer.applied_by == last.applied_by);
        let related = others.map(|writer| {
            let message = "also set here, and applied before".to_owned();
            RelatedLocation { location: writer.location, message }
        });
        // The origin of a resource is not another patch.
        let related =
            related.filter(|_| document.origin.as_deref().is_none_or(|origin| last.applied_by != origin)).collect();
        let mut traced = last.location;
        traced.path.clone_from(&location.path);
        Some((traced, related))
    }
}

impl BuiltSource {
    fn root_location(&self) -> Option<Location> {
        let file = &self.closure.kustomizations.last()?.file;
        self.texts.get(file).map(|id| Location::from_source(*id))
    }
}

impl BuiltObject<'_> {
    /// Returns the places that wrote a field, in the order in which kustomize applies them.
    fn writers(&self, path: &FieldPath, sources: &SourceSet) -> Vec<Writer> {
        let mut writers = Vec::new();
        let original = self.original(sources);
        if let Some(origin) = self.document.origin.as_deref()
            && let Some(location) = self.in_file(origin, sources, &|root| self.is_same(root, None), path)
        {
            writers.push(Writer { location, applied_by: origin.to_owned() });
        }
        for kustomization in &self.source.closure.kustomizations {
            if !self.is_reached_by(kustomization) {
                continue;
            }
            let locations = self.in_kustomization(kustomization, original.as_ref(), path, sources);
            writers.extend(
                locations.into_iter().map(|location| Writer { location, applied_by: kustomization.directory.clone() }),
            );
        }
        writers
    }

    /// Whether a kustomization, or one that it includes, names the file of the object. A component applies to what the
    /// kustomization around it has.
    fn is_reached_by(&self, kustomization: &Kustomization) -> bool {
        let is_component = kustomization.root.get("kind").and_then(Node::as_str) == Some("Component");
        let Some(origin) = self.document.origin.as_deref() else { return true };
        if is_component {
            return true;
        }
        let closure = &self.source.closure;
        let (mut pending, mut seen) = (vec![kustomization], BTreeSet::new());
        while let Some(current) = pending.pop() {
            if !seen.insert(&current.directory) {
                continue;
            }
            let lists = ["resources", "bases", "components"].iter().filter_map(|field| current.root.get(field));
            for entry in lists.flat_map(Node::items).filter_map(Node::as_str) {
                let path = lexical(&current.directory.join(entry));
                if path == origin {
                    return true;
                }
                pending.extend(closure.kustomizations.iter().find(|it| it.directory == path));
            }
        }
        false
    }

    /// Returns the header of the object in its file, whose name a prefix may have changed.
    fn original(&self, sources: &SourceSet) -> Option<Header> {
        let id = self.source.texts.get(self.document.origin.as_deref()?)?;
        let parsed = yaml::parse(&sources.get(*id).text, &yaml::Limits::default());
        let headers = parsed.documents.iter().filter(|document| self.is_same(&document.root, None));
        headers.map(|document| Header::from_node(&document.root)).next()
    }

    /// Whether a document of a file describes the object: its kind, and its name or the part of it that a prefix and a
    /// suffix leave.
    fn is_same(&self, root: &Node<'_>, original: Option<&Header>) -> bool {
        let header = Header::from_node(root);
        let is_name = match original {
            Some(original) => [&original.name, &self.document.header.name].contains(&&header.name),
            None => self.document.header.name.contains(&*header.name),
        };
        header.kind == self.document.header.kind
            && header.group() == self.document.header.group()
            && is_name
            && !header.name.is_empty()
    }

    /// Finds a field in the documents of a file that `selects` accepts.
    fn in_file(
        &self,
        file: &Path,
        sources: &SourceSet,
        selects: &dyn Fn(&Node<'_>) -> bool,
        path: &FieldPath,
    ) -> Option<Location> {
        let id = *self.source.texts.get(file)?;
        let parsed = yaml::parse(&sources.get(id).text, &yaml::Limits::default());
        let document =
            parsed.documents.iter().find(|document| selects(&document.root) && document.root.at(path).is_some())?;
        let span = document.root.locate(path, FieldPart::Value);
        Some(Location::new(id, document.index, span, path.clone()))
    }

    /// Returns the places in a kustomization and in its patches that write a field, in the order in which they are
    /// applied.
    fn in_kustomization(
        &self,
        kustomization: &Kustomization,
        original: Option<&Header>,
        path: &FieldPath,
        sources: &SourceSet,
    ) -> Vec<Location> {
        let items = |field: &str| kustomization.root.get(field).map(Node::items).unwrap_or_default();
        let Self { document, .. } = self;
        let (labels, annotations) = (&document.labels, &document.annotations);
        let candidate = Candidate { current: &document.header, original, labels, annotations };
        let mut found = Vec::new();
        let mut add_patch = |node: Option<&Node<'_>>, target: Option<&Node<'_>>, is_path: bool| {
            let Some((node, text)) = node.and_then(|node| Some((node, node.as_str()?))) else { return };
            if target.is_some_and(|target| !selector::selects(target, &candidate)) {
                return;
            }
            let has_target = target.is_some();
            if is_path && !text.contains('\n') {
                let file = lexical(&kustomization.directory.join(text));
                found.extend(self.in_patch_file(&file, has_target, original, path, sources));
            } else {
                found.extend(self.in_inline_patch(kustomization, (node, text), has_target, original, path, sources));
            }
        };
        for entry in items("patchesStrategicMerge") {
            add_patch(Some(entry), None, true);
        }
        for entry in items("patches").iter().chain(items("patchesJson6902")) {
            add_patch(entry.get("path"), entry.get("target"), true);
            add_patch(entry.get("patch"), entry.get("target"), false);
        }
        found.extend(self.in_transformers(kustomization, path));
        found
    }

    /// Finds the field of a kustomization that sets a field of every resource.
    fn in_transformers(&self, kustomization: &Kustomization, path: &FieldPath) -> Option<Location> {
        let id = *self.source.texts.get(&kustomization.file)?;
        let keys: Vec<&str> = path.segments().iter().filter_map(Segment::as_key).collect();
        let fields: &[&'static str] = match keys.as_slice() {
            ["metadata", "namespace"] => &["namespace"],
            ["metadata", "name"] => &["namePrefix", "nameSuffix"],
            ["metadata", "labels", ..] => &["labels", "commonLabels"],
            ["metadata", "annotations", ..] => &["commonAnnotations"],
            _ => &[],
        };
        let field = fields.iter().find(|field| kustomization.root.get(field).is_some())?;
        if let [_, _, .., last_key] = keys.as_slice()
            && !holds_key(kustomization.root.get(field)?, last_key)
        {
            return None;
        }
        let field = FieldPath::root().key(*field);
        Some(Location::new(id, 0, kustomization.root.locate(&field, FieldPart::Value), field))
    }

    /// Finds the field in a file with patches: documents that are merged, or operations.
    fn in_patch_file(
        &self,
        file: &Path,
        has_target: bool,
        original: Option<&Header>,
        path: &FieldPath,
        sources: &SourceSet,
    ) -> Option<Location> {
        let id = *self.source.texts.get(file)?;
        let parsed = yaml::parse(&sources.get(id).text, &yaml::Limits::default());
        let found = |document: &yaml::Document<'_>| {
            let span = self.in_patch(&document.root, has_target, original, path)?;
            Some(Location::new(id, document.index, span, path.clone()))
        };
        parsed.documents.iter().rev().find_map(found)
    }

    /// Finds the field in a patch that is written in a kustomization. In a literal block (`patch: |-`), every byte has a
    /// position in the file; otherwise the whole value is the place.
    fn in_inline_patch(
        &self,
        kustomization: &Kustomization,
        (node, patch): (&Node<'_>, &str),
        has_target: bool,
        original: Option<&Header>,
        path: &FieldPath,
        sources: &SourceSet,
    ) -> Option<Location> {
        let id = *self.source.texts.get(&kustomization.file)?;
        let value = sources.get(id).text.get(node.span.start..node.span.end)?;
        let block = value.starts_with('|').then(|| value.find('\n')).flatten().map(|end| end + 1);
        let (text, start) = match block {
            // All lines have the same indentation, so the block can be parsed with it.
            Some(first_line) => (value.get(first_line..)?, Some(node.span.start + first_line)),
            None => (patch, None),
        };
        let parsed = yaml::parse(text, &yaml::Limits::default());
        let span = parsed
            .documents
            .iter()
            .rev()
            .find_map(|document| self.in_patch(&document.root, has_target, original, path))?;
        let span = start.map_or(node.span, |start| Span { start: span.start + start, end: span.end + start });
        Some(Location::new(id, 0, span, path.clone()))
    }

    /// Finds the field in one patch.
    fn in_patch(&self, root: &Node<'_>, has_target: bool, original: Option<&Header>, path: &FieldPath) -> Option<Span> {
        if let Value::Sequence(operations) = &root.value {
            return operations.iter().rev().find_map(|operation| find_in_operation(operation, path));
        }
        let is_selected = has_target || self.is_same(root, original);
        // What identifies the object in a patch is not written by it.
        let is_identity = path.segments().first().and_then(Segment::as_key).is_none_or(|key| {
            matches!(key, "apiVersion" | "kind")
                || (key == "metadata"
                    && matches!(path.segments().get(1).and_then(Segment::as_key), None | Some("name")))
        });
        (is_selected && !is_identity && root.at(path).is_some()).then(|| root.locate(path, FieldPart::Value))
    }
}

/// Finds a field in the operation of a JSON patch.
fn find_in_operation(operation: &Node<'_>, path: &FieldPath) -> Option<Span> {
    let pointer = operation.get("path")?.as_str()?;
    let target: Vec<String> =
        pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
    let segments = path.segments();
    if segments.len() < target.len() {
        return None;
    }
    let (start, rest) = segments.split_at(target.len());
    let is_same = |(segment, part): (&Segment, &String)| match segment {
        Segment::Key(key) => **key == **part,
        Segment::Index(index) => *part == index.to_string() || part == "-",
    };
    if !start.iter().zip(&target).all(is_same) {
        return None;
    }
    let Some(value) = operation.get("value") else { return Some(operation.span) };
    let inner = rest.iter().fold(FieldPath::root(), |path, segment| match segment {
        Segment::Key(key) => path.with_key(key.clone()),
        Segment::Index(index) => path.with_index(*index),
    });
    value.at(&inner)?;
    Some(if rest.is_empty() { value.span } else { value.locate(&inner, FieldPart::Value) })
}

/// Whether a mapping with this key is somewhere in a node.
fn holds_key(node: &Node<'_>, key: &str) -> bool {
    node.entries().iter().any(|entry| entry.key == key || holds_key(&entry.node, key))
        || node.items().iter().any(|item| holds_key(item, key))
}

/// Keeps one of several findings that differ only in the kustomization through which they were found.
fn merge_equal(findings: &mut Vec<Diagnostic>) {
    let mut first: BTreeMap<(&'static str, Option<Location>, String), usize> = BTreeMap::new();
    let mut kept: Vec<Diagnostic> = Vec::new();
    for finding in findings.drain(..) {
        let key = (finding.code.id, finding.location.clone(), finding.message.clone());
        if let Some(same) = first.get(&key).and_then(|position| kept.get_mut(*position)) {
            let note = |finding: &Diagnostic| {
                finding.related.iter().position(|related| related.message.starts_with(BUILT_FROM))
            };
            if let (Some(position), Some(other)) = (note(same), note(&finding))
                && let (Some(kept_note), Some(other)) = (same.related.get_mut(position), finding.related.get(other))
            {
                add_builder(&mut kept_note.message, other.message.trim_start_matches(BUILT_FROM));
            }
        } else {
            first.insert(key, kept.len());
            kept.push(finding);
        }
    }
    *findings = kept;
}

/// Adds a kustomization to the note that names others, up to a number.
fn add_builder(note: &mut String, builder: &str) {
    let names: Vec<&str> = note.trim_start_matches(BUILT_FROM).split(", ").collect();
    if names.contains(&builder) || names.contains(&"…") {
        return;
    }
    let is_full = names.len() >= MAX_BUILDERS;
    let added = if is_full { "…" } else { builder };
    note.push_str(", ");
    note.push_str(added);
}

/// Returns how messages name a directory.
pub(crate) fn name_of(directory: &Path) -> String {
    if directory.as_os_str().is_empty() { ".".to_owned() } else { directory.display().to_string() }
}
