//! Resolution of unquoted and tagged scalars, as in go-yaml v2, on which `sigs.k8s.io/yaml` is built.

use std::borrow::Cow;

/// The type, and for most types the value, that a scalar resolves to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Integer(i128),
    /// May be infinite or NaN: the caller refuses those, except as keys.
    Float(f64),
    /// A string, whose value is the text of the scalar.
    Text,
}

impl Scalar {
    /// Returns the type for messages, with an article.
    fn noun(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Text => "a string",
        }
    }
}

/// The prefix of YAML's core tags, abbreviated `!!`.
pub(crate) const CORE_TAG_PREFIX: &str = "tag:yaml.org,2002:";

/// Resolves a plain scalar, that is, one without quotes and tag.
pub(crate) fn resolve_plain(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Scalar::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => match text.as_bytes().first() {
            Some(b'.') => resolve_after_dot(text),
            Some(b'+' | b'-' | b'0'..=b'9') => resolve_number(text),
            _ => Scalar::Text,
        },
    }
}

/// Resolves a tagged scalar, quoted or not. The error names the value and the type that the tag expects.
///
/// `kind` is the tag without [`CORE_TAG_PREFIX`]. Any other tag resolves to the text itself.
pub(crate) fn resolve_tagged<'t>(kind: &str, text: Cow<'t, str>) -> Result<(Scalar, Cow<'t, str>), String> {
    let resolved = resolve_plain(&text);
    let accepted = match (kind, resolved) {
        ("bool", Scalar::Bool(_))
        | ("int", Scalar::Integer(_))
        | ("float", Scalar::Float(_))
        | ("null", Scalar::Null) => Some(resolved),
        // go-yaml accepts a signed integer under `!!float`, but not one that needs the 64th bit.
        #[expect(clippy::cast_precision_loss, reason = "as Go converts")]
        ("float", Scalar::Integer(value)) if i64::try_from(value).is_ok() => Some(Scalar::Float(value as f64)),
        ("timestamp", Scalar::Text) if looks_like_a_date(&text) => Some(Scalar::Text),
        ("bool" | "int" | "float" | "null" | "timestamp", _) => None,
        ("binary", _) => return decode_base64(&text).map(|decoded| (Scalar::Text, Cow::Owned(decoded))),
        _ => Some(Scalar::Text),
    };
    match accepted {
        Some(value) => Ok((value, text)),
        None => Err(format!("`!!{kind}` on {}; expected a value of that type", resolved.noun())),
    }
}

/// Returns the integer that a finite float equals, if it fits in 64 bits and JSON writes it without an exponent.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
pub(crate) fn to_integer(value: f64) -> Option<i128> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract().abs() > 0.0 || value.abs() >= 1e21 {
        return None;
    }
    let integer = if value.abs() <= EXACT {
        value as i128
    } else {
        // Above 2^53, JSON writers print the shortest digits that parse to the same float.
        value.to_string().parse().ok()?
    };
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&integer).then_some(integer)
}

/// Converts a scalar to the string of a key, or returns why it cannot be a key.
pub(crate) fn scalar_to_key(scalar: Scalar, text: Cow<'_, str>) -> Result<Cow<'_, str>, &'static str> {
    Ok(match scalar {
        Scalar::Text => text,
        Scalar::Null => return Err("null as a key; expected a string"),
        Scalar::Bool(true) => Cow::Borrowed("true"),
        Scalar::Bool(false) => Cow::Borrowed("false"),
        Scalar::Integer(value) if i64::try_from(value).is_ok() => Cow::Owned(value.to_string()),
        Scalar::Integer(_) => return Err("an integer above 9223372036854775807 as a key; expected a string"),
        Scalar::Float(value) => Cow::Owned(float_key(value)),
    })
}

