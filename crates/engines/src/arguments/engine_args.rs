//! Resolves the flags of `engine.args` and `engine.extraArgs` with the flag tables of the runtime.

use super::lookup::{KnownFlag, Meaning};
use super::user_flags::{self, UserFlag, UserFlagValue};
use super::{config_keys, exposed_secrets, flag_value, refused_flags, unknown_flags};
use crate::flags::{Flag, FlagKind, Spelling};
use crate::invocation::{Argument, ArgumentValue, Invocation};
use crate::launcher::{Launcher, SeparateValues};
use crate::profile::EngineProfile;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, Worker};
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;
use serde::de::IgnoredAny;

/// Adds the arguments of `engine.args`, then those of `engine.extraArgs`, each with those of the worker's role.
pub(crate) fn add_engine_args(
    deployment: &Deployment,
    worker: &Worker,
    profile: &'static EngineProfile,
    launcher: &Launcher,
    invocation: &mut Invocation,
    findings: &mut Findings<'_>,
) {
    let named = user_flags::from_args(deployment, worker, launcher, findings);
    for user_flag in named.into_iter().chain(user_flags::from_extra_args(deployment, worker, launcher, findings)) {
        add_flag(&user_flag, Some(profile), launcher, invocation, findings);
    }
}

/// Adds flags of a program beside the engine, which no field of the engine sets.
pub(crate) fn add_program_args(
    arguments: &[(String, String)],
    path: &FieldPath,
    launcher: &Launcher,
    invocation: &mut Invocation,
    findings: &mut Findings<'_>,
) {
    for user_flag in user_flags::from_mapping(arguments, path) {
        add_flag(&user_flag, None, launcher, invocation, findings);
    }
}

/// Checks one flag and adds it: a known flag, a configuration key, or an unknown flag to pass on. A program without a
/// profile is not an engine.
fn add_flag(
    user_flag: &UserFlag<'_>,
    profile: Option<&'static EngineProfile>,
    launcher: &Launcher,
    invocation: &mut Invocation,
    findings: &mut Findings<'_>,
) {
    let meaning = launcher.lookup(user_flag.name, user_flag.from_mapping);
    if !is_safe(user_flag, &meaning, findings) || refused_flags::prints_and_exits(user_flag, launcher, findings) {
        return;
    }
    match meaning {
        Meaning::One(known) => {
            if refused_flags::is_refused(user_flag, known.flag, profile, launcher, findings) {
                return;
            }
            exposed_secrets::warn_about_secret(user_flag, known.flag.name, launcher, findings);
            if let Some(value) = convert_value(user_flag, &known, launcher, findings) {
                push_argument(
                    Argument { name: known.flag.name.to_owned(), value, path: user_flag.path.clone() },
                    launcher,
                    invocation,
                    findings,
                );
            }
        }
        Meaning::Several(names) => report_ambiguous(user_flag, &names, launcher, findings),
        Meaning::Unknown => match (&launcher.config_keys, profile) {
            (Some(keys), Some(profile)) => {
                config_keys::add_config_key(user_flag, keys, profile, launcher, invocation, findings);
            }
            _ => add_unknown(user_flag, profile, launcher, invocation, findings),
        },
    }
}

/// Checks for values that argument parsers misread with any flag: exactly `--` (argparse strips it), NUL and line
/// breaks. Returns whether there is none. Valid JSON may have line breaks, because it is written again without them.
fn is_safe(user_flag: &UserFlag<'_>, meaning: &Meaning, findings: &mut Findings<'_>) -> bool {
    let values: &[&str] = match &user_flag.value {
        UserFlagValue::Absent => &[],
        UserFlagValue::Single(value) => std::slice::from_ref(value),
        UserFlagValue::Several(values) => values,
    };
    let is_json = |value: &str| match meaning {
        Meaning::One(known) => known.flag.takes_json() && serde_json::from_str::<IgnoredAny>(value).is_ok(),
        Meaning::Several(_) | Meaning::Unknown => false,
    };
    let unsafe_value =
        values.iter().find(|value| **value == "--" || value.contains(['\0', '\n', '\r']) && !is_json(value));
    if let Some(value) = unsafe_value {
        findings
            .report(
                &codes::UNSAFE_VALUE,
                &user_flag.path,
                format!("--{} has the value {:?}, which argument parsers misread", user_flag.name, shorten(value)),
            )
            .help("use a value other than \"--\", without NUL and line breaks");
    }
    unsafe_value.is_none()
}

/// Converts the value of a known flag. Returns `None` after reporting an error, and for a switch that is off and has no
/// off form.
fn convert_value(
    user_flag: &UserFlag<'_>,
    known: &KnownFlag,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) -> Option<ArgumentValue> {
    let KnownFlag { flag, spelling } = known;
    if flag.deprecated {
        let reported = findings.report(
            &codes::DEPRECATED_ARGUMENT,
            FieldRef::key(&user_flag.path),
            format!("--{} is deprecated in {}", flag.name, launcher.program),
        );
        if let Some(replacement) = flag.replaced_by {
            reported.help(format!("use {replacement} instead"));
        }
    }
    match flag.kind {
        FlagKind::Switch | FlagKind::Pair => convert_switch(user_flag, flag, *spelling, findings),
        FlagKind::OptionalValue if user_flag.value == UserFlagValue::Absent => Some(ArgumentValue::On),
        FlagKind::Value | FlagKind::OptionalValue => flag_value::convert_known(user_flag, flag, launcher, findings),
    }
}

