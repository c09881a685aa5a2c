//! Names whose values are secrets.

use super::random::{is_stand_in, looks_random};
use super::token::is_token;

/// Names whose values are secrets whatever they look like, in lower case without punctuation: variables of Hugging
/// Face, of the engines' servers and of common services, and flags of engines.
const SECRET_NAMES: &[&str] = &[
    "adminapikey",
    "apikey",
    "apikeys",
    "awssecretaccesskey",
    "awssessiontoken",
    "hftoken",
    "huggingfacehubtoken",
    "llamaapikey",
    "ngcapikey",
    "openaiapikey",
    "vllmapikey",
    "wandbapikey",
];

/// How the name of a field decides whether its value is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameStrength {
    /// Any literal value is one.
    Certain,
    /// A value that looks random is one. Others name a Secret or a key in it.
    Possible,
}

/// Maximum length of a name in front of a value.
pub(super) const MAX_NAME_BYTES: usize = 80;

/// Whether a name of a variable or flag says that any value of it is a secret.
///
/// ```
/// use kubefoundry_yaml::secret::is_secret_name;
/// assert!(is_secret_name("hf-token") && is_secret_name("OPENAI_API_KEY") && is_secret_name("DB_PASSWORD"));
/// assert!(!is_secret_name("MAX_TOKENS") && !is_secret_name("SECRET_NAME"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    name_strength(name) == Some(NameStrength::Certain)
}

/// Whether the name of a value says that the value is a secret.
pub(super) fn is_named_secret(name: &str, value: &str) -> bool {
    name_strength(name).is_some_and(|strength| is_secret_value(strength, value))
}

/// Whether a name ends as one of [`name_strength`] does. Almost all names do not.
pub(super) fn has_ending_of_secrets(name: &[u8]) -> bool {
    let Some([one, two, three]) = name.last_chunk::<3>() else { return false };
    let ending = [one.to_ascii_lowercase(), two.to_ascii_lowercase(), three.to_ascii_lowercase()];
    matches!(&ending, b"key" | b"eys" | b"ken" | b"ret" | b"ord" | b"swd" | b"ase" | b"ial" | b"als")
}

pub(super) fn name_strength(name: &str) -> Option<NameStrength> {
    if !has_ending_of_secrets(name.as_bytes()) || name.len() > MAX_NAME_BYTES {
        return None;
    }
    let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
    let name: String = letters.map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    let ends_with = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if SECRET_NAMES.contains(&name.as_str()) || ends_with(&["password", "passwd", "passphrase"]) {
        Some(NameStrength::Certain)
    } else if ends_with(&["token", "secret", "key", "apikeys", "credential", "credentials"]) {
        Some(NameStrength::Possible)
    } else {
        None
    }
}

pub(super) fn is_secret_value(strength: NameStrength, value: &str) -> bool {
    // Its form tells more than its name.
    if is_token(value) {
        return false;
    }
    // What is not a literal: a reference, a template, a collection, a block, an alias, a type in a schema.
    let is_literal = value.len() >= 4
        && !value.starts_with(['$', '<', '{', '[', '|', '>', '&', '*', '!', '%', '?', '('])
        && !matches!(value, "null" | "true" | "false" | "string" | "none" | "None");
    match strength {
        NameStrength::Certain => is_literal && !is_stand_in(value),
        NameStrength::Possible => is_literal && looks_random(value),
    }
}
