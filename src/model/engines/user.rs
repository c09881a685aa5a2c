//! What the user says flag by flag: `engine.args` and `engine.extraArgs`, looked up in the runtime's tables.

use super::flags::{Flag, Group, Kind, Repeat, Spelling};
use super::invocation::{Argument, ArgumentValue, Invocation};
use super::value;
use super::vocabulary::{Known, Vocabulary};
use super::{Launcher, config_keys, grammar::Grammar};
use crate::diagnostic::{Findings, Place, codes};
use crate::model::ir::Deployment;
use crate::path::FieldPath;
use crate::wire::shorten;

/// One flag as the user gave it.
#[derive(Debug)]
pub(super) struct Given<'u> {
    /// The name as written, without leading dashes.
    pub(super) name: &'u str,
    /// What it was given.
    pub(super) value: GivenValue<'u>,
    /// Where.
    pub(super) path: FieldPath,
    /// Whether it comes from the `args` mapping, where a switch is turned by `""`, `"true"` and `"false"`.
    pub(super) from_mapping: bool,
}

/// What a flag was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GivenValue<'u> {
    /// Nothing: `--flag`, or `flag: ""`.
    Nothing,
    /// One value.
    One(&'u str),
    /// Several (`--flag a b`), for flags that take a list.
    Many(Vec<&'u str>),
}

/// Adds what `engine.args` and `engine.extraArgs` say.
pub(super) fn add(
    deployment: &Deployment,
    grammar: &'static Grammar,
    vocabulary: &Vocabulary<'_>,
    invocation: &mut Invocation,
    findings: &mut Findings<'_>,
) {
    for given in from_mapping(deployment).into_iter().chain(from_list(deployment, vocabulary, findings)) {
        add_one(&given, grammar, vocabulary, invocation, findings);
    }
}

/// `engine.args`, by name: a mapping has no order, so neither has what comes of it.
fn from_mapping(deployment: &Deployment) -> Vec<Given<'_>> {
    let base = FieldPath::parse("spec.engine.args");
    let mut given: Vec<Given<'_>> = deployment
        .engine
        .args
        .iter()
        .map(|(name, value)| Given {
            name,
            value: if value.is_empty() { GivenValue::Nothing } else { GivenValue::One(value) },
            path: base.key(name.clone()),
            from_mapping: true,
        })
        .collect();
    given.sort_by_key(|given| given.name.replace('_', "-"));
    given
}

/// `engine.extraArgs`: `--flag`, `--flag=value`, or a flag followed by its values where the table says it takes some.
fn from_list<'u>(
    deployment: &'u Deployment,
    vocabulary: &Vocabulary<'_>,
    findings: &mut Findings<'_>,
) -> Vec<Given<'u>> {
    let base = FieldPath::parse("spec.engine.extraArgs");
    let mut given = Vec::new();
    let mut elements = deployment.engine.extra_args.iter().enumerate().peekable();
    while let Some((index, element)) = elements.next() {
        let path = base.index(index);
        let Some(flag) = element.strip_prefix("--").filter(|flag| is_flag_name(flag.split('=').next().unwrap_or("")))
        else {
            findings
                .report(
                    &codes::INVALID_EXTRA_ARGUMENT,
                    &path,
                    format!("{:?} is not a flag, expected --flag or --flag=value", shorten(element)),
                )
                .help("a value follows its flag: \"--seed=1\", or \"--seed\", \"1\"; short flags are written long");
            continue;
        };
        if let Some((name, value)) = flag.split_once('=') {
            given.push(Given { name, value: GivenValue::One(value), path, from_mapping: false });
            continue;
        }
        let mut values = Vec::new();
        if let Some(Known { flag: known, .. }) = vocabulary.lookup(flag)
            && matches!(known.kind, Kind::Value | Kind::OptionalValue)
        {
            // One value is written behind a `=`, where it cannot be a flag; several are elements of their own.
            let is_list = known.repeat == Repeat::List;
            let most = if is_list { usize::MAX } else { 1 };
            let is_flag = |next: &str| if is_list { looks_like_flag(next) } else { next.starts_with("--") };
            while values.len() < most
                && let Some((_, next)) = elements.next_if(|(_, next)| !is_flag(next))
            {
                values.push(next.as_str());
            }
        }
        let value = match values.as_slice() {
            [] => GivenValue::Nothing,
            [one] => GivenValue::One(one),
            _ => GivenValue::Many(values),
        };
        given.push(Given { name: flag, value, path, from_mapping: false });
    }
    given
}

/// Whether an argument parser takes an element of its own for a flag: it starts with `-` and is no number.
pub(super) fn looks_like_flag(element: &str) -> bool {
    element.starts_with('-')
        && !(element.ends_with(|end: char| end.is_ascii_digit())
            && element.bytes().skip(1).all(|byte| byte.is_ascii_digit() || byte == b'.')
            && element.matches('.').count() <= 1)
}

/// A bare flag name: kebab-case or snake_case. Dots would reach into nested settings past every check.
fn is_flag_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

