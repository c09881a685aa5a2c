//! The resolved settings of an engine, and the forms in which they are written: argv and keyword arguments.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::launcher::SeparateValues;
use kubefoundry_yaml::field_path::FieldPath;

/// A flag with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// The flag's canonical long name, kebab-case, without dashes: `max-model-len`.
    pub name: String,
    /// The value in the form that the launcher takes.
    pub value: ArgumentValue,
    /// The field of the deployment that set the flag. The root for a flag that the provider adds.
    pub path: FieldPath,
}

/// The value of a flag.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgumentValue {
    /// A switch that is on: `--name`.
    On,
    /// A switch that is off, with its off form: `no-enable-prefix-caching`.
    Off(String),
    /// Text, as the user wrote it.
    Text(String),
    /// Several values of one flag (`--flag a b`). Only numbers may start with a dash; any other such value would be
    /// read as a flag.
    List(Vec<String>),
    /// A number that was derived or checked. Keyword arguments contain it as a number.
    Number(serde_json::Number),
    /// A JSON value. It is serialized again instead of keeping the user's spelling.
    Json(Value),
}

impl ArgumentValue {
    /// Returns the value as a count, if it is one.
    pub fn as_u32(&self) -> Option<u32> {
        match self {
            Self::Number(number) => number.as_u64().and_then(|value| u32::try_from(value).ok()),
            Self::Text(text) => text.parse().ok(),
            Self::On | Self::Off(_) | Self::List(_) | Self::Json(_) => None,
        }
    }
}

/// The parallel sizes of one worker; 1 where the model is not split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parallelism {
    /// The tensor parallel size.
    pub tensor: u32,
    /// The pipeline parallel size.
    pub pipeline: u32,
    /// The data parallel size.
    pub data: u32,
}

/// All settings of an engine.
#[derive(Debug, Clone, PartialEq)]
pub struct Invocation {
    /// Flags: typed fields first in a fixed order, then `engine.args` by name, then `engine.extraArgs` in input order.
    pub arguments: Vec<Argument>,
    /// Configuration keys that are not flags (TensorRT-LLM), nested as the engine nests them.
    pub engine_config: Map<String, Value>,
    /// The field that set each configuration key.
    pub(super) config_paths: Vec<(Vec<String>, FieldPath)>,
    /// How the model is split over the GPUs.
    pub parallelism: Parallelism,
    /// The flags whose values are separate elements of argv.
    pub separate_values: SeparateValues,
}

impl Invocation {
    pub(super) fn new(separate_values: SeparateValues) -> Self {
        Self {
            arguments: Vec::new(),
            engine_config: Map::new(),
            config_paths: Vec::new(),
            parallelism: Parallelism { tensor: 1, pipeline: 1, data: 1 },
            separate_values,
        }
    }

    /// Returns the argument of a flag by its canonical name.
    pub fn get(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }

    /// Returns whether a flag is set, on or off.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets a nested configuration key. A scalar in the place of a parent is replaced by a map.
    pub(super) fn set_key(&mut self, keys: &[&str], value: Value, path: FieldPath) {
        insert_nested(&mut self.engine_config, keys, value);
        self.config_paths.push((keys.iter().map(|key| (*key).to_owned()).collect(), path));
    }

    /// Returns the field that set a configuration key, one of its children or one of its parents.
    pub fn key_path(&self, keys: &[&str]) -> Option<&FieldPath> {
        let overlaps = |set: &[String]| set.iter().zip(keys).all(|(set, key)| set == key);
        self.config_paths.iter().find(|(set, _)| overlaps(set)).map(|(_, path)| path)
    }

    /// Adds a flag that the provider's stack needs, unless it is already set.
    pub fn set_default(&mut self, name: &str, value: ArgumentValue) {
        if !self.has(name) {
            self.arguments.push(Argument { name: name.to_owned(), value, path: FieldPath::root() });
        }
    }

