//! What a program is composed of: its providers and its transformations, and everything that follows from the two lists.
//! No layer below `crates/composition`, which has the lists, names a provider or a transformation; a composition is
//! handed to each.

use std::sync::OnceLock;

use kubefoundry_cel as cel;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::known_gpus::KnownGpus;
use kubefoundry_diagnostics::{Code, Findings};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::wire::{FieldShape, ObjectShape};
use kubefoundry_provider::{Provider, find_provider};
use kubefoundry_transform::{AnyTransform, Decision, GroupKind, SettingsSection};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::spelling::may_spell;

use crate::ModelDeployments;
use crate::catalog::Catalog;
use crate::conformance;
use crate::gateway::GatewaySettings;

/// The ModelDeployment transformation, which every composition has, and which the analyses of single deployments run.
pub static MODELS: &dyn AnyTransform = &ModelDeployments;

/// A kind that kubefoundry transforms, but not in a program that was built without the transformation.
#[derive(Debug)]
pub struct LeftOutKind {
    /// The API group of the kind.
    pub group: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The feature of the package `kubefoundry` that has the transformation.
    pub feature: &'static str,
}

/// The providers and transformations of a program.
#[derive(Debug)]
pub struct Composition {
    providers: &'static [&'static dyn Provider],
    transforms: &'static [&'static dyn AnyTransform],
    left_out: &'static [LeftOutKind],
    /// The fields of a `Render` document with the sections, once they are asked for.
    render_fields: OnceLock<Vec<FieldShape>>,
    render_shape: OnceLock<ObjectShape>,
}

