//! Import of a `RayService`.

use serde_json::{Map, Value, json};

use kubefoundry_deployment::ir::{EngineType, Role};
use kubefoundry_engines::{ImportedFlag, flags_from_keywords, profile};
use kubefoundry_provider::draft::{
    Draft, ImportRefusal, ImportSource, WorkerDraft, count_at, items_at, quantity_at, string_at, string_entries_at,
};
use kubefoundry_provider::import_pod;
use kubefoundry_yaml as yaml;

/// Imports a RayService.
pub(super) fn import(source: &ImportSource<'_>) -> Result<Draft, ImportRefusal> {
    let refuse = |reason: String| Err(ImportRefusal(reason));
    let serve = source.string_at("/spec/serveConfigV2").unwrap_or_default();
    let parsed = yaml::parse(serve, &yaml::Limits::default());
    let Some(config) = parsed.documents.first().map(|document| document.root.to_json()) else {
        return refuse("its spec.serveConfigV2 is empty or not YAML".to_owned());
    };
    let [application] = items_at(&config, "/applications") else {
        let number = items_at(&config, "/applications").len();
        return refuse(format!("it has {number} Serve applications, expected one"));
    };
    let models: Vec<(Role, &Value)> = match application.pointer("/args").and_then(Value::as_object) {
        Some(args) => match (args.get("llm_configs"), args.get("llm_config")) {
            (Some(Value::Array(models)), None) if models.len() == 1 => {
                models.iter().map(|model| (Role::Aggregated, model)).collect()
            }
            (None, Some(model)) => vec![(Role::Aggregated, model)],
            (None, None) => [(Role::Prefill, "prefill_config"), (Role::Decode, "decode_config")]
                .into_iter()
                .filter_map(|(role, key)| Some((role, args.get(key)?)))
                .collect(),
            _ => Vec::new(),
        },
        None => Vec::new(),
    };
    let groups = serving_groups(source.object, models.len());
    let import_path = string_at(application, "/import_path").unwrap_or_default();
    if models.iter().any(|(_, model)| model.is_string()) {
        return refuse("its models are in files (llm_configs), expected the settings themselves".to_owned());
    }
    if !import_path.starts_with("ray.serve.llm:")
        || matches!(models.as_slice(), [] | [(Role::Prefill | Role::Decode, _)])
    {
        return refuse(format!(
            "its application is {import_path:?}, expected a single model of ray.serve.llm, or a prefill and a decode \
             model"
        ));
    }
    if groups.len() != models.len() {
        return refuse(format!(
            "it has {} worker groups for {} models, expected one for each model",
            groups.len(),
            models.len()
        ));
    }
    let mut draft = Draft::new(EngineType::Vllm);
    for ((role, model), (position, group)) in models.iter().zip(groups.iter().copied().enumerate()) {
        let rendered_name = role_name(*role);
        // Prefill and decode groups are matched by their rendered names, or else by position.
        let named = groups.iter().copied().find(|group| string_at(group, "/groupName") == Some(rendered_name));
        let group = named.unwrap_or(group);
        let name = string_at(group, "/groupName").unwrap_or_default();
        if name != rendered_name {
            draft.equivalents.renames.pairs.push((name.to_owned(), rendered_name.to_owned()));
        }
        let spec = group.pointer("/template/spec").unwrap_or(&Value::Null);
        let Some(container) = import_pod::find_container(spec, "ray-worker") else {
            return refuse(format!("worker group {name:?} has no container ray-worker"));
        };
        if position == 0 {
            import_pod::import_pod(group.pointer("/template/metadata"), spec, container, source, &mut draft);
            let source = string_at(model, "/model_loading_config/model_source");
            let id = string_at(model, "/model_loading_config/model_id");
            draft.model_id = source.or(id).map(str::to_owned);
            draft.served_name = id.map(str::to_owned);
            if let Some(accelerator) = string_at(model, "/accelerator_type") {
                draft.overrides.insert("acceleratorType".to_owned(), json!(accelerator));
            }
        }
        let mut worker = WorkerDraft::new(*role);
        import_pod::import_resources(container, &mut worker);
        worker.replicas = count_replicas(model, group);
        worker.flags = engine_flags(model);
        worker.nodes = count_nodes(group, &worker);
        worker.env = Some(import_pod::last_variable_per_name(items_at(container, "/env")));
        draft.workers.push(worker);
    }
    import_head(source, &mut draft);
    Ok(draft)
}

