//! What the product is composed of: the transformations, the providers, and what follows from the two lists. No layer
//! below knows either list.

use kubefoundry_crd::GroupKind;
use kubefoundry_diagnostics::Code;
use kubefoundry_kubernetes::api_group::{self, DIALECTS};
use kubefoundry_kubernetes::manifest;
use kubefoundry_model::provider::Provider;
use kubefoundry_model::providers::PROVIDERS;
use kubefoundry_transform::{AnyTransform, Section};

/// The transformations that need to see the set of objects, in the order in which they run. Models come before them: what
/// a model becomes is among what they see.
pub static TRANSFORMS: &[&dyn AnyTransform] = &[&kubefoundry_llamastack::LlamaStack, &kubefoundry_actor::Actors];

/// The sections of a `Render` document that belong to a provider or a transformation.
pub fn sections() -> impl Iterator<Item = Section> {
    let of_providers = PROVIDERS.iter().filter_map(|provider| provider.section());
    of_providers.chain(TRANSFORMS.iter().map(|transform| transform.section()))
}

/// The keys of [`sections`].
pub(crate) fn section_keys() -> Vec<&'static str> {
    sections().map(|section| section.field.key).collect()
}

/// Every code: those that several parts share by number, then provider by provider, transformation by transformation,
/// analysis by analysis.
pub(crate) fn codes() -> impl Iterator<Item = &'static Code> {
    let shared = [
        kubefoundry_diagnostics::codes::CODES,
        kubefoundry_kubernetes::codes::CODES,
        kubefoundry_transform::codes::CODES,
        kubefoundry_model::codes::CODES,
        kubefoundry_crd::codes::CODES,
        crate::codes::CODES,
    ];
    let mut shared: Vec<&'static Code> = shared.into_iter().flatten().copied().collect();
    shared.sort_by_key(|code| code.id);
    let of_providers = PROVIDERS.iter().flat_map(|provider| provider.codes());
    let of_transforms = TRANSFORMS.iter().flat_map(|transform| transform.codes());
    let of_analyses = [crate::codes::import::CODES, crate::codes::migrate::CODES].into_iter().flatten();
    shared.into_iter().chain(of_providers.chain(of_transforms).chain(of_analyses).copied())
}

/// The kinds whose CRDs say something about a run: every kind that a provider or a transformation writes and a CRD
/// defines, and the kinds that are transformed.
pub(crate) fn crd_kinds() -> impl Iterator<Item = GroupKind> {
    let of_transforms = TRANSFORMS.iter().flat_map(|transform| {
        let own = transform.kind().0.split_once('/').map(|(group, _)| (group, transform.kind().1));
        transform.kinds().iter().copied().chain(own)
    });
    PROVIDERS.iter().flat_map(|provider| crd_kinds_of(*provider)).chain(of_transforms)
}

/// The kinds of a provider's own objects: those whose behavior on change it describes, without the built-in ones.
pub(crate) fn crd_kinds_of(provider: &dyn Provider) -> Vec<GroupKind> {
    let mut groups: Vec<&str> = provider.targets().iter().filter_map(|target| target.split('/').next()).collect();
    groups.dedup();
    let mut kinds: Vec<&str> = provider.behaviors().iter().map(|behavior| behavior.kind).collect();
    kinds.retain(|kind| !matches!(*kind, "ConfigMap" | "Service" | "PersistentVolumeClaim"));
    kinds.sort_unstable();
    kinds.dedup();
    groups.into_iter().flat_map(|group| kinds.iter().map(move |kind| (group, *kind))).collect()
}

/// The transformation whose kind this is, in any version.
pub(crate) fn transform_of_kind(group: &str, kind: &str) -> Option<(usize, &'static dyn AnyTransform)> {
    TRANSFORMS.iter().copied().enumerate().find(|(_, transform)| {
        let (api_version, own) = transform.kind();
        own == kind && api_version.split_once('/').is_some_and(|(own, _)| own == group)
    })
}

/// Whether a text may have something in it for a transformation other than that of models.
///
/// ```
/// assert!(!kubefoundry::transform::may_hold_source("kind: Deployment"));
/// ```
pub fn may_hold_source(text: &str) -> bool {
    TRANSFORMS.iter().any(|transform| transform.marks().iter().any(|mark| text.contains(mark)))
}

/// Whether objects of this type are turned into others: a `ModelDeployment`, or the kind of a transformation.
///
/// ```
/// use kubefoundry::transform::is_source;
/// assert!(is_source("kubefoundry.ai/v1alpha1", "ModelDeployment"));
/// assert!(!is_source("apps/v1", "Deployment"));
/// ```
pub fn is_source(api_version: &str, kind: &str) -> bool {
    let is_model = kind == "ModelDeployment" && DIALECTS.iter().any(|dialect| dialect.api_version() == api_version);
    is_model || TRANSFORMS.iter().any(|transform| transform.kind() == (api_version, kind))
}

/// The annotations by which a generated object names the one that it was generated from.
pub fn owner_annotations() -> impl Iterator<Item = String> {
    let models = DIALECTS.iter().map(|dialect| dialect.label(manifest::MODEL_DEPLOYMENT));
    models.chain(TRANSFORMS.iter().map(|transform| api_group::DEFAULT.label(transform.owner_annotation())))
}

/// The annotations by which an object of the input that was changed names what changed it.
pub fn change_annotations() -> impl Iterator<Item = &'static str> {
    TRANSFORMS.iter().filter_map(|transform| transform.change_annotation())
}

#[cfg(test)]
mod tests {
    use crate::{Compilation, Thoroughness, compile};
    use kubefoundry_diagnostics::source::{Purpose, SourceSet};

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

    fn yaml_of(compilation: &Compilation) -> String {
        kubefoundry_yaml::to_yaml_stream(compilation.outputs.iter().map(|output| &output.object))
    }
}
