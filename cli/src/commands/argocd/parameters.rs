//! The plugin's parameters: their declarations and the values that an Application sets.
//!
//! Argo CD passes values in three ways (cmpserver/plugin of argoproj/argo-cd): `ARGOCD_APP_PARAMETERS` is a JSON list
//! of the parameters in the Application, `PARAM_*` has the same parameters with flattened names, and `ARGOCD_ENV_*`
//! comes from `spec.source.plugin.env`. If several of them set a parameter, the first in this order wins.

use std::collections::BTreeMap;
use std::ffi::OsString;

use kubefoundry_compiler::options::render;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use ParameterType::{Flag, List, Pairs, Text};

/// The type of a parameter value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterType {
    Text,
    /// `true` or `false`.
    Flag,
    /// Texts.
    List,
    /// A map from keys to text.
    Pairs,
}

/// The declaration of a parameter; the title and tooltip appear in the UI of Argo CD.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) value_type: ParameterType,
    pub(super) title: &'static str,
    pub(super) tooltip: &'static str,
}

const fn parameter(
    name: &'static str,
    value_type: ParameterType,
    title: &'static str,
    tooltip: &'static str,
) -> Parameter {
    Parameter { name, value_type, title, tooltip }
}

/// All parameters, in the order of the announcement. All except the first two are fields of `Render`.
pub(super) static PARAMETERS: &[Parameter] = &[
    parameter(
        "config",
        Text,
        "Options file",
        "Options file (kind Render) in the application's directory; kubefoundry.yaml is always read",
    ),
    parameter(
        "kustomize",
        Flag,
        "Build with kustomize",
        "Run `kustomize build` and render its output; the plugin's image must contain kustomize",
    ),
    parameter(
        "output",
        Text,
        "Output",
        "generated: only generated objects; replace: also the other manifests; append: also the ModelDeployments",
    ),
    parameter("strict", Flag, "Strict", "Treat warnings as errors"),
    parameter(
        "allowEmpty",
        Flag,
        "Allow empty",
        "Accept a directory without a ModelDeployment; with pruning, this deletes all objects",
    ),
    parameter(
        "crdVersions",
        Pairs,
        "CRD versions",
        "CRD version to write for each provider, such as dynamo: nvidia.com/v1beta1; auto: the first version that the cluster serves",
    ),
    parameter(
        "runtimes",
        Pairs,
        "Runtime versions",
        "Runtime version of default images and flags for each provider, such as dynamo: 1.4.0",
    ),
    parameter(
        "images",
        Pairs,
        "Image mirrors",
        "Image prefixes and their replacements, such as nvcr.io: mirror.example.com/nvcr",
    ),
    parameter("gatewayName", Text, "Gateway", "The Gateway of models with spec.gateway"),
    parameter(
        "gatewayNamespace",
        Text,
        "Namespace of the Gateway",
        "The namespace of that Gateway; empty for the namespace of each deployment",
    ),
    parameter(
        "gatewaySectionName",
        Text,
        "Listener of the Gateway",
        "The listener of that Gateway; empty for every one that accepts the route",
    ),
    parameter(
        "gatewayEndpointPicker",
        Text,
        "Endpoint picker",
        "The Service of the endpoint picker of these models; {name} stands for the deployment: {name}-epp",
    ),
    parameter("severities", Pairs, "Severities", "Severity of diagnostic codes, such as unpinned-runtime: off"),
    parameter(
        "kaitoNodeAutoProvisioning",
        Flag,
        "KAITO provisions nodes",
        "Set to true if KAITO provisions nodes in this cluster: an instance type is then required, otherwise rejected",
    ),
    parameter(
        "podSecurity",
        Text,
        "Pod security",
        "What pods may do: baseline (default) or privileged, the levels of Kubernetes' Pod Security Standards",
    ),
    parameter("allowCapabilities", List, "Capabilities", "Capabilities that containers may add, such as IPC_LOCK"),
    parameter(
        "allowHostPaths",
        List,
        "Host paths",
        "Directories of nodes that pods may mount, with everything below them, such as /mnt/models",
    ),
    parameter("allowHostIPC", Flag, "Host IPC", "Allow pods to share the IPC namespace of their node"),
];

