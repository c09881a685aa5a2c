//! Every way in which each provider runs something, as deployments to start from.

use serde_json::{Value, json};

/// A deployment to start from: an engine, a mode, with or without an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Start {
    pub(crate) provider: &'static str,
    pub(crate) engine: &'static str,
    pub(crate) mode: &'static str,
    pub(crate) image: Option<&'static str>,
}

/// The starts.
pub(crate) const STARTS: &[Start] = &[
    Start { provider: "kaito", engine: "vllm", mode: "aggregated", image: None },
    Start { provider: "kaito", engine: "vllm", mode: "aggregated", image: Some("vllm/vllm-openai:v0.26.0") },
    Start {
        provider: "kaito",
        engine: "llamacpp",
        mode: "aggregated",
        image: Some("ghcr.io/ggml-org/llama.cpp:server-cuda"),
    },
    Start {
        provider: "kaito",
        engine: "llamacpp",
        mode: "aggregated",
        image: Some("ghcr.io/sozercan/llama-cpp-runner:v1"),
    },
    Start {
        provider: "kaito",
        engine: "llamacpp",
        mode: "aggregated",
        image: Some("ghcr.io/kaito-project/aikit/llama3.2:3b"),
    },
    Start { provider: "dynamo", engine: "vllm", mode: "aggregated", image: None },
    Start { provider: "dynamo", engine: "vllm", mode: "disaggregated", image: None },
    Start { provider: "dynamo", engine: "sglang", mode: "aggregated", image: None },
    Start { provider: "dynamo", engine: "sglang", mode: "disaggregated", image: None },
    Start { provider: "dynamo", engine: "trtllm", mode: "aggregated", image: None },
    Start { provider: "dynamo", engine: "trtllm", mode: "disaggregated", image: None },
    Start { provider: "dynamo", engine: "vllm", mode: "aggregated", image: Some("registry.example.com/vllm:1.4.0") },
    Start { provider: "kuberay", engine: "vllm", mode: "aggregated", image: None },
    Start { provider: "kuberay", engine: "vllm", mode: "disaggregated", image: None },
    Start { provider: "kuberay", engine: "vllm", mode: "aggregated", image: Some("registry.example.com/ray:2.56.0") },
];

impl Start {
    /// A ModelDeployment with nothing but what it needs.
    pub(crate) fn document(self) -> Value {
        let mut document = json!({
            "apiVersion": "kubefoundry.ai/v1alpha1",
            "kind": "ModelDeployment",
            "metadata": {"name": "m", "namespace": "default"},
            "spec": {
                "model": {"id": "org/model/file.gguf"},
                "provider": {"name": self.provider},
                "engine": {"type": self.engine},
                "serving": {"mode": self.mode},
            },
        });
        if self.engine != "llamacpp" {
            document["spec"]["model"]["id"] = json!("org/model");
        }
        if self.mode == "aggregated" {
            document["spec"]["resources"] = json!({"gpu": {"count": 2}, "memory": "32Gi", "cpu": "4"});
        } else {
            let role = json!({"replicas": 1, "gpu": {"count": 2, "type": "nvidia.com/gpu"}, "memory": "32Gi"});
            document["spec"]["scaling"] = json!({"prefill": role, "decode": role});
        }
        if let Some(image) = self.image {
            document["spec"]["image"] = json!(image);
        }
        document
    }
}
