//! Kubernetes resource quantities: `32Gi`, `500m`, `1.5`, `2e3`. An error completes the sentence "…, expected …".
//!
//! Source: `ParseQuantity` in `k8s.io/apimachinery/pkg/api/resource/quantity.go`, and the pattern of quantities in the
//! schemas of CRDs. The function also accepts a number without digits, the pattern also accepts a fractional exponent.
//! A text is a quantity here only if both accept it.

use std::cmp::Ordering;

use crate::syntax_result::SyntaxResult;

const SUFFIXES: &[&str] = &["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "n", "u", "m", "k", "M", "G", "T", "P", "E"];

/// Checks a quantity: a sign, a decimal number and a suffix.
///
/// ```
/// use kubefoundry_kubernetes::quantity::quantity;
/// for text in ["0", "32Gi", "500m", "+1.5", ".5Mi", "5.", "2e3", "2E-3", "1E", "-1k"] {
///     assert!(quantity(text).is_ok(), "{text}");
/// }
/// for text in ["", "Gi", "64GB", "64 Gi", "1gi", "1.2.3", "--1", "1e", "1e2.5", "1e19", "0x10", "1Ki5"] {
///     assert!(quantity(text).is_err(), "{text}");
/// }
/// ```
pub fn quantity(text: &str) -> SyntaxResult {
    if parts(text).is_some() { Ok(()) } else { Err("a quantity such as 32Gi, 500m or 4") }
}

/// Checks a quantity that must be above zero, such as memory, CPU or the size of a volume.
///
/// ```
/// use kubefoundry_kubernetes::quantity::positive_quantity;
/// assert!(positive_quantity("0.5").is_ok());
/// assert!(positive_quantity("0Gi").is_err());
/// assert!(positive_quantity("-1").is_err());
/// assert!(positive_quantity("lots").is_err());
/// ```
pub fn positive_quantity(text: &str) -> SyntaxResult {
    quantity(text)?;
    let is_positive = parts(text)
        .is_some_and(|(negative, number)| !negative && number.bytes().any(|byte| matches!(byte, b'1'..=b'9')));
    if is_positive { Ok(()) } else { Err("a quantity above zero") }
}

/// Compares two quantities. Returns `None` if either is not a quantity.
///
/// ```
/// use std::cmp::Ordering;
/// use kubefoundry_kubernetes::quantity::compare;
/// assert_eq!(compare("1Gi", "1G"), Some(Ordering::Greater));
/// assert_eq!(compare("1.5Ki", "1536"), Some(Ordering::Equal));
/// assert_eq!(compare("1e3", "1k"), Some(Ordering::Equal));
/// assert_eq!(compare("-1", "500m"), Some(Ordering::Less));
/// assert_eq!(compare("1", "lots"), None);
/// ```
pub fn compare(left: &str, right: &str) -> Option<Ordering> {
    approximate(left)?.partial_cmp(&approximate(right)?)
}

/// Converts a quantity to a number. The rounding of `f64` is acceptable because the result is only compared with
/// limits.
fn approximate(text: &str) -> Option<f64> {
    let (negative, number) = parts(text)?;
    let (_, suffix) = text.trim_start_matches(['+', '-']).split_at(number.len());
    let factor = match suffix {
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024.0,
        "Mi" => f64::from(1 << 20),
        "Gi" => f64::from(1 << 30),
        "Ti" => 1024.0 * f64::from(1 << 30),
        "Pi" => f64::from(1 << 20) * f64::from(1 << 30),
        "Ei" => f64::from(1 << 30) * f64::from(1 << 30),
        exponent => format!("1e{}", exponent.get(1..)?).parse().ok()?,
    };
    let number: f64 = number.parse().ok()?;
    Some(if negative { -number } else { number } * factor)
}

/// Suggests a quantity for text that is not one, by removing spaces and a trailing `B` for bytes: `64 GB` becomes
/// `64G`.
pub fn suggestion(text: &str) -> Option<String> {
    let compact: String = text.chars().filter(|character| !character.is_whitespace()).collect();
    let trimmed = compact.trim_end_matches(['b', 'B']);
    (trimmed != text && quantity(trimmed).is_ok()).then(|| trimmed.to_owned())
}

/// Splits a quantity into whether it is negative and its number without sign and suffix.
fn parts(text: &str) -> Option<(bool, &str)> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let is_decimal = number.matches('.').count() <= 1 && number.bytes().any(|byte| byte.is_ascii_digit());
    let has_valid_suffix =
        SUFFIXES.contains(&suffix) || suffix.strip_prefix(['e', 'E']).is_some_and(is_supported_exponent);
    (is_decimal && has_valid_suffix).then_some((text.starts_with('-'), number))
}

/// Returns whether a text is an exponent from -18 to 18, beyond which no quantity in billionths fits 64 bits. Go's
/// `ParseQuantity` accepts more, and can take minutes on exponents such as that of `1e2147483648`.
fn is_supported_exponent(text: &str) -> bool {
    text.parse::<i32>().is_ok_and(|exponent| (-18..=18).contains(&exponent))
}

/// Converts a quantity to billionths, the finest unit that Kubernetes has. A finer quantity is rounded up, as the API
/// server does. Returns `None` if the text is not a quantity or the result does not fit.
///
/// The result is exact, so two spellings of one amount compare equal.
///
/// ```
/// use kubefoundry_kubernetes::quantity::billionths;
/// assert_eq!(billionths("1000m"), billionths("1"));
/// assert_eq!(billionths("0.5Gi"), billionths("512Mi"));
/// assert_eq!(billionths("1e3"), billionths("1k"));
/// assert_ne!(billionths("1G"), billionths("1Gi"));
/// assert_eq!(billionths("-1n"), Some(-1));
/// assert_eq!(billionths("lots"), None);
/// ```
pub fn billionths(text: &str) -> Option<i128> {
    let (is_negative, number) = parts(text)?;
    let suffix = text.trim_start_matches(['+', '-']).get(number.len()..)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits: i128 =
        if whole.is_empty() && fraction.is_empty() { 0 } else { format!("{whole}{fraction}").parse().ok()? };
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
        "" => (0, 0),
        "k" => (0, 3),
        "M" => (0, 6),
        "G" => (0, 9),
        "T" => (0, 12),
        "P" => (0, 15),
        "E" => (0, 18),
        exponent => (0, exponent.get(1..)?.parse().ok()?),
    };
    let scaled = digits.checked_mul(1_i128.checked_shl(binary)?)?;
    let power: i32 = 9 + decimal - i32::try_from(fraction.len()).ok()?;
    let ten = 10_i128.checked_pow(power.unsigned_abs())?;
    let amount = if power < 0 { (scaled + ten - 1) / ten } else { scaled.checked_mul(ten)? };
    Some(if is_negative { -amount } else { amount })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_all_spellings_of_an_amount_to_the_same_number() {
        for group in [
            &["1", "1.0", "1000m", "1e0", "+1", "1000000000n", "1.000"][..],
            &["2Gi", "2048Mi", "2147483648", "2097152Ki"],
            &["0", "0Gi", "0.0", "-0", "0e5"],
            &["0.1n", "1n", "0.5n"],
            &[".5", "500m", "5e-1"],
        ] {
            let amounts: Vec<_> = group.iter().map(|text| billionths(text)).collect();
            assert!(amounts.iter().all(|amount| amount.is_some() && *amount == amounts[0]), "{group:?} {amounts:?}");
        }
        assert_eq!(billionths("99999999999999999999999999999999999999999"), None);
    }
}
