//! The environment of a run, with which every document is transformed.

use super::kept_choices::KeptChoices;
use crate::options::Options;
use crate::pipeline::checks::installed_crds::CrdSchemas;
use crate::pipeline::checks::skeletons::Skeletons;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_transform::{
    Configuration, InputObject, InstalledSchemas, PatchedObject, PriorChoice, RunContext, Thoroughness,
};

/// The shared inputs of all transformations of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Environment<'s> {
    pub(crate) configuration: &'s dyn Configuration,
    pub(crate) schemas: Option<&'s CrdSchemas<'s>>,
    /// The skeletons, in a run without CRDs.
    pub(crate) skeletons: Option<&'s Skeletons>,
    /// The skeletons that patched objects are checked against, also in an attempt.
    pub(crate) patch_skeletons: Option<&'s Skeletons>,
    pub(crate) options: &'s Options,
    pub(crate) thoroughness: Thoroughness,
    /// An earlier choice of a provider, which is kept.
    pub(crate) chosen: Option<&'s PriorChoice>,
    /// The earlier choices of all deployments, in a run that keeps them.
    pub(crate) kept_choices: &'s KeptChoices,
    /// Reports patches of what a field decides. `None` for an attempt, which only asks what a change of a deployment
    /// would do.
    pub(crate) patch_judge: Option<PatchJudge>,
}

/// A function that reports patches of what a field decides. It renders the deployment again, so the environment has it
/// as a value: transforming an object may not depend on a module that does so.
pub(crate) type PatchJudge = fn(PatchedDeployment<'_>, &Environment<'_>, &mut Findings<'_>);

/// A deployment with patched objects, whose patches are judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PatchedDeployment<'d> {
    pub(crate) object: &'d InputObject<'d>,
    /// The provider that rendered it.
    pub(crate) provider: Option<&'d str>,
    /// All of its objects.
    pub(crate) finished: &'d [Manifest],
    pub(crate) patched: &'d [PatchedObject],
}

impl<'s> Environment<'s> {
    /// Returns the environment for a rendering beside the run. It has no skeletons, because only the run itself reports
    /// findings from them.
    pub(crate) fn beside_run(mut self, thoroughness: Thoroughness) -> Self {
        self.thoroughness = thoroughness;
        self.skeletons = None;
        self
    }

    /// Returns the environment for an attempt. It has no judge of patches, which makes attempts itself.
    pub(crate) fn for_attempt(self, thoroughness: Thoroughness) -> Self {
        let mut environment = self.beside_run(thoroughness);
        environment.patch_judge = None;
        environment
    }

    /// Returns the view that the transformation of one object has.
    pub(crate) fn context_for(&self, header: &Header) -> RunContext<'s> {
        RunContext { chosen: self.chosen.or_else(|| self.kept_choices.of(header)), ..self.context() }
    }

    /// Returns the view that transformations have.
    pub(crate) fn context(&self) -> RunContext<'s> {
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
            nodes: options.nodes.as_deref(),
            transforms: options.composition.transforms(),
            thoroughness,
            chosen,
        }
    }
}
