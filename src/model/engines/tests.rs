//! From fields to flags: each case is a part of a `spec`, and the argv or the findings that come of it.

use super::{Invocation, Launcher, resolve};
use crate::diagnostic::{Findings, Scope, Severity};
use crate::dialect::DIALECTS;
use crate::model::validate::validate;
use crate::path::FieldPath;
use crate::source::SourceId;
use crate::wire::{ModelDeployment, Read as _, Reader};
use crate::yaml::{Limits, parse};

const DYNAMO: Launcher<'static> = Launcher::DynamoWorker { version: "1.4.0" };
const RAY: Launcher<'static> = Launcher::RayServe { version: "2.56.0" };
const SERVER: Launcher<'static> = Launcher::VllmServer { image: "vllm/vllm-openai:v0.26.0" };

/// What comes of an `engine`, on a worker with some GPUs: the invocation, and the findings as `code message`.
fn run(engine: &str, gpus: u32, launcher: Launcher<'_>) -> (Option<Invocation>, Vec<String>) {
    let text = format!(
        "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {{name: m}}\nspec:\n  \
         model: {{id: org/m}}\n  engine: {engine}\n  resources: {{gpu: {{count: {gpus}}}}}\n"
    );
    let parsed = parse(&text, &Limits::default());
    let root = &parsed.documents.first().unwrap_or_else(|| panic!("{text}")).root;
    let scope = Scope { source: SourceId(0), text: &text, document: 0, root, object: None };
    let mut findings = Findings::new(scope);
    let wire = ModelDeployment::read(root, &FieldPath::root(), &mut Reader::strict(&mut findings)).unwrap();
    let deployment = validate(&wire, &DIALECTS[0], &mut findings).unwrap();
    assert!(!findings.has_errors(), "{text}{findings:?}");
    let worker = deployment.workload.workers()[0].clone();
    let invocation = resolve(&deployment, &worker, launcher, &mut findings);
    let found = findings.into_diagnostics();
    let errors = found.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    let invocation = (!errors).then_some(invocation);
    (invocation, found.iter().map(|diagnostic| format!("{} {}", diagnostic.code.id, diagnostic.message)).collect())
}

/// The flags after the model's and the served name's own.
fn argv(engine: &str, gpus: u32, launcher: Launcher<'_>) -> Vec<String> {
    let (invocation, findings) = run(engine, gpus, launcher);
    let argv = invocation.unwrap_or_else(|| panic!("{findings:#?}")).argv();
    argv.into_iter().filter(|flag| !flag.ends_with("=org/m") && flag != "--served-model-name=m").collect()
}

#[test]
fn typed_fields_become_each_engines_flags() {
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
        ("sglang", "true", DYNAMO, &["--context-length=4096", "--trust-remote-code", "--disable-cuda-graph"]),
        (
            "sglang",
            "false",
            DYNAMO,
            &["--context-length=4096", "--trust-remote-code", "--disable-radix-cache", "--disable-cuda-graph"],
        ),
        ("trtllm", "false", DYNAMO, &["--max-seq-len=4096"]),
        ("llamacpp", "false", Launcher::LlamaServer, &["--ctx-size", "4096", "--no-cache-prompt"]),
    ] {
        let engine = format!("{{type: {engine}, {all}, enablePrefixCaching: {cache}}}");
        assert_eq!(argv(&engine, 1, launcher), expected, "{engine}");
    }
}

#[test]
fn tensorrt_llm_takes_the_rest_as_configuration() {
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
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].starts_with("KF0304 some_new_key is not a known configuration key"), "{findings:?}");
}

