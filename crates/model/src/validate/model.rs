//! Validation of the model: its id, its name in the API and its source.

use super::messages::{self, model_id};
use super::{storage, volumes};
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{EngineType, Leaf, Model, ModelSource, Volume};
use kubefoundry_deployment::wire;
use kubefoundry_kubernetes::check::{Checker, non_empty};
use kubefoundry_kubernetes::syntax_result::SyntaxResult;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

/// Validates the model. Returns `None` if its source could not be read.
pub(super) fn validate_model(
    spec: &wire::ModelDeploymentSpec,
    deployment: &str,
    has_image: bool,
    check: &mut Checker<'_, '_>,
) -> Option<Model> {
    let empty = wire::Model::default();
    let wire = spec.model.as_ref().unwrap_or(&empty);
    let volumes = storage::validate_volumes(wire.storage.as_ref(), deployment, check);
    let source_path = FieldPath::from(wire::ModelDeployment::path().spec().model().source());
    if wire.source.is_none() && !check.is_absent(&source_path) {
        return None;
    }
    let source = Leaf::or_default(wire.source, ModelSource::HuggingFace);
    let id = non_empty(wire.id.as_deref());
    let served_name = match source.value {
        ModelSource::HuggingFace => {
            let engine = spec.engine.as_ref().and_then(|engine| engine.engine_type);
            let names_contained_model = has_image && engine == Some(EngineType::Llamacpp);
            let mounts = spec.volume_mounts.as_deref().unwrap_or_default();
            validate_hugging_face_id(wire, &volumes, mounts, names_contained_model, check);
            validate_served_name(wire, check)
        }
        ModelSource::Custom => {
            validate_custom_model(wire, has_image, check);
            None
        }
    };
    Some(Model { id: id.map(str::to_owned), served_name, source, volumes, facts: None })
}

/// Validates a custom model, which is in the image (docs/specification.md MD-1.2).
fn validate_custom_model(wire: &wire::Model, has_image: bool, check: &mut Checker<'_, '_>) {
    let image = FieldPath::from(wire::ModelDeployment::path().spec().image());
    if !has_image
        && check.is_absent_or_empty(&image)
        && check.is_absent_or_empty(&wire::ModelDeployment::path().spec().engine().image())
    {
        check.findings.report(&codes::IMAGE_REQUIRED, &image, messages::IMAGE_REQUIRED);
    }
    if let Some(id) = non_empty(wire.id.as_deref()) {
        let checked = if id.starts_with('/') { check_absolute_path(id) } else { Err(model_id::IN_IMAGE) };
        check.check_syntax(&codes::INVALID_MODEL_ID, &wire::ModelDeployment::path().spec().model().id(), id, checked);
    }
    if non_empty(wire.served_name.as_deref()).is_some() {
        let path = FieldPath::from(wire::ModelDeployment::path().spec().model().served_name());
        check
            .findings
            .report(&codes::SERVED_NAME_IGNORED, &path, "servedName is ignored for custom source")
            .help("remove it: the container names its model itself");
    }
}

