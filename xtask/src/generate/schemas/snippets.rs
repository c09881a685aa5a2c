//! Snippets for editors (`defaultSnippets` of VS Code and yaml-language-server): what an empty document or an empty object
//! completes to. `$1` and `${1:value}` are the places at which the cursor stops.

use kubefoundry_actor as actor;
use kubefoundry_compiler::options::render::API_VERSION as RENDER_API_VERSION;
use kubefoundry_composition::PROVIDERS;
use kubefoundry_deployment::wire::{CONFIGURATION_KIND, EngineType, KIND, ServingMode};
use kubefoundry_kubernetes::api_group;
use kubefoundry_kubernetes::wire::StringEnum as _;
use kubefoundry_provider::Provider;
use serde_json::{Map, Value, json};

use super::editor::RENDER;

/// Returns the snippets for an empty document of a kind.
pub(super) fn of_kind(kind: &str) -> Vec<Value> {
    let head = json!({"apiVersion": api_group::DEFAULT.api_version(), "kind": kind, "metadata": {"name": "${1:name}"}});
    let with = |head: &Value, key: &str, value: Value| {
        let mut body = head.clone();
        body[key] = value;
        body
    };
    match kind {
        KIND => {
            let engines = choice(3, EngineType::VARIANTS.iter().map(|(name, _)| *name));
            let aggregated = json!({
                "model": {"id": "${2:org/model}"},
                "engine": {"type": engines},
                "resources": {"gpu": {"count": "${4:1}"}},
            });
            // Without an engine that refuses it.
            let role = |first: u8| json!({"replicas": stop(first, "1"), "gpu": {"count": stop(first + 1, "1")}, "memory": stop(first + 2, "64Gi")});
            let disaggregated = json!({
                "model": {"id": "${2:org/model}"},
                "engine": {"type": choice(3, ["vllm", "sglang", "trtllm"])},
                "serving": {"mode": ServingMode::Disaggregated.as_str()},
                "scaling": {"prefill": role(4), "decode": role(7)},
            });
            vec![
                snippet(KIND, "A model to serve, with its engine and its GPUs.", with(&head, "spec", aggregated)),
                snippet(
                    &format!("{KIND}, disaggregated"),
                    "A model whose prompts and answers have workers of their own.",
                    with(&head, "spec", disaggregated),
                ),
            ]
        }
        CONFIGURATION_KIND => {
            let spec = json!({
                "capabilities": {
                    "engines": [choice(2, EngineType::VARIANTS.iter().map(|(name, _)| *name))],
                    "servingModes": [ServingMode::Aggregated.as_str()],
                    "gpuSupport": true,
                },
                "selectionRules": [{"condition": "${3:spec.engine.type == 'vllm'}", "priority": "${4:50}"}],
            });
            vec![snippet(
                CONFIGURATION_KIND,
                "A provider: what it runs, and when it is selected.",
                with(&head, "spec", spec),
            )]
        }
        RENDER => {
            let runtimes: Map<String, Value> = PROVIDERS
                .iter()
                .enumerate()
                .filter_map(|(index, provider)| {
                    Some((provider.name().to_owned(), first_runtime(*provider, index + 1)?))
                })
                .collect();
            let head = json!({"apiVersion": RENDER_API_VERSION, "kind": RENDER});
            vec![snippet(
                RENDER,
                "Options, with the versions of the runtimes.",
                with(&head, "runtimes", runtimes.into()),
            )]
        }
        actor::KIND => {
            let head = with(&head, "apiVersion", actor::API_VERSION.into());
            let spec = json!({
                "transport": "${2:rabbitmq}",
                "workloadRef": {"apiVersion": "${3:apps/v1}", "kind": "${4:Deployment}", "name": "${5:name}"},
                "runtime": {"image": "${6:registry.example.com/adapter:1.0.0}", "handler": "${7:module.function}"},
            });
            vec![snippet(actor::KIND, "A workload that takes messages from a queue.", with(&head, "spec", spec))]
        }
        _ => Vec::new(),
    }
}

/// Returns the snippets for an empty object of a type, if it has any.
pub(super) fn of_object(name: &str) -> Option<Value> {
    let snippets = match name {
        "Gpu" => vec![
            snippet("GPUs", "GPUs of NVIDIA.", json!({"count": "${1:1}"})),
            snippet(
                "GPUs of another vendor",
                "GPUs with the resource that names them.",
                json!({"count": "${1:1}", "type": "${2:amd.com/gpu}"}),
            ),
        ],
        "RoleScaling" => vec![snippet(
            "workers",
            "The workers of the role, with the GPUs and the memory of each.",
            json!({"replicas": "${1:1}", "gpu": {"count": "${2:1}"}, "memory": "${3:64Gi}"}),
        )],
        _ => return None,
    };
    Some(snippets.into())
}

fn snippet(label: &str, description: &str, body: impl Into<Value>) -> Value {
    json!({"label": label, "description": description, "body": body.into()})
}

fn stop(number: u8, default: &str) -> String {
    format!("${{{number}:{default}}}")
}

fn choice<'c>(number: u8, words: impl IntoIterator<Item = &'c str>) -> String {
    format!("${{{number}|{}|}}", words.into_iter().collect::<Vec<_>>().join(","))
}

fn first_runtime(provider: &dyn Provider, number: usize) -> Option<Value> {
    let version = provider.info().runtimes.first()?;
    Some(stop(u8::try_from(number).ok()?, version).into())
}
