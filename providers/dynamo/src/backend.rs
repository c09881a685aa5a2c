//! The engines that Dynamo runs, with Dynamo's names for them.

use super::MAX_NAMES_LENGTH;
use kubefoundry_deployment::ir::{EngineType, Role};

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

/// Names for graphs with long names. Upstream's examples use them from 1.6 on.
const SHORT_COMPONENTS: [&str; 3] = ["worker", "prefill", "decode"];

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

    /// Returns the name of the component that plays a role in a graph with some roles. The names of all of them are
    /// short where the name of the graph leaves no room for the usual ones.
    pub(super) fn component_name(&self, graph: &str, roles: &[Role], role: Role) -> &'static str {
        let name = |[aggregated, prefill, decode]: [&'static str; 3], role: Role| match role {
            Role::Aggregated => aggregated,
            Role::Prefill => prefill,
            Role::Decode => decode,
        };
        let fits = roles.iter().all(|role| graph.len() + name(self.components, *role).len() <= MAX_NAMES_LENGTH);
        name(if fits { self.components } else { SHORT_COMPONENTS }, role)
    }

    /// Returns the command of a worker in exec form. It starts with `python3`, because the operator adds its own flags
    /// only to commands that it recognizes (injectFlagsIntoContainerCommand in `deploy/operator/internal/dynamo`).
    pub(super) fn command(&self) -> Vec<String> {
        ["python3", "-m", self.module].map(str::to_owned).to_vec()
    }
}
