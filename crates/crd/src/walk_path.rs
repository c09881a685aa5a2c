//! Where in an object a walk is, without an allocation until something is found there.

use kubefoundry_yaml::field_path::FieldPath;

/// A place below the value that a walk began with.
#[derive(Debug, Clone, Copy)]
pub(super) enum WalkPath<'p> {
    /// Where the walk began.
    Start(&'p FieldPath),
    /// A field of the place above.
    Key(&'p WalkPath<'p>, &'p str),
    /// An item of the place above.
    Index(&'p WalkPath<'p>, usize),
}

impl WalkPath<'_> {
    pub(super) fn key<'p>(&'p self, name: &'p str) -> WalkPath<'p> {
        WalkPath::Key(self, name)
    }

    pub(super) fn index(&self, position: usize) -> WalkPath<'_> {
        WalkPath::Index(self, position)
    }

    pub(super) fn to_field_path(&self) -> FieldPath {
        match self {
            WalkPath::Start(path) => (*path).clone(),
            WalkPath::Key(above, name) => above.to_field_path().key((*name).to_owned()),
            WalkPath::Index(above, position) => above.to_field_path().index(*position),
        }
    }
}
