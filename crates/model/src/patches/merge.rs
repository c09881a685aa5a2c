//! The merge of a patch into an object, by the rules of server-side apply.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::list_items::{ItemIndex, ItemKeys, ListRule};
use kubefoundry_deployment::codes;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_transform::{ListType, PatchWrite};
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// A merge of one patch into one object.
pub(super) struct Merge<'m> {
    /// What the CRD says about the list at a path.
    pub(super) list_type: &'m dyn Fn(&FieldPath) -> Option<ListType>,
    /// The field with the text whose content is merged; `None` if the object itself is.
    pub(super) text: Option<&'m FieldPath>,
    /// Every value that is written or removed.
    pub(super) writes: &'m mut Vec<PatchWrite>,
    pub(super) problems: &'m mut Vec<MergeProblem>,
}

/// A part of a patch that cannot be merged, or that changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MergeProblem {
    /// An item of a list without the keys by which its items are matched.
    NoKey { item: FieldPath, keys: String },
    /// An item of a list with the same keys as one before it.
    SameKey { item: FieldPath, keys: String },
    /// A removal of a field that does not exist.
    NothingToRemove { patch: FieldPath },
}

/// Reports the problems of merging a patch into its targets, each once. A field may be absent from some targets, but not
/// from all of them.
pub(super) fn report_all(problems: &[MergeProblem], targets: usize, findings: &mut Findings<'_>) {
    let mut counts: BTreeMap<&MergeProblem, usize> = BTreeMap::new();
    for problem in problems {
        *counts.entry(problem).or_default() += 1;
    }
    for (problem, count) in counts {
        if count >= targets || !matches!(problem, MergeProblem::NothingToRemove { .. }) {
            problem.report(findings);
        }
    }
}

impl MergeProblem {
    fn report(&self, findings: &mut Findings<'_>) {
        match self {
            Self::NoKey { item, keys } => {
                let message = format!("{item} has no {keys}, by which items of this list are matched");
                findings
                    .report(&codes::PATCH_WITHOUT_ITEM_KEY, item, message)
                    .help(format!("write it: an item with the same {keys} is changed, and any other is added"));
            }
            Self::SameKey { item, keys } => {
                let message = format!("{item} has the same {keys} as an item before it");
                findings
                    .report(&codes::PATCH_WITHOUT_ITEM_KEY, item, message)
                    .help("each item occurs once: put its changes together");
            }
            Self::NothingToRemove { patch } => {
                let message = format!("{patch} is null, but there is nothing to remove");
                findings
                    .report(&codes::PATCH_WITHOUT_EFFECT, FieldRef::key(patch), message)
                    .help("remove the line; null removes a field that is generated");
            }
        }
    }
}

impl Merge<'_> {
    /// Merges `patch`, which is at `from` in the input, into `target`, which is at `at` in the object.
    pub(super) fn merge(&mut self, target: &mut Value, patch: &Value, at: &FieldPath, from: &FieldPath) {
        match patch {
            Value::Object(changes) => {
                if !target.is_object() {
                    *target = Value::Object(Map::new());
                }
                let Some(fields) = target.as_object_mut() else { return };
                if changes.is_empty() {
                    self.record(at, from);
                }
                for (key, change) in changes {
                    self.merge_field(fields, key, change, at, from);
                }
            }
            Value::Array(changes) => {
                if !target.is_array() {
                    *target = Value::Array(Vec::new());
                }
                let Some(items) = target.as_array_mut() else { return };
                self.merge_list(items, changes, at, from);
            }
            scalar => {
                *target = scalar.clone();
                self.record(at, from);
            }
        }
    }

    fn merge_field(
        &mut self,
        fields: &mut Map<String, Value>,
        key: &str,
        change: &Value,
        at: &FieldPath,
        from: &FieldPath,
    ) {
        let (at, from) = (at.key(key.to_owned()), from.key(key.to_owned()));
        if !change.is_null() {
            self.merge(fields.entry(key).or_insert(Value::Null), change, &at, &from);
        } else if fields.shift_remove(key).is_some() {
            self.record(&at, &from);
        } else {
            self.problems.push(MergeProblem::NothingToRemove { patch: from });
        }
    }

    fn merge_list(&mut self, items: &mut Vec<Value>, changes: &[Value], at: &FieldPath, from: &FieldPath) {
        let declared = self.text.is_none().then(|| (self.list_type)(at)).flatten();
        let field = at.segments().last().and_then(Segment::as_key).unwrap_or_default();
        match ListRule::choose(declared, field, items, changes) {
            ListRule::Whole => {
                items.clear();
                self.record(at, from);
                for (index, change) in changes.iter().enumerate() {
                    let mut item = Value::Null;
                    self.merge(&mut item, change, &at.index(index), &from.index(index));
                    items.push(item);
                }
            }
            ListRule::Set => {
                let known = items.iter().enumerate().map(|(position, item)| (item.to_string(), position));
                let mut known: BTreeMap<String, usize> = known.collect();
                for (index, change) in changes.iter().enumerate().filter(|(_, change)| !change.is_null()) {
                    let position = *known.entry(change.to_string()).or_insert(items.len());
                    self.record(&at.index(position), &from.index(index));
                    if position == items.len() {
                        items.push(change.clone());
                    }
                }
            }
            ListRule::Items(keys) => self.merge_items(items, changes, &keys, at, from),
        }
    }

    fn merge_items(
        &mut self,
        items: &mut Vec<Value>,
        changes: &[Value],
        keys: &ItemKeys,
        at: &FieldPath,
        from: &FieldPath,
    ) {
        let (mut index, mut changed) = (ItemIndex::default(), BTreeSet::new());
        for (position, item) in items.iter().enumerate() {
            index.add(item, position, keys);
        }
        for (number, change) in changes.iter().enumerate() {
            let from = from.index(number);
            let Some(identity) = keys.identity(change) else {
                self.problems.push(MergeProblem::NoKey { item: from, keys: keys.describe() });
                continue;
            };
            if !changed.insert(identity) {
                self.problems.push(MergeProblem::SameKey { item: from, keys: keys.describe() });
                continue;
            }
            let known = index.find(change, keys);
            let position = known.unwrap_or(items.len());
            if known.is_none() {
                items.push(Value::Object(Map::new()));
            }
            if let Some(item) = items.get_mut(position) {
                self.merge(item, change, &at.index(position), &from);
            }
        }
    }

    fn record(&mut self, at: &FieldPath, from: &FieldPath) {
        let (path, inside) = match self.text {
            Some(text) => (text.clone(), Some(at.clone())),
            None => (at.clone(), None),
        };
        self.writes.push(PatchWrite { path, inside, patch: from.clone() });
    }
}
