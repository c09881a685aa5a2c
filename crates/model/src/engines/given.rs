//! What the user gave: `engine.args` and `engine.extraArgs`, cut into flags and their values.

use super::flags::{FlagKind, Repetition};
use super::launcher::Launcher;
use super::lookup::{Known, Meaning};
use crate::codes;
use crate::ir::Deployment;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;

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

/// `engine.args`, by name: a mapping has no order, so neither has what comes of it.
pub(super) fn from_mapping(deployment: &Deployment) -> Vec<Given<'_>> {
    let base = FieldPath::from(ModelDeployment::path().spec().engine().args());
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
pub(super) fn from_list<'u>(
    deployment: &'u Deployment,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) -> Vec<Given<'u>> {
    let base = FieldPath::from(ModelDeployment::path().spec().engine().extra_args());
    let mut given = Vec::new();
    // The unknown flag just before, which took no value.
    let mut unknown = None;
    let mut elements = deployment.engine.extra_args.iter().enumerate().peekable();
    while let Some((index, element)) = elements.next() {
        let path = base.index(index);
        let before: Option<&str> = unknown.take().filter(|_| !looks_like_flag(element));
        let Some(flag) = element.strip_prefix("--").filter(|flag| is_flag_name(flag.split('=').next().unwrap_or("")))
        else {
            let message = format!("{:?} is not a flag, expected --flag or --flag=value", shorten(element));
            let reported = findings.report(&codes::INVALID_EXTRA_ARGUMENT, &path, message);
            if let Some(flag) = before {
                let program = &launcher.program;
                let whole = shorten(&format!("--{flag}={element}"));
                reported.help(format!(
                    "write {whole:?}: --{flag} is not a known flag of {program}, so the next element is not its value"
                ));
            } else {
                reported.help(
                    "write a flag with its value, such as \"--seed=1\", or \"--seed\", \"1\"; write short flags in \
                     their long form",
                );
            }
            continue;
        };
        if let Some((name, value)) = flag.split_once('=') {
            given.push(Given { name, value: GivenValue::One(value), path, from_mapping: false });
            continue;
        }
        let mut values = Vec::new();
        match launcher.lookup(flag, false) {
            Meaning::One(Known { flag: known, .. })
                if matches!(known.kind, FlagKind::Value | FlagKind::OptionalValue) =>
            {
                let most = if known.repeat == Repetition::List { usize::MAX } else { 1 };
                while values.len() < most
                    && let Some((_, next)) = elements.next_if(|(_, next)| !looks_like_flag(next))
                {
                    values.push(next.as_str());
                }
            }
            // Where the rest are configuration keys, an unknown flag is refused.
            Meaning::Unknown if launcher.keys.is_none() => unknown = Some(flag),
            _ => {}
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

/// A bare flag name: kebab-case or snake_case. Dots would reach into nested settings past every check.
fn is_flag_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// Whether argument parsers take an element for a flag of its own: it starts with a dash and is no number (argparse's
/// rule). llama-server would take anything for a value, but a flag there is a slip, too.
pub(crate) fn looks_like_flag(element: &str) -> bool {
    element.strip_prefix('-').is_some_and(|rest| !is_plain_number(rest))
}

/// Digits with at most one point, which digits follow.
fn is_plain_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once('.') {
        Some((whole, decimals)) => (whole.is_empty() || digits(whole)) && digits(decimals),
        None => digits(text),
    }
}

#[cfg(test)]
mod tests {
    use super::looks_like_flag;

    #[test]
    fn negative_numbers_are_what_argparse_takes_for_values() {
        assert!(!["-1", "-20", "-0.5", "-.5", "1", ""].into_iter().any(looks_like_flag));
        assert!(["-", "-1e5", "-1.", "--1", "-x", "-inf", "-1-1", "-."].into_iter().all(looks_like_flag));
    }
}
