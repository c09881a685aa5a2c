//! `kubefoundry status`: how what is in a cluster runs, from a dump of it.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use kubefoundry_compiler::cluster_snapshot::time::{Time, format_age};
use kubefoundry_compiler::status::{StalenessPolicy, StatusEntry, StatusReport, to_json};
use kubefoundry_diagnostics::render::{self as diagnostics, TextStyle};
use kubefoundry_model::status::Replicas;
use kubefoundry_model::wire::Phase;

use super::{CommandError, findings};
use crate::args::{Now, ReportFormat, StatusArgs, TextFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::input::{self, Input};
use crate::style::{Paint, printable};
use crate::table::{Cell, table};

pub(super) fn run(args: &StatusArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let Input { sources, unread, .. } = input::read_dumps(&args.paths)?;
    for error in &unread {
        console::note(&format!("kubefoundry: {}\n", printable(&error.to_string())));
    }
    let judgement = StalenessPolicy { now: args.now.map(time), stale_after: args.stale_after };
    let report = StatusReport::read(&sources, judgement);
    match args.output {
        TextFormat::Text => {
            console::print([text(&report.statuses, judgement, console.stdout_style())])?;
            if report.statuses.is_empty() && report.diagnostics.is_empty() {
                console::note("The dump has no ModelDeployment, and no object that runs one.\n");
            }
            console::note(&match args.diagnostics.diagnostics {
                ReportFormat::Text => diagnostics::text(&report.diagnostics, &sources, console.stderr_style()),
                ReportFormat::Concise => diagnostics::concise(&report.diagnostics, &sources),
                ReportFormat::Json => diagnostics::json(&report.diagnostics, &sources, &[]),
            });
        }
        TextFormat::Json => {
            let found = findings(&report.diagnostics, &sources);
            console::print([format!("{:#}\n", to_json(&report, judgement, found))])?;
        }
    }
    // A file that was not read may have had anything in it. Everything that is wrong with a dump is an error.
    Ok(match (unread.is_empty(), report.diagnostics.is_empty()) {
        (false, _) => ExitStatus::Failure,
        (true, false) => ExitStatus::Findings,
        (true, true) => ExitStatus::Success,
    })
}

/// The one place where the clock is read, and only when asked to.
fn time(now: Now) -> Time {
    match now {
        Now::At(time) => time,
        Now::Clock => {
            let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
            Time(i64::try_from(seconds).unwrap_or(i64::MAX))
        }
    }
}

/// A table as kubectl prints it, and below it what does not fit into one.
fn text(statuses: &[StatusEntry], judgement: StalenessPolicy, style: TextStyle) -> String {
    if statuses.is_empty() {
        return String::new();
    }
    let mut names = vec!["NAMESPACE", "NAME", "PROVIDER", "RESOURCE", "PHASE", "READY", "ENDPOINT"];
    names.extend(judgement.now.map(|_| "UPDATED"));
    names.push("MESSAGE");
    let mut rows = vec![names.into_iter().map(Cell::new).collect()];
    rows.extend(statuses.iter().map(|entry| row(entry, judgement, style)));
    let table = table(&rows, 0);
    // An empty message leaves the last column empty.
    let mut out: String = table.lines().flat_map(|line| [line.trim_end(), "\n"]).collect();
    for entry in statuses {
        let name = entry.deployment.as_ref().or(entry.resource.as_ref());
        for note in &entry.notes {
            let name = name.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(out, "note: {}: {}", printable(&name), printable(note));
        }
    }
    out
}

fn row(entry: &StatusEntry, judgement: StalenessPolicy, style: TextStyle) -> Vec<Cell> {
    let named = entry.deployment.as_ref().or(entry.resource.as_ref());
    let endpoint = entry.status.endpoint.as_ref().map(|it| format!("{}:{}", it.service, it.port));
    let resource = entry.resource.as_ref().map(|resource| {
        // Its name, where it has another one.
        let same = entry.deployment.as_ref().is_none_or(|deployment| deployment.name == resource.name);
        if same { resource.kind.to_string() } else { format!("{}/{}", resource.kind, resource.name) }
    });
    let mut cells = vec![
        Cell::new(named.and_then(|named| named.namespace.as_deref()).unwrap_or("-")),
        Cell::new(named.map_or("-", |named| &named.name)),
        Cell::new(entry.provider.as_deref().unwrap_or("-")),
        Cell::new(resource.as_deref().unwrap_or("-")),
        phase(entry, style),
        Cell::new(&entry.status.replicas.map_or_else(|| "-".to_owned(), ready)),
        Cell::new(endpoint.as_deref().unwrap_or("-")),
    ];
    if let Some(now) = judgement.now {
        let written = entry.observation.last_write.map(|write| format_age(now.seconds_since(write.time)));
        cells.push(Cell::new(written.as_deref().unwrap_or("-")));
    }
    cells.push(Cell::new(&entry.status.message));
    cells
}

fn phase(entry: &StatusEntry, style: TextStyle) -> Cell {
    let word = entry.status.phase.map_or("Unknown", Phase::as_str);
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

/// `1/2`: ready, or where upstream counts no ready ones, available, of those that are wanted.
fn ready(replicas: Replicas) -> String {
    let number = |number: Option<i64>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
    format!("{}/{}", number(replicas.ready.or(replicas.available)), number(replicas.desired))
}
