//! Mistakes about models and GPUs that a user would only find when the pod starts: each is caught, or the table says why
//! not.
//!
//! The rows are those of a survey of real manifests. Each mistake stands alone in an otherwise right
//! deployment.

use std::fmt::Write as _;

use crate::common::compile_all;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};

/// What becomes of a mistake.
enum Answer {
    /// A finding with this code.
    Caught(&'static str),
    /// No finding of the check, for this reason.
    Not(&'static str),
}

use Answer::{Caught, Not};

/// A mistake: its name, the lines of `spec` that differ from [`deployment`], and the answer.
type Row = (&'static str, &'static [(&'static str, &'static str)], Answer);

const LLAMA: &str = "{id: meta-llama/Llama-3.1-8B-Instruct}";
const LLAMA_70B: &str = "{id: meta-llama/Llama-3.3-70B-Instruct}";
const L4: &str = "{nvidia.com/gpu.product: NVIDIA-L4}";
const T4: &str = "{nvidia.com/gpu.product: Tesla-T4}";
const V100: &str = "{nvidia.com/gpu.product: Tesla-V100-SXM2-32GB}";

const TABLE: &[Row] = &[
    (
        "a share of the memory above 1",
        &[("engine", "{type: vllm, args: {gpu-memory-utilization: '1.5'}}")],
        Caught("KF0303"),
    ),
    (
        "a share of the memory in percent",
        &[("engine", "{type: vllm, args: {gpu-memory-utilization: '90'}}")],
        Caught("KF0303"),
    ),
    (
        "a block of 7 tokens",
        &[("engine", "{type: vllm, args: {block-size: '7'}}")],
        Not("which sizes an attention backend takes depends on the GPU and the backend that the engine chooses"),
    ),
    (
        "fewer batched tokens than the context, without chunked prefill",
        &[("engine", "{type: vllm, contextLength: 8192, args: {max-num-batched-tokens: '4096'}}")],
        Not("chunked prefill is on by default, and some versions turn it on again"),
    ),
    ("heads that the GPUs cannot share", &[("model", LLAMA_70B), ("resources", "{gpu: {count: 6}}")], Caught("KF0318")),
    (
        "key and value heads that the GPUs cannot share",
        &[("model", "{id: Qwen/Qwen2.5-Coder-7B-Instruct}"), ("resources", "{gpu: {count: 7}}")],
        Caught("KF0318"),
    ),
    (
        "layers that the stages of a pipeline cannot share",
        &[
            ("engine", "{type: vllm, args: {pipeline-parallel-size: '3', tensor-parallel-size: '1'}}"),
            ("resources", "{gpu: {count: 3}}"),
        ],
        Not("vLLM and SGLang give some stages one layer more (distributed/utils.py)"),
    ),
    (
        "expert parallelism on a dense model",
        &[("engine", "{type: vllm, args: {enable-expert-parallel: 'true'}}")],
        Caught("KF0331"),
    ),
    (
        "weights beyond the memory of the GPU",
        &[("model", LLAMA_70B), ("engine", "{type: vllm, contextLength: 8192}"), ("nodeSelector", L4)],
        Caught("KF0320"),
    ),
    (
        "a KV cache beyond the memory of the GPU",
        &[("engine", "{type: vllm, contextLength: 131072}"), ("nodeSelector", L4)],
        Caught("KF0320"),
    ),
    (
        "host memory of 8Gi for a model of 70B",
        &[("model", LLAMA_70B), ("resources", "{gpu: {count: 4}, memory: 8Gi}")],
        Caught("KF0226"),
    ),
    ("a context beyond the model's positions", &[("engine", "{type: vllm, contextLength: 1000000}")], Caught("KF0319")),
    (
        "awq on weights that are not quantized",
        &[("engine", "{type: vllm, args: {quantization: awq}}")],
        Caught("KF0327"),
    ),
    (
        "awq on weights that are quantized with fp8",
        &[("model", "{id: Qwen/Qwen3-8B-FP8}"), ("engine", "{type: vllm, args: {quantization: awq}}")],
        Caught("KF0327"),
    ),
    (
        "fp8 on a V100",
        &[("engine", "{type: vllm, contextLength: 2048, args: {quantization: fp8}}"), ("nodeSelector", V100)],
        Caught("KF0322"),
    ),
    (
        "a KV cache in fp8 on a T4",
        &[
            ("model", "{id: Qwen/Qwen3-0.6B}"),
            ("engine", "{type: vllm, contextLength: 2048, args: {kv-cache-dtype: fp8}}"),
            ("nodeSelector", T4),
        ],
        Not("it depends on the attention backend that the engine chooses; no version states one capability for it"),
    ),
    (
        "bfloat16 on a T4",
        &[
            ("model", "{id: Qwen/Qwen3-0.6B}"),
            ("engine", "{type: vllm, contextLength: 2048, args: {dtype: bfloat16}}"),
            ("nodeSelector", T4),
        ],
        Caught("KF0322"),
    ),
    (
        "NVFP4 on an A100",
        &[
            ("model", "{id: nvidia/Qwen3.6-27B-NVFP4}"),
            ("engine", "{type: vllm, contextLength: 2048}"),
            ("nodeSelector", "{nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}"),
        ],
        Not("it runs: engines fall back to kernels that read 4-bit weights and compute in 16 bits"),
    ),
    (
        "float16 for a model that needs bfloat16",
        &[("model", "{id: google/gemma-2-9b-it}"), ("engine", "{type: vllm, args: {dtype: float16}}")],
        Caught("KF0328"),
    ),
    ("a gated model without a token", &[("secrets", "{}")], Caught("KF0222")),
    (
        "an architecture that the engine's version lacks",
        &[
            ("model", "{id: deepseek-ai/DeepSeek-V4-Flash}"),
            ("image", "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.1.1"),
            ("resources", "{gpu: {count: 8}}"),
        ],
        Caught("KF0323"),
    ),
    (
        "a parser that Dynamo does not have",
        &[("engine", "{type: vllm, args: {dyn-tool-call-parser: hermess}}")],
        Caught("KF0303"),
    ),
    (
        "a parser that vLLM does not have",
        &[
            ("engine", "{type: vllm, args: {enable-auto-tool-choice: 'true', tool-call-parser: hermess}}"),
            ("provider", "{name: kuberay}"),
        ],
        Caught("KF0316"),
    ),
    (
        "a reasoning parser that SGLang does not have",
        &[("engine", "{type: sglang, args: {reasoning-parser: deepseek_r11}}")],
        Caught("KF0316"),
    ),
    (
        "a parser of another family",
        &[("engine", "{type: vllm, args: {dyn-tool-call-parser: hermes}}")],
        Caught("KF0324"),
    ),
    (
        "a tool parser without enable-auto-tool-choice",
        &[("engine", "{type: vllm, args: {tool-call-parser: llama3_json}}"), ("provider", "{name: kuberay}")],
        Caught("KF0325"),
    ),
    (
        "a draft model with another vocabulary",
        &[(
            "engine",
            r#"{type: vllm, args: {speculative-config: '{"model": "Qwen/Qwen3-0.6B", "num_speculative_tokens": 3}'}}"#,
        )],
        Caught("KF0329"),
    ),
    ("a misspelt GPU resource", &[("resources", "{gpu: {count: 1, type: nvidia.com/gpus}}")], Caught("KF0219")),
    (
        "an instance type without a GPU",
        &[("provider", "{name: kaito, overrides: {instanceType: Standard_D8s_v5}}"), ("nodeSelector", "{apps: m}")],
        Caught("KF1011"),
    ),
    (
        "an instance type with fewer GPUs than a pod",
        &[
            ("provider", "{name: kaito, overrides: {instanceType: Standard_NC24ads_A100_v4}}"),
            ("image", "vllm/vllm-openai:v0.26.0"),
            ("resources", "{gpu: {count: 8}, memory: 200Gi}"),
            ("nodeSelector", "{apps: m}"),
        ],
        Caught("KF1011"),
    ),
    (
        "an instance type that KAITO does not know",
        &[
            ("provider", "{name: kaito, overrides: {instanceType: StandardNC24adsA100v4}}"),
            ("nodeSelector", "{apps: m}"),
        ],
        Caught("KF1011"),
    ),
    (
        "an instance type of Azure that no table has",
        &[
            ("provider", "{name: kaito, overrides: {instanceType: Standard_NC24ads_A100_v5}}"),
            ("nodeSelector", "{apps: m}"),
        ],
        Not("KAITO accepts every name that begins with Standard_N (api/v1beta1/workspace_validation.go)"),
    ),
    (
        "an instance type that is too small for the model",
        &[
            ("model", LLAMA_70B),
            ("provider", "{name: kaito, overrides: {instanceType: Standard_NC24ads_A100_v4}}"),
            ("nodeSelector", "{apps: m}"),
        ],
        Not("KAITO adds nodes by itself, so KF1012 is an info that counts them"),
    ),
    (
        "GPUs of another vendor than the nodes",
        &[("nodeSelector", "{amd.com/gpu.product-name: AMD_Instinct_MI300X_OAM}")],
        Caught("KF0224"),
    ),
    (
        "shared memory as large as the memory limit",
        &[("resources", "{gpu: {count: 1}, memory: 64Gi, sharedMemory: 64Gi}")],
        Caught("KF0233"),
    ),
    (
        "an embedding model",
        &[("model", "{id: BAAI/bge-m3}"), ("secrets", "{}")],
        Not("no facts about embedding models are recorded, and vLLM serves many of them"),
    ),
    (
        "a repository of GGUF files",
        &[("model", "{id: bartowski/Meta-Llama-3.1-8B-Instruct-GGUF}"), ("secrets", "{}")],
        Not("a name is not a fact, and versions of vLLM read some of such repositories"),
    ),
];

/// Returns a right deployment with some lines of `spec` replaced.
fn deployment(changes: &[(&str, &str)]) -> String {
    let lines = [
        ("model", LLAMA),
        ("secrets", "{huggingFaceToken: hf}"),
        ("engine", "{type: vllm}"),
        ("resources", "{gpu: {count: 1}}"),
    ];
    let mut text =
        "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: m}\nspec:\n".to_owned();
    let kept = lines.iter().filter(|(key, _)| changes.iter().all(|(changed, _)| changed != key));
    for (key, value) in kept.chain(changes) {
        let _ = writeln!(text, "  {key}: {value}");
    }
    text
}

/// Returns the codes of the errors and warnings in a deployment with these changes.
fn codes(changes: &[(&str, &str)]) -> Vec<&'static str> {
    let mut sources = SourceSet::default();
    sources.add("m.yaml", deployment(changes));
    let options = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nruntimes: {dynamo: 1.4.0, kuberay: 2.56.0}\n\
                   kaito: {nodeAutoProvisioning: true}\n";
    sources.add_for(Purpose::Options, "kubefoundry.yaml", options);
    let is_finding =
        |found: &&kubefoundry_diagnostics::Diagnostic| found.severity != kubefoundry_diagnostics::Severity::Info;
    compile_all(&sources).diagnostics.iter().filter(is_finding).map(|found| found.code.id).collect()
}

#[test]
fn each_mistake_is_caught_or_has_a_reason() {
    let mut report = String::new();
    assert_eq!(codes(&[]), [""; 0], "the deployment without a mistake");
    for (name, changes, answer) in TABLE {
        let found = codes(changes);
        match answer {
            Caught(code) if found.contains(code) => {}
            Caught(code) => {
                let _ = writeln!(report, "{name}: expected {code}, found {found:?}");
            }
            // A reason that no longer holds must go.
            Not(reason) if found.is_empty() => assert!(!reason.is_empty(), "{name}"),
            Not(reason) => {
                let _ = writeln!(report, "{name}: found {found:?}, although {reason}");
            }
        }
    }
    assert!(report.is_empty(), "\n{report}");
}
