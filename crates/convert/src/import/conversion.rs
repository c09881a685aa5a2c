//! Converts an object to the ModelDeployment that renders it: a draft of the provider, without what a rendering adds on its
//! own, and with what shows only when the two are compared.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::compare;
use super::document::{DocumentBuilder, EngineSettings, Supplied, arrange_as_declared, role_flags, user_flags};
use super::importer::{Importer, NamespaceObjects, RenderedDeployment};
use super::object_metadata::api_group_of;
use super::refusal::Refusal;
use super::report::Omission;
use super::{object_metadata, parallelism};
use kubefoundry_analysis::trace::field_change::FieldChange;
use kubefoundry_compiler::codes as shared;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_engines::ImportedFlag;
use kubefoundry_kubernetes::api_group::{AIRUNWAY, ApiGroup};
use kubefoundry_kubernetes::wire::{Describe as _, Shape};
use kubefoundry_provider::draft::{Draft, ImportSource, Refinement, is_empty_collection, string_at, string_entries_at};
use kubefoundry_transform::codes::NAME_TOO_LONG;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// An object as a ModelDeployment.
pub(super) struct Conversion {
    pub(super) draft: Draft,
    pub(super) deployment: Value,
    pub(super) rendering: RenderedDeployment,
    pub(super) omissions: Vec<Omission>,
}

