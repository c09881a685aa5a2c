//! What is refused before an engine would, or warned of.

use super::{DYNAMO, DYNAMO_1_1_1, DYNAMO_1_6_1, LLAMA_SERVER, PRESET, RAY, SERVER, run};

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
        (
            "{type: vllm, extraArgs: ['--ignore-patterns', a, '-tp=8']}",
            SERVER,
            "KF0306 \"-tp=8\" is not a flag, expected --flag or --flag=value",
        ),
        (
            "{type: llamacpp, args: {some-new-switch: '--port'}}",
            LLAMA_SERVER,
            "KF0305 --some-new-switch is given \"--port\", which is a flag if --some-new-switch takes no value",
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
            LLAMA_SERVER,
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
fn what_would_print_and_exit_is_refused() {
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
        assert!(finding.starts_with("KF0311 with --") && finding.contains(" prints something and exits"), "{finding}");
    }
    // What only looks like it.
    assert_eq!(run("{type: llamacpp, args: {verbose: '', host: 0.0.0.0}}", 1, LLAMA_SERVER).1, [""; 0]);
}

#[test]
fn what_dynamo_and_its_operator_set_is_refused() {
    for engine in ["vllm", "sglang", "trtllm"] {
        for launcher in [DYNAMO_1_1_1, DYNAMO, DYNAMO_1_6_1] {
            for (flag, value) in [
                ("namespace", "evil"),
                ("endpoint", "dyn://evil.backend.generate"),
                ("discovery-backend", "etcd"),
                ("request-plane", "nats"),
                ("event-plane", "nats"),
            ] {
                for given in [format!("args: {{{flag}: '{value}'}}"), format!("extraArgs: ['--{flag}={value}']")] {
                    let (_, findings) = run(&format!("{{type: {engine}, {given}}}"), 1, launcher);
                    assert_eq!(findings.len(), 1, "{engine} {given}: {findings:#?}");
                    assert!(findings[0].starts_with(&format!("KF0310 --{flag} ")), "{findings:#?}");
                }
            }
        }
    }
    for (engine, launcher, expected) in [
        ("{type: vllm, args: {nnodes: '2'}}", DYNAMO, "KF0310 --nnodes "),
        ("{type: vllm, args: {headless: ''}}", DYNAMO, "KF0310 --headless "),
        ("{type: sglang, args: {node-rank: '1'}}", DYNAMO, "KF0310 --node-rank "),
        ("{type: vllm, args: {response-plane: quic}}", DYNAMO_1_6_1, "KF0310 --response-plane "),
        ("{type: vllm, args: {is-decode-worker: ''}}", DYNAMO_1_1_1, "KF0310 --is-decode-worker "),
        ("{type: vllm, args: {connector: nixl}}", DYNAMO_1_1_1, "KF0311 --connector "),
        ("{type: vllm, args: {connector: none}}", DYNAMO, "KF0311 --connector "),
        ("{type: vllm, extraArgs: ['--connector', nixl]}", DYNAMO_1_6_1, "KF0311 --connector "),
        // TensorRT-LLM's worker still has some.
        ("{type: trtllm, args: {connector: kvbm}}", DYNAMO_1_6_1, "KF0313 --connector "),
    ] {
        let (_, findings) = run(engine, 1, launcher);
        assert_eq!(findings.len(), 1, "{engine}: {findings:#?}");
        assert!(findings[0].starts_with(expected), "{engine}: {findings:#?}");
    }
}

#[test]
fn secrets_in_arguments_are_warned_of() {
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
        assert!(findings[0].starts_with("KF0314 ") && !findings[0].contains("s3cret"), "{findings:#?}");
    }
    assert_eq!(run("{type: llamacpp, args: {api-key-file: /run/secrets/key}}", 1, LLAMA_SERVER).1, [""; 0]);
}
