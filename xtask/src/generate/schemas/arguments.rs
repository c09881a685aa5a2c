//! The editor schema of `engine.args` for each engine: all flags of all known versions with the values that they
//! accept. Where versions differ, any value is allowed, and so are unknown flags: only `lint` knows which version runs.

use std::collections::BTreeMap;

use kubefoundry_composition::PROVIDERS;
use kubefoundry_deployment::wire::EngineType;
use kubefoundry_engines::flags::{self, Flag, FlagKind, FlagTable, Repetition, ValueType};
use kubefoundry_engines::profile;
use serde_json::{Value, json};

use super::Object;

/// The name of a flag table, and the display name of the program that it describes.
type Program = (&'static str, &'static str);

/// Returns the programs that accept the flags of an engine: the engine itself, and the wrappers of providers.
fn programs(engine: EngineType) -> Vec<Program> {
    let profile = profile(engine);
    let of_providers = PROVIDERS.iter().map(|provider| {
        let display = format!("{}'s {} worker", provider.display_name(), profile.display_name);
        // Leaking is fine in a short-lived process and gives the table a static name.
        (&*format!("{}-{engine}", provider.name()).leak(), &*display.leak())
    });
    let own = (profile.table, profile.program);
    std::iter::once(own)
        .chain(of_providers)
        .filter(|(table, _)| flags::tables_by_version(table).next().is_some())
        .collect()
}

/// A flag in one version of a program.
struct Entry {
    program: Program,
    version: &'static str,
    table: FlagTable,
    flag: Flag,
}

/// Returns the schema of `engine.args` for an engine.
pub(super) fn schema(engine: EngineType) -> Value {
    let mut known: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for program in programs(engine) {
        for (version, table) in flags::tables_by_version(program.0) {
            for name in table.names() {
                let Some((flag, _)) = table.lookup(name) else { continue };
                if let Some(key) = argument_key(program.0, &table, &flag) {
                    known.entry(key).or_default().push(Entry { program, version, table, flag });
                }
            }
        }
    }
    let mut properties = Object::default();
    for (key, entries) in &known {
        let mut property = Object::default().with("description", description(key, entries)).with("type", "string");
        if entries.iter().all(|entry| entry.flag.deprecated) {
            property = property.with("deprecated", true);
        }
        if let Value::Object(values) = shared_constraints(entries) {
            property.0.extend(values);
        }
        properties = properties.with(key, property);
    }
    json!({"properties": Value::from(properties), "additionalProperties": {"type": "string"}})
}

/// Returns the key of a flag in `engine.args`. Nested configuration keys of TensorRT-LLM are listed by their short
/// name; one without a short name can only be set through its parent, so it has no key.
fn argument_key(program: &str, table: &FlagTable, flag: &Flag) -> Option<String> {
    if program != "trtllm" {
        return Some(flag.name.to_owned());
    }
    let name = if flag.name.contains('.') { table.aliases(flag.name).next()? } else { flag.name };
    Some(name.replace('-', "_"))
}

/// Describes a flag: the programs and versions that have it, and its values.
fn description(key: &str, entries: &[Entry]) -> String {
    let mut text: Vec<String> = Vec::new();
    for (name, display) in unique(entries.iter().map(|entry| entry.program)) {
        let of_program: Vec<&Entry> = entries.iter().filter(|entry| entry.program.0 == name).collect();
        let [first, .., last] = of_program.as_slice() else {
            text.push(origin(display, of_program.first().copied(), None));
            continue;
        };
        text.push(origin(display, Some(last), Some((first.version, last.version, of_program.len(), name))));
    }
    if let Some(entry) = entries.last() {
        text.push(format!(" Takes {}.", value_description(&entry.flag)));
        let others = entry.table.aliases(entry.flag.name).filter(|alias| *alias != key.replace('_', "-"));
        let others: Vec<String> = others.map(str::to_owned).collect();
        if !others.is_empty() {
            text.push(format!(" Also written {}.", others.join(", ")));
        }
    }
    let deprecated = entries.iter().find(|entry| entry.flag.deprecated);
    if let Some(entry) = deprecated {
        let instead = entry.flag.replaced_by.map(|other| format!(": use {other}")).unwrap_or_default();
        text.push(format!(" Deprecated since {} {}{instead}.", entry.program.1, entry.version));
    }
    text.concat().trim_start().to_owned()
}

