//! Tests from fields to flags: each case is an `engine` section with the expected argv or findings.

mod refusals;

use kubefoundry_deployment::ir::EngineType;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{Diagnostic, DocumentScope, Findings, Severity};
use kubefoundry_engines::{Invocation, Launcher, resolve};
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::wire::{Read as _, Reader};
use kubefoundry_model::validate::validate;
use kubefoundry_provider::releases::find_release;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Limits, parse};

/// Creates the launcher for an engine.
type MakeLauncher = fn(EngineType) -> Launcher;

fn dynamo_launcher(engine: EngineType, version: &str) -> Launcher {
    kubefoundry_dynamo::runtimes::launcher(
        engine,
        find_release(kubefoundry_dynamo::runtimes::RELEASES, version).unwrap().release,
        true,
    )
}

const DYNAMO: MakeLauncher = |engine| dynamo_launcher(engine, "1.4.0");
/// The worker of an image that is not known to be the release itself.
const DYNAMO_BUILD: MakeLauncher = |engine| Launcher { is_exact: false, ..dynamo_launcher(engine, "1.4.0") };
const DYNAMO_1_1_1: MakeLauncher = |engine| dynamo_launcher(engine, "1.1.1");
const DYNAMO_1_6_1: MakeLauncher = |engine| dynamo_launcher(engine, "1.6.1");
const RAY: MakeLauncher = |_| {
    kubefoundry_kuberay::runtimes::launcher(
        find_release(kubefoundry_kuberay::runtimes::RELEASES, "2.56.0").unwrap().release,
        true,
    )
};
/// The engine of an image that is not known to be the release itself.
const RAY_BUILD: MakeLauncher = |engine| Launcher { is_exact: false, ..RAY(engine) };
const PRESET: MakeLauncher = |_| kubefoundry_kaito::base_images::launcher_of(None);
const SERVER: MakeLauncher = |_| Launcher::vllm_server("vllm/vllm-openai:v0.26.0");
const LLAMA_SERVER: MakeLauncher = |_| Launcher::llama_server();

/// Resolves an `engine` section on a worker with some GPUs. Returns the invocation, unless there is an error, and the
/// findings as `code path`. The goldens of the codes cover the wording; this checks that no message contains a secret.
fn run(engine: &str, gpus: u32, launcher: MakeLauncher) -> (Option<Invocation>, Vec<String>) {
    let text = format!(
        "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {{name: m}}\nspec:\n  \
         model: {{id: org/m}}\n  engine: {engine}\n  resources: {{gpu: {{count: {gpus}}}}}\n"
    );
    let parsed = parse(&text, &Limits::default());
    let root = &parsed.documents.first().unwrap_or_else(|| panic!("{text}")).root;
    let scope = DocumentScope { source: SourceId(0), text: &text, document: 0, root, object: None };
    let mut findings = Findings::new(scope);
    let wire = ModelDeployment::read(root, &FieldPath::root(), &mut Reader::strict(&mut findings)).unwrap();
    let deployment = validate(&wire, &API_GROUPS[0], &mut findings).unwrap();
    assert!(!findings.has_errors(), "{text}{findings:?}");
    let worker = deployment.workload.workers()[0].clone();
    let invocation = resolve(&deployment, &worker, &launcher(deployment.engine.kind), &mut findings);
    let diagnostics = findings.into_diagnostics();
    let has_errors = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    let invocation = (!has_errors).then_some(invocation);
    assert!(diagnostics.iter().all(|diagnostic| !diagnostic.message.contains("s3cret")), "{diagnostics:?}");
    let place = |diagnostic: &Diagnostic| diagnostic.location.as_ref().unwrap().path.to_string();
    (invocation, diagnostics.iter().map(|diagnostic| format!("{} {}", diagnostic.code.id, place(diagnostic))).collect())
}

/// Returns argv without the flags for the model and the served name.
fn argv(engine: &str, gpus: u32, launcher: MakeLauncher) -> Vec<String> {
    let (invocation, findings) = run(engine, gpus, launcher);
    let argv = invocation.unwrap_or_else(|| panic!("{findings:#?}")).argv();
    argv.into_iter().filter(|flag| !flag.ends_with("=org/m") && flag != "--served-model-name=m").collect()
}

