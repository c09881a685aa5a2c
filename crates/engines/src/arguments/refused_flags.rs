//! Flags that users may not set: they end the program, belong to another program, or are set by a field or the
//! provider.

use super::user_flags::UserFlag;
use crate::flags::{Flag, FlagGroup};
use crate::launcher::{Launcher, ServerFlagRefusal};
use crate::profile::EngineProfile;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};

/// Flags with which a program prints something and exits: those of Python's argument parsers, and of llama.cpp
/// (common/arg.cpp).
const PRINT_AND_EXIT: &[&str] = &["cache-list", "completion-bash", "h", "help", "list-devices", "usage", "version"];

/// Reports a flag that makes the program print something and exit instead of serving. Returns whether the flag is one.
/// An abbreviation such as `--he` counts where the program expands it.
pub(crate) fn prints_and_exits(user_flag: &UserFlag<'_>, launcher: &Launcher, findings: &mut Findings<'_>) -> bool {
    let name = user_flag.name.replace('_', "-");
    let abbreviates = launcher.parsers.iter().any(|parser| parser.abbreviates);
    let is_refused =
        PRINT_AND_EXIT.contains(&name.as_str()) || (abbreviates && name.len() > 1 && "help".starts_with(&name));
    if is_refused {
        report_print_and_exit(user_flag, &name, launcher, findings);
    }
    is_refused
}

fn report_print_and_exit(user_flag: &UserFlag<'_>, name: &str, launcher: &Launcher, findings: &mut Findings<'_>) {
    let message = format!("--{name} makes {} print something and exit", launcher.program);
    findings.report(&codes::FLAG_NOT_ACCEPTED, FieldRef::key(&user_flag.path), message).help("remove the flag");
}

/// Reports a known flag that users may not set with this launcher. Returns whether it is one.
pub(crate) fn is_refused(
    user_flag: &UserFlag<'_>,
    flag: Flag,
    profile: Option<&'static EngineProfile>,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) -> bool {
    let name = flag.name;
    let place = || FieldRef::key(&user_flag.path);
    // An abbreviation has been expanded since `prints_and_exits` saw the written name.
    if PRINT_AND_EXIT.contains(&name) {
        report_print_and_exit(user_flag, name, launcher, findings);
        return true;
    }
    if let Some(refused) = launcher.refusal(name) {
        findings.report(refused.code, place(), format!("--{name} {}", refused.why)).help(refused.help);
        return true;
    }
    if flag.group == FlagGroup::Frontend
        && let Some(ServerFlagRefusal { replacements, help }) = launcher.server_flag_refusal
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
    let Some(profile) = profile else { return false };
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