fn validate_hugging_face_id(
    wire: &wire::Model,
    volumes: &[Volume],
    mounts: &[Node<'_>],
    names_contained_model: bool,
    check: &mut Checker<'_, '_>,
) {
    let path = FieldPath::from(wire::ModelDeployment::path().spec().model().id());
    if check.is_missing(wire.id.as_deref(), &path) {
        check.findings.report(&codes::MODEL_ID_REQUIRED, &path, messages::MODEL_ID_REQUIRED);
    }
    let Some(id) = non_empty(wire.id.as_deref()) else { return };
    if !id.starts_with('/') {
        // llama.cpp images may contain the model, and then the id is only its name: `gemma2:2b`. The provider, which
        // knows the image, refuses such a name where a model has to be downloaded.
        let syntax =
            if names_contained_model && !id.contains('/') { check_tagged_name(id) } else { check_repository(id) };
        check.check_syntax(&codes::INVALID_MODEL_ID, &path, id, syntax);
        return;
    }
    // A volume without a mountPath, and volumes that could not be read, already have findings.
    let volumes_unread = volumes.iter().any(|volume| volume.mount_path.value.is_empty())
        || mounts.is_empty() && volumes::has_entries(&wire::ModelDeployment::path().spec().volume_mounts(), check)
        || volumes.is_empty() && !check.is_absent(&wire::ModelDeployment::path().spec().model().storage().volumes());
    if check.check_syntax(&codes::INVALID_MODEL_ID, &path, id, check_absolute_path(id)) && !volumes_unread {
        let written = mounts.iter().filter_map(|mount| mount.get("mountPath")?.as_str());
        let mounted = volumes
            .iter()
            .map(|volume| volume.mount_path.value.as_str())
            .chain(written)
            .any(|mount| storage::contains_path(mount, id));
        let checked =
            if mounted { Ok(()) } else { Err("a path under the mountPath of a volume in spec.model.storage") };
        check.check_syntax(&codes::INVALID_MODEL_ID, &path, id, checked);
    }
}

/// Checks an id of the form `org/name`, `org/name/file.gguf` or `name`. The parts follow `validate_repo_id` of
/// `huggingface_hub`, which the engines call.
fn check_repository(id: &str) -> SyntaxResult {
    if id.starts_with('-') || id.chars().any(|character| character.is_whitespace() || character.is_control()) {
        return Err(model_id::NO_FLAG);
    }
    let parts: Vec<&str> = id.split('/').collect();
    let (repository, file) = match parts.as_slice() {
        [_] | [_, _] => (parts.as_slice(), None),
        [repository @ .., file] if parts.len() == 3 => (repository, Some(*file)),
        _ => return Err(model_id::FORM),
    };
    if parts.iter().any(|part| part.is_empty()) || file.is_some_and(|file| !is_gguf(file)) {
        return Err(model_id::FORM);
    }
    let file_fits = file.is_none_or(|file| {
        file.len() <= 255 && !file.starts_with(['-', '.']) && !file.contains("..") && file.bytes().all(is_id_byte)
    });
    if file_fits && repository.iter().all(|part| is_id_part(part)) { Ok(()) } else { Err(model_id::PARTS) }
}

/// Checks a name with an optional tag: `gemma2:2b`.
fn check_tagged_name(id: &str) -> SyntaxResult {
    match id.split_once(':') {
        Some((name, tag)) if is_id_part(name) && is_id_part(tag) => Ok(()),
        Some(_) => Err("a name, or a name and a tag separated by a colon"),
        None => check_repository(id),
    }
}

fn is_gguf(file: &str) -> bool {
    file.rsplit_once('.').is_some_and(|(stem, extension)| !stem.is_empty() && extension.eq_ignore_ascii_case("gguf"))
}

fn is_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

fn is_id_part(part: &str) -> bool {
    part.len() <= 96
        && part.bytes().all(is_id_byte)
        && !part.starts_with(['-', '.'])
        && !part.ends_with(['-', '.'])
        && !part.contains("--")
        && !part.contains("..")
}

/// Checks a path: it is below `/` and has no white space and no `..`.
fn check_absolute_path(path: &str) -> SyntaxResult {
    if path.chars().any(|character| character.is_whitespace() || character.is_control()) {
        return Err(model_id::PATH_WITHOUT_SPACES);
    }
    if path.split('/').any(|part| part == "..") {
        return Err(messages::PATH_UPWARDS);
    }
    if basename(path).is_none() { Err(model_id::PATH_BELOW_ROOT) } else { Ok(()) }
}

/// Returns the last non-empty part of an id.
fn basename(id: &str) -> Option<&str> {
    id.rsplit('/').find(|part| !part.is_empty())
}

/// Validates the name in the API: the written one, or the last part of the id (docs/specification.md MD-1.3).
fn validate_served_name(wire: &wire::Model, check: &mut Checker<'_, '_>) -> Option<Leaf<String>> {
    let path = FieldPath::from(wire::ModelDeployment::path().spec().model().served_name());
    if let Some(name) = non_empty(wire.served_name.as_deref()) {
        check.check_syntax(&codes::INVALID_SERVED_NAME, &path, name, check_served_name(name));
        return Some(Leaf::written(name.to_owned()));
    }
    if !check.effective_api_group().derives_served_name {
        return None;
    }
    let name = wire.id.as_deref().and_then(basename)?;
    let is_path = wire.id.as_deref().is_some_and(|id| id.starts_with('/') && check_absolute_path(id).is_ok());
    if is_path && check_served_name(name).is_err() && check.is_missing(wire.served_name.as_deref(), &path) {
        let id = FieldPath::from(wire::ModelDeployment::path().spec().model().id());
        let message = "the last part of spec.model.id cannot be the name in the API, expected spec.model.servedName";
        check.findings.report(&codes::INVALID_SERVED_NAME, &id, message);
    }
    Some(Leaf::derived(name.to_owned()))
}

/// Checks a name in the API. Engines split names at commas and spaces, and read a leading `-` as a flag
/// (docs/design/0010).
fn check_served_name(name: &str) -> SyntaxResult {
    let is_refused = |character: char| character == ',' || character.is_whitespace() || character.is_control();
    if name.len() > 253 {
        Err(messages::SERVED_NAME_TOO_LONG)
    } else if name.starts_with('-') || name.chars().any(is_refused) {
        Err(messages::SERVED_NAME)
    } else {
        Ok(())
    }
}