/// Converts the value of a switch. Returns `None` after reporting another value, and for a switch that is off by its
/// absence.
fn convert_switch(
    user_flag: &UserFlag<'_>,
    flag: &Flag,
    spelling: Spelling,
    findings: &mut Findings<'_>,
) -> Option<ArgumentValue> {
    let is_set = match &user_flag.value {
        UserFlagValue::Absent => true,
        UserFlagValue::Single("true") if user_flag.from_mapping => true,
        UserFlagValue::Single("false") if user_flag.from_mapping => false,
        _ => {
            let expected = if user_flag.from_mapping { "\"true\", \"false\" or \"\"" } else { "no value" };
            findings.report(
                &codes::INVALID_ARGUMENT_VALUE,
                &user_flag.path,
                format!("--{} is a switch, expected {expected}", user_flag.name),
            );
            return None;
        }
    };
    let is_on = is_set == (spelling != Spelling::Off);
    match (is_on, flag.off) {
        (true, _) => Some(ArgumentValue::On),
        (false, Some(off)) => Some(ArgumentValue::Off(off.to_owned())),
        // A switch without an off form is turned off by its absence.
        (false, None) => None,
    }
}

/// Passes on a flag that no table has. The finding about it is an error where the tables are complete.
fn add_unknown(
    user_flag: &UserFlag<'_>,
    profile: Option<&'static EngineProfile>,
    launcher: &Launcher,
    invocation: &mut Invocation,
    findings: &mut Findings<'_>,
) {
    let name = user_flag.name.replace('_', "-");
    // Written as `--flag=value` it could only be a value; as two elements it may be read as a second flag.
    if launcher.separate_values == SeparateValues::All
        && let UserFlagValue::Single(text) = user_flag.value
        && user_flags::looks_like_flag(text)
    {
        let message =
            format!("--{name} has the value {:?}, which is read as a flag if --{name} takes no value", shorten(text));
        findings.report(&codes::UNSAFE_VALUE, &user_flag.path, message).help(
            "remove the leading '-', or set that flag \
                                                                          separately",
        );
        return;
    }
    exposed_secrets::warn_about_secret(user_flag, &name, launcher, findings);
    let is_checked_elsewhere = launcher.provider_prefix.is_some_and(|prefix| name.starts_with(prefix));
    if !is_checked_elsewhere && !launcher.extra_flags.contains(&name.as_str()) {
        unknown_flags::report_unknown(user_flag, &name, profile, launcher, findings);
    }
    let value = match &user_flag.value {
        UserFlagValue::Absent => ArgumentValue::On,
        UserFlagValue::Single(text) => flag_value::convert_unknown(text, launcher),
        UserFlagValue::Several(values) => ArgumentValue::List(values.iter().map(|value| (*value).to_owned()).collect()),
    };
    push_argument(Argument { name, value, path: user_flag.path.clone() }, launcher, invocation, findings);
}

/// The number of flags that the message about an ambiguous name lists.
const MAX_LISTED_FLAGS: usize = 5;

/// Reports an ambiguous abbreviation. The program would refuse it, and a later version may resolve it to any of the
/// flags.
fn report_ambiguous(
    user_flag: &UserFlag<'_>,
    names: &[&'static str],
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) {
    let code = if user_flag.from_mapping { &codes::INVALID_ARGUMENT_KEY } else { &codes::INVALID_EXTRA_ARGUMENT };
    let listed: Vec<String> = names.iter().take(MAX_LISTED_FLAGS).map(|name| format!("--{name}")).collect();
    let more = match names.len().saturating_sub(MAX_LISTED_FLAGS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (name, program, listed) = (shorten(user_flag.name), &launcher.program, listed.join(", "));
    let message = format!("--{name} abbreviates several flags of {program}: {listed}{more}");
    findings.report(code, FieldRef::key(&user_flag.path), message).help("write the full name of the flag");
}

/// Adds an argument, or reports that its flag is already set.
fn push_argument(argument: Argument, launcher: &Launcher, invocation: &mut Invocation, findings: &mut Findings<'_>) {
    if let Some(first) = invocation.get(&argument.name) {
        let first = first.path.clone();
        findings
            .report(
                &codes::DUPLICATE_FLAG,
                FieldRef::key(&argument.path),
                format!("--{} is set twice: here and by {first}", argument.name),
            )
            .related(&first, "first set here")
            .help("remove one of the two");
    } else if flag_value::is_acceptable(&argument, launcher, findings) {
        invocation.arguments.push(argument);
    }
}
