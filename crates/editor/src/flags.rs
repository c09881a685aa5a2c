//! The flags of the program that runs a deployment, from the flag tables of its runtime version.

use kubefoundry_compiler::session::Session;
use kubefoundry_composition::BUILTIN;
use kubefoundry_deployment::wire::{EngineType, KIND, ModelDeployment};
use kubefoundry_engines::flags::{self, Flag, FlagGroup, FlagKind, FlagTable, Repetition, Spelling, ValueType};
use kubefoundry_engines::profile;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::wire::StringEnum as _;
use kubefoundry_yaml::append;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use serde_json::Value;

use crate::fields::{named_provider, write_list};

/// The flags that a field of a deployment takes.
pub(crate) struct FieldFlags {
    /// Outermost parser first.
    tables: Vec<FlagTable>,
    /// The runtime whose flags these are: `dynamo 1.4.0`. Empty if the newest known version of the engine is assumed.
    runtime: String,
}

/// A field that holds flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FlagField {
    Engine,
    Frontend,
}

/// Finds the flags that can be keys of the mapping, or items of the list, at a path. Returns `None` for every other field.
pub(crate) fn flags_at(
    session: Option<&Session>,
    header: &Header,
    document: &Value,
    path: &FieldPath,
) -> Option<FieldFlags> {
    if *header.kind != *KIND {
        return None;
    }
    match field_at(path)? {
        FlagField::Frontend => Some(FieldFlags { tables: vec![flags::dynamo_frontend()], runtime: String::new() }),
        FlagField::Engine => engine_flags(session, document),
    }
}

fn field_at(path: &FieldPath) -> Option<FlagField> {
    let spec = || ModelDeployment::path().spec();
    let (engine, scaling) = (spec().engine(), spec().scaling());
    let (prefill, decode) = (scaling.clone().prefill().engine(), scaling.decode().engine());
    let of_engine: [FieldPath; 6] = [
        engine.clone().args().into(),
        engine.extra_args().into(),
        prefill.clone().args().into(),
        prefill.extra_args().into(),
        decode.clone().args().into(),
        decode.extra_args().into(),
    ];
    if of_engine.contains(path) {
        return Some(FlagField::Engine);
    }
    (*path == FieldPath::from(spec().frontend().args())).then_some(FlagField::Frontend)
}

/// Returns the flags of the engine in the runtime version that the options pin for the selected provider.
fn engine_flags(session: Option<&Session>, document: &Value) -> Option<FieldFlags> {
    let path = FieldPath::from(ModelDeployment::path().spec().engine().engine_type());
    let engine = document.pointer(&path.json_pointer())?.as_str()?;
    let engine = EngineType::VARIANTS.iter().find(|(name, _)| *name == engine).map(|(_, engine)| *engine)?;
    let decision = session.and_then(|session| session.evaluate(document, None).decision);
    let selected = decision.as_ref().and_then(|decision| decision.provider()).map(str::to_owned);
    if let Some(provider) = selected.or_else(|| named_provider(document)).and_then(|name| BUILTIN.find_provider(&name))
    {
        let pinned = session.and_then(|session| session.options().runtimes.get(provider.name()).map(String::as_str));
        let decided = decision.as_ref().and_then(|decision| decision.runtime.as_deref());
        let version = decided.or(pinned).or(provider.info().runtimes.first().copied()).unwrap_or_default();
        let tables = (provider.info().flag_tables)(engine, version);
        if !tables.is_empty() {
            return Some(FieldFlags { tables, runtime: format!("{} {version}", provider.display_name()) });
        }
    }
    let newest = flags::tables_by_version(profile(engine).table).last()?.1;
    Some(FieldFlags { tables: vec![newest], runtime: String::new() })
}

impl FieldFlags {
    /// Iterates over all flags. The outermost parser that knows a flag takes it.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Flag, FlagTable)> {
        let mut seen = std::collections::BTreeSet::new();
        let named = self.tables.iter().flat_map(|table| table.names().map(move |name| (name, *table)));
        named
            .filter(move |(name, _)| seen.insert(*name))
            .filter_map(|(name, table)| Some((table.lookup(name)?.0, table)))
    }

    /// Finds a flag by any of its names, with or without dashes.
    pub(crate) fn find(&self, name: &str) -> Option<(Flag, Spelling, FlagTable)> {
        let name = name.trim_start_matches('-');
        self.tables.iter().find_map(|table| table.lookup(name).map(|(flag, spelling)| (flag, spelling, *table)))
    }

    /// Describes a flag in Markdown.
    pub(crate) fn describe(&self, flag: &Flag, table: &FlagTable) -> String {
        let mut text = format!("`--{}` *{}*\n\nFlag of {}", flag.name, type_of(flag), table.program());
        if !flag.uncertain {
            append!(text, " {}", table.version());
        }
        if !self.runtime.is_empty() {
            append!(text, " in {}", self.runtime);
        }
        text.push('.');
        write_list(&mut text, facts(flag, table));
        text
    }
}