#[test]
fn writes_typed_fields_as_flags_of_each_engine() {
    let all = "contextLength: 4096, trustRemoteCode: true, enforceEager: true";
    for (engine, cache, launcher, expected) in [
        (
            "vllm",
            "true",
            DYNAMO,
            &["--max-model-len=4096", "--trust-remote-code", "--enable-prefix-caching", "--enforce-eager"] as &[&str],
        ),
        (
            "vllm",
            "false",
            SERVER,
            &["--max-model-len=4096", "--trust-remote-code", "--no-enable-prefix-caching", "--enforce-eager"],
        ),
        (
            "sglang",
            "true",
            DYNAMO,
            &[
                "--context-length=4096",
                "--trust-remote-code",
                "--cuda-graph-backend-decode=disabled",
                "--cuda-graph-backend-prefill=disabled",
            ],
        ),
        (
            "sglang",
            "false",
            DYNAMO,
            &[
                "--context-length=4096",
                "--trust-remote-code",
                "--disable-radix-cache",
                "--cuda-graph-backend-decode=disabled",
                "--cuda-graph-backend-prefill=disabled",
            ],
        ),
        ("trtllm", "false", DYNAMO, &["--max-seq-len=4096"]),
        ("llamacpp", "false", LLAMA_SERVER, &["--ctx-size", "4096", "--no-cache-prompt"]),
    ] {
        let engine = format!("{{type: {engine}, {all}, enablePrefixCaching: {cache}}}");
        assert_eq!(argv(&engine, 1, launcher), expected, "{engine}");
    }
}

#[test]
fn writes_other_tensorrt_llm_settings_as_configuration_keys() {
    let engine = "{type: trtllm, trustRemoteCode: true, enablePrefixCaching: false, enforceEager: true, args: {\
                  max-batch-size: '8', enable_chunked_prefill: 'true', max_tokens: '9', kv_cache_config: '{\"dtype\": \"fp8\"}', \
                  some_new_key: x}}";
    let (invocation, findings) = run(engine, 1, DYNAMO);
    let invocation = invocation.unwrap();
    assert_eq!(invocation.argv().last().unwrap(), "--max-batch-size=8");
    assert_eq!(
        serde_json::Value::Object(invocation.engine_config),
        serde_json::json!({
            "trust_remote_code": true,
            "kv_cache_config": {"enable_block_reuse": false, "dtype": "fp8", "max_tokens": 9},
            "cuda_graph_config": null,
            "enable_chunked_prefill": true,
            "some_new_key": "x",
        })
    );
    assert_eq!(findings, ["KF0315 spec.engine.args.some_new_key"]);
}

#[test]
fn writes_arguments_by_kind_of_flag() {
    for (args, launcher, expected) in [
        // Switches and pairs.
        ("{enable-chunked-prefill: ''}", DYNAMO, &["--enable-chunked-prefill"] as &[&str]),
        ("{enable_chunked_prefill: 'true'}", DYNAMO, &["--enable-chunked-prefill"]),
        ("{enable-chunked-prefill: 'false'}", DYNAMO, &["--no-enable-chunked-prefill"]),
        ("{no-enable-chunked-prefill: ''}", DYNAMO, &["--no-enable-chunked-prefill"]),
        ("{no-enable-chunked-prefill: 'false'}", DYNAMO, &["--enable-chunked-prefill"]),
        ("{disable-log-stats: 'false'}", SERVER, &[]),
        // A value is in the same element as its flag, whatever it starts with.
        (
            "{max-num-seqs: '64', gpu-memory-utilization: '0.9'}",
            DYNAMO,
            &["--gpu-memory-utilization=0.9", "--max-num-seqs=64"],
        ),
        ("{download-dir: --namespace=evil}", DYNAMO, &["--download-dir=--namespace=evil"]),
        ("{download-dir: '$(HF_TOKEN)'}", SERVER, &["--download-dir=$$(HF_TOKEN)"]),
        // JSON is serialized again, with escapes for characters that are special in a shell.
        (
            "{compilation-config: '{ \"mode\": \"a$(b)`c`\\u0027d\" }'}",
            DYNAMO,
            &["--compilation-config={\"mode\":\"a\\u0024(b)\\u0060c\\u0060\\u0027d\"}"],
        ),
        // Flags that no table has, for an image that may have them.
        ("{some-plugin-flag: ''}", DYNAMO_BUILD, &["--some-plugin-flag"]),
        ("{some-plugin-flag: v}", DYNAMO_BUILD, &["--some-plugin-flag=v"]),
        // JSON may have any layout, because it is written again.
        (
            "{speculative-config: \"{\\n  \\\"method\\\": \\\"mtp\\\"\\n}\\n\"}",
            DYNAMO,
            &["--speculative-config={\"method\":\"mtp\"}"],
        ),
        // An alias is written as its flag.
        ("{tp: '1'}", DYNAMO, &["--tensor-parallel-size", "1"]),
    ] {
        assert_eq!(argv(&format!("{{type: vllm, args: {args}}}"), 1, launcher), expected, "{args}");
    }
}

