//! The JSON reports of `explain --trace`, `--rules` and `--why-not`.

use kubefoundry_analysis::selection_analysis::{Analysis, WhyNot};
use kubefoundry_analysis::trace::Trace;
use kubefoundry_diagnostics::render::{JsonFindings, ReportVersion};
use serde::Serialize;

/// What `kubefoundry explain --trace --output json` prints.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceReport<'r> {
    /// The version of the report. It changes when a field changes its meaning or is removed.
    pub version: ReportVersion,
    /// One entry for each ModelDeployment, in input order.
    pub traces: &'r [Located<'r, Trace>],
    /// Every finding, by file, line and code.
    pub diagnostics: JsonFindings,
}

/// What `kubefoundry explain --rules --output json` prints.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleReport<'r> {
    /// The version of the report. It changes when a field changes its meaning or is removed.
    pub version: ReportVersion,
    /// The result; null if the provider configurations are invalid.
    pub analysis: Option<&'r Analysis>,
    /// Every finding, by file, line and code.
    pub diagnostics: JsonFindings,
}

/// What `kubefoundry explain --why-not PROVIDER --output json` prints.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhyNotReport<'r> {
    /// The version of the report. It changes when a field changes its meaning or is removed.
    pub version: ReportVersion,
    /// One entry for each ModelDeployment, in input order.
    pub answers: &'r [Located<'r, WhyNot>],
    /// Every finding, by file, line and code.
    pub diagnostics: JsonFindings,
}

/// What is reported about one object of the input, with the location of the name of the object.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(description = ""))]
pub struct Located<'r, T> {
    /// The file, as it was given; `-` is standard input.
    pub file: &'r str,
    /// The position of the document in the file, from 0.
    pub document: usize,
    /// The line of its name, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub line: usize,
    /// The column of its name, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub column: usize,
    /// The report.
    #[serde(flatten)]
    pub report: T,
}