fn add_one(
    given: &Given<'_>,
    grammar: &'static Grammar,
    vocabulary: &Vocabulary<'_>,
    invocation: &mut Invocation,
    findings: &mut Findings<'_>,
) {
    if !is_safe(given, findings) {
        return;
    }
    match vocabulary.lookup(given.name) {
        Some(known) => {
            if refuse(given, &known, grammar, vocabulary, findings) {
                return;
            }
            if let Some(value) = known_value(given, &known, vocabulary, findings) {
                append(
                    Argument { name: known.flag.name.to_owned(), value, path: given.path.clone() },
                    vocabulary,
                    invocation,
                    findings,
                );
            }
        }
        None if vocabulary.keys.is_some() => config_keys::add(given, vocabulary, invocation, findings),
        None => add_unknown(given, vocabulary, invocation, findings),
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
                format!("--{} is given {:?}, which argument parsers misread", given.name, shorten(value)),
            )
            .help("a value may not be \"--\" and may not contain NUL or line breaks");
    }
    unsafe_value.is_none()
}

/// Whether a known flag may not be given here at all.
fn refuse(
    given: &Given<'_>,
    known: &Known,
    grammar: &'static Grammar,
    vocabulary: &Vocabulary<'_>,
    findings: &mut Findings<'_>,
) -> bool {
    let name = known.flag.name;
    if known.flag.group == Group::Frontend && vocabulary.refuses_server_flags {
        let reported = findings.report(
            &codes::FLAG_NOT_ACCEPTED,
            Place::key(&given.path),
            format!("{} does not take the server flag --{name}", vocabulary.program),
        );
        if let Some(replacement) = super::flags::wrapper_replacement(name) {
            reported.help(format!("its own flag for that is --{replacement}"));
        } else {
            reported.help("the OpenAI server is the Frontend component; remove the flag");
        }
        return true;
    }
    let field = if name == grammar.model {
        "spec.model.id"
    } else if name == grammar.served_name {
        "spec.model.servedName"
    } else {
        return false;
    };
    findings
        .report(
            &codes::RESERVED_ARGUMENT,
            Place::key(&given.path),
            format!("--{name} is set by {field}, expected it there only"),
        )
        .help(format!("set {field} and remove this"));
    true
}

/// The value for a flag of the table; `None` when a finding says why not, or when a switch is simply left off.
fn known_value(
    given: &Given<'_>,
    known: &Known,
    vocabulary: &Vocabulary<'_>,
    findings: &mut Findings<'_>,
) -> Option<ArgumentValue> {
    let Known { flag, spelling } = known;
    if flag.deprecated {
        let reported = findings.report(
            &codes::DEPRECATED_ARGUMENT,
            Place::key(&given.path),
            format!("--{} is deprecated in {}", flag.name, vocabulary.program),
        );
        if let Some(replacement) = flag.replaced_by {
            reported.help(format!("use {replacement}"));
        }
    }
    match flag.kind {
        Kind::Switch | Kind::Pair => switch(given, flag, *spelling, findings),
        Kind::OptionalValue if given.value == GivenValue::Nothing => Some(ArgumentValue::On),
        Kind::Value | Kind::OptionalValue => value::known(given, flag, vocabulary, findings),
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
fn add_unknown(
    given: &Given<'_>,
    vocabulary: &Vocabulary<'_>,
    invocation: &mut Invocation,
    findings: &mut Findings<'_>,
) {
    let name = given.name.replace('_', "-");
    if let (Launcher::LlamaServer, GivenValue::One(text)) = (vocabulary.launcher, &given.value)
        && looks_like_flag(text)
    {
        let message = format!("--{name} is given {:?}, which is a flag if --{name} takes no value", shorten(text));
        findings.report(&codes::UNSAFE_VALUE, &given.path, message).help("leave the '-' away, or set that flag itself");
        return;
    }
    let elsewhere = if vocabulary.known_elsewhere(&name) { ", another version has it" } else { "" };
    let reported = findings.report(
        &codes::UNKNOWN_ARGUMENT,
        Place::key(&given.path),
        format!("--{name} is not a known flag of {}{elsewhere}; it is passed on", vocabulary.program),
    );
    if let Some(replacement) = vocabulary.replacement(&name) {
        reported.help(format!("this version has {replacement} instead"));
    } else if let Some(suggestion) = vocabulary.suggest(&name) {
        reported.help(format!("did you mean {suggestion:?}?"));
    }
    let value = match &given.value {
        GivenValue::Nothing => ArgumentValue::On,
        GivenValue::One(text) => value::unknown(text, vocabulary),
        GivenValue::Many(values) => ArgumentValue::List(values.iter().map(|value| (*value).to_owned()).collect()),
    };
    append(Argument { name, value, path: given.path.clone() }, vocabulary, invocation, findings);
}

/// Adds an argument unless its flag is there already.
fn append(argument: Argument, vocabulary: &Vocabulary<'_>, invocation: &mut Invocation, findings: &mut Findings<'_>) {
    if let Some(first) = invocation.get(&argument.name) {
        let first = first.path.clone();
        findings
            .report(
                &codes::DUPLICATE_FLAG,
                Place::key(&argument.path),
                format!("--{} is given twice: here and by {first}", argument.name),
            )
            .related(&first, "first given here")
            .help("remove one of the two");
    } else if value::is_acceptable(&argument, vocabulary, findings) {
        invocation.arguments.push(argument);
    }
}
