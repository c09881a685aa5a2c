//! What was decided for one object, and how its objects come to be in the output.

use serde::Serialize;

use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_transform::{Endpoint, GpuCount, ResolvedField, Selection};

/// Which providers can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Providers {
    /// The built-in ones, and those that are configured.
    #[default]
    All,
    /// Those that are configured: what the built-in ones are chosen for, their own configurations say where they are
    /// installed.
    Given,
}

/// How an object comes to be in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputRole {
    /// It was generated, and is marked as ours.
    Generated,
    /// It is the ModelDeployment itself, passed on for a provider that this program does not render.
    PassedOn,
    /// It is an object of the input with additions.
    Changed,
    /// It was generated for several objects, and belongs to none of them.
    Shared,
}

/// What was decided for one object of a kind that is transformed, and what it became.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Decision {
    /// The object, a ModelDeployment for the most part.
    pub object: ObjectRef,
    /// Where it stands.
    #[serde(skip)]
    pub source: SourceId,
    /// Which document of it.
    #[serde(skip)]
    pub document: usize,
    /// Which provider, and why; of a ModelDeployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// The CRD version that is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crd_version: Option<String>,
    /// The schema of the main object in the dump of CRDs, by its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_fingerprint: Option<String>,
    /// The runtime version that flags and images are for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Where the model answers once it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// The objects it became.
    pub objects: Vec<ObjectRef>,
    /// The GPUs that it asks for.
    #[serde(skip)]
    pub gpus: Vec<GpuCount>,
    /// Every value of the validated deployment, with its field and where it came from; with
    /// [`Thoroughness::Everything`](kubefoundry_transform::Thoroughness::Everything) only.
    pub fields: Vec<ResolvedField>,
}

impl Decision {
    /// What is known before anything is decided.
    pub(crate) fn new(object: ObjectRef, source: SourceId, document: usize) -> Self {
        Self {
            object,
            source,
            document,
            selection: None,
            crd_version: None,
            schema_fingerprint: None,
            runtime: None,
            endpoint: None,
            objects: Vec::new(),
            gpus: Vec::new(),
            fields: Vec::new(),
        }
    }

    /// The provider that was chosen, if this is about a ModelDeployment and there is one.
    pub fn provider(&self) -> Option<&str> {
        self.selection.as_ref()?.provider.as_deref()
    }

    /// Why it was chosen.
    pub fn reason(&self) -> Option<&str> {
        self.selection.as_ref()?.reason.as_deref()
    }
}
