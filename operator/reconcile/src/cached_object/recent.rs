//! The trees of cached objects that were used last.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};

use serde_json::Value;

use kubefoundry_controller_runtime::mutex::lock;

/// Number of trees that are kept. Each takes tens of kilobytes. The controllers of a process reconcile an object within
/// moments of its change, and few objects change in a moment.
const MAX_TREES: usize = 64;

/// The trees that the process used last.
pub(super) static TREES: RecentTrees = RecentTrees(Mutex::new(VecDeque::new()));

/// Trees that were used last, the oldest first.
pub(super) struct RecentTrees(Mutex<VecDeque<Arc<Value>>>);

/// The tree of one object, as long as it is among those that were used last, or in use.
#[derive(Debug)]
pub(super) struct RecentTree(Mutex<Weak<Value>>);

impl RecentTrees {
    /// Adds a tree, and returns where to find it again.
    pub(super) fn add(&self, tree: Arc<Value>) -> RecentTree {
        let recent = RecentTree(Mutex::new(Arc::downgrade(&tree)));
        self.keep(tree);
        recent
    }

    /// Returns the tree of an object. `read` is called if it is no longer there.
    pub(super) fn get_or_read(&self, recent: &RecentTree, read: impl FnOnce() -> Value) -> Arc<Value> {
        let mut known = lock(&recent.0);
        if let Some(tree) = known.upgrade() {
            return tree;
        }
        let tree = Arc::new(read());
        *known = Arc::downgrade(&tree);
        drop(known);
        self.keep(Arc::clone(&tree));
        tree
    }

    fn keep(&self, tree: Arc<Value>) {
        let mut trees = lock(&self.0);
        let oldest = if trees.len() == MAX_TREES { trees.pop_front() } else { None };
        trees.push_back(tree);
        drop(trees);
        // Freed without the lock: it is a tree of many parts.
        drop(oldest);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_tree_is_read_again_only_after_many_others() {
        let trees = RecentTrees(Mutex::default());
        let add_others = || (0..MAX_TREES).for_each(|number| drop(trees.add(Arc::new(json!(number)))));
        let (tree, reads) = (json!({"metadata": {"name": "phi"}}), Cell::new(0));
        let recent = trees.add(Arc::new(tree.clone()));
        let get = || {
            trees.get_or_read(&recent, || {
                reads.set(reads.get() + 1);
                tree.clone()
            })
        };
        assert_eq!((&*get(), reads.get()), (&tree, 0));
        add_others();
        let used = get();
        assert_eq!((&*used, reads.get()), (&tree, 1));
        // In use, it is not read again, however many others follow.
        add_others();
        assert!(Arc::ptr_eq(&used, &get()));
        assert_eq!(reads.get(), 1);
    }
}