#[test]
fn arguments_are_written_by_their_kind() {
    for (args, launcher, expected) in [
        // Switches and pairs
        ("{enable-chunked-prefill: ''}", DYNAMO, &["--enable-chunked-prefill"] as &[&str]),
        ("{enable_chunked_prefill: 'true'}", DYNAMO, &["--enable-chunked-prefill"]),
        ("{enable-chunked-prefill: 'false'}", DYNAMO, &["--no-enable-chunked-prefill"]),
        ("{no-enable-chunked-prefill: ''}", DYNAMO, &["--no-enable-chunked-prefill"]),
        ("{no-enable-chunked-prefill: 'false'}", DYNAMO, &["--enable-chunked-prefill"]),
        ("{disable-log-stats: 'false'}", SERVER, &[]),
        // Values: one element, whatever they start with
        (
            "{max-num-seqs: '64', gpu-memory-utilization: '0.9'}",
            DYNAMO,
            &["--gpu-memory-utilization=0.9", "--max-num-seqs=64"],
        ),
        ("{download-dir: --namespace=evil}", DYNAMO, &["--download-dir=--namespace=evil"]),
        ("{download-dir: '$(HF_TOKEN)'}", SERVER, &["--download-dir=$$(HF_TOKEN)"]),
        // JSON is parsed and written again, without what a shell's quotes would not hold
        (
            "{compilation-config: '{ \"mode\": \"a$(b)`c`\\u0027d\" }'}",
            DYNAMO,
            &["--compilation-config={\"mode\":\"a\\u0024(b)\\u0060c\\u0060\\u0027d\"}"],
        ),
        // A flag that no table has
        ("{some-plugin-flag: ''}", DYNAMO, &["--some-plugin-flag"]),
        ("{some-plugin-flag: v}", DYNAMO, &["--some-plugin-flag=v"]),
        // Aliases are the flag they stand for
        ("{tp: '1'}", DYNAMO, &["--tensor-parallel-size", "1"]),
    ] {
        assert_eq!(argv(&format!("{{type: vllm, args: {args}}}"), 1, launcher), expected, "{args}");
    }
}

#[test]
fn json_is_written_again_whatever_the_engine() {
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
fn extra_arguments_are_flags_with_their_values() {
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
        assert_eq!(argv(&format!("{{type: vllm, extraArgs: {extra}}}"), 1, DYNAMO), expected, "{extra}");
    }
}

#[test]
fn llama_server_takes_values_as_elements() {
    for (engine, expected) in [
        ("extraArgs: ['--temp', '0.7', '--top-k', '40']", &["--temp", "0.7", "--top-k", "40"] as &[&str]),
        ("args: {verbose: 'true', slots: 'false', no-webui: ''}", &["--no-webui", "--no-slots", "--verbose"]),
        ("args: {pooling: last, keep: '-1'}", &["--keep", "-1", "--pooling", "last"]),
        ("extraArgs: ['--new-flag=0.7']", &["--new-flag", "0.7"]),
    ] {
        assert_eq!(argv(&format!("{{type: llamacpp, {engine}}}"), 1, Launcher::LlamaServer), expected, "{engine}");
    }
}

