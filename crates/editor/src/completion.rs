//! Completion: fields, flags, providers, codes and the words that a value can be.

use std::collections::BTreeSet;

use kubefoundry::registry;
use kubefoundry_compiler::pipeline::IGNORE_ANNOTATION;
use kubefoundry_compiler::session::Session;
use kubefoundry_composition::PROVIDERS;
use kubefoundry_deployment::wire::{CONFIGURATION_KIND, KIND, ModelDeployment};
use kubefoundry_diagnostics::Severity;
use kubefoundry_kubernetes::wire::{Shape, metadata};
use kubefoundry_reference::{KINDS, type_name};
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::{FieldPart, Span};

use crate::fields::{Declared, declared_at, describe, kind_of, object_of, one_paragraph, words_of};
use crate::flags::{FieldFlags, flags_at, split_flag, type_of, values_of};
use crate::hover::is_ignore_annotation;
use crate::options::{is_code_key, is_provider_key, versions_at};
use crate::place::{self, Blank, Form};

/// A word that can stand at the cursor, as an edit of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The word.
    pub label: String,
    /// What the word is.
    pub kind: CompletionKind,
    /// The type of a field, or what a word belongs to.
    pub detail: String,
    /// What it means, in Markdown.
    pub documentation: String,
    /// Whether another word should be used instead.
    pub deprecated: bool,
    /// The bytes that the completion replaces.
    pub span: Span,
    /// The word with what it needs around it.
    pub new_text: String,
}

/// What a completed word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionKind {
    /// A declared field.
    Field,
    /// A key that another list declares: a flag, a code.
    Property,
    /// A code as a value.
    Constant,
    /// A value.
    Value,
}

/// A word that can stand at the cursor.
struct Candidate {
    label: String,
    kind: CompletionKind,
    detail: String,
    documentation: String,
    deprecated: bool,
    /// What follows the word if it is a key.
    follows: Follows,
}

/// What follows a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follows {
    Value,
    Mapping,
    List,
}

/// Returns what can stand at a byte offset, the likeliest first. The session has the options and the providers of the
/// workspace.
pub fn complete(text: &str, offset: usize, session: Option<&Session>) -> Vec<Completion> {
    let mut seen = BTreeSet::new();
    let mut completions = Vec::new();
    for blank in place::find_blanks(text, offset) {
        for candidate in candidates(&blank, session) {
            let is_own_key = blank.place.part == FieldPart::Key && blank.siblings.contains(&candidate.label);
            if !is_own_key && seen.insert(candidate.label.clone()) {
                completions.push(to_completion(candidate, &blank));
            }
        }
    }
    completions
}

fn candidates(blank: &Blank, session: Option<&Session>) -> Vec<Candidate> {
    match blank.place.part {
        FieldPart::Key => keys(blank, session),
        FieldPart::Value => values(blank, session),
    }
}

/// Lists the keys that the mapping at a place can have.
fn keys(blank: &Blank, session: Option<&Session>) -> Vec<Candidate> {
    let (header, document, path) = (&blank.place.header, &blank.place.document, &blank.place.path);
    let Some(kind) = kind_of(header) else {
        let is_root = path.segments().is_empty();
        return header_keys().into_iter().filter(|_| is_root).collect();
    };
    if is_code_key(kind, path) {
        return codes(true);
    }
    if is_provider_key(kind, path) {
        return provider_names(session, true);
    }
    if *path == FieldPath::from(metadata().annotations()) {
        let group = header.api_group();
        let ignore = group.map(|group| {
            word(&group.label(IGNORE_ANNOTATION), "codes", "Ignores findings of this object: `KF0211, idle-gpus`.")
        });
        return ignore.into_iter().collect();
    }
    if let Some(flags) = flags_at(session, header, document, path) {
        return flags.all().map(|(flag, table)| flag_candidate(&flags, &flag, &table)).collect();
    }
    let provider = session.and_then(|session| provider_of_overrides(session, document));
    let Some(declared) = declared_at(header, document, path, provider.as_deref()) else { return Vec::new() };
    let Some(object) = object_of(&declared.shape) else { return Vec::new() };
    let group = header.group();
    let fields = object.fields.iter().filter(|field| !field.facets.not_in.contains(&group));
    fields
        .map(|field| {
            let shape = field.full_shape();
            let declared = Declared { shape, field: Some(*field) };
            Candidate {
                label: field.key.to_owned(),
                kind: CompletionKind::Field,
                detail: type_name(&shape),
                documentation: describe(kind, &path.key(field.key), &declared),
                deprecated: false,
                follows: match shape {
                    Shape::Object(_) | Shape::Map(_) => Follows::Mapping,
                    Shape::List(_) => Follows::List,
                    _ => Follows::Value,
                },
            }
        })
        .collect()
}

