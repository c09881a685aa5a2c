//! Imports KAITO's `MultiRoleInference`, which no ModelDeployment renders, as one for another provider.

use serde_json::{Map, Value, json};

use kubefoundry_deployment::wire;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_engines::{ImportedFlag, flags_from_keywords};
use kubefoundry_facts::{instance_type, kaito_preset_model};
use kubefoundry_kubernetes::api_group;
use kubefoundry_provider::draft::{count_at, items_at, string_at};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;

/// The kind.
pub(super) const KIND: &str = "MultiRoleInference";
/// The provider that can take over its models.
pub(super) const PROVIDER: &str = "dynamo";
/// The reason for an assumed number of GPUs.
const UNKNOWN_TYPE: &str = "how many GPUs the instance type has is unknown";
/// The label of nodes with their instance type.
const INSTANCE_TYPE_LABEL: &str = "node.kubernetes.io/instance-type";

/// A `MultiRoleInference` as a ModelDeployment.
pub(super) struct MultiRole {
    pub(super) deployment: Value,
    /// The positions among the other objects of the ConfigMaps with the settings of the roles.
    pub(super) config_maps: Vec<usize>,
    pub(super) assumptions: Vec<(FieldPath, &'static str)>,
}

/// Reads an object. `others` are the other objects of its namespace.
///
/// # Errors
/// Returns the reason if the object has other roles than prefill and decode.
pub(super) fn read(object: &Value, others: &[&Value]) -> Result<MultiRole, String> {
    let role = |name: &str| {
        items_at(object, "/spec/roles")
            .iter()
            .find(|role| string_at(role, "/type") == Some(name))
            .ok_or_else(|| format!("it has no {name} role, expected one prefill and one decode role"))
    };
    let roles = [("prefill", role("prefill")?), ("decode", role("decode")?)];
    let name = string_at(object, "/spec/model/name").unwrap_or_default();
    let mut assumptions = Vec::new();
    let mut config_maps = Vec::new();
    let mut scaling = Map::new();
    let mut flags: Vec<Vec<ImportedFlag>> = Vec::new();
    for (role_name, role) in roles {
        let gpus = string_at(role, "/instanceType").and_then(instance_type).map(|instance| instance.gpus);
        if gpus.is_none() {
            let scaling = ModelDeployment::path().spec().scaling();
            assumptions.push(match role_name {
                "prefill" => (scaling.prefill().gpu().count().into(), UNKNOWN_TYPE),
                _ => (scaling.decode().gpu().count().into(), UNKNOWN_TYPE),
            });
        }
        let mut fields = Map::new();
        if let Some(replicas) = count_at(role, "/replicas").filter(|replicas| *replicas != 1) {
            fields.insert("replicas".to_owned(), json!(replicas));
        }
        fields.insert("gpu".to_owned(), json!({"count": gpus.unwrap_or(1)}));
        scaling.insert(role_name.to_owned(), Value::Object(fields));
        let config = string_at(role, "/runtimeConfig").and_then(|name| {
            others.iter().position(|other| {
                string_at(other, "/kind") == Some("ConfigMap") && string_at(other, "/metadata/name") == Some(name)
            })
        });
        flags.push(config.and_then(|position| others.get(position)).map(|config| settings(config)).unwrap_or_default());
        config_maps.extend(config.filter(|position| !config_maps.contains(position)));
    }
    let mut spec = json!({
        "model": {"id": kaito_preset_model(name).unwrap_or(name)},
        "provider": {"name": PROVIDER},
        "engine": {"type": "vllm"},
        "serving": {"mode": "disaggregated"},
        "scaling": scaling,
    });
    let args = shared_args(&flags);
    if !args.is_empty() {
        spec["engine"]["args"] = Value::Object(args);
    }
    if let Some(secret) = string_at(object, "/spec/model/modelAccessSecret") {
        spec["secrets"] = json!({"huggingFaceToken": secret});
    }
    // KAITO orders nodes of this type; for another provider they must exist.
    if let [(_, prefill), (_, decode)] = roles
        && let Some(instance) = string_at(prefill, "/instanceType")
        && string_at(decode, "/instanceType") == Some(instance)
    {
        spec["nodeSelector"] = json!({INSTANCE_TYPE_LABEL: instance});
    }
    let mut metadata = Map::new();
    for field in ["name", "namespace"] {
        if let Some(value) = string_at(object, &format!("/metadata/{field}")) {
            metadata.insert(field.to_owned(), json!(value));
        }
    }
    let deployment = json!({
        "apiVersion": api_group::DEFAULT.api_version(),
        "kind": wire::KIND,
        "metadata": metadata,
        "spec": spec,
    });
    Ok(MultiRole { deployment, config_maps, assumptions })
}

/// Returns the flags in the ConfigMap of a role.
fn settings(config_map: &Value) -> Vec<ImportedFlag> {
    let text = string_at(config_map, "/data/inference_config.yaml").unwrap_or_default();
    let parsed = yaml::parse(text, &yaml::Limits::default());
    let settings = parsed.documents.first().map(|document| document.root.to_json()).unwrap_or_default();
    settings.get("vllm").and_then(Value::as_object).map(flags_from_keywords).unwrap_or_default()
}

/// Returns the flags that both roles have, as `spec.engine.args`.
fn shared_args(flags: &[Vec<ImportedFlag>]) -> Map<String, Value> {
    let [prefill, decode] = flags else { return Map::new() };
    let mut args = Map::new();
    for flag in prefill.iter().filter(|flag| decode.contains(flag)) {
        match flag.values.as_slice() {
            [] => drop(args.insert(flag.name.clone(), json!(""))),
            [value] => drop(args.insert(flag.name.clone(), json!(value))),
            _ => {}
        }
    }
    args.sort_keys();
    args
}
