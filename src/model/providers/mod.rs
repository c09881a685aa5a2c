//! The providers that are built in: a folder each, and a line in [`PROVIDERS`]. Nothing outside this folder names one.

pub mod dynamo;
mod image;
pub mod kaito;
pub mod kuberay;
mod metadata;
mod nixl;
mod overrides;
pub mod pod;
mod reading;

pub(crate) use image::path_and_tag;

use super::provider::Provider;

/// Every provider that this program renders.
pub static PROVIDERS: &[&dyn Provider] = &[&kaito::Kaito, &dynamo::Dynamo, &kuberay::KubeRay];

/// The provider with this name.
pub fn find(name: &str) -> Option<&'static dyn Provider> {
    PROVIDERS.iter().copied().find(|provider| provider.name() == name)
}

#[cfg(test)]
mod tests {
    use crate::{Purpose, SourceSet, Thoroughness, compile};

    /// What an `InferenceProviderConfig` of the user's claims for a built-in provider is no code of ours.
    #[test]
    fn what_there_is_no_code_for_is_not_rendered() {
        for (provider, engine, rest) in [
            ("kaito", "sglang", "resources: {gpu: {count: 1}}"),
            ("kaito", "trtllm", "image: registry.example.com/trtllm:1, resources: {gpu: {count: 1}}"),
            ("kaito", "vllm", "scaling: {prefill: {gpu: {count: 1}}, decode: {gpu: {count: 1}}}"),
            ("dynamo", "llamacpp", "image: ghcr.io/ggml-org/llama.cpp:server, resources: {gpu: {count: 1}}"),
            ("kuberay", "sglang", "resources: {gpu: {count: 1}}"),
            ("kuberay", "trtllm", "resources: {gpu: {count: 1}}"),
            ("kuberay", "llamacpp", "image: ghcr.io/ggml-org/llama.cpp:server, resources: {cpu: \"1\"}"),
        ] {
            let text = format!(
                "apiVersion: kubefoundry.ai/v1alpha1\nkind: InferenceProviderConfig\nmetadata: {{name: {provider}}}\nspec:\n  \
                 capabilities:\n    engines: [vllm, sglang, trtllm, llamacpp]\n    \
                 servingModes: [aggregated, disaggregated]\n    cpuSupport: true\n    gpuSupport: true\n---\n\
                 apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {{name: m}}\n\
                 spec: {{model: {{id: org/model}}, engine: {{type: {engine}}}, provider: {{name: {provider}}}, {rest}}}\n"
            );
            let mut sources = SourceSet::default();
            sources.add_for(Purpose::Input, "input.yaml", text.as_str());
            let compilation = compile(&sources, Thoroughness::Needed);
            let kinds = ["Workspace", "InferenceSet", "DynamoGraphDeployment", "RayService"];
            let outputs = yaml_of(&compilation);
            assert!(!kinds.iter().any(|kind| outputs.contains(&format!("kind: {kind}\n"))), "{text}{outputs}");
        }
    }

    fn yaml_of(compilation: &crate::Compilation) -> String {
        crate::yaml::to_yaml_stream(compilation.outputs.iter().map(|output| &output.object))
    }
}
