//! Rules with a value, and rules that fail for one input only.

use super::super::{EvaluationErrorKind, WarningKind};
use super::{compile, evaluate, input, rule};
use serde_json::json;

#[test]
fn evaluates_true_rules() {
    let rules = [
        "true",
        "!has(spec.resources.gpu) || spec.resources.gpu.count == 0",
        "spec.engine.type == 'vllm'",
        "spec.engine.type != \"sglang\" && metadata.name == 'llama'",
        "spec.engine.type in ['vllm', 'sglang']",
        "'quantization' in spec.engine.args",
        "!('seed' in spec.engine.args)",
        "spec.engine.args['tensor-parallel-size'] == '2'",
        "int(spec.engine.args['tensor-parallel-size']) * 2 > 3",
        "spec.engine.args.quantization.startsWith('fp')",
        "has(spec.engine.args.quantization) && !has(spec.engine.args.seed)",
        "!has(spec.engine.contextLength)",
        "!has(spec.resources.gpu.type)",
        "spec.model.id.contains('Llama') && spec.model.id.endsWith('-8B')",
        "spec.model.id.lowerAscii().startsWith('meta-llama/llama')",
        "spec.model.servedName.size() == 5 && size(spec.model.servedName) == 5",
        "size(spec.env) == 2 && spec.ports.size() == 2 && size(spec.engine.args) == 2",
        "spec.scaling.replicas + 1 == 4 && 7 / 2 == 3 && 7 % 2 == 1 && -7 / 2 == -3",
        "spec.scaling.replicas > 2.5 && 2.5 < spec.scaling.replicas && 3 <= 3.0",
        "spec.scaling.utilization == 1.0 && spec.scaling.utilization / 2.0 == 0.5",
        "spec.env.exists(e, e.name == 'DEBUG' && !has(e.value))",
        "spec.env.all(e, e.name != '')",
        "spec.env.exists_one(e, e.name.startsWith('HF_')) && spec.ports.existsOne(p, p == 8000)",
        "spec.env.filter(e, has(e.value)).map(e, e.value) == ['/cache']",
        "spec.ports.map(p, p > 8000, p - 8000) == [80]",
        "spec.engine.args.all(key, spec.engine.args[key] != '')",
        "spec.ports[0] == 8000 && 8080 in spec.ports",
        "spec.ports + [1] == [8000, 8080, 1] && [] + [1] == [1] && spec.ports != []",
        "metadata.name + '-' + string(spec.scaling.replicas) == 'llama-3'",
        "spec.scaling.replicas > 1 ? metadata.name == 'llama' : false",
        "{'a': 1, 'b': 2}['b'] == 2 && {1: 'x'}[1] == 'x' && {'a': 1}.a == 1 && 'a' in {'a': 1}",
        "{'a': [1]} == {'a': [1]} && [[1], []] != [[1], [2]]",
        "!!true && !!!false && --5 == 5 && ---5 == -5 && -9223372036854775808 < 0 && 0x1F == 31",
        "1 < 2 && 'a' < 'b' && false < true && 1e3 == 1000.0 && .5 == 0.5",
        "'\\u00e9\\x41\\101\\n' == \"éAA\\n\" && r'\\n' == '\\\\n' && '''a'b''' == \"a'b\" && '\\U0001F600' == '😀'",
        "double('1.5') == 1.5 && int(1.9) == 1 && bool('true') && string(1.0) == '1' && ' a '.trim() == 'a'",
        "dyn(2) > 1.5 && 1.5 < dyn(2) && dyn('a') != 1",
        "spec.model.id.matches('^meta-llama/[A-Z]') && matches(spec.model.id, 'Llama') && !'x'.matches(metadata.name)",
        "spec.engine.args.exists(k, k.matches('^(quant|dtype)'))",
        "1u < 2 && uint(3) == 3u && 7u / 2u == 3u && b'a\\xff' == b\"a\\377\" && size(b'é') == 2 && bytes('a') == b'a'",
        "max(1, 2) == 2 && min([3, 1]) == 1 && string(3u) == '3'",
        "spec.engine.args.map(k, k) == ['quantization', 'tensor-parallel-size']",
        "spec.overrides.router.mode == 'kv' && spec.overrides.replicas == 2",
        "true || spec.overrides.none == 1",
        "spec.overrides.none == 1 || true",
        "!(spec.overrides.none == 1 && false) && !(false && spec.overrides.none == 1)",
        "[1, 0].exists(x, 1 / x == 1) && !([2, 0].all(x, 1 / x == 1))",
        "[1, 2].all(spec, spec > 0)",
        "1 == 1 // a comment\n && // another\n true",
        "[1, 2,].size() == 2 && {'a': 1,}.size() == 1",
        "false ? false : true ? true : false",
    ];
    for expression in rules {
        assert_eq!(evaluate(expression), Ok(true), "{expression}");
    }
}

