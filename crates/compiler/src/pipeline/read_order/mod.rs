//! What is read before the first document is transformed, and the order of the rest.

pub(crate) mod first_texts;
pub(crate) mod options_and_crds;
pub(crate) mod read_plan;
pub(crate) mod text_map;
