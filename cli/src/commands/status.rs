//! `kubefoundry status`: shows the status of the models, llama-stack servers and actors in a cluster snapshot.

use std::time::{SystemTime, UNIX_EPOCH};

use kubefoundry_analysis::status::{StalenessPolicy, StatusEntry, StatusReport, to_json};
use kubefoundry_compiler::cluster_snapshot::time::{Time, format_age};
use kubefoundry_composition::BUILTIN;
use kubefoundry_deployment::wire::Phase;
use kubefoundry_diagnostics::render::{self as diagnostics, TextStyle, json_findings, to_report};
use kubefoundry_input::{self as input, Input};
use kubefoundry_provider::status::{Replicas, StatusPart};
use kubefoundry_yaml::append_line;

use crate::args::{Now, ReportFormat, StatusArgs, TextFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::run::CommandError;
use crate::style::{Paint, printable};
use crate::table::{Cell, table};

pub(super) fn run(args: &StatusArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let Input { sources, unread, .. } = input::read_snapshots(&args.paths)?;
    for error in &unread {
        console::note(&format!("kubefoundry: {}\n", printable(&error.to_string())));
    }
    let staleness = StalenessPolicy { now: args.now.map(resolve_now), stale_after: args.stale_after };
    let report = StatusReport::read(&BUILTIN, &sources, staleness);
    match args.output {
        TextFormat::Text => {
            console::print([format_table(&report.statuses, staleness, console.stdout_style())])?;
            if report.statuses.is_empty() && report.diagnostics.is_empty() && !args.diagnostics.findings.quiet {
                console::note(
                    "The cluster snapshot has no ModelDeployment, LlamaStackDistribution or AsyncActor, and no object that \
                     runs one.\n",
                );
            }
            console::note(&match args.diagnostics.diagnostics {
                ReportFormat::Text => diagnostics::text(&report.diagnostics, &sources, console.stderr_style()),
                ReportFormat::Concise => diagnostics::concise(&report.diagnostics, &sources),
                ReportFormat::Json => diagnostics::json(&report.diagnostics, &sources, &[]),
            });
        }
        TextFormat::Json => {
            let findings = json_findings(&report.diagnostics, &sources);
            console::print_as_is([to_report(&to_json(&report, staleness, findings))])?;
        }
    }
    // An unreadable file may contain any object, so the status is incomplete. All findings of a snapshot are errors.
    Ok(match (unread.is_empty(), report.diagnostics.is_empty()) {
        (false, _) => ExitStatus::Failure,
        (true, false) => ExitStatus::Findings,
        (true, true) => ExitStatus::Success,
    })
}

/// Resolves `--now`. Only here does the program read the clock, so that all other results depend on the input alone.
fn resolve_now(now: Now) -> Time {
    match now {
        Now::At(time) => time,
        Now::Clock => {
            let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
            Time(i64::try_from(seconds).unwrap_or(i64::MAX))
        }
    }
}

/// Formats a table in the style of kubectl, followed by the notes.
fn format_table(statuses: &[StatusEntry], staleness: StalenessPolicy, style: TextStyle) -> String {
    if statuses.is_empty() {
        return String::new();
    }
    let mut columns = vec!["NAMESPACE", "NAME", "PROVIDER", "RESOURCE", "PHASE", "READY", "ENDPOINT"];
    columns.extend(staleness.now.map(|_| "UPDATED"));
    columns.push("MESSAGE");
    let mut rows = vec![columns.into_iter().map(Cell::new).collect()];
    for entry in statuses {
        rows.push(format_row(entry, staleness, style));
        rows.extend(listed_parts(entry).map(|(part, state)| format_part(part, state, staleness)));
    }
    let table = table(&rows, 0);
    // Trim the padding before an empty message.
    let mut out: String = table.lines().flat_map(|line| [line.trim_end(), "\n"]).collect();
    for entry in statuses {
        let name = entry.deployment.as_ref().or(entry.resource.as_ref());
        for note in &entry.notes {
            let name = name.map(ToString::to_string).unwrap_or_default();
            append_line!(out, "note: {}: {}", printable(&name), printable(note));
        }
    }
    out
}

fn format_row(entry: &StatusEntry, staleness: StalenessPolicy, style: TextStyle) -> Vec<Cell> {
    let named = entry.deployment.as_ref().or(entry.resource.as_ref());
    let endpoint = entry.status.endpoint.as_ref().map(|it| format!("{}:{}", it.service, it.port));
    let resource = entry.resource.as_ref().map(|resource| {
        // The name is shown only if it differs from that of the deployment.
        let same = entry.deployment.as_ref().is_none_or(|deployment| deployment.name == resource.name);
        if same { resource.kind.to_string() } else { format!("{}/{}", resource.kind, resource.name) }
    });
    let mut cells = vec![
        Cell::new(named.and_then(|named| named.namespace.as_deref()).unwrap_or("-")),
        Cell::new(named.map_or("-", |named| &named.name)),
        Cell::new(entry.provider.as_deref().unwrap_or("-")),
        Cell::new(resource.as_deref().unwrap_or("-")),
        phase_cell(entry, style),
        Cell::new(&entry.status.replicas.map_or_else(|| "-".to_owned(), format_ready)),
        Cell::new(endpoint.as_deref().unwrap_or("-")),
    ];
    if let Some(now) = staleness.now {
        let written = entry.observation.last_write.map(|write| format_age(now.seconds_since(write.time)));
        cells.push(Cell::new(written.as_deref().unwrap_or("-")));
    }
    cells.push(Cell::new(&entry.status.message));
    cells
}

/// Returns the parts that have lines of their own, with their states. Those of a model are in its message.
fn listed_parts(entry: &StatusEntry) -> impl Iterator<Item = (&StatusPart, &str)> {
    let parts = entry.state.iter().flat_map(|_| &entry.status.parts);
    parts.filter_map(|part| Some((part, part.state.as_deref()?)))
}

/// Formats a part as a line below its object.
fn format_part(part: &StatusPart, state: &str, staleness: StalenessPolicy) -> Vec<Cell> {
    let name = format!("  {}", part.name);
    let mut cells = vec!["", &name, "", &part.role, state, "", ""];
    cells.extend(staleness.now.map(|_| ""));
    let mut cells: Vec<Cell> = cells.into_iter().map(Cell::new).collect();
    // The last words of a container are several lines.
    cells.push(Cell::new(&part.message.split_whitespace().collect::<Vec<_>>().join(" ")));
    cells
}

fn phase_cell(entry: &StatusEntry, style: TextStyle) -> Cell {
    let word = entry.state.as_deref().unwrap_or_else(|| entry.status.phase.map_or("Unknown", Phase::as_str));
    let paint = match entry.status.phase {
        Some(Phase::Running) => Paint::Green,
        Some(Phase::Failed) => Paint::Red,
        Some(Phase::Pending | Phase::Deploying | Phase::Terminating) | None => Paint::Dim,
    };
    match entry.observation.stale {
        Some(true) => Cell::painted(&format!("{word} (stale)"), Paint::Red, style),
        Some(false) | None => Cell::painted(word, paint, style),
    }
}

/// Formats the ready and desired replicas: `1/2`. Providers that do not count ready replicas report available ones.
fn format_ready(replicas: Replicas) -> String {
    let number = |number: Option<i64>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
    format!("{}/{}", number(replicas.ready.or(replicas.available)), number(replicas.desired))
}