#[test]
fn what_an_engine_would_refuse_is_refused_before() {
    for (engine, launcher, expected) in [
        ("{type: vllm, args: {max-num-seqs: many}}", DYNAMO, "KF0303 --max-num-seqs is \"many\", expected an integer"),
        ("{type: vllm, args: {max-num-seqs: ''}}", DYNAMO, "KF0303 --max-num-seqs needs a value, found none"),
        (
            "{type: vllm, args: {dtype: int4}}",
            DYNAMO,
            "KF0303 --dtype is \"int4\", expected one of auto, bfloat16, float, float16, float32, half",
        ),
        (
            "{type: vllm, args: {enforce-eager: maybe}}",
            DYNAMO,
            "KF0303 --enforce-eager is a switch, expected \"true\", \"false\" or \"\"",
        ),
        (
            "{type: vllm, extraArgs: ['--enforce-eager=true']}",
            DYNAMO,
            "KF0303 --enforce-eager is a switch, expected no value",
        ),
        (
            "{type: vllm, args: {compilation-config: '{'}}",
            DYNAMO,
            "KF0303 --compilation-config is \"{\", expected a JSON object",
        ),
        (
            "{type: vllm, args: {download-dir: '--'}}",
            DYNAMO,
            "KF0305 --download-dir is given \"--\", which argument parsers misread",
        ),
        (
            "{type: vllm, args: {download-dir: \"a\\nb\"}}",
            SERVER,
            "KF0305 --download-dir is given \"a\\nb\", which argument parsers misread",
        ),
        (
            "{type: vllm, args: {download-dir: 'a;id'}}",
            DYNAMO,
            "KF0305 --download-dir has the character ';', which Dynamo may hand to a shell",
        ),
        (
            "{type: vllm, args: {tool-call-parser: hermes}}",
            DYNAMO,
            "KF0311 Dynamo 1.4.0's vLLM worker does not take the server flag --tool-call-parser",
        ),
        (
            "{type: vllm, args: {model: org/other}}",
            DYNAMO,
            "KF0310 --model is set by spec.model.id, expected it there only",
        ),
        (
            "{type: vllm, args: {served_model_name: x}}",
            RAY,
            "KF0310 --served-model-name is set by spec.model.servedName, expected it there only",
        ),
        (
            "{type: vllm, contextLength: 8, args: {max-model-len: '9'}}",
            DYNAMO,
            "KF0302 --max-model-len is given twice: here and by spec.engine.contextLength",
        ),
        (
            "{type: vllm, args: {seed: '1'}, extraArgs: ['--seed=2']}",
            DYNAMO,
            "KF0302 --seed is given twice: here and by spec.engine.args.seed",
        ),
        (
            "{type: sglang, args: {tensor-parallel-size: '1', tp-size: '1'}}",
            DYNAMO,
            "KF0302 --tp-size is given twice: here and by spec.engine.args[\"tensor-parallel-size\"]",
        ),
        (
            "{type: vllm, extraArgs: ['--kv-transfer-config.kv_role=x']}",
            DYNAMO,
            "KF0306 \"--kv-transfer-config.kv_role=x\" is not a flag, expected --flag or --flag=value",
        ),
        ("{type: vllm, extraArgs: ['--seed']}", DYNAMO, "KF0303 --seed needs a value, found none"),
        (
            "{type: vllm, extraArgs: ['--enforce-eager', 'x']}",
            DYNAMO,
            "KF0306 \"x\" is not a flag, expected --flag or --flag=value",
        ),
        // What starts with a dash is no value, whatever the flag before it takes
        (
            "{type: vllm, extraArgs: ['--logits-processors', 'b', '-tp=4']}",
            DYNAMO,
            "KF0306 \"-tp=4\" is not a flag, expected --flag or --flag=value",
        ),
        (
            "{type: vllm, extraArgs: ['--logits-processors', 'b', '-']}",
            DYNAMO,
            "KF0306 \"-\" is not a flag, expected --flag or --flag=value",
        ),
        (
            "{type: llamacpp, extraArgs: ['--threads', '4', '-c']}",
            Launcher::LlamaServer,
            "KF0306 \"-c\" is not a flag, expected --flag or --flag=value",
        ),
        (
            "{type: trtllm, extraArgs: ['--enable-chunked-prefill']}",
            DYNAMO,
            "KF0306 Dynamo 1.4.0's TensorRT-LLM worker has no flag --enable-chunked-prefill",
        ),
        (
            "{type: trtllm, enablePrefixCaching: true, args: {enable_block_reuse: 'false'}}",
            DYNAMO,
            "KF0302 kv_cache_config.enable_block_reuse is given twice: here and by spec.engine.enablePrefixCaching",
        ),
        (
            "{type: trtllm, args: {kv_cache_config: '{\"enable_block_reuse\": true}', enable_block_reuse: 'false'}}",
            DYNAMO,
            "KF0302 kv_cache_config.enable_block_reuse is given twice: here and by spec.engine.args.enable_block_reuse",
        ),
        (
            "{type: trtllm, enforceEager: true, args: {cuda_graph_config: '{\"max_batch_size\": 8}'}}",
            DYNAMO,
            "KF0302 cuda_graph_config.max_batch_size is given twice: here and by spec.engine.enforceEager",
        ),
        (
            "{type: trtllm, args: {enable_chunked_prefill: maybe}}",
            DYNAMO,
            "KF0303 enable_chunked_prefill is \"maybe\", expected true or false",
        ),
    ] {
        let (_, findings) = run(engine, 1, launcher);
        assert_eq!(findings, [expected], "{engine}");
    }
}

#[test]
fn abbreviations_are_the_flags_they_stand_for() {
    for (engine, launcher, expected) in [
        ("{type: sglang, args: {tp: '2'}}", DYNAMO, &["--tp-size=2"] as &[&str]),
        ("{type: sglang, args: {pp: '2', tensor_par: '1'}}", DYNAMO, &["--pp-size=2", "--tp-size=1"]),
        (
            "{type: sglang, extraArgs: ['--tp', '2', '--disable-rad']}",
            DYNAMO,
            &["--tp-size=2", "--disable-radix-cache"],
        ),
        // The wrapper's own parser comes first
        ("{type: trtllm, extraArgs: ['--tensor-par=2']}", DYNAMO, &["--tensor-parallel-size=2"]),
        // Its server flags are not among the flags of Dynamo's vLLM
        ("{type: vllm, args: {max-model: '8'}}", DYNAMO, &["--tensor-parallel-size", "2", "--max-model-len=8"]),
        ("{type: vllm, args: {no-enforce: ''}}", SERVER, &["--tensor-parallel-size=2", "--no-enforce-eager"]),
        // llama-server wants whole names
        ("{type: llamacpp, args: {ctx: '8'}}", Launcher::LlamaServer, &["--ctx", "8"]),
    ] {
        assert_eq!(argv(engine, 2, launcher), expected, "{engine}");
    }
}

