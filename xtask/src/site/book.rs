//! The book as mdBook passes it to a preprocessor and reads it back, in JSON.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Book {
    pub(super) items: Vec<Item>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(super) enum Item {
    Chapter(Chapter),
    Separator,
    PartTitle(String),
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Chapter {
    pub(super) name: String,
    pub(super) content: String,
    /// The place in the table of contents, such as 3.1. It decides how deep the sidebar shows the chapter.
    pub(super) number: Option<Vec<u32>>,
    pub(super) sub_items: Vec<Item>,
    /// The place in the site, with the extension `md`; before [`super::prepare`] the file, relative to `docs/`.
    pub(super) path: Option<PathBuf>,
    pub(super) source_path: Option<PathBuf>,
    pub(super) parent_names: Vec<String>,
}

impl Chapter {
    /// Returns an empty chapter that can be added at the end of this one.
    pub(super) fn new_child(&self, name: &str) -> Chapter {
        let position = u32::try_from(self.sub_items.len()).unwrap_or(u32::MAX).saturating_add(1);
        let number = self.number.clone().map(|mut number| {
            number.push(position);
            number
        });
        let mut parent_names = self.parent_names.clone();
        parent_names.push(self.name.clone());
        Chapter { name: name.to_owned(), number, parent_names, ..Chapter::default() }
    }
}
