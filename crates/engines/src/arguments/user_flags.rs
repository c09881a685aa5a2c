//! Splits `engine.args` and `engine.extraArgs` into flags and their values.

use super::lookup::{KnownFlag, Meaning};
use crate::flags::{FlagKind, Repetition};
use crate::launcher::Launcher;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, Worker};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;

/// A flag as the user wrote it.
#[derive(Debug)]
pub(crate) struct UserFlag<'u> {
    /// The name as written, without leading dashes: kebab-case or snake_case, perhaps abbreviated.
    pub(crate) name: &'u str,
    pub(crate) value: UserFlagValue<'u>,
    pub(crate) path: FieldPath,
    /// Whether the flag comes from the `args` mapping, where a switch takes `""`, `"true"` or `"false"`.
    pub(crate) from_mapping: bool,
}

/// The value of a flag as the user wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UserFlagValue<'u> {
    /// `--flag`, or `flag: ""`.
    Absent,
    Single(&'u str),
    /// `--flag a b`, for flags that take a list.
    Several(Vec<&'u str>),
}

/// Returns the flags of `engine.args`, and those of the worker's role, which replace flags of the same meaning and
/// remove those that they set to `null`.
pub(crate) fn from_args<'u>(
    deployment: &'u Deployment,
    worker: &'u Worker,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) -> Vec<UserFlag<'u>> {
    let common = from_mapping(&deployment.engine.args, &ModelDeployment::path().spec().engine().args());
    let Some(path) = worker.role_path().filter(|_| !worker.engine.args.is_empty()) else { return common };
    let base = FieldPath::from(path.engine().args());
    let mut common: Vec<(String, UserFlag<'u>)> =
        common.into_iter().map(|flag| (canonical_name(flag.name, launcher), flag)).collect();
    let mut own = Vec::new();
    for (name, value) in &worker.engine.args {
        let meaning = canonical_name(name, launcher);
        let count = common.len();
        common.retain(|(other, _)| *other != meaning);
        if value.is_none() && common.len() == count {
            let at = base.key(name.clone());
            let message = format!("{at} is null, but spec.engine.args does not set --{meaning}");
            let reported = findings.report(&codes::NOTHING_TO_REMOVE, FieldRef::key(&at), message);
            reported.help("remove the key: null removes only a flag of spec.engine.args");
        }
        let Some(value) = value else { continue };
        own.push(user_flag(name, value, &base));
    }
    let mut flags: Vec<UserFlag<'u>> = common.into_iter().map(|(_, flag)| flag).chain(own).collect();
    sort_by_name(&mut flags);
    flags
}

/// Returns the name under which a flag is compared with others: two spellings of one flag have the same.
fn canonical_name(name: &str, launcher: &Launcher) -> String {
    match launcher.lookup(name, true) {
        Meaning::One(known) => known.flag.name.to_owned(),
        Meaning::Several(_) | Meaning::Unknown => name.replace('_', "-"),
    }
}

fn user_flag<'u>(name: &'u str, value: &'u str, base: &FieldPath) -> UserFlag<'u> {
    UserFlag {
        name,
        value: if value.is_empty() { UserFlagValue::Absent } else { UserFlagValue::Single(value) },
        path: base.key(name.to_owned()),
        from_mapping: true,
    }
}

fn sort_by_name(flags: &mut [UserFlag<'_>]) {
    flags.sort_by_key(|flag| flag.name.replace('_', "-"));
}

/// Returns the flags of a mapping, sorted by name: a YAML mapping has no order, so the output must not depend on one.
pub(crate) fn from_mapping<'u>(arguments: &'u [(String, String)], base: &FieldPath) -> Vec<UserFlag<'u>> {
    let mut flags: Vec<UserFlag<'u>> = arguments.iter().map(|(name, value)| user_flag(name, value, base)).collect();
    sort_by_name(&mut flags);
    flags
}

/// Returns the flags of `engine.extraArgs`, then those of the worker's role.
pub(crate) fn from_extra_args<'u>(
    deployment: &'u Deployment,
    worker: &'u Worker,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) -> Vec<UserFlag<'u>> {
    let base = FieldPath::from(ModelDeployment::path().spec().engine().extra_args());
    let mut flags = from_elements(&deployment.engine.extra_args, &base, launcher, findings);
    if let Some(path) = worker.role_path() {
        let base = FieldPath::from(path.engine().extra_args());
        flags.extend(from_elements(&worker.engine.extra_args, &base, launcher, findings));
    }
    flags
}

/// Returns the flags of the list at `base` in input order: `--flag`, `--flag=value`, or a flag followed by its values.
/// Only the flag tables tell whether the element after `--flag` is its value.
fn from_elements<'u>(
    elements: &'u [String],
    base: &FieldPath,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) -> Vec<UserFlag<'u>> {
    let mut flags = Vec::new();
    // An unknown flag takes no value. It is kept to explain the element that follows it.
    let mut preceding_unknown = None;
    let mut elements = elements.iter().enumerate().peekable();
    while let Some((index, element)) = elements.next() {
        let path = base.index(index);
        let unknown_flag: Option<&str> = preceding_unknown.take().filter(|_| !looks_like_flag(element));
        let has_name = |flag: &&str| is_flag_name(flag.split_once('=').map_or(*flag, |(name, _)| name));
        let Some(flag) = element.strip_prefix("--").filter(has_name) else {
            let message = format!("{:?} is not a flag, expected --flag or --flag=value", shorten(element));
            let reported = findings.report(&codes::INVALID_EXTRA_ARGUMENT, &path, message);
            if let Some(flag) = unknown_flag {
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
            flags.push(UserFlag { name, value: UserFlagValue::Single(value), path, from_mapping: false });
            continue;
        }
        let mut values = Vec::new();
        match launcher.lookup(flag, false) {
            Meaning::One(KnownFlag { flag: known, .. })
                if matches!(known.kind, FlagKind::Value | FlagKind::OptionalValue) =>
            {
                let max_values = if known.repeat == Repetition::List { usize::MAX } else { 1 };
                while values.len() < max_values
                    && let Some((_, next)) = elements.next_if(|(_, next)| !looks_like_flag(next))
                {
                    values.push(next.as_str());
                }
            }
            // A launcher with configuration keys refuses unknown flags, so nothing needs explaining.
            Meaning::Unknown if launcher.config_keys.is_none() => preceding_unknown = Some(flag),
            _ => {}
        }
        let value = match values.as_slice() {
            [] => UserFlagValue::Absent,
            [one] => UserFlagValue::Single(one),
            _ => UserFlagValue::Several(values),
        };
        flags.push(UserFlag { name: flag, value, path, from_mapping: false });
    }
    flags
}

/// Returns whether a text is a flag name in kebab-case or snake_case. Dots are refused: they would set nested values
/// that no check sees.
fn is_flag_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// Returns whether an element is a flag to argparse: it starts with a dash and is not a negative number. llama-server
/// would accept it as a value, but there it is a mistake too.
pub fn looks_like_flag(element: &str) -> bool {
    element.strip_prefix('-').is_some_and(|rest| !is_plain_number(rest))
}

/// Returns whether a text is digits with at most one decimal point, which digits must follow.
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
    fn tells_negative_numbers_from_flags_as_argparse_does() {
        assert!(!["-1", "-20", "-0.5", "-.5", "1", ""].into_iter().any(looks_like_flag));
        assert!(["-", "-1e5", "-1.", "--1", "-x", "-inf", "-1-1", "-."].into_iter().all(looks_like_flag));
    }
}
