//! Support for each field of a deployment. "preset" is vLLM without an image, "template" every deployment with one.

use kubefoundry_provider::support::Support::{Partly, Refused, Rendered};
use kubefoundry_provider::support::{FieldSupport, refused_role, row, spec};

/// Returns the fields that KAITO treats differently from [the default](kubefoundry_provider::support::default_rows).
pub(super) fn deviations() -> Vec<FieldSupport> {
    vec![
        row(
            spec().model().id(),
            Partly,
            "preset: the preset's name (org/name, or one of KAITO's own); template: --model, --hf-repo and --hf-file, or \
         huggingface://; an AIKit image contains its model: ignored with a warning",
        ),
        row(
            spec().model().served_name(),
            Partly,
            "vLLM template: --served-model-name; llama-server: --alias; preset, llama-cpp-runner and AIKit name the model \
         themselves: ignored with a warning",
        ),
        row(
            spec().model().source(),
            Partly,
            "label model-source; custom without an id: a template without command and args; custom with an id is refused for \
         llama-cpp-runner, which downloads",
        ),
        row(
            spec().model().storage().volumes(),
            Partly,
            "template: volumes and mounts, generated claims come first; the first modelCache sets HF_HOME or LLAMA_CACHE, the first \
         compilationCache VLLM_CACHE_ROOT, and further ones (llamacpp: all) are mounted with a warning; preset: refused",
        ),
        row(spec().provider().overrides(), Rendered, "instanceType, runner, workload; other keys cause a warning"),
        row(
            spec().engine().engine_type(),
            Partly,
            "preset or template, and the command; llamacpp needs an image; sglang and trtllm are refused",
        ),
        row(
            spec().engine().context_length(),
            Partly,
            "preset: max-model-len in the ConfigMap; template: --max-model-len, --ctx-size, LocalAI's --context-size; ignored \
         with a warning if the image has its own start command",
        ),
        row(
            spec().engine().trust_remote_code(),
            Partly,
            "vLLM template: --trust-remote-code; preset: refused, because it is a switch; llamacpp: ignored with a warning",
        ),
        row(
            spec().engine().enable_prefix_caching(),
            Partly,
            "vLLM template and llama-server: the engine's switch; preset: refused, because it is a switch; otherwise ignored with a warning",
        ),
        row(
            spec().engine().enforce_eager(),
            Partly,
            "vLLM template: --enforce-eager; preset: refused, because it is a switch; llamacpp: ignored with a warning",
        ),
        row(
            spec().engine().args(),
            Partly,
            "preset: settings in the ConfigMap, switches and KAITO's own keys refused; vLLM template and llama-server: flags, \
         addresses refused; llama-cpp-runner: LocalAI's flags, llama-server's own ignored with a warning; AIKit: ignored \
         with a warning",
        ),
        row(spec().engine().extra_args(), Partly, "template: as engine.args; preset: refused"),
        row(spec().serving().mode(), Partly, "aggregated; disaggregated is refused"),
        row(
            spec().scaling().replicas(),
            Rendered,
            "1: Workspace; otherwise InferenceSet.spec.replicas, 0 included; values other than 1 are refused with workload: Workspace",
        ),
        refused_role(spec().scaling().prefill().replicas()),
        refused_role(spec().scaling().prefill().gpu().count()),
        refused_role(spec().scaling().prefill().gpu().gpu_type()),
        refused_role(spec().scaling().prefill().memory()),
        refused_role(spec().scaling().prefill().nodes()),
        refused_role(spec().scaling().prefill().engine().args()),
        refused_role(spec().scaling().prefill().engine().extra_args()),
        refused_role(spec().scaling().prefill().env()),
        refused_role(spec().scaling().prefill().resources().requests()),
        refused_role(spec().scaling().prefill().resources().limits()),
        refused_role(spec().scaling().prefill().resources().claims()),
        refused_role(spec().scaling().prefill().probes().startup()),
        refused_role(spec().scaling().prefill().probes().readiness()),
        refused_role(spec().scaling().prefill().probes().liveness()),
        refused_role(spec().scaling().prefill().volume_mounts()),
        refused_role(spec().scaling().prefill().security_context()),
        refused_role(spec().scaling().decode().replicas()),
        refused_role(spec().scaling().decode().gpu().count()),
        refused_role(spec().scaling().decode().gpu().gpu_type()),
        refused_role(spec().scaling().decode().memory()),
        refused_role(spec().scaling().decode().nodes()),
        refused_role(spec().scaling().decode().engine().args()),
        refused_role(spec().scaling().decode().engine().extra_args()),
        refused_role(spec().scaling().decode().env()),
        refused_role(spec().scaling().decode().resources().requests()),
        refused_role(spec().scaling().decode().resources().limits()),
        refused_role(spec().scaling().decode().resources().claims()),
        refused_role(spec().scaling().decode().probes().startup()),
        refused_role(spec().scaling().decode().probes().readiness()),
        refused_role(spec().scaling().decode().probes().liveness()),
        refused_role(spec().scaling().decode().volume_mounts()),
        refused_role(spec().scaling().decode().security_context()),
        row(
            spec().resources().gpu().count(),
            Partly,
            "template: GPU limit, /dev/shm from 2 on, vLLM's parallelism; preset: an info unless it is 1, the instance type decides",
        ),
        row(
            spec().resources().gpu().gpu_type(),
            Partly,
            "template: the GPU's resource name; preset: GPUs of vendors other than NVIDIA are refused, otherwise an info",
        ),
        row(
            spec().resources().memory(),
            Partly,
            "template: memory request and limit; preset: an info, the instance type decides",
        ),
        row(spec().resources().cpu(), Partly, "template: CPU request; preset: an info, the instance type decides"),
        row(spec().resources().shared_memory(), Partly, "template: size of a volume at /dev/shm; preset: refused"),
        row(
            spec().resources().nodes(),
            Partly,
            "preset of a Workspace: resource.count, with a warning that KAITO's planner counts the nodes itself; template and InferenceSet: values above 1 are ignored with a warning",
        ),
        row(spec().resources().requests(), Partly, "template: requests of the container; preset: an info"),
        row(spec().resources().limits(), Partly, "template: limits of the container; preset: an info"),
        row(spec().resources().claims(), Partly, "template: claims of the container; preset: refused"),
        row(spec().image(), Rendered, "the template's image; required for llamacpp; without it, vLLM is a preset"),
        row(spec().env(), Partly, "template: environment of the container; preset: refused"),
        row(spec().probes().startup(), Partly, "template: startup probe of the container; preset: refused"),
        row(spec().probes().readiness(), Partly, "template: readiness probe of the container; preset: refused"),
        row(spec().probes().liveness(), Partly, "template: liveness probe of the container; preset: refused"),
        row(spec().volume_mounts(), Partly, "template: mounts of the container; preset: refused"),
        row(spec().security_context(), Partly, "template: security context of the container; preset: refused"),
        row(
            spec().pod_template().metadata().labels(),
            Partly,
            "template: labels of the pod, KAITO's own ignored with a warning; preset: ignored with a warning",
        ),
        row(
            spec().pod_template().metadata().annotations(),
            Partly,
            "template: annotations of the pod; preset: ignored with a warning",
        ),
        row(
            spec().pod_template().spec().affinity(),
            Refused,
            "KAITO replaces the affinity of its pods by one from the label selector",
        ),
        row(
            spec().pod_template().spec().topology_spread_constraints(),
            Partly,
            "template: constraints of the pod; preset: refused",
        ),
        row(spec().pod_template().spec().priority_class_name(), Partly, "template: of the pod; preset: refused"),
        row(spec().pod_template().spec().scheduler_name(), Partly, "template: of the pod; preset: refused"),
        row(spec().pod_template().spec().service_account_name(), Partly, "template: of the pod; preset: refused"),
        row(spec().pod_template().spec().runtime_class_name(), Partly, "template: of the pod; preset: refused"),
        row(
            spec().pod_template().spec().termination_grace_period_seconds(),
            Partly,
            "template: of the pod; preset: refused",
        ),
        row(spec().pod_template().spec().resource_claims(), Partly, "template: of the pod; preset: refused"),
        row(spec().pod_template().spec().security_context(), Partly, "template: of the pod; preset: refused"),
        row(spec().pod_template().spec().host_ipc(), Partly, "template: of the pod; preset: refused if true"),
        row(spec().pod_template().spec().volumes(), Partly, "template: volumes of the pod; preset: refused"),
        row(
            spec().secrets().hugging_face_token(),
            Rendered,
            "preset: modelAccessSecret (its key must be HF_TOKEN); template: all keys of the secret as environment",
        ),
        row(spec().image_pull_secrets(), Partly, "template: pull secrets of the pod; preset: refused"),
        row(
            spec().node_selector(),
            Partly,
            "the label selector, which KAITO converts to a node affinity; KAITO's own labels are ignored with a warning",
        ),
        row(spec().tolerations(), Partly, "template: tolerations of the pod; preset: refused"),
        row(
            spec().gateway().enabled(),
            Partly,
            "an InferencePool of the serving pods, and an HTTPRoute to it; nothing where KAITO creates the pool itself; refused \
         if the image names the model itself and modelName is absent",
        ),
        row(
            spec().gateway().http_route_ref(),
            Partly,
            "the HTTPRoute is left out, for one of your own; nothing where KAITO creates the pool itself",
        ),
    ]
}
