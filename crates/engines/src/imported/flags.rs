//! Reads flags from a container's arguments or from a mapping of settings, for imports.

use serde_json::{Map, Value};

use crate::arguments::user_flags::looks_like_flag;

/// A flag with its values, read from an object.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedFlag {
    /// The name in kebab-case without dashes. Empty for an element that belongs to no flag.
    pub name: String,
    /// The values; empty for a switch.
    pub values: Vec<String>,
}

impl ImportedFlag {
    /// Creates a flag with one value.
    pub fn with_value(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), values: vec![value.into()] }
    }

    /// Returns the value if there is exactly one.
    pub fn value(&self) -> Option<&str> {
        if let [value] = self.values.as_slice() { Some(value) } else { None }
    }
}

/// Parses the flags of a command line: `--flag`, `--flag=value`, `--flag value …`. An element that belongs to no flag
/// gets an empty name.
///
/// ```
/// use kubefoundry_engines::{ImportedFlag, flags_from_argv};
/// let argv = ["--model=a/b", "--port", "80", "--eager"].map(str::to_owned);
/// let flags = flags_from_argv(&argv);
/// assert_eq!(flags[1], ImportedFlag::with_value("port", "80"));
/// assert_eq!(flags[2], ImportedFlag { name: "eager".to_owned(), values: vec![] });
/// ```
pub fn flags_from_argv(argv: &[String]) -> Vec<ImportedFlag> {
    let mut flags: Vec<ImportedFlag> = Vec::new();
    // Whether the last flag can take the next element as a value.
    let mut takes_values = false;
    for element in argv {
        let flag = element.strip_prefix("--").filter(|flag| !flag.is_empty());
        match (flag, flags.last_mut()) {
            (Some(flag), _) => {
                let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
                let values = value.map(unescape_expansion).into_iter().collect();
                flags.push(ImportedFlag { name: name.replace('_', "-"), values });
                takes_values = value.is_none();
            }
            (None, Some(last)) if takes_values && !looks_like_flag(element) => {
                last.values.push(unescape_expansion(element));
            }
            _ => {
                flags.push(ImportedFlag { name: String::new(), values: vec![unescape_expansion(element)] });
                takes_values = false;
            }
        }
    }
    flags
}

/// Reads the flags of keyword arguments, or of a preset's settings, in which a switch is `true` or `false`.
pub fn flags_from_keywords(keywords: &Map<String, Value>) -> Vec<ImportedFlag> {
    let is_plain = |item: &Value| item.is_number() || item.as_str().is_some_and(|item| !looks_like_flag(item));
    let read_flag = |(name, value): (&String, &Value)| {
        let values = match value {
            Value::Bool(true) => Vec::new(),
            Value::Bool(false) => vec!["false".to_owned()],
            Value::String(text) => vec![text.clone()],
            Value::Number(number) => vec![number.to_string()],
            // Rendering a list of one value, or a value that looks like a flag, would not give the same list back.
            Value::Array(items) if items.len() > 1 && items.iter().all(is_plain) => {
                items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect()
            }
            json => vec![json.to_string()],
        };
        ImportedFlag { name: name.replace('_', "-"), values }
    };
    keywords.iter().filter(|(_, value)| !value.is_null()).map(read_flag).collect()
}

/// Reverses [`escape_expansion`](crate::escape_expansion).
pub(crate) fn unescape_expansion(text: &str) -> String {
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
    use super::*;
    use crate::escape_expansion;

    #[test]
    fn unescapes_what_was_escaped() {
        for text in ["", "a$b", "$(HOME)", "$$(HOME)", "a$$b", "$$$(X)", "costs $5", "$"] {
            assert_eq!(unescape_expansion(&escape_expansion(text)), text);
        }
    }

    #[test]
    fn keeps_elements_that_belong_to_no_flag() {
        let argv = ["run", "--address=:5000", "stray", "--many", "a", "-1", "-x"].map(str::to_owned);
        let flags = flags_from_argv(&argv);
        let read: Vec<(&str, usize)> = flags.iter().map(|flag| (flag.name.as_str(), flag.values.len())).collect();
        assert_eq!(read, [("", 1), ("address", 1), ("", 1), ("many", 2), ("", 1)]);
    }
}