/// Formats a float key as `sigs.k8s.io/yaml` does: single precision, shortest digits, an exponent from 1e+06 on.
fn float_key(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    let single = value as f32;
    if single.is_nan() {
        return ".nan".to_owned();
    }
    if single.is_infinite() {
        return if single > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    // The standard library always writes an exponent.
    let scientific = format!("{single:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if single == 0.0 || (-4..6).contains(&exponent) {
        format!("{single}")
    } else {
        format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
    }
}

/// Resolves a scalar that starts with a sign or a digit.
fn resolve_number(text: &str) -> Scalar {
    let plain: Cow<'_, str> = if text.contains('_') { text.replace('_', "").into() } else { text.into() };
    if let Some(value) = parse_integer(&plain) {
        return Scalar::Integer(value);
    }
    if is_decimal(&plain) {
        // A number too large for a float stays a string.
        if let Some(value) = plain.parse::<f64>().ok().filter(|value| value.is_finite()) {
            return Scalar::Float(value);
        }
    }
    parse_signed_binary(&plain).map_or(Scalar::Text, Scalar::Integer)
}

/// Resolves a scalar that starts with a dot. Unlike in other numbers, an underscore must be between two digits.
fn resolve_after_dot(text: &str) -> Scalar {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let separated = |at: usize| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
    if bytes.iter().enumerate().any(|(at, byte)| *byte == b'_' && !separated(at)) {
        return Scalar::Text;
    }
    let plain = text.replace('_', "");
    match plain.parse::<f64>() {
        // A number too large for a float stays a string.
        Ok(value) if is_decimal(&plain) && value.is_finite() => Scalar::Float(value),
        _ => Scalar::Text,
    }
}

/// Parses an integer by Go's base-0 rules: `0x`, `0o`, `0b` and a leading `0` for octal; 64 bits.
fn parse_integer(text: &str) -> Option<i128> {
    let (signed, negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, true, text.get(1..)?),
        b'+' => (true, false, text.get(1..)?),
        _ => (false, false, text),
    };
    let (base, digits) = match rest.as_bytes() {
        [] => return None,
        [b'0', b'x' | b'X', _, ..] => (16, rest.get(2..)?),
        [b'0', b'o' | b'O', _, ..] => (8, rest.get(2..)?),
        [b'0', b'b' | b'B', _, ..] => (2, rest.get(2..)?),
        [b'0', ..] => (8, rest.get(1..)?),
        _ => (10, rest),
    };
    let magnitude = if digits.is_empty() { 0 } else { parse_magnitude(digits, base)? };
    apply_sign(magnitude, signed, negative)
}

/// Parses `0b` followed by a sign, which go-yaml accepts, too.
fn parse_signed_binary(text: &str) -> Option<i128> {
    if let Some(rest) = text.strip_prefix("0b") {
        return match rest.as_bytes().first()? {
            b'-' => apply_sign(parse_magnitude(rest.get(1..)?, 2)?, true, true),
            b'+' => apply_sign(parse_magnitude(rest.get(1..)?, 2)?, true, false),
            _ => None,
        };
    }
    None
}

fn parse_magnitude(digits: &str, base: u32) -> Option<i128> {
    // The check refuses a second sign, which `from_str_radix` would accept.
    let valid = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base));
    valid.then(|| i128::from_str_radix(digits, base).ok()).flatten()
}

fn apply_sign(magnitude: i128, signed: bool, negative: bool) -> Option<i128> {
    let value = if negative { -magnitude } else { magnitude };
    let max = if signed { i128::from(i64::MAX) } else { i128::from(u64::MAX) };
    (i128::from(i64::MIN)..=max).contains(&value).then_some(value)
}

/// Matches `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_decimal(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_holds = match mantissa.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty()),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    let exponent_holds = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    mantissa_holds && exponent_holds
}

/// Whether a text has the shape of a date with or without a time. The calendar is not checked.
fn looks_like_a_date(text: &str) -> bool {
    let (date, time) = text
        .find(['T', 't', ' '])
        .and_then(|at| text.split_at_checked(at))
        .map_or((text, None), |(date, time)| (date, Some(time)));
    let number =
        |part: &str, most: u32| part.len() <= 2 && part.parse::<u32>().is_ok_and(|value| (1..=most).contains(&value));
    let mut parts = date.split('-');
    let year = parts.next().is_some_and(|year| year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit()));
    let month = parts.next().is_some_and(|month| number(month, 12));
    let day = parts.next().is_some_and(|day| number(day, 31));
    year && month && day && parts.next().is_none() && time.is_none_or(|time| time.contains(':'))
}

/// Decodes standard base64 with padding and skips line breaks. Each byte that is not UTF-8 becomes U+FFFD.
fn decode_base64(text: &str) -> Result<String, String> {
    let not_base64 = || "`!!binary` on text that is not base64; expected standard base64 with padding".to_owned();
    let symbols: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    let mut bytes = Vec::with_capacity(symbols.len() / 4 * 3);
    let mut quads = symbols.chunks(4).peekable();
    while let Some(quad) = quads.next() {
        let padding = quad.iter().rev().take_while(|symbol| **symbol == b'=').count();
        if quad.len() != 4 || padding > 2 || (padding > 0 && quads.peek().is_some()) {
            return Err(not_base64());
        }
        let mut group = 0_u32;
        for symbol in quad.iter().take(4 - padding) {
            let six = match symbol {
                b'A'..=b'Z' => symbol - b'A',
                b'a'..=b'z' => symbol - b'a' + 26,
                b'0'..=b'9' => symbol - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return Err(not_base64()),
            };
            group = group << 6 | u32::from(six);
        }
        group <<= 6 * padding;
        bytes.extend(group.to_be_bytes().into_iter().skip(1).take(3 - padding));
    }
    let mut decoded = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        decoded.push_str(chunk.valid());
        decoded.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Ok(decoded)
}
