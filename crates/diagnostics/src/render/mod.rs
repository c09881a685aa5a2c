//! Renders diagnostics: rustc-like snippets, one line each, JSON, and the formats of code hosts and CI systems.

mod checkout;
mod concise;
mod github;
mod gitlab;
mod json;
mod junit;
mod location;
mod position;
mod sarif;
mod stable_id;
mod text;

pub use checkout::Checkout;
pub use concise::concise;
pub use github::github;
pub use gitlab::gitlab;
pub use json::{
    CheckedSchema, JsonDiagnostic, JsonFindings, JsonReport, ReportVersion, json, json_findings, json_of_reported,
    to_object_report, to_report,
};
pub use junit::{TestCase, junit};
pub use position::{LineIndex, Position};
pub use sarif::sarif;
pub use text::{ReportGuide, TextStyle, report_parts, text, text_parts};
