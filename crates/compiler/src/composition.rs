//! What the product is composed of: the transformations, the providers, and what follows from the two lists. No layer
//! below knows either list.

use kubefoundry_crd::{Crds, GroupKind};
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_diagnostics::{Code, Diagnostic};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_model::ModelDeployments;
use kubefoundry_model::catalog::Catalog;
use kubefoundry_model::conformance;
use kubefoundry_model::providers::{self, PROVIDERS};
use kubefoundry_transform::{AnyTransform, Configuration, DecisionFacts, SettingsSection};

/// The transformations. Those that do not need the set come first: what their objects become is among what the others
/// see, which run in this order.
pub static TRANSFORMS: &[&dyn AnyTransform] =
    &[&ModelDeployments, &kubefoundry_llamastack::LlamaStack, &kubefoundry_actor::Actors];

/// The transformation of models, which the analyses of single deployments run.
pub(crate) const MODELS: &dyn AnyTransform = &ModelDeployments;

/// What is configured before any document is read: the providers of this program. `limits` are on the rules of
/// configurations that are read.
pub(crate) fn configuration(limits: kubefoundry_cel::Limits) -> impl Configuration {
    Catalog::with_builtin(limits)
}

/// The sections of a `Render` document that belong to a provider or a transformation.
pub fn sections() -> impl Iterator<Item = SettingsSection> {
    let of_providers = PROVIDERS.iter().filter_map(|provider| provider.info().section).map(|section| section());
    of_providers.chain(TRANSFORMS.iter().filter_map(|transform| transform.section()))
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
    let of_providers = PROVIDERS.iter().flat_map(|provider| provider.info().codes);
    let of_transforms = TRANSFORMS.iter().flat_map(|transform| transform.codes());
    let of_analyses = [crate::codes::import::CODES, crate::codes::migrate::CODES].into_iter().flatten();
    shared.into_iter().chain(of_providers.chain(of_transforms).chain(of_analyses).copied())
}

/// The release of the operator that objects are for, where the decision about them knows it.
pub(crate) fn operator_release(facts: &DecisionFacts) -> Option<&str> {
    let provider = providers::find(facts.selection.as_ref()?.provider.as_deref()?)?;
    facts.runtime.as_deref().filter(|_| provider.info().is_released_with_runtime)
}

/// The kinds whose CRDs say something about a run: every kind that a provider or a transformation writes and a CRD
/// defines, and the kinds that are transformed.
pub(crate) fn crd_kinds() -> impl Iterator<Item = GroupKind> {
    let of_providers = PROVIDERS.iter().flat_map(|provider| conformance::crd_kinds(*provider));
    of_providers.chain(TRANSFORMS.iter().flat_map(|transform| transform.schema_kinds().iter().copied()))
}

/// Reads the CRDs of those kinds from a dump, and says what could not be read.
///
/// ```
/// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
///
/// let mut dump = SourceSet::default();
/// dump.add_for(Purpose::Crds, "crds.yaml", "kind: [");
/// let (_, problems) = kubefoundry_compiler::composition::read_crds(&dump);
/// assert!(!problems.is_empty());
/// ```
pub fn read_crds(dump: &SourceSet) -> (Crds<'_>, Vec<Diagnostic>) {
    Crds::from_sources(dump, crd_kinds())
}

/// The transformation whose kind this is, in any version.
pub(crate) fn transform_of_kind(group: &str, kind: &str) -> Option<&'static dyn AnyTransform> {
    TRANSFORMS.iter().copied().find(|transform| transform.kind().1 == kind && transform.has_group(group))
}

/// Whether objects of a kind are transformed alone, so that the transformations that need the set see what they become.
pub(crate) fn generates(group: &str, kind: &str) -> bool {
    transform_of_kind(group, kind).is_some_and(|transform| !transform.needs_set())
}

/// The transformation that a group belongs to, whatever the kind.
pub(crate) fn owner_of_group(group: &str) -> Option<&'static dyn AnyTransform> {
    TRANSFORMS.iter().copied().find(|transform| transform.owns_groups() && transform.has_group(group))
}

