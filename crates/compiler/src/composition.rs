//! The lists of transformations and providers, and everything derived from the two lists. No lower layer knows either
//! list.

use kubefoundry_crd::{Crds, GroupKind};
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_diagnostics::{Code, Diagnostic};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_model::ModelDeployments;
use kubefoundry_model::catalog::Catalog;
use kubefoundry_model::conformance;
use kubefoundry_model::gateway::GatewaySettings;
use kubefoundry_model::known_gpus::KnownGpus;
use kubefoundry_model::providers::{self, PROVIDERS};
use kubefoundry_transform::{AnyTransform, Configuration, DecisionFacts, SettingsSection};
use kubefoundry_yaml::spelling::may_spell;

/// Every transformation. Those that do not need the set come first, because the others, which run in this order, see
/// the objects that the first ones generate.
pub static TRANSFORMS: &[&dyn AnyTransform] =
    &[&ModelDeployments, &kubefoundry_llamastack::LlamaStack, &kubefoundry_actor::Actors];

/// The ModelDeployment transformation, which the analyses of single deployments run.
pub(crate) const MODELS: &dyn AnyTransform = &ModelDeployments;

/// Returns the configuration before any document is read: the built-in providers. `limits` apply to the selection rules
/// of provider configurations that are read later.
pub(crate) fn configuration(limits: kubefoundry_cel::Limits) -> impl Configuration {
    Catalog::with_builtin(limits)
}

/// Returns the sections of a `Render` document that belong to a provider or a transformation.
pub fn sections() -> impl Iterator<Item = SettingsSection> {
    let provider_sections = PROVIDERS.iter().filter_map(|provider| provider.info().section).map(|section| section());
    let of_gpus = SettingsSection::from_settings::<KnownGpus>();
    let of_gateway = SettingsSection::from_settings::<GatewaySettings>();
    provider_sections.chain([of_gpus, of_gateway]).chain(TRANSFORMS.iter().filter_map(|transform| transform.section()))
}

/// Returns the keys of [`sections`].
pub(crate) fn section_keys() -> Vec<&'static str> {
    sections().map(|section| section.field.key).collect()
}

/// Returns every code: shared codes ordered by number, then those of each provider, transformation and analysis.
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
    let provider_codes = PROVIDERS.iter().flat_map(|provider| provider.info().codes);
    let transform_codes = TRANSFORMS.iter().flat_map(|transform| transform.codes());
    let analysis_codes =
        [crate::codes::input::CODES, crate::codes::import::CODES, crate::codes::migrate::CODES].into_iter().flatten();
    shared.into_iter().chain(provider_codes.chain(transform_codes).chain(analysis_codes).copied())
}

/// Returns the release of the provider's operator that the objects are for, if the decision names one.
pub(crate) fn operator_release(facts: &DecisionFacts) -> Option<&str> {
    let provider = providers::find(facts.selection.as_ref()?.provider.as_deref()?)?;
    facts.runtime.as_deref().filter(|_| provider.info().is_released_with_runtime)
}

/// Returns the kinds whose CRDs matter to a run: every kind that a provider or a transformation writes and a CRD
/// defines, and the kinds that are transformed.
pub(crate) fn crd_kinds() -> impl Iterator<Item = GroupKind> {
    let provider_kinds = PROVIDERS.iter().flat_map(|provider| conformance::crd_kinds(*provider));
    provider_kinds.chain(TRANSFORMS.iter().flat_map(|transform| transform.schema_kinds().iter().copied()))
}

/// Reads the CRDs of the kinds that a run writes or transforms, and returns a diagnostic for each one that cannot be
/// read.
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

/// Finds the transformation of a kind, in any version.
pub(crate) fn transform_of_kind(group: &str, kind: &str) -> Option<&'static dyn AnyTransform> {
    TRANSFORMS.iter().copied().find(|transform| transform.kind().1 == kind && transform.has_group(group))
}

/// Returns whether objects of this kind are transformed without the set, so that transformations that need the set see
/// the results.
pub(crate) fn generates(group: &str, kind: &str) -> bool {
    transform_of_kind(group, kind).is_some_and(|transform| !transform.needs_set())
}

/// Finds the transformation that owns an API group, whatever the kind.
pub(crate) fn owner_of_group(group: &str) -> Option<&'static dyn AnyTransform> {
    TRANSFORMS.iter().copied().find(|transform| transform.owns_groups() && transform.has_group(group))
}

/// Finds the transformation that a document configures.
pub(crate) fn configured_by(header: &Header) -> Option<&'static dyn AnyTransform> {
    let is_configured_by =
        |transform: &&dyn AnyTransform| transform.configuration_kind().is_some_and(|kind| *kind == *header.kind);
    let mut same_kind = TRANSFORMS.iter().copied().filter(is_configured_by);
    same_kind.find(|transform| {
        let (group, version) = header.api_version.rsplit_once('/').unwrap_or_default();
        transform.has_group(group) && transform.version(group) == version
    })
}

