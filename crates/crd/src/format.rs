//! Formats of strings (`k8s.io/apiextensions-apiserver/pkg/apiserver/validation/formats.go`). Other formats are not
//! checked. Formats of numbers are bounds ([`numeric_range`]).

use std::net::{Ipv4Addr, Ipv6Addr};

/// Returns whether a text has a format. Every text has an unknown format.
pub(super) fn is_valid(format: &str, text: &str) -> bool {
    match format {
        "byte" => is_base64(text),
        "date" => is_date(text),
        "date-time" => is_date_time(text),
        "duration" => is_duration(text),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "uri" => is_uri(text),
        _ => true,
    }
}

/// Returns the minimum and the maximum of a number format.
pub(super) fn numeric_range(kind: &str, format: &str) -> Option<(serde_json::Number, serde_json::Number)> {
    match (kind, format) {
        ("integer" | "number", "int32") => Some((i32::MIN.into(), i32::MAX.into())),
        ("integer" | "number", "int64") => Some((i64::MIN.into(), i64::MAX.into())),
        ("number", "float") => {
            let float = |limit: f32| serde_json::Number::from_f64(limit.into());
            float(f32::MIN).zip(float(f32::MAX))
        }
        _ => None,
    }
}

/// Returns whether a text is a duration in the syntax of Go's `time.ParseDuration`, such as `1h30m`. ISO 8601 durations,
/// such as `PT1H`, are not.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    let mut parts = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (amount, after_amount) = rest.split_at(end);
        if !amount.bytes().any(|byte| byte.is_ascii_digit()) || amount.matches('.').count() > 1 {
            return false;
        }
        let units = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
        let after_unit = units.into_iter().find_map(|unit| after_amount.strip_prefix(unit));
        let Some(after_unit) = after_unit else { return false };
        rest = after_unit;
        parts += 1;
    }
    parts > 0
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// Parses a number of exactly `count` digits.
fn parse_digits(text: &str, count: usize) -> Option<u32> {
    (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Returns whether a text is an existing day, such as `2006-01-02`.
fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let mut next = |count| parse_digits(parts.next()?, count);
    let (Some(year), Some(month), Some(day)) = (next(4), next(2), next(2)) else { return false };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last_day = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=last_day).contains(&day)
}

/// Returns whether a text is a date and time of RFC 3339. The API server accepts no leap seconds.
fn is_date_time(text: &str) -> bool {
    text.split_once(['T', 't']).is_some_and(|(date, time)| is_date(date) && parse_time(time).is_some())
}

/// Parses a time such as `15:04:05.999+01:00`.
fn parse_time(text: &str) -> Option<()> {
    let hour_and_minute = |text: &str| {
        let (hour, minute) = text.split_once(':')?;
        (parse_digits(hour, 2)? <= 23 && parse_digits(minute, 2)? <= 59).then_some(())
    };
    hour_and_minute(text.get(..5)?)?;
    let seconds = text.get(5..)?.strip_prefix(':')?;
    let rest = (parse_digits(seconds.get(..2)?, 2)? <= 59).then(|| seconds.get(2..))??;
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            (zone.len() < fraction.len()).then_some(zone)?
        }
        None => rest,
    };
    if matches!(zone, "Z" | "z") { Some(()) } else { hour_and_minute(zone.strip_prefix(['+', '-'])?) }
}

fn is_hostname(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

/// Returns whether a text is `user@host`: a local part of RFC 5321 without quotes, and a host name or an address in
/// brackets.
fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let is_atom = |atom: &str| {
        let is_text = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
        !atom.is_empty() && atom.bytes().all(is_text)
    };
    let address = domain.strip_prefix('[').and_then(|domain| domain.strip_suffix(']'));
    let is_host = match address {
        Some(address) => match address.strip_prefix("IPv6:") {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => address.parse::<Ipv4Addr>().is_ok(),
        },
        None => is_hostname(domain),
    };
    local.len() <= 64 && local.split('.').all(is_atom) && is_host
}

/// Returns whether a text is an absolute URI of RFC 3986.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = match path.strip_prefix("//") {
        Some(path) => path.split_at(path.find('/').unwrap_or(path.len())),
        None => ("", path),
    };
    is_scheme
        && is_authority(authority)
        && has_only_uri_characters(path, b":@/")
        && [query, fragment].iter().all(|it| has_only_uri_characters(it, b":@/?"))
}

/// Returns whether a text is an authority such as `user@host:8080`. The host can be an IPv6 address in brackets.
fn is_authority(text: &str) -> bool {
    let (user, host) = text.split_once('@').unwrap_or(("", text));
    let (name, port) = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((address, _)) if address.parse::<Ipv6Addr>().is_err() => return false,
        Some((_, "")) => ("", ""),
        Some((_, port)) => match port.strip_prefix(':') {
            Some(port) => ("", port),
            None => return false,
        },
        None => host.split_once(':').unwrap_or((host, "")),
    };
    has_only_uri_characters(user, b":")
        && has_only_uri_characters(name, b"")
        && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a text consists of unreserved characters, sub-delimiters, percent-encoded bytes and `others`.
fn has_only_uri_characters(text: &str, others: &[u8]) -> bool {
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = match (byte, after) {
            (b'%', [high, low, after @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => after,
            (byte, after)
                if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(byte) || others.contains(byte) =>
            {
                after
            }
            _ => return false,
        };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_the_durations_of_go() {
        assert!(["0", "1h30m", "1.5s", "-10ms", "300us", ".5s"].into_iter().all(is_duration));
        assert!(!["", "1", "PT1H", "1d", "h", "1..5s", "."].into_iter().any(is_duration));
    }

    #[test]
    fn bytes_are_base64() {
        assert!(["", "YQ==", "YWI=", "YWJj"].into_iter().all(is_base64));
        assert!(!["YQ", "Y===", "a b=", "====", "YQ=a"].into_iter().any(is_base64));
    }

    #[test]
    fn refuses_a_leap_second() {
        assert!(is_date_time("2026-06-30T23:59:59Z") && !is_date_time("2026-06-30T23:59:60Z"));
    }
}
