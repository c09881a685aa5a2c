//! The engines that Dynamo runs, and what each is called there.

use crate::ir::{EngineType, Role};

/// One engine in Dynamo's terms (`examples/backends/*/deploy` of ai-dynamo/dynamo).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Backend {
    /// The engine.
    pub(super) engine: EngineType,
    /// `spec.backendFramework`, and the Python module under `dynamo.`.
    pub(super) framework: &'static str,
    /// The runtime image's name under [`super::image::REGISTRY`].
    pub(super) image: &'static str,
    /// The module that a worker runs.
    module: &'static str,
    /// Names of the aggregated, prefill and decode components.
    components: [&'static str; 3],
}

static VLLM: Backend = Backend {
    engine: EngineType::Vllm,
    framework: "vllm",
    image: "vllm-runtime",
    module: "dynamo.vllm",
    components: ["VllmWorker", "VllmPrefillWorker", "VllmDecodeWorker"],
};

static SGLANG: Backend = Backend {
    engine: EngineType::Sglang,
    framework: "sglang",
    image: "sglang-runtime",
    module: "dynamo.sglang",
    components: ["SglangWorker", "SglangPrefillWorker", "SglangDecodeWorker"],
};

static TRTLLM: Backend = Backend {
    engine: EngineType::Trtllm,
    framework: "trtllm",
    image: "tensorrtllm-runtime",
    module: "dynamo.trtllm",
    components: ["TrtllmWorker", "TrtllmPrefillWorker", "TrtllmDecodeWorker"],
};

impl Backend {
    /// The backend of an engine; none where there is none, which the provider's capabilities keep out.
    pub(super) const fn of(engine: EngineType) -> Option<&'static Self> {
        match engine {
            EngineType::Vllm => Some(&VLLM),
            EngineType::Sglang => Some(&SGLANG),
            EngineType::Trtllm => Some(&TRTLLM),
            EngineType::Llamacpp => None,
        }
    }

    /// The name of the component that plays a role.
    pub(super) const fn component(&self, role: Role) -> &'static str {
        let [aggregated, prefill, decode] = self.components;
        match role {
            Role::Aggregated => aggregated,
            Role::Prefill => prefill,
            Role::Decode => decode,
        }
    }

    /// What a worker runs: exec form, and `python3` first, which the operator needs to recognise to add flags of its
    /// own (injectFlagsIntoContainerCommand in `deploy/operator/internal/dynamo`).
    pub(super) fn command(&self) -> Vec<String> {
        ["python3", "-m", self.module].map(str::to_owned).to_vec()
    }
}
