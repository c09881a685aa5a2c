//! The ModelDeployments of the corpus with findings: 1.5 per document, as in repositories whose teams are not done.
//!
//! The shapes are those of [`super::documents`] in other words: block style throughout, quantities in quotes, secrets
//! and tolerations. As there, everything depends on the number of the document only.

use std::fmt::Write as _;
use std::ops::Range;

use super::documents::{MEMORY, MODELS, TEAMS, pick, stream};

/// Returns a YAML stream of the documents with these numbers.
pub(crate) fn documents(numbers: Range<usize>) -> String {
    stream(numbers, document)
}

fn document(number: usize, out: &mut String) -> std::fmt::Result {
    let turn = number / 5;
    let team = pick(&TEAMS, turn);
    let model = pick(&MODELS, turn);
    let memory = pick(&MEMORY, turn);
    write!(
        out,
        "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata:\n  name: model-{number:06}\n  \
         namespace: team-{team}\n  labels:\n    example.com/cost-center: \"{}\"\nspec:\n",
        1000 + turn % 97
    )?;
    match number % 5 {
        0 => aggregated(turn, model, memory, out)?,
        1 => disaggregated(turn, model, memory, out)?,
        2 => cpu(turn, memory, out)?,
        3 => return preset(turn, memory, out),
        _ => ray(turn, model, memory, out)?,
    }
    out.push_str("  secrets:\n    huggingFaceToken: \"hf-token\"\n");
    out.push_str(
        "  tolerations:\n    - key: \"sku\"\n      operator: Equal\n      value: \"gpu\"\n      effect: NoSchedule\n",
    );
    Ok(())
}

/// Returns an aggregated deployment for Dynamo with one or two unknown flags, which its image may have (KF0315).
fn aggregated(turn: usize, model: &str, memory: &str, out: &mut String) -> std::fmt::Result {
    let flag = if turn.is_multiple_of(2) { "warm-start" } else { "enable-prefix-caching" };
    write!(
        out,
        "  model:\n    id: \"{model}\"\n    source: huggingface\n  engine:\n    type: vllm\n    contextLength: {}\n    \
         args:\n      gpu-memory-utilization: \"0.{}\"\n      fast-start: \"true\"\n      {flag}: \"true\"\n  scaling:\n    replicas: {}\n  \
         resources:\n    gpu:\n      count: {}\n    memory: \"{memory}\"\n    cpu: \"8\"\n  image: \"registry.example.com/vllm:1.4.0\"\n",
        4096 << (turn % 4),
        85 + turn % 10,
        1 + turn % 3,
        1 << (turn % 3),
    )
}

/// Returns a disaggregated deployment for Dynamo with an unknown flag, which its image may have (KF0315).
fn disaggregated(turn: usize, model: &str, memory: &str, out: &mut String) -> std::fmt::Result {
    write!(
        out,
        "  model:\n    id: \"{model}\"\n  engine:\n    type: vllm\n    args:\n      max-num-seqs: \"{}\"\n      \
         fast-start: \"true\"\n  serving:\n    mode: disaggregated\n  scaling:\n    prefill:\n      replicas: {}\n      gpu:\n        count: 4\n      \
         memory: \"{memory}\"\n    decode:\n      replicas: {}\n      gpu:\n        count: 2\n      memory: \"{memory}\"\n  \
         image: \"registry.example.com/vllm:1.4.0\"\n",
        64 + turn % 8 * 32,
        1 + turn % 2,
        2 + turn % 4,
    )
}

/// Returns a deployment without GPUs for KAITO. It names no instance type (KF1006).
fn cpu(turn: usize, memory: &str, out: &mut String) -> std::fmt::Result {
    write!(
        out,
        "  model:\n    id: \"ggml-org/gemma-3-{}b-it-GGUF/gemma-3-it-Q4_K_M.gguf\"\n    source: huggingface\n  engine:\n    \
         type: llamacpp\n    contextLength: {}\n  resources:\n    memory: \"{memory}\"\n    cpu: \"{}\"\n  \
         image: \"ghcr.io/ggml-org/llama.cpp:server-b{}\"\n",
        pick(&["1", "4", "12"], turn),
        2048 << (turn % 3),
        4 + turn % 13,
        6000 + turn % 50
    )
}

/// Returns a deployment of a KAITO preset. Its instance type decides what the resources ask for (KF1007), and KAITO names
/// the model and defines the pods (KF0501, twice).
fn preset(turn: usize, memory: &str, out: &mut String) -> std::fmt::Result {
    write!(
        out,
        "  model:\n    id: \"microsoft/Phi-4-mini-instruct\"\n    servedName: phi\n  provider:\n    name: kaito\n    overrides:\n      \
         instanceType: \"Standard_NC24ads_A100_v4\"\n  engine:\n    type: vllm\n    contextLength: {}\n  scaling:\n    \
         replicas: 1\n  resources:\n    gpu:\n      count: 1\n    memory: \"{memory}\"\n    cpu: \"8\"\n  podTemplate:\n    \
         metadata:\n      annotations:\n        example.com/owner: research\n",
        8192 << (turn % 2),
    )
}

/// Returns a deployment for KubeRay. The Ray version of its image is not known (KF1201).
fn ray(turn: usize, model: &str, memory: &str, out: &mut String) -> std::fmt::Result {
    write!(
        out,
        "  model:\n    id: \"{model}\"\n  provider:\n    name: kuberay\n  engine:\n    type: vllm\n    \
         contextLength: {}\n    trustRemoteCode: true\n  scaling:\n    replicas: {}\n  resources:\n    gpu:\n      \
         count: {}\n    memory: \"{memory}\"\n    cpu: \"8\"\n  \
         image: \"registry.example.com/ray-llm:stable\"\n",
        4096 << (turn % 4),
        1 + turn % 3,
        1 << (turn % 2),
    )
}
