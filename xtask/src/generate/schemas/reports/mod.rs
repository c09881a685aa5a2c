//! Schemas of the reports that `--output json` prints, derived from the structs that are written. A version of a report may
//! gain fields, so a reader must accept unknown ones.

mod simplify;

use kubefoundry_analysis::{drift, status};
use kubefoundry_diagnostics::render;
use kubefoundry_reports::{analyses, config, decisions, fit, images, import, migration, plan};
use schemars::generate::{Contract, SchemaSettings};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};

use crate::Failure;

/// Derives the schema of a struct.
type Derive = fn(&mut SchemaGenerator) -> Schema;

/// The file of each report, the title of its schema, and its struct.
const REPORTS: [(&str, &str, Derive); 13] = [
    ("diagnostics", "Diagnostics", SchemaGenerator::root_schema_for::<render::JsonReport<'static>>),
    ("decisions", "Decisions", SchemaGenerator::root_schema_for::<decisions::ExplainReport<'static>>),
    ("plan", "Plan", SchemaGenerator::root_schema_for::<plan::PlanReport<'static>>),
    ("fit", "Fit", SchemaGenerator::root_schema_for::<fit::FitReport<'static>>),
    ("images", "Images", SchemaGenerator::root_schema_for::<images::ImagesReport<'static>>),
    ("config", "Config", SchemaGenerator::root_schema_for::<config::ConfigReport<'static>>),
    ("import", "Import", SchemaGenerator::root_schema_for::<import::JsonReport<'static>>),
    ("migration", "Migration", SchemaGenerator::root_schema_for::<migration::MigrationReport<'static>>),
    ("status", "Statuses", SchemaGenerator::root_schema_for::<status::JsonReport<'static>>),
    ("drift", "Drift", SchemaGenerator::root_schema_for::<drift::JsonReport<'static>>),
    ("traces", "Traces", SchemaGenerator::root_schema_for::<analyses::TraceReport<'static>>),
    ("rule-analysis", "RuleAnalysis", SchemaGenerator::root_schema_for::<analyses::RuleReport<'static>>),
    ("why-not", "WhyNot", SchemaGenerator::root_schema_for::<analyses::WhyNotReport<'static>>),
];

/// Returns the schema of every report, with the name of its file.
pub(super) fn all() -> Result<Vec<(String, Value)>, Failure> {
    // Without references, because most places describe what they refer to.
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.contract = Contract::Serialize;
        settings.inline_subschemas = true;
    });
    let schema = |(name, title, derive): &(&str, &str, Derive)| {
        let mut schema = derive(&mut settings.clone().into_generator()).to_value();
        schema["title"] = json!(title);
        simplify::simplify(&mut schema)?;
        Ok(((*name).to_owned(), schema))
    };
    REPORTS.iter().map(schema).collect()
}
