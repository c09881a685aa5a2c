//! What every document of a run is transformed with.

use super::conformance::CrdSchemas;
use super::skeletons::Skeletons;
use crate::composition;
use crate::options::Options;
use kubefoundry_transform::{Configuration, InstalledSchemas, PriorChoice, RunContext, Thoroughness};

/// What every document of a run is transformed with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Environment<'s> {
    pub(super) configuration: &'s dyn Configuration,
    pub(super) schemas: Option<&'s CrdSchemas<'s>>,
    /// The skeletons, in a run that is given no dump of CRDs.
    pub(super) skeletons: Option<&'s Skeletons>,
    pub(super) options: &'s Options,
    pub(super) thoroughness: Thoroughness,
    /// The choice that was made before, which is kept.
    pub(super) chosen: Option<&'s PriorChoice>,
}

impl<'s> Environment<'s> {
    /// The same as transformations see it.
    pub(super) fn context(&self) -> RunContext<'s> {
        let Self { configuration, schemas, options, thoroughness, chosen, .. } = *self;
        RunContext {
            images: &options.images,
            crd_versions: &options.crd_versions,
            schemas_choose_crd_version: options.crds,
            runtimes: &options.runtimes,
            owner_references: options.owner_references,
            settings: &options.settings,
            configuration,
            schemas: schemas.map(|schemas| schemas as &dyn InstalledSchemas),
            generates: composition::generates,
            thoroughness,
            chosen,
        }
    }
}
