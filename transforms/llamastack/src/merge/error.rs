//! Merge errors, with the messages of the specification: provider, image, reason, resolution.

use super::{BaseError, Entry};
use crate::wire::Api;

/// An error that prevents the merge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// A provider is listed under another API than its package provides.
    #[error(
        "ERROR: Provider API type mismatch\n\nProvider '{provider_id}' (image: {image})\ndeclares api={declared} in \
         lls-provider-spec.yaml\nbut is placed under externalProviders.{}\n\nResolution: Move the provider to \
         externalProviders.{} section in the LLSD spec.",
        .placed.section(), .declared.section()
    )]
    ApiMismatch {
        /// The provider's id.
        provider_id: String,
        /// The provider's image.
        image: String,
        /// The API that its package declares.
        declared: Api,
        /// The API under which it is listed.
        placed: Api,
    },
    /// Two providers have the same id.
    #[error(
        "ERROR: duplicate provider_id '{provider_id}' in externalProviders: found in both {} and {} API \
         sections\n\nProvider: {provider_id}\nImages: {}, {}\n\nResolution: Give each external provider a providerId of \
         its own in the LLSD spec.",
        .first.0.section(), .second.0.section(), .first.1, .second.1
    )]
    Duplicate {
        /// The common id.
        provider_id: String,
        /// The API and the image of the first.
        first: (Api, String),
        /// The API and the image of the second.
        second: (Api, String),
    },
    /// The base configuration is invalid.
    #[error("{}", .0.block("run.yaml"))]
    Base(BaseError),
}

/// Returns the errors of entries that do not depend on the base configuration.
pub(super) fn check_entries(entries: &[&Entry]) -> Vec<MergeError> {
    let mut errors = Vec::new();
    for (position, entry) in entries.iter().enumerate() {
        let before = entries.iter().take(position).find(|before| before.provider_id == entry.provider_id);
        if let Some(before) = before {
            errors.push(MergeError::Duplicate {
                provider_id: entry.provider_id.clone(),
                first: (before.api, before.image.clone()),
                second: (entry.api, entry.image.clone()),
            });
        }
        if entry.api != entry.metadata.api {
            errors.push(MergeError::ApiMismatch {
                provider_id: entry.provider_id.clone(),
                image: entry.image.clone(),
                declared: entry.metadata.api,
                placed: entry.api,
            });
        }
    }
    errors
}