#[test]
fn evaluates_the_rule_of_the_specification() {
    let condition = rule("!has(spec.resources.gpu) || spec.resources.gpu.count == 0");
    for (resources, expected) in
        [(json!({"gpu": {"count": 0}}), true), (json!({}), true), (json!({"gpu": {"count": 1}}), false)]
    {
        assert_eq!(condition.evaluate(&json!({"spec": {"resources": resources}})), Ok(expected), "{resources}");
    }
}

#[test]
fn reports_failed_evaluations_with_their_position() {
    let cases = [
        ("spec.engine.contextLength > 1", EvaluationErrorKind::NoSuchField, "contextLength"),
        ("has(spec.overrides.none.mode)", EvaluationErrorKind::NoSuchField, "none"),
        ("spec.engine.args['seed'] == '1'", EvaluationErrorKind::NoSuchField, "'seed'"),
        ("spec.engine.args.seed == '1'", EvaluationErrorKind::NoSuchField, "seed"),
        ("spec.ports[2] == 1", EvaluationErrorKind::IndexOutOfRange, "2"),
        ("spec.ports[-1] == 1", EvaluationErrorKind::IndexOutOfRange, "-1"),
        ("1 / spec.resources.gpu.count == 1", EvaluationErrorKind::DivisionByZero, "1 / spec.resources.gpu.count"),
        (
            "9223372036854775807 + spec.scaling.replicas > 0",
            EvaluationErrorKind::Overflow,
            "9223372036854775807 + spec.scaling.replicas",
        ),
        ("-(-9223372036854775808) > 0", EvaluationErrorKind::Overflow, "-(-9223372036854775808)"),
        (
            "true && (spec.ports.all(p, p / 0 == 1) || false)",
            EvaluationErrorKind::DivisionByZero,
            "spec.ports.all(p, p / 0 == 1)",
        ),
        ("spec.ports.all(p, spec.engine.args.seed == '1')", EvaluationErrorKind::NoSuchField, "seed"),
        (
            "'a'.matches(spec.overrides.router.mode + '(')",
            EvaluationErrorKind::Conversion,
            "'a'.matches(spec.overrides.router.mode + '(')",
        ),
        ("uint(-1) == 1u", EvaluationErrorKind::Overflow, "uint(-1)"),
        ("-9223372036854775808 / -1 > 0", EvaluationErrorKind::Overflow, "-9223372036854775808 / -1"),
        ("int('1x') == 1", EvaluationErrorKind::Conversion, "int('1x')"),
        ("int(1e19) == 1", EvaluationErrorKind::Overflow, "int(1e19)"),
        ("int(double('NaN')) == 0", EvaluationErrorKind::Overflow, "int(double('NaN'))"),
        ("uint(double('NaN')) == 0u", EvaluationErrorKind::Overflow, "uint(double('NaN'))"),
        ("spec.overrides.router", EvaluationErrorKind::NotBoolean, "spec.overrides.router"),
        ("spec.overrides.router.mode.x == 1", EvaluationErrorKind::TypeMismatch, "x"),
        ("has(spec.overrides.router.mode.x)", EvaluationErrorKind::TypeMismatch, "x"),
        ("spec.overrides.router < 1", EvaluationErrorKind::TypeMismatch, "spec.overrides.router < 1"),
        ("!spec.overrides.router.mode", EvaluationErrorKind::TypeMismatch, "!spec.overrides.router.mode"),
        ("spec.overrides.replicas + 'a' == 'a'", EvaluationErrorKind::TypeMismatch, "spec.overrides.replicas + 'a'"),
        ("spec.overrides.none || false", EvaluationErrorKind::NoSuchField, "none"),
        ("[0, 2].exists(x, 1 / x == 1)", EvaluationErrorKind::DivisionByZero, "[0, 2].exists(x, 1 / x == 1)"),
    ];
    for (expression, kind, part) in cases {
        let error = evaluate(expression).expect_err(expression);
        assert_eq!((&error.kind, &expression[error.offset.clone()]), (&kind, part), "{expression}: {error}");
        assert!(!error.message.contains('\n'));
    }
    let error = rule("spec.scaling.replicas > 0").evaluate(&json!({})).unwrap_err();
    assert_eq!(error.kind, EvaluationErrorKind::MissingVariable);
}

