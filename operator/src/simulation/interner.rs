//! Numbers for values, so that states are small and equal ones are found quickly.

#![expect(clippy::disallowed_types, reason = "maps are never iterated, so their order changes nothing")]

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Gives equal values equal numbers, from zero on.
#[derive(Debug)]
pub(super) struct Interner<K, V = K> {
    ids: HashMap<K, u32>,
    values: Vec<Arc<V>>,
}

impl<K, V> Default for Interner<K, V> {
    fn default() -> Self {
        Self { ids: HashMap::new(), values: Vec::new() }
    }
}

impl<K: Hash + Eq + Clone> Interner<K> {
    pub(super) fn intern(&mut self, value: K) -> u32 {
        let key = value.clone();
        self.intern_as(key, value)
    }
}

impl<K: Hash + Eq, V> Interner<K, V> {
    /// Interns a value by a key that determines it.
    pub(super) fn intern_as(&mut self, key: K, value: V) -> u32 {
        let next = u32::try_from(self.values.len()).expect("fewer values than numbers");
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.values.push(Arc::new(value));
        }
        id
    }

    pub(super) fn get(&self, id: u32) -> Arc<V> {
        Arc::clone(&self.values[id as usize])
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }
}

/// Results that are computed once.
#[derive(Debug)]
pub(super) struct Memo<K, V>(HashMap<K, V>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Hash + Eq, V: Clone> Memo<K, V> {
    pub(super) fn get(&self, key: &K) -> Option<V> {
        self.0.get(key).cloned()
    }

    pub(super) fn set(&mut self, key: K, value: V) -> V {
        self.0.insert(key, value.clone());
        value
    }
}
