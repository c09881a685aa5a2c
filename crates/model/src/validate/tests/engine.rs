//! Engine settings that need no flag table.

use super::{assert_fields, assert_fixed, assert_no_fix, document, valid};
use kubefoundry_deployment::ir::{EngineType, Leaf};

#[test]
fn checks_types_and_numbers() {
    assert_fields(&[
        ("engine: {contextLength: 1}", &["KF0207 5:3 spec.engine.type"]),
        ("engine: {type: llamacpp, contextLength: 0}", &["KF0116 5:43 spec.engine.contextLength"]),
        ("engine: {type: llamacpp, contextLength: -5}", &["KF0116 5:43 spec.engine.contextLength"]),
    ]);
    let engine = valid("engine: {type: llamacpp}").engine;
    assert_eq!((engine.kind, engine.context_length), (EngineType::Llamacpp, None));
    assert_eq!(engine.trust_remote_code, Leaf::defaulted(false));
    assert_eq!((engine.enable_prefix_caching, engine.enforce_eager), (None, Leaf::defaulted(false)));
    let engine =
        valid("engine: {type: llamacpp, contextLength: 8192, trustRemoteCode: false, enforceEager: true}").engine;
    assert_eq!(engine.context_length, Some(8192));
    assert_eq!(engine.trust_remote_code, Leaf::written(false));
    assert_eq!(engine.enforce_eager, Leaf::written(true));
}

#[test]
fn checks_argument_keys() {
    assert_fields(&[("engine: {type: llamacpp, args: {max-num-seqs: \"1\", max_loras: \"2\", n1: \"\"}}", &[])]);
    for key in ["--seed", "-c", ".seed", "kv_cache_config.enable", "Seed", "a b", "seed=1", "", "seed-", "--"] {
        let path = kubefoundry_yaml::field_path::FieldPath::parse("spec.engine.args").key(key.to_owned());
        let expected = format!("KF0301 5:35 {path}");
        assert_fields(&[(&format!("engine: {{type: llamacpp, args: {{{key:?}: x}}}}"), &[&expected])]);
    }
}

#[test]
fn renames_argument_keys_if_the_result_is_valid() {
    let engine = |args: &str| document(&format!("engine: {{type: llamacpp, args: {{{args}}}}}"));
    for (before, after) in [
        ("--max-num-seqs: \"1\"", "max-num-seqs: \"1\""),
        ("\"--seed\": \"1\"", "\"seed\": \"1\""),
        ("-c: \"1\", .d: \"2\"", "c: \"1\", d: \"2\""),
        ("--no: \"\"", "\"no\": \"\""),
    ] {
        assert_fixed(&engine(before), &engine(after));
    }
    for args in ["kv.enable: \"\"", "--seed: \"1\", seed: \"2\"", "Seed: \"1\"", "--a.b: \"1\""] {
        assert_no_fix(&format!("engine: {{type: llamacpp, args: {{{args}}}}}"));
    }
}

#[test]
fn checks_extra_arguments() {
    let at = |index: usize, column: usize| format!("KF0306 5:{column} spec.engine.extraArgs[{index}]");
    assert_fields(&[
        ("engine: {type: llamacpp, extraArgs: [--seed, \"1\", --flag=x, -c]}", &[]),
        (
            "engine: {type: llamacpp, extraArgs: [seed, \"\", \"a\\nb\", --]}",
            &[&at(0, 40), &at(1, 46), &at(2, 50), &at(3, 58)],
        ),
    ]);
}
