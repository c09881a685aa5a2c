//! Field traces: where each field of a ModelDeployment goes, and where each field of its output comes from. They are
//! found by changing one field at a time and rendering again.

use kubefoundry_composition::BUILTIN;

use crate::SourceSet;

/// Traces every ModelDeployment of the input, in order. [`compile`](crate::compile()) reports the findings in the input.
pub fn trace(sources: &SourceSet) -> Vec<Trace> {
    kubefoundry_analysis::trace::trace(&BUILTIN, sources)
}

/// ```
/// use kubefoundry::SourceSet;
/// use kubefoundry::trace::{Trace, trace};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let trace: Trace = trace(&sources).remove(0);
/// assert_eq!(trace.provider.as_deref(), Some("dynamo"));
/// let model = trace.outputs.iter().find(|output| output.value.contains("org/phi")).unwrap();
/// assert!(model.from.contains(&"spec.model.id".to_owned()));
/// ```
#[doc(inline)]
pub use kubefoundry_analysis::trace::Trace;

/// ```
/// use kubefoundry::SourceSet;
/// use kubefoundry::trace::{Fate, FieldTrace, trace};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let fields: Vec<FieldTrace> = trace(&sources).remove(0).fields;
/// let count = fields.iter().find(|field| field.path == "spec.resources.gpu.count").unwrap();
/// assert_eq!(count.fate, Fate::Rendered);
/// assert!(!count.reaches.is_empty());
/// ```
#[doc(inline)]
pub use kubefoundry_analysis::trace::{Fate, FieldTrace};