impl Importer<'_> {
    /// Converts an object to a ModelDeployment. If its name is too long, the ModelDeployment gets a shorter one.
    pub(super) fn convert(&self, object: &Value, siblings: &NamespaceObjects<'_>) -> Result<Conversion, Refusal> {
        let convert = |object: &Value| {
            let subject = ImportSource { object, siblings: &siblings.values };
            let mut draft = self.provider.import(&subject).map_err(|why| Refusal::Reason(why.to_string()))?;
            let api_group = api_group_of(object);
            object_metadata::keep_user_metadata(object, &mut draft);
            let conversion = self.convert_draft(object, draft)?;
            Ok(if api_group.name == AIRUNWAY { conversion } else { self.refine(object, conversion) })
        };
        let is_too_long = |refusal: &Refusal| match refusal {
            Refusal::Invalid(errors) => errors.iter().any(|error| error.code.id == NAME_TOO_LONG.id),
            Refusal::Reason(_) => false,
        };
        let name = string_at(object, "/metadata/name").unwrap_or_default();
        let mut result = convert(object);
        for length in SHORTER_NAMES.into_iter().filter(|length| *length < name.len()) {
            if !result.as_ref().is_err_and(is_too_long) {
                break;
            }
            let mut renamed = object.clone();
            renamed["metadata"]["name"] = json!(shorten(name, length));
            result = convert(&renamed);
        }
        result
    }

    /// Lets the provider add to the draft what the rendering shows to be missing.
    fn refine(&self, object: &Value, mut conversion: Conversion) -> Conversion {
        let original = compare::comparable_form(self.composition, object);
        for _ in 0..MAX_REFINEMENTS {
            let Some(main) = conversion.rendering.objects.iter().find(|it| it.get("kind") == object.get("kind")) else {
                break;
            };
            let mut draft = conversion.draft.clone();
            let equivalents = draft.equivalents.clone();
            let refinement = Refinement {
                object: &original,
                rendering: &compare::comparable_form(self.composition, main),
                differs: &|one, other| compare::values_differ(self.composition, one, other, &equivalents),
            };
            if !self.provider.refine(&refinement, &mut draft) {
                break;
            }
            // What the provider adds may be more than a deployment can say.
            let Ok(refined) = self.convert_draft(object, draft) else { break };
            conversion = refined;
        }
        conversion
    }

    /// Converts a draft to a ModelDeployment, or returns the errors with which that is refused.
    fn convert_draft(&self, object: &Value, mut draft: Draft) -> Result<Conversion, Refusal> {
        // Overrides that the API group does not have stay in the residue.
        let mut overrides = Value::Object(std::mem::take(&mut draft.overrides));
        arrange_as_declared(&mut overrides, &self.provider.info().overrides, api_group_of(object).name);
        if let Value::Object(overrides) = overrides {
            draft.overrides = overrides;
        }
        let mut omissions = Vec::new();
        let (deployment, rendering) = self.build_deployment(object, &draft, &mut omissions)?;
        Ok(Conversion { draft, deployment, rendering, omissions })
    }

    /// Builds the ModelDeployment of a draft. Returns it with its rendering, or the errors with which it is refused.
    ///
    /// A rendering adds flags and variables on its own, which the ModelDeployment must not repeat. Rendering a minimal
    /// deployment and importing the result shows them.
    fn build_deployment(
        &self,
        object: &Value,
        draft: &Draft,
        omissions: &mut Vec<Omission>,
    ) -> Result<(Value, RenderedDeployment), Refusal> {
        let api_group = api_group_of(object);
        let metadata = metadata(object, api_group);
        let settings = EngineSettings::from_draft(draft);
        let is_hugging_face = is_hugging_face(object);
        let provider_name = Some(self.provider.name());
        let build = |settings: &EngineSettings, has_default_caching, provider, with_image, supplied: &Supplied| {
            let metadata = &metadata;
            DocumentBuilder {
                api_group,
                metadata,
                draft,
                settings,
                provider,
                with_image,
                supplied,
                has_default_caching,
                is_hugging_face,
            }
            .document()
        };
        let nothing = Supplied::default();
        let reread = |settings: &EngineSettings, has_default_caching| {
            self.reread(&build(settings, has_default_caching, provider_name, draft.image.is_some(), &nothing))
        };
        let settings = &settings.keep_deprecated_switch(draft, |settings| reread(settings, true));
        // Not every provider renders a flag for a default of the API group.
        let sets_default = settings.prefix_caching.is_some() && settings.prefix_caching == api_group.prefix_caching;
        let has_default_caching = !sets_default
            || reread(settings, true)
                .is_some_and(|reread| EngineSettings::from_draft(&reread).prefix_caching == settings.prefix_caching);
        let build = |provider, with_image, supplied: &Supplied| {
            build(settings, has_default_caching, provider, with_image, supplied)
        };
        let minimal = self.reread(&build(provider_name, !draft.has_default_image, &nothing));
        let is_default = minimal.as_ref().is_some_and(|minimal| minimal.image == draft.image);
        let with_image = draft.image.is_some() && !(draft.has_default_image && is_default);
        let minimal = if with_image { self.reread(&build(provider_name, true, &nothing)) } else { minimal };
        let added_flags = minimal.as_ref().map_or_else(Vec::new, |minimal| {
            minimal.workers.iter().map(|worker| worker.flags.clone()).collect::<Vec<Vec<ImportedFlag>>>()
        });
        let mut supplied = Supplied::default();
        supplied.divide_env(draft, minimal.as_ref());
        supplied.flags = user_flags(&settings.rest, &added_flags);
        if draft.workers.len() > 1 {
            supplied.role_flags = role_flags(&settings.rest, &added_flags, &supplied.flags);
        }
        let reread = |sizes: &Supplied| self.reread(&build(provider_name, with_image, sizes));
        parallelism::write_sizes(draft, &settings.rest, &mut supplied, reread).map_err(Refusal::Reason)?;
        // The provider is provider_name only if automatic selection would give another one.
        let reason = string_entries_at(object, "/metadata/annotations").remove(&api_group.label("selected-reason"));
        if let Some(Value::String(reason)) = reason {
            let deployment = build(None, with_image, &supplied);
            if let Ok(rendering) = self.render(&deployment)
                && rendering.reason.as_deref() == Some(reason.as_str())
            {
                return Ok((deployment, rendering));
            }
        }
        self.remove_refused_parts(build(provider_name, with_image, &supplied), omissions).map_err(Refusal::Invalid)
    }

    /// Removes the flags, variables and other separable parts for which a deployment is refused. Returns the deployment
    /// with its rendering, or the errors if other parts cause them.
    pub(super) fn remove_refused_parts(
        &self,
        mut deployment: Value,
        omissions: &mut Vec<Omission>,
    ) -> Result<(Value, RenderedDeployment), Vec<Diagnostic>> {
        loop {
            let errors = match self.render(&deployment) {
                Ok(rendering) => return Ok((deployment, rendering)),
                Err(errors) => errors,
            };
            let parts = errors.iter().map(|error| {
                let path = &error.location.as_ref()?.path;
                // Removing a parallel size would change how the engine is distributed.
                let is_removable = error.code.id != shared::PARALLELISM_EXCEEDS_GPUS.id;
                Some((separable_part(path).filter(|_| is_removable)?, error))
            });
            let Some(parts) = parts.collect::<Option<BTreeMap<FieldPath, &Diagnostic>>>() else { return Err(errors) };
            let mut root: Node<'static> = Node::from(&deployment).to_owned_node();
            let count_before = omissions.len();
            // Removing from the end keeps the positions of earlier list items.
            for (path, error) in parts.iter().rev() {
                let is_removed = FieldChange::remove(path.clone()).apply(&mut root);
                let reason = format!("{} ({})", error.message, error.code.id);
                omissions.extend(is_removed.then(|| Omission { path: path.clone(), reason }));
            }
            if omissions.len() == count_before {
                return Err(errors);
            }
            deployment = root.to_json();
            remove_empty_lists(&mut deployment);
        }
    }
}

