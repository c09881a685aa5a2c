//! Facts that many documents ask for, kept by the name under which they were found.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// How many names are kept. The names are those of documents, and there is no end of them.
const MAX_KEPT_NAMES: usize = 1000;

/// Answers by what was asked for. Searching the lines of a file of facts takes as long as a twentieth of a document.
///
/// An answer depends on the question alone, so a kept answer is the one that a search would give.
pub struct FactCache<K, V>(Mutex<BTreeMap<K, V>>);

impl<K: Ord, V: Clone> Default for FactCache<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Ord, V: Clone> FactCache<K, V> {
    /// Creates an empty cache.
    pub const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Returns the kept answer to a question, or finds the answer and keeps it.
    pub fn get_or_find<Q>(&self, question: &Q, find: impl FnOnce() -> V) -> V
    where
        K: Borrow<Q>,
        Q: Ord + ToOwned<Owned = K> + ?Sized,
    {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = kept.get(question) {
            return answer.clone();
        }
        let answer = find();
        if kept.len() < MAX_KEPT_NAMES {
            kept.insert(question.to_owned(), answer.clone());
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_an_answer_once_and_keeps_a_bounded_number() {
        let cache = FactCache::<String, usize>::new();
        for round in 0..2 {
            for number in 0..MAX_KEPT_NAMES {
                assert_eq!(cache.get_or_find(number.to_string().as_str(), || number + round), number);
            }
            assert_eq!(cache.get_or_find("more", || round), round);
        }
        assert_eq!(cache.0.lock().unwrap().len(), MAX_KEPT_NAMES);
    }
}
