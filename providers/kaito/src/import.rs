//! Import of a `Workspace` or an `InferenceSet`.

use serde_json::{Map, Value, json};

use super::manifests::API_VERSION;
use super::runner;
use super::start_command::PORT;
use super::template::{CONTAINER_NAME, SHARED_MEMORY_LIMIT};
use super::{OTHER_RUNTIME, RUNTIME};
use kubefoundry_deployment::ir::{EngineType, Role};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_engines::{CommandLine, ImportedFlag, Launcher, flags_from_argv, flags_from_keywords};
use kubefoundry_provider::draft::{
    Draft, ImportRefusal, ImportSource, WorkerDraft, count_at, items_at, string_at, string_entries_at,
};
use kubefoundry_provider::image::repository_name;
use kubefoundry_provider::import_pod;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;

/// The reason for the assumed GPU count of a preset.
const PRESET_GPUS: &str = "a KAITO preset does not say how many GPUs it runs on; the instance type decides";
/// The help about the id that replaces a preset's own name.
const ALIAS_HELP: &str =
    "KAITO takes the id since 0.11, but refuses to change the preset of an object that exists: delete the object first";
/// The older version of KAITO's CRDs, and its default for the instance type of a Workspace.
const OLDER_VERSION: &str = "kaito.sh/v1alpha1";
const OLDER_INSTANCE_TYPE: &str = "Standard_NC24ads_A100_v4";
/// The help about the older version.
const VERSION_HELP: &str = "nothing changes in a cluster whose KAITO has both versions";
/// The annotation that names what runs a preset, as a JSON pointer.
const RUNTIME_POINTER: &str = "/metadata/annotations/kaito.sh~1runtime";
/// The help about a preset that runs with Transformers.
const RUNTIME_HELP: &str = "KAITO runs it with Transformers as long as the annotation is there; remove it to run vLLM";
/// The reason for an assumed model id.
const ID_IN_IMAGE: &str = "the model is in the image, but the object does not name it";

