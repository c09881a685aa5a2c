//! The ModelDeployments of the quiet corpus, with one finding in five documents; `benches/` uses this module, too.
//!
//! Five shapes of deployments alternate, so each makes up a fifth. Names, models, image versions, environment, labels
//! and flags depend on the number of the document only, so every machine gets the same corpus.

use std::fmt::Write as _;
use std::ops::Range;

/// Models that need a GPU.
pub(super) static MODELS: [&str; 6] = [
    "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Llama-3.3-70B-Instruct",
    "Qwen/Qwen3-30B-A3B",
    "mistralai/Mistral-Small-3.2-24B-Instruct-2506",
    "microsoft/Phi-4-mini-instruct",
    "google/gemma-3-27b-it",
];
pub(super) static TEAMS: [&str; 5] = ["search", "assistants", "code", "translation", "batch-scoring"];
pub(super) static MEMORY: [&str; 4] = ["32Gi", "64Gi", "96Gi", "128Gi"];

/// Returns a YAML stream of the documents with these numbers.
pub(crate) fn documents(numbers: Range<usize>) -> String {
    stream(numbers, document)
}

/// Returns a YAML stream of what `write_document` writes for each number.
pub(super) fn stream(numbers: Range<usize>, write_document: fn(usize, &mut String) -> std::fmt::Result) -> String {
    let mut out = String::new();
    for number in numbers {
        if !out.is_empty() {
            out.push_str("---\n");
        }
        // Writing to a string does not fail.
        let _ = write_document(number, &mut out);
    }
    out
}

