//! On which GPUs the workers of a deployment fit, and with how much context. A run with
//! [`Thoroughness::Everything`](crate::Thoroughness::Everything) describes them in [`Decision::workers`](crate::Decision).

/// ```
/// use kubefoundry::fit::WorkerFit;
/// use kubefoundry::{SourceSet, Thoroughness, compile};
/// let mut sources = SourceSet::default();
/// sources.add("qwen.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: qwen}
/// spec:
///   model: {id: Qwen/Qwen3-8B}
///   engine: {type: vllm, contextLength: 8192}
///   resources: {gpu: {count: 1}}
///   nodeSelector: {nvidia.com/gpu.product: NVIDIA-L40S}
/// ");
/// let decision = compile(&sources, Thoroughness::Everything).decisions.remove(0);
/// let worker: &WorkerFit = &decision.workers[0];
/// assert_eq!(worker.assess().unwrap().fit.as_str(), "fits");
/// let l4 = worker.alternatives().into_iter().find(|alternative| alternative.gpu == "L4-24GB").unwrap();
/// assert_eq!(l4.tensor_sizes, [1, 2, 4, 8]);
/// ```
#[doc(inline)]
pub use kubefoundry_facts::fit::WorkerFit;
