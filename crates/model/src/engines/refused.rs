//! Flags that may not be given: they end the program, are not its own, or are set by something else.

use super::flags::{Flag, FlagGroup};
use super::given::Given;
use super::launcher::{Launcher, ServerFlagRefusal};
use super::profile::EngineProfile;
use crate::codes;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};

/// Flags with which a program prints something and exits: those of Python's argument parsers, and of llama.cpp
/// (common/arg.cpp).
const PRINT_AND_EXIT: &[&str] = &["cache-list", "completion-bash", "h", "help", "list-devices", "usage", "version"];

/// Whether a flag would make the program print and exit, where a server is wanted; it is reported. `--he` is as good as
/// `--help` where flags may be abbreviated.
pub(super) fn prints_and_exits(given: &Given<'_>, launcher: &Launcher, findings: &mut Findings<'_>) -> bool {
    let name = given.name.replace('_', "-");
    let abbreviates = launcher.parsers.iter().any(|parser| parser.abbreviates);
    let found = PRINT_AND_EXIT.contains(&name.as_str()) || (abbreviates && name.len() > 1 && "help".starts_with(&name));
    if found {
        report_print_and_exit(given, &name, launcher, findings);
    }
    found
}

fn report_print_and_exit(given: &Given<'_>, name: &str, launcher: &Launcher, findings: &mut Findings<'_>) {
    let message = format!("--{name} makes {} print something and exit", launcher.program);
    findings.report(&codes::FLAG_NOT_ACCEPTED, FieldRef::key(&given.path), message).help("remove the flag");
}

/// Whether a known flag may not be given here at all; it is reported.
pub(super) fn is_refused(
    given: &Given<'_>,
    flag: Flag,
    profile: &'static EngineProfile,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) -> bool {
    let name = flag.name;
    let place = || FieldRef::key(&given.path);
    // Spelled in part.
    if PRINT_AND_EXIT.contains(&name) {
        report_print_and_exit(given, name, launcher, findings);
        return true;
    }
    if let Some(refused) = launcher.refused.iter().copied().flatten().find(|refused| refused.flag == name) {
        findings.report(refused.code, place(), format!("--{name} {}", refused.why)).help(refused.help);
        return true;
    }
    if flag.group == FlagGroup::Frontend
        && let Some(ServerFlagRefusal { replacements, help }) = launcher.server_flags
    {
        let message = format!("{} does not accept the server flag --{name}", launcher.program);
        let reported = findings.report(&codes::FLAG_NOT_ACCEPTED, place(), message);
        if let Some((_, replacement)) = replacements.iter().find(|(flag, _)| *flag == name) {
            reported.help(format!("use --{replacement} instead"));
        } else {
            reported.help(help);
        }
        return true;
    }
    let model = ModelDeployment::path().spec().model();
    let field = if name == profile.model {
        model.id()
    } else if name == profile.served_name {
        model.served_name()
    } else {
        return false;
    };
    findings
        .report(&codes::RESERVED_ARGUMENT, place(), format!("--{name} is already set from {field}"))
        .help(format!("remove the flag; to change its value, set {field}"));
    true
}