#[test]
fn serializes_json_again_for_every_engine() {
    for (engine, expected) in [
        (
            r#"{type: sglang, args: {kv-events-config: '{"publisher": "zmq", "endpoint": "tcp://*:5557"}'}}"#,
            r#"--kv-events-config={"publisher":"zmq","endpoint":"tcp://*:5557"}"#,
        ),
        (
            r#"{type: sglang, args: {json-model-override-args: '{"a": "b''c"}'}}"#,
            r#"--json-model-override-args={"a":"b\u0027c"}"#,
        ),
        (
            r#"{type: sglang, args: {hicache-storage-backend-extra-config: '{"a": 1}'}}"#,
            r#"--hicache-storage-backend-extra-config={"a":1}"#,
        ),
        (
            "{type: sglang, args: {hicache-storage-backend-extra-config: '@/etc/hicache.json'}}",
            "--hicache-storage-backend-extra-config=@/etc/hicache.json",
        ),
        (
            r#"{type: trtllm, args: {model-loader-extra-config: '{"gms_read_only": true}'}}"#,
            r#"--model-loader-extra-config={"gms_read_only":true}"#,
        ),
    ] {
        assert_eq!(argv(engine, 1, DYNAMO), [expected], "{engine}");
    }
}

#[test]
fn parses_extra_arguments_with_their_values() {
    for (extra, expected) in [
        ("['--seed=7']", &["--seed=7"] as &[&str]),
        ("['--seed', '7']", &["--seed=7"]),
        ("['--enable-chunked-prefill', '--seed', '7']", &["--enable-chunked-prefill", "--seed=7"]),
        ("['--allowed-media-domains', 'a', 'b']", &["--allowed-media-domains", "a", "b"]),
        ("['--seed', '-1']", &["--seed=-1"]),
        ("['--cudagraph-capture-sizes', '-1', '8']", &["--cudagraph-capture-sizes", "-1", "8"]),
        ("['--no-enable-chunked-prefill']", &["--no-enable-chunked-prefill"]),
        ("['--some-plugin-flag=1']", &["--some-plugin-flag=1"]),
    ] {
        assert_eq!(argv(&format!("{{type: vllm, extraArgs: {extra}}}"), 1, DYNAMO_BUILD), expected, "{extra}");
    }
}

#[test]
fn writes_values_of_llama_server_as_separate_elements() {
    for (engine, expected) in [
        ("extraArgs: ['--temp', '0.7', '--top-k', '40']", &["--temp", "0.7", "--top-k", "40"] as &[&str]),
        ("args: {verbose: 'true', slots: 'false', no-webui: ''}", &["--no-webui", "--no-slots", "--verbose"]),
        ("args: {pooling: last, keep: '-1'}", &["--keep", "-1", "--pooling", "last"]),
        ("extraArgs: ['--new-flag=0.7']", &["--new-flag", "0.7"]),
    ] {
        assert_eq!(argv(&format!("{{type: llamacpp, {engine}}}"), 1, LLAMA_SERVER), expected, "{engine}");
    }
}

#[test]
fn expands_abbreviated_flags() {
    for (engine, launcher, expected) in [
        ("{type: sglang, args: {tp: '2'}}", DYNAMO, &["--tp-size=2"] as &[&str]),
        ("{type: sglang, args: {pp: '2', tensor_par: '1'}}", DYNAMO, &["--pp-size=2", "--tp-size=1"]),
        (
            "{type: sglang, extraArgs: ['--tp', '2', '--disable-rad']}",
            DYNAMO,
            &["--tp-size=2", "--disable-radix-cache"],
        ),
        // The wrapper's own parser comes first.
        ("{type: trtllm, extraArgs: ['--tensor-par=2']}", DYNAMO, &["--tensor-parallel-size=2"]),
        // Server flags, which Dynamo's vLLM worker lacks, do not make an abbreviation ambiguous.
        ("{type: vllm, args: {max-model: '8'}}", DYNAMO, &["--tensor-parallel-size", "2", "--max-model-len=8"]),
        ("{type: vllm, args: {no-enforce: ''}}", SERVER, &["--tensor-parallel-size=2", "--no-enforce-eager"]),
        // llama-server expands no abbreviations.
        ("{type: llamacpp, args: {ctx: '8'}}", LLAMA_SERVER, &["--ctx", "8"]),
    ] {
        assert_eq!(argv(engine, 2, launcher), expected, "{engine}");
    }
}