/// Lists the words that the value at a place can be.
fn values(blank: &Blank, session: Option<&Session>) -> Vec<Candidate> {
    let (header, document, path) = (&blank.place.header, &blank.place.document, &blank.place.path);
    if let Some(candidates) = header_values(blank) {
        return candidates;
    }
    let Some(kind) = kind_of(header) else { return Vec::new() };
    if is_ignore_annotation(path) {
        return codes(false);
    }
    let name = |path: FieldPath, kind_name: &str| path == blank.place.path && kind.name == kind_name;
    if name(ModelDeployment::path().spec().provider().name().into(), KIND)
        || name(metadata().name().into(), CONFIGURATION_KIND)
    {
        return provider_names(session, false);
    }
    let versions = versions_at(kind, path);
    if !versions.is_empty() {
        return versions.into_iter().map(|version| word(version, "version", "")).collect();
    }
    if let Some(flags) = flags_at(session, header, document, &path.parent()) {
        let is_item = matches!(path.segments().last(), Some(Segment::Index(_)));
        if is_item {
            let dashed = |candidate: Candidate| Candidate { label: format!("--{}", candidate.label), ..candidate };
            return flags.all().map(|(flag, table)| dashed(flag_candidate(&flags, &flag, &table))).collect();
        }
        let flag = split_flag(path).and_then(|(_, name)| flags.find(name));
        return flag
            .map(|(flag, ..)| values_of(&flag).into_iter().map(|value| word(value, flag.name, "")).collect())
            .unwrap_or_default();
    }
    let provider = session.and_then(|session| provider_of_overrides(session, document));
    let Some(declared) = declared_at(header, document, path, provider.as_deref()) else { return Vec::new() };
    words_of(&declared)
        .into_iter()
        .map(|(value, doc)| word(value, &type_name(&declared.shape), &one_paragraph(doc)))
        .collect()
}

/// Returns the keys by which a document gets a kind.
fn header_keys() -> Vec<Candidate> {
    let key = |label: &str, documentation: &str| Candidate {
        kind: CompletionKind::Field,
        ..word(label, "string", documentation)
    };
    vec![key("apiVersion", "The API group and version of the object."), key("kind", "The kind of the object.")]
}

/// Returns the values of `apiVersion` and `kind`, or `None` for every other field.
fn header_values(blank: &Blank) -> Option<Vec<Candidate>> {
    let [Segment::Key(key)] = blank.place.path.segments() else { return None };
    let header = &blank.place.header;
    let written = |field: &str| blank.place.document.get(field).and_then(serde_json::Value::as_str);
    match &**key {
        "kind" => {
            let version = written("apiVersion");
            let kinds = KINDS
                .iter()
                .filter(|kind| version.is_none_or(|version| (kind.versions)().iter().any(|it| it == version)));
            Some(kinds.map(|kind| word(kind.name, "kind", kind.object().map_or("", |object| object.doc))).collect())
        }
        "apiVersion" => {
            let kinds = KINDS.iter().filter(|kind| header.kind.is_empty() || *kind.name == *header.kind);
            let versions: BTreeSet<String> = kinds.flat_map(|kind| (kind.versions)()).collect();
            Some(versions.iter().map(|version| word(version, "version", "")).collect())
        }
        _ => None,
    }
}

/// Returns the provider that a deployment names or that is selected for it.
fn provider_of_overrides(session: &Session, document: &serde_json::Value) -> Option<String> {
    session.evaluate(document, None).provider().map(str::to_owned)
}

/// Lists codes by name. As a key of `severities`, only those whose severity can be changed.
fn codes(is_key: bool) -> Vec<Candidate> {
    let listed = registry::codes().filter(|code| code.severity != Severity::Error);
    let both = |code: &'static kubefoundry_diagnostics::Code| {
        let detail = |other: &str| format!("{other}, {}", code.severity);
        [word(code.name, &detail(code.id), code.summary), word(code.id, &detail(code.name), code.summary)]
    };
    let kind = if is_key { CompletionKind::Property } else { CompletionKind::Constant };
    listed.flat_map(both).map(|candidate| Candidate { kind, ..candidate }).collect()
}

