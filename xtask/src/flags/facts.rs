//! What is known of each engine version, read from JSON and brought into one vocabulary.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

type Flags = Map<String, Value>;

/// One line of a table without its version column.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Flags by engine and version.
#[derive(Default)]
pub(crate) struct Facts(BTreeMap<String, BTreeMap<String, Flags>>);

impl Facts {
    /// Adds the facts of a file; a flag that is already there is replaced.
    pub(crate) fn read(&mut self, path: &Path) -> Result<(), String> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let engines: BTreeMap<String, BTreeMap<String, Flags>> =
            serde_json::from_str(&text).map_err(|error| error.to_string())?;
        for (engine, versions) in engines {
            let known = self.0.entry(engine).or_default();
            for (version, flags) in versions {
                known.entry(version).or_default().extend(flags);
            }
        }
        Ok(())
    }

    /// The lines of one engine version, one of `known` (oldest first), in no particular order.
    pub(crate) fn entries(&self, engine: &str, version: &str, known: &[&str]) -> Result<Vec<Entry>, String> {
        let versions = self.0.get(engine).ok_or("no such engine in the facts")?;
        let newest_first: Vec<&Flags> = known.iter().rev().filter_map(|version| versions.get(*version)).collect();
        let flags = versions.get(version).ok_or_else(|| format!("no version {version} in the facts"))?;
        let mut entries = Vec::new();
        for (flag, fact) in flags {
            let spellings = || std::iter::once(flag.as_str()).chain(strings(fact, "aliases"));
            let name = bare(spellings().find(|spelling| is_lasting(&newest_first, spelling)).unwrap_or(flag));
            let text =
                line(engine, version, &name, fact, versions).map_err(|error| format!("{version} {flag}: {error}"))?;
            entries.push(Entry { name: name.clone(), text });
            for alias in spellings().map(bare).filter(|spelling| *spelling != name) {
                entries.push(Entry { name: alias, text: format!("={name}") });
            }
            entries
                .extend(usual(engine, &name).map(|usual| Entry { name: usual.to_owned(), text: format!("={name}") }));
            if let Some(off) = string(fact, "off_alt") {
                entries.push(Entry { name: bare(off), text: format!("!{name}") });
            }
            // The last part of a nested configuration key stands for the whole where it says enough.
            if let Some((_, leaf)) = name.rsplit_once('.') {
                let others = flags.keys().filter(|key| key.rsplit('.').next() == flag.rsplit('.').next()).count();
                if others == 1 {
                    entries.push(Entry { name: leaf.to_owned(), text: format!("={name}") });
                }
            }
        }
        Ok(entries)
    }
}

/// What people write for a flag although the program does not register it. `--tp` and `--dp` are in SGLang's own
/// documentation and work as abbreviations of argparse; `--pp` stopped when other flags came to start with it;
/// `--ep` is registered.
fn usual(engine: &str, name: &str) -> Option<&'static str> {
    match (engine, name) {
        ("sglang", "tp-size") => Some("tp"),
        ("sglang", "dp-size") => Some("dp"),
        ("sglang", "pp-size") => Some("pp"),
        _ => None,
    }
}

/// Whether the newest version that knows this spelling uses it as the flag's name, not as an alias:
/// SGLang turned `--tensor-parallel-size` and its alias `--tp-size` round, and a table keeps one name for all versions.
fn is_lasting(newest_first: &[&Flags], spelling: &str) -> bool {
    newest_first.iter().find_map(|flags| {
        let named = flags.contains_key(spelling);
        let aliased = || flags.values().any(|fact| strings(fact, "aliases").contains(&spelling));
        (named || aliased()).then_some(named)
    }) == Some(true)
}

/// The name without dashes, in kebab-case.
fn bare(flag: &str) -> String {
    flag.trim_start_matches('-').replace('_', "-")
}

fn string<'a>(fact: &'a Value, key: &str) -> Option<&'a str> {
    fact.get(key).and_then(Value::as_str)
}