#[test]
fn abbreviations_are_checked_as_the_flags_they_stand_for() {
    for (engine, launcher, expected) in [
        (
            "{type: sglang, args: {tp: '4'}}",
            DYNAMO,
            "KF0307 tensor parallel 4 x pipeline parallel 1 x data parallel 1 needs 4 GPUs, the aggregated worker has 1",
        ),
        (
            "{type: sglang, args: {model-pa: org/other}}",
            DYNAMO,
            "KF0310 --model-path is set by spec.model.id, expected it there only",
        ),
        (
            "{type: vllm, contextLength: 8, extraArgs: ['--max-model-l=9']}",
            SERVER,
            "KF0302 --max-model-len is given twice: here and by spec.engine.contextLength",
        ),
        (
            "{type: vllm, args: {tool-call-p: hermes}}",
            DYNAMO,
            "KF0311 Dynamo 1.4.0's vLLM worker does not take the server flag --tool-call-parser",
        ),
        (
            "{type: vllm, args: {max-num: '8'}}",
            DYNAMO,
            "KF0301 --max-num is the start of several flags of Dynamo 1.4.0's vLLM worker: --max-num-batched-tokens, --max-num-partial-prefills, --max-num-scheduled-tokens, --max-num-seqs",
        ),
        ("{type: sglang, extraArgs: ['--disable=1']}", DYNAMO, "KF0306 --disable is the start of several flags"),
        // dynamo.vllm's own parser wants whole names, Ray names of fields
        (
            "{type: vllm, args: {custom-jinja: x}}",
            DYNAMO,
            "KF0304 --custom-jinja is not a known flag of Dynamo 1.4.0's vLLM worker; it is passed on",
        ),
        (
            "{type: vllm, args: {max_model: '8'}}",
            RAY,
            "KF0304 --max-model is not a known flag of Ray 2.56.0's vLLM; it is passed on, and an application with an argument that its vLLM does not know will not start",
        ),
    ] {
        let (_, findings) = run(engine, 1, launcher);
        assert_eq!(findings.len(), 1, "{engine}: {findings:#?}");
        assert!(findings[0].starts_with(expected), "{engine}: {findings:#?}");
    }
}

#[test]
fn tensor_parallelism_follows_from_the_gpus() {
    for (engine, gpus, launcher, expected) in [
        ("{type: vllm}", 1, DYNAMO, &[] as &[&str]),
        ("{type: vllm}", 4, DYNAMO, &["--tensor-parallel-size", "4"]),
        ("{type: vllm}", 4, SERVER, &["--tensor-parallel-size=4"]),
        ("{type: sglang}", 4, DYNAMO, &["--tp-size=4"]),
        ("{type: trtllm}", 4, DYNAMO, &["--tensor-parallel-size=4"]),
        ("{type: llamacpp}", 4, Launcher::LlamaServer, &[]),
        ("{type: vllm}", 4, Launcher::KaitoPreset, &[]),
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
fn parallel_sizes_must_fit_the_gpus() {
    for (args, gpus, expected) in [
        (
            "{tensor-parallel-size: '4'}",
            2,
            "KF0307 tensor parallel 4 x pipeline parallel 1 x data parallel 1 needs 4 GPUs, the aggregated worker has 2",
        ),
        (
            "{tensor-parallel-size: '2'}",
            8,
            "KF0308 6 of the 8 GPUs of the aggregated worker stay idle: tensor parallel 2 x pipeline parallel 1 x data parallel 1 uses 2",
        ),
        (
            "{pipeline-parallel-size: '3'}",
            8,
            "KF0309 8 GPUs are not divisible by pipeline parallel 3 x data parallel 1",
        ),
        (
            "{pipeline-parallel-size: '8', data-parallel-size: '2'}",
            8,
            "KF0307 tensor parallel 1 x pipeline parallel 8 x data parallel 2 needs 16 GPUs, the aggregated worker has 8",
        ),
        (
            "{tensor-parallel-size: '0'}",
            2,
            "KF0303 --tensor-parallel-size is not a size, expected an integer of at least 1",
        ),
    ] {
        let (_, findings) = run(&format!("{{type: vllm, args: {args}}}"), gpus, DYNAMO);
        assert_eq!(findings, [expected], "{args}");
    }
}

#[test]
fn keyword_arguments_are_typed() {
    let engine = "{type: vllm, contextLength: 4096, enforceEager: true, enablePrefixCaching: false, args: {\
                  gpu-memory-utilization: '0.9', max-num-batched-tokens: 8k, compilation-config: '{\"mode\": 3}', \
                  dtype: bfloat16, enable-auto-tool-choice: 'true', tool-call-parser: hermes, new-kwarg: '5'}}";
    let (invocation, _) = run(engine, 2, RAY);
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
