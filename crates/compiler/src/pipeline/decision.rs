//! The decision about one object, and the roles of its objects in the output.

use std::sync::Arc;

use serde::Serialize;

use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_facts::fit::WorkerFit;
use kubefoundry_transform::{DerivedFact, Endpoint, GpuCount, ResolvedField, Selection, ServedName};

/// The set of providers that can be selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Providers {
    /// The built-in providers and the configured ones.
    #[default]
    All,
    /// Only the configured providers. Used in a cluster, where each installed provider brings its own configuration.
    Configured,
}

/// The role of an object in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputRole {
    /// Generated for one input object, with the ownership marks of kubefoundry.
    Generated,
    /// The ModelDeployment itself, for a provider that kubefoundry does not render.
    PassedOn,
    /// An input object with additions.
    Changed,
    /// Generated for several input objects and owned by none of them.
    Shared,
}

/// The decision about one object of the input, and the objects that it became.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Decision {
    /// The object, usually a ModelDeployment.
    pub object: ObjectRef,
    /// The name of its environment, if the input is divided into several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<Arc<str>>,
    /// The text that contains it.
    #[serde(skip)]
    pub source: SourceId,
    /// The index of the document in that text.
    #[serde(skip)]
    pub document: usize,
    /// The selected provider of a ModelDeployment, with the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// The CRD version of the main object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crd_version: Option<String>,
    /// With `--crds`: the fingerprint of the schema against which the main object was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_fingerprint: Option<String>,
    /// The runtime version for which flags are checked and images are chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// The Service that answers requests once the model runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// The objects that the object became.
    pub objects: Vec<ObjectRef>,
    /// The requested GPUs.
    #[serde(skip)]
    pub gpus: Vec<GpuCount>,
    /// What the memory of its workers depends on; only with
    /// [`Thoroughness::Everything`](kubefoundry_transform::Thoroughness::Everything).
    #[serde(skip)]
    pub workers: Vec<WorkerFit>,
    /// The name in requests, if the object sets it and the provider uses it.
    #[serde(skip)]
    pub(crate) served_name: Option<ServedName>,
    // Only with `Thoroughness::Everything`, like the facts.
    /// Every field of the deployment, defaults included.
    pub fields: Vec<ResolvedField>,
    /// What was derived for an AsyncActor: its mode, its queue, the workload that it binds to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<DerivedFact>,
}

impl Decision {
    /// Creates a decision that has no provider and no objects yet.
    pub(crate) fn new(object: ObjectRef, source: SourceId, document: usize) -> Self {
        Self {
            object,
            environment: None,
            source,
            document,
            selection: None,
            crd_version: None,
            schema_fingerprint: None,
            runtime: None,
            endpoint: None,
            objects: Vec::new(),
            gpus: Vec::new(),
            workers: Vec::new(),
            served_name: None,
            fields: Vec::new(),
            facts: Vec::new(),
        }
    }

    /// Returns the selected provider of a ModelDeployment, if there is one.
    pub fn provider(&self) -> Option<&str> {
        self.selection.as_ref()?.provider.as_deref()
    }

    /// Returns the reason for which the provider was selected.
    pub fn reason(&self) -> Option<&str> {
        self.selection.as_ref()?.reason.as_deref()
    }
}