/// Lists the providers: those of the workspace, or as keys of options the ones that kubefoundry renders.
fn provider_names(session: Option<&Session>, is_key: bool) -> Vec<Candidate> {
    let built_in = || PROVIDERS.iter().map(|provider| provider.name());
    let configured = session.iter().flat_map(|session| session.provider_names()).filter(|_| !is_key);
    let names: BTreeSet<&str> = built_in().chain(configured).collect();
    names.into_iter().map(|name| word(name, "provider", "")).collect()
}

fn flag_candidate(
    flags: &FieldFlags,
    flag: &kubefoundry_engines::flags::Flag,
    table: &kubefoundry_engines::flags::FlagTable,
) -> Candidate {
    Candidate {
        kind: CompletionKind::Property,
        deprecated: flag.deprecated,
        documentation: flags.describe(flag, table),
        ..word(flag.name, type_of(flag), "")
    }
}

fn word(label: &str, detail: &str, documentation: &str) -> Candidate {
    Candidate {
        label: label.to_owned(),
        kind: CompletionKind::Value,
        detail: detail.to_owned(),
        documentation: documentation.to_owned(),
        deprecated: false,
        follows: Follows::Value,
    }
}

/// Adds what a candidate needs around it.
fn to_completion(candidate: Candidate, blank: &Blank) -> Completion {
    let Candidate { label, kind, detail, documentation, deprecated, follows } = candidate;
    let new_text = match (blank.form, follows) {
        (Form::Word, _) => label.clone(),
        (Form::AfterColon, _) => format!(" {label}"),
        (Form::FlowKey, _) | (Form::BlockKey(_), Follows::Value) => format!("{label}: "),
        (Form::BlockKey(column), Follows::Mapping) => format!("{label}:\n{}", " ".repeat(column + 2)),
        (Form::BlockKey(column), Follows::List) => format!("{label}:\n{}- ", " ".repeat(column + 2)),
    };
    let span = Span { start: blank.word.start, end: blank.word.end };
    Completion { label, kind, detail, documentation, deprecated, span, new_text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hover;

    const TEXT: &str = "# 😀\r\napiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: &m {name: \"é\", \
                        annotations: {kubefoundry.ai/lint-ignore: KF0211}}\nspec:\n  engine:\n    type: vllm\n    args: \
                        {dtype: half}\n    extraArgs: [--seed=1]\n---\n{\"a\": [1, *m, 'x']}\n--- |\n text\n...\n? k\n: - ";

    /// No place in a text, complete or cut off, makes an editor fail.
    #[test]
    fn every_place_of_a_text_can_be_asked_about() {
        let mut found = 0;
        let places = TEXT.char_indices().map(|(at, _)| at).chain([TEXT.len()]);
        for (at, text) in places.flat_map(|at| [(at, TEXT), (at, TEXT.get(..at).unwrap())]) {
            found += complete(text, at, None).len();
            found += usize::from(hover::describe(text, at, None).is_some());
        }
        assert!(found > 1000, "{found} answers");
    }

    /// Returns the text of the completion `label` at the cursor, which `|` marks.
    fn inserted(marked: &str, label: &str) -> Option<String> {
        let (text, offset) = (marked.replacen('|', "", 1), marked.find('|').unwrap());
        complete(&text, offset, None).into_iter().find(|item| item.label == label).map(|item| item.new_text)
    }

    #[test]
    fn what_follows_a_key_is_inserted_with_it() {
        let head = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nspec:\n";
        for (rest, label, text) in [
            ("  |\n", "image", "image: "),
            ("  |\n", "engine", "engine:\n    "),
            ("  |\n", "env", "env:\n    - "),
            ("  env:\n  - na|\n", "name", "name: "),
            ("  {en|}\n", "engine", "engine: "),
            ("  im|: x\n", "image", "image"),
            ("  {\"im|\"}\n", "image", "image"),
            ("  engine: {type:|}\n", "vllm", " vllm"),
            ("  engine: {type: vllm, extraArgs: [--max-num|]}\n", "--max-num-seqs", "--max-num-seqs"),
        ] {
            assert_eq!(inserted(&format!("{head}{rest}"), label).as_deref(), Some(text), "{rest}");
        }
    }
}
