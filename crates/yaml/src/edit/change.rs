//! Pending changes of a tree, separate from the tree and from its text.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{EditError, Placement};
use crate::field_path::{FieldPath, Segment};
use crate::{Node, Value as Read};

/// The change of one node.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    /// The node gets another value.
    Replace(Value),
    /// The node is removed from its collection.
    Remove,
    /// Children of the node change. A null becomes a collection.
    Within(CollectionChange),
}

/// The changes of a collection's children.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CollectionChange {
    /// Keyed by the child's position in the tree as it was read.
    pub(super) children: BTreeMap<usize, ChildChange>,
    pub(super) added: Additions,
}

/// The change of one child.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ChildChange {
    pub(super) change: Option<Change>,
    /// The new key, if the entry is renamed.
    pub(super) key: Option<String>,
}

/// New children, in the order in which they are added.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Additions {
    Entries(Map<String, Value>),
    Items(Vec<Value>),
}

impl Default for Additions {
    fn default() -> Self {
        Self::Entries(Map::new())
    }
}

impl Additions {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Entries(fields) => fields.is_empty(),
            Self::Items(items) => items.is_empty(),
        }
    }
}

impl CollectionChange {
    pub(super) fn removes_child(&self, position: usize) -> bool {
        self.children.get(&position).is_some_and(|child| child.change == Some(Change::Remove))
    }

    /// Whether at least one of the collection's `count` original children stays.
    pub(super) fn keeps_any_child(&self, count: usize) -> bool {
        (0..count).any(|position| !self.removes_child(position))
    }

    fn child(&mut self, position: usize) -> &mut ChildChange {
        self.children.entry(position).or_default()
    }
}

/// Returns the changes inside a node, or `None` if the node is replaced or removed.
fn collection_change(change: &mut Option<Change>) -> Option<&mut CollectionChange> {
    match change.get_or_insert_with(|| Change::Within(CollectionChange::default())) {
        Change::Within(inside) => Some(inside),
        Change::Replace(_) | Change::Remove => None,
    }
}

/// A change at a path, which the errors name.
pub(super) struct ChangeRequest<'p> {
    pub(super) path: &'p FieldPath,
}

