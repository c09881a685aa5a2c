//! To another provider, beside what runs; to another API group.

use kubefoundry_compiler::migrate;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_kubernetes::api_group::Dialect;
use kubefoundry_model::providers;

/// Moves every ModelDeployment of the input to a provider of this program; `None` when it has none of that name.
///
/// ```
/// use kubefoundry::SourceSet;
/// use kubefoundry::migrate::to_provider;
/// assert!(to_provider(&SourceSet::default(), "unknown").is_none());
/// ```
pub fn to_provider(sources: &SourceSet, provider: &str) -> Option<Migration> {
    providers::find(provider).map(|provider| migrate::to_provider(sources, provider))
}

/// Writes every ModelDeployment and InferenceProviderConfig of the input in another API group, with what the old group
/// takes for granted written out; everything else in the texts stays as it is. `None` when the group is not one of
/// ModelDeployments.
///
/// ```
/// use kubefoundry::SourceSet;
/// use kubefoundry::migrate::to_group;
/// assert!(to_group(&SourceSet::default(), "apps").is_none());
/// ```
pub fn to_group(sources: &SourceSet, group: &str) -> Option<Regrouping> {
    Dialect::of_group(group).map(|group| migrate::to_group(sources, group))
}

/// ```
/// use kubefoundry::SourceSet;
/// use kubefoundry::migrate::{Migration, to_provider};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let migration: Migration = to_provider(&sources, "kuberay").unwrap();
/// assert!(!migration.has_errors());
/// assert_eq!(migration.moved[0].from, "dynamo");
/// assert_eq!(migration.moved[0].model_deployment["metadata"]["name"], "phi-kuberay");
/// ```
#[doc(inline)]
pub use kubefoundry_compiler::migrate::Migration;

/// ```
/// use kubefoundry::SourceSet;
/// use kubefoundry::migrate::{Regrouping, to_group};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubeairunway.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let regrouping: Regrouping = to_group(&sources, "kubefoundry.ai").unwrap();
/// assert!(!regrouping.has_errors());
/// assert!(regrouping.texts[0].text.starts_with("\napiVersion: kubefoundry.ai/v1alpha1\n"));
/// ```
#[doc(inline)]
pub use kubefoundry_compiler::migrate::Regrouping;
