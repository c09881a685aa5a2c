//! The results of documents and of runs.

pub(crate) mod compilation;
pub(crate) mod document_results;
pub(crate) mod environment_merger;
pub(crate) mod output_linker;
