//! What is to change in a tree, kept apart from the tree and from its text.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{EditError, Placement};
use crate::field_path::{FieldPath, Segment};
use crate::{Node, Value as Read};

/// What becomes of a node.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    /// Another value takes its place.
    Replace(Value),
    /// It is removed from its collection.
    Remove,
    /// Something changes inside it. A null becomes a collection.
    Inside(Inside),
}

/// Changes in a collection.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Inside {
    /// By the position of the child in the tree as it was read.
    pub(super) children: BTreeMap<usize, Child>,
    pub(super) added: Added,
}

/// What becomes of a child.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Child {
    pub(super) change: Option<Change>,
    /// The new key.
    pub(super) key: Option<String>,
}

/// New children, in the order in which they were added.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Added {
    Entries(Map<String, Value>),
    Items(Vec<Value>),
}

impl Default for Added {
    fn default() -> Self {
        Self::Entries(Map::new())
    }
}

impl Added {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Entries(fields) => fields.is_empty(),
            Self::Items(items) => items.is_empty(),
        }
    }
}

impl Inside {
    /// Whether this child is removed.
    pub(super) fn removes(&self, position: usize) -> bool {
        self.children.get(&position).is_some_and(|child| child.change == Some(Change::Remove))
    }

    /// Whether one of `count` children stays.
    pub(super) fn keeps_any_of(&self, count: usize) -> bool {
        (0..count).any(|position| !self.removes(position))
    }

    fn child(&mut self, position: usize) -> &mut Child {
        self.children.entry(position).or_default()
    }
}

/// The changes inside a node that is not replaced.
fn inside(change: &mut Option<Change>) -> Option<&mut Inside> {
    match change.get_or_insert_with(|| Change::Inside(Inside::default())) {
        Change::Inside(inside) => Some(inside),
        Change::Replace(_) | Change::Remove => None,
    }
}

/// A request for a change at a path.
pub(super) struct Request<'p> {
    pub(super) path: &'p FieldPath,
}

