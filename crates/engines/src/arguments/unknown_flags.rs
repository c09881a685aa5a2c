//! Findings about flags and configuration keys that the program does not have, with what to write instead.

use super::lookup::Meaning;
use super::user_flags::UserFlag;
use crate::flags::{Replacement, ReplacingField, replacement};
use crate::launcher::{ConfigKeys, Launcher};
use crate::profile::EngineProfile;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;

/// Reports a flag that no table of the launcher has: an error where the version is exactly known, otherwise a warning.
pub(crate) fn report_unknown(
    user_flag: &UserFlag<'_>,
    name: &str,
    profile: Option<&'static EngineProfile>,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) {
    let other_version = if launcher.is_known_in_other_version(name) { " (another version has it)" } else { "" };
    let (program, consequence) = (&launcher.program, launcher.unknown_flag_consequence);
    let shown = shorten(name);
    let is_certain = launcher.is_exact && launcher.parsers.iter().all(|parser| !parser.table.is_uncertain());
    let (code, message) = if is_certain {
        let message =
            format!("--{shown} is not a flag of {program}{other_version}: with an unknown flag, {consequence}");
        (&codes::UNKNOWN_ARGUMENT, message)
    } else {
        let message = format!(
            "--{shown} is not a known flag of {program}{other_version}; it is passed on, but with an unknown flag, \
             {consequence}"
        );
        (&codes::DOUBTFUL_ARGUMENT, message)
    };
    let help = advice(name, profile, launcher);
    let reported = findings.report(code, FieldRef::key(&user_flag.path), message);
    if let Some(help) = help {
        reported.help(help);
    }
}

/// Reports a configuration key that the table of keys lacks. The table is not complete, so this is a warning.
pub(crate) fn report_unknown_key(
    user_flag: &UserFlag<'_>,
    key: &str,
    config_keys: &ConfigKeys,
    profile: &'static EngineProfile,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) {
    let name = key.replace('_', "-");
    let help = answer(&name, profile, launcher).or_else(|| {
        let suggestion = config_keys.table.suggest(key)?;
        Some(format!("did you mean {:?}?", suggestion.replace('-', "_")))
    });
    let message = format!(
        "{} is not a known configuration key of TensorRT-LLM; it is passed on, but with an unknown key, the engine \
         does not start",
        shorten(key)
    );
    let reported = findings.report(&codes::DOUBTFUL_ARGUMENT, FieldRef::key(&user_flag.path), message);
    if let Some(help) = help {
        reported.help(help);
    }
}

/// Returns what to write instead of a flag: the answer of the list, the replacement that the table of another version
/// names, or the closest name.
fn advice(name: &str, profile: Option<&'static EngineProfile>, launcher: &Launcher) -> Option<String> {
    if let Some(answer) = profile.and_then(|profile| answer(name, profile, launcher)) {
        return Some(answer);
    }
    if let Some(flags) = launcher.replacement(name) {
        // The provider may set the replacement itself, from a field that its refusal names.
        return Some(match launcher.refusal(flag_name(flags)) {
            Some(refused) => refused.help.to_owned(),
            None => format!("use {flags} instead"),
        });
    }
    let suggestion = launcher.suggest(name).filter(|suggestion| !is_opposite(name, suggestion))?;
    Some(format!("did you mean {suggestion:?}?"))
}

/// Returns the answer of the list of replacements, if this version has the replacing flags.
fn answer(name: &str, profile: &'static EngineProfile, launcher: &Launcher) -> Option<String> {
    match replacement(profile.table, name)? {
        Replacement::Field(field) => Some(format!("remove the flag, and set {}", field_path(field))),
        Replacement::Gone(reason) => Some(format!("remove the flag: {reason}")),
        Replacement::Flags(flags) => {
            let has = |flag: &str| matches!(launcher.lookup(flag_name(flag), false), Meaning::One(_));
            flags.split(' ').all(has).then(|| format!("use {flags} instead"))
        }
    }
}

/// Returns the name in the first flag of a replacement: `disaggregation-mode` of `--disaggregation-mode=decode`.
fn flag_name(flags: &str) -> &str {
    let first = flags.split(' ').next().unwrap_or(flags).trim_start_matches("--");
    first.split(['=', '.']).next().unwrap_or(first)
}

/// Returns whether two switches have opposite meanings: `disable-log-requests` and `enable-log-requests`.
fn is_opposite(name: &str, other: &str) -> bool {
    let (name_sign, name_stem) = split_sign(name);
    let (other_sign, other_stem) = split_sign(other);
    name_stem == other_stem && name_sign != other_sign
}

/// Splits off the prefix that decides what a switch does. The sign is whether it turns something on.
fn split_sign(name: &str) -> (bool, &str) {
    for prefix in ["disable-", "no-enable-", "no-"] {
        if let Some(stem) = name.strip_prefix(prefix) {
            return (false, stem);
        }
    }
    (true, name.strip_prefix("enable-").unwrap_or(name))
}

fn field_path(field: ReplacingField) -> FieldPath {
    let spec = || ModelDeployment::path().spec();
    match field {
        ReplacingField::ContextLength => spec().engine().context_length().into(),
        ReplacingField::EnablePrefixCaching => spec().engine().enable_prefix_caching().into(),
        ReplacingField::EnforceEager => spec().engine().enforce_eager().into(),
        ReplacingField::ModelId => spec().model().id().into(),
        ReplacingField::ServedName => spec().model().served_name().into(),
        ReplacingField::ServingMode => spec().serving().mode().into(),
        ReplacingField::TrustRemoteCode => spec().engine().trust_remote_code().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::is_opposite;

    #[test]
    fn opposites_are_no_suggestions() {
        assert!(is_opposite("disable-log-requests", "enable-log-requests"));
        assert!(is_opposite("no-enable-chunked-prefill", "enable-chunked-prefill"));
        assert!(!is_opposite("enable-log-request", "enable-log-requests"));
        assert!(!is_opposite("max-num-seq", "max-num-seqs"));
    }
}
