//! Flags as they stand in a container's arguments, or in a mapping of settings, read back.

use serde_json::{Map, Value};

use super::given::looks_like_flag;

/// One flag with the values it was given.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedFlag {
    /// Its name without dashes, kebab-case; empty for an element that belongs to no flag.
    pub name: String,
    /// Its values: none for a switch.
    pub values: Vec<String>,
}

impl ImportedFlag {
    /// A flag with one value.
    pub fn with_value(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), values: vec![value.into()] }
    }

    /// The value, when there is exactly one.
    pub fn value(&self) -> Option<&str> {
        if let [value] = self.values.as_slice() { Some(value) } else { None }
    }
}

/// The flags of a command line: `--flag`, `--flag=value`, `--flag value …`; elements of no flag under an empty name.
///
/// ```
/// use kubefoundry_model::engines::{ImportedFlag, flags_from_argv};
/// let argv = ["--model=a/b", "--port", "80", "--eager"].map(str::to_owned);
/// let flags = flags_from_argv(&argv);
/// assert_eq!(flags[1], ImportedFlag::with_value("port", "80"));
/// assert_eq!(flags[2], ImportedFlag { name: "eager".to_owned(), values: vec![] });
/// ```
pub fn flags_from_argv(argv: &[String]) -> Vec<ImportedFlag> {
    let mut flags: Vec<ImportedFlag> = Vec::new();
    // Whether the last flag may still take values.
    let mut is_open = false;
    for element in argv {
        let flag = element.strip_prefix("--").filter(|flag| !flag.is_empty());
        match (flag, flags.last_mut()) {
            (Some(flag), _) => {
                let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
                let values = value.map(unescaped).into_iter().collect();
                flags.push(ImportedFlag { name: name.replace('_', "-"), values });
                is_open = value.is_none();
            }
            (None, Some(last)) if is_open && !looks_like_flag(element) => last.values.push(unescaped(element)),
            _ => {
                flags.push(ImportedFlag { name: String::new(), values: vec![unescaped(element)] });
                is_open = false;
            }
        }
    }
    flags
}

/// The flags of keyword arguments, or of a preset's settings: a switch is `true` or `false`.
pub fn flags_from_keywords(keywords: &Map<String, Value>) -> Vec<ImportedFlag> {
    let is_plain = |item: &Value| item.is_number() || item.as_str().is_some_and(|item| !looks_like_flag(item));
    let of = |(name, value): (&String, &Value)| {
        let values = match value {
            Value::Bool(true) => Vec::new(),
            Value::Bool(false) => vec!["false".to_owned()],
            Value::String(text) => vec![text.clone()],
            Value::Number(number) => vec![number.to_string()],
            // One value would come back as no list, and what looks like a flag as one.
            Value::Array(items) if items.len() > 1 && items.iter().all(is_plain) => {
                items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect()
            }
            json => vec![json.to_string()],
        };
        ImportedFlag { name: name.replace('_', "-"), values }
    };
    keywords.iter().filter(|(_, value)| !value.is_null()).map(of).collect()
}

/// What [`escape_expansion`](super::escape_expansion) made of a text, undone.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('$') {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let run = from.len() - from.trim_start_matches('$').len();
        let (dollars, after) = from.split_at(run);
        let half = if run % 2 == 0 { run / 2 } else { run };
        out.push_str(dollars.get(..half).unwrap_or(dollars));
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::super::escape_expansion;
    use super::*;

    #[test]
    fn what_was_escaped_comes_back() {
        for text in ["", "a$b", "$(HOME)", "$$(HOME)", "a$$b", "$$$(X)", "costs $5", "$"] {
            assert_eq!(unescaped(&escape_expansion(text)), text);
        }
    }

    #[test]
    fn elements_of_no_flag_are_kept() {
        let argv = ["run", "--address=:5000", "stray", "--many", "a", "-1", "-x"].map(str::to_owned);
        let flags = flags_from_argv(&argv);
        let read: Vec<(&str, usize)> = flags.iter().map(|flag| (flag.name.as_str(), flag.values.len())).collect();
        assert_eq!(read, [("", 1), ("address", 1), ("", 1), ("many", 2), ("", 1)]);
    }
}