impl Request<'_> {
    /// Gives the field a value. Mappings above it that are absent are added.
    pub(super) fn set(
        &self,
        change: &mut Option<Change>,
        node: &Node<'_>,
        rest: &[Segment],
        value: Value,
    ) -> Result<(), EditError> {
        let Some((segment, rest)) = rest.split_first() else {
            // What was removed before is written anew, even with the same value.
            let is_same = *change != Some(Change::Remove) && node.to_json() == value;
            *change = (!is_same).then_some(Change::Replace(value));
            return Ok(());
        };
        match change {
            Some(Change::Replace(new)) => return self.set_in(new, segment, rest, value),
            Some(Change::Remove) => *change = None,
            _ => {}
        }
        match (segment, position(node, segment)) {
            (_, Some((position, child))) => match inside(change) {
                Some(inside) => self.set(&mut inside.child(position).change, child, rest, value),
                None => Ok(()),
            },
            (Segment::Key(key), None) if matches!(node.value, Read::Mapping(_) | Read::Null) => {
                let Some(Added::Entries(fields)) = inside(change).map(|inside| &mut inside.added) else {
                    return Err(self.no_place("a list"));
                };
                if let (Some(new), Some((segment, rest))) = (fields.get_mut(&**key), rest.split_first()) {
                    return self.set_in(new, segment, rest, value);
                }
                let value = self.wrap(rest, value)?;
                fields.insert(key.clone().into_owned(), value);
                Ok(())
            }
            _ => Err(self.no_place(node.describe())),
        }
    }

    /// Makes a change of a field that is there; sets one that is not.
    pub(super) fn put(
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
        match (position(node, segment), new) {
            (_, Change::Replace(value)) => self.set(change, node, rest, value),
            (Some((position, child)), new) => match inside(change) {
                Some(inside) => self.put(&mut inside.child(position).change, child, inner, new),
                None => Err(self.no_place("another value")),
            },
            (None, _) => Err(self.no_place("absent")),
        }
    }

    /// Gives a field a value in a value that is new.
    fn set_in(&self, at: &mut Value, segment: &Segment, rest: &[Segment], value: Value) -> Result<(), EditError> {
        if let (Value::Null, Segment::Key(_)) = (&*at, segment) {
            *at = Value::Object(Map::new());
        }
        let next = match (segment, at) {
            (Segment::Key(key), Value::Object(fields)) => fields.entry(&**key).or_insert(Value::Null),
            (Segment::Index(index), Value::Array(items)) => {
                items.get_mut(*index).ok_or_else(|| self.no_place("a shorter list"))?
            }
            _ => return Err(self.no_place("another value")),
        };
        if let Some((segment, rest)) = rest.split_first() {
            return self.set_in(next, segment, rest, value);
        }
        *next = value;
        Ok(())
    }

    /// A value below mappings that are new.
    fn wrap(&self, keys: &[Segment], value: Value) -> Result<Value, EditError> {
        keys.iter().rev().try_fold(value, |value, segment| match segment {
            Segment::Key(key) => Ok(Value::Object(Map::from_iter([(key.clone().into_owned(), value)]))),
            Segment::Index(_) => Err(self.no_place("absent")),
        })
    }

    /// Removes the field; whether it was there.
    pub(super) fn remove(
        &self,
        change: &mut Option<Change>,
        node: &Node<'_>,
        rest: &[Segment],
    ) -> Result<bool, EditError> {
        let Some((segment, rest)) = rest.split_first() else { return Err(self.no_place("the whole document")) };
        if let Some(Change::Replace(new)) = change {
            return Ok(remove_in(new, segment, rest));
        }
        let Some((position, child)) = position(node, segment) else {
            return Ok(match (change, segment) {
                (Some(Change::Inside(Inside { added: Added::Entries(fields), .. })), Segment::Key(key)) => {
                    match (fields.get_mut(&**key), rest.split_first()) {
                        (Some(new), Some((segment, rest))) => remove_in(new, segment, rest),
                        _ => fields.shift_remove(&**key).is_some(),
                    }
                }
                _ => false,
            });
        };
        let Some(inside) = inside(change) else { return Ok(false) };
        let slot = &mut inside.child(position).change;
        if rest.is_empty() {
            Ok(slot.replace(Change::Remove) != Some(Change::Remove))
        } else {
            self.remove(slot, child, rest)
        }
    }

    /// Adds items to the end of the list. A list that is absent is added.
    pub(super) fn append(
        &self,
        change: &mut Option<Change>,
        node: &Node<'_>,
        rest: &[Segment],
        values: Vec<Value>,
    ) -> Result<(), EditError> {
        match change.as_mut().and_then(|change| new_value(change, node, rest)) {
            Some(Value::Array(items)) => {
                items.extend(values);
                return Ok(());
            }
            Some(Value::Null) | None => {}
            Some(_) => return Err(self.no_place("another value")),
        }
        let is_kept = !matches!(change, Some(Change::Replace(_) | Change::Remove));
        match rest.split_first().map(|(segment, inner)| (position(node, segment), inner)) {
            Some((Some((position, child)), inner)) if is_kept => match inside(change) {
                Some(inside) => self.append(&mut inside.child(position).change, child, inner, values),
                None => Ok(()),
            },
            None if is_kept && matches!(node.value, Read::Sequence(_)) => {
                match inside(change).map(|inside| &mut inside.added) {
                    Some(Added::Items(items)) => items.extend(values),
                    Some(added) => *added = Added::Items(values),
                    None => {}
                }
                Ok(())
            }
            None if is_kept && node.value != Read::Null => Err(self.no_place(node.describe())),
            _ => self.set(change, node, rest, Value::Array(values)),
        }
    }

    /// Gives the entry another key, in its place.
    pub(super) fn rename(
        &self,
        change: &mut Option<Change>,
        node: &Node<'_>,
        rest: &[Segment],
        key: String,
    ) -> Result<(), EditError> {
        let Some((segment, rest)) = rest.split_first() else { return Err(self.no_place("the whole document")) };
        let Some((position, child)) = position(node, segment) else { return Err(self.no_place("nothing")) };
        let Some(inside) = inside(change) else { return Err(self.no_place("another value")) };
        match (segment, inside.child(position)) {
            (_, slot) if !rest.is_empty() => self.rename(&mut slot.change, child, rest, key),
            (Segment::Key(_), slot) => {
                slot.key = Some(key);
                Ok(())
            }
            (Segment::Index(_), _) => Err(self.no_place("an item")),
        }
    }

    fn no_place(&self, found: &'static str) -> EditError {
        EditError::InvalidPath { path: Box::new(self.path.clone()), found }
    }
}

/// The value at a path, when it is new.
fn new_value<'c>(change: &'c mut Change, node: &Node<'_>, rest: &[Segment]) -> Option<&'c mut Value> {
    let inside = match change {
        Change::Replace(new) => return value_at(new, rest),
        Change::Remove => return None,
        Change::Inside(inside) => inside,
    };
    let (segment, rest) = rest.split_first()?;
    match (position(node, segment), segment, &mut inside.added) {
        (Some((position, child)), ..) => {
            let change = inside.children.get_mut(&position)?.change.as_mut()?;
            new_value(change, child, rest)
        }
        (None, Segment::Key(key), Added::Entries(fields)) => value_at(fields.get_mut(&**key)?, rest),
        _ => None,
    }
}

