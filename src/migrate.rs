//! Migration to another provider, beside the running one, or to another API group.

use kubefoundry_composition::BUILTIN;
use kubefoundry_convert::migrate;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_kubernetes::api_group::ApiGroup;

/// Moves every ModelDeployment of the input to a built-in provider. Returns `None` if there is no such provider.
///
/// ```
/// use kubefoundry::SourceSet;
/// use kubefoundry::migrate::migrate_to_provider;
/// assert!(migrate_to_provider(&SourceSet::default(), "unknown").is_none());
/// ```
pub fn migrate_to_provider(sources: &SourceSet, provider: &str) -> Option<ProviderMigration> {
    BUILTIN.find_provider(provider).map(|provider| migrate::migrate_to_provider(&BUILTIN, sources, provider))
}

/// Moves every ModelDeployment and InferenceProviderConfig of the input to another API group. Defaults that only the
/// old group has are written out; all other text stays unchanged. Returns `None` if the group has no ModelDeployments.
///
/// ```
/// use kubefoundry::SourceSet;
/// use kubefoundry::migrate::migrate_to_group;
/// assert!(migrate_to_group(&SourceSet::default(), "apps").is_none());
/// ```
pub fn migrate_to_group(sources: &SourceSet, group: &str) -> Option<GroupMigration> {
    ApiGroup::find(group).map(|group| migrate::migrate_to_group(&BUILTIN, sources, group))
}

/// ```
/// use kubefoundry::SourceSet;
/// use kubefoundry::migrate::{ProviderMigration, migrate_to_provider};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let migration: ProviderMigration = migrate_to_provider(&sources, "kuberay").unwrap();
/// assert!(!migration.has_errors());
/// assert_eq!(migration.moved[0].from, "dynamo");
/// assert_eq!(migration.moved[0].model_deployment["metadata"]["name"], "phi-kuberay");
/// ```
#[doc(inline)]
pub use kubefoundry_convert::migrate::ProviderMigration;

/// ```
/// use kubefoundry::SourceSet;
/// use kubefoundry::migrate::{GroupMigration, migrate_to_group};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubeairunway.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let regrouping: GroupMigration = migrate_to_group(&sources, "kubefoundry.ai").unwrap();
/// assert!(!regrouping.has_errors());
/// assert!(regrouping.texts[0].text.starts_with("\napiVersion: kubefoundry.ai/v1alpha1\n"));
/// ```
#[doc(inline)]
pub use kubefoundry_convert::migrate::GroupMigration;
