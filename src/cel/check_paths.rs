//! Which fields a rule reads.

use super::check::Checker;
use super::syntax::{Kind, Node};
use crate::path::FieldPath;

impl Checker<'_> {
    /// The field that an expression names, if it begins at a variable and every key is written out.
    pub(super) fn path(&self, node: &Node) -> Option<FieldPath> {
        match &node.kind {
            Kind::Variable(name) => self.begins_path(node).then(|| FieldPath::root().key(name.clone())),
            Kind::Select { operand, field, .. } => Some(self.path(operand)?.key(field.clone())),
            Kind::Index { operand, index } => match &index.kind {
                Kind::Text(key) => Some(self.path(operand)?.key(key.clone())),
                Kind::Int(position) => Some(self.path(operand)?.index(usize::try_from(*position).ok()?)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether [`Self::path`] has something to say, at less cost.
    pub(super) fn begins_path(&self, node: &Node) -> bool {
        match &node.kind {
            Kind::Variable(name) => self.variables.iter().any(|(declared, _)| declared == name) && !self.is_local(node),
            Kind::Select { operand, .. } => self.begins_path(operand),
            Kind::Index { operand, index } => {
                matches!(index.kind, Kind::Text(_) | Kind::Int(0..)) && self.begins_path(operand)
            }
            _ => false,
        }
    }

    /// Whether an expression begins at a name that a macro bound: its range has been warned about.
    pub(super) fn is_local(&self, node: &Node) -> bool {
        match &node.kind {
            Kind::Variable(name) => self.locals.iter().any(|(local, _)| local == name),
            Kind::Select { operand, .. } | Kind::Index { operand, .. } => self.is_local(operand),
            _ => false,
        }
    }
}
