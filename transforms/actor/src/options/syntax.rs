//! The syntax of addresses and names in the section.

use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::check::report_token;
use kubefoundry_kubernetes::syntax_result::SyntaxResult;
use kubefoundry_transform::codes;
use kubefoundry_yaml::field_path::FieldPath;

use crate::url::Url;

pub(super) fn expect(path: &FieldPath, value: &str, syntax: fn(&str) -> SyntaxResult, findings: &mut Findings<'_>) {
    let checked = syntax(value);
    if report_token(findings, path, value, checked.is_ok()) {
        return;
    }
    if let Err(expected) = checked {
        let value = kubefoundry_yaml::text::shorten(value);
        findings.report(&codes::INVALID_OPTION, path, format!("{path} is {value:?}, expected {expected}"));
    }
}

/// Checks a part of an address, which must not contain spaces.
pub(super) fn check_no_spaces(text: &str) -> SyntaxResult {
    let fits = !text.contains(|c: char| c.is_whitespace() || c.is_control());
    if fits { Ok(()) } else { Err("one word without spaces") }
}

/// Checks the host of a broker. The port is a field of its own, and the protocol is always AMQP without TLS.
pub(super) fn check_host(text: &str) -> SyntaxResult {
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let fits = match bracketed {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !text.contains([':', '/', '@', '[', ']']) && check_no_spaces(text).is_ok(),
    };
    if fits { Ok(()) } else { Err("a host name, without protocol and port; or an IPv6 address in brackets") }
}

pub(super) fn check_account(text: &str) -> SyntaxResult {
    let fits = text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit());
    if fits { Ok(()) } else { Err("the 12 digits of an AWS account") }
}

/// Checks an endpoint of SQS. KEDA derives the name of the queue from the path, which must not begin with another part.
pub(super) fn check_endpoint(text: &str) -> SyntaxResult {
    let text = text.trim_end_matches('/');
    let authority = text.split_once("://").map_or("", |(_, authority)| authority);
    let fits = Url::parse(text).is_some() && !authority.contains(['/', '?', '#']);
    if fits { Ok(()) } else { Err("an address without a path, such as http://localstack:4566") }
}