#[test]
fn derives_tensor_parallelism_from_the_gpus() {
    for (engine, gpus, launcher, expected) in [
        ("{type: vllm}", 1, DYNAMO, &[] as &[&str]),
        ("{type: vllm}", 4, DYNAMO, &["--tensor-parallel-size", "4"]),
        ("{type: vllm}", 4, SERVER, &["--tensor-parallel-size=4"]),
        ("{type: sglang}", 4, DYNAMO, &["--tp-size=4"]),
        ("{type: trtllm}", 4, DYNAMO, &["--tensor-parallel-size=4"]),
        ("{type: llamacpp}", 4, LLAMA_SERVER, &[]),
        ("{type: vllm}", 4, PRESET, &[]),
        (
            "{type: vllm, args: {pipeline-parallel-size: '2'}}",
            8,
            DYNAMO,
            &["--tensor-parallel-size", "4", "--pipeline-parallel-size", "2"],
        ),
        ("{type: vllm, args: {data-parallel-size: '4'}}", 4, DYNAMO, &["--data-parallel-size", "4"]),
        (
            "{type: sglang, args: {tp-size: '4', dp-size: '4', enable-dp-attention: ''}}",
            4,
            DYNAMO,
            &["--dp-size=4", "--enable-dp-attention", "--tp-size=4"],
        ),
    ] {
        assert_eq!(argv(engine, gpus, launcher), expected, "{engine} on {gpus}");
    }
}

#[test]
fn writes_typed_keyword_arguments() {
    let engine = "{type: vllm, contextLength: 4096, enforceEager: true, enablePrefixCaching: false, args: {\
                  gpu-memory-utilization: '0.9', max-num-batched-tokens: 8k, compilation-config: '{\"mode\": 3}', \
                  dtype: bfloat16, enable-auto-tool-choice: 'true', tool-call-parser: hermes, new-kwarg: '5'}}";
    let (invocation, _) = run(engine, 2, RAY_BUILD);
    assert_eq!(
        serde_json::Value::Object(invocation.unwrap().keyword_arguments()),
        serde_json::json!({
            "max_model_len": 4096,
            "enable_prefix_caching": false,
            "enforce_eager": true,
            "tensor_parallel_size": 2,
            "compilation_config": {"mode": 3},
            "dtype": "bfloat16",
            "enable_auto_tool_choice": true,
            "gpu_memory_utilization": 0.9,
            "max_num_batched_tokens": 8000,
            "new_kwarg": 5,
            "tool_call_parser": "hermes",
        })
    );
}

#[test]
fn passes_numbers_to_a_preset_only_if_python_keeps_them() {
    let args =
        "{revision: '1.0', seed: '7', gpu-memory-utilization: '0.9', max-num-seqs: '256', tokenizer-revision: '1e300'}";
    let (invocation, findings) = run(&format!("{{type: vllm, args: {args}}}"), 1, PRESET);
    let settings = invocation.unwrap_or_else(|| panic!("{findings:#?}")).keyword_arguments();
    let expected = serde_json::json!({
        "gpu_memory_utilization": 0.9, "max_num_seqs": 256, "revision": "1.0", "seed": 7, "tokenizer_revision": "1e300"
    });
    assert_eq!(serde_json::Value::Object(settings), expected);
}

/// SGLang deprecated the switch in 0.5.16. Its replacement is not in 0.5.10.
#[test]
fn writes_eager_mode_in_the_form_of_each_version() {
    let new = ["--cuda-graph-backend-decode=disabled", "--cuda-graph-backend-prefill=disabled"];
    for (launcher, expected) in
        [(DYNAMO_1_1_1, &["--disable-cuda-graph"] as &[&str]), (DYNAMO, &new), (DYNAMO_1_6_1, &new)]
    {
        assert_eq!(argv("{type: sglang, enforceEager: true}", 1, launcher), expected);
    }
}
