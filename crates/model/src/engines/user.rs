//! What the user says flag by flag: `engine.args` and `engine.extraArgs`, looked up in the runtime's tables.

use super::flags::{Flag, FlagKind, Spelling};
use super::given::{self, Given, GivenValue};
use super::invocation::{Argument, ArgumentValue, Invocation};
use super::launcher::{Launcher, Separate};
use super::lookup::{Known, Meaning};
use super::{config_keys, exposed, profile::EngineProfile, refused, value};
use crate::codes;
use crate::ir::Deployment;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_yaml::text::shorten;

/// Adds what `engine.args` and `engine.extraArgs` say.
pub(super) fn add(
    deployment: &Deployment,
    profile: &'static EngineProfile,
    launcher: &Launcher,
    invocation: &mut Invocation,
    findings: &mut Findings<'_>,
) {
    for given in given::from_mapping(deployment).into_iter().chain(given::from_list(deployment, launcher, findings)) {
        add_one(&given, profile, launcher, invocation, findings);
    }
}

fn add_one(
    given: &Given<'_>,
    profile: &'static EngineProfile,
    launcher: &Launcher,
    invocation: &mut Invocation,
    findings: &mut Findings<'_>,
) {
    if !is_safe(given, findings) || refused::prints_and_exits(given, launcher, findings) {
        return;
    }
    match launcher.lookup(given.name, given.from_mapping) {
        Meaning::One(known) => {
            if refused::is_refused(given, known.flag, profile, launcher, findings) {
                return;
            }
            exposed::warn(given, known.flag.name, launcher, findings);
            if let Some(value) = known_value(given, &known, launcher, findings) {
                append(
                    Argument { name: known.flag.name.to_owned(), value, path: given.path.clone() },
                    launcher,
                    invocation,
                    findings,
                );
            }
        }
        Meaning::Several(names) => report_ambiguous(given, &names, launcher, findings),
        Meaning::Unknown => match &launcher.keys {
            Some(keys) => config_keys::add(given, keys, launcher, invocation, findings),
            None => add_unknown(given, launcher, invocation, findings),
        },
    }
}

/// The value that argument parsers misread whatever its flag: exactly `--` (argparse strips it), NUL and line breaks.
fn is_safe(given: &Given<'_>, findings: &mut Findings<'_>) -> bool {
    let values: &[&str] = match &given.value {
        GivenValue::Nothing => &[],
        GivenValue::One(value) => std::slice::from_ref(value),
        GivenValue::Many(values) => values,
    };
    let unsafe_value = values.iter().find(|value| **value == "--" || value.contains(['\0', '\n', '\r']));
    if let Some(value) = unsafe_value {
        findings
            .report(
                &codes::UNSAFE_VALUE,
                &given.path,
                format!("--{} has the value {:?}, which argument parsers misread", given.name, shorten(value)),
            )
            .help("use a value other than \"--\", without NUL and line breaks");
    }
    unsafe_value.is_none()
}

/// The value for a flag of the table; `None` when a finding says why not, or when a switch is simply left off.
fn known_value(
    given: &Given<'_>,
    known: &Known,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) -> Option<ArgumentValue> {
    let Known { flag, spelling } = known;
    if flag.deprecated {
        let reported = findings.report(
            &codes::DEPRECATED_ARGUMENT,
            FieldRef::key(&given.path),
            format!("--{} is deprecated in {}", flag.name, launcher.program),
        );
        if let Some(replacement) = flag.replaced_by {
            reported.help(format!("use {replacement} instead"));
        }
    }
    match flag.kind {
        FlagKind::Switch | FlagKind::Pair => switch(given, flag, *spelling, findings),
        FlagKind::OptionalValue if given.value == GivenValue::Nothing => Some(ArgumentValue::On),
        FlagKind::Value | FlagKind::OptionalValue => value::known(given, flag, launcher, findings),
    }
}

