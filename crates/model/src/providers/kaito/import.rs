//! A `Workspace` or an `InferenceSet`, read back.

use serde_json::{Map, Value, json};

use super::runner;
use crate::draft::{
    Draft, ImportRefusal, ImportSource, WorkerDraft, count_at, string_at, string_entries_at, strings_at,
};
use crate::engines::{ImportedFlag, flags_from_argv, flags_from_keywords};
use crate::ir::{EngineType, Role};
use crate::providers::reading;
use crate::wire::ModelDeployment;
use kubefoundry_yaml as yaml;

/// Why a preset's GPUs are made up.
const PRESET_GPUS: &str = "a KAITO preset does not say how many GPUs it runs on: the instance type decides";
/// Why an id is made up.
const ID_IN_IMAGE: &str = "the model is in the image, and the object does not name it";

/// Reads an object of either kind.
pub(super) fn import(source: &ImportSource<'_>) -> Result<Draft, ImportRefusal> {
    let is_set = source.string_at("/kind") == Some("InferenceSet");
    let (inference, selector) = if is_set {
        ("/spec/template/inference", "/spec/labelSelector/matchLabels")
    } else {
        ("/inference", "/resource/labelSelector/matchLabels")
    };
    let Some(inference) = source.object.pointer(inference) else {
        return Err(ImportRefusal(
            "it runs no inference: a Workspace for tuning has neither a preset nor a template".to_owned(),
        ));
    };
    let mut draft = match (inference.pointer("/preset/name"), inference.pointer("/template")) {
        (Some(Value::String(name)), _) => preset(name, inference, source),
        (_, Some(template)) => self::template(template, source)?,
        _ => return Err(ImportRefusal("it has no inference.preset and no inference.template".to_owned())),
    };
    draft.node_selector = string_entries_at(source.object, selector);
    if draft.node_selector == Map::from_iter([("kubernetes.io/os".to_owned(), json!("linux"))]) {
        draft.node_selector.clear();
    }
    let instance = if is_set { "/spec/template/resource/instanceType" } else { "/resource/instanceType" };
    if let Some(instance) = source.string_at(instance) {
        draft.overrides.insert("instanceType".to_owned(), json!(instance));
    }
    if is_set {
        let replicas = count_at(source.object, "/spec/replicas").unwrap_or(1);
        if let Some(worker) = draft.workers.first_mut() {
            worker.replicas = replicas;
        }
        if replicas == 1 {
            draft.overrides.insert("workload".to_owned(), json!("InferenceSet"));
        }
        let service = format!("{}-inference", source.name());
        draft.owned_siblings.extend(source.find_sibling("Service", &service).map(|(position, _)| position));
    }
    Ok(draft)
}

fn preset(name: &str, inference: &Value, source: &ImportSource<'_>) -> Draft {
    let mut draft = Draft::new(EngineType::Vllm);
    draft.model_id = Some(name.to_owned());
    draft.hugging_face_token = string_at(inference, "/preset/presetOptions/modelAccessSecret").map(str::to_owned);
    let mut worker = WorkerDraft::new(Role::Aggregated);
    worker.gpu_count = 1;
    draft.assumptions.push((ModelDeployment::path().spec().resources().gpu().count().into(), PRESET_GPUS));
    let config = string_at(inference, "/config").and_then(|config| source.find_sibling("ConfigMap", config));
    if let Some((position, config)) = config {
        draft.owned_siblings.push(position);
        let settings = string_at(config, "/data/inference_config.yaml").unwrap_or_default();
        let parsed = yaml::parse(settings, &yaml::Limits::default());
        let settings = parsed.documents.first().map(|document| document.root.to_json()).unwrap_or_default();
        let vllm = settings.get("vllm").and_then(Value::as_object).cloned().unwrap_or_default();
        worker.flags = flags_from_keywords(&vllm);
    }
    draft.workers.push(worker);
    draft
}

