//! Validation of the engine, as far as it needs no flag table.

use std::collections::BTreeSet;

use super::messages;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Engine, EngineType, FieldOrigin, Leaf, RoleEngine};
use kubefoundry_deployment::wire;
use kubefoundry_diagnostics::FieldRef;
use kubefoundry_kubernetes::check::Checker;
use kubefoundry_kubernetes::wire::{Argument, Map, Nullable, PathOf, StringEnum as _};
use kubefoundry_yaml::field_path::FieldPath;

/// Validates the engine. `default` is the type of a deployment that names none. Returns `None` without a type.
pub(super) fn validate_engine(
    wire: Option<&wire::Engine>,
    default: Option<EngineType>,
    check: &mut Checker<'_, '_>,
) -> Option<Engine> {
    let empty = wire::Engine::default();
    let wire = wire.unwrap_or(&empty);
    let path = wire::ModelDeployment::path().spec().engine();
    let type_path = path.clone().engine_type();
    let default = default.filter(|_| check.is_absent(&type_path));
    if wire.engine_type.is_none() && default.is_none() && check.is_absent(&type_path) {
        let message = if check.effective_api_group().chooses_engine {
            "engine.type is not set, and no ready provider has an engine for this mode and these resources"
        } else {
            messages::ENGINE_TYPE_REQUIRED
        };
        check.findings.report(&codes::ENGINE_TYPE_REQUIRED, &type_path, message).help(format!(
            "set it to one of {}",
            EngineType::VARIANTS.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ")
        ));
    }
    if wire.trust_remote_code == Some(true) && check.effective_api_group().warns_about_remote_code {
        let path = path.clone().trust_remote_code();
        let message = format!("{path} is true, so code from the model's repository runs in the engine's pods");
        let help = format!(
            "remove it if the model does not need it; otherwise add the annotation {}: {}",
            check.effective_api_group().label("lint-ignore"),
            codes::REMOTE_CODE_TRUSTED.id
        );
        check.findings.report(&codes::REMOTE_CODE_TRUSTED, path, message).help(help);
    }
    let context_length = wire.context_length.and_then(|length| u32::try_from(length).ok());
    let args = validate_arguments(wire.args.as_ref(), &path.clone().args().into(), check);
    let extra_path = FieldPath::from(path.extra_args());
    let extra_args = wire.extra_args.as_deref().unwrap_or_default();
    let extra_args = limit_entries(extra_args, wire::MAX_EXTRA_ARGUMENTS, &extra_path, check);
    validate_extra_arguments(extra_args, &extra_path, check);
    Some(Engine {
        kind: wire.engine_type.or(default)?,
        kind_origin: if wire.engine_type.is_some() { FieldOrigin::Written } else { FieldOrigin::Derived },
        context_length,
        trust_remote_code: Leaf::or_default(wire.trust_remote_code, false),
        enable_prefix_caching: wire
            .enable_prefix_caching
            .map(Leaf::written)
            .or_else(|| check.effective_api_group().prefix_caching.map(Leaf::defaulted)),
        enforce_eager: Leaf::or_default(wire.enforce_eager, false),
        args,
        extra_args: extra_args.iter().map(|Argument(element)| element.clone()).collect(),
    })
}

/// Validates the engine flags of a role at `path`. Whether a `null` removes something depends on the flag table.
pub(super) fn validate_role_engine(
    wire: Option<&wire::RoleEngine>,
    path: &PathOf<wire::RoleEngine>,
    check: &mut Checker<'_, '_>,
) -> RoleEngine {
    let Some(wire) = wire else { return RoleEngine::default() };
    let args_path = FieldPath::from(path.clone().args());
    let args = limit_entries(wire.args.as_ref().map_or(&[][..], |map| &map.0), wire::MAX_ARGUMENTS, &args_path, check);
    validate_argument_keys(args.iter().map(|(key, _)| key.as_str()), &args_path, check);
    let elements = wire.extra_args.as_deref().unwrap_or_default();
    let extra_path = FieldPath::from(path.clone().extra_args());
    let elements = limit_entries(elements, wire::MAX_EXTRA_ARGUMENTS, &extra_path, check);
    validate_extra_arguments(elements, &extra_path, check);
    let value = |value: &Nullable<Argument>| value.0.as_ref().map(|Argument(value)| value.clone());
    RoleEngine {
        args: args.iter().map(|(key, argument)| (key.clone(), value(argument))).collect(),
        extra_args: elements.iter().map(|Argument(element)| element.clone()).collect(),
    }
}

