//! The plugin's parameters: what there is, and what an Application says.
//!
//! Argo CD hands them over three times (cmpserver/plugin of argoproj/argo-cd): `ARGOCD_APP_PARAMETERS` has them as the
//! Application writes them, `PARAM_*` the same with flattened names, `ARGOCD_ENV_*` comes from
//! `spec.source.plugin.env`. The first that has a parameter wins.

use std::collections::BTreeMap;
use std::ffi::OsString;

use kubefoundry_compiler::options::render;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use Kind::{Pairs, Switch, Word};

/// What a parameter holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A text.
    Word,
    /// `true` or `false`.
    Switch,
    /// Keys and values.
    Pairs,
}

/// One parameter.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) title: &'static str,
    pub(super) tooltip: &'static str,
}

const fn parameter(name: &'static str, kind: Kind, title: &'static str, tooltip: &'static str) -> Parameter {
    Parameter { name, kind, title, tooltip }
}

/// Every parameter, in the order in which they are announced. All but the first two are fields of a `Render`.
pub(super) static PARAMETERS: &[Parameter] = &[
    parameter(
        "config",
        Word,
        "Options file",
        "A file with options (kind Render) in the application's directory; kubefoundry.yaml is read in any case",
    ),
    parameter(
        "kustomize",
        Switch,
        "Build with kustomize",
        "Run `kustomize build` first and render what it prints; needs kustomize in the plugin's image",
    ),
    parameter(
        "output",
        Word,
        "Output",
        "generated: only what ModelDeployments become; replace: also the other manifests; append: the ModelDeployments too",
    ),
    parameter("strict", Switch, "Strict", "Turn warnings into errors"),
    parameter(
        "allowEmpty",
        Switch,
        "Allow empty",
        "Accept a directory without a ModelDeployment; with pruning that deletes everything",
    ),
    parameter(
        "crdVersions",
        Pairs,
        "CRD versions",
        "CRD version to write, by provider: dynamo: nvidia.com/v1beta1; auto: the first that the cluster serves",
    ),
    parameter(
        "runtimes",
        Pairs,
        "Runtime versions",
        "Runtime version of default images and flags, by provider: dynamo: 1.4.0",
    ),
    parameter(
        "images",
        Pairs,
        "Image mirrors",
        "Image prefixes and what replaces them: nvcr.io: mirror.example.com/nvcr",
    ),
    parameter("severities", Pairs, "Severities", "Severity of diagnostic codes: unpinned-runtime: off"),
    parameter(
        "kaitoNodeAutoProvisioning",
        Switch,
        "KAITO provisions nodes",
        "Whether the cluster's KAITO provisions nodes: then an instance type is required, otherwise refused",
    ),
];