/// How often a provider may add to a draft. Each time needs a rendering.
const MAX_REFINEMENTS: usize = 3;

/// Removes the lists and mappings of a specification in which nothing is left. In overrides, they may mean something.
fn remove_empty_lists(deployment: &mut Value) {
    let Some(spec) = deployment.get_mut("spec").and_then(Value::as_object_mut) else { return };
    spec.retain(|_, value| !is_empty_collection(value));
}

/// The lengths of the names that are tried in place of one that is too long.
const SHORTER_NAMES: [usize; 4] = [40, 32, 24, 16];

/// Returns a name of at most `length` characters: the start of a longer one, and a part of its hash, so that two names
/// with the same start stay different.
fn shorten(name: &str, length: usize) -> String {
    let hash = format!("{:016x}", kubefoundry_yaml::fingerprint::fnv1a_64(name.as_bytes()));
    let start: String = name.chars().take(length.saturating_sub(HASH_LENGTH + 1)).collect();
    format!("{}-{hash:.HASH_LENGTH$}", start.trim_end_matches(['-', '.']))
}

/// The characters of a hash in a shortened name.
const HASH_LENGTH: usize = 5;

/// Returns whether an object identifies its model as a HuggingFace model.
fn is_hugging_face(object: &Value) -> bool {
    let labels = string_entries_at(object, "/metadata/labels");
    labels.iter().any(|(key, value)| key.ends_with("/model-source") && value.as_str() == Some("huggingface"))
}

/// Returns the part of a deployment that can be removed without affecting the rest: a flag, a variable or a label.
fn separable_part(path: &FieldPath) -> Option<FieldPath> {
    // The model may be on a volume.
    if path.starts_with(&ModelDeployment::path().spec().model().storage()) {
        return None;
    }
    if let Some(entry) = object_metadata::entry_at(path) {
        return Some(entry);
    }
    let mut part = FieldPath::root();
    let mut shape = ModelDeployment::SHAPE;
    for segment in path.segments() {
        let is_entry = matches!(shape, Shape::List(_) | Shape::Map(_));
        part = match segment {
            Segment::Key(key) => {
                if let Shape::Object(object) = shape {
                    shape = object.field(key)?.full_shape();
                }
                part.with_key(key.clone())
            }
            Segment::Index(index) => part.with_index(*index),
        };
        if is_entry {
            return Some(part);
        }
    }
    None
}

/// Returns the metadata of the ModelDeployment: the name, the namespace, and the labels that a rendering copies.
fn metadata(object: &Value, api_group: &ApiGroup) -> Value {
    let mut metadata = Map::new();
    for field in ["name", "namespace"] {
        if let Some(value) = string_at(object, &format!("/metadata/{field}")) {
            metadata.insert(field.to_owned(), json!(value));
        }
    }
    let mut labels = string_entries_at(object, "/metadata/labels");
    let markers = ["managed-by", "model-source"].map(|name| api_group.label(name));
    labels.retain(|key, _| key.starts_with(api_group.label_prefix) && !markers.contains(key));
    if !labels.is_empty() {
        metadata.insert("labels".to_owned(), Value::Object(labels));
    }
    Value::Object(metadata)
}
