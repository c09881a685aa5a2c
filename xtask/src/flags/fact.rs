//! The facts about one flag in one version, and their line in a file.

use std::fmt;

use serde_json::Value;

/// A flag, as one line: `<name> <type> [attribute …]`.
///
/// The type is `switch`, `pair`, or the type of the value, followed by `?` if the value is optional, `+` if several
/// values may follow, or `&` if the flag may be repeated. Lists are separated by `|`; `use=` is the last attribute and
/// takes the rest of the line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Fact {
    /// The name in kebab-case, without leading dashes; a nested configuration key has dots.
    pub(crate) name: String,
    pub(crate) kind: String,
    /// For a pair: the flag that switches it off.
    pub(crate) off: String,
    /// For a pair: a second flag that switches it off, which does not begin with `no-`.
    pub(crate) inverse: String,
    pub(crate) aliases: Vec<String>,
    /// The closed set of values; empty if it is open or unknown.
    pub(crate) choices: Vec<String>,
    /// The values that this version knows, where plugins may add others; empty if they are unknown.
    pub(crate) known: Vec<String>,
    /// Words that are accepted in addition to values of the type.
    pub(crate) also: Vec<String>,
    /// The interval of a number: `(0,1]`, `[1,]`. Empty if the program sets no bounds.
    pub(crate) range: String,
    /// Whether the flag configures the HTTP server of the engine.
    pub(crate) frontend: bool,
    pub(crate) deprecated: bool,
    /// The replacement of a deprecated flag.
    pub(crate) replaced_by: String,
}

const TYPES: &[&str] = &[
    "switch",
    "pair",
    "bool",
    "int",
    "human-int",
    "si-int",
    "float",
    "str",
    "path",
    "json",
    "json-object",
    "json-or-str",
];

impl Fact {
    /// Parses a line.
    pub(crate) fn parse(line: &str) -> Result<Self, String> {
        let (line, replaced_by) = line.split_once(" use=").unwrap_or((line, ""));
        let mut words = line.split(' ');
        let mut fact = Self { replaced_by: replaced_by.to_owned(), ..Self::default() };
        words.next().unwrap_or_default().clone_into(&mut fact.name);
        fact.set_kind(words.next().unwrap_or_default())?;
        for word in words {
            let list = |value: &str| value.split('|').map(str::to_owned).collect();
            match word.split_once('=') {
                Some(("off", name)) => name.clone_into(&mut fact.off),
                Some(("inverse", name)) => name.clone_into(&mut fact.inverse),
                Some(("aliases", names)) => fact.aliases = list(names),
                Some(("choices", values)) => fact.choices = list(values),
                Some(("known", values)) => fact.known = list(values),
                Some(("also", values)) => fact.also = list(values),
                Some(("range", interval)) => fact.set_range(interval)?,
                None if word == "frontend" => fact.frontend = true,
                None if word == "deprecated" => fact.deprecated = true,
                _ => return Err(format!("unknown attribute {word:?}")),
            }
        }
        fact.validated()
    }

    /// Reads a flag from the JSON output of the extractor.
    pub(crate) fn from_json(value: &Value) -> Result<Self, String> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let flag = |key: &str| value.get(key).and_then(Value::as_bool).unwrap_or_default();
        let list = |key: &str| {
            let items = value.get(key).and_then(Value::as_array).into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let mut fact = Self {
            name: text("name"),
            off: text("off"),
            inverse: text("inverse"),
            aliases: list("aliases"),
            choices: list("choices"),
            known: list("known"),
            frontend: flag("frontend"),
            deprecated: flag("deprecated"),
            ..Self::default()
        };
        fact.set_kind(&format!("{}{}", text("type"), text("repeat")))?;
        fact.validated()
    }

    pub(crate) fn set_kind(&mut self, kind: &str) -> Result<(), String> {
        let word = kind.strip_suffix(['?', '+', '&']).unwrap_or(kind);
        if !TYPES.contains(&word) {
            return Err(format!("unknown type {kind:?}"));
        }
        kind.clone_into(&mut self.kind);
        Ok(())
    }

    /// Sets the interval of a number: `(` or `[`, two numbers of which either may be missing, and `]` or `)`.
    pub(crate) fn set_range(&mut self, interval: &str) -> Result<(), String> {
        let bounds = interval
            .strip_prefix(['(', '['])
            .and_then(|rest| rest.strip_suffix([')', ']']))
            .and_then(|bounds| bounds.split_once(','));
        let is_bound = |bound: &str| bound.is_empty() || bound.parse::<f64>().is_ok_and(f64::is_finite);
        match bounds {
            Some((low, high)) if interval.len() > 3 && is_bound(low) && is_bound(high) => {
                interval.clone_into(&mut self.range);
                Ok(())
            }
            _ => Err(format!("invalid interval {interval:?}")),
        }
    }

    /// Returns every name, the canonical one first.
    pub(crate) fn spellings(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.name).chain(&self.aliases).map(String::as_str)
    }

    /// Returns the fact, or an error if a line cannot express it.
    fn validated(self) -> Result<Self, String> {
        let names = self
            .spellings()
            .chain([self.off.as_str(), self.inverse.as_str()].into_iter().filter(|name| !name.is_empty()));
        let values = self.choices.iter().chain(&self.known).chain(&self.also);
        for word in names.chain(values.map(String::as_str)) {
            if word.is_empty() || word.contains(['|', ' ', '\n']) {
                return Err(format!("{word:?} of `{}` does not fit on a line of the table", self.name));
            }
        }
        if (self.kind == "pair") == self.off.is_empty() {
            return Err(format!("`{}`: a pair needs `off=`, and no other type may have it", self.name));
        }
        Ok(self)
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.kind)?;
        for (key, value) in [
            ("off", self.off.clone()),
            ("inverse", self.inverse.clone()),
            ("aliases", self.aliases.join("|")),
            ("choices", self.choices.join("|")),
            ("known", self.known.join("|")),
            ("also", self.also.join("|")),
            ("range", self.range.clone()),
        ] {
            if !value.is_empty() {
                write!(f, " {key}={value}")?;
            }
        }
        for (word, holds) in [("frontend", self.frontend), ("deprecated", self.deprecated)] {
            if holds {
                write!(f, " {word}")?;
            }
        }
        if self.replaced_by.is_empty() { Ok(()) } else { write!(f, " use={}", self.replaced_by) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_as_it_is_written() {
        for line in [
            "max-model-len human-int also=auto",
            "enable-x pair off=no-enable-x inverse=disable-x aliases=x|ex",
            "dtype str choices=auto|half frontend deprecated use=--kind a --other b",
            "lora-modules str+",
            "quantization str known=awq|fp8",
            "gpu-memory-utilization float also=auto range=(0,1]",
            "middleware str& frontend",
            "hf-token str?",
            "kv-cache-config.dtype str",
        ] {
            assert_eq!(Fact::parse(line).expect(line).to_string(), line);
        }
    }

    #[test]
    fn an_invalid_line_is_refused() {
        for (line, reason) in [
            ("x", "unknown type"),
            ("x integer", "unknown type"),
            ("x int sometimes", "unknown attribute"),
            ("x int color=red", "unknown attribute"),
            ("x pair", "a pair needs `off=`"),
            ("x switch off=no-x", "a pair needs `off=`"),
            ("x str choices=a||b", "does not fit"),
            ("x int range=1..2", "invalid interval"),
            ("x int range=[,]", "invalid interval"),
            ("x int range=[a,]", "invalid interval"),
        ] {
            let error = Fact::parse(line).expect_err(line);
            assert!(error.contains(reason), "{line}: {error}");
        }
    }
}
