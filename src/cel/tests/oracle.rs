//! The same rules in the `cel` crate: where that is right, both agree; where it is not, this says how.

use super::super::{Environment, Limits, Type};
use super::{input, rule};
use cel::objects::{Key, Map};
use cel::{Context, Program, Value};
use proptest::prelude::*;
use serde_json::Value as Json;

/// Numbers bound as the rules here bind them: integers as int.
fn bind(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => number.as_i64().map_or_else(|| Value::Float(number.as_f64().unwrap()), Value::Int),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(elements) => Value::List(elements.iter().map(bind).collect::<Vec<_>>().into()),
        Json::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| (Key::from(key.as_str()), bind(value)));
            Value::Map(Map { map: std::sync::Arc::new(entries.collect()) })
        }
    }
}

/// What the crate makes of a rule; None if it has no bool for it.
fn theirs(expression: &str, variables: &Json) -> Option<bool> {
    let mut context = Context::default();
    for (name, value) in variables.as_object().unwrap() {
        context.add_variable_from_value(name.as_str(), bind(value));
    }
    match Program::compile(expression).ok()?.execute(&context) {
        Ok(Value::Bool(value)) => Some(value),
        _ => None,
    }
}

#[test]
fn both_agree() {
    let rules = [
        "!has(spec.resources.gpu) || spec.resources.gpu.count == 0",
        "spec.engine.type in ['vllm', 'sglang'] && !('seed' in spec.engine.args)",
        "spec.engine.args['tensor-parallel-size'] == '2' ? spec.scaling.replicas > 2 : false",
        "spec.env.exists(e, e.name == 'DEBUG' && !has(e.value)) && spec.env.all(e, e.name != '')",
        "spec.env.filter(e, has(e.value)).map(e, e.value) == ['/cache']",
        "spec.ports.map(p, p > 8000, p - 8000) == [80] && spec.ports.exists_one(p, p == 8000)",
        "spec.model.id.contains('Llama') && spec.model.id.endsWith('-8B') && size(spec.model.id) == 23",
        "spec.overrides.none == 1 || true",
        "true || spec.overrides.none == 1",
        "spec.overrides.none == 1 || false",
        "spec.overrides.none == 1 && false",
        "-7 / 2 == -3 && -7 % 2 == -1 && 7 - 2 * 3 == 1 && (7 - 2) * 3 == 15",
        "[1, 0].exists(x, 1 / x == 1)",
        "[0, 2].exists(x, 1 / x == 1)",
        "1 < 2 == true && 'a' + 'b' < 'b' && 1 < 1.5",
        "'\\u00e9\\x41\\101\\n' == \"éAA\\n\" && r'\\n' == '\\\\n'",
        "false ? false : true ? true : false",
        "{'a': 1, 'b': 2}['b'] == 2 && 'a' in {'a': 1}",
    ];
    for expression in rules {
        assert_eq!(rule(expression).evaluate(&input()).ok(), theirs(expression, &input()), "{expression}");
    }
}

/// Each of these was a reason not to evaluate with the crate. One that fails here is a reason gone.
#[test]
fn where_the_crate_is_wrong() {
    for (expression, right) in [
        ("!!true", Some(true)),
        ("--5 == 5", Some(true)),
        ("size('é') == 1", Some(true)),
        ("'''a'b''' == \"a'b\"", Some(true)),
        ("dyn(1) == 1.0", Some(true)),
        ("has(spec.overrides.router.mode.x)", None),
        ("[0, 1].exists(x, 1 / x == 1)", Some(true)),
        ("{'a': 1, 'a': 2}.size() == 1", None),
    ] {
        assert_eq!(rule(expression).evaluate(&input()).ok(), right, "{expression}");
        assert_ne!(theirs(expression, &input()), right, "{expression} is right now");
    }
}

/// Conditions over `a`, `b` (ints), `s` (a string) and `l` (a list of ints), without what the crate gets wrong.
fn condition() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        (-3_i64..4).prop_map(|value| value.to_string()),
        Just("size(l)".to_owned()),
        Just("size(s)".to_owned()),
        Just("l[0]".to_owned()),
        Just("l[b]".to_owned()),
        Just("m.x".to_owned()),
    ]
    .prop_recursive(2, 8, 2, |inner| {
        (inner.clone(), prop::sample::select(&["+", "-", "*", "/", "%"][..]), inner)
            .prop_map(|(left, operator, right)| format!("({left} {operator} {right})"))
    });
    let comparison = (number.clone(), prop::sample::select(&["==", "!=", "<", "<=", ">", ">="][..]), number.clone())
        .prop_map(|(left, operator, right)| format!("{left} {operator} {right}"));
    let leaf = prop_oneof![
        comparison,
        number.prop_map(|number| format!("{number} in l")),
        Just("s.contains('a')".to_owned()),
        Just("s < 'b'".to_owned()),
        Just("has(m.x)".to_owned()),
        Just("'x' in m".to_owned()),
        Just("true".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("{left} && {right}")),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left} || {right})")),
            inner.clone().prop_map(|term| format!("!({term})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(test, then, other)| format!("(({test}) ? ({then}) : ({other}))")),
            inner.clone().prop_map(|body| format!("l.all(a, {body})")),
            inner.clone().prop_map(|body| format!("l.exists(b, {body})")),
            inner.clone().prop_map(|body| format!("l.exists_one(a, {body})")),
            inner.prop_map(|body| format!("l.filter(a, {body}).size() > 1")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn both_agree_on_generated_rules(
        expression in condition(),
        a in -2_i64..3, b in -1_i64..3, s in "[ab]{0,2}", l in prop::collection::vec(-2_i64..3, 0..4), x in any::<bool>(),
    ) {
        let variables = vec![
            ("a", Type::Int), ("b", Type::Int), ("s", Type::String), ("l", Type::List(&Type::Int)), ("m", Type::Map(&Type::Int)),
        ];
        let m = if x { serde_json::json!({"x": a}) } else { serde_json::json!({}) };
        let input = serde_json::json!({"a": a, "b": b, "s": s, "l": l, "m": m});
        let (rule, _) = Environment::new(variables, Limits::default()).compile(&expression).unwrap();
        let (ours, theirs) = (rule.evaluate(&input).ok(), theirs(&expression, &input));
        // The crate gives up at the first error inside `all` and `exists`, even if a later element decides.
        let gives_up = theirs.is_none() && (expression.contains(".all(") || expression.contains(".exists("));
        prop_assert!(ours == theirs || gives_up, "{}: {:?}, {:?}", expression, ours, theirs);
    }
}