impl ChangeRequest<'_> {
    /// Sets the field to `value` and adds absent mappings above it. `rest` is the path from `node` to the field.
    pub(super) fn set(
        &self,
        change: &mut Option<Change>,
        node: &Node<'_>,
        rest: &[Segment],
        value: Value,
    ) -> Result<(), EditError> {
        let Some((segment, rest)) = rest.split_first() else {
            // A field that was removed before is written again, even with the same value.
            let is_same = *change != Some(Change::Remove) && node.to_json() == value;
            *change = (!is_same).then_some(Change::Replace(value));
            return Ok(());
        };
        match change {
            Some(Change::Replace(new)) => return self.set_in_new_value(new, segment, rest, value),
            Some(Change::Remove) => *change = None,
            _ => {}
        }
        match (segment, find_child(node, segment)) {
            (_, Some((position, child))) => match collection_change(change) {
                Some(inside) => self.set(&mut inside.child(position).change, child, rest, value),
                None => Ok(()),
            },
            (Segment::Key(key), None) if matches!(node.value, Read::Mapping(_) | Read::Null) => {
                let Some(Additions::Entries(fields)) = collection_change(change).map(|inside| &mut inside.added) else {
                    return Err(self.invalid_path("a list"));
                };
                if let (Some(new), Some((segment, rest))) = (fields.get_mut(&**key), rest.split_first()) {
                    return self.set_in_new_value(new, segment, rest, value);
                }
                let value = self.wrap_in_mappings(rest, value)?;
                fields.insert(key.clone().into_owned(), value);
                Ok(())
            }
            _ => Err(self.invalid_path(node.describe())),
        }
    }

    /// Records a change of an existing field. A replacement also adds an absent field.
    pub(super) fn apply(
        &self,
        change: &mut Option<Change>,
        node: &Node<'_>,
        rest: &[Segment],
        new: Change,
    ) -> Result<(), EditError> {
        let Some((segment, inner)) = rest.split_first() else {
            *change = Some(new);
            return Ok(());
        };
        match (find_child(node, segment), new) {
            (_, Change::Replace(value)) => self.set(change, node, rest, value),
            (Some((position, child)), new) => match collection_change(change) {
                Some(inside) => self.apply(&mut inside.child(position).change, child, inner, new),
                None => Err(self.invalid_path("another value")),
            },
            (None, _) => Err(self.invalid_path("absent")),
        }
    }

    /// Sets a field inside a value that is itself new and so has no text.
    fn set_in_new_value(
        &self,
        at: &mut Value,
        segment: &Segment,
        rest: &[Segment],
        value: Value,
    ) -> Result<(), EditError> {
        if let (Value::Null, Segment::Key(_)) = (&*at, segment) {
            *at = Value::Object(Map::new());
        }
        let next = match (segment, at) {
            (Segment::Key(key), Value::Object(fields)) => fields.entry(&**key).or_insert(Value::Null),
            (Segment::Index(index), Value::Array(items)) => {
                items.get_mut(*index).ok_or_else(|| self.invalid_path("a shorter list"))?
            }
            _ => return Err(self.invalid_path("another value")),
        };
        if let Some((segment, rest)) = rest.split_first() {
            return self.set_in_new_value(next, segment, rest, value);
        }
        *next = value;
        Ok(())
    }

    /// Wraps a value in one new mapping per key.
    fn wrap_in_mappings(&self, keys: &[Segment], value: Value) -> Result<Value, EditError> {
        keys.iter().rev().try_fold(value, |value, segment| match segment {
            Segment::Key(key) => Ok(Value::Object(Map::from_iter([(key.clone().into_owned(), value)]))),
            Segment::Index(_) => Err(self.invalid_path("absent")),
        })
    }

    /// Removes the field and returns whether it existed.
    pub(super) fn remove(
        &self,
        change: &mut Option<Change>,
        node: &Node<'_>,
        rest: &[Segment],
    ) -> Result<bool, EditError> {
        let Some((segment, rest)) = rest.split_first() else { return Err(self.invalid_path("the whole document")) };
        if let Some(Change::Replace(new)) = change {
            return Ok(remove_in_new_value(new, segment, rest));
        }
        let Some((position, child)) = find_child(node, segment) else {
            return Ok(match (change, segment) {
                (
                    Some(Change::Within(CollectionChange { added: Additions::Entries(fields), .. })),
                    Segment::Key(key),
                ) => match (fields.get_mut(&**key), rest.split_first()) {
                    (Some(new), Some((segment, rest))) => remove_in_new_value(new, segment, rest),
                    _ => fields.shift_remove(&**key).is_some(),
                },
                _ => false,
            });
        };
        let Some(inside) = collection_change(change) else { return Ok(false) };
        let slot = &mut inside.child(position).change;
        if rest.is_empty() {
            Ok(slot.replace(Change::Remove) != Some(Change::Remove))
        } else {
            self.remove(slot, child, rest)
        }
    }

    /// Appends items to the list, which is added if it is absent.
    pub(super) fn append(
        &self,
        change: &mut Option<Change>,
        node: &Node<'_>,
        rest: &[Segment],
        values: Vec<Value>,
    ) -> Result<(), EditError> {
        match change.as_mut().and_then(|change| new_value_at(change, node, rest)) {
            Some(Value::Array(items)) => {
                items.extend(values);
                return Ok(());
            }
            Some(Value::Null) | None => {}
            Some(_) => return Err(self.invalid_path("another value")),
        }
        let is_kept = !matches!(change, Some(Change::Replace(_) | Change::Remove));
        match rest.split_first().map(|(segment, inner)| (find_child(node, segment), inner)) {
            Some((Some((position, child)), inner)) if is_kept => match collection_change(change) {
                Some(inside) => self.append(&mut inside.child(position).change, child, inner, values),
                None => Ok(()),
            },
            None if is_kept && matches!(node.value, Read::Sequence(_)) => {
                match collection_change(change).map(|inside| &mut inside.added) {
                    Some(Additions::Items(items)) => items.extend(values),
                    Some(added) => *added = Additions::Items(values),
                    None => {}
                }
                Ok(())
            }
            None if is_kept && node.value != Read::Null => Err(self.invalid_path(node.describe())),
            _ => self.set(change, node, rest, Value::Array(values)),
        }
    }

    /// Gives the entry another key and keeps its position.
    pub(super) fn rename(
        &self,
        change: &mut Option<Change>,
        node: &Node<'_>,
        rest: &[Segment],
        key: String,
    ) -> Result<(), EditError> {
        let Some((segment, rest)) = rest.split_first() else { return Err(self.invalid_path("the whole document")) };
        let Some((position, child)) = find_child(node, segment) else { return Err(self.invalid_path("nothing")) };
        let Some(inside) = collection_change(change) else { return Err(self.invalid_path("another value")) };
        match (segment, inside.child(position)) {
            (_, slot) if !rest.is_empty() => self.rename(&mut slot.change, child, rest, key),
            (Segment::Key(_), slot) => {
                slot.key = Some(key);
                Ok(())
            }
            (Segment::Index(_), _) => Err(self.invalid_path("an item")),
        }
    }

    fn invalid_path(&self, found: &'static str) -> EditError {
        EditError::InvalidPath { path: Box::new(self.path.clone()), found }
    }
}

