//! The merge itself: what is to change, and the text in which it has changed.

use super::Entry;
use super::base::{self, BaseError};
use super::expected::{is_replaced, of_api, tree};
use super::insert::{Style, edited};
use crate::wire::Api;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::text::one_line;
use kubefoundry_yaml::{Limits, Node, Value};

/// What changes in a base.
pub(super) struct Changes<'e> {
    /// Base providers that go.
    pub(super) replaced: Vec<Replaced<'e>>,
    /// External providers whose id a base provider of another API has, too; and that API.
    pub(super) elsewhere: Vec<(&'e Entry, String)>,
    /// APIs that are added to the list of those that are served.
    pub(super) apis: Vec<Api>,
}

/// A base provider that an external one takes the place of.
pub(super) struct Replaced<'e> {
    pub(super) entry: &'e Entry,
    pub(super) base_type: String,
}

/// The base with external providers.
pub(super) struct Applied<'e> {
    pub(super) text: String,
    pub(super) changes: Changes<'e>,
}

/// Merges. Of the ways to write a change the first is taken that reads as it must: every one keeps less of the text than
/// the one before it.
pub(super) fn apply<'e>(text: &str, entries: &[&'e Entry]) -> Result<Applied<'e>, BaseError> {
    let root = base::read(text)?;
    let changes = changes(root.as_ref(), entries);
    if entries.is_empty() {
        return Ok(Applied { text: text.to_owned(), changes });
    }
    let expected = tree(root.as_ref(), entries, &changes.apis);
    let styles = [Style::Edit, Style::EditAtStart, Style::Rewrite];
    let merged = styles.into_iter().map(|style| edited(text, root.as_ref(), entries, &changes.apis, style));
    if let Some(text) = merged.into_iter().find(|merged| reads_as(merged, &expected)) {
        return Ok(Applied { text, changes });
    }
    let span = root.as_ref().and_then(|root| root.entry("providers")).map(|entry| entry.key_span);
    let message = "providers share YAML anchors with other parts of the file in a way that cannot be edited, expected \
                   providers without anchors that are used elsewhere";
    Err(BaseError::at(text, span.unwrap_or_default(), message))
}

fn reads_as(text: &str, expected: &serde_json::Value) -> bool {
    let limits = Limits { nodes: usize::MAX, document_bytes: usize::MAX, ..Limits::default() };
    let parsed = yaml::parse(text, &limits);
    let sound = parsed.failure.is_none() && parsed.documents.len() == 1;
    sound && parsed.documents.first().is_some_and(|document| document.root.to_json() == *expected)
}

fn changes<'e>(root: Option<&Node<'_>>, entries: &[&'e Entry]) -> Changes<'e> {
    let mut changes = Changes { replaced: Vec::new(), elsewhere: Vec::new(), apis: Vec::new() };
    let sections = root.and_then(|root| root.get("providers")).map_or(&[][..], Node::entries);
    for entry in entries.iter().copied() {
        for section in sections {
            let same = section.node.items().iter().filter(|item| is_replaced(item, &[entry]));
            if section.key == entry.api.as_str() {
                changes.replaced.extend(same.map(|item| Replaced { entry, base_type: type_of(item) }));
            } else if same.count() > 0 {
                changes.elsewhere.push((entry, one_line(&section.key)));
            }
        }
    }
    let apis = root.and_then(|root| root.get("apis")).map_or(&[][..], Node::items);
    if !apis.is_empty() {
        let is_served = |api: Api| apis.iter().any(|served| served.as_str() == Some(api.as_str()));
        changes.apis =
            Api::ALL.into_iter().filter(|api| !is_served(*api) && !of_api(entries, *api).is_empty()).collect();
    }
    changes
}

/// The type of a base provider, as far as it says one.
fn type_of(item: &Node<'_>) -> String {
    match item.get("provider_type").map(|node| &node.value) {
        Some(Value::String(text)) => one_line(text),
        _ => "(none)".to_owned(),
    }
}