/// Returns the worker groups that run the models: those with GPUs, if there are more groups than models.
pub(super) fn serving_groups(object: &Value, models: usize) -> Vec<&Value> {
    let groups = items_at(object, "/spec/rayClusterConfig/workerGroupSpecs");
    let has_gpus = |group: &&Value| {
        items_at(group, "/template/spec/containers").iter().any(|container| {
            let limits = container.pointer("/resources/limits").and_then(Value::as_object);
            limits.is_some_and(|limits| limits.keys().any(|name| name.ends_with("/gpu")))
        })
    };
    if groups.len() <= models { groups.iter().collect() } else { groups.iter().filter(has_gpus).collect() }
}

/// Returns the number of nodes over which a replica is spread: its parallel ranks may need the GPUs of several workers,
/// and the replicas of a group may have several hosts.
fn count_nodes(group: &Value, worker: &WorkerDraft) -> u32 {
    let parallelism = profile(EngineType::Vllm).parallelism.as_ref();
    let names = parallelism.into_iter().flat_map(|flags| [Some(flags.tensor), Some(flags.pipeline), flags.data]);
    let size = |name: &str| worker.flags.iter().find(|flag| flag.name == name)?.value()?.parse::<u32>().ok();
    let ranks = names.flatten().filter_map(size).fold(1_u32, u32::saturating_mul);
    let hosts = count_at(group, "/numOfHosts").unwrap_or(1);
    ranks.checked_div(worker.gpu_count).map_or(1, |_| ranks.div_ceil(worker.gpu_count)).max(hosts)
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Aggregated => "worker",
        Role::Prefill => "prefill",
        Role::Decode => "decode",
    }
}

fn count_replicas(model: &Value, group: &Value) -> u32 {
    count_at(model, "/deployment_config/num_replicas")
        .or_else(|| count_at(model, "/deployment_config/autoscaling_config/min_replicas"))
        .or_else(|| count_at(group, "/replicas"))
        .unwrap_or(1)
}

fn engine_flags(model: &Value) -> Vec<ImportedFlag> {
    model.pointer("/engine_kwargs").and_then(Value::as_object).map(flags_from_keywords).unwrap_or_default()
}

/// Imports the settings of the head that differ from the defaults.
fn import_head(source: &ImportSource<'_>, draft: &mut Draft) {
    let Some(group) = source.object.pointer("/spec/rayClusterConfig/headGroupSpec") else { return };
    let spec = group.pointer("/template/spec").unwrap_or(&Value::Null);
    import_pod::keep_shared_settings(spec, draft);
    let mut head = Map::new();
    if let Some(container) = import_pod::find_container(spec, "ray-head") {
        let amounts = [
            ("cpu", quantity_at(container, "/resources/requests/cpu"), "2"),
            ("memory", quantity_at(container, "/resources/limits/memory"), "4Gi"),
        ];
        let written = amounts.into_iter().filter_map(|(field, amount, default)| {
            Some((field.to_owned(), json!(amount.filter(|amount| amount != default)?)))
        });
        let resources: Map<String, Value> = written.collect();
        if !resources.is_empty() {
            head.insert("resources".to_owned(), Value::Object(resources));
        }
    }
    let mut params = string_entries_at(group, "/rayStartParams");
    params.retain(|key, value| {
        !matches!((key.as_str(), value.as_str()), ("num-cpus", Some("0")) | ("dashboard-host", Some("0.0.0.0")))
    });
    if !params.is_empty() {
        head.insert("rayStartParams".to_owned(), Value::Object(params));
    }
    if !head.is_empty() {
        draft.overrides.insert("head".to_owned(), Value::Object(head));
    }
}
