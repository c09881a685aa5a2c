//! The JSON report of `images`.

use std::collections::{BTreeMap, BTreeSet};

use kubefoundry_diagnostics::render::ReportVersion;
use serde::Serialize;

/// What `kubefoundry images --output json` prints.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImagesReport<'r> {
    /// The version of the report. It changes when a field changes its meaning or is removed.
    pub version: ReportVersion,
    /// Every image that the output uses, sorted.
    pub images: BTreeSet<&'r str>,
    /// The images of each environment, by its name, if the input is divided into several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub environments: BTreeMap<&'r str, BTreeSet<&'r str>>,
}
