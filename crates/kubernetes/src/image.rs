//! Container image references: `registry.example.com:5000/team/vllm:v1@sha256:…`. An error completes the sentence
//! "…, expected …".
//!
//! Source: the grammar in `reference.go` of `github.com/distribution/reference`. The kubelet calls its
//! `ParseNormalizedNamed`, which decides whether the first component names a registry.

use crate::syntax_result::SyntaxResult;

/// Reasons of a waiting container that mean that its image cannot be pulled.
pub const PULL_FAILURES: [&str; 4] = ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"];

const SHAPE: &str = "an image reference: [registry[:port]/]path[:tag][@digest]";

/// Checks an image reference.
///
/// ```
/// use kubefoundry_kubernetes::image::image_reference;
/// let digest = format!("vllm/vllm-openai@sha256:{}", "0".repeat(64));
/// for image in ["vllm/vllm-openai:v0.26.0", "localhost:5000/a/b", "[2001:db8::1]:5000/a:1", "ubuntu", &digest] {
///     assert!(image_reference(image).is_ok(), "{image}");
/// }
/// for image in ["", "vllm/VLLM", "a b", "a/b:", "a/b:-x", "a//b", "https://x/y", "a@sha256:12", "-a/b"] {
///     assert!(image_reference(image).is_err(), "{image}");
/// }
/// ```
pub fn image_reference(text: &str) -> SyntaxResult {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    // A colon marks a tag only in the last component. Before that it separates the registry's host and port.
    let last = rest.rfind('/').map_or(0, |slash| slash + 1);
    let colon = rest.get(last..).and_then(|component| component.find(':')).map(|colon| last + colon);
    let (name, tag) = match colon.and_then(|colon| rest.split_at_checked(colon)) {
        Some((name, tag)) => (name, tag.strip_prefix(':')),
        None => (rest, None),
    };
    if name.is_empty() {
        return Err(SHAPE);
    }
    check_name(name)?;
    tag.map_or(Ok(()), check_tag)?;
    digest.map_or(Ok(()), check_digest)?;
    // A reference of 64 hexadecimal digits fits the grammar, but container runtimes read it as an image ID.
    let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if text.len() == 64 && is_hex(text) { Err("an image reference, not an image ID") } else { Ok(()) }
}

fn check_name(name: &str) -> SyntaxResult {
    let path = match name.split_once('/') {
        Some((first, rest)) if is_registry(first) => {
            check_registry(first)?;
            rest
        }
        _ => name,
    };
    if path.len() > 255 {
        return Err("an image reference whose path has at most 255 characters");
    }
    if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err("an image reference whose path is in lower case");
    }
    if path.split('/').all(is_component) { Ok(()) } else { Err(SHAPE) }
}

/// Returns whether the first component names a registry rather than a part of the path.
fn is_registry(component: &str) -> bool {
    component.contains(['.', ':'])
        || component == "localhost"
        || component.bytes().any(|byte| byte.is_ascii_uppercase())
}

fn check_registry(registry: &str) -> SyntaxResult {
    let bracketed = registry.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (is_host, port) = if let Some((address, rest)) = bracketed {
        let is_hex = address.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':');
        (is_hex && !address.is_empty(), (!rest.is_empty()).then(|| rest.strip_prefix(':').unwrap_or("")))
    } else {
        let (host, port) = registry.split_once(':').map_or((registry, None), |(host, port)| (host, Some(port)));
        (host.split('.').all(is_host_part), port)
    };
    let is_port = port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    if is_host && is_port {
        Ok(())
    } else {
        Err("an image reference whose registry is a host name with an optional :port")
    }
}

fn is_host_part(part: &str) -> bool {
    let has_valid_bytes = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    !part.is_empty() && has_valid_bytes && !part.starts_with('-') && !part.ends_with('-')
}

/// Returns whether a path component consists of lower-case letters and digits, joined by `.`, `_`, `__` or any number
/// of `-`.
fn is_component(component: &str) -> bool {
    let alphanumeric = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
    component.starts_with(alphanumeric)
        && component.ends_with(alphanumeric)
        && component
            .split(alphanumeric)
            .all(|separator| matches!(separator, "" | "." | "_" | "__") || separator.bytes().all(|byte| byte == b'-'))
}

fn check_tag(tag: &str) -> SyntaxResult {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let fits = tag.len() <= 128
        && tag.bytes().next().is_some_and(is_word)
        && tag.bytes().all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'));
    if fits { Ok(()) } else { Err("an image tag of at most 128 letters, digits, '_', '.' and '-'") }
}

fn check_digest(digest: &str) -> SyntaxResult {
    let (length, hex) = match digest.split_once(':') {
        Some(("sha256", hex)) => (64, hex),
        Some(("sha384", hex)) => (96, hex),
        Some(("sha512", hex)) => (128, hex),
        _ => (0, ""),
    };
    let fits = length > 0 && hex.len() == length && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if fits { Ok(()) } else { Err("an image digest such as sha256: and 64 lower-case hexadecimal digits") }
}

/// Replaces the longest matching prefix of an image by that of its mirror. `mirrors` has pairs of prefix and
/// replacement. A prefix matches whole path components only.
pub fn apply_mirrors(mirrors: &[(String, String)], image: &str) -> String {
    let matching = mirrors.iter().filter_map(|(prefix, replacement)| {
        let rest = image.strip_prefix(prefix.as_str())?;
        let is_at_boundary = rest.is_empty() || rest.starts_with(['/', ':', '@']) || prefix.ends_with('/');
        is_at_boundary.then_some((prefix.len(), replacement, rest))
    });
    matching
        .max_by_key(|(length, ..)| *length)
        .map_or_else(|| image.to_owned(), |(_, replacement, rest)| format!("{replacement}{rest}"))
}

/// Splits an image into its path and its tag, such as `registry.example.com:5000/team/vllm` and `v1`. A digest belongs
/// to neither.
pub fn path_and_tag(image: &str) -> (&str, Option<&str>) {
    let reference = image.split('@').next().unwrap_or(image);
    match reference.rsplit_once(':') {
        Some((path, tag)) if !tag.contains('/') => (path, Some(tag)),
        _ => (reference, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn does_not_take_ports_or_digests_for_tags() {
        for (image, expected) in [
            ("vllm", ("vllm", None)),
            ("a/vllm:1.4.0", ("a/vllm", Some("1.4.0"))),
            ("localhost:5000/vllm", ("localhost:5000/vllm", None)),
            ("localhost:5000/vllm:v1@sha256:0123", ("localhost:5000/vllm", Some("v1"))),
            ("vllm@sha256:0123", ("vllm", None)),
        ] {
            assert_eq!(path_and_tag(image), expected, "{image}");
        }
    }
}
