//! Arguments that choose which findings a command reports.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Args as ClapArgs, Command, Error, ValueEnum};
use kubefoundry::registry;
use kubefoundry_diagnostics::{Code, Diagnostic, Severity};
use kubefoundry_yaml::text::closest;
use serde_json::{Map, Value};

use super::FailOn;

#[derive(Debug, Default, Clone, ClapArgs)]
#[command(next_help_heading = "Findings")]
pub(crate) struct FindingArgs {
    /// Report only errors, without notes and a summary
    ///
    /// Findings that fail the run (--fail-on) and files that cannot be read are reported all the same.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Report only these warnings and infos, besides every error: codes or names, comma separated
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = CodeParser { allows_errors: true })]
    #[arg(hide_possible_values = true)]
    pub(crate) select: Vec<&'static Code>,

    /// Do not report these warnings and infos: codes or names, comma separated
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = CodeParser { allows_errors: false })]
    #[arg(hide_possible_values = true)]
    pub(crate) ignore: Vec<&'static Code>,

    /// Report only findings of at least this severity
    ///
    /// Findings that fail the run (--fail-on) are reported all the same.
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t)]
    pub(crate) min_severity: MinSeverity,
}

/// The severity of the least severe findings that are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum MinSeverity {
    /// Only errors
    Error,
    /// Errors and warnings
    Warning,
    /// All findings
    #[default]
    Info,
}

impl FindingArgs {
    /// Returns the least severe findings that are reported. Those that fail the run are never hidden.
    pub(crate) fn threshold(&self, fail_on: FailOn) -> Severity {
        let wanted = match self.min_severity {
            _ if self.quiet => Severity::Error,
            MinSeverity::Error => Severity::Error,
            MinSeverity::Warning => Severity::Warning,
            MinSeverity::Info => Severity::Info,
        };
        fail_on.severity().map_or(wanted, |failing| wanted.max(failing))
    }

    /// Whether a code is reported. Errors are always reported.
    fn is_on(&self, code: &Code) -> bool {
        let is_selected = self.select.is_empty() || self.select.iter().any(|selected| selected.id == code.id);
        code.severity == Severity::Error || (is_selected && !self.ignore.iter().any(|ignored| ignored.id == code.id))
    }

    /// Whether all codes and severities are reported.
    pub(crate) fn has_every_finding(&self) -> bool {
        !self.quiet && self.min_severity == MinSeverity::Info && self.select.is_empty() && self.ignore.is_empty()
    }

    /// Adds the option that turns off the codes that are not reported. With it, `--strict` does not make an error of an
    /// ignored warning.
    pub(crate) fn add_severities(&self, mut options: Map<String, Value>) -> Map<String, Value> {
        let off = registry::codes().filter(|code| !self.is_on(code));
        let severities: Map<String, Value> = off.map(|code| (code.id.to_owned(), Value::from("off"))).collect();
        if !severities.is_empty() {
            options.insert("severities".to_owned(), severities.into());
        }
        options
    }

    /// Removes the findings that are not reported, and returns the number of those that are not severe enough.
    pub(crate) fn retain(&self, findings: &mut Vec<Diagnostic>, fail_on: FailOn) -> usize {
        findings.retain(|finding| finding.severity == Severity::Error || self.is_on(finding.code));
        let (threshold, before) = (self.threshold(fail_on), findings.len());
        findings.retain(|finding| finding.severity <= threshold);
        before - findings.len()
    }
}

/// Parses a diagnostic code or its name.
#[derive(Debug, Clone, Copy)]
struct CodeParser {
    allows_errors: bool,
}

impl TypedValueParser for CodeParser {
    type Value = &'static Code;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<Self::Value, Error> {
        let parse = if self.allows_errors { parse_code } else { parse_ignorable_code };
        TypedValueParser::parse_ref(&parse, command, argument, value)
    }

    /// Returns the codes that shells complete.
    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let codes = registry::codes().filter(|code| self.allows_errors || code.severity != Severity::Error);
        Some(Box::new(codes.map(|code| PossibleValue::new(code.id).help(code.summary))))
    }
}

fn parse_code(text: &str) -> Result<&'static Code, String> {
    registry::code(text).or_else(|| registry::code(&text.to_ascii_uppercase())).ok_or_else(|| {
        let meant = closest(text, registry::codes().flat_map(|code| [code.name, code.id]));
        let meant = meant.map(|meant| format!("; did you mean {meant:?}?")).unwrap_or_default();
        format!("there is no such diagnostic, expected a code or its name{meant}")
    })
}

fn parse_ignorable_code(text: &str) -> Result<&'static Code, String> {
    let code = parse_code(text)?;
    if code.severity == Severity::Error {
        return Err(format!("{} ({}) is an error; only warnings and infos can be ignored", code.id, code.name));
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What decides the exit status is never hidden.
    #[test]
    fn findings_that_fail_the_run_are_reported() {
        let quiet = FindingArgs { quiet: true, ..FindingArgs::default() };
        assert_eq!(quiet.threshold(FailOn::Never), Severity::Error);
        assert_eq!(quiet.threshold(FailOn::Error), Severity::Error);
        assert_eq!(quiet.threshold(FailOn::Warning), Severity::Warning);
        assert_eq!(quiet.threshold(FailOn::Info), Severity::Info);
        let all = FindingArgs::default();
        assert_eq!(all.threshold(FailOn::Error), Severity::Info);
        let warnings = FindingArgs { min_severity: MinSeverity::Warning, ..FindingArgs::default() };
        assert_eq!(warnings.threshold(FailOn::Error), Severity::Warning);
    }
}