/// Why parameters cannot be used. One line each: Argo CD shows it in its UI.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum ParameterError {
    #[error("{variable}: parameter {old} has been renamed to {new}")]
    Renamed { variable: String, old: &'static str, new: &'static str },
    #[error("{variable}: there is no parameter {name:?}, expected one of {known}", known = known())]
    Unknown { variable: String, name: String },
    #[error("ARGOCD_APP_PARAMETERS: parameter {0} is given twice, expected it once")]
    Twice(&'static str),
    #[error("{variable}: an image prefix cannot be told from a variable's name, expected {whole}=PREFIX=REPLACEMENT,…")]
    ImagePrefix { variable: String, whole: String },
    #[error("{variable}: not a JSON list of parameters: {message}")]
    NotAList { variable: &'static str, message: String },
    #[error("{variable}: parameter {name} is {found}, expected {expected}")]
    WrongType { variable: String, name: &'static str, found: String, expected: &'static str },
}

fn known() -> String {
    let names: Vec<&str> = PARAMETERS.iter().map(|parameter| parameter.name).collect();
    names.join(", ")
}

/// The values of the parameters that were given.
pub(super) type Given = BTreeMap<&'static str, Value>;

/// An entry of `ARGOCD_APP_PARAMETERS`.
#[derive(Debug, Deserialize)]
struct Entry {
    name: String,
    string: Option<String>,
    map: Option<BTreeMap<String, String>>,
    array: Option<Vec<String>>,
}

const APP: &str = "ARGOCD_APP_PARAMETERS";

/// Reads the parameters from the environment.
pub(super) fn read(environment: impl Iterator<Item = (OsString, OsString)>) -> Result<Given, ParameterError> {
    let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    let variables: BTreeMap<String, String> = environment.filter_map(text).collect();
    // The list is read first, so that a mistake in it is told as the Application has it, not as Argo CD flattens it.
    let mut listed = listed(variables.get(APP).map_or("", String::as_str))?;
    let mut given = Given::new();
    // The weakest first: each later one wins.
    for prefix in ["ARGOCD_ENV_", "PARAM_"] {
        let mut found = Given::new();
        for (variable, value) in &variables {
            // Argo CD sets PARAM_* for each of the list; that they come a second time says nothing new.
            let is_listed = |name: &str| {
                prefix == "PARAM_" && parameter_of(name).is_some_and(|(it, _)| listed.contains_key(it.name))
            };
            if let Some(name) = variable.strip_prefix(prefix).filter(|name| !is_listed(name)) {
                flattened(prefix, name, value, &mut found)?;
            }
        }
        given.append(&mut found);
    }
    given.append(&mut listed);
    Ok(given)
}

/// The parameters in a JSON list; `null` is one of none.
fn listed(list: &str) -> Result<Given, ParameterError> {
    let mut given = Given::new();
    if list.trim().is_empty() {
        return Ok(given);
    }
    let entries: Option<Vec<Entry>> = serde_json::from_str(list)
        .map_err(|error| ParameterError::NotAList { variable: APP, message: error.to_string() })?;
    for entry in entries.unwrap_or_default() {
        let parameter = PARAMETERS.iter().find(|parameter| parameter.name == entry.name);
        let Some(parameter) = parameter else {
            return Err(unknown(APP.to_owned(), entry.name));
        };
        if given.insert(parameter.name, value_of_entry(parameter, entry)?).is_some() {
            return Err(ParameterError::Twice(parameter.name));
        }
    }
    Ok(given)
}

/// The error for a parameter that does not exist, or that had this name before.
fn unknown(variable: String, name: String) -> ParameterError {
    let is_old_name = |old: &str| {
        let name = name.get(..old.len()).filter(|start| start.eq_ignore_ascii_case(old)).map(|_| &name[old.len()..]);
        name.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    match render::RENAMED_FIELDS.iter().find(|(old, _)| is_old_name(old)) {
        Some((old, new)) => ParameterError::Renamed { variable, old, new },
        None => ParameterError::Unknown { variable, name },
    }
}

fn value_of_entry(parameter: &'static Parameter, entry: Entry) -> Result<Value, ParameterError> {
    match entry {
        Entry { map: Some(map), string: None, array: None, .. } if parameter.kind == Pairs => {
            Ok(map.into_iter().map(|(key, value)| (key, Value::from(value))).collect::<Map<_, _>>().into())
        }
        Entry { string: Some(text), map: None, array: None, .. } => value_of_text(APP, parameter, &text),
        Entry { array: Some(_), .. } => Err(wrong_type(APP, parameter, "an array")),
        Entry { map: Some(_), .. } => Err(wrong_type(APP, parameter, "a map")),
        Entry { .. } => Err(wrong_type(APP, parameter, "without a value")),
    }
}

/// The parameter that a variable is of, and the key in it: `RUNTIMES_DYNAMO` is `DYNAMO` of `runtimes`.
fn parameter_of(name: &str) -> Option<(&'static Parameter, Option<&str>)> {
    PARAMETERS.iter().find_map(|parameter| {
        let rest = name.strip_prefix(&parameter.name.to_ascii_uppercase())?;
        if rest.is_empty() {
            return Some((parameter, None));
        }
        let key = rest.strip_prefix('_').filter(|key| !key.is_empty() && parameter.kind == Pairs)?;
        Some((parameter, Some(key)))
    })
}

/// A parameter from a variable: its name in upper case, and for a map either `key=value,key=value`, or a variable for
/// each key (`PARAM_RUNTIMES_DYNAMO`), as far as the key is one that its upper-case form gives back.
fn flattened(prefix: &'static str, name: &str, text: &str, given: &mut Given) -> Result<(), ParameterError> {
    let variable = format!("{prefix}{name}");
    let Some((parameter, key)) = parameter_of(name) else {
        return Err(unknown(variable, name.to_owned()));
    };
    let Some(key) = key else {
        given.insert(parameter.name, value_of_text(&variable, parameter, text)?);
        return Ok(());
    };
    let key = match parameter.name {
        "images" => return Err(ParameterError::ImagePrefix { variable, whole: format!("{prefix}IMAGES") }),
        "severities" if key.starts_with("KF") => key.to_owned(),
        _ => key.to_ascii_lowercase().replace('_', "-"),
    };
    let pairs = given.entry(parameter.name).or_insert_with(|| json!({}));
    if let Some(pairs) = pairs.as_object_mut() {
        pairs.insert(key, Value::from(text));
    }
    Ok(())
}

fn value_of_text(variable: &str, parameter: &'static Parameter, text: &str) -> Result<Value, ParameterError> {
    match parameter.kind {
        Word => Ok(Value::from(text)),
        Switch => match text {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            other => Err(wrong_type(variable, parameter, &format!("{other:?}"))),
        },
        Pairs => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            let pair = |part: &str| part.split_once('=').map(|(key, value)| (key.to_owned(), Value::from(value)));
            let pairs: Option<Map<String, Value>> = parts.map(pair).collect();
            pairs.map(Value::Object).ok_or_else(|| wrong_type(variable, parameter, &format!("{text:?}")))
        }
    }
}

fn wrong_type(variable: &str, parameter: &'static Parameter, found: &str) -> ParameterError {
    let expected = match parameter.kind {
        Word => "a string",
        Switch => "\"true\" or \"false\"",
        Pairs => "a map, or key=value,key=value",
    };
    ParameterError::WrongType { variable: variable.to_owned(), name: parameter.name, found: found.to_owned(), expected }
}

/// The fields of a `Render` that the parameters set.
pub(super) fn options(given: &Given) -> Map<String, Value> {
    let mut options = Map::new();
    for (name, value) in given {
        match *name {
            // An empty text is what the announcement has: nothing was chosen.
            "config" | "kustomize" => {}
            _ if value.as_str() == Some("") => {}
            "kaitoNodeAutoProvisioning" => {
                options.insert("kaito".to_owned(), json!({"nodeAutoProvisioning": value}));
            }
            name => {
                options.insert(name.to_owned(), value.clone());
            }
        }
    }
    options
}

/// The announcement, as Argo CD reads it: a JSON list. What is announced as a default is never sent to `generate`, so
/// there are no defaults but the empty ones.
pub(super) fn announcement() -> Value {
    let one = |parameter: &Parameter| {
        let mut announced = json!({
            "name": parameter.name,
            "title": parameter.title,
            "tooltip": parameter.tooltip,
            "required": false,
            "itemType": if parameter.kind == Switch { "boolean" } else { "string" },
            "collectionType": if parameter.kind == Pairs { "map" } else { "string" },
        });
        let (field, default) = match parameter.kind {
            Word => ("string", Value::from("")),
            Switch => ("string", Value::from("false")),
            Pairs => ("map", json!({})),
        };
        if let Some(announced) = announced.as_object_mut() {
            announced.insert(field.to_owned(), default);
        }
        announced
    };
    PARAMETERS.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(variables: &[(&str, &str)]) -> Result<Value, ParameterError> {
        let variables = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        Ok(read(variables)?.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>().into())
    }

    /// The forms in which Argo CD 3.6 sends them.
    #[test]
    fn each_form_is_read() {
        let list = r#"[{"name":"runtimes","map":{"dynamo":"1.4.0"}},{"name":"strict","string":"true"}]"#;
        assert_eq!(given(&[(APP, list)]).unwrap(), json!({"runtimes": {"dynamo": "1.4.0"}, "strict": true}));
        assert_eq!(
            given(&[("PARAM_RUNTIMES_DYNAMO", "1.4.0"), ("PARAM_STRICT", "true"), ("PARAMETER", "x")]).unwrap(),
            json!({"runtimes": {"dynamo": "1.4.0"}, "strict": true})
        );
        assert_eq!(
            given(&[("ARGOCD_ENV_IMAGES", "nvcr.io=mirror/nvcr, docker.io=mirror/hub"), ("HOME", "/")]).unwrap(),
            json!({"images": {"nvcr.io": "mirror/nvcr", "docker.io": "mirror/hub"}})
        );
        // What Argo CD itself sets beside the list.
        let listed = r#"[{"name":"images","map":{"nvcr.io":"mirror"}}]"#;
        assert_eq!(
            given(&[(APP, listed), ("PARAM_IMAGES_NVCR_IO", "mirror"), ("ARGOCD_ENV_SEVERITIES_KF0504", "off")])
                .unwrap(),
            json!({"images": {"nvcr.io": "mirror"}, "severities": {"KF0504": "off"}})
        );
        for nothing in ["null", "[]", ""] {
            assert_eq!(given(&[(APP, nothing)]).unwrap(), json!({}), "{nothing:?}");
        }
    }

    /// The Application's own words win over what was flattened from them, and those over the environment.
    #[test]
    fn the_nearest_wins() {
        let list = r#"[{"name":"output","string":"append"}]"#;
        let all = [("ARGOCD_ENV_OUTPUT", "generated"), ("PARAM_OUTPUT", "replace"), (APP, list)];
        assert_eq!(given(&all).unwrap(), json!({"output": "append"}));
        assert_eq!(given(&all[..2]).unwrap(), json!({"output": "replace"}));
    }

    /// Argo CD flattens what the list has, its mistakes too: they are told as they were written.
    #[test]
    fn a_mistake_is_told_as_it_was_written() {
        let list = r#"[{"name":"strikt","string":"true"}]"#;
        let error = given(&[("PARAM_STRIKT", "true"), (APP, list)]).unwrap_err();
        assert_eq!(error, ParameterError::Unknown { variable: APP.to_owned(), name: "strikt".to_owned() });
    }

    /// A misspelt parameter that does nothing would be found out in production.
    #[test]
    fn what_is_not_known_is_an_error_that_names_the_known() {
        let cases = [
            (
                "ARGOCD_ENV_STRIKT",
                "true",
                "ARGOCD_ENV_STRIKT: there is no parameter \"STRIKT\", expected one of config, ",
            ),
            (
                "PARAM_RUNTIME_DYNAMO",
                "1",
                "PARAM_RUNTIME_DYNAMO: there is no parameter \"RUNTIME_DYNAMO\", expected one of config, ",
            ),
            (APP, r#"[{"name":"strikt","string":""}]"#, "there is no parameter \"strikt\", expected one of config, "),
            (APP, r#"{"name":"strict"}"#, "ARGOCD_APP_PARAMETERS: not a JSON list of parameters: "),
            (
                APP,
                r#"[{"name":"strict","string":"yes"}]"#,
                "parameter strict is \"yes\", expected \"true\" or \"false\"",
            ),
            (APP, r#"[{"name":"strict"}]"#, "parameter strict is without a value, expected \"true\" or \"false\""),
            (APP, r#"[{"name":"output","array":["a"]}]"#, "parameter output is an array, expected a string"),
            (
                APP,
                r#"[{"name":"output","string":"a"},{"name":"output","string":"b"}]"#,
                "parameter output is given twice",
            ),
            (
                "PARAM_IMAGES_NVCR_IO",
                "mirror",
                "PARAM_IMAGES_NVCR_IO: an image prefix cannot be told from a variable's name",
            ),
            ("PARAM_STRICT", "maybe", "PARAM_STRICT: parameter strict is \"maybe\", expected \"true\" or \"false\""),
            ("PARAM_IMAGES", "nvcr.io", "parameter images is \"nvcr.io\", expected a map, or key=value,key=value"),
        ];
        for (variable, value, expected) in cases {
            let error = given(&[(variable, value)]).unwrap_err().to_string();
            assert!(error.contains(expected), "{variable}={value}: {error}");
        }
    }

    /// Argo CD refuses anything but a list (argo-cd#16077), and every name in it must be one that `generate` takes.
    #[test]
    fn what_is_announced_is_what_is_read() {
        let announced = announcement();
        let list: Vec<Value> = announced
            .as_array()
            .unwrap()
            .iter()
            .map(|one| match one["collectionType"].as_str().unwrap() {
                "map" => json!({"name": one["name"], "map": {"k": "v"}}),
                _ => json!({"name": one["name"], "string": "true"}),
            })
            .collect();
        let read = given(&[(APP, &Value::from(list).to_string())]).unwrap();
        assert_eq!(read.as_object().unwrap().len(), PARAMETERS.len());
    }
}
