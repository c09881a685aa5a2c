//! Which objects of a corpus are whole: only these count for the goals of `import`.

use kubefoundry_crd::upstream::known_schemas;
use kubefoundry_provider::draft::{items_at, string_at};
use serde_json::Value;

/// The engines of Dynamo's workers, by the modules that run them.
const ENGINES: [&str; 3] = ["dynamo.vllm", "dynamo.sglang", "dynamo.trtllm"];
/// Words of command lines that run something else than one language model.
const OTHER_WORKLOADS: [(&str, &str); 5] = [
    ("dynamo.mocker", "runs a mocker"),
    ("diffusion", "generates images or video"),
    ("multimodal-encode", "has a worker that only encodes"),
    ("disaggregation-mode encode", "has a worker that only encodes"),
    ("encode-worker", "has a worker that only encodes"),
];
/// Fields whose texts a shell or a program reads, so that a dollar sign in them is not a placeholder.
const READ_BY_PROGRAMS: [&str; 6] = ["command", "args", "env", "envs", "data", "annotations"];

/// Returns the rule by which an object does not count, or `None` for a whole one.
pub(super) fn excluded_by(object: &Value) -> Option<String> {
    if let Some(placeholder) = placeholder(object, false) {
        return Some(format!("placeholder {placeholder}"));
    }
    if let Some(violation) = violation(object) {
        return Some(format!("does not fit its CRD: {violation}"));
    }
    match string_at(object, "/kind").unwrap_or_default() {
        "DynamoGraphDeployment" => graph_is_other(object),
        "RayService" => (!serves_llm(object)).then(|| "serves no model with ray.serve.llm".to_owned()),
        "InferenceSet" => object.pointer("/spec/template/inference").is_none().then(no_inference),
        _ => object.pointer("/inference").is_none().then(no_inference),
    }
}

fn no_inference() -> String {
    "runs no inference".to_owned()
}

/// Returns the first text that a reader is expected to replace.
fn placeholder(value: &Value, is_read_by_program: bool) -> Option<String> {
    match value {
        Value::String(text) => {
            let in_brackets = text.split('<').skip(1).filter_map(|rest| rest.split_once('>')).any(|(name, _)| {
                let is_word = |character: char| character.is_ascii_alphanumeric() || "-_ .".contains(character);
                // `<think>` and the like are tokens of models.
                let is_constant = |character: char| character.is_ascii_uppercase() || character == '_';
                !is_read_by_program && name.chars().all(is_word)
                    || name.contains('_') && name.chars().all(is_constant)
                    || name.starts_with("your")
            });
            let is_other =
                text.contains("YOUR_") || text.ends_with("...") || !is_read_by_program && text.contains("${");
            (in_brackets || is_other).then(|| text.chars().take(60).collect())
        }
        Value::Array(items) => items.iter().find_map(|item| placeholder(item, is_read_by_program)),
        Value::Object(fields) => fields.iter().find_map(|(key, value)| {
            placeholder(value, is_read_by_program || READ_BY_PROGRAMS.contains(&key.as_str()))
        }),
        _ => None,
    }
}

/// Returns the first violation of the newest known CRD of the object's version.
fn violation(object: &Value) -> Option<String> {
    let (group, version) = string_at(object, "/apiVersion")?.split_once('/')?;
    let kind = string_at(object, "/kind")?;
    let Some(known) = known_schemas(group, kind, version, None) else {
        return Some(format!("{group}/{version} has no {kind}"));
    };
    let found = known.nearest.schema.check(object).into_iter().next()?;
    Some(found.path.to_string())
}

/// Returns why a graph does not count.
fn graph_is_other(object: &Value) -> Option<String> {
    let mut commands: Vec<(String, String)> = Vec::new();
    let services = object.pointer("/spec/services").and_then(Value::as_object);
    for service in services.into_iter().flatten().map(|(_, service)| service) {
        let kind = string_at(service, "/subComponentType").or_else(|| string_at(service, "/componentType"));
        let container = service.pointer("/extraPodSpec/mainContainer");
        commands.push((kind.unwrap_or_default().to_owned(), container.map(command_text).unwrap_or_default()));
    }
    for component in items_at(object, "/spec/components") {
        let kind = string_at(component, "/type").unwrap_or_default().to_owned();
        let containers = items_at(component, "/podTemplate/spec/containers").iter();
        commands.push((kind, containers.map(command_text).collect::<Vec<_>>().join(" ")));
    }
    for (word, why) in OTHER_WORKLOADS {
        if commands.iter().any(|(_, command)| command.contains(word)) {
            return Some(why.to_owned());
        }
    }
    if commands.iter().any(|(kind, _)| kind == "encode") {
        return Some("has a worker that only encodes".to_owned());
    }
    let runs_engine = |command: &str| ENGINES.iter().any(|engine| command.contains(engine));
    let is_worker = |kind: &str| matches!(kind, "worker" | "prefill" | "decode");
    let mut workers = commands.iter().filter(|(kind, command)| is_worker(kind) || runs_engine(command)).peekable();
    if workers.peek().is_none() {
        return Some("has no worker".to_owned());
    }
    let other = workers.find(|(_, command)| !runs_engine(command));
    other.map(|_| format!("has a worker that runs none of {}", ENGINES.join(", ")))
}

/// Returns all words of a container's command line.
fn command_text(container: &Value) -> String {
    let words = items_at(container, "/command").iter().chain(items_at(container, "/args"));
    words.filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

fn serves_llm(object: &Value) -> bool {
    string_at(object, "/spec/serveConfigV2").is_some_and(|config| config.contains("ray.serve.llm"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn graph(image: &str, command: &str) -> Value {
        json!({
            "apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": {"name": "g"},
            "spec": {"components": [{"name": "w", "type": "worker", "podTemplate": {"spec": {"containers": [
                {"name": "main", "image": image, "command": ["python3", "-m", command], "args": ["--x", "${Y}"]},
            ]}}}]},
        })
    }

    #[test]
    fn objects_count_by_the_stated_rules() {
        let reason = |object: &Value| excluded_by(object).unwrap_or_default();
        assert_eq!(reason(&graph("a:1", "dynamo.vllm")), "");
        assert_eq!(reason(&graph("<registry>/a", "dynamo.vllm")), "placeholder <registry>/a");
        assert_eq!(reason(&graph("${IMAGE}", "dynamo.vllm")), "placeholder ${IMAGE}");
        assert_eq!(reason(&graph("a:1", "dynamo.mocker")), "runs a mocker");
        assert!(reason(&graph("a:1", "other")).starts_with("has a worker that runs none of"));
        let mut unknown_field = graph("a:1", "dynamo.vllm");
        unknown_field["spec"]["component"] = json!([]);
        assert_eq!(reason(&unknown_field), "does not fit its CRD: spec.component");
        let tuning = json!({
            "apiVersion": "kaito.sh/v1beta1", "kind": "Workspace", "metadata": {"name": "w"},
            "resource": {"instanceType": "a", "labelSelector": {}},
            "tuning": {"preset": {"name": "p"}, "input": {"image": "data:1"}, "output": {"image": "adapter:1"}},
        });
        assert_eq!(reason(&tuning), "runs no inference");
    }
}
