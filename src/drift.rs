//! Comparison of live objects with rendered objects.

use kubefoundry_analysis::drift::FieldDrift;
use kubefoundry_composition::BUILTIN;
use serde_json::Value;

use crate::Session;

/// Lists the fields of a live object that differ from the rendered one. List items are matched by the keys that the CRDs of
/// the session declare.
///
/// ```
/// use kubefoundry::{BUILTIN, Providers, Session, SourceSet, drift};
/// use serde_json::json;
/// let session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
/// let service = |replicas: u32| json!({
///     "apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "m"}, "spec": {"replicas": replicas},
/// });
/// assert!(drift::fields(&session, &service(1), &service(1)).is_empty());
/// assert_eq!(drift::fields(&session, &service(1), &service(2))[0].path, "spec.replicas");
/// ```
pub fn fields(session: &Session, expected: &Value, live: &Value) -> Vec<FieldDrift> {
    kubefoundry_analysis::drift::drift(&BUILTIN, expected, live, session.crds())
}

/// ```
/// use kubefoundry::drift::{Outcome, DriftReport};
/// use kubefoundry::{Purpose, SourceSet, Thoroughness, compile};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi, namespace: ml}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let mut object = compile(&sources, Thoroughness::Needed).outputs[0].object.clone();
/// object["spec"]["services"]["VllmWorker"]["replicas"] = 3.into();
/// sources.add_for(Purpose::ClusterSnapshot, "live.json", object.to_string());
/// let report = DriftReport::from_compilation(&compile(&sources, Thoroughness::Needed), &sources);
/// assert!(report.has_drifted());
/// assert_eq!(report.objects[0].result, Outcome::Differs);
/// assert_eq!(report.objects[0].fields[0].path, "spec.services.VllmWorker.replicas");
/// ```
#[doc(inline)]
pub use kubefoundry_analysis::drift::DriftReport;

/// ```
/// use kubefoundry::drift::{Outcome, DriftReport};
/// use kubefoundry::{Purpose, SourceSet, Thoroughness, compile};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi, namespace: ml}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// sources.add_for(Purpose::ClusterSnapshot, "live.yaml", "apiVersion: v1\nkind: List\nitems: []\n");
/// let report = DriftReport::from_compilation(&compile(&sources, Thoroughness::Needed), &sources);
/// assert_eq!(report.objects[0].result, Outcome::Missing);
/// ```
#[doc(inline)]
pub use kubefoundry_analysis::drift::Outcome;
