//! Tests of refused flags and of warnings.

use kubefoundry_yaml::field_path::FieldPath;

use super::{DYNAMO, DYNAMO_1_1_1, DYNAMO_1_6_1, LLAMA_SERVER, PRESET, RAY, SERVER, run};

#[test]
fn refuses_what_the_engine_would_refuse() {
    for (engine, launcher, expected) in [
        ("{type: vllm, args: {max-num-seqs: many}}", DYNAMO, "KF0303 spec.engine.args[\"max-num-seqs\"]"),
        ("{type: vllm, args: {max-num-seqs: ''}}", DYNAMO, "KF0303 spec.engine.args[\"max-num-seqs\"]"),
        ("{type: vllm, args: {dtype: int4}}", DYNAMO, "KF0303 spec.engine.args.dtype"),
        ("{type: vllm, args: {enforce-eager: maybe}}", DYNAMO, "KF0303 spec.engine.args[\"enforce-eager\"]"),
        ("{type: vllm, extraArgs: ['--enforce-eager=true']}", DYNAMO, "KF0303 spec.engine.extraArgs[0]"),
        ("{type: vllm, args: {compilation-config: '{'}}", DYNAMO, "KF0303 spec.engine.args[\"compilation-config\"]"),
        ("{type: vllm, args: {download-dir: '--'}}", DYNAMO, "KF0305 spec.engine.args[\"download-dir\"]"),
        ("{type: vllm, args: {download-dir: \"a\\nb\"}}", SERVER, "KF0305 spec.engine.args[\"download-dir\"]"),
        ("{type: vllm, args: {download-dir: 'a;id'}}", DYNAMO, "KF0305 spec.engine.args[\"download-dir\"]"),
        ("{type: vllm, args: {tool-call-parser: hermes}}", DYNAMO, "KF0311 spec.engine.args[\"tool-call-parser\"]"),
        ("{type: vllm, args: {model: org/other}}", DYNAMO, "KF0310 spec.engine.args.model"),
        ("{type: vllm, args: {served_model_name: x}}", RAY, "KF0310 spec.engine.args.served_model_name"),
        (
            "{type: vllm, contextLength: 8, args: {max-model-len: '9'}}",
            DYNAMO,
            "KF0302 spec.engine.args[\"max-model-len\"]",
        ),
        ("{type: vllm, args: {seed: '1'}, extraArgs: ['--seed=2']}", DYNAMO, "KF0302 spec.engine.extraArgs[0]"),
        (
            "{type: sglang, args: {tensor-parallel-size: '1', tp-size: '1'}}",
            DYNAMO,
            "KF0302 spec.engine.args[\"tp-size\"]",
        ),
        ("{type: vllm, extraArgs: ['--kv-transfer-config.kv_role=x']}", DYNAMO, "KF0306 spec.engine.extraArgs[0]"),
        ("{type: vllm, extraArgs: ['--seed']}", DYNAMO, "KF0303 spec.engine.extraArgs[0]"),
        ("{type: vllm, extraArgs: ['--enforce-eager', 'x']}", DYNAMO, "KF0306 spec.engine.extraArgs[1]"),
        ("{type: vllm, extraArgs: ['--ignore-patterns', a, '-tp=8']}", SERVER, "KF0306 spec.engine.extraArgs[2]"),
        (
            "{type: llamacpp, args: {some-new-switch: '--port'}}",
            LLAMA_SERVER,
            "KF0305 spec.engine.args[\"some-new-switch\"]",
        ),
        // An element that starts with a dash is not a value, whatever flag precedes it.
        ("{type: vllm, extraArgs: ['--logits-processors', 'b', '-tp=4']}", DYNAMO, "KF0306 spec.engine.extraArgs[2]"),
        ("{type: vllm, extraArgs: ['--logits-processors', 'b', '-']}", DYNAMO, "KF0306 spec.engine.extraArgs[2]"),
        ("{type: llamacpp, extraArgs: ['--threads', '4', '-c']}", LLAMA_SERVER, "KF0306 spec.engine.extraArgs[2]"),
        ("{type: trtllm, extraArgs: ['--enable-chunked-prefill']}", DYNAMO, "KF0306 spec.engine.extraArgs[0]"),
        (
            "{type: trtllm, enablePrefixCaching: true, args: {enable_block_reuse: 'false'}}",
            DYNAMO,
            "KF0302 spec.engine.args.enable_block_reuse",
        ),
        (
            "{type: trtllm, args: {kv_cache_config: '{\"enable_block_reuse\": true}', enable_block_reuse: 'false'}}",
            DYNAMO,
            "KF0302 spec.engine.args.kv_cache_config",
        ),
        (
            "{type: trtllm, enforceEager: true, args: {cuda_graph_config: '{\"max_batch_size\": 8}'}}",
            DYNAMO,
            "KF0302 spec.engine.args.cuda_graph_config",
        ),
        (
            "{type: trtllm, args: {enable_chunked_prefill: maybe}}",
            DYNAMO,
            "KF0303 spec.engine.args.enable_chunked_prefill",
        ),
    ] {
        let (_, findings) = run(engine, 1, launcher);
        assert_eq!(findings, [expected], "{engine}");
    }
}

