//! What a cache keeps of the documents of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::pipeline::field_effects::silent_fields::{DeploymentPattern, SilentFields};
use crate::pipeline::read_order::text_map::TextMap;
use crate::pipeline::results::document_results::{DocumentResults, TextPosition};
use kubefoundry_diagnostics::source::{Source, SourceId, SourceSet};
use kubefoundry_yaml::fingerprint::sha256;

/// The results of the documents of one run, in one form.
#[derive(Clone)]
pub(super) struct UnitCache<O> {
    /// The key of the environment on which all results depend: options, configurations, kustomizations, CRDs.
    pub(super) environment: String,
    pub(super) texts: TextMap<Arc<CachedText<O>>>,
}

impl<O> Default for UnitCache<O> {
    fn default() -> Self {
        Self { environment: String::new(), texts: TextMap::default() }
    }
}

impl<O> UnitCache<O> {
    /// Returns the units of texts with the same name, by key. A key contains the name of its text. `before` are the texts
    /// of the last run.
    pub(super) fn units_of(
        &self,
        id: SourceId,
        source: &Source,
        before: &SourceSet,
    ) -> BTreeMap<&str, &Arc<CachedUnit<O>>> {
        let has_name = |id: SourceId| id.0 < before.len() && before.get(id).name == source.name;
        let texts: Vec<&Arc<CachedText<O>>> = if has_name(id) {
            self.texts.get(id).into_iter().collect()
        } else {
            // A text was added or removed before it.
            self.texts.iter().filter(|(id, _)| has_name(*id)).map(|(_, text)| text).collect()
        };
        texts.into_iter().flat_map(|text| &text.units).map(|placed| (&*placed.key, &placed.unit)).collect()
    }
}

/// The units of a text, in order.
pub(super) struct CachedText<O> {
    pub(super) units: Vec<PlacedUnit<O>>,
    /// Whether there is a unit for each part of the text.
    pub(super) is_complete: bool,
}

/// A unit in its place.
pub(super) struct PlacedUnit<O> {
    pub(super) key: Arc<str>,
    pub(super) position: TextPosition,
    pub(super) unit: Arc<CachedUnit<O>>,
}

impl<O> Clone for PlacedUnit<O> {
    fn clone(&self) -> Self {
        Self { key: Arc::clone(&self.key), position: self.position, unit: Arc::clone(&self.unit) }
    }
}

/// The results of one document, or of a whole text.
pub(super) struct CachedUnit<O> {
    /// The position of the unit when it was cached.
    pub(super) position: TextPosition,
    pub(super) results: DocumentResults<'static, O>,
    /// The patterns of its objects with their estimated work, and the fields without effect that were known then.
    pub(super) patterns: Vec<(DeploymentPattern, usize, SilentFields)>,
    /// What was learned from the objects of the unit.
    pub(super) learned: BTreeMap<DeploymentPattern, SilentFields>,
}

/// Returns the key of a unit: its bytes and the facts about its text that affect it. The results of a whole text
/// include the problems of the text, so they are never shared with a part of another text.
pub(super) fn unit_key(source: &Source, unit: &str, is_part: bool) -> Arc<str> {
    let Source { purpose, name, encoding_error, is_rewritten, directory, subject, .. } = source;
    let mut bytes =
        format!("{purpose:?} {name:?} {encoding_error:?} {is_rewritten} {directory:?} {subject:?} {is_part}\n")
            .into_bytes();
    bytes.extend_from_slice(unit.as_bytes());
    sha256(&bytes).into()
}
