//! The log of a merge.

use super::Entry;
use super::apply::Changes;

/// The text of `merge-log.txt`, and the warnings in it.
pub(super) struct Log {
    pub(super) text: String,
    pub(super) warnings: Vec<String>,
}

impl Log {
    /// Writes the log of a merge. `changes` is `None` if there was no base configuration.
    pub(super) fn new(entries: &[&Entry], changes: Option<&Changes>) -> Self {
        let mut lines = vec![format!("External providers: {}", entries.len())];
        for entry in entries {
            let Entry { provider_id, api, image, metadata, .. } = entry;
            let provider_type = &metadata.provider_type;
            lines.push(format!("Added '{provider_id}' to API '{api}' (type: {provider_type}, image: {image})"));
        }
        let mut warnings = Vec::new();
        if let Some(changes) = changes {
            for replaced in &changes.replaced {
                let entry = replaced.entry;
                warnings.push(format!(
                    "External provider '{}' overrides base provider in API '{}'\n  Base type: {}\n  External type: {}",
                    entry.provider_id, entry.api, replaced.base_type, entry.metadata.provider_type
                ));
            }
            lines.extend(warnings.iter().cloned());
            for (entry, section) in &changes.elsewhere {
                let id = &entry.provider_id;
                lines.push(format!(
                    "Kept base provider '{id}' in API '{section}': the external one is in '{}'",
                    entry.api
                ));
            }
            for api in &changes.apis {
                lines.push(format!("Added '{api}' to apis"));
            }
        } else {
            lines.push("No base configuration: only extra-providers.yaml is written".to_owned());
        }
        Self { text: lines.join("\n") + "\n", warnings }
    }
}