fn switch(given: &Given<'_>, flag: &Flag, spelling: Spelling, findings: &mut Findings<'_>) -> Option<ArgumentValue> {
    let said = match &given.value {
        GivenValue::Nothing => true,
        GivenValue::One("true") if given.from_mapping => true,
        GivenValue::One("false") if given.from_mapping => false,
        _ => {
            let expected = if given.from_mapping { "\"true\", \"false\" or \"\"" } else { "no value" };
            findings.report(
                &codes::INVALID_ARGUMENT_VALUE,
                &given.path,
                format!("--{} is a switch, expected {expected}", given.name),
            );
            return None;
        }
    };
    let on = said == (spelling != Spelling::Off);
    match (on, flag.off) {
        (true, _) => Some(ArgumentValue::On),
        (false, Some(off)) => Some(ArgumentValue::Off(off.to_owned())),
        // A pure switch that is off is a switch that is not there.
        (false, None) => None,
    }
}

/// A flag outside the table is passed on: tables lag behind engines, and plugins add flags.
fn add_unknown(given: &Given<'_>, launcher: &Launcher, invocation: &mut Invocation, findings: &mut Findings<'_>) {
    let name = given.name.replace('_', "-");
    // Behind a `=` it could be nothing but a value.
    if launcher.separate == Separate::All
        && let GivenValue::One(text) = given.value
        && given::looks_like_flag(text)
    {
        let message =
            format!("--{name} has the value {:?}, which is read as a flag if --{name} takes no value", shorten(text));
        findings.report(&codes::UNSAFE_VALUE, &given.path, message).help(
            "remove the leading '-', or set that flag \
                                                                          separately",
        );
        return;
    }
    exposed::warn(given, &name, launcher, findings);
    if !launcher.further.contains(&name.as_str()) {
        report_unknown(given, &name, launcher, findings);
    }
    let value = match &given.value {
        GivenValue::Nothing => ArgumentValue::On,
        GivenValue::One(text) => value::unknown(text, launcher),
        GivenValue::Many(values) => ArgumentValue::List(values.iter().map(|value| (*value).to_owned()).collect()),
    };
    append(Argument { name, value, path: given.path.clone() }, launcher, invocation, findings);
}

fn report_unknown(given: &Given<'_>, name: &str, launcher: &Launcher, findings: &mut Findings<'_>) {
    let elsewhere = if launcher.is_known_in_other_version(name) { " (another version has it)" } else { "" };
    let reported = findings.report(
        &codes::UNKNOWN_ARGUMENT,
        FieldRef::key(&given.path),
        format!(
            "--{name} is not a known flag of {}{elsewhere}; it is passed on{}",
            launcher.program, launcher.consequence
        ),
    );
    if let Some(replacement) = launcher.replacement(name) {
        reported.help(format!("use {replacement}, the name in this version"));
    } else if let Some(suggestion) = launcher.suggest(name) {
        reported.help(format!("did you mean {suggestion:?}?"));
    }
}

/// How many flags a message lists.
const LISTED: usize = 5;

/// The program would refuse the name as ambiguous, or a later version of it take it for one of the flags.
fn report_ambiguous(given: &Given<'_>, names: &[&'static str], launcher: &Launcher, findings: &mut Findings<'_>) {
    let code = if given.from_mapping { &codes::INVALID_ARGUMENT_KEY } else { &codes::INVALID_EXTRA_ARGUMENT };
    let listed: Vec<String> = names.iter().take(LISTED).map(|name| format!("--{name}")).collect();
    let more = match names.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (name, program, listed) = (shorten(given.name), &launcher.program, listed.join(", "));
    let message = format!("--{name} abbreviates several flags of {program}: {listed}{more}");
    findings.report(code, FieldRef::key(&given.path), message).help("write the full name of the flag");
}

/// Adds an argument unless its flag is there already.
fn append(argument: Argument, launcher: &Launcher, invocation: &mut Invocation, findings: &mut Findings<'_>) {
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
    } else if value::is_acceptable(&argument, launcher, findings) {
        invocation.arguments.push(argument);
    }
}