#[test]
fn messages_of_failed_evaluations_name_types_and_values() {
    for (expression, message) in [
        ("spec.overrides.replicas > 'a'", "the value has the wrong type: int 2 and string \"a\""),
        ("int(spec.model.id) > 1", "int() cannot convert this value: string \"meta-llama/Llama-3.1-8B\""),
        ("!spec.overrides.router.mode", "the value has the wrong type: string \"kv\""),
    ] {
        assert_eq!(evaluate(expression).unwrap_err().message, message, "{expression}");
    }
    let no_variables = json!({"spec": {}, "metadata": {"name": "m"}});
    for expression in ["spec.env.exists(v, v.name == 'A')", "spec.env.map(v, v.name) == []", "size(spec.env) > 0"] {
        let error = rule(expression).evaluate(&no_variables).unwrap_err();
        assert_eq!(error.message, "no such field: `env`; test it with has() first", "{expression}");
    }
}

// Differences between the `cel` crate and Kubernetes, which the documentation of the crate lists. A row that fails is
// a difference that no longer exists.
#[test]
fn differs_from_kubernetes_as_documented() {
    for (expression, expected, kubernetes) in [
        ("dyn(1) == 1.0", Some(false), Some(true)),
        ("dyn(1) in [dyn(1u)]", Some(false), Some(true)),
        ("[0, 1].exists(x, 1 / x == 1)", None, Some(true)),
        ("[0, 2].all(x, 1 / x == 1)", None, Some(false)),
        ("[spec.overrides.router.mode].exists(x, has(x.y))", Some(false), None),
        ("[dyn('text')].all(x, !x.y)", Some(true), None),
        ("{metadata.name: 1, 'llama': 2}.size() == 1", Some(true), None),
        ("0.0 / 0.0 < 1.0", None, Some(false)),
        ("int(9223372036854775808.0) > 0", Some(true), None),
    ] {
        assert_eq!(evaluate(expression).ok(), expected, "{expression}");
        assert_ne!(expected, kubernetes);
    }
}

#[test]
fn warns_once_about_each_unchecked_part() {
    let cases = [
        ("spec.overrides.a.b == 1", WarningKind::Unchecked, "spec.overrides.a.b"),
        ("spec.overrides.all(x, x.y == 1 && x.z)", WarningKind::Unchecked, "spec.overrides"),
        ("spec.overrides", WarningKind::Unchecked, "spec.overrides"),
        ("size(b'a') == 1", WarningKind::Unchecked, "b'a'"),
        ("1u < 2", WarningKind::Unchecked, "1u"),
        ("max(1, 2) == 2", WarningKind::Unchecked, "max(1, 2)"),
        ("'a'.matches(metadata.name)", WarningKind::Unchecked, "metadata.name"),
        ("spec.engine.type == 'vlm'", WarningKind::NeverEqual, "'vlm'"),
        ("spec.engine.type in ['vllm', 'trt']", WarningKind::NeverEqual, "'trt'"),
    ];
    for (expression, kind, part) in cases {
        let (_, warnings) = compile(expression).expect(expression);
        let actual: Vec<_> =
            warnings.iter().map(|warning| (warning.kind, &expression[warning.offset.clone()])).collect();
        assert_eq!(actual, [(kind, part)], "{expression}");
    }
    for (expression, message) in [
        ("spec.engine.type == 'vlm'", "`spec.engine.type` is never 'vlm', so `==` is never true; did you mean 'vllm'?"),
        (
            "'vlm' != spec.engine.type",
            "`spec.engine.type` is never 'vlm', so `!=` is always true; did you mean 'vllm'?",
        ),
        (
            "spec.engine.type in ['vllm', 'trt']",
            "`spec.engine.type` is never 'trt', so nothing in it is equal to that; it is one of vllm, sglang, trtllm, llamacpp",
        ),
    ] {
        assert_eq!(compile(expression).unwrap().1[0].message, message, "{expression}");
    }
    assert!(compile("has(spec.overrides) && size(spec.env) > 0").unwrap().1.is_empty());
}

#[test]
fn reads_returns_the_longest_paths() {
    let cases: [(&str, &[&str]); 6] = [
        ("true", &[]),
        ("spec.engine.type == 'vllm'", &["spec.engine.type"]),
        (
            "spec.engine.args['max-num-seqs'] == '1' && spec.engine.args.seed == '1'",
            &["spec.engine.args.seed", "spec.engine.args[\"max-num-seqs\"]"],
        ),
        ("spec.engine.args[metadata.name] == '1'", &["metadata.name", "spec.engine.args"]),
        ("spec.env.all(spec, spec.name == 'a') && spec.ports[0] == 1", &["spec.env", "spec.ports[0]"]),
        ("has(spec.resources.gpu) && size(spec.env) > 0", &["spec.env", "spec.resources.gpu"]),
    ];
    for (expression, expected) in cases {
        assert_eq!(rule(expression).reads(), expected, "{expression}");
    }
}

#[test]
fn rules_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>(value: T) -> T {
        value
    }
    assert_eq!(shared(rule("spec.scaling.replicas == 3")).evaluate(&input()), Ok(true));
}
