//! A mapping under construction: conversion of keys to strings, duplicates, and merge keys (`<<`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::build::FinishedNode;
use super::scalar;
use super::{Failure, FailureKind, MappingEntry, Node, Span, Value};

/// Number of keys from which lookups use an index instead of a linear search.
const MIN_INDEXED_KEYS: usize = 16;

/// A key whose value has not been read yet.
pub(super) struct PendingKey<'t> {
    span: Span,
    role: KeyRole<'t>,
}

enum KeyRole<'t> {
    Name(Cow<'t, str>),
    Merge,
    /// The key was refused, so its value is dropped.
    Refused,
}

impl<'t> PendingKey<'t> {
    /// Converts a finished node to a key. A key that JSON cannot represent is reported and refused.
    pub(super) fn new(done: FinishedNode<'t>, found: &mut Vec<Failure>) -> Self {
        let span = done.node.span;
        if done.is_merge {
            return Self { span, role: KeyRole::Merge };
        }
        let described = done.node.describe();
        let text = match done.node.value {
            Value::String(text) => text,
            _ => Cow::Borrowed(""),
        };
        let refusal = match done.scalar.map(|scalar| scalar::scalar_to_key(scalar, text)) {
            Some(Ok(name)) => return Self { span, role: KeyRole::Name(name) },
            Some(Err(refusal)) => refusal.to_owned(),
            None => format!("{described} as a key; expected a string"),
        };
        found.push(Failure::new(FailureKind::NotJson, span, refusal));
        Self { span, role: KeyRole::Refused }
    }
}

/// A mapping whose end has not been reached.
#[derive(Default)]
pub(super) struct MappingFrame<'t> {
    entries: Vec<MappingEntry<'t>>,
    index: BTreeMap<Cow<'t, str>, usize>,
    /// Sorted indexes of the entries that came from `<<`.
    merged: Vec<usize>,
    pending: Option<PendingKey<'t>>,
    first_start: Option<usize>,
    last_end: Option<usize>,
}

impl<'t> MappingFrame<'t> {
    pub(super) fn awaits_key(&self) -> bool {
        self.pending.is_none()
    }

    /// Returns the end of the key whose value comes next.
    pub(super) fn key_end(&self) -> Option<usize> {
        self.pending.as_ref().map(|key| key.span.end)
    }

    pub(super) fn first_start(&self) -> Option<usize> {
        self.first_start
    }

    pub(super) fn last_end(&self) -> Option<usize> {
        self.last_end
    }

    pub(super) fn into_entries(self) -> Vec<MappingEntry<'t>> {
        self.entries
    }

    pub(super) fn begin_entry(&mut self, key: PendingKey<'t>) {
        self.first_start.get_or_insert(key.span.start);
        self.last_end = Some(key.span.end);
        self.pending = Some(key);
    }

    /// Stores the value of the pending key.
    pub(super) fn finish_entry(&mut self, done: FinishedNode<'t>, found: &mut Vec<Failure>) {
        let Some(key) = self.pending.take() else { return };
        self.last_end = Some(done.node.span.end.max(key.span.end));
        match key.role {
            KeyRole::Refused => {}
            KeyRole::Merge => self.merge_value(key.span, done, found),
            KeyRole::Name(name) => {
                self.set_entry(MappingEntry { key: name, key_span: key.span, node: done.node }, found);
            }
        }
    }

    fn set_entry(&mut self, entry: MappingEntry<'t>, found: &mut Vec<Failure>) {
        let Some(at) = self.position(&entry.key) else {
            self.push(entry);
            return;
        };
        // A key that is set explicitly replaces a merged one, as in go-yaml; strict mode reports it.
        let merged = self.merged.binary_search(&at);
        let Some(earlier) = self.entries.get_mut(at) else { return };
        if let Ok(position) = merged {
            found.push(merge_override_failure(&entry.key, entry.key_span, earlier.key_span));
            *earlier = entry;
            self.merged.remove(position);
        } else {
            let message = format!("the key {:?} occurs twice in one mapping", entry.key);
            let failure = Failure::new(FailureKind::DuplicateKey, entry.key_span, message);
            found.push(failure.with_related(earlier.key_span, "first set here"));
        }
    }

    fn merge_value(&mut self, key_span: Span, done: FinishedNode<'t>, found: &mut Vec<Failure>) {
        let refuse = |node: &Node<'t>| {
            let message = format!("`<<` with {}; expected a mapping or a list of mappings", node.describe());
            Failure::new(FailureKind::BadMerge, node.span, message)
        };
        match done.node.value {
            Value::Mapping(entries) => self.merge_entries(key_span, entries, found),
            // As in go-yaml, a list must be written out; an alias of a list is refused.
            Value::Sequence(items) if !done.is_alias => {
                for item in items {
                    if let Value::Mapping(entries) = item.value {
                        self.merge_entries(key_span, entries, found);
                    } else {
                        found.push(refuse(&item));
                    }
                }
            }
            // An unknown alias, which is already reported.
            Value::Null if done.scalar.is_none() => {}
            _ => found.push(refuse(&done.node)),
        }
    }

    fn merge_entries(&mut self, key_span: Span, entries: Vec<MappingEntry<'t>>, found: &mut Vec<Failure>) {
        for entry in entries {
            if let Some(earlier) = self.position(&entry.key).and_then(|at| self.entries.get(at)) {
                found.push(merge_override_failure(&entry.key, key_span, earlier.key_span));
            } else {
                self.merged.push(self.entries.len());
                self.push(entry);
            }
        }
    }

    fn push(&mut self, entry: MappingEntry<'t>) {
        if self.entries.len() == MIN_INDEXED_KEYS {
            self.index = self.entries.iter().enumerate().map(|(at, entry)| (entry.key.clone(), at)).collect();
        }
        if self.entries.len() >= MIN_INDEXED_KEYS {
            self.index.insert(entry.key.clone(), self.entries.len());
        }
        self.entries.push(entry);
    }

    fn position(&self, key: &str) -> Option<usize> {
        if self.entries.len() > MIN_INDEXED_KEYS {
            self.index.get(key).copied()
        } else {
            self.entries.iter().position(|entry| entry.key == key)
        }
    }
}

fn merge_override_failure(key: &str, span: Span, other: Span) -> Failure {
    let message = format!("the key {key:?} is merged through `<<` and set directly, expected one of the two");
    Failure::new(FailureKind::MergeOverride, span, message).with_related(other, "also set here")
}