/// The transformation that a document configures.
pub(crate) fn configured_by(header: &Header) -> Option<&'static dyn AnyTransform> {
    let is_meant =
        |transform: &&dyn AnyTransform| transform.configuration_kind().is_some_and(|kind| *kind == *header.kind);
    let mut meant = TRANSFORMS.iter().copied().filter(is_meant);
    meant.find(|transform| {
        let (group, version) = header.api_version.rsplit_once('/').unwrap_or_default();
        transform.has_group(group) && transform.version(group) == version
    })
}

/// The kinds of a transformation in the groups that belong to it: its own, and that of its configurations.
pub(crate) fn kinds_of(transform: &dyn AnyTransform) -> impl Iterator<Item = &'static str> {
    [transform.kind().1].into_iter().chain(transform.configuration_kind())
}

/// Whether a text may hold an object that is turned into others, even if it cannot be read.
///
/// ```
/// use kubefoundry_compiler::composition::may_hold_source;
/// assert!(may_hold_source("kind: ModelDeployment\napiVersion: kubefoundry.ai/v1alpha1\nspec: ["));
/// assert!(!may_hold_source("kind: Deployment"));
/// ```
pub fn may_hold_source(text: &str) -> bool {
    TRANSFORMS.iter().any(|transform| {
        // Labels of what was generated bear the marks of a transformation that owns its groups, too.
        let is_named = !transform.owns_groups() || text.contains(transform.kind().1);
        is_named && transform.marker_texts().iter().any(|mark| text.contains(mark))
    })
}

/// Whether a text may have something in it for a transformation. A broken text that has nothing is none of our business: a
/// template, another tool's input.
pub(crate) fn mentions_input_kinds(text: &str) -> bool {
    TRANSFORMS.iter().flat_map(|transform| transform.marker_texts()).any(|mark| text.contains(mark))
}

/// Whether objects of this type are turned into others.
///
/// ```
/// use kubefoundry_compiler::composition::is_source;
/// assert!(is_source("kubefoundry.ai/v1alpha1", "ModelDeployment"));
/// assert!(!is_source("apps/v1", "Deployment"));
/// ```
pub fn is_source(api_version: &str, kind: &str) -> bool {
    let (group, version) = api_version.rsplit_once('/').unwrap_or_default();
    transform_of_kind(group, kind).is_some_and(|transform| transform.version(group) == version)
}

/// The annotations by which a generated object names the one that it was generated from.
pub fn owner_annotations() -> impl Iterator<Item = String> {
    let of = |transform: &'static dyn AnyTransform| {
        transform.mark_groups().iter().map(move |api_group: &ApiGroup| api_group.label(transform.owner_annotation()))
    };
    TRANSFORMS.iter().copied().flat_map(of)
}

/// The annotations by which an object of the input that was changed names what changed it.
pub fn change_annotations() -> impl Iterator<Item = &'static str> {
    TRANSFORMS.iter().filter_map(|transform| transform.change_annotation())
}

#[cfg(test)]
mod tests {
    use crate::{Compilation, Thoroughness, compile};
    use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    use kubefoundry_kubernetes::wire::Word as _;
    use kubefoundry_model::providers::PROVIDERS;
    use kubefoundry_model::wire::EngineType;

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
            let engines = EngineType::WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
            let text = format!(
                "apiVersion: kubefoundry.ai/v1alpha1\nkind: InferenceProviderConfig\nmetadata: {{name: {provider}}}\nspec:\n  \
                 capabilities:\n    engines: [{engines}]\n    \
                 servingModes: [aggregated, disaggregated]\n    cpuSupport: true\n    gpuSupport: true\n---\n\
                 apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {{name: m}}\n\
                 spec: {{model: {{id: org/model}}, engine: {{type: {engine}}}, provider: {{name: {provider}}}, {rest}}}\n"
            );
            let mut sources = SourceSet::default();
            sources.add_for(Purpose::Input, "input.yaml", text.as_str());
            let compilation = compile(&sources, Thoroughness::Needed);
            let mut kinds = PROVIDERS.iter().flat_map(|provider| provider.info().kinds).map(|own| own.kind);
            let outputs = yaml_of(&compilation);
            assert!(!kinds.any(|kind| outputs.contains(&format!("kind: {kind}\n"))), "{text}{outputs}");
        }
    }

    fn yaml_of(compilation: &Compilation) -> String {
        kubefoundry_yaml::to_yaml_stream(compilation.outputs.iter().map(|output| &output.object))
    }
}