#[test]
fn checks_abbreviations_like_the_flags_they_stand_for() {
    for (engine, launcher, expected) in [
        ("{type: sglang, args: {tp: '4'}}", DYNAMO, "KF0307 spec.engine.args.tp"),
        ("{type: sglang, args: {model-pa: org/other}}", DYNAMO, "KF0310 spec.engine.args[\"model-pa\"]"),
        ("{type: vllm, contextLength: 8, extraArgs: ['--max-model-l=9']}", SERVER, "KF0302 spec.engine.extraArgs[0]"),
        ("{type: vllm, args: {tool-call-p: hermes}}", DYNAMO, "KF0311 spec.engine.args[\"tool-call-p\"]"),
        ("{type: vllm, args: {max-num: '8'}}", DYNAMO, "KF0301 spec.engine.args[\"max-num\"]"),
        ("{type: sglang, extraArgs: ['--disable=1']}", DYNAMO, "KF0306 spec.engine.extraArgs[0]"),
        // The own parser of dynamo.vllm expands no abbreviations, and Ray takes names of fields.
        ("{type: vllm, args: {custom-jinja: x}}", DYNAMO, "KF0304 spec.engine.args[\"custom-jinja\"]"),
        ("{type: vllm, args: {max_model: '8'}}", RAY, "KF0304 spec.engine.args.max_model"),
    ] {
        let (_, findings) = run(engine, 1, launcher);
        assert_eq!(findings.len(), 1, "{engine}: {findings:#?}");
        assert!(findings[0].starts_with(expected), "{engine}: {findings:#?}");
    }
}

#[test]
fn checks_parallel_sizes_against_the_gpus() {
    for (args, gpus, expected) in [
        ("{tensor-parallel-size: '4'}", 2, "KF0307 spec.engine.args[\"tensor-parallel-size\"]"),
        ("{tensor-parallel-size: '2'}", 8, "KF0308 spec.engine.args[\"tensor-parallel-size\"]"),
        ("{pipeline-parallel-size: '3'}", 8, "KF0309 spec.engine.args[\"pipeline-parallel-size\"]"),
        (
            "{pipeline-parallel-size: '8', data-parallel-size: '2'}",
            8,
            "KF0307 spec.engine.args[\"pipeline-parallel-size\"]",
        ),
        ("{tensor-parallel-size: '0'}", 2, "KF0303 spec.engine.args[\"tensor-parallel-size\"]"),
    ] {
        let (_, findings) = run(&format!("{{type: vllm, args: {args}}}"), gpus, DYNAMO);
        assert_eq!(findings, [expected], "{args}");
    }
}

#[test]
fn refuses_flags_that_print_and_exit() {
    for (engine, launcher) in [
        ("{type: vllm, args: {help: ''}}", DYNAMO),
        ("{type: vllm, args: {h: ''}}", SERVER),
        ("{type: vllm, extraArgs: ['--help=all']}", SERVER),
        ("{type: vllm, extraArgs: ['--hel']}", SERVER),
        ("{type: vllm, args: {he: ''}}", DYNAMO),
        ("{type: vllm, args: {help: 'true'}}", PRESET),
        ("{type: vllm, args: {version: ''}}", DYNAMO_1_6_1),
        ("{type: vllm, args: {help: ''}}", RAY),
        ("{type: sglang, extraArgs: ['--version']}", DYNAMO),
        ("{type: sglang, extraArgs: ['--vers']}", DYNAMO_1_1_1),
        ("{type: trtllm, args: {version: ''}}", DYNAMO),
        ("{type: trtllm, args: {help: 'true'}}", DYNAMO),
        ("{type: llamacpp, args: {usage: ''}}", LLAMA_SERVER),
        ("{type: llamacpp, extraArgs: ['--list-devices']}", LLAMA_SERVER),
        ("{type: llamacpp, args: {version: ''}}", LLAMA_SERVER),
    ] {
        let (_, findings) = run(engine, 1, launcher);
        assert_eq!(findings.len(), 1, "{engine}: {findings:#?}");
        let finding = &findings[0];
        assert!(finding.starts_with("KF0311 spec.engine."), "{engine}: {finding}");
    }
    // These only resemble flags that print and exit.
    assert_eq!(run("{type: llamacpp, args: {verbose: '', host: 0.0.0.0}}", 1, LLAMA_SERVER).1, [""; 0]);
}