fn strings<'a>(fact: &'a Value, key: &str) -> Vec<&'a str> {
    fact.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn line(
    engine: &str,
    version: &str,
    name: &str,
    fact: &Value,
    versions: &BTreeMap<String, Flags>,
) -> Result<String, String> {
    let mut words = Vec::new();
    match string(fact, "kind") {
        Some("bool") => words.push("switch".to_owned()),
        Some("bool-pair") => {
            words.push("pair".to_owned());
            words.push(format!("off={}", bare(string(fact, "off").ok_or("a pair without its off form")?)));
        }
        Some(kind @ ("value" | "optional-value")) => {
            let same_flag = versions.values().filter_map(|flags| flags.get(&format!("--{name}")));
            let (mut value, choices) = value_type(engine, name, fact, same_flag)?;
            match nargs(fact) {
                Some("+" | "*") => value.push('+'),
                Some("append") => value.push('&'),
                Some("?") => value.push('?'),
                _ if kind == "optional-value" => value.push('?'),
                _ => {}
            }
            words.push(value);
            if !choices.is_empty() {
                words.push(format!("choices={}", choices.join("|")));
            }
            if let Some(more) = also(engine, name) {
                words.push(format!("also={more}"));
            }
        }
        kind => return Err(format!("unknown kind {kind:?}")),
    }
    if string(fact, "group") == Some("frontend") {
        words.push("frontend".to_owned());
    } else if engine.starts_with("dynamo.") {
        words.push("wrapper".to_owned());
    }
    if deprecated(engine, version, name, fact) {
        words.push("deprecated".to_owned());
    }
    if let Some(replacement) = replacement(engine, name, fact, versions) {
        words.push(format!("use={replacement}"));
    }
    Ok(words.join(" "))
}

fn nargs(fact: &Value) -> Option<&str> {
    // A custom action that hands its argument count on.
    if string(fact, "action_kwargs").is_some_and(|kwargs| kwargs.contains("'nargs': '*'")) {
        return Some("*");
    }
    if string(fact, "action") == Some("append") {
        return Some("append");
    }
    string(fact, "nargs")
}

/// The type word of a valued flag and its closed set of values.
fn value_type<'a>(
    engine: &str,
    name: &str,
    fact: &Value,
    mut same_flag: impl Iterator<Item = &'a Value>,
) -> Result<(String, Vec<String>), String> {
    let mut choices = choices(fact)?;
    let stated = string(fact, "type").ok_or("no type")?;
    let stated = match (engine, name) {
        // human_readable_int in vLLM's arg_utils; the research file has them as plain integers.
        (
            "vllm",
            "max-model-len"
            | "max-num-batched-tokens"
            | "kv-cache-memory-bytes"
            | "max-num-scheduled-tokens"
            | "max-num-queued-tokens"
            | "safetensors-prefetch-block-size",
        ) => "human_readable_int",
        // union_dict_and_str: what does not look like a JSON object is taken as text; the research file says JSON.
        ("vllm", "additional-config" | "hf-overrides" | "model-loader-extra-config" | "pt-load-map-location")
        // A JSON object, or the path of a file (`@file` for HiCache), as the help of the first two in ServerArgs says.
        // ModelExpress documents an object; the others are named like it, and no help rules text out.
        | (
            "sglang",
            "deepep-config" | "hicache-storage-backend-extra-config"
            | "cuda-graph-config" | "hisparse-config" | "modelexpress-config" | "speculative-adaptive-config",
        ) => "json-or-str",
        // A configuration object, unresolved in 0.33.0 of the research file.
        ("vllm", "logging-config")
        // What the wrapper passes to json.loads (llm_worker.py), while its parser sees text; its help of the other one
        // says "JSON object".
        | ("dynamo.trtllm", "override-engine-args" | "model-loader-extra-config")
        // SGLang's parser sees text, and what reads it parses JSON: json.loads in ModelConfig and LoadConfig,
        // KVEventsConfig.from_cli.
        | ("sglang", "json-model-override-args" | "kv-events-config" | "model-loader-extra-config") => "json-object",
        ("vllm", "limit-mm-per-prompt") => "json",
        // `list` tells that several values may follow, not of which type; another version may.
        (_, _) if stated == "list" => {
            same_flag.find_map(|fact| string(fact, "type").filter(|&stated| stated != "list")).unwrap_or("str")
        }
        _ => stated,
    };
    let word = match stated {
        "int" | "float" | "str" | "json" | "json-or-str" | "json-object" | "bool" => stated,
        "human_readable_int" | "human_readable_int_or_auto" if engine == "vllm" => "human-int",
        // SGLang's function of the same name reads other suffixes.
        "human_readable_int" => "si-int",
        // `null` in place of an object turns the feature off.
        "json.loads" | "json_list_type" | "object|null" => "json",
        "object" => "json-object",
        "float 0..1" => "float",
        "int|auto|all" => "int",
        "FILE" | "FNAME" | "path" => "path",
        "NoneType"
        | "nullable_str"
        | "_parse_structural_tag"
        | "str|path"
        | "str (deprecated)"
        | "str: auto|fp8|fp8_ds_mla|nvfp4|torch dtype"
        | "FNAME[,..]"
        | "FNAME:SCALE,.."
        | "KEY[,..]"
        | "N0,N1,.."
        | "STRING (comma list)"
        | "TOKEN"
        | "URL"
        | "addr"
        | "same as k"
        | "user/model[:quant]" => "str",
        lambda if lambda.starts_with("lambda ") => "str",
        alternatives if alternatives.split('|').count() > 1 => {
            choices = alternatives.split('|').map(str::to_owned).collect();
            "str"
        }
        other => return Err(format!("unknown type {other:?}")),
    };
    Ok((word.to_owned(), choices))
}

