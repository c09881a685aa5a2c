//! A `RayService`, read back.

use serde_json::{Map, Value, json};

use crate::draft::{Draft, NotImportable, Subject, WorkerDraft, count, entries, items, quantity, text};
use crate::engines::{GivenFlag, flags_of_keywords};
use crate::ir::{EngineType, Role};
use crate::providers::reading;
use kubefoundry_yaml as yaml;

/// Reads a service.
pub(super) fn import(subject: &Subject<'_>) -> Result<Draft, NotImportable> {
    let refused = |why: String| Err(NotImportable(why));
    let serve = subject.text("/spec/serveConfigV2").unwrap_or_default();
    let parsed = yaml::parse(serve, &yaml::Limits::default());
    let Some(config) = parsed.documents.first().map(|document| document.root.to_json()) else {
        return refused("its spec.serveConfigV2 is empty or no YAML, expected a Serve configuration".to_owned());
    };
    let [application] = items(&config, "/applications") else {
        let number = items(&config, "/applications").len();
        return refused(format!("it has {number} Serve applications, expected one"));
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
    let groups = items(subject.object, "/spec/rayClusterConfig/workerGroupSpecs");
    let import_path = text(application, "/import_path").unwrap_or_default();
    if !import_path.starts_with("ray.serve.llm:")
        || matches!(models.as_slice(), [] | [(Role::Prefill | Role::Decode, _)])
    {
        return refused(format!(
            "its application is {import_path:?}, expected one model of ray.serve.llm, or one of prefill and decode each"
        ));
    }
    if groups.len() != models.len() {
        return refused(format!("it has {} worker groups for {}, expected one each", groups.len(), models.len()));
    }
    let mut draft = Draft::new(EngineType::Vllm);
    for ((role, model), (position, group)) in models.iter().zip(groups.iter().enumerate()) {
        let ours = role_name(*role);
        // Groups of a pair go by their names, when they have ours.
        let named = groups.iter().find(|group| text(group, "/groupName") == Some(ours));
        let group = named.unwrap_or(group);
        let name = text(group, "/groupName").unwrap_or_default();
        if name != ours {
            draft.names.pairs.push((name.to_owned(), ours.to_owned()));
        }
        let spec = group.pointer("/template/spec").unwrap_or(&Value::Null);
        let Some(container) = reading::container(spec, "ray-worker") else {
            return refused(format!("worker group {name:?} has no container ray-worker"));
        };
        if position == 0 {
            reading::pod(group.pointer("/template/metadata"), spec, container, subject, &mut draft);
            let source = text(model, "/model_loading_config/model_source");
            let id = text(model, "/model_loading_config/model_id");
            draft.model_id = source.or(id).map(str::to_owned);
            draft.served_name = id.map(str::to_owned);
            if let Some(accelerator) = text(model, "/accelerator_type") {
                draft.overrides.insert("acceleratorType".to_owned(), json!(accelerator));
            }
        }
        let mut worker = WorkerDraft::new(*role);
        reading::resources(container, &mut worker);
        worker.replicas = replicas(model, group);
        worker.flags = keywords(model);
        draft.workers.push(worker);
    }
    head(subject, &mut draft);
    Ok(draft)
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Aggregated => "worker",
        Role::Prefill => "prefill",
        Role::Decode => "decode",
    }
}

fn replicas(model: &Value, group: &Value) -> u32 {
    count(model, "/deployment_config/num_replicas")
        .or_else(|| count(model, "/deployment_config/autoscaling_config/min_replicas"))
        .or_else(|| count(group, "/replicas"))
        .unwrap_or(1)
}

fn keywords(model: &Value) -> Vec<GivenFlag> {
    let none = Map::new();
    flags_of_keywords(model.pointer("/engine_kwargs").and_then(Value::as_object).unwrap_or(&none))
}

/// What is set for the head, where that is not the default.
fn head(subject: &Subject<'_>, draft: &mut Draft) {
    let Some(group) = subject.object.pointer("/spec/rayClusterConfig/headGroupSpec") else { return };
    let spec = group.pointer("/template/spec").unwrap_or(&Value::Null);
    let mut head = Map::new();
    if let Some(container) = reading::container(spec, "ray-head") {
        let amounts = [
            ("cpu", quantity(container, "/resources/requests/cpu"), "2"),
            ("memory", quantity(container, "/resources/limits/memory"), "4Gi"),
        ];
        let written = amounts.into_iter().filter_map(|(field, amount, default)| {
            Some((field.to_owned(), json!(amount.filter(|amount| amount != default)?)))
        });
        let resources: Map<String, Value> = written.collect();
        if !resources.is_empty() {
            head.insert("resources".to_owned(), Value::Object(resources));
        }
    }
    let mut params = entries(group, "/rayStartParams");
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
