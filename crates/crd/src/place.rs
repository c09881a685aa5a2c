//! Where in an object a walk is, without an allocation until something is found there.

use kubefoundry_yaml::field_path::FieldPath;

/// A place below the value that a walk began with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place<'p> {
    /// Where the walk began.
    Start(&'p FieldPath),
    /// A field of the place above.
    Key(&'p Place<'p>, &'p str),
    /// An item of the place above.
    Index(&'p Place<'p>, usize),
}

impl Place<'_> {
    pub(super) fn key<'p>(&'p self, name: &'p str) -> Place<'p> {
        Place::Key(self, name)
    }

    pub(super) fn index(&self, position: usize) -> Place<'_> {
        Place::Index(self, position)
    }

    pub(super) fn path(&self) -> FieldPath {
        match self {
            Place::Start(path) => (*path).clone(),
            Place::Key(above, name) => above.path().key((*name).to_owned()),
            Place::Index(above, position) => above.path().index(*position),
        }
    }
}
