//! The status of models in a cluster, from the status of the objects that run them.

/// ```
/// use kubefoundry::status::{StalenessPolicy, StatusReport};
/// use kubefoundry::{BUILTIN, Purpose, SourceSet};
/// let mut sources = SourceSet::default();
/// sources.add_for(Purpose::ClusterSnapshot, "dump.yaml", "
/// apiVersion: kaito.sh/v1beta1
/// kind: Workspace
/// metadata: {name: phi, namespace: ml, annotations: {kubefoundry.ai/model-deployment: ml/phi}}
/// status: {state: Ready}
/// ");
/// let report = StatusReport::read(&BUILTIN, &sources, StalenessPolicy::default());
/// assert_eq!(report.statuses[0].status.phase.unwrap().as_str(), "Running");
/// ```
#[doc(inline)]
pub use kubefoundry_analysis::status::StatusReport;

/// ```
/// use kubefoundry::status::{StalenessPolicy, Time};
/// let judgment = StalenessPolicy { now: Time::parse("2026-01-30T10:00:00Z"), ..StalenessPolicy::default() };
/// assert_eq!(judgment.stale_after, 300);
/// ```
#[doc(inline)]
pub use kubefoundry_analysis::status::StalenessPolicy;

/// ```
/// use kubefoundry::status::Time;
/// let time = Time::parse("2026-01-30T11:00:00+01:00").unwrap();
/// assert_eq!(time.to_string(), "2026-01-30T10:00:00Z");
/// ```
#[doc(inline)]
pub use kubefoundry_compiler::cluster_snapshot::time::Time;

#[doc(inline)]
pub use kubefoundry_analysis::status::to_json;
