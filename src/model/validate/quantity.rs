//! Kubernetes resource quantities: `32Gi`, `500m`, `1.5`, `2e3`. An error completes the sentence "…, expected …".
//!
//! Rules: `ParseQuantity` in `k8s.io/apimachinery/pkg/api/resource/quantity.go`, and the schema pattern that CRDs give
//! to quantities. The first also takes a number without digits, the second a fraction as an exponent; a quantity passes
//! both.

use super::Checked;

const SUFFIXES: &[&str] = &["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "n", "u", "m", "k", "M", "G", "T", "P", "E"];

/// A quantity: a sign, a decimal number, a suffix.
///
/// ```
/// use kubefoundry::model::validate::quantity::quantity;
/// for text in ["0", "32Gi", "500m", "+1.5", ".5Mi", "5.", "2e3", "2E-3", "1E", "-1k"] {
///     assert!(quantity(text).is_ok(), "{text}");
/// }
/// for text in ["", "Gi", "64GB", "64 Gi", "1gi", "1.2.3", "--1", "1e", "1e2.5", "1e19", "0x10", "1Ki5"] {
///     assert!(quantity(text).is_err(), "{text}");
/// }
/// ```
pub fn quantity(text: &str) -> Checked {
    if parts(text).is_some() { Ok(()) } else { Err("a quantity such as 32Gi, 500m or 4") }
}

/// A quantity above zero, as memory, CPU and volumes need it.
///
/// ```
/// use kubefoundry::model::validate::quantity::positive_quantity;
/// assert!(positive_quantity("0.5").is_ok());
/// assert!(positive_quantity("0Gi").is_err());
/// assert!(positive_quantity("-1").is_err());
/// assert!(positive_quantity("lots").is_err());
/// ```
pub fn positive_quantity(text: &str) -> Checked {
    quantity(text)?;
    let positive = parts(text)
        .is_some_and(|(negative, number)| !negative && number.bytes().any(|byte| matches!(byte, b'1'..=b'9')));
    if positive { Ok(()) } else { Err("a quantity above zero") }
}

/// Whether one quantity is larger than another; false when one of them is none.
///
/// ```
/// use kubefoundry::model::validate::quantity::exceeds;
/// assert!(exceeds("4097Gi", "4Ti") && exceeds("513", "512") && exceeds("512001m", "512") && exceeds("1e18", "4Ti"));
/// assert!(!exceeds("4Ti", "4096Gi") && !exceeds("512000m", "512") && !exceeds("lots", "1"));
/// ```
pub fn exceeds(text: &str, most: &str) -> bool {
    nano(text).zip(nano(most)).is_some_and(|(text, most)| text > most)
}

/// A quantity above zero in billionths, as large as can be held at the most.
fn nano(text: &str) -> Option<u128> {
    let (negative, number) = parts(text)?;
    if negative {
        return Some(0);
    }
    let suffix = text.split_once(number).map_or("", |(_, suffix)| suffix);
    let (binary, decimal) = match suffix {
        "Ki" => (10, 0),
        "Mi" => (20, 0),
        "Gi" => (30, 0),
        "Ti" => (40, 0),
        "Pi" => (50, 0),
        "Ei" => (60, 0),
        "n" => (0, -9),
        "u" => (0, -6),
        "m" => (0, -3),
        "k" => (0, 3),
        "M" => (0, 6),
        "G" => (0, 9),
        "T" => (0, 12),
        "P" => (0, 15),
        "E" => (0, 18),
        exponent => (0, exponent.get(1..).and_then(|exponent| exponent.parse().ok()).unwrap_or(0)),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: String = [whole, fraction].concat().trim_start_matches('0').to_owned();
    let digits = if digits.is_empty() { "0" } else { digits.as_str() };
    let exponent: i64 = i64::from(decimal) + 9 - i64::try_from(fraction.len()).ok()?;
    let power = 10_u128.checked_pow(u32::try_from(exponent.unsigned_abs()).ok()?);
    let value =
        digits.parse::<u128>().ok().and_then(|digits| digits.checked_shl(binary).filter(|it| it >> binary == digits));
    let (Some(value), Some(power)) = (value, power) else {
        // More digits than can be held: a huge number, or a fraction of which nothing is left.
        return Some(if exponent < 0 && power.is_none() { 0 } else { u128::MAX });
    };
    Some(if exponent < 0 { value / power } else { value.saturating_mul(power) })
}

/// What was probably meant by text that is no quantity: without spaces, without the `B` of bytes.
pub(super) fn suggestion(text: &str) -> Option<String> {
    let compact: String = text.chars().filter(|character| !character.is_whitespace()).collect();
    let trimmed = compact.trim_end_matches(['b', 'B']);
    (trimmed != text && quantity(trimmed).is_ok()).then(|| trimmed.to_owned())
}

/// Whether there is a minus, and the number without sign and suffix.
fn parts(text: &str) -> Option<(bool, &str)> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let decimal = number.matches('.').count() <= 1 && number.bytes().any(|byte| byte.is_ascii_digit());
    let scaled = SUFFIXES.contains(&suffix) || suffix.strip_prefix(['e', 'E']).is_some_and(is_exponent);
    (decimal && scaled).then_some((text.starts_with('-'), number))
}

/// Quantities hold 64 bits; `ParseQuantity` itself computes for minutes on exponents such as `1e2147483648`.
fn is_exponent(text: &str) -> bool {
    text.parse::<i32>().is_ok_and(|exponent| (-18..=18).contains(&exponent))
}
