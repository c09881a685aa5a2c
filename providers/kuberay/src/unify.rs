//! Brings a RayService into one of the forms that Ray treats alike, so that two of them can be compared.

use kubefoundry_yaml as yaml;
use serde_json::Value;

/// The arguments of an application that hold one model.
const MODELS: [&str; 3] = ["llm_config", "prefill_config", "decode_config"];

/// Writes the source of each model. Ray loads a model without one by its id (`ModelLoadingConfig` in
/// python/ray/llm/_internal/serve/core/configs/llm_config.py).
pub(super) fn unify(service: &mut Value) {
    let Some(text) = service.pointer_mut("/spec/serveConfigV2") else { return };
    let parsed = yaml::parse(text.as_str().unwrap_or_default(), &yaml::Limits::default());
    let Some(mut config) = parsed.documents.first().map(|document| document.root.to_json()) else { return };
    let mut is_changed = false;
    for application in config.get_mut("applications").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(args) = application.get_mut("args").and_then(Value::as_object_mut) else { continue };
        let lists = args.get_mut("llm_configs").and_then(Value::as_array_mut);
        for model in lists.into_iter().flatten() {
            is_changed |= write_source(model);
        }
        for key in MODELS {
            is_changed |= args.get_mut(key).is_some_and(write_source);
        }
    }
    if is_changed {
        *text = Value::from(config.to_string());
    }
}

fn write_source(model: &mut Value) -> bool {
    let Some(loading) = model.get_mut("model_loading_config").and_then(Value::as_object_mut) else { return false };
    let Some(id) = loading.get("model_id").cloned() else { return false };
    if loading.get("model_source").is_some_and(|source| !source.is_null()) {
        return false;
    }
    loading.insert("model_source".to_owned(), id);
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_model_without_a_source_is_loaded_by_its_id() {
        let unified = |serve: &str| {
            let mut service = json!({"spec": {"serveConfigV2": serve}});
            unify(&mut service);
            service["spec"]["serveConfigV2"].as_str().unwrap().to_owned()
        };
        let text = "applications: [{args: {llm_configs: [{model_loading_config: {model_id: a}}]}}]";
        assert!(unified(text).contains(r#""model_source":"a""#), "{}", unified(text));
        for same in [
            "applications: [{args: {llm_config: {model_loading_config: {model_id: a, model_source: b}}}}]",
            "not: [a",
            "x",
        ] {
            assert_eq!(unified(same), same);
        }
    }
}
