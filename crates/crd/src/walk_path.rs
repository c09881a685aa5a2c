//! The path of a walk through an object, which allocates only when a violation is reported.

use kubefoundry_yaml::field_path::FieldPath;

/// A position below the value where the walk began, linked to its parents on the stack.
#[derive(Debug, Clone, Copy)]
pub(super) enum WalkPath<'p> {
    /// The path where the walk began.
    Start(&'p FieldPath),
    /// A field of the parent position.
    Key(&'p WalkPath<'p>, &'p str),
    /// An item of the parent position.
    Index(&'p WalkPath<'p>, usize),
}

impl WalkPath<'_> {
    pub(super) fn key<'p>(&'p self, name: &'p str) -> WalkPath<'p> {
        WalkPath::Key(self, name)
    }

    pub(super) fn index(&self, position: usize) -> WalkPath<'_> {
        WalkPath::Index(self, position)
    }

    pub(super) fn to_field_path(self) -> FieldPath {
        match self {
            WalkPath::Start(path) => (*path).clone(),
            WalkPath::Key(parent, name) => parent.to_field_path().key((*name).to_owned()),
            WalkPath::Index(parent, position) => parent.to_field_path().index(position),
        }
    }
}