/// Imports an object of either kind.
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
    let nodes = count_at(source.object, "/resource/count").unwrap_or(1);
    if nodes > 1 && inference.get("preset").is_none() {
        let reason =
            format!("it runs its template on {nodes} nodes (resource.count), but a ModelDeployment runs on one");
        return Err(ImportRefusal(reason));
    }
    let mut draft = match (inference.pointer("/preset/name"), inference.pointer("/template")) {
        (Some(Value::String(name)), _) => import_preset(name, inference, source),
        (_, Some(template)) => import_template(template, source)?,
        _ => return Err(ImportRefusal("it has no inference.preset and no inference.template".to_owned())),
    };
    draft.node_selector = string_entries_at(source.object, selector);
    if draft.node_selector == Map::from_iter([("kubernetes.io/os".to_owned(), json!("linux"))]) {
        draft.node_selector.clear();
    }
    let resource = if is_set { "/spec/template/resource" } else { "/resource" };
    let resource = source.object.pointer(resource).unwrap_or(&Value::Null);
    if let Some(instance_type) = string_at(resource, "/instanceType") {
        draft.overrides.insert("instanceType".to_owned(), json!(instance_type));
    }
    read_older_version(source, &mut draft);
    keep_settings(resource, &["preferredNodes", "partition"], &mut draft);
    if nodes > 1 {
        set_nodes(nodes, &mut draft);
    }
    if is_set {
        keep_settings(
            source.object.get("spec").unwrap_or(&Value::Null),
            &["nodeCountLimit", "autoUpgrade"],
            &mut draft,
        );
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

/// Copies fields that are overrides of the same name.
fn keep_settings(fields: &Value, names: &[&str], draft: &mut Draft) {
    for name in names {
        let value = fields.get(*name).filter(|value| !value.is_null());
        draft.overrides.extend(value.map(|value| ((*name).to_owned(), value.clone())));
    }
}

/// Sets the nodes of the worker, and its GPUs where the instance type is known: those of one node.
fn set_nodes(nodes: u32, draft: &mut Draft) {
    let name = draft.overrides.get("instanceType").and_then(Value::as_str);
    let instance_type = name.and_then(kubefoundry_facts::instance_type).filter(|instance_type| instance_type.gpus > 0);
    let Some(worker) = draft.workers.first_mut() else { return };
    worker.nodes = nodes;
    if let Some(instance_type) = instance_type {
        worker.gpu_count = instance_type.gpus;
        draft.assumptions.retain(|(_, why)| *why != PRESET_GPUS);
    }
}

/// Reads an object of `kaito.sh/v1alpha1` as the API server does when it stores it as `v1beta1`: the CRDs have no
/// conversion webhook, `v1beta1` has every field of `v1alpha1`, and only the default of a Workspace's instance type is
/// dropped there (config/crd/bases).
fn read_older_version(source: &ImportSource<'_>, draft: &mut Draft) {
    let Some(older) = source.string_at("/apiVersion").filter(|version| *version == OLDER_VERSION) else { return };
    let message = format!("apiVersion is {older:?}, but the rendering has {API_VERSION:?}, in which KAITO stores it");
    draft.resolutions.push((message, VERSION_HELP));
    draft.equivalents.texts.push((older.to_owned(), API_VERSION.to_owned()));
    if source.string_at("/kind") == Some("Workspace") && !draft.overrides.contains_key("instanceType") {
        draft.overrides.insert("instanceType".to_owned(), json!(OLDER_INSTANCE_TYPE));
        let path = FieldPath::parse("resource.instanceType");
        draft.resolutions.push((format!("{path} is {OLDER_INSTANCE_TYPE:?}, the default of {older}"), VERSION_HELP));
        draft.equivalents.implied_fields.push((path, json!(OLDER_INSTANCE_TYPE)));
    }
}

fn import_preset(name: &str, inference: &Value, source: &ImportSource<'_>) -> Draft {
    let mut draft = Draft::new(EngineType::Vllm);
    if let Some(runtime) = source.string_at(RUNTIME_POINTER).filter(|runtime| *runtime == OTHER_RUNTIME) {
        let message = format!("the annotation {RUNTIME} is {runtime:?}, but the import has the engine vllm");
        draft.resolutions.push((message, RUNTIME_HELP));
    }
    draft.model_id = Some(name.to_owned());
    if let Some(id) = kubefoundry_facts::kaito_preset_model(name) {
        draft.model_id = Some(id.to_owned());
        draft.equivalents.texts.push((name.to_owned(), id.to_owned()));
        let path = ModelDeployment::path().spec().model().id();
        draft
            .resolutions
            .push((format!("{path} is {id:?}, the Hugging Face id of KAITO's preset {name:?}"), ALIAS_HELP));
    }
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
        let mut settings = settings.as_object().cloned().unwrap_or_default();
        let vllm = settings.shift_remove("vllm").unwrap_or_default();
        worker.flags = vllm.as_object().map(flags_from_keywords).unwrap_or_default();
        settings.retain(|_, value| !value.is_null());
        if !settings.is_empty() {
            draft.overrides.insert("inferenceConfig".to_owned(), Value::Object(settings));
        }
    }
    draft.workers.push(worker);
    draft
}