/// The closed set of values; empty where it is open or could not be resolved.
fn choices(fact: &Value) -> Result<Vec<String>, String> {
    let Some(Value::Array(listed)) = fact.get("choices") else {
        return Ok(Vec::new());
    };
    let mut choices = Vec::new();
    for choice in listed {
        let choice = choice.as_str().map_or_else(|| choice.to_string(), str::to_owned);
        if choice.starts_with('<') {
            return Ok(Vec::new());
        }
        if choice.contains(['|', ' ', '\n']) || choice.is_empty() {
            return Err(format!("choice {choice:?} does not fit the table format"));
        }
        choices.push(choice);
    }
    // Whether vLLM lists ranks as text or as numbers, people expect 8 before 16.
    if choices.iter().all(|choice| choice.parse::<u64>().is_ok()) {
        choices.sort_by_key(|choice| choice.parse::<u64>().unwrap_or(u64::MAX));
    } else {
        choices.sort();
    }
    Ok(choices)
}

/// Words that a flag accepts beside its type.
fn also(engine: &str, name: &str) -> Option<&'static str> {
    match (engine, name) {
        ("vllm", "max-model-len") => Some("auto"),
        ("llama.cpp-server", "n-gpu-layers") => Some("auto|all"),
        _ => None,
    }
}

fn deprecated(engine: &str, version: &str, name: &str, fact: &Value) -> bool {
    match (engine, version, name) {
        // Their help calls them no-ops, which the extracted data does not show.
        ("vllm", "0.33.0", "mamba-cache-mode" | "ir-op-priority") => true,
        // Its help names a deprecated flag that it replaces; it is not one itself.
        ("sglang", _, "smg-grpc-mode") => false,
        _ => fact.get("deprecated").and_then(Value::as_bool).unwrap_or(false),
    }
}

/// What to write instead, as the command line says it; another version of the engine may know.
fn replacement(engine: &str, name: &str, fact: &Value, versions: &BTreeMap<String, Flags>) -> Option<String> {
    if (engine, name) == ("sglang", "smg-grpc-mode") {
        return None;
    }
    let flag = format!("--{name}");
    let own = string(fact, "replaced_by");
    let elsewhere =
        || versions.values().filter_map(|flags| flags.get(&flag)).find_map(|fact| string(fact, "replaced_by"));
    // Only dashes make an instruction: "(none)" and the like are remarks.
    own.or_else(elsewhere).filter(|text| text.starts_with("--")).map(str::to_owned)
}
