//! Hostile rules and inputs.

use std::time::{Duration, Instant};

use super::super::{CompileErrorKind, Environment, EvaluationErrorKind, Limits, Type};
use super::{compile, environment, input};
use proptest::prelude::*;
use serde_json::json;

/// The limit of the processor time of one compilation or evaluation, which takes a tenth of it.
const TIME_LIMIT: Duration = Duration::from_millis(if cfg!(debug_assertions) { 3000 } else { 1000 });
/// The limit where the system does not tell the processor time: what other programs take counts, too.
const ELAPSED_LIMIT: Duration = Duration::from_secs(120);

/// The processor time of this thread so far, on Linux.
#[expect(clippy::disallowed_methods, reason = "the test is about time")]
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

pub(super) fn quickly<T>(name: &str, work: impl FnOnce() -> T) -> T {
    #[expect(clippy::disallowed_methods, reason = "the test is about time")]
    let (start, before) = (Instant::now(), processor_time());
    let result = work();
    let (took, limit) = match before.zip(processor_time()) {
        Some((before, after)) => (after.saturating_sub(before), TIME_LIMIT),
        None => (start.elapsed(), ELAPSED_LIMIT),
    };
    println!("{took:>12.1?}  {name}");
    assert!(took < limit, "{name} took {took:?}");
    result
}

#[test]
fn refuses_a_rule_that_is_too_long_without_parsing_it() {
    for piece in ["1+", "a.", "[", "(", "!", "-", "a?b:", "'", "\0", "ö", "{1:", "a&&", "//", "f("] {
        let expression = piece.repeat((1 << 20) / piece.len());
        let errors = quickly(piece, || compile(&expression)).unwrap_err();
        assert_eq!(errors[0].kind, CompileErrorKind::TooLong);
    }
}

#[test]
fn handles_rules_of_the_maximum_length_quickly() {
    let pieces = [
        "1+",
        "1*",
        "a.b",
        ".a",
        "[",
        "(",
        "!",
        "-",
        "!(",
        "!!(",
        "-(",
        "a?b:",
        "true?true:",
        "'",
        "\"",
        "\0",
        "ö",
        "{1:",
        "true&&",
        "true||",
        "//",
        "f(",
        "[1].all(x,",
        "[1].map(x,",
        "has(",
        "has(spec.",
        "spec[",
        "1,",
        "[[",
        "]",
        "''+",
        "a{",
        "'\\",
        "r'",
        "0x",
        "1e",
        "spec.engine.args['a']==",
        "spek.x||",
        "1==",
        "in ",
        "x in ",
        "\n",
        "?",
        ":",
    ];
    for piece in pieces {
        for suffix in ["", "true", "1", "x"] {
            let expression = format!("{}{suffix}", piece.repeat((4096 - suffix.len()) / piece.len()));
            if let Ok((rule, _)) = quickly(piece, || compile(&expression)) {
                let _ = quickly(piece, || rule.evaluate(&input()));
            }
        }
    }
}

#[test]
fn the_deepest_allowed_rules_do_not_overflow_a_small_stack() {
    let nested = [
        format!("1{} == 31", "+1".repeat(30)),
        format!("{}true{}", "(".repeat(31), ")".repeat(31)),
        format!("{}true{}", "!(".repeat(31), ")".repeat(31)),
        format!("{}true", "true ? true : ".repeat(31)),
        format!("{}1{} != []", "[".repeat(30), "]".repeat(30)),
        format!("{}true{}", "[1].all(x, ".repeat(10), ")".repeat(10)),
        format!("{}[1]{} != []", "[1].map(x, x == x, ".repeat(9), ")".repeat(9)),
        format!("'a'{} != ''", "+'a'".repeat(30)),
        format!("{}true{}", "true && true && (true || true || ".repeat(15), ")".repeat(15)),
        format!("spec.overrides{}", ".a".repeat(29)),
        format!("{}1{} == 1", "int(".repeat(29), ")".repeat(29)),
    ];
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        for expression in nested {
            let (rule, _) = compile(&expression).unwrap_or_else(|errors| panic!("{expression}: {errors:?}"));
            let _ = rule.evaluate(&input());
        }
    });
    thread.unwrap().join().unwrap();
}

#[test]
fn deep_input_is_not_compared_beyond_the_limit() {
    let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let environment = Environment::new(vec![("a", Type::Dyn), ("b", Type::Dyn)], Limits::default());
    let (rule, _) = environment.compile("a == b").unwrap();
    assert_eq!(rule.evaluate(&json!({"a": deep(28), "b": deep(28)})), Ok(true));
    let error = rule.evaluate(&json!({"a": deep(100), "b": deep(100)})).unwrap_err();
    assert_eq!(error.kind, EvaluationErrorKind::ValueLimit);
}

#[test]
fn arithmetic_with_extreme_numbers_does_not_panic() {
    let environment = Environment::new(vec![("a", Type::Dyn), ("b", Type::Dyn)], Limits::default());
    let numbers = [
        json!(i64::MIN),
        json!(-1),
        json!(0),
        json!(1),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1e308),
        json!(-1e308),
        json!(-0.0),
        json!(0.5),
    ];
    for operator in ["+", "-", "*", "/", "%"] {
        let (rule, _) = environment.compile(&format!("a {operator} b != 0 || true")).unwrap();
        for a in &numbers {
            for b in &numbers {
                assert_eq!(rule.evaluate(&json!({"a": a, "b": b})), Ok(true));
            }
        }
    }
}

const TOKENS: [&str; 72] = [
    "1u",
    "b'a'",
    ".matches(",
    ".map(x,x>0,",
    "-9223372036854775808",
    "metadata.labels",
    "max(",
    "uint(",
    "dyn(",
    ".contains(",
    "spec",
    "metadata",
    "x",
    "engine",
    "type",
    "args",
    "env",
    "gpu",
    ".",
    ".",
    ".",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    "?",
    ":",
    "&&",
    "||",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    " in ",
    "1",
    "0",
    "2.5",
    "'a'",
    "\"b\"",
    "''",
    "true",
    "false",
    "null",
    "has(",
    "size(",
    ".all(x,",
    ".exists(x,",
    ".map(x,",
    ".filter(x,",
    ".exists_one(x,",
    "int(",
    "string(",
    ".startsWith(",
    "spec.engine.type",
    "spec.overrides",
    "spec.ports",
    "spec.env",
    "//",
    "\n",
    "ö",
    "\0",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn token_soup_does_not_panic(tokens in prop::collection::vec(prop::sample::select(&TOKENS[..]), 0..60)) {
        let expression = tokens.concat();
        match environment().compile(&expression) {
            Ok((rule, _)) => {
                if let Err(error) = rule.evaluate(&input()) {
                    prop_assert!(expression.get(error.offset.clone()).is_some());
                    prop_assert!(!error.message.contains('\n'));
                }
            }
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                for error in errors {
                    prop_assert!(expression.get(error.offset.clone()).is_some(), "{expression:?} {error:?}");
                    prop_assert!(!error.message.contains(['\n', '\0']), "{error:?}");
                }
            }
        }
    }

    #[test]
    fn any_text_does_not_panic(expression in "\\PC{0,80}|[ -~\\n]{0,80}") {
        if let Err(errors) = environment().compile(&expression) {
            for error in errors {
                prop_assert!(expression.get(error.offset.clone()).is_some(), "{expression:?} {error:?}");
            }
        }
    }
}
