//! Names that the operator uses in a cluster. Tests compare the tables of the documentation with them.

use kube::core::{ApiResource, GroupVersionKind};
use kubefoundry_kubernetes::api_group::{self, ApiGroup};

/// The field manager of core, which validates.
pub const CORE_MANAGER: &str = "kubefoundry-core";
/// The field manager of selection (docs/specification.md OP-6.1).
pub const SELECTOR_MANAGER: &str = "provider-selector";

/// Returns the field manager of a provider's controller (docs/specification.md OP-6.1): `kaito-provider`.
pub fn provider_manager(provider: &str) -> String {
    format!("{provider}-provider")
}

/// Returns the finalizer of a provider's controller: `kubefoundry.ai/kaito-provider`.
pub fn finalizer(api_group: &ApiGroup, provider: &str) -> String {
    api_group.label(&provider_manager(provider))
}

/// Returns the API resource of ModelDeployment in a group.
pub fn deployments(api_group: &ApiGroup) -> ApiResource {
    resource(api_group, kubefoundry_deployment::wire::KIND, "modeldeployments")
}

/// Returns the API resource of InferenceProviderConfig in a group.
pub fn configurations(api_group: &ApiGroup) -> ApiResource {
    resource(api_group, kubefoundry_deployment::wire::CONFIGURATION_KIND, "inferenceproviderconfigs")
}

fn resource(api_group: &ApiGroup, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(api_group.name, api_group.version, kind), plural)
}

/// Annotation on a ModelDeployment: `"true"` pauses all controllers for it (docs/specification.md OP-4.2).
pub const PAUSED: &str = "reconcile-paused";
/// Annotation on a ModelDeployment: `"true"` renders without applying (docs/specification.md OP-4.3).
pub const DRY_RUN: &str = "dry-run";
/// Annotation on a ModelDeployment, written by the operator: the result of a dry run.
pub const DRY_RUN_RESULT: &str = "dry-run-result";
/// Annotation on a main object: a hash of the fields of its ModelDeployment whose change requires a new object
/// (OP-3.1).
pub const IDENTITY_HASH: &str = "identity-hash";
/// Annotation on a main object: a hash of the rendered objects at the last apply.
pub const RENDERED_HASH: &str = "rendered-hash";
/// Annotation on a ModelDeployment: approves the recreation whose hash it has (`PendingRecreate`).
pub const APPROVE_RECREATE: &str = "approve-recreate";
/// Annotation on an applied object: the uid of its deployment, by which an object that lost its owner is recognized.
pub const DEPLOYMENT_UID: &str = "deployment-uid";
/// Annotation on an AsyncActor or a LlamaStackDistribution: `"true"` hands it to this operator.
pub const MANAGED: &str = "managed";
/// Annotation on an object applied for one of those: its uid, by which an object that lost its owner is recognized.
pub const OWNER_UID: &str = "owner-uid";
pub use kubefoundry_compiler::verdict::ALLOWED_PROVIDERS;
/// The API group of annotations on what is applied for claimed objects.
pub const MARKS: &ApiGroup = api_group::DEFAULT;

/// A row of a documentation table: a name and what it means.
pub struct DocumentedName {
    /// The name.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// Every condition of a ModelDeployment.
pub const CONDITIONS: &[DocumentedName] = &[
    DocumentedName { name: condition::VALIDATED, meaning: "the specification has no error" },
    DocumentedName { name: condition::PROVIDER_SELECTED, meaning: "a provider is selected" },
    DocumentedName {
        name: condition::PROVIDER_COMPATIBLE,
        meaning: "the provider can run the deployment, and its CRD is installed",
    },
    DocumentedName { name: condition::RESOURCE_CREATED, meaning: "the provider's objects exist as rendered" },
    DocumentedName { name: condition::READY, meaning: "the model serves requests" },
    DocumentedName {
        name: condition::STALE_STATUS,
        meaning: "the provider's operator has not updated its status for longer than `--stale-after`",
    },
    DocumentedName {
        name: condition::PENDING_RECREATE,
        meaning: "the main object has to be recreated, for another reason than an edit of the deployment, and runs unchanged until then",
    },
];

/// Types of conditions.
pub(crate) mod condition {
    pub(crate) const VALIDATED: &str = "Validated";
    pub(crate) const PROVIDER_SELECTED: &str = "ProviderSelected";
    pub(crate) const PROVIDER_COMPATIBLE: &str = "ProviderCompatible";
    pub(crate) const RESOURCE_CREATED: &str = "ResourceCreated";
    pub(crate) const READY: &str = "Ready";
    pub(crate) const STALE_STATUS: &str = "StaleStatus";
    pub(crate) const PENDING_RECREATE: &str = "PendingRecreate";
}
