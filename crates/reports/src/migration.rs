//! The JSON report of `migrate`.

use kubefoundry_convert::migrate::{MigratedDeployment, RegroupedText};
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_diagnostics::render::{JsonFindings, ReportVersion, json_findings, to_object_report};
use kubefoundry_diagnostics::source::SourceSet;
use serde::Serialize;

/// What `kubefoundry migrate --output json` prints.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MigrationReport<'r> {
    version: ReportVersion,
    /// With `--to`: one entry for each ModelDeployment; empty if there is an error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    moved: Vec<Moved<'r>>,
    /// With `--to-group`: every file that contains an object to move.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<Regrouped<'r>>,
    /// Every finding, by file, line and code.
    diagnostics: JsonFindings,
}

/// A ModelDeployment and its replacement.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Moved<'r> {
    /// The file, as it was given; `-` is standard input.
    file: &'r str,
    /// The position of the document in the file, from 0.
    document: usize,
    #[serde(flatten)]
    migration: &'r MigratedDeployment,
}

/// A file whose objects move to the other API group.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Regrouped<'r> {
    /// The file, as it was given; `-` is standard input.
    file: &'r str,
    #[serde(flatten)]
    migration: &'r RegroupedText,
}

/// Formats the deployments that moved to another provider, and the texts that moved to another API group.
pub fn json(
    moved: &[MigratedDeployment],
    texts: &[RegroupedText],
    diagnostics: &[Diagnostic],
    sources: &SourceSet,
) -> String {
    let moved = moved.iter().map(|migration| Moved {
        file: &sources.get(migration.source).name,
        document: migration.document,
        migration,
    });
    let files = texts.iter().map(|migration| Regrouped { file: &sources.get(migration.source).name, migration });
    to_object_report(&MigrationReport {
        version: ReportVersion,
        moved: moved.collect(),
        files: files.collect(),
        diagnostics: json_findings(diagnostics, sources),
    })
}