    /// Returns the flags as elements of a container's `args`. A flag with a value is one element (`--flag=value`)
    /// unless the launcher takes two, and `$(` is escaped so that the kubelet expands nothing.
    pub fn argv(&self) -> Vec<String> {
        let mut argv = Vec::with_capacity(self.arguments.len());
        for Argument { name, value, .. } in &self.arguments {
            let text = match value {
                ArgumentValue::On => {
                    argv.push(["--", name].concat());
                    continue;
                }
                ArgumentValue::Off(off) => {
                    argv.push(["--", off].concat());
                    continue;
                }
                ArgumentValue::List(texts) => {
                    argv.push(["--", name].concat());
                    argv.extend(texts.iter().map(|text| escape_expansion(text).into_owned()));
                    continue;
                }
                ArgumentValue::Text(text) => escape_expansion(text),
                ArgumentValue::Number(number) => Cow::Owned(number.to_string()),
                ArgumentValue::Json(json) => Cow::Owned(escape_expansion(&shell_safe_json(json)).into_owned()),
            };
            let is_separate = match self.separate_values {
                SeparateValues::All => true,
                SeparateValues::Flags(flags) => flags.contains(&name.as_str()),
            };
            if is_separate {
                argv.extend([["--", name].concat(), text.into_owned()]);
            } else {
                argv.push(["--", name, "=", &text].concat());
            }
        }
        argv
    }

    /// Returns the flags as Python keyword arguments: snake_case names and typed values (`true`, not `"true"`).
    pub fn keyword_arguments(&self) -> Map<String, Value> {
        let typed_value = |value: &ArgumentValue| match value {
            ArgumentValue::On => Value::Bool(true),
            ArgumentValue::Off(_) => Value::Bool(false),
            ArgumentValue::Text(text) => Value::String(text.clone()),
            ArgumentValue::List(texts) => Value::from(texts.clone()),
            ArgumentValue::Number(number) => Value::Number(number.clone()),
            ArgumentValue::Json(json) => json.clone(),
        };
        self.arguments.iter().map(|argument| (argument.name.replace('-', "_"), typed_value(&argument.value))).collect()
    }
}

/// Inserts a value under nested keys. Missing maps are created, and a parent that is not a map is replaced by one.
fn insert_nested(config: &mut Map<String, Value>, keys: &[&str], value: Value) {
    let Some((first, rest)) = keys.split_first() else { return };
    if rest.is_empty() {
        config.insert((*first).to_owned(), value);
        return;
    }
    let child = config.entry((*first).to_owned()).or_insert_with(|| Value::Object(Map::new()));
    if !child.is_object() {
        *child = Value::Object(Map::new());
    }
    if let Value::Object(inner) = child {
        insert_nested(inner, rest, value);
    }
}

/// Serializes JSON without the characters that are special between a shell's quotes. They occur only inside JSON
/// strings, where an escape stands for each, so every parser reads the same value.
fn shell_safe_json(json: &Value) -> String {
    json.to_string().replace('\'', "\\u0027").replace('`', "\\u0060").replace('$', "\\u0024").replace('!', "\\u0021")
}

/// Escapes text so that the kubelet does not expand it. The kubelet replaces `$(NAME)` in a container's args by the
/// value of the environment variable, so a model name could leak a secret. `$$(` is the escape.
///
/// ```
/// use kubefoundry_engines::escape_expansion;
/// assert_eq!(escape_expansion("a$(HF_TOKEN)b"), "a$$(HF_TOKEN)b");
/// assert_eq!(escape_expansion("costs $5"), "costs $5");
/// ```
pub fn escape_expansion(text: &str) -> Cow<'_, str> {
    if !text.contains('$') {
        return Cow::Borrowed(text);
    }
    // The kubelet reads `$$` as one `$`. To keep the user's text `$$(X)`, every `$` of a run is doubled, not only the
    // last one before `(`.
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('$') {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let run = from.len() - from.trim_start_matches('$').len();
        let (dollars, after) = from.split_at(run);
        out.push_str(dollars);
        if after.starts_with('(') || run > 1 {
            out.push_str(dollars);
        }
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}