/// The parameters that are fields of `policy`.
const POLICY: &[&str] = &["podSecurity", "allowCapabilities", "allowHostPaths", "allowHostIPC"];

/// Errors in parameters, each on one line, because Argo CD shows them in its UI.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum ParameterError {
    #[error("{variable}: parameter {old} has been renamed to {new}")]
    Renamed { variable: String, old: &'static str, new: &'static str },
    #[error("{variable}: there is no parameter {name:?}, expected one of {known}", known = known_names())]
    Unknown { variable: String, name: String },
    #[error("ARGOCD_APP_PARAMETERS: parameter {0} is given more than once")]
    Twice(&'static str),
    #[error("{variable}: a variable name cannot contain an image prefix; set {whole}=PREFIX=REPLACEMENT,… instead")]
    ImagePrefix { variable: String, whole: String },
    #[error("{variable}: not a JSON list of parameters: {message}")]
    NotAList { variable: &'static str, message: String },
    #[error("{variable}: parameter {name} is {found}, expected {expected}")]
    WrongType { variable: String, name: &'static str, found: String, expected: &'static str },
}

fn known_names() -> String {
    let names: Vec<&str> = PARAMETERS.iter().map(|parameter| parameter.name).collect();
    names.join(", ")
}

/// The parameters that are set, by name.
pub(super) type ParameterValues = BTreeMap<&'static str, Value>;

/// An entry of `ARGOCD_APP_PARAMETERS`.
#[derive(Debug, Deserialize)]
struct ListEntry {
    name: String,
    string: Option<String>,
    map: Option<BTreeMap<String, String>>,
    array: Option<Vec<String>>,
}

const APP: &str = "ARGOCD_APP_PARAMETERS";

/// Reads the parameters from the environment.
pub(super) fn read(environment: impl Iterator<Item = (OsString, OsString)>) -> Result<ParameterValues, ParameterError> {
    let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    let variables: BTreeMap<String, String> = environment.filter_map(text).collect();
    // The list is parsed first, so that an error names the parameter as the Application spells it, and not as the
    // variable that Argo CD derives from it.
    let mut listed = parse_list(variables.get(APP).map_or("", String::as_str))?;
    let mut given = ParameterValues::new();
    // In order of increasing precedence: later values replace earlier ones.
    for prefix in ["ARGOCD_ENV_", "PARAM_"] {
        let mut from_prefix = ParameterValues::new();
        for (variable, value) in &variables {
            // Argo CD also sets PARAM_* for each parameter in the list; these are duplicates.
            let is_listed = |name: &str| {
                prefix == "PARAM_" && find_parameter(name).is_some_and(|(it, _)| listed.contains_key(it.name))
            };
            if let Some(name) = variable.strip_prefix(prefix).filter(|name| !is_listed(name)) {
                read_variable(prefix, name, value, &mut from_prefix)?;
            }
        }
        given.append(&mut from_prefix);
    }
    given.append(&mut listed);
    Ok(given)
}

/// Parses the JSON list of parameters. Argo CD sends `null` for an empty one.
fn parse_list(list: &str) -> Result<ParameterValues, ParameterError> {
    let mut given = ParameterValues::new();
    if list.trim().is_empty() {
        return Ok(given);
    }
    let entries: Option<Vec<ListEntry>> = serde_json::from_str(list)
        .map_err(|error| ParameterError::NotAList { variable: APP, message: error.to_string() })?;
    for entry in entries.unwrap_or_default() {
        let parameter = PARAMETERS.iter().find(|parameter| parameter.name == entry.name);
        let Some(parameter) = parameter else {
            return Err(unknown_parameter(APP.to_owned(), entry.name));
        };
        if given.insert(parameter.name, parse_entry(parameter, entry)?).is_some() {
            return Err(ParameterError::Twice(parameter.name));
        }
    }
    Ok(given)
}

/// Creates the error for an unknown parameter name. A former name has an error of its own.
fn unknown_parameter(variable: String, name: String) -> ParameterError {
    let is_old_name = |old: &str| {
        let name = name.get(..old.len()).filter(|start| start.eq_ignore_ascii_case(old)).map(|_| &name[old.len()..]);
        name.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    match render::RENAMED_FIELDS.iter().find(|(old, _)| is_old_name(old)) {
        Some((old, new)) => ParameterError::Renamed { variable, old, new },
        None => ParameterError::Unknown { variable, name },
    }
}

fn parse_entry(parameter: &'static Parameter, entry: ListEntry) -> Result<Value, ParameterError> {
    match entry {
        ListEntry { map: Some(map), string: None, array: None, .. } if parameter.value_type == Pairs => {
            Ok(map.into_iter().map(|(key, value)| (key, Value::from(value))).collect::<Map<_, _>>().into())
        }
        ListEntry { string: Some(text), map: None, array: None, .. } => parse_text(APP, parameter, &text),
        ListEntry { array: Some(texts), string: None, map: None, .. } if parameter.value_type == List => {
            Ok(texts.into())
        }
        ListEntry { array: Some(_), .. } => Err(wrong_type(APP, parameter, "an array")),
        ListEntry { map: Some(_), .. } => Err(wrong_type(APP, parameter, "a map")),
        ListEntry { .. } => Err(wrong_type(APP, parameter, "missing its value")),
    }
}

/// Finds the parameter, and the key in it, for the rest of a variable name: `RUNTIMES_DYNAMO` is the key `DYNAMO` of
/// `runtimes`.
fn find_parameter(name: &str) -> Option<(&'static Parameter, Option<&str>)> {
    PARAMETERS.iter().find_map(|parameter| {
        let rest = name.strip_prefix(&parameter.name.to_ascii_uppercase())?;
        if rest.is_empty() {
            return Some((parameter, None));
        }
        let key =
            rest.strip_prefix('_').filter(|key| !key.is_empty() && matches!(parameter.value_type, List | Pairs))?;
        Some((parameter, Some(key)))
    })
}

/// Adds the value of a variable, whose name is that of a parameter in upper case.
///
/// The value of a map is either `key=value,key=value`, or each key has a variable (`PARAM_RUNTIMES_DYNAMO`). The latter
/// works only for keys that can be restored from upper case, so not for image prefixes.
fn read_variable(
    prefix: &'static str,
    name: &str,
    text: &str,
    given: &mut ParameterValues,
) -> Result<(), ParameterError> {
    let variable = format!("{prefix}{name}");
    let Some((parameter, key)) = find_parameter(name) else {
        return Err(unknown_parameter(variable, name.to_owned()));
    };
    let Some(key) = key else {
        given.insert(parameter.name, parse_text(&variable, parameter, text)?);
        return Ok(());
    };
    if parameter.value_type == List {
        // Argo CD numbers the texts of a list, and variables are read in their order.
        let texts = given.entry(parameter.name).or_insert_with(|| json!([]));
        texts.as_array_mut().into_iter().for_each(|texts| texts.push(Value::from(text)));
        return Ok(());
    }
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

fn parse_text(variable: &str, parameter: &'static Parameter, text: &str) -> Result<Value, ParameterError> {
    match parameter.value_type {
        Text => Ok(Value::from(text)),
        Flag => match text {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            other => Err(wrong_type(variable, parameter, &format!("{other:?}"))),
        },
        List => Ok(text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(Value::from).collect()),
        Pairs => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            let pair = |part: &str| part.split_once('=').map(|(key, value)| (key.to_owned(), Value::from(value)));
            let pairs: Option<Map<String, Value>> = parts.map(pair).collect();
            pairs.map(Value::Object).ok_or_else(|| wrong_type(variable, parameter, &format!("{text:?}")))
        }
    }
}

fn wrong_type(variable: &str, parameter: &'static Parameter, found: &str) -> ParameterError {
    let expected = match parameter.value_type {
        Text => "a string",
        Flag => "\"true\" or \"false\"",
        List => "a list, or value,value",
        Pairs => "a map, or key=value,key=value",
    };
    ParameterError::WrongType { variable: variable.to_owned(), name: parameter.name, found: found.to_owned(), expected }
}

/// Converts the parameters to the fields of `Render` that they set.
pub(super) fn options(given: &ParameterValues) -> Map<String, Value> {
    let mut options = Map::new();
    for (name, value) in given {
        match *name {
            // The announcement has an empty default, so an empty value means that the user chose nothing.
            "config" | "kustomize" => {}
            _ if value.as_str() == Some("") || *value == json!([]) => {}
            name if POLICY.contains(&name) => {
                let policy = options.entry("policy").or_insert_with(|| json!({}));
                policy.as_object_mut().and_then(|policy| policy.insert(name.to_owned(), value.clone()));
            }
            "kaitoNodeAutoProvisioning" => {
                options.insert("kaito".to_owned(), json!({"nodeAutoProvisioning": value}));
            }
            "gatewayName" => set_in(&mut options, "gateway", "name", value.clone()),
            "gatewayNamespace" => set_in(&mut options, "gateway", "namespace", value.clone()),
            "gatewaySectionName" => set_in(&mut options, "gateway", "sectionName", value.clone()),
            "gatewayEndpointPicker" => set_in(&mut options, "gateway", "endpointPicker", json!({"name": value})),
            name => {
                options.insert(name.to_owned(), value.clone());
            }
        }
    }
    options
}

/// Sets a field in a section of `Render`, which other parameters may have added.
fn set_in(options: &mut Map<String, Value>, section: &str, field: &str, value: Value) {
    if let Some(section) = options.entry(section).or_insert_with(|| json!({})).as_object_mut() {
        section.insert(field.to_owned(), value);
    }
}

/// Returns the parameters that the plugin announces: a JSON list for the UI of Argo CD.
///
/// Defaults are empty, because Argo CD shows an announced default in the UI but does not send it to `generate`.
pub(super) fn announcement() -> Value {
    let announce = |parameter: &Parameter| {
        let mut announced = json!({
            "name": parameter.name,
            "title": parameter.title,
            "tooltip": parameter.tooltip,
            "required": false,
            "itemType": if parameter.value_type == Flag { "boolean" } else { "string" },
            "collectionType": match parameter.value_type {
                Text | Flag => "string",
                List => "array",
                Pairs => "map",
            },
        });
        let (field, default) = match parameter.value_type {
            Text => ("string", Value::from("")),
            Flag => ("string", Value::from("false")),
            List => ("array", json!([])),
            Pairs => ("map", json!({})),
        };
        if let Some(announced) = announced.as_object_mut() {
            announced.insert(field.to_owned(), default);
        }
        announced
    };
    PARAMETERS.iter().map(announce).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_variables(variables: &[(&str, &str)]) -> Result<Value, ParameterError> {
        let variables = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        Ok(read(variables)?.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>().into())
    }

    /// The three ways in which Argo CD 3.6 passes parameters.
    #[test]
    fn reads_the_list_and_both_kinds_of_variables() {
        let list = r#"[{"name":"runtimes","map":{"dynamo":"1.4.0"}},{"name":"strict","string":"true"}]"#;
        assert_eq!(read_variables(&[(APP, list)]).unwrap(), json!({"runtimes": {"dynamo": "1.4.0"}, "strict": true}));
        assert_eq!(
            read_variables(&[("PARAM_RUNTIMES_DYNAMO", "1.4.0"), ("PARAM_STRICT", "true"), ("PARAMETER", "x")])
                .unwrap(),
            json!({"runtimes": {"dynamo": "1.4.0"}, "strict": true})
        );
        assert_eq!(
            read_variables(&[("ARGOCD_ENV_IMAGES", "nvcr.io=mirror/nvcr, docker.io=mirror/hub"), ("HOME", "/")])
                .unwrap(),
            json!({"images": {"nvcr.io": "mirror/nvcr", "docker.io": "mirror/hub"}})
        );
        // Argo CD sets the PARAM_* variable in addition to the list.
        let listed = r#"[{"name":"images","map":{"nvcr.io":"mirror"}}]"#;
        assert_eq!(
            read_variables(&[
                (APP, listed),
                ("PARAM_IMAGES_NVCR_IO", "mirror"),
                ("ARGOCD_ENV_SEVERITIES_KF0503", "off")
            ])
            .unwrap(),
            json!({"images": {"nvcr.io": "mirror"}, "severities": {"KF0503": "off"}})
        );
        for nothing in ["null", "[]", ""] {
            assert_eq!(read_variables(&[(APP, nothing)]).unwrap(), json!({}), "{nothing:?}");
        }
    }

    /// The list in the Application overrides the flattened variables, and these override `ARGOCD_ENV_*`.
    #[test]
    fn the_list_overrides_variables() {
        let list = r#"[{"name":"output","string":"append"}]"#;
        let all = [("ARGOCD_ENV_OUTPUT", "generated"), ("PARAM_OUTPUT", "replace"), (APP, list)];
        assert_eq!(read_variables(&all).unwrap(), json!({"output": "append"}));
        assert_eq!(read_variables(&all[..2]).unwrap(), json!({"output": "replace"}));
    }

    /// Argo CD also flattens misspelled names; the error must quote the name in the list.
    #[test]
    fn quotes_a_misspelled_parameter_as_written() {
        let list = r#"[{"name":"strikt","string":"true"}]"#;
        let error = read_variables(&[("PARAM_STRIKT", "true"), (APP, list)]).unwrap_err();
        assert_eq!(error, ParameterError::Unknown { variable: APP.to_owned(), name: "strikt".to_owned() });
    }

    /// If a misspelled parameter were ignored, users would notice only in production.
    #[test]
    fn rejects_unknown_parameters_and_wrong_types() {
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
            (APP, r#"[{"name":"strict"}]"#, "parameter strict is missing its value, expected \"true\" or \"false\""),
            (APP, r#"[{"name":"output","array":["a"]}]"#, "parameter output is an array, expected a string"),
            (
                APP,
                r#"[{"name":"output","string":"a"},{"name":"output","string":"b"}]"#,
                "parameter output is given more than once",
            ),
            (
                "PARAM_IMAGES_NVCR_IO",
                "mirror",
                "PARAM_IMAGES_NVCR_IO: a variable name cannot contain an image prefix; set PARAM_IMAGES=PREFIX",
            ),
            ("PARAM_STRICT", "maybe", "PARAM_STRICT: parameter strict is \"maybe\", expected \"true\" or \"false\""),
            ("PARAM_IMAGES", "nvcr.io", "parameter images is \"nvcr.io\", expected a map, or key=value,key=value"),
        ];
        for (variable, value, expected) in cases {
            let error = read_variables(&[(variable, value)]).unwrap_err().to_string();
            assert!(error.contains(expected), "{variable}={value}: {error}");
        }
    }

    /// Several parameters set fields of one section.
    #[test]
    fn the_parameters_of_a_gateway_are_one_section() {
        let given = read(
            [
                ("PARAM_GATEWAYNAME", "public"),
                ("PARAM_GATEWAYNAMESPACE", ""),
                ("PARAM_GATEWAYENDPOINTPICKER", "{name}-epp"),
            ]
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .into_iter(),
        );
        let expected = json!({"gateway": {"name": "public", "endpointPicker": {"name": "{name}-epp"}}});
        assert_eq!(Value::from(options(&given.unwrap())), expected);
    }

    /// Argo CD accepts only a list (argo-cd#16077), and `generate` must accept every name in it.
    #[test]
    fn reads_every_announced_parameter() {
        let announced = announcement();
        let list: Vec<Value> = announced
            .as_array()
            .unwrap()
            .iter()
            .map(|parameter| match parameter["collectionType"].as_str().unwrap() {
                "map" => json!({"name": parameter["name"], "map": {"k": "v"}}),
                _ => json!({"name": parameter["name"], "string": "true"}),
            })
            .collect();
        let read = read_variables(&[(APP, &Value::from(list).to_string())]).unwrap();
        assert_eq!(read.as_object().unwrap().len(), PARAMETERS.len());
    }
}