#[test]
fn refuses_flags_that_dynamo_or_its_operator_sets() {
    for engine in ["vllm", "sglang", "trtllm"] {
        for launcher in [DYNAMO_1_1_1, DYNAMO, DYNAMO_1_6_1] {
            for (flag, value) in [
                ("namespace", "evil"),
                ("endpoint", "dyn://evil.backend.generate"),
                ("discovery-backend", "etcd"),
                ("request-plane", "nats"),
                ("event-plane", "nats"),
            ] {
                let args = FieldPath::parse("spec.engine.args").key(flag.to_owned());
                for (given, path) in [
                    (format!("args: {{{flag}: '{value}'}}"), args.to_string()),
                    (format!("extraArgs: ['--{flag}={value}']"), "spec.engine.extraArgs[0]".to_owned()),
                ] {
                    let (_, findings) = run(&format!("{{type: {engine}, {given}}}"), 1, launcher);
                    assert_eq!(findings, [format!("KF0310 {path}")], "{engine} {given}");
                }
            }
        }
    }
    for (engine, launcher, expected) in [
        ("{type: vllm, args: {nnodes: '2'}}", DYNAMO, "KF0310 spec.engine.args.nnodes"),
        ("{type: vllm, args: {headless: ''}}", DYNAMO, "KF0310 spec.engine.args.headless"),
        ("{type: sglang, args: {node-rank: '1'}}", DYNAMO, "KF0310 spec.engine.args[\"node-rank\"]"),
        ("{type: vllm, args: {response-plane: quic}}", DYNAMO_1_6_1, "KF0310 spec.engine.args[\"response-plane\"]"),
        ("{type: vllm, args: {is-decode-worker: ''}}", DYNAMO_1_1_1, "KF0310 spec.engine.args[\"is-decode-worker\"]"),
        ("{type: vllm, args: {connector: nixl}}", DYNAMO_1_1_1, "KF0311 spec.engine.args.connector"),
        ("{type: vllm, args: {connector: none}}", DYNAMO, "KF0311 spec.engine.args.connector"),
        ("{type: vllm, extraArgs: ['--connector', nixl]}", DYNAMO_1_6_1, "KF0311 spec.engine.extraArgs[0]"),
        // TensorRT-LLM's worker still accepts connectors.
        ("{type: trtllm, args: {connector: kvbm}}", DYNAMO_1_6_1, "KF0313 spec.engine.args.connector"),
    ] {
        let (_, findings) = run(engine, 1, launcher);
        assert_eq!(findings.len(), 1, "{engine}: {findings:#?}");
        assert!(findings[0].starts_with(expected), "{engine}: {findings:#?}");
    }
}

#[test]
fn warns_about_secrets_in_arguments() {
    for (engine, launcher) in [
        ("{type: vllm, args: {api-key: s3cret}}", SERVER),
        ("{type: vllm, args: {api-key: s3cret}}", PRESET),
        ("{type: vllm, args: {hf-token: s3cret}}", DYNAMO),
        ("{type: sglang, extraArgs: ['--admin-api-key=s3cret']}", DYNAMO),
        ("{type: llamacpp, extraArgs: ['--api-key', s3cret]}", LLAMA_SERVER),
    ] {
        let (invocation, findings) = run(engine, 1, launcher);
        assert!(invocation.is_some(), "{engine}");
        assert_eq!(findings.len(), 1, "{engine}: {findings:#?}");
        assert!(findings[0].starts_with("KF0314 spec.engine."), "{findings:#?}");
    }
    assert_eq!(run("{type: llamacpp, args: {api-key-file: /run/secrets/key}}", 1, LLAMA_SERVER).1, [""; 0]);
}