fn import_template(template: &Value, source: &ImportSource<'_>) -> Result<Draft, ImportRefusal> {
    let spec = template.pointer("/spec").unwrap_or(&Value::Null);
    let Some(container) = import_pod::find_container(spec, CONTAINER_NAME) else {
        return Err(ImportRefusal(format!("its template has several containers and none called {CONTAINER_NAME}")));
    };
    let mut worker = WorkerDraft::new(Role::Aggregated);
    import_pod::import_resources(container, &mut worker);
    let line = CommandLine::read(container).map_err(|reason| ImportRefusal(format!("its command is {reason}")))?;
    let args = line.texts();
    let is_vllm = line.program.iter().any(|word| word == "vllm" || word.starts_with("vllm."));
    let image_starts_itself = line.program.is_empty() && args.is_empty();
    let engine =
        if is_vllm || image_starts_itself && worker.gpu_count > 0 { EngineType::Vllm } else { EngineType::Llamacpp };
    let mut draft = Draft::new(engine);
    import_pod::import_pod(template.pointer("/metadata"), spec, container, source, &mut draft);
    if worker.gpu_count > 1 && draft.shared_memory.as_deref() == Some(SHARED_MEMORY_LIMIT) {
        // A rendering writes this size by itself.
        draft.shared_memory = None;
    }
    // KAITO replaces it.
    draft.pod_spec.shift_remove("affinity");
    if let Some(name) = string_at(container, "/name").filter(|name| *name != CONTAINER_NAME) {
        draft.overrides.insert("containerName".to_owned(), json!(name));
    }
    imply_port(source, spec, container, &mut draft);
    draft.has_default_image = false;
    let image = draft.image.clone().unwrap_or_default();
    worker.flags = match (engine, args.as_slice()) {
        (EngineType::Llamacpp, [first, ..]) if first == "run" => {
            set_runner(&image, "aikit", &mut draft);
            assume_model_id(&image, source, &mut draft);
            Vec::new()
        }
        (EngineType::Llamacpp, [model, others @ ..]) if !model.starts_with('-') => {
            draft.model_id = downloaded_model_id(model);
            set_runner(&image, "llama-cpp-runner", &mut draft);
            let flags = flags_from_argv(others).into_iter().map(|flag| match flag.name.as_str() {
                "context-size" => ImportedFlag { name: "ctx-size".to_owned(), ..flag },
                _ => flag,
            });
            flags.collect()
        }
        (EngineType::Llamacpp, [_, ..]) => {
            set_runner(&image, "llama-server", &mut draft);
            let mut flags = draft.equivalents.canonicalize(flags_from_argv(&args), &Launcher::llama_server());
            draft.model_id = take_model_id(&mut flags);
            flags
        }
        (_, []) => {
            draft.is_custom = true;
            Vec::new()
        }
        (_, [_, ..]) => draft.equivalents.canonicalize(flags_from_argv(&args), &Launcher::vllm_server(&image)),
    };
    draft.workers.push(worker);
    Ok(draft)
}

/// Treats the port of the rendered container as implied if the container lists none: a port without a name is only
/// informative (core/v1 Container), and KAITO's Service names the port by its number.
fn imply_port(source: &ImportSource<'_>, spec: &Value, container: &Value, draft: &mut Draft) {
    if container.get("ports").is_some() {
        return;
    }
    let Some(position) = items_at(spec, "/containers").iter().position(|other| other == container) else { return };
    let containers = if source.string_at("/kind") == Some("InferenceSet") {
        FieldPath::parse("spec.template.inference.template.spec.containers")
    } else {
        FieldPath::parse("inference.template.spec.containers")
    };
    let path = containers.index(position).key("ports");
    draft.equivalents.implied_fields.push((path, json!([{"containerPort": PORT}])));
}

/// Sets `overrides.runner` if it cannot be inferred from the image's name.
fn set_runner(image: &str, runner: &'static str, draft: &mut Draft) {
    let inferred = runner::infer_runner(image).map(super::overrides::Runner::as_str);
    if inferred != Some(runner) {
        draft.overrides.insert("runner".to_owned(), json!(runner));
    }
}

/// Sets the model of an image that contains it: a custom model without an id, or an assumed id if the object's label
/// says that the model is from HuggingFace.
fn assume_model_id(image: &str, source: &ImportSource<'_>, draft: &mut Draft) {
    let labels = string_entries_at(source.object, "/metadata/labels");
    let is_hugging_face =
        labels.iter().any(|(key, value)| key.ends_with("/model-source") && value.as_str() == Some("huggingface"));
    if !is_hugging_face {
        draft.is_custom = true;
        return;
    }
    draft.model_id = Some(repository_name(image).to_owned());
    draft.assumptions.push((ModelDeployment::path().spec().model().id().into(), ID_IN_IMAGE));
}

/// Returns the id of a model that a runner downloads.
fn downloaded_model_id(model: &str) -> Option<String> {
    if let Some(id) = model.strip_prefix("huggingface://") {
        return Some(id.to_owned());
    }
    let (repository, file) = model.strip_prefix("https://huggingface.co/")?.split_once("/resolve/main/")?;
    Some(format!("{repository}/{file}"))
}

/// Returns the id of the model that llama-server's flags name, and removes those flags.
fn take_model_id(flags: &mut Vec<ImportedFlag>) -> Option<String> {
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
