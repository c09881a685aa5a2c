//! The engines that Dynamo runs, with Dynamo's names for them.

use crate::ir::{EngineType, Role};

/// An engine that Dynamo runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DynamoEngine {
    Vllm,
    Sglang,
    Trtllm,
}

/// An engine in Dynamo's terms (`examples/backends/*/deploy` of ai-dynamo/dynamo).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Backend {
    pub(super) kind: EngineType,
    pub(super) engine: DynamoEngine,
    /// `spec.backendFramework`, and the Python module under `dynamo.`.
    pub(super) framework: &'static str,
    /// The name of the runtime image under [`super::image::REGISTRY`].
    pub(super) image: &'static str,
    /// The Python module that a worker runs.
    module: &'static str,
    /// The names of the aggregated, prefill and decode components.
    components: [&'static str; 3],
}

static VLLM: Backend = Backend {
    kind: EngineType::Vllm,
    engine: DynamoEngine::Vllm,
    framework: "vllm",
    image: "vllm-runtime",
    module: "dynamo.vllm",
    components: ["VllmWorker", "VllmPrefillWorker", "VllmDecodeWorker"],
};

static SGLANG: Backend = Backend {
    kind: EngineType::Sglang,
    engine: DynamoEngine::Sglang,
    framework: "sglang",
    image: "sglang-runtime",
    module: "dynamo.sglang",
    components: ["SglangWorker", "SglangPrefillWorker", "SglangDecodeWorker"],
};

static TRTLLM: Backend = Backend {
    kind: EngineType::Trtllm,
    engine: DynamoEngine::Trtllm,
    framework: "trtllm",
    image: "tensorrtllm-runtime",
    module: "dynamo.trtllm",
    components: ["TrtllmWorker", "TrtllmPrefillWorker", "TrtllmDecodeWorker"],
};

/// Every engine that `config.yaml` lists.
static BACKENDS: [&Backend; 3] = [&VLLM, &SGLANG, &TRTLLM];

impl Backend {
    /// Finds the backend of an engine. Returns `None` for the engines that `config.yaml` does not list: a deployment
    /// with one of them is refused before it is translated.
    pub(super) fn find(kind: EngineType) -> Option<&'static Self> {
        BACKENDS.into_iter().find(|backend| backend.kind == kind)
    }

    /// Finds the backend that `spec.backendFramework` of a graph names.
    pub(super) fn find_by_framework(framework: &str) -> Option<&'static Self> {
        BACKENDS.into_iter().find(|backend| backend.framework == framework)
    }

    /// Returns the name of the component that plays a role.
    pub(super) const fn component_name(&self, role: Role) -> &'static str {
        let [aggregated, prefill, decode] = self.components;
        match role {
            Role::Aggregated => aggregated,
            Role::Prefill => prefill,
            Role::Decode => decode,
        }
    }

    /// Returns the command of a worker in exec form. It starts with `python3`, because the operator adds its own flags
    /// only to commands that it recognizes (injectFlagsIntoContainerCommand in `deploy/operator/internal/dynamo`).
    pub(super) fn command(&self) -> Vec<String> {
        ["python3", "-m", self.module].map(str::to_owned).to_vec()
    }
}