/// Returns the value at a path if an earlier change added it.
fn new_value_at<'c>(change: &'c mut Change, node: &Node<'_>, rest: &[Segment]) -> Option<&'c mut Value> {
    let inside = match change {
        Change::Replace(new) => return value_at(new, rest),
        Change::Remove => return None,
        Change::Within(inside) => inside,
    };
    let (segment, rest) = rest.split_first()?;
    match (find_child(node, segment), segment, &mut inside.added) {
        (Some((position, child)), ..) => {
            let change = inside.children.get_mut(&position)?.change.as_mut()?;
            new_value_at(change, child, rest)
        }
        (None, Segment::Key(key), Additions::Entries(fields)) => value_at(fields.get_mut(&**key)?, rest),
        _ => None,
    }
}

fn value_at<'v>(value: &'v mut Value, rest: &[Segment]) -> Option<&'v mut Value> {
    rest.iter().try_fold(value, |at, segment| match segment {
        Segment::Key(key) => at.get_mut(&**key),
        Segment::Index(index) => at.get_mut(*index),
    })
}

/// Removes a field of a value that is itself new and returns whether it existed.
fn remove_in_new_value(at: &mut Value, segment: &Segment, rest: &[Segment]) -> bool {
    if let Some((last, init)) = rest.split_last() {
        let parent = value_at(at, std::slice::from_ref(segment)).and_then(|inner| value_at(inner, init));
        return parent.is_some_and(|parent| remove_in_new_value(parent, last, &[]));
    }
    match (segment, at) {
        (Segment::Key(key), Value::Object(fields)) => fields.shift_remove(&**key).is_some(),
        (Segment::Index(index), Value::Array(items)) if *index < items.len() => {
            items.remove(*index);
            true
        }
        _ => false,
    }
}

fn find_child<'n, 't>(node: &'n Node<'t>, segment: &Segment) -> Option<(usize, &'n Node<'t>)> {
    match segment {
        Segment::Key(key) => {
            let mut entries = node.entries().iter().enumerate();
            entries.find(|(_, entry)| entry.key == *key).map(|(position, entry)| (position, &entry.node))
        }
        Segment::Index(index) => node.items().get(*index).map(|item| (*index, item)),
    }
}

