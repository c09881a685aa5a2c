//! Checks whether the memory of a pod is enough to load a model.

use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Amount, EngineType, Worker};
use kubefoundry_deployment::known_models::checkpoint_size;
use kubefoundry_diagnostics::Findings;
use kubefoundry_facts::Model;
use kubefoundry_kubernetes::quantity::billionths;

/// The part of the weights that a pod's memory must have at least. In the manifests that Dynamo, KServe and KubeRay
/// publish, the least is 0.29 (GLM-5.2-FP8: 200 of 693 GiB); below half of that, a pod is not sized for its model.
const LEAST_PART: u64 = 8;

/// Warns about memory that is too small to load the weights.
///
/// vLLM and SGLang map safetensors into memory and copy them to the GPU. The pages of the files count towards the limit
/// of the pod, but the kernel drops them when they are needed elsewhere, so a limit below the size of the weights is not
/// an error: `docs/fit.md` has the sources. What an engine cannot give back are the processes themselves, one for each
/// GPU.
pub(crate) fn check_host_memory(model: &Model, engine: EngineType, worker: &Worker, findings: &mut Findings<'_>) {
    let maps_files = matches!(engine, EngineType::Vllm | EngineType::Sglang) && worker.gpu_count.value > 0;
    let Some(Amount { quantity: written, path, .. }) = worker.memory_limit().filter(|_| maps_files) else { return };
    let Some(memory) = billionths(written).and_then(|amount| u64::try_from(amount / 1_000_000_000).ok()) else {
        return;
    };
    // Files have the numbers of the checkpoint, whatever the engine turns them into.
    let size = checkpoint_size(model);
    if memory >= size.min / LEAST_PART {
        return;
    }
    let message = format!(
        "{path} is {written}, less than an eighth of the weights of {} ({size}), which pass through it",
        model.id
    );
    let enough = size.min.div_ceil(1 << 30);
    findings.report(&codes::SMALL_HOST_MEMORY, path, message).help(format!("set {path} to {enough}Gi"));
}
