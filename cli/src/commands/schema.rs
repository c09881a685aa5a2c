//! `kubefoundry schema`: schemas for editors, clusters and readers of reports.

use kubefoundry::schemas::SCHEMAS;

use super::CommandError;
use crate::args::{CRDS, SchemaArgs};
use crate::console;
use crate::exit::ExitStatus;

pub(super) fn run(args: &SchemaArgs) -> Result<ExitStatus, CommandError> {
    let text = match args.name.as_deref() {
        None => list(),
        Some(CRDS) => {
            let crds: Vec<&str> = SCHEMAS.iter().filter(|schema| schema.is_crd).map(|schema| schema.text).collect();
            crds.join("---\n")
        }
        Some(name) => SCHEMAS.iter().filter(|schema| schema.name == name).map(|schema| schema.text).collect(),
    };
    console::print([&text])?;
    Ok(ExitStatus::Success)
}

/// Every name with what it stands for.
fn list() -> String {
    let named = [(CRDS, "all CustomResourceDefinitions, for kubectl apply")];
    let rows: Vec<_> = named.into_iter().chain(SCHEMAS.iter().map(|schema| (schema.name, schema.summary))).collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let lines: Vec<String> = rows.iter().map(|(name, summary)| format!("{name:width$}  {summary}\n")).collect();
    lines.concat()
}
