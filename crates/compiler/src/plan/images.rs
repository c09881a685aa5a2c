//! Container images that come and go.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::rendered_change::{Object, RenderedChange};
use kubefoundry_kubernetes::manifest;
use kubefoundry_yaml::field_path::Segment;

/// An image that takes the place of another one in a deployment, or that no deployment had before or has any more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ImageChange {
    /// The image that goes; absent when another one comes beside what is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The image that comes; absent when one goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// In how many deployments.
    pub deployments: usize,
}

/// The images of one deployment that change: what takes whose place where both stand in one field, and the rest.
pub(super) fn changed(before: &[Object], after: &[Object], movements: &[RenderedChange]) -> Vec<ImageChange> {
    let all = |objects: &[Object]| -> Vec<String> {
        let images = objects.iter().flat_map(|(_, object)| manifest::images(object));
        images.map(str::to_owned).collect()
    };
    let (old, new) = (all(before), all(after));
    let is_image = |movement: &RenderedChange| matches!(movement.path.segments().last(), Some(Segment::Key(key)) if key == "image");
    let text = |value: &Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
    let mut pairs: Vec<(Option<String>, Option<String>)> = movements
        .iter()
        .filter(|movement| is_image(movement))
        .map(|movement| (text(&movement.before), text(&movement.after)))
        // A label may be called so, too.
        .filter(|(before, after)| {
            before.as_ref().is_some_and(|it| old.contains(it)) && after.as_ref().is_some_and(|it| new.contains(it))
        })
        .collect();
    let gone = old.iter().filter(|image| !new.contains(image)).map(|image| (Some(image.clone()), None));
    let come = new.iter().filter(|image| !old.contains(image)).map(|image| (None, Some(image.clone())));
    let rest: Vec<_> = gone
        .chain(come)
        .filter(|(before, after)| {
            !pairs.iter().any(|(old, new)| (before.is_some() && old == before) || (after.is_some() && new == after))
        })
        .collect();
    pairs.extend(rest);
    pairs.sort();
    pairs.dedup();
    pairs.into_iter().map(|(before, after)| ImageChange { before, after, deployments: 1 }).collect()
}

/// Whether a printed object has a field with this value.
pub(super) fn is_named_in(text: &str, image: &str) -> bool {
    let is_edge = |c: Option<char>| c.is_none_or(|c| matches!(c, ' ' | '\n' | '"' | '\''));
    text.match_indices(image).any(|(at, _)| {
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + image.len()..).unwrap_or_default());
        is_edge(before.chars().next_back()) && is_edge(after.chars().next())
    })
}

/// The image changes of all deployments, each once.
pub(super) fn sum<'i>(changes: impl IntoIterator<Item = &'i ImageChange>) -> Vec<ImageChange> {
    let mut all: BTreeMap<(&Option<String>, &Option<String>), usize> = BTreeMap::new();
    for ImageChange { before, after, deployments } in changes {
        *all.entry((before, after)).or_default() += deployments;
    }
    let one = |((before, after), deployments): ((&Option<String>, &Option<String>), usize)| ImageChange {
        before: before.clone(),
        after: after.clone(),
        deployments,
    };
    all.into_iter().map(one).collect()
}