fn value_at<'v>(value: &'v mut Value, rest: &[Segment]) -> Option<&'v mut Value> {
    rest.iter().try_fold(value, |at, segment| match segment {
        Segment::Key(key) => at.get_mut(&**key),
        Segment::Index(index) => at.get_mut(*index),
    })
}

/// Removes a field of a value that is new; whether it was there.
fn remove_in(at: &mut Value, segment: &Segment, rest: &[Segment]) -> bool {
    if let Some((last, init)) = rest.split_last() {
        let parent = value_at(at, std::slice::from_ref(segment)).and_then(|inner| value_at(inner, init));
        return parent.is_some_and(|parent| remove_in(parent, last, &[]));
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

fn position<'n, 't>(node: &'n Node<'t>, segment: &Segment) -> Option<(usize, &'n Node<'t>)> {
    match segment {
        Segment::Key(key) => {
            let mut entries = node.entries().iter().enumerate();
            entries.find(|(_, entry)| entry.key == *key).map(|(position, entry)| (position, &entry.node))
        }
        Segment::Index(index) => node.items().get(*index).map(|item| (*index, item)),
    }
}

/// The fewest changes that make a node `new`: entries that stay keep their places, and items that stay keep their order. A
/// collection in brackets is replaced as soon as something in it changes. None where nothing changes.
///
/// # Errors
/// The name of what is in the way: an alias of a collection in which something would have to change.
pub(super) fn difference(text: &str, node: &Node<'_>, new: &Value) -> Result<Option<Change>, &'static str> {
    if node.to_json() == *new {
        return Ok(None);
    }
    let own = text.get(node.span.start..).unwrap_or_default();
    let mut inside = Inside::default();
    match (&node.value, new) {
        (Read::Mapping(_), Value::Object(_)) | (Read::Sequence(_), Value::Array(_)) if own.starts_with('*') => {
            return Err("an alias");
        }
        _ if own.starts_with(['{', '[']) => return Ok(Some(Change::Replace(new.clone()))),
        (Read::Mapping(entries), Value::Object(fields)) => {
            for (position, entry) in entries.iter().enumerate() {
                let change = match fields.get(&*entry.key) {
                    Some(value) => difference(text, &entry.node, value)?,
                    None => Some(Change::Remove),
                };
                if change.is_some() {
                    inside.child(position).change = change;
                }
            }
            let added = fields.iter().filter(|(key, _)| node.get(key).is_none());
            inside.added = Added::Entries(added.map(|(key, value)| (key.clone(), value.clone())).collect());
        }
        (Read::Sequence(items), Value::Array(values)) => {
            let mut kept = 0;
            for (position, item) in items.iter().enumerate() {
                if values.get(kept).is_some_and(|value| *value == item.to_json()) {
                    kept += 1;
                } else {
                    inside.child(position).change = Some(Change::Remove);
                }
            }
            inside.added = Added::Items(values.get(kept..).unwrap_or_default().to_vec());
        }
        _ => return Ok(Some(Change::Replace(new.clone()))),
    }
    Ok(Some(Change::Inside(inside)))
}

/// What a node is after a change.
pub(super) fn expected(node: &Node<'_>, change: Option<&Change>, place: Placement) -> Value {
    let inside = match change {
        None => return node.to_json(),
        Some(Change::Replace(value)) => return value.clone(),
        Some(Change::Remove) => return Value::Null,
        Some(Change::Inside(inside)) => inside,
    };
    let change_of = |position: usize| inside.children.get(&position).and_then(|child| child.change.as_ref());
    match (&node.value, &inside.added) {
        (Read::Sequence(items), added) => {
            let items = items.iter().enumerate().filter(|(position, _)| !inside.removes(*position));
            let mut items: Vec<Value> =
                items.map(|(position, item)| expected(item, change_of(position), place)).collect();
            if let Added::Items(added) = added {
                items.extend(added.iter().cloned());
            }
            Value::Array(items)
        }
        (Read::Mapping(_) | Read::Null, Added::Entries(added)) => {
            let entries = node.entries().iter().enumerate().filter(|(position, _)| !inside.removes(*position));
            let entries = entries.map(|(position, entry)| {
                let key = inside.children.get(&position).and_then(|child| child.key.clone());
                (key.unwrap_or_else(|| entry.key.to_string()), expected(&entry.node, change_of(position), place))
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
