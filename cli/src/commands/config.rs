//! `kubefoundry config`: shows which options files apply to a path, and where each value comes from.

use std::collections::BTreeMap;

use kubefoundry_compiler::Thoroughness;
use kubefoundry_diagnostics::render::{ReportVersion, to_report};
use kubefoundry_diagnostics::source::{Purpose, Source, SourceId};
use kubefoundry_input as input;
use kubefoundry_reports::config::{ConfigReport, ResolvedOption};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Node, Value};

use crate::args::{ConfigArgs, FailOn, TextFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::run::{CommandError, Run};
use crate::style::printable;
use crate::table::{Cell, table};

/// The keys of a document that say what it is, and set nothing.
const IDENTITY: [&str; 3] = ["apiVersion", "kind", "metadata"];

pub(super) fn run(args: &ConfigArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let input = input::read_options(args.path.as_deref(), args.config.as_deref(), args.isolated)?;
    let run: Run<()> = Run::from_input(input, &args.diagnostics.findings, Thoroughness::Needed)?;
    run.note_findings(args.diagnostics.diagnostics, console);
    let is_options =
        |(_, source): &(SourceId, &Source)| source.purpose == Purpose::Options && source.name != input::COMMAND_LINE;
    let files: Vec<(SourceId, &Source)> = run.sources.iter().filter(is_options).collect();
    let mut locator = run.result().locator();
    let mut resolved: BTreeMap<String, ResolvedOption<'_>> = BTreeMap::new();
    for (id, source) in &files {
        for document in &yaml::parse(&source.text, &yaml::Limits::default()).documents {
            let mut leaves = Vec::new();
            collect_leaves(&document.root, &FieldPath::root(), &mut leaves);
            for (path, node) in leaves {
                let (file, position) = locator.locate(*id, node.span.start);
                let (line, column) = (position.line, position.column);
                let path = path.to_string();
                let option = ResolvedOption { path: path.clone(), value: node.to_json(), file, line, column };
                resolved.insert(path, option);
            }
        }
    }
    let files = files.iter().map(|(_, source)| source.name.as_str()).collect();
    let report = ConfigReport { version: ReportVersion, files, options: resolved.into_values().collect() };
    let report = match args.output {
        TextFormat::Text => text(&report),
        TextFormat::Json => to_report(&report),
    };
    console::print_report([&report], args.output == TextFormat::Json)?;
    Ok(run.status(FailOn::Error))
}

/// Collects what a nearer file can override: everything but mappings, whose entries override each other one by one.
fn collect_leaves<'n>(node: &'n Node<'n>, path: &FieldPath, leaves: &mut Vec<(FieldPath, &'n Node<'n>)>) {
    let is_mapping = matches!(&node.value, Value::Mapping(entries) if !entries.is_empty());
    if !is_mapping {
        if !path.segments().is_empty() {
            leaves.push((path.clone(), node));
        }
        return;
    }
    for entry in node.entries() {
        if !path.segments().is_empty() || !IDENTITY.contains(&&*entry.key) {
            collect_leaves(&entry.node, &path.key(entry.key.clone().into_owned()), leaves);
        }
    }
}

fn text(report: &ConfigReport<'_>) -> String {
    if report.files.is_empty() {
        return "No options file applies.\n".to_owned();
    }
    let mut out = "options files, the one that wins last:\n".to_owned();
    out.extend(report.files.iter().map(|file| format!("  {}\n", printable(file))));
    let row = |option: &ResolvedOption<'_>| {
        let value = match &option.value {
            serde_json::Value::String(value) => value.clone(),
            other => other.to_string(),
        };
        let place = format!("{}:{}:{}", option.file, option.line, option.column);
        [option.path.clone(), value, place].iter().map(|cell| Cell::new(&printable(cell))).collect()
    };
    let rows: Vec<_> = report.options.iter().map(row).collect();
    if !rows.is_empty() {
        out.push('\n');
        out.extend(table(&rows, 0).lines().flat_map(|line| [line.trim_end(), "\n"]));
    }
    out
}