/// Validates the keys of a mapping of flags, and returns its entries. Values depend on the program.
pub(super) fn validate_arguments(
    arguments: Option<&Map<Argument>>,
    path: &FieldPath,
    check: &mut Checker<'_, '_>,
) -> Vec<(String, String)> {
    let arguments = limit_entries(arguments.map_or(&[][..], |map| &map.0), wire::MAX_ARGUMENTS, path, check);
    validate_argument_keys(arguments.iter().map(|(key, _)| key.as_str()), path, check);
    arguments.iter().map(|(key, Argument(value))| (key.clone(), value.clone())).collect()
}

fn validate_argument_keys<'k>(keys: impl Iterator<Item = &'k str>, path: &FieldPath, check: &mut Checker<'_, '_>) {
    let keys: BTreeSet<&str> = keys.collect();
    for key in &keys {
        validate_argument_key(key, &keys, path, check);
    }
}

/// Returns the first `max` entries of a list of arguments, and reports a longer list.
fn limit_entries<'w, T>(entries: &'w [T], max: usize, path: &FieldPath, check: &mut Checker<'_, '_>) -> &'w [T] {
    if entries.len() > max {
        let message = format!("{path} has {} entries, expected at most {max}", entries.len());
        check.findings.report(&codes::LIMIT_EXCEEDED, path, message);
    }
    entries.get(..max).unwrap_or(entries)
}

/// The key of `engine.args` by which airunway names a GGUF file for llama.cpp.
const AIRUNWAY_GGUF_URL: &str = "ggufUrl";

/// Checks that a key of a mapping of flags is a flag name without leading dashes (docs/design/0007).
fn validate_argument_key(key: &str, keys: &BTreeSet<&str>, path: &FieldPath, check: &mut Checker<'_, '_>) {
    if is_flag_name(key) {
        return;
    }
    let place = FieldRef::key(&path.key(key.to_owned()));
    let bare = key.trim_start_matches(['-', '.']);
    let rename = is_flag_name(bare) && !keys.contains(bare);
    let replacement = if rename { check.replacement(&place, key, bare) } else { None };
    let message = format!("{path} has the key {:?}, {}", kubefoundry_yaml::text::shorten(key), messages::ARGUMENT_KEY);
    let reported = check.findings.report(&codes::INVALID_ARGUMENT_KEY, place, message);
    let reported = match key.split_once('.') {
        _ if key == AIRUNWAY_GGUF_URL => reported.help(
            "airunway downloads the file at this URL; here, set spec.model.id to a file on Hugging Face \
             (org/name/file.gguf), or to the absolute path of a file on a volume",
        ),
        Some((parent, child)) if is_flag_name(parent) && !child.is_empty() => {
            reported.help(format!("set {parent:?} to the whole setting as JSON"))
        }
        _ if bare.contains(['=', ' ']) => {
            reported.help("write the flag as the key, and its value as the value of the key")
        }
        _ if rename => reported.help(format!("rename it to {bare}")),
        _ => reported,
    };
    if let Some(replacement) = replacement {
        reported.replace_with(format!("rename it to {bare}"), replacement);
    }
}

/// Returns whether a key consists of lower-case letters, digits, `-` and `_`, and starts and ends with a letter or
/// digit.
fn is_flag_name(key: &str) -> bool {
    let alphanumeric = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
    key.starts_with(alphanumeric)
        && key.ends_with(alphanumeric)
        && key.chars().all(|character| alphanumeric(character) || matches!(character, '-' | '_'))
}

/// Checks the rules for `engine.extraArgs` that are common to all engines: the first element is a flag, and no element
/// ends option parsing.
fn validate_extra_arguments(elements: &[Argument], path: &FieldPath, check: &mut Checker<'_, '_>) {
    for (index, Argument(element)) in elements.iter().enumerate() {
        let checked = if element.is_empty() {
            Err(messages::EXTRA_ARGUMENT)
        } else if element.chars().any(|character| matches!(character, '\0' | '\n' | '\r')) {
            Err("one line")
        } else if element == "--" {
            Err(messages::END_OF_FLAGS)
        } else if index == 0 && !element.starts_with("--") {
            Err(messages::FIRST_EXTRA_ARGUMENT)
        } else {
            Ok(())
        };
        check.check_syntax(&codes::INVALID_EXTRA_ARGUMENT, &path.index(index), element, checked);
    }
}