fn template(template: &Value, source: &ImportSource<'_>) -> Result<Draft, ImportRefusal> {
    let spec = template.pointer("/spec").unwrap_or(&Value::Null);
    let Some(container) = reading::container(spec, "model") else {
        return Err(ImportRefusal("its template has several containers and none called model".to_owned()));
    };
    let mut worker = WorkerDraft::new(Role::Aggregated);
    reading::resources(container, &mut worker);
    let (command, args) = (strings_at(container, "/command"), strings_at(container, "/args"));
    let is_vllm = command.iter().any(|word| word == "vllm" || word.starts_with("vllm."));
    let starts_itself = command.is_empty() && args.is_empty();
    let engine = if is_vllm || starts_itself && worker.gpu_count > 0 { EngineType::Vllm } else { EngineType::Llamacpp };
    let mut draft = Draft::new(engine);
    reading::pod(template.pointer("/metadata"), spec, container, source, &mut draft);
    draft.has_default_image = false;
    let image = draft.image.clone().unwrap_or_default();
    worker.flags = match (engine, args.first().map(String::as_str)) {
        (EngineType::Llamacpp, Some("run")) => {
            choose(&image, "aikit", &mut draft);
            made_up_id(&image, source, &mut draft);
            Vec::new()
        }
        (EngineType::Llamacpp, Some(model)) if !model.starts_with('-') => {
            draft.model_id = downloaded(model);
            choose(&image, "llama-cpp-runner", &mut draft);
            let renamed =
                flags_from_argv(args.get(1..).unwrap_or_default()).into_iter().map(|flag| match flag.name.as_str() {
                    "context-size" => ImportedFlag { name: "ctx-size".to_owned(), ..flag },
                    _ => flag,
                });
            renamed.collect()
        }
        (EngineType::Llamacpp, Some(_)) => {
            choose(&image, "llama-server", &mut draft);
            let mut flags = flags_from_argv(&args);
            draft.model_id = model_of_flags(&mut flags);
            flags
        }
        (_, None) => {
            draft.is_custom = true;
            Vec::new()
        }
        (_, Some(_)) => flags_from_argv(&args),
    };
    draft.workers.push(worker);
    Ok(draft)
}

/// Says the runner where the image's name does not.
fn choose(image: &str, runner: &'static str, draft: &mut Draft) {
    let inferred = runner::of_image(image).map(super::overrides::Runner::as_str);
    if inferred != Some(runner) {
        draft.overrides.insert("runner".to_owned(), json!(runner));
    }
}

/// The id of a model that is in the image: none, unless the object says that it is from HuggingFace.
fn made_up_id(image: &str, source: &ImportSource<'_>, draft: &mut Draft) {
    let labels = string_entries_at(source.object, "/metadata/labels");
    let is_hugging_face =
        labels.iter().any(|(key, value)| key.ends_with("/model-source") && value.as_str() == Some("huggingface"));
    if !is_hugging_face {
        draft.is_custom = true;
        return;
    }
    let name = image.split('@').next().unwrap_or(image).rsplit('/').next().unwrap_or_default();
    draft.model_id = Some(name.split(':').next().unwrap_or(name).to_owned());
    draft.assumptions.push((ModelDeployment::path().spec().model().id().into(), ID_IN_IMAGE));
}

/// The id of a model that a runner downloads.
fn downloaded(model: &str) -> Option<String> {
    if let Some(id) = model.strip_prefix("huggingface://") {
        return Some(id.to_owned());
    }
    let (repository, file) = model.strip_prefix("https://huggingface.co/")?.split_once("/resolve/main/")?;
    Some(format!("{repository}/{file}"))
}

/// The id of the model that llama-server is told to load, its flags taken out.
fn model_of_flags(flags: &mut Vec<ImportedFlag>) -> Option<String> {
    let mut take = |name: &str| {
        let position = flags.iter().position(|flag| flag.name == name && flag.value().is_some())?;
        flags.remove(position).values.pop()
    };
    if let Some(path) = take("model") {
        return Some(path);
    }
    let repository = take("hf-repo")?;
    Some(match take("hf-file") {
        Some(file) => format!("{repository}/{file}"),
        None => repository,
    })
}