/// Returns the smallest change that turns a node into `new`, or `None` if they are equal. Entries that stay keep their
/// positions, and items that stay keep their order. A flow collection is replaced as a whole when anything in it
/// changes.
///
/// # Errors
/// The description of the obstacle: an alias of a collection in which something would have to change.
pub(super) fn minimal_change(text: &str, node: &Node<'_>, new: &Value) -> Result<Option<Change>, &'static str> {
    if node.to_json() == *new {
        return Ok(None);
    }
    let node_text = text.get(node.span.start..).unwrap_or_default();
    let mut inside = CollectionChange::default();
    match (&node.value, new) {
        (Read::Mapping(_), Value::Object(_)) | (Read::Sequence(_), Value::Array(_)) if node_text.starts_with('*') => {
            return Err("an alias");
        }
        _ if node_text.starts_with(['{', '[']) => return Ok(Some(Change::Replace(new.clone()))),
        (Read::Mapping(entries), Value::Object(fields)) => {
            for (position, entry) in entries.iter().enumerate() {
                let change = match fields.get(&*entry.key) {
                    Some(value) => minimal_change(text, &entry.node, value)?,
                    None => Some(Change::Remove),
                };
                if change.is_some() {
                    inside.child(position).change = change;
                }
            }
            let added = fields.iter().filter(|(key, _)| node.get(key).is_none());
            inside.added = Additions::Entries(added.map(|(key, value)| (key.clone(), value.clone())).collect());
        }
        (Read::Sequence(items), Value::Array(values)) => {
            // Greedy matching in order: an item stays when it equals the next wanted value, and is removed otherwise.
            // Wanted values without a match are appended.
            let mut rest = values.as_slice();
            for (position, item) in items.iter().enumerate() {
                match rest.split_first() {
                    Some((value, others)) if *value == item.to_json() => rest = others,
                    _ => inside.child(position).change = Some(Change::Remove),
                }
            }
            inside.added = Additions::Items(rest.to_vec());
        }
        _ => return Ok(Some(Change::Replace(new.clone()))),
    }
    Ok(Some(Change::Within(inside)))
}

/// Returns the value of a node after a change. [`super::TextEditor::finish`] compares the edited text with it.
pub(super) fn apply_to_value(node: &Node<'_>, change: Option<&Change>, place: Placement) -> Value {
    let inside = match change {
        None => return node.to_json(),
        Some(Change::Replace(value)) => return value.clone(),
        Some(Change::Remove) => return Value::Null,
        Some(Change::Within(inside)) => inside,
    };
    let change_of = |position: usize| inside.children.get(&position).and_then(|child| child.change.as_ref());
    match (&node.value, &inside.added) {
        (Read::Sequence(items), added) => {
            let items = items.iter().enumerate().filter(|(position, _)| !inside.removes_child(*position));
            let mut items: Vec<Value> =
                items.map(|(position, item)| apply_to_value(item, change_of(position), place)).collect();
            if let Additions::Items(added) = added {
                items.extend(added.iter().cloned());
            }
            Value::Array(items)
        }
        (Read::Mapping(_) | Read::Null, Additions::Entries(added)) => {
            let entries = node.entries().iter().enumerate().filter(|(position, _)| !inside.removes_child(*position));
            let entries = entries.map(|(position, entry)| {
                let key = inside.children.get(&position).and_then(|child| child.key.clone());
                (key.unwrap_or_else(|| entry.key.to_string()), apply_to_value(&entry.node, change_of(position), place))
            });
            let added = added.iter().map(|(key, value)| (key.clone(), value.clone()));
            Value::Object(match place {
                Placement::First => added.chain(entries).collect(),
                Placement::Last => entries.chain(added).collect(),
            })
        }
        _ => node.to_json(),
    }
}
