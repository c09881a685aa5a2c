//! The engines that Dynamo runs, and what each is called there.

use crate::ir::{EngineType, Role};

/// The engines that Dynamo runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Vllm,
    Sglang,
    Trtllm,
}

/// One engine in Dynamo's terms (`examples/backends/*/deploy` of ai-dynamo/dynamo).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Backend {
    /// The engine.
    pub(super) kind: EngineType,
    /// The engine among those that Dynamo runs.
    pub(super) engine: Engine,
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
    kind: EngineType::Vllm,
    engine: Engine::Vllm,
    framework: "vllm",
    image: "vllm-runtime",
    module: "dynamo.vllm",
    components: ["VllmWorker", "VllmPrefillWorker", "VllmDecodeWorker"],
};

static SGLANG: Backend = Backend {
    kind: EngineType::Sglang,
    engine: Engine::Sglang,
    framework: "sglang",
    image: "sglang-runtime",
    module: "dynamo.sglang",
    components: ["SglangWorker", "SglangPrefillWorker", "SglangDecodeWorker"],
};

static TRTLLM: Backend = Backend {
    kind: EngineType::Trtllm,
    engine: Engine::Trtllm,
    framework: "trtllm",
    image: "tensorrtllm-runtime",
    module: "dynamo.trtllm",
    components: ["TrtllmWorker", "TrtllmPrefillWorker", "TrtllmDecodeWorker"],
};

/// Every engine that `config.yaml` lists.
static BACKENDS: [&Backend; 3] = [&VLLM, &SGLANG, &TRTLLM];

impl Backend {
    /// The backend of an engine. Returns `None` for the engines that `config.yaml` does not list: a deployment with one
    /// of them is refused before it is translated.
    pub(super) fn of(kind: EngineType) -> Option<&'static Self> {
        BACKENDS.into_iter().find(|backend| backend.kind == kind)
    }

    /// The backend that a graph names.
    pub(super) fn of_framework(framework: &str) -> Option<&'static Self> {
        BACKENDS.into_iter().find(|backend| backend.framework == framework)
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
