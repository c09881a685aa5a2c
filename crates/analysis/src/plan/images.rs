//! Compares the container images of two runs.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::rendered_change::{Object, RenderedChange};
use kubefoundry_kubernetes::manifest;
use kubefoundry_yaml::field_path::Segment;

/// An image that replaces another one in a deployment, or that is new to the output or gone from it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImageChange {
    /// The old image; absent if the new one replaces none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The new image; absent if the old one is not replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Number of deployments with this change.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub deployments: usize,
}

/// Lists the image changes of one deployment: replacements within one field first, then all other added and removed
/// images.
pub(super) fn image_changes(before: &[Object], after: &[Object], changes: &[RenderedChange]) -> Vec<ImageChange> {
    let all = |objects: &[Object]| -> Vec<String> {
        let images = objects.iter().flat_map(|(_, object)| manifest::images(object));
        images.map(str::to_owned).collect()
    };
    let (old, new) = (all(before), all(after));
    let is_image =
        |change: &RenderedChange| matches!(change.path.segments().last(), Some(Segment::Key(key)) if key == "image");
    let text = |value: &Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
    let mut pairs: Vec<(Option<String>, Option<String>)> = changes
        .iter()
        .filter(|change| is_image(change))
        .map(|change| (text(&change.before), text(&change.after)))
        // A label may also be named `image`, so both values must be images of the objects.
        .filter(|(before, after)| {
            before.as_ref().is_some_and(|it| old.contains(it)) && after.as_ref().is_some_and(|it| new.contains(it))
        })
        .collect();
    let removed = old.iter().filter(|image| !new.contains(image)).map(|image| (Some(image.clone()), None));
    let added = new.iter().filter(|image| !old.contains(image)).map(|image| (None, Some(image.clone())));
    let rest: Vec<_> = removed
        .chain(added)
        .filter(|(before, after)| {
            !pairs.iter().any(|(old, new)| (before.is_some() && old == before) || (after.is_some() && new == after))
        })
        .collect();
    pairs.extend(rest);
    pairs.sort();
    pairs.dedup();
    pairs.into_iter().map(|(before, after)| ImageChange { before, after, deployments: 1 }).collect()
}

/// Returns whether a printed object has a field with this image as its value.
pub(super) fn is_named_in(text: &str, image: &str) -> bool {
    let is_edge = |c: Option<char>| c.is_none_or(|c| matches!(c, ' ' | '\n' | '"' | '\''));
    text.match_indices(image).any(|(at, _)| {
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + image.len()..).unwrap_or_default());
        is_edge(before.chars().next_back()) && is_edge(after.chars().next())
    })
}

/// Merges the image changes of all deployments.
pub(super) fn merge<'i>(changes: impl IntoIterator<Item = &'i ImageChange>) -> Vec<ImageChange> {
    let mut all: BTreeMap<(&Option<String>, &Option<String>), usize> = BTreeMap::new();
    for ImageChange { before, after, deployments } in changes {
        *all.entry((before, after)).or_default() += deployments;
    }
    let image_change = |((before, after), deployments): ((&Option<String>, &Option<String>), usize)| ImageChange {
        before: before.clone(),
        after: after.clone(),
        deployments,
    };
    all.into_iter().map(image_change).collect()
}
