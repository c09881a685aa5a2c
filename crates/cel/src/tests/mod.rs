//! Tests of valid, invalid, costly and hostile rules.

mod accepted;
mod costly;
mod hostile;
mod refused;

use super::{CompileError, Environment, FieldType, Limits, Rule, Type, Warning};
use serde_json::{Value, json};

static MODEL: [FieldType; 3] = [
    FieldType::required("id", Type::String),
    FieldType::required("servedName", Type::String),
    FieldType::required("source", Type::Enum(&["huggingface", "custom"])),
];
static ENGINE: [FieldType; 3] = [
    FieldType::required("type", Type::Enum(&["vllm", "sglang", "trtllm", "llamacpp"])),
    FieldType::required("args", Type::Map(&Type::String)),
    FieldType::optional("contextLength", Type::Int),
];
static GPU: [FieldType; 2] = [FieldType::required("count", Type::Int), FieldType::optional("type", Type::String)];
static RESOURCES: [FieldType; 2] =
    [FieldType::optional("gpu", Type::Object(&GPU)), FieldType::optional("memory", Type::String)];
static VARIABLE: [FieldType; 2] =
    [FieldType::required("name", Type::String), FieldType::optional("value", Type::String)];
static SCALING: [FieldType; 2] =
    [FieldType::required("replicas", Type::Int), FieldType::optional("utilization", Type::Double)];
static SPEC: [FieldType; 7] = [
    FieldType::required("model", Type::Object(&MODEL)),
    FieldType::required("engine", Type::Object(&ENGINE)),
    FieldType::required("resources", Type::Object(&RESOURCES)),
    FieldType::required("scaling", Type::Object(&SCALING)),
    FieldType::optional("env", Type::List(&Type::Object(&VARIABLE))),
    FieldType::optional("ports", Type::List(&Type::Int)),
    FieldType::optional("overrides", Type::Dyn),
];
static METADATA: [FieldType; 2] =
    [FieldType::required("name", Type::String), FieldType::optional("labels", Type::Map(&Type::String))];

fn environment() -> Environment {
    let variables = vec![("spec", Type::Object(&SPEC)), ("metadata", Type::Object(&METADATA))];
    Environment::new(variables, Limits::default())
}

fn input() -> Value {
    json!({
        "metadata": {"name": "llama", "labels": {"tier": "gold"}},
        "spec": {
            "model": {"id": "meta-llama/Llama-3.1-8B", "servedName": "größe", "source": "huggingface"},
            "engine": {"type": "vllm", "args": {"tensor-parallel-size": "2", "quantization": "fp8"}},
            "resources": {"gpu": {"count": 0}},
            "scaling": {"replicas": 3, "utilization": 1},
            "env": [{"name": "HF_HOME", "value": "/cache"}, {"name": "DEBUG"}],
            "ports": [8000, 8080],
            "overrides": {"router": {"mode": "kv"}, "replicas": 2}
        }
    })
}

fn compile(expression: &str) -> Result<(Rule, Vec<Warning>), Vec<CompileError>> {
    environment().compile(expression)
}

fn rule(expression: &str) -> Rule {
    compile(expression).unwrap_or_else(|errors| panic!("{expression}: {errors:?}")).0
}

fn evaluate(expression: &str) -> Result<bool, super::EvaluationError> {
    rule(expression).evaluate(&input())
}
