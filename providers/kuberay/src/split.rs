//! Splits a RayService that serves several models, for imports: a ModelDeployment serves one.

use kubefoundry_yaml as yaml;
use serde_json::{Value, json};

use super::import::serving_groups;
use kubefoundry_provider::draft::{items_at, string_at};

/// The arguments of an application that hold models.
const MODEL_LISTS: &str = "llm_configs";

/// Returns one RayService for each model. It has the application with that model, and the model's worker group.
pub(super) fn split(object: &Value) -> Vec<Value> {
    let parsed = yaml::parse(string_at(object, "/spec/serveConfigV2").unwrap_or_default(), &yaml::Limits::default());
    let Some(config) = parsed.documents.first().map(|document| document.root.to_json()) else { return Vec::new() };
    let mut parts: Vec<(Value, String)> = Vec::new();
    for application in items_at(&config, "/applications") {
        if !string_at(application, "/import_path").is_some_and(|path| path.starts_with("ray.serve.llm:")) {
            return Vec::new();
        }
        let models = items_at(application, &format!("/args/{MODEL_LISTS}"));
        let name = string_at(application, "/name").unwrap_or_default();
        if models.len() < 2 {
            parts.push((application.clone(), name.to_owned()));
        }
        for model in models.iter().filter(|_| models.len() > 1) {
            let mut single = application.clone();
            single["args"][MODEL_LISTS] = json!([model]);
            let id = string_at(model, "/model_loading_config/model_id").unwrap_or(name);
            parts.push((single, id.to_owned()));
        }
    }
    let groups = serving_groups(object, parts.len());
    if parts.len() < 2 || !matches!(groups.len(), 1) && groups.len() != parts.len() {
        return Vec::new();
    }
    // A group that runs none of the models stays, so that it is found to be lost.
    let all = items_at(object, "/spec/rayClusterConfig/workerGroupSpecs");
    let others: Vec<&Value> = all.iter().filter(|group| !groups.contains(group)).collect();
    let name = string_at(object, "/metadata/name").unwrap_or_default();
    let mut split = Vec::new();
    for (position, (application, part)) in parts.into_iter().enumerate() {
        let mut one = object.clone();
        one["metadata"]["name"] = json!(format!("{name}-{}", label(&part)));
        let mut own_config = config.clone();
        own_config["applications"] = json!([application]);
        one["spec"]["serveConfigV2"] = json!(own_config.to_string());
        let group = groups.get(position).or(groups.first());
        one["spec"]["rayClusterConfig"]["workerGroupSpecs"] =
            json!(group.into_iter().chain(&others).collect::<Vec<_>>());
        split.push(one);
    }
    split
}

/// Returns a text as the end of a name: the last part of a model id, in lower case.
fn label(text: &str) -> String {
    let last = text.rsplit('/').next().unwrap_or(text).to_ascii_lowercase();
    let label: String = last.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    label.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(applications: &Value, groups: &[&str]) -> Value {
        let group = |name: &&str| {
            json!({"groupName": name, "template": {"spec": {"containers": [
                {"name": "ray-worker", "resources": {"limits": {"nvidia.com/gpu": 1}}},
            ]}}})
        };
        json!({
            "metadata": {"name": "s"},
            "spec": {
                "serveConfigV2": json!({"applications": applications}).to_string(),
                "rayClusterConfig": {"workerGroupSpecs": groups.iter().map(group).collect::<Vec<_>>()},
            },
        })
    }

    fn names(object: &Value) -> Vec<String> {
        split(object).iter().map(|one| one["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn each_model_gets_a_service() {
        let model = |id: &str| json!({"model_loading_config": {"model_id": id}});
        let application = |name: &str, models: &[Value]| json!({"name": name, "import_path": "ray.serve.llm:build_openai_app", "args": {"llm_configs": models}});
        let two_models = json!([application("a", &[model("org/One-1.5"), model("two")])]);
        assert_eq!(names(&service(&two_models, &["g"])), ["s-one-1-5", "s-two"]);
        let two_applications = json!([application("a", &[model("m")]), application("b", &[model("n")])]);
        let of_two = split(&service(&two_applications, &["g", "h"]));
        let group = |one: &Value| one["spec"]["rayClusterConfig"]["workerGroupSpecs"][0]["groupName"].clone();
        assert_eq!(of_two.iter().map(group).collect::<Vec<_>>(), ["g", "h"]);
        // Which groups run which models is unknown.
        assert_eq!(
            names(&service(&json!([application("a", &[model("m"), model("n"), model("o")])]), &["g", "h"])),
            [""; 0]
        );
        assert_eq!(names(&service(&json!([application("a", &[model("m")])]), &["g"])), [""; 0]);
        let other = json!([application("a", &[model("m")]), {"name": "b", "import_path": "other:app"}]);
        assert_eq!(names(&service(&other, &["g", "h"])), [""; 0]);
    }
}