type Span = (&'static str, &'static str, usize, &'static str);

fn origin(display: &str, entry: Option<&Entry>, span: Option<Span>) -> String {
    let Some(entry) = entry else { return String::new() };
    let name = if entry.program.0 == "trtllm" { entry.flag.key() } else { format!("--{}", entry.flag.name) };
    let total = flags::tables_by_version(entry.program.0).count();
    let versions = match span {
        Some((_, _, count, _)) if count == total => String::new(),
        Some((first, last, ..)) => format!(" {first} to {last}"),
        None if total == 1 => String::new(),
        None => format!(" {}", entry.version),
    };
    format!(" {name} of {display}{versions}.")
}

/// Describes the value of a flag with the text that `lint` uses in its messages.
fn value_description(flag: &Flag) -> String {
    let probe = |text| flag.check_value(text).err().map(|problem| problem.to_string());
    let expected = probe("\u{1}").or_else(|| probe("{")).unwrap_or_else(|| "expected text".to_owned());
    let value = expected.strip_prefix("expected ").unwrap_or(&expected).to_owned();
    let value = if flag.repeat == Repetition::List { format!("{value}, separated by spaces") } else { value };
    match flag.kind {
        FlagKind::Switch => "\"\" or \"true\"; \"false\" leaves it out".to_owned(),
        FlagKind::Pair => "\"\" or \"true\", or \"false\" to turn it off".to_owned(),
        FlagKind::OptionalValue => format!("\"\" alone, or {value}"),
        FlagKind::Value => value,
    }
}

/// Returns the constraints on the value that all versions share.
fn shared_constraints(entries: &[Entry]) -> Value {
    let flags = || entries.iter().map(|entry| entry.flag);
    let may_be_empty = flags().any(|flag| flag.kind != FlagKind::Value);
    let empty = may_be_empty.then_some("");
    if flags().all(|flag| flag.value_type == ValueType::Boolean) {
        let words: Vec<&str> = ["true", "false"].into_iter().chain(empty).collect();
        return json!({"enum": words});
    }
    if flags().all(|flag| flag.choices().next().is_some()) {
        let words: Vec<&str> = unique(flags().flat_map(|flag| flag.choices().collect::<Vec<_>>()).chain(empty));
        return json!({"enum": words});
    }
    let Some(first) = flags().next() else { return Value::Null };
    let agreed = flags().all(|flag| {
        flag.value_type == first.value_type && flag.choices().next().is_none() && flag.repeat != Repetition::List
    });
    let number = match first.value_type {
        ValueType::Integer => "[+-]?[0-9]+",
        ValueType::HumanInteger => "([+-]?[0-9]+|[0-9]+(\\.[0-9]*)?[kmgtKMGT])",
        ValueType::SiInteger => "([+-]?[0-9]+|[0-9]+(\\.[0-9]*)?([kMGT]|[KMGT]i))",
        ValueType::Float => "[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+|[A-Za-z]+)([eE][+-]?[0-9]+)?",
        _ => return Value::Null,
    };
    if !agreed {
        return Value::Null;
    }
    let also: Vec<String> = unique(flags().flat_map(|flag| flag.special_values().collect::<Vec<_>>()).chain(empty))
        .into_iter()
        .map(|word| format!("|^{word}$"))
        .collect();
    json!({"pattern": format!("^\\s*{number}\\s*${}", also.concat()), "patternErrorMessage": format!("expected {}", value_description(&first))})
}

/// Removes duplicates and keeps the order of first occurrences.
fn unique<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}
