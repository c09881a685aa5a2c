//! The invariants of every input.

use kubefoundry_compiler::{Compilation, Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::render;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_yaml as yaml;
use serde_json::Value;

/// Compiles an input and checks its invariants: both YAML readers agree on it, the result is deterministic, findings point
/// into their texts and can be printed in each format, and a strict reader reads the output back unchanged.
pub(crate) fn check(sources: &SourceSet) -> Result<Compilation, String> {
    for (_, source) in sources.iter() {
        agreement_of_readers(&source.text)?;
    }
    let compilation = compile(&BUILTIN, sources, Thoroughness::Everything);
    let again = compile(&BUILTIN, sources, Thoroughness::Everything);
    same("diagnostics", &compilation.diagnostics, &again.diagnostics)?;
    same("outputs", &compilation.outputs, &again.outputs)?;
    same("decisions", &compilation.decisions, &again.decisions)?;
    findings(&compilation, sources)?;
    if !compilation.has_errors() {
        let needed = compile(&BUILTIN, sources, Thoroughness::Needed);
        same("outputs of a run that evaluates only what it needs", &compilation.outputs, &needed.outputs)?;
        output(&compilation)?;
    }
    Ok(compilation)
}

/// Requires that the block reader of `kubefoundry-yaml` reads a text as the event parser does, or leaves it to that.
fn agreement_of_readers(text: &str) -> Result<(), String> {
    let limits = yaml::Limits::default();
    let (read, by_events) = (yaml::parse(text, &limits), yaml::parse_events(text, &limits));
    if read == by_events { Ok(()) } else { Err(format!("the YAML readers disagree:\n{read:?}\n{by_events:?}")) }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, one: &T, other: &T) -> Result<(), String> {
    if one == other { Ok(()) } else { Err(format!("different {what} in the second run:\n{one:?}\n{other:?}")) }
}

fn findings(compilation: &Compilation, sources: &SourceSet) -> Result<(), String> {
    let found = &compilation.diagnostics;
    for finding in found {
        if finding.message.is_empty() || finding.message.chars().count() > 1000 {
            return Err(format!("an empty or overlong message: {finding:?}"));
        }
        let related = finding.related.iter().map(|related| &related.location);
        for location in finding.location.iter().chain(related) {
            if sources.get(location.source).text.get(location.span.start..location.span.end).is_none() {
                return Err(format!("a finding outside its text: {finding:?}"));
            }
        }
    }
    let concise = render::concise(found, sources);
    if concise.lines().count() != found.len() {
        return Err(format!("{} findings, but another number of lines:\n{concise}", found.len()));
    }
    // Tabs of the input are printed unchanged.
    let text = render::text(found, sources, render::TextStyle::Plain);
    if let Some(control) = (concise + &text).chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(format!("findings print {control:?}:\n{text}"));
    }
    let json = render::json(found, sources, &[]);
    let listed =
        serde_json::from_str::<Value>(&json).ok().and_then(|report| Some(report.get("diagnostics")?.as_array()?.len()));
    if listed == Some(found.len()) { Ok(()) } else { Err(format!("findings as JSON do not read back:\n{json}")) }
}

fn output(compilation: &Compilation) -> Result<(), String> {
    let text = yaml::to_yaml_stream(compilation.outputs.iter().map(|output| &output.object));
    let parsed = yaml::parse(&text, &yaml::Limits::default());
    if parsed.failure.is_some() || parsed.documents.iter().any(|document| !document.problems.is_empty()) {
        return Err(format!("output that a strict reader refuses: {:?}\n{text}", parsed.failure));
    }
    let read: Vec<Value> = parsed.documents.iter().map(|document| document.root.to_json()).collect();
    let made: Vec<Value> = compilation.outputs.iter().map(|output| output.object.clone()).collect();
    if read == made { Ok(()) } else { Err(format!("output that reads back as something else:\n{text}")) }
}
