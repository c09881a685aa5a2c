//! The merge itself: determines the changes and applies them to the text of the base configuration.

use super::Entry;
use super::base::{self, BaseError};
use super::provider_entries::{entries_of_api, is_replaced, provider, tree};
use crate::wire::Api;
use kubefoundry_yaml::edit::{EditError, EditStyle, Placement, TextEditor};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{one_line, shorten};
use kubefoundry_yaml::{Document, Limits, Node, Value, WideInteger, parse, wide_integers};

/// The changes to a base configuration.
pub(super) struct Changes<'e> {
    /// Base providers that external ones replace.
    pub(super) replaced: Vec<ReplacedProvider<'e>>,
    /// External providers whose id is also that of a base provider of another API, with that API.
    pub(super) elsewhere: Vec<(&'e Entry, String)>,
    /// APIs to add to the list of served APIs.
    pub(super) apis: Vec<Api>,
}

/// A base provider that an external one replaces.
pub(super) struct ReplacedProvider<'e> {
    pub(super) entry: &'e Entry,
    pub(super) base_type: String,
}

/// A base configuration with external providers.
pub(super) struct MergedBase<'e> {
    pub(super) text: String,
    pub(super) changes: Changes<'e>,
}

/// A way to write the changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// Edit only the changed parts.
    Edit,
    /// Like `Edit`, but insert new keys before the existing ones. This helps if the last value would absorb appended
    /// text.
    EditAtStart,
    /// Rewrite `providers` and `apis`, with their aliases resolved.
    Rewrite,
}

/// Merges external providers into a base configuration. It tries the ways to write the changes in the order of how much
/// of the text they keep, and uses the first that works.
pub(super) fn apply<'e>(text: &str, entries: &[&'e Entry]) -> Result<MergedBase<'e>, BaseError> {
    let documents = base::read(text)?;
    let root = documents.first().map(|document| &document.root);
    let changes = changes(root, entries);
    if entries.is_empty() {
        return Ok(MergedBase { text: text.to_owned(), changes });
    }
    let attempts = [Attempt::Edit, Attempt::EditAtStart, Attempt::Rewrite].into_iter();
    let wide = wide_integers_that_stay(root, text, entries);
    let merged = attempts
        .filter_map(|attempt| edited(text, &documents, entries, &changes.apis, attempt).ok())
        .find(|merged| keeps_wide_integers(merged, wide.len()));
    if let Some(text) = merged {
        return Ok(MergedBase { text, changes });
    }
    if let Some(wide) = wide.first() {
        let message = format!(
            "providers share YAML anchors with other parts of the file, so the merge would have to write {} again, which \
             64 bits cannot hold: write it as a string",
            shorten(wide.text)
        );
        return Err(BaseError::at(text, wide.span, message));
    }
    let span = root.and_then(|root| root.entry("providers")).map(|entry| entry.key_span);
    let message = "providers share YAML anchors with other parts of the file, which the merge cannot edit";
    Err(BaseError::at(text, span.unwrap_or_default(), message))
}

/// Returns the integers of the providers that stay which 64 bits cannot hold. They are kept as text only, so an edit that
/// writes them again loses their last digits.
fn wide_integers_that_stay<'t>(root: Option<&Node<'_>>, text: &'t str, entries: &[&Entry]) -> Vec<WideInteger<'t>> {
    let sections = root.and_then(|root| root.get("providers")).map_or(&[][..], Node::entries);
    let kept = sections.iter().flat_map(|section| {
        let entries: Vec<&Entry> = entries.iter().copied().filter(|entry| section.key == entry.api.as_str()).collect();
        section.node.items().iter().filter(move |item| !is_replaced(item, &entries))
    });
    kept.flat_map(|item| wide_integers(item, &FieldPath::root(), text)).collect()
}

/// Returns whether a merged text has as many such integers as before.
fn keeps_wide_integers(merged: &str, before: usize) -> bool {
    if before == 0 {
        return true;
    }
    let limits = Limits { nodes: usize::MAX, document_bytes: usize::MAX, ..Limits::default() };
    let parsed = parse(merged, &limits);
    let root = parsed.documents.first().map(|document| &document.root);
    wide_integers_that_stay(root, merged, &[]).len() == before
}

fn edited(
    text: &str,
    documents: &[Document<'_>],
    entries: &[&Entry],
    apis: &[Api],
    attempt: Attempt,
) -> Result<String, EditError> {
    let root = documents.first().map(|document| &document.root);
    let placement = if attempt == Attempt::Edit { Placement::Last } else { Placement::First };
    let mut editor = TextEditor::new(text, documents, 0).with_style(EditStyle { placement, ..EditStyle::default() });
    let (list, sections) = (FieldPath::parse("apis"), FieldPath::parse("providers"));
    let limits = Limits { nodes: usize::MAX, document_bytes: usize::MAX, ..Limits::default() };
    if attempt == Attempt::Rewrite {
        let mut merged = tree(root, entries, apis);
        for path in [list, sections].into_iter().skip(usize::from(apis.is_empty())) {
            editor.remove(&path)?;
            editor.set(&path, merged.get_mut(path.to_string()).map(serde_json::Value::take))?;
        }
        return Ok(editor.finish(&limits)?.text);
    }
    if !apis.is_empty() {
        editor.append(&list, apis.iter().map(|api| api.as_str().into()))?;
    }
    for api in Api::ALL {
        let entries = entries_of_api(entries, api);
        if entries.is_empty() {
            continue;
        }
        let section = sections.key(api.as_str());
        let items = root.and_then(|root| root.at(&section)).map_or(&[][..], Node::items);
        for (index, _) in items.iter().enumerate().filter(|(_, item)| is_replaced(item, &entries)) {
            editor.remove(&section.index(index))?;
        }
        editor.append(&section, entries.iter().map(|entry| provider(entry)))?;
    }
    Ok(editor.finish(&limits)?.text)
}

fn changes<'e>(root: Option<&Node<'_>>, entries: &[&'e Entry]) -> Changes<'e> {
    let mut changes = Changes { replaced: Vec::new(), elsewhere: Vec::new(), apis: Vec::new() };
    let sections = root.and_then(|root| root.get("providers")).map_or(&[][..], Node::entries);
    for entry in entries.iter().copied() {
        for section in sections {
            let same = section.node.items().iter().filter(|item| is_replaced(item, &[entry]));
            if section.key == entry.api.as_str() {
                changes.replaced.extend(same.map(|item| ReplacedProvider { entry, base_type: type_of(item) }));
            } else if same.count() > 0 {
                changes.elsewhere.push((entry, one_line(&section.key)));
            }
        }
    }
    let apis = root.and_then(|root| root.get("apis")).map_or(&[][..], Node::items);
    if !apis.is_empty() {
        let is_served = |api: Api| apis.iter().any(|served| served.as_str() == Some(api.as_str()));
        changes.apis =
            Api::ALL.into_iter().filter(|api| !is_served(*api) && !entries_of_api(entries, *api).is_empty()).collect();
    }
    changes
}

/// Returns the type of a base provider, or `(none)`.
fn type_of(item: &Node<'_>) -> String {
    match item.get("provider_type").map(|node| &node.value) {
        Some(Value::String(text)) => one_line(text),
        _ => "(none)".to_owned(),
    }
}
