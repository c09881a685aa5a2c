//! Edits a tree in place; there is no source text to preserve.

use crate::field_path::{FieldPath, Segment};
use crate::{MappingEntry, Node, Span, Value};

impl<'t> Node<'t> {
    /// Puts a node at `path` and returns whether that was possible. Absent mappings on the path are added. It is not
    /// possible for absent list items and below scalars.
    ///
    /// ```
    /// use kubefoundry_yaml::field_path::FieldPath;
    /// use kubefoundry_yaml::Node;
    /// let mut node = Node::from(&serde_json::json!({"a": 1})).to_owned_node();
    /// assert!(node.insert_at(&FieldPath::parse("b.c"), Node::from(&2.into()).to_owned_node()));
    /// assert!(!node.insert_at(&FieldPath::parse("a.c"), Node::from(&2.into()).to_owned_node()));
    /// assert_eq!(node.to_json(), serde_json::json!({"a": 1, "b": {"c": 2}}));
    /// ```
    pub fn insert_at(&mut self, path: &FieldPath, node: Node<'t>) -> bool {
        let mut place = self;
        for segment in path.segments() {
            place = match segment {
                Segment::Index(index) => match &mut place.value {
                    Value::Sequence(items) => match items.get_mut(*index) {
                        Some(item) => item,
                        None => return false,
                    },
                    _ => return false,
                },
                Segment::Key(key) => {
                    if place.value == Value::Null {
                        place.value = Value::Mapping(Vec::new());
                    }
                    let Value::Mapping(entries) = &mut place.value else { return false };
                    let position = entries.iter().position(|entry| entry.key == *key).unwrap_or(entries.len());
                    if position == entries.len() {
                        let node = Node { value: Value::Null, span: Span::default() };
                        entries.push(MappingEntry { key: key.clone(), key_span: Span::default(), node });
                    }
                    match entries.get_mut(position) {
                        Some(entry) => &mut entry.node,
                        None => return false,
                    }
                }
            };
        }
        *place = node;
        true
    }

    /// Removes the node at `path` and returns whether it existed.
    ///
    /// ```
    /// use kubefoundry_yaml::field_path::FieldPath;
    /// use kubefoundry_yaml::Node;
    /// let mut node = Node::from(&serde_json::json!({"a": [1, 2]})).to_owned_node();
    /// assert!(node.remove_at(&FieldPath::parse("a").index(0)));
    /// assert!(!node.remove_at(&FieldPath::parse("b")));
    /// assert_eq!(node.to_json(), serde_json::json!({"a": [2]}));
    /// ```
    pub fn remove_at(&mut self, path: &FieldPath) -> bool {
        let Some((last, init)) = path.segments().split_last() else { return false };
        let mut place = self;
        for segment in init {
            let next = match (segment, &mut place.value) {
                (Segment::Key(key), Value::Mapping(entries)) => {
                    entries.iter_mut().find(|entry| entry.key == *key).map(|entry| &mut entry.node)
                }
                (Segment::Index(index), Value::Sequence(items)) => items.get_mut(*index),
                _ => None,
            };
            match next {
                Some(next) => place = next,
                None => return false,
            }
        }
        match (last, &mut place.value) {
            (Segment::Key(key), Value::Mapping(entries)) => {
                let before = entries.len();
                entries.retain(|entry| entry.key != *key);
                entries.len() < before
            }
            (Segment::Index(index), Value::Sequence(items)) if *index < items.len() => {
                items.remove(*index);
                true
            }
            _ => false,
        }
    }

    /// Returns every scalar and every empty collection with its path, in document order.
    ///
    /// ```
    /// use kubefoundry_yaml::Node;
    /// let node = Node::from(&serde_json::json!({"a": [{"b": 1}], "c": {}})).to_owned_node();
    /// let paths: Vec<String> = node.leaves().iter().map(|(path, _)| path.to_string()).collect();
    /// assert_eq!(paths, ["a[0].b", "c"]);
    /// ```
    pub fn leaves(&self) -> Vec<(FieldPath, &Node<'t>)> {
        let mut leaves = Vec::new();
        self.collect_leaves(&FieldPath::root(), &mut leaves);
        leaves
    }

    fn collect_leaves<'n>(&'n self, path: &FieldPath, leaves: &mut Vec<(FieldPath, &'n Node<'t>)>) {
        match &self.value {
            Value::Sequence(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    item.collect_leaves(&path.index(index), leaves);
                }
            }
            Value::Mapping(entries) if !entries.is_empty() => {
                for entry in entries {
                    entry.node.collect_leaves(&path.key(entry.key.clone().into_owned()), leaves);
                }
            }
            _ => leaves.push((path.clone(), self)),
        }
    }
}