/// Lists what is known about a flag, as phrases.
fn facts(flag: &Flag, table: &FlagTable) -> Vec<String> {
    let listed = |words: Vec<&str>| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let mut facts = Vec::new();
    let mut list = |title: &str, words: Vec<&str>| {
        if !words.is_empty() {
            facts.push(format!("{title} {}", listed(words)));
        }
    };
    list("one of", flag.choices().collect());
    list("known values:", flag.known_values().collect());
    list("also", flag.special_values().collect());
    list("other names:", table.aliases(flag.name).collect());
    list("turned off by", flag.off.into_iter().collect());
    match flag.repeat {
        Repetition::Once => {}
        Repetition::List => facts.push("takes several values".to_owned()),
        Repetition::Append => facts.push("each further use adds a value".to_owned()),
    }
    match flag.group {
        FlagGroup::Engine => {}
        FlagGroup::Frontend => facts.push("of the engine's HTTP server".to_owned()),
        FlagGroup::Wrapper => facts.push("of the program that drives the engine".to_owned()),
    }
    match (flag.deprecated, flag.replaced_by) {
        (true, Some(replacement)) => facts.push(format!("deprecated: use `{replacement}`")),
        (true, None) => facts.push("deprecated".to_owned()),
        (false, Some(replacement)) => facts.push(format!("later versions have `{replacement}` instead")),
        (false, None) => {}
    }
    if flag.uncertain {
        facts.push("from the documentation of the program, so this version may lack it".to_owned());
    }
    facts
}

/// Returns the type of a flag's value.
pub(crate) fn type_of(flag: &Flag) -> &'static str {
    match (flag.kind, flag.value_type) {
        (FlagKind::Switch | FlagKind::Pair, _) | (_, ValueType::Boolean) => "boolean",
        (_, ValueType::Text) => "string",
        (_, ValueType::Path) => "path",
        (_, ValueType::Integer | ValueType::HumanInteger | ValueType::SiInteger) => "integer",
        (_, ValueType::Float) => "number",
        (_, ValueType::Json) => "JSON",
        (_, ValueType::JsonObject) => "JSON object",
        (_, ValueType::JsonOrText) => "JSON or string",
    }
}

/// Returns the words that a flag's value can be.
pub(crate) fn values_of(flag: &Flag) -> Vec<&'static str> {
    let words: Vec<&str> = flag.choices().chain(flag.known_values()).chain(flag.special_values()).collect();
    if words.is_empty() && type_of(flag) == "boolean" { vec!["true", "false"] } else { words }
}

/// Splits the path of a flag, or of its value, into the field that holds it and the name of the flag.
pub(crate) fn split_flag(path: &FieldPath) -> Option<(FieldPath, &str)> {
    let name = path.segments().last().and_then(Segment::as_key)?;
    Some((path.parent(), name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubefoundry_compiler::session::Providers;
    use kubefoundry_composition::BUILTIN;
    use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    use serde_json::json;

    fn find(runtime: &str, engine: &str, provider: &str, path: &str) -> Option<FieldFlags> {
        let mut sources = SourceSet::default();
        let options =
            format!("apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nruntimes: {{dynamo: {runtime}}}\n");
        sources.add_for(Purpose::Options, "kubefoundry.yaml", options);
        let session = Session::new(&BUILTIN, &sources, Providers::All).unwrap();
        let document = json!({
            "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
            "spec": {"model": {"id": "org/phi"}, "engine": {"type": engine}, "provider": {"name": provider},
                     "resources": {"gpu": {"count": 1}}},
        });
        let header = Header { kind: KIND.into(), ..Header::default() };
        flags_at(Some(&session), &header, &document, &FieldPath::try_parse(path).unwrap())
    }

    #[test]
    fn the_pinned_runtime_decides_which_flags_there_are() {
        let versions = |runtime: &str| {
            let found = find(runtime, "vllm", "dynamo", "spec.engine.args").unwrap();
            found.tables.iter().map(FlagTable::version).collect::<Vec<_>>()
        };
        assert_ne!(versions("1.0.0"), versions("1.6.1"));
        assert_eq!(versions("1.6.1").first(), Some(&"1.6.1"), "the wrapper's own flags come first");
    }

    #[test]
    fn every_field_of_flags_is_known() {
        for path in ["spec.engine.extraArgs", "spec.scaling.prefill.engine.args", "spec.scaling.decode.engine.args"] {
            assert!(
                find("1.4.0", "vllm", "dynamo", path).is_some_and(|found| found.find("--max-num-seqs").is_some()),
                "{path}"
            );
        }
        let frontend = find("1.4.0", "vllm", "dynamo", "spec.frontend.args").unwrap();
        assert!(frontend.find("kv-events").is_some() && frontend.find("max-num-seqs").is_none());
        assert!(find("1.4.0", "vllm", "dynamo", "spec.engine").is_none());
    }

    #[test]
    fn an_engine_without_a_table_of_the_provider_has_its_newest_one() {
        let found = find("1.4.0", "llamacpp", "kaito", "spec.engine.args").unwrap();
        assert!(found.find("n-gpu-layers").is_some() && found.runtime.is_empty());
    }

    #[test]
    fn describes_a_flag() {
        let found = find("1.4.0", "vllm", "dynamo", "spec.engine.args").unwrap();
        let (flag, _, table) = found.find("dtype").unwrap();
        let text = found.describe(&flag, &table);
        assert!(text.starts_with("`--dtype` *string*\n\nFlag of vllm ") && text.contains("in Dynamo 1.4.0."), "{text}");
        assert!(text.contains("\n- one of `auto`, `bfloat16`"), "{text}");
        assert!(values_of(&flag).contains(&"half"));
        let (flag, ..) = found.find("enable-prefix-caching").unwrap();
        assert_eq!(values_of(&flag), ["true", "false"]);
    }
}
