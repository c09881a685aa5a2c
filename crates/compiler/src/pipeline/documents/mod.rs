//! The documents of texts: what each one is, what is found in it, and what is suppressed.

pub(crate) mod document;
pub(crate) mod document_role;
pub(crate) mod document_splitter;
pub(crate) mod identity_hash;
pub(crate) mod input_values;
pub(crate) mod run_findings;
pub(crate) mod suppressions;
