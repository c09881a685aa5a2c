//! The resolved settings of an engine, before they are written in the manner of a launcher.

use serde_json::{Map, Value};

use super::launcher::Separate;
use kubefoundry_yaml::field_path::FieldPath;

/// One flag with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// The flag's canonical long name, kebab-case, without dashes: `max-model-len`.
    pub name: String,
    /// Its value.
    pub value: ArgumentValue,
    /// The field of the deployment that it came from.
    pub path: FieldPath,
}

/// What a flag is given.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgumentValue {
    /// Nothing: a switch that is turned on, `--name`.
    On,
    /// A switch that is turned off by another spelling: `no-enable-prefix-caching`.
    Off(String),
    /// Text, as the user wrote it.
    Text(String),
    /// Several values of one flag (`--flag a b`). None but numbers start with a dash: it would be a flag of its own.
    List(Vec<String>),
    /// A number that we made or checked; written bare into keyword arguments.
    Number(serde_json::Number),
    /// A JSON value, written by our own serializer.
    Json(Value),
}

impl ArgumentValue {
    /// The value as a count, when it is one.
    pub fn as_u32(&self) -> Option<u32> {
        match self {
            Self::Number(number) => number.as_u64().and_then(|value| u32::try_from(value).ok()),
            Self::Text(text) => text.parse().ok(),
            Self::On | Self::Off(_) | Self::List(_) | Self::Json(_) => None,
        }
    }
}

/// How a model is split over the GPUs of one worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parallelism {
    /// Tensor parallel size, 1 when not split.
    pub tensor: u32,
    /// Pipeline parallel size.
    pub pipeline: u32,
    /// Data parallel size.
    pub data: u32,
}

/// Everything that sets an engine.
#[derive(Debug, Clone, PartialEq)]
pub struct Invocation {
    /// Flags: typed fields first in a fixed order, then `engine.args` by name, then `engine.extraArgs` in input order.
    pub arguments: Vec<Argument>,
    /// Configuration keys that are not flags (TensorRT-LLM), nested as the engine nests them.
    pub engine_config: Map<String, Value>,
    /// The field that each configuration key came from.
    pub(super) config_paths: Vec<(Vec<String>, FieldPath)>,
    /// How the model is split.
    pub parallelism: Parallelism,
    /// Which valued flags must be two elements (`--tensor-parallel-size`, `4`) where others are one (`--seed=1`).
    pub separate: Separate,
}

impl Invocation {
    /// No settings yet.
    pub(super) fn new(separate: Separate) -> Self {
        Self {
            arguments: Vec::new(),
            engine_config: Map::new(),
            config_paths: Vec::new(),
            parallelism: Parallelism { tensor: 1, pipeline: 1, data: 1 },
            separate,
        }
    }

    /// The argument for a flag, by canonical name.
    pub fn get(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }

    /// Whether a flag is set, on or off.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets a configuration key, nested; a value that is in the way of the nesting is replaced.
    pub(super) fn set_key(&mut self, keys: &[&str], value: Value, path: FieldPath) {
        insert_nested(&mut self.engine_config, keys, value);
        self.config_paths.push((keys.iter().map(|key| (*key).to_owned()).collect(), path));
    }

    /// The field that set a configuration key, something inside it, or something that it would be inside of.
    pub fn key_path(&self, keys: &[&str]) -> Option<&FieldPath> {
        let overlaps = |set: &[String]| set.iter().zip(keys).all(|(set, key)| set == key);
        self.config_paths.iter().find(|(set, _)| overlaps(set)).map(|(_, path)| path)
    }

    /// Adds a flag that the provider's stack needs, unless the user set it.
    pub fn set_default(&mut self, name: &str, value: ArgumentValue) {
        if !self.has(name) {
            self.arguments.push(Argument { name: name.to_owned(), value, path: FieldPath::root() });
        }
    }

    /// The flags as elements of a container's `args`: exec form, one element a valued flag (`--flag=value`) unless its
    /// launcher wants two, and `$(` escaped so that the kubelet expands nothing.
    pub fn argv(&self) -> Vec<String> {
        let mut argv = Vec::new();
        for Argument { name, value, .. } in &self.arguments {
            let text = match value {
                ArgumentValue::On => {
                    argv.push(format!("--{name}"));
                    continue;
                }
                ArgumentValue::Off(off) => {
                    argv.push(format!("--{off}"));
                    continue;
                }
                ArgumentValue::List(texts) => {
                    argv.push(format!("--{name}"));
                    argv.extend(texts.iter().map(|text| escape_expansion(text)));
                    continue;
                }
                ArgumentValue::Text(text) => escape_expansion(text),
                ArgumentValue::Number(number) => number.to_string(),
                ArgumentValue::Json(json) => escape_expansion(&quiet_json(json)),
            };
            let is_separate = match self.separate {
                Separate::All => true,
                Separate::Flags(flags) => flags.contains(&name.as_str()),
            };
            if is_separate {
                argv.extend([format!("--{name}"), text]);
            } else {
                argv.push(format!("--{name}={text}"));
            }
        }
        argv
    }

    /// The flags as keyword arguments: snake_case names, typed values (`true`, not `"true"`).
    pub fn keyword_arguments(&self) -> Map<String, Value> {
        let typed = |value: &ArgumentValue| match value {
            ArgumentValue::On => Value::Bool(true),
            ArgumentValue::Off(_) => Value::Bool(false),
            ArgumentValue::Text(text) => Value::String(text.clone()),
            ArgumentValue::List(texts) => Value::from(texts.clone()),
            ArgumentValue::Number(number) => Value::Number(number.clone()),
            ArgumentValue::Json(json) => json.clone(),
        };
        self.arguments.iter().map(|argument| (argument.name.replace('-', "_"), typed(&argument.value))).collect()
    }
}

/// Puts a value under nested keys, making the maps between; a value that is not a map is replaced.
fn insert_nested(config: &mut Map<String, Value>, keys: &[&str], value: Value) {
    let Some((first, rest)) = keys.split_first() else { return };
    if rest.is_empty() {
        config.insert((*first).to_owned(), value);
        return;
    }
    let slot = config.entry((*first).to_owned()).or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    if let Value::Object(inner) = slot {
        insert_nested(inner, rest, value);
    }
}

/// JSON without the characters that mean something between a shell's quotes. They can stand only inside strings, where
/// JSON has an escape for each; any parser reads the same value back.
fn quiet_json(json: &Value) -> String {
    json.to_string().replace('\'', "\\u0027").replace('`', "\\u0060").replace('$', "\\u0024").replace('!', "\\u0021")
}

/// Text that the kubelet will not expand: `$(NAME)` in a container's args is replaced from its environment before the
/// engine starts, so a model name could leak a secret. `$$(` is the escape.
///
/// ```
/// use kubefoundry_model::engines::escape_expansion;
/// assert_eq!(escape_expansion("a$(HF_TOKEN)b"), "a$$(HF_TOKEN)b");
/// assert_eq!(escape_expansion("costs $5"), "costs $5");
/// ```
pub fn escape_expansion(text: &str) -> String {
    // The kubelet reads `$$` as an escaped `$`: a user's `$$(X)` means the text `$$(X)`, so every `$` of a run of
    // dollars before `(` is doubled.
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
    out
}
