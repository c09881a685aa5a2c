//! Rules that would take minutes or gigabytes without the meter.

use super::super::{Environment, EvaluationErrorKind, FieldType, Limits, Type};
use super::hostile::quickly;
use serde_json::{Value, json};

fn costly_rules() -> Vec<&'static str> {
    vec![
        "big.all(a, big.all(b, big.all(c, a + b + c >= 0)))",
        "big.all(a, big == big)",
        "big.all(a, size(big) > 0)",
        "big.all(a, big.map(x, -x) != [])",
        "big.map(a, a) != []",
        "big.filter(a, true) != []",
        "big.all(a, !(-1 in big))",
        "big.all(a, [big].size() > 0)",
        "big.all(a, max(big) > 0)",
        "big.all(a, (a > 0 ? big : [])[0] >= 0)",
        "big.all(a, [big, big][0][0] >= 0)",
        "big.all(a, big.exists_one(b, b == 3))",
        "big.all(a, [big].all(b, b[0] == 0))",
        "big.all(a, [[big]].all(b, b.all(c, c[0] == 0)))",
        "big.all(a, {'a': big}.a[0] == 0)",
        "big.all(a, dyn(big) - 1 == 0 || true)",
        "big.all(a, int(dyn(big)) == 1 || true)",
        "big.all(a, dyn(big)[text] == 1 || true)",
        "big.all(a, dyn(big).startsWith('a') || true)",
        "big.all(a, dyn(wide).startsWith('a') || true)",
        "rows.all(r, dyn(r).contains('a') || dyn(rows) + 1 == 1 || true)",
        "big.all(a, big.all(b, big.all(c, big.all(d, big.all(e, big.all(f, big.all(g, text == text)))))))",
        "big.all(a, size(text) > 0)",
        "big.all(a, !text.contains('zz'))",
        "big.all(a, text == text)",
        "big.all(a, text <= text)",
        "big.all(a, text + text != '')",
        "big.all(a, big + big != [])",
        "big.all(a, text.upperAscii() != '')",
        "big.all(a, {text: 1}[text] == 1)",
        "big.all(a, wide[text] == 1 || true)",
        "big.all(a, wide.all(k, true))",
        "big.all(a, wide == wide)",
        "wide.all(k, wide.all(l, k in wide && wide[l] >= 0))",
        "rows.all(r, rows.all(s, r == s || r.name < s.name || r.tags == s.tags))",
        "rows.all(r, rows.exists(s, s.tags.all(t, t in r.tags)))",
        "rows.map(r, r.tags).map(t, t + t).map(t, t + t) != []",
        "rows.all(r, rows.filter(s, s.name == r.name).map(s, s.tags) != [])",
        "big.all(a, text.matches('(x+x+)+y') || true)",
        "big.all(a, text.matches('[^a]*[^b]{40}z$') || true)",
        "big.all(a, 'x'.matches('\\\\w' + string(a)) || true)",
        "rows.all(r, r.name.matches('\\\\w{3}' + string(size(r.name))) || true)",
        "big.exists(a, big.exists(b, 1 / 0 == 1)) || big.all(a, big.all(b, big.all(c, true)))",
        "big.all(a, big.all(b, big.all(c, true))) || true",
        "big.all(a, true) && big.all(a, big.all(b, true) || true) || true",
        "big.map(a, text) == []",
        "big.map(a, big.map(b, big.map(c, c))) == []",
        "[text].map(a,a+a).map(a,a+a).map(a,a+a).map(a,a+a).map(a,a+a).map(a,a+a) == []",
        "['a'].map(a,a+a+a+a+a+a+a+a).map(a,a+a+a+a+a+a+a+a).map(a,a+a+a+a+a+a+a+a).map(a,a+a+a+a+a+a+a+a).map(a,a+a+a+a+a+a+a+a).map(a,a+a+a+a+a+a+a+a).map(a,a+a+a+a+a+a+a+a) == []",
    ]
}

/// Inputs of several sizes for the costly rules. One size may reach a limit at once, another only slowly.
fn inputs() -> Vec<Value> {
    let input = |elements: usize, bytes: usize| {
        let wide: serde_json::Map<String, Value> =
            (0..elements).map(|index| (format!("key-{index}"), json!(index))).collect();
        let row = |index: usize| json!({"name": "n".repeat(index % 40), "tags": vec!["t"; index % 8]});
        json!({
            "big": (0..elements).collect::<Vec<_>>(), "text": "x".repeat(bytes), "wide": wide,
            "rows": (0..elements / 4).map(row).collect::<Vec<_>>(),
        })
    };
    vec![input(30, 100), input(300, 1000), input(1000, 10_000), input(50_000, 1 << 22)]
}

#[test]
fn evaluation_is_bounded() {
    static ROW: [FieldType; 2] =
        [FieldType::required("name", Type::String), FieldType::required("tags", Type::List(&Type::String))];
    static ROWS: Type = Type::List(&Type::Object(&ROW));
    let variables =
        vec![("big", Type::List(&Type::Int)), ("text", Type::String), ("wide", Type::Map(&Type::Int)), ("rows", ROWS)];
    let environment = Environment::new(variables, Limits::default());
    let rules: Vec<_> = costly_rules()
        .into_iter()
        .map(|expression| {
            (expression, environment.compile(expression).unwrap_or_else(|errors| panic!("{expression}: {errors:?}")).0)
        })
        .collect();
    let inputs = inputs();
    let mut limit_errors = 0;
    for (expression, rule) in &rules {
        for (number, input) in inputs.iter().enumerate() {
            if let Err(error) = quickly(&format!("{number} {expression}"), || rule.evaluate(input)) {
                let limits = [EvaluationErrorKind::StepLimit, EvaluationErrorKind::ValueLimit];
                limit_errors += usize::from(limits.contains(&error.kind));
            }
        }
    }
    assert!(limit_errors > rules.len(), "{limit_errors}");
}

#[test]
fn logical_operators_do_not_hide_limits() {
    let variables = vec![("big", Type::List(&Type::Int)), ("text", Type::String)];
    let environment = Environment::new(variables, Limits::default());
    let input = json!({"big": (0..1000).collect::<Vec<_>>(), "text": "x".repeat(2000)});
    for (expression, kind) in [
        ("big.all(a, big.all(b, big.all(c, true))) || true", EvaluationErrorKind::StepLimit),
        ("!(big.all(a, big.all(b, big.all(c, true))) && false)", EvaluationErrorKind::StepLimit),
        ("big.all(a, text + text != '') || true", EvaluationErrorKind::ValueLimit),
    ] {
        let (rule, _) = environment.compile(expression).unwrap();
        assert_eq!(rule.evaluate(&input).map_err(|error| error.kind), Err(kind), "{expression}");
    }
}