/// Returns the kinds of a transformation in the API groups that it owns: its input kind and the kind of its
/// configurations.
pub(crate) fn kinds_of(transform: &dyn AnyTransform) -> impl Iterator<Item = &'static str> {
    [transform.kind().1].into_iter().chain(transform.configuration_kind())
}

/// Returns whether a text may contain an object to transform, even if the text cannot be parsed.
///
/// ```
/// use kubefoundry_compiler::composition::may_hold_source;
/// assert!(may_hold_source("kind: ModelDeployment\napiVersion: kubefoundry.ai/v1alpha1\nspec: ["));
/// assert!(!may_hold_source("kind: Deployment"));
/// ```
pub fn may_hold_source(text: &str) -> bool {
    may_spell(text.as_bytes(), |text| {
        TRANSFORMS.iter().any(|transform| {
            // Generated objects carry labels with the same group, so a transformation that owns its groups must be
            // named by kind too.
            let is_named = !transform.owns_groups() || contains(text, transform.kind().1);
            is_named && transform.marker_texts().iter().any(|mark| contains(text, mark))
        })
    })
}

/// Returns whether a text may contain an object that kubefoundry handles or reports, in any spelling that the API
/// server accepts. The answer `false` is always right. A text without such an object need not be parsed, and if it is
/// broken (a template, another tool's input) it is ignored. Every front end asks this and nothing else.
///
/// ```
/// use kubefoundry_compiler::composition::may_hold_input;
/// assert!(may_hold_input("apiVersion: kubefoundry.ai/v1alpha1\nspec: ["));
/// assert!(may_hold_input("apiVersion: 1\n? kind\n: ModelDeployment\n"));
/// assert!(may_hold_input(r#"{"apiVersion": "kubefoundry\u002eai\/v1alpha1"}"#));
/// assert!(!may_hold_input("kind: Deployment"));
/// ```
pub fn may_hold_input(text: &str) -> bool {
    may_spell(text.as_bytes(), |text| {
        TRANSFORMS.iter().any(|transform| {
            // An object of such a kind is reported in any group, and without one.
            let kind = Some(transform.kind().1).filter(|_| transform.owns_groups());
            transform.marker_texts().iter().copied().chain(kind).any(|mark| contains(text, mark))
        })
    })
}

/// Many times faster than a search of the standard library, in texts that may be megabytes of other tools.
fn contains(text: &[u8], mark: &str) -> bool {
    memchr::memmem::find(text, mark.as_bytes()).is_some()
}

/// Returns whether objects of this API version and kind are transformed.
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

/// Returns the annotations in which a generated object names the object that it was generated from.
pub fn owner_annotations() -> impl Iterator<Item = String> {
    let annotations_of = |transform: &'static dyn AnyTransform| {
        transform.mark_groups().iter().map(move |api_group: &ApiGroup| api_group.label(transform.owner_annotation()))
    };
    TRANSFORMS.iter().copied().flat_map(annotations_of)
}

/// Returns the annotations in which a changed input object names the object that caused the change.
pub fn change_annotations() -> impl Iterator<Item = &'static str> {
    TRANSFORMS.iter().filter_map(|transform| transform.change_annotation())
}

#[cfg(test)]
mod tests {
    use crate::{Compilation, Thoroughness, compile};
    use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    use kubefoundry_kubernetes::wire::StringEnum as _;
    use kubefoundry_model::providers::PROVIDERS;
    use kubefoundry_model::wire::EngineType;

    /// A user's `InferenceProviderConfig` may claim capabilities for a built-in provider that it does not have.
    #[test]
    fn capabilities_that_a_builtin_provider_lacks_are_not_rendered() {
        for (provider, engine, rest) in [
            ("kaito", "sglang", "resources: {gpu: {count: 1}}"),
            ("kaito", "trtllm", "image: registry.example.com/trtllm:1, resources: {gpu: {count: 1}}"),
            ("kaito", "vllm", "scaling: {prefill: {gpu: {count: 1}}, decode: {gpu: {count: 1}}}"),
            ("dynamo", "llamacpp", "image: ghcr.io/ggml-org/llama.cpp:server, resources: {gpu: {count: 1}}"),
            ("kuberay", "sglang", "resources: {gpu: {count: 1}}"),
            ("kuberay", "trtllm", "resources: {gpu: {count: 1}}"),
            ("kuberay", "llamacpp", "image: ghcr.io/ggml-org/llama.cpp:server, resources: {cpu: \"1\"}"),
        ] {
            let engines = EngineType::VARIANTS.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
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
            let mut kinds = PROVIDERS.iter().flat_map(|provider| provider.info().kinds).map(|kind| kind.kind);
            let outputs = to_yaml_text(&compilation);
            assert!(!kinds.any(|kind| outputs.contains(&format!("kind: {kind}\n"))), "{text}{outputs}");
        }
    }

    fn to_yaml_text(compilation: &Compilation) -> String {
        kubefoundry_yaml::to_yaml_stream(compilation.outputs.iter().map(|output| &output.object))
    }
}
