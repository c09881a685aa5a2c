//! Renders a claimed object with the engine, as `kubefoundry render` does with the same objects as files.

use kubefoundry_compiler::pipeline::OutputRole;
use kubefoundry_compiler::{Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::Severity;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_kubernetes::server_fields;
use serde_json::{Value, json};

use super::{is_same, text};
use crate::decision::OPERATOR_OPTIONS;

/// The kind of volume claims, which outlive the objects that use them.
const CLAIM: &str = "PersistentVolumeClaim";

/// What a claimed object renders to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rendered {
    /// The objects that belong to it, in the order in which they are applied.
    pub(super) owned: Vec<Value>,
    /// The objects that outlive it: queues, scripts and claims.
    pub(super) kept: Vec<Value>,
    /// The workload of another owner, with the additions.
    pub(super) changed: Option<Value>,
}

/// Renders an object. `inputs` are the objects of the cluster that it refers to.
///
/// # Errors
/// The errors of the engine, in one line.
pub(super) fn render(options: Option<&str>, object: &Value, inputs: &[Value]) -> Result<Rendered, String> {
    let metadata = &object["metadata"];
    let kept: serde_json::Map<String, Value> = ["name", "namespace", "uid", "labels", "annotations"]
        .into_iter()
        .filter_map(|field| Some((field.to_owned(), metadata.get(field)?.clone())))
        .collect();
    let written = json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": kept, "spec": object["spec"],
    });
    let mut sources = sources(options);
    sources.add(file_name(&written), written.to_string());
    for input in inputs {
        let mut input = input.clone();
        if let Some(fields) = input.as_object_mut() {
            fields.remove("status");
        }
        sources.add(file_name(&input), input.to_string());
    }
    let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
    let errors: Vec<String> = compilation
        .diagnostics
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(|error| format!("{}: {}", error.code.id, error.message))
        .collect();
    if !errors.is_empty() {
        return Err(errors.join("; "));
    }
    let mut rendered = Rendered::default();
    for output in compilation.outputs {
        match output.role {
            OutputRole::Changed => rendered.changed = Some(output.object),
            OutputRole::Shared => rendered.kept.push(output.object),
            _ if text(&output.object, "/kind") == CLAIM => rendered.kept.push(output.object),
            OutputRole::Generated => rendered.owned.push(output.object),
            OutputRole::PassedOn => {}
        }
    }
    if rendered == Rendered::default() {
        let what = "the options of the operator leave it to another one";
        return Err(format!("nothing is rendered: {what}"));
    }
    Ok(rendered)
}

/// Returns a workload without what a claimed object added to it; none if there is nothing to remove.
///
/// # Errors
/// The errors of the engine, in one line.
pub(super) fn strip(options: Option<&str>, workload: &Value) -> Result<Option<Value>, String> {
    let mut sources = sources(options);
    let mut workload = workload.clone();
    server_fields::remove(&mut workload);
    sources.add(file_name(&workload), workload.to_string());
    let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
    let error = compilation.diagnostics.iter().find(|finding| finding.severity == Severity::Error);
    if let Some(error) = error {
        return Err(format!("{}: {}", error.code.id, error.message));
    }
    let mut changed = compilation.outputs.into_iter().map(|output| output.object);
    Ok(changed.find(|object| is_same(object, &workload)))
}

fn sources(options: Option<&str>) -> SourceSet {
    let mut sources = SourceSet::default();
    if let Some(options) = options {
        sources.add_for(Purpose::Options, "options", options);
    }
    sources.add_for(Purpose::Options, "operator", OPERATOR_OPTIONS);
    sources
}

/// Returns a name for an object in findings: `Deployment/triton.json`.
fn file_name(object: &Value) -> String {
    format!("{}/{}.json", text(object, "/kind"), text(object, "/metadata/name"))
}
