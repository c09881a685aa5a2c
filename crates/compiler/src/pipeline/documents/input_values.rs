//! The documents of an input as values, for analyses that change them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::document::Document;
use super::document_role::InputDocument;
use crate::options::Options;
use crate::reading::Documents;
use kubefoundry_diagnostics::source::{SourceId, SourceSet};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::Span;

/// Reads single documents of an input again.
#[derive(Debug)]
pub struct InputValues<'s> {
    sources: &'s SourceSet,
    limits: yaml::Limits,
    /// The items of lists, which cannot be read on their own.
    items: BTreeMap<(SourceId, usize, Span), Value>,
}

impl<'s> InputValues<'s> {
    /// Prepares to read these documents. Each list among them is read once.
    pub fn new<'i>(
        sources: &'s SourceSet,
        options: &Options,
        inputs: impl IntoIterator<Item = &'i Arc<InputDocument>>,
    ) -> Self {
        let lists: BTreeSet<SourceId> =
            inputs.into_iter().filter(|input| input.item).map(|input| input.source).collect();
        let mut items = BTreeMap::new();
        for id in lists {
            let source = sources.get(id);
            let mut documents = Vec::new();
            for document in Documents::new(options.composition, source, &options.limits) {
                Document::new(id, source, document).flatten(options.composition, &mut documents, &mut Vec::new());
            }
            for document in documents.iter().filter(|document| document.item) {
                items.insert((id, document.index(), document.span), document.to_json());
            }
        }
        Self { sources, limits: options.limits, items }
    }

    /// Returns a document as JSON, with the apiVersion and kind that its list may imply, or `None` if it cannot be read
    /// or is an item of a list that was not to be read.
    pub fn get(&self, input: &InputDocument) -> Option<Value> {
        if input.item {
            return self.items.get(&(input.source, input.index, input.span)).cloned();
        }
        let text = self.sources.get(input.source).text.get(input.span.start..input.span.end)?;
        yaml::documents(text, &self.limits).next().map(|document| document.root.to_json())
    }
}