impl Composition {
    /// Creates a composition. Transformations that do not need the set come first, because the others, which run in the
    /// order of the list, see the objects that the first ones generate.
    pub const fn new(
        providers: &'static [&'static dyn Provider],
        transforms: &'static [&'static dyn AnyTransform],
    ) -> Self {
        Self { providers, transforms, left_out: &[], render_fields: OnceLock::new(), render_shape: OnceLock::new() }
    }

    /// Names the kinds that the program would transform if it had been built with another feature.
    #[must_use]
    pub const fn without(mut self, kinds: &'static [LeftOutKind]) -> Self {
        self.left_out = kinds;
        self
    }

    /// Reports an object that the program would transform if it had been built with another feature. `path` is the place
    /// of the object in the document.
    pub fn report_left_out(&self, header: &Header, path: &FieldPath, findings: &mut Findings<'_>) {
        let is_kind = |left_out: &&LeftOutKind| *left_out.kind == *header.kind && left_out.group == header.group();
        let Some(LeftOutKind { kind, feature, .. }) = self.left_out.iter().find(is_kind) else { return };
        let message =
            format!("this program was built without the feature {feature:?}; the {kind} is passed on as it is");
        findings
            .report(&codes::PASSED_ON, &path.key("kind"), message)
            .help(format!("use a program that was built with the feature {feature:?}, as every released one is"));
    }

    /// Returns every provider that the program renders.
    pub const fn providers(&self) -> &'static [&'static dyn Provider] {
        self.providers
    }

    /// Finds a provider by its name in `spec.provider.name`.
    pub fn find_provider(&self, name: &str) -> Option<&'static dyn Provider> {
        find_provider(self.providers, name)
    }

    /// Returns every transformation.
    pub const fn transforms(&self) -> &'static [&'static dyn AnyTransform] {
        self.transforms
    }

    /// Returns the configuration before any document is read: the built-in providers. `limits` apply to the selection
    /// rules of provider configurations that are read later.
    pub fn configuration(&self, limits: cel::Limits) -> Catalog {
        Catalog::with_builtin(self.providers, limits)
    }

    /// Returns the sections of a `Render` document that belong to a provider or a transformation.
    pub fn sections(&self) -> impl Iterator<Item = SettingsSection> {
        let of_providers = self.providers.iter().filter_map(|provider| provider.info().section);
        let of_models =
            [SettingsSection::from_settings::<KnownGpus>(), SettingsSection::from_settings::<GatewaySettings>()];
        let of_transforms = self.transforms.iter().filter_map(|transform| transform.section());
        of_providers.map(|section| section()).chain(of_models).chain(of_transforms)
    }

    /// Returns the shape of a `Render` document: the fields that every program has, with [`Self::sections`] before the
    /// field `before`.
    pub fn render_shape(&'static self, shared: &ObjectShape, before: &str) -> &'static ObjectShape {
        let fields = self.render_fields.get_or_init(|| {
            let place = shared.fields.iter().position(|field| field.key == before).unwrap_or(shared.fields.len());
            let mut fields = shared.fields.to_vec();
            fields.splice(place..place, self.sections().map(|section| section.field));
            fields
        });
        self.render_shape.get_or_init(|| ObjectShape { name: shared.name, doc: shared.doc, fields })
    }

    /// Returns the keys of [`Self::sections`].
    pub fn section_keys(&self) -> Vec<&'static str> {
        self.sections().map(|section| section.field.key).collect()
    }

    /// Returns the codes of each provider, then those of each transformation.
    pub fn codes(&self) -> impl Iterator<Item = &'static Code> {
        let of_providers = self.providers.iter().flat_map(|provider| provider.info().codes);
        of_providers.chain(self.transforms.iter().flat_map(|transform| transform.codes())).copied()
    }

    /// Returns the release of the provider's operator that the objects are for, if the decision names one.
    pub fn operator_release<'f>(&self, decision: &'f Decision) -> Option<&'f str> {
        let provider = self.find_provider(decision.selection.as_ref()?.provider.as_deref()?)?;
        decision.runtime.as_deref().filter(|_| provider.info().is_released_with_runtime)
    }

    /// Returns the kinds whose CRDs matter to a run: every kind that a provider or a transformation writes and a CRD
    /// defines, and the kinds that are transformed.
    pub fn crd_kinds(&self) -> impl Iterator<Item = GroupKind> {
        let provider_kinds = self.providers.iter().flat_map(|provider| conformance::crd_kinds(*provider));
        provider_kinds.chain(self.transforms.iter().flat_map(|transform| transform.schema_kinds().iter().copied()))
    }

    /// Finds the transformation of a kind, in any version.
    pub fn transform_of_kind(&self, group: &str, kind: &str) -> Option<&'static dyn AnyTransform> {
        self.transforms.iter().copied().find(|transform| transform.kind().1 == kind && transform.has_group(group))
    }

    /// Finds the transformation that owns an API group, whatever the kind.
    pub fn owner_of_group(&self, group: &str) -> Option<&'static dyn AnyTransform> {
        self.transforms.iter().copied().find(|transform| transform.owns_groups() && transform.has_group(group))
    }

    /// Finds the transformation that a document configures.
    pub fn configured_by(&self, header: &Header) -> Option<&'static dyn AnyTransform> {
        let is_configured_by =
            |transform: &&dyn AnyTransform| transform.configuration_kind().is_some_and(|kind| *kind == *header.kind);
        let mut same_kind = self.transforms.iter().copied().filter(is_configured_by);
        same_kind.find(|transform| {
            let (group, version) = header.api_version.rsplit_once('/').unwrap_or_default();
            transform.has_group(group) && transform.version(group) == version
        })
    }

    /// Returns whether a text may contain an object to transform, even if the text cannot be parsed.
    ///
    /// ```
    /// use kubefoundry_composition::BUILTIN;
    /// assert!(BUILTIN.may_hold_source("kind: ModelDeployment\napiVersion: kubefoundry.ai/v1alpha1\nspec: ["));
    /// assert!(!BUILTIN.may_hold_source("kind: Deployment"));
    /// ```
    pub fn may_hold_source(&self, text: &str) -> bool {
        may_spell(text.as_bytes(), |text| {
            self.transforms.iter().any(|transform| {
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
    /// use kubefoundry_composition::BUILTIN;
    /// assert!(BUILTIN.may_hold_input("apiVersion: kubefoundry.ai/v1alpha1\nspec: ["));
    /// assert!(BUILTIN.may_hold_input("apiVersion: 1\n? kind\n: ModelDeployment\n"));
    /// assert!(BUILTIN.may_hold_input(r#"{"apiVersion": "kubefoundry\u002eai\/v1alpha1"}"#));
    /// assert!(!BUILTIN.may_hold_input("kind: Deployment"));
    /// ```
    pub fn may_hold_input(&self, text: &str) -> bool {
        may_spell(text.as_bytes(), |text| {
            self.transforms.iter().any(|transform| {
                // An object of such a kind is reported in any group, and without one.
                let kind = Some(transform.kind().1).filter(|_| transform.owns_groups());
                transform.marker_texts().iter().copied().chain(kind).any(|mark| contains(text, mark))
            }) || self.left_out.iter().any(|left_out| contains(text, left_out.kind))
        })
    }

    /// Returns whether objects of this API version and kind are transformed.
    ///
    /// ```
    /// use kubefoundry_composition::BUILTIN;
    /// assert!(BUILTIN.is_source("kubefoundry.ai/v1alpha1", "ModelDeployment"));
    /// assert!(!BUILTIN.is_source("apps/v1", "Deployment"));
    /// ```
    pub fn is_source(&self, api_version: &str, kind: &str) -> bool {
        let (group, version) = api_version.rsplit_once('/').unwrap_or_default();
        self.transform_of_kind(group, kind).is_some_and(|transform| transform.version(group) == version)
    }

    /// Returns the annotations in which a generated object names the object that it was generated from.
    pub fn owner_annotations(&self) -> impl Iterator<Item = String> {
        let annotations_of = |transform: &'static dyn AnyTransform| {
            transform
                .mark_groups()
                .iter()
                .map(move |api_group: &ApiGroup| api_group.label(transform.owner_annotation()))
        };
        self.transforms.iter().copied().flat_map(annotations_of)
    }

    /// Returns the annotations in which a changed input object names the object that caused the change.
    pub fn change_annotations(&self) -> impl Iterator<Item = &'static str> {
        self.transforms.iter().filter_map(|transform| transform.change_annotation())
    }
}

/// Returns the kinds of a transformation in the API groups that it owns: its input kind and the kind of its
/// configurations.
pub fn kinds_of(transform: &dyn AnyTransform) -> impl Iterator<Item = &'static str> {
    [transform.kind().1].into_iter().chain(transform.configuration_kind())
}

/// Many times faster than a search of the standard library, in texts that may be megabytes of other tools.
fn contains(text: &[u8], mark: &str) -> bool {
    memchr::memmem::find(text, mark.as_bytes()).is_some()
}
