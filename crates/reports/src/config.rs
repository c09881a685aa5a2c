//! The JSON report of `config`.

use kubefoundry_diagnostics::render::ReportVersion;
use serde::Serialize;
use serde_json::Value;

/// What `kubefoundry config --output json` prints.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfigReport<'r> {
    /// The version of the report. It changes when a field changes its meaning or is removed.
    pub version: ReportVersion,
    /// The options files that apply, the one that wins last.
    pub files: Vec<&'r str>,
    /// Every value that applies, by path.
    pub options: Vec<ResolvedOption<'r>>,
}

/// A value with the place that sets it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResolvedOption<'r> {
    /// The option, such as `runtimes.dynamo`.
    pub path: String,
    /// The value.
    pub value: Value,
    /// The file.
    pub file: &'r str,
    /// The line of the value, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub line: usize,
    /// The column of the value, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub column: usize,
}
