//! Comparison of JSON numbers by value: `1` equals `1.0`.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Above this, every float is a whole number and larger than every 64-bit integer.
const ALL_WHOLE_ABOVE: f64 = 1e30;

/// Compares two numbers without rounding an integer to a float.
pub(super) fn compare(one: &Number, other: &Number) -> Ordering {
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        (Some(one), None) => compare_with_float(one, float(other)),
        (None, Some(other)) => compare_with_float(other, float(one)).reverse(),
        (None, None) => float(one).partial_cmp(&float(other)).unwrap_or(Ordering::Equal),
    }
}

/// Returns whether a number has no fraction.
pub(super) fn is_whole(number: &Number) -> bool {
    integer(number).is_some() || float(number).fract() == 0.0
}

/// Returns whether a number is a multiple of `factor`. For floats, a rounding error is tolerated as in
/// `k8s.io/kube-openapi/pkg/validation/validate`, `MultipleOf`.
pub(super) fn is_multiple(number: &Number, factor: &Number) -> bool {
    const TOLERANCE: f64 = 1e-9;
    // 2^53. Every larger float is a whole number, so that its distance to the nearest one says nothing.
    const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
    if let (Some(number), Some(factor)) = (integer(number), integer(factor)) {
        return factor == 0 || number % factor == 0;
    }
    let (number, factor) = (float(number), float(factor));
    let quotient = number / factor;
    let nearest = quotient.round();
    let is_close = || nearest != 0.0 && ((quotient - nearest) / nearest).abs() < TOLERANCE;
    number % factor == 0.0 || nearest.abs() < MAX_EXACT_INTEGER && is_close()
}

/// Returns whether a value equals an option of an `enum`. Numbers are compared by value: `1.0` equals `1`. Inside lists
/// and mappings, the API server compares Go types: there `1.0` does not equal `1`, and an option that is a whole number
/// is an integer (`k8s.io/kube-openapi/pkg/validation/validate`, `Enum`; `tests/conformance/check_apiserver.py`
/// compares with an API server).
///
/// Because of Go's conversions, the API server also accepts `1.5` for `1`, and `97` for `"a"`. These are refused here.
pub(super) fn is_enum_option(option: &Value, value: &Value) -> bool {
    match (option, value) {
        (Value::Number(option), Value::Number(number)) => compare(option, number).is_eq(),
        _ => is_identical(option, value),
    }
}

/// Compares values as the API server does inside lists and mappings.
fn is_identical(option: &Value, value: &Value) -> bool {
    match (option, value) {
        (Value::Number(option), Value::Number(number)) => {
            is_whole(option) != number.is_f64() && compare(option, number).is_eq()
        }
        (Value::Array(option), Value::Array(items)) => {
            option.len() == items.len() && option.iter().zip(items).all(|(option, item)| is_identical(option, item))
        }
        (Value::Object(option), Value::Object(fields)) => {
            let is_same =
                |(name, option): (&String, &Value)| fields.get(name).is_some_and(|it| is_identical(option, it));
            option.len() == fields.len() && option.iter().all(is_same)
        }
        _ => option == value,
    }
}

/// Returns an integer as an `i128`, which holds every `i64` and every `u64`.
fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

/// Compares exactly: the integer with the whole part of the float, and then with its fraction.
fn compare_with_float(integer: i128, float: f64) -> Ordering {
    if float.abs() > ALL_WHOLE_ABOVE {
        return if float > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    #[allow(clippy::cast_possible_truncation, reason = "the fraction is compared afterwards; the rest fits")]
    let whole_part = float as i128;
    let by_fraction = || 0.0_f64.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal);
    integer.cmp(&whole_part).then_with(by_fraction)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn number(value: &Value) -> &Number {
        value.as_number().unwrap()
    }

    #[test]
    fn numbers_compare_by_value() {
        let ascending = [
            json!(f64::MIN),
            json!(i64::MIN),
            json!(-1.5),
            json!(-1),
            json!(-0.5),
            json!(0),
            json!(1e-300),
            json!(1),
            json!(1.5),
            json!(9_007_199_254_740_992.0),
            json!(9_007_199_254_740_993_i64),
            json!(i64::MAX),
            json!(u64::MAX),
            json!(1e300),
        ];
        for (at, one) in ascending.iter().enumerate() {
            for (other, two) in ascending.iter().enumerate() {
                assert_eq!(compare(number(one), number(two)), at.cmp(&other), "{one} {two}");
            }
        }
    }

    /// As accepted and refused by kube-apiserver 1.36.3; see `tests/conformance/check_apiserver.py`.
    #[test]
    fn compares_enum_options_as_the_api_server_does() {
        for (option, value) in [
            (json!(1), json!(1.0)),
            (json!(1.0), json!(1)),
            (json!(1.5), json!(1.5)),
            (json!([1]), json!([1])),
            (json!([1.0]), json!([1])),
            (json!({"a": 1.0, "b": [1.5]}), json!({"b": [1.5], "a": 1})),
        ] {
            assert!(is_enum_option(&option, &value), "{option} {value}");
        }
        for (option, value) in [
            (json!(1.5), json!(1)),
            (json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0)),
            (json!([1]), json!([1.0])),
            (json!([1.0]), json!([1.0])),
            (json!({"a": 1}), json!({"a": 1.0})),
            (json!([1]), json!([1, 1])),
            (json!({"a": 1}), json!({"b": 1})),
            (json!("1"), json!(1)),
        ] {
            assert!(!is_enum_option(&option, &value), "{option} {value}");
        }
    }

    #[test]
    fn whole_numbers_may_be_written_as_floats() {
        assert!([json!(1), json!(1.0), json!(1e300), json!(-3)].iter().all(|value| is_whole(number(value))));
        assert!(![json!(1.5), json!(1e-3)].iter().any(|value| is_whole(number(value))));
    }

    #[test]
    fn recognizes_multiples() {
        for (value, factor) in
            [(json!(4), json!(2)), (json!(0.3), json!(0.1)), (json!(0), json!(7)), (json!(6.0), json!(3))]
        {
            assert!(is_multiple(number(&value), number(&factor)), "{value} {factor}");
        }
        for (value, factor) in [
            (json!(5), json!(2)),
            (json!(0.35), json!(0.1)),
            (json!(1), json!(1.5)),
            (json!(0.1), json!(7)),
            (json!(1e300), json!(7)),
        ] {
            assert!(!is_multiple(number(&value), number(&factor)), "{value} {factor}");
        }
    }
}
