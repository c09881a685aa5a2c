//! Syntax checks of texts in a package's metadata.

/// Returns whether a text can name a package: letters, digits, `-`, `_` and `.`, the first and last one a letter or digit,
/// as for a distribution of Python.
pub(super) fn is_package_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let ends = [text.bytes().next(), text.bytes().last()];
    text.bytes().all(is_inner) && ends.iter().all(|end| end.is_some_and(|byte| byte.is_ascii_alphanumeric()))
}

/// Returns whether a text is a dotted path of Python identifiers. Keywords are allowed: an import statement cannot name
/// one, but llama-stack imports modules by a string.
pub(super) fn is_module(text: &str) -> bool {
    text.split('.').all(|part| {
        let mut letters = part.chars();
        letters.next().is_some_and(|c| c == '_' || c.is_alphabetic())
            && letters.all(|c| c == '_' || c.is_alphanumeric())
    })
}

/// Returns whether a text is `remote::` or `inline::` followed by a name of lower-case letters, digits and `-`.
pub(super) fn is_provider_type(text: &str) -> bool {
    let name = text.strip_prefix("remote::").or_else(|| text.strip_prefix("inline::"));
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.is_some_and(|name| !name.is_empty() && name.bytes().all(is_allowed))
}

/// Returns whether a text is a version of Semantic Versioning 2.0.0: `1.2.3`, `1.0.0-rc.1+build.5`.
pub(super) fn is_semantic_version(text: &str) -> bool {
    let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
    let (numbers, pre_release) = text.split_once('-').map_or((text, None), |(text, pre)| (text, Some(pre)));
    let is_number = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'))
    };
    let is_word =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let is_identifier =
        |part: &str| is_word(part) && (!part.bytes().all(|byte| byte.is_ascii_digit()) || is_number(part));
    numbers.split('.').count() == 3
        && numbers.split('.').all(is_number)
        && pre_release.is_none_or(|pre_release| pre_release.split('.').all(is_identifier))
        && build.is_none_or(|build| build.split('.').all(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_dotted_identifiers_as_modules() {
        for text in ["a", "my_org.custom_vllm", "_a.b2", "ö.x"] {
            assert!(is_module(text), "{text}");
        }
        for text in ["", ".", "a.", ".a", "a..b", "2a", "a-b", "a b", "a;b"] {
            assert!(!is_module(text), "{text}");
        }
    }

    #[test]
    fn accepts_names_of_packages() {
        for text in ["a", "acme-vllm", "Acme_Guard.v2", "7b"] {
            assert!(is_package_name(text), "{text}");
        }
        for text in ["", "../../x", "-r", "a/b", "a-", ".a", "a b", "ä"] {
            assert!(!is_package_name(text), "{text}");
        }
    }

    #[test]
    fn requires_a_prefix_in_provider_types() {
        for text in ["remote::custom-vllm", "inline::a", "remote::2"] {
            assert!(is_provider_type(text), "{text}");
        }
        for text in ["", "remote::", "local::a", "remote:a", "remote::A", "xremote::a", "remote::a b", "remote::a::b"] {
            assert!(!is_provider_type(text), "{text}");
        }
    }

    #[test]
    fn accepts_only_semantic_versions() {
        for text in ["0.0.0", "1.20.3", "1.0.0-rc.1", "1.0.0+build.01", "1.0.0-0a.b-c+x"] {
            assert!(is_semantic_version(text), "{text}");
        }
        for text in
            ["", "1", "1.0", "v1.0.0", "01.0.0", "1.0.0.0", "1.0.0-", "1.0.0-01", "1.0.0+", "1.0.0-a..b", "1.0.x"]
        {
            assert!(!is_semantic_version(text), "{text}");
        }
    }
}