/// Returns an item of a list, cycling through it by number.
pub(super) fn pick(list: &[&'static str], number: usize) -> &'static str {
    list[number % list.len()]
}

fn document(number: usize, out: &mut String) -> std::fmt::Result {
    // The five shapes share a turn, so that the variation is independent of the shape.
    let turn = number / 5;
    let team = pick(&TEAMS, turn);
    let model = pick(&MODELS, turn);
    write!(
        out,
        "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata:\n  name: model-{number:06}\n  \
         namespace: team-{team}\n  labels:\n    app.kubernetes.io/name: model-{number:06}\n    \
         app.kubernetes.io/part-of: {team}\n    cost-center: \"{}\"\n",
        1000 + turn % 97
    )?;
    if turn.is_multiple_of(2) {
        write!(out, "  annotations:\n    example.com/owner: team-{team}@example.com\n")?;
    }
    out.push_str("spec:\n");
    match number % 5 {
        0 => aggregated(turn, model, out)?,
        1 => disaggregated(turn, model, out)?,
        2 => cpu(turn, out)?,
        // KAITO creates the pods of a preset itself and accepts no environment for them.
        3 => return preset(turn, out),
        _ => ray(turn, model, out)?,
    }
    environment(turn, team, out)?;
    pods(turn, team, out)
}

/// Returns an aggregated deployment for which the selection rules choose Dynamo.
fn aggregated(turn: usize, model: &str, out: &mut String) -> std::fmt::Result {
    let engine = if turn.is_multiple_of(4) { "sglang" } else { "vllm" };
    write!(
        out,
        "  model:\n    id: {model}\n    source: huggingface\n  engine:\n    type: {engine}\n    contextLength: {}\n",
        4096 << (turn % 4)
    )?;
    if engine == "vllm" {
        write!(out, "    args:\n      gpu-memory-utilization: \"0.{}\"\n", 85 + turn % 10)?;
        writeln!(out, "      max-num-seqs: \"{}\"", 64 + turn % 8 * 32)?;
    } else {
        write!(out, "    args:\n      mem-fraction-static: \"0.{}\"\n", 80 + turn % 10)?;
    }
    write!(
        out,
        "  serving:\n    mode: aggregated\n  scaling:\n    replicas: {}\n  resources:\n    gpu:\n      count: {}\n    \
         memory: {}\n",
        1 + turn % 3,
        1 << (turn % 3),
        pick(&MEMORY, turn)
    )
}

/// Returns a disaggregated deployment for which the selection rules choose Dynamo.
fn disaggregated(turn: usize, model: &str, out: &mut String) -> std::fmt::Result {
    write!(
        out,
        "  model:\n    id: {model}\n    servedName: chat-{turn}\n  engine:\n    type: vllm\n    args:\n      \
         gpu-memory-utilization: \"0.{}\"\n    extraArgs: [\"--seed={turn}\"]\n  serving:\n    mode: disaggregated\n  \
         scaling:\n    prefill:\n      replicas: {}\n      gpu:\n        count: 4\n      memory: {}\n    decode:\n      \
         replicas: {}\n      gpu:\n        count: 2\n      memory: {}\n",
        85 + turn % 10,
        1 + turn % 2,
        pick(&MEMORY, turn + 2),
        2 + turn % 4,
        pick(&MEMORY, turn + 1)
    )
}

/// Returns a deployment without GPUs, for which the selection rules choose KAITO.
fn cpu(turn: usize, out: &mut String) -> std::fmt::Result {
    write!(
        out,
        "  model:\n    id: ggml-org/gemma-3-{}b-it-GGUF/gemma-3-it-Q4_K_M.gguf\n    source: huggingface\n  engine:\n    type: llamacpp\n    \
         contextLength: {}\n  provider:\n    overrides:\n      instanceType: Standard_D32s_v5\n  resources:\n    memory: {}\n    \
         cpu: \"{}\"\n  image: ghcr.io/ggml-org/llama.cpp:server-b{}\n",
        pick(&["1", "4", "12"], turn),
        2048 << (turn % 3),
        pick(&MEMORY, turn),
        4 + turn % 13,
        6000 + turn % 50
    )
}

/// Returns a deployment of a KAITO preset on a GPU, which names its provider.
fn preset(turn: usize, out: &mut String) -> std::fmt::Result {
    write!(
        out,
        "  model:\n    id: microsoft/Phi-4-mini-instruct\n  provider:\n    name: kaito\n    overrides:\n      \
         instanceType: Standard_NC24ads_A100_v4\n      workload: InferenceSet\n  engine:\n    type: vllm\n    contextLength: {}\n    args:\n      \
         gpu-memory-utilization: \"0.{}\"\n  scaling:\n    replicas: {}\n  resources:\n    gpu:\n      count: 1\n",
        8192 << (turn % 2),
        85 + turn % 10,
        1 + turn % 2
    )
}

/// Returns a deployment that names KubeRay, which no selection rule chooses.
fn ray(turn: usize, model: &str, out: &mut String) -> std::fmt::Result {
    write!(
        out,
        "  model:\n    id: {model}\n  provider:\n    name: kuberay\n    overrides:\n      head:\n        resources:\n          \
         cpu: \"4\"\n          memory: 8Gi\n  engine:\n    type: vllm\n    contextLength: {}\n    args:\n      \
         enable-chunked-prefill: \"true\"\n      max-num-seqs: \"{}\"\n  scaling:\n    replicas: {}\n  resources:\n    \
         gpu:\n      count: {}\n    memory: {}\n    cpu: \"8\"\n",
        4096 << (turn % 4),
        64 + turn % 8 * 32,
        1 + turn % 3,
        1 << (turn % 2),
        pick(&MEMORY, turn + 1)
    )
}

fn environment(turn: usize, team: &str, out: &mut String) -> std::fmt::Result {
    if !turn.is_multiple_of(3) {
        write!(
            out,
            "  env:\n  - name: LOG_LEVEL\n    value: {}\n  - name: TEAM\n    value: {team}\n",
            pick(&["info", "debug", "warning"], turn)
        )?;
        if turn % 3 == 2 {
            out.push_str(
                "  - name: PROXY_PASSWORD\n    valueFrom:\n      secretKeyRef:\n        name: proxy\n        key: password\n",
            );
        }
    }
    Ok(())
}

fn pods(turn: usize, team: &str, out: &mut String) -> std::fmt::Result {
    if turn.is_multiple_of(2) {
        write!(
            out,
            "  podTemplate:\n    metadata:\n      labels:\n        team: {team}\n        tier: \"{}\"\n",
            turn % 4
        )?;
        write!(out, "      annotations:\n        example.com/scrape: \"true\"\n")?;
    }
    if turn % 4 == 1 {
        out.push_str("  tolerations:\n  - key: gpu\n    operator: Exists\n    effect: NoSchedule\n");
    }
    out.push_str("  secrets:\n    huggingFaceToken: hf-token\n");
    Ok(())
}
