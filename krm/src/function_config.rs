//! Reads functionConfig: a `Render`, a ConfigMap with options as text, or a ModelDeployment.

use kubefoundry_compiler::codes;
use kubefoundry_compiler::options::render;
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_yaml::text::closest;
use kubefoundry_yaml::{Node, Value};
use serde_json::{Map, Value as Json};

use crate::envelope::Envelope;
use crate::item;

/// The parsed functionConfig.
#[derive(Debug, Default)]
pub(crate) struct FunctionConfig {
    /// The text of a `Render` document.
    pub(crate) options: Option<String>,
    /// Whether `options` was converted from a ConfigMap. Findings then refer to keys of `data`.
    pub(crate) from_config_map: bool,
    /// Whether functionConfig is a ModelDeployment.
    pub(crate) is_deployment: bool,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Boolean keys of `data` in a ConfigMap. All keys are field paths of `Render`.
const BOOLEANS: [&str; 9] = [
    "allowEmpty",
    "kaito.gatewayAPIInferenceExtension",
    "kaito.nodeAutoProvisioning",
    "llamaStack.nativeExtraProviders",
    "llamaStack.networkPolicy",
    "ownerReferences",
    "policy.allowHostIPC",
    "prune",
    "strict",
];
const NUMBERS: [&str; 8] = [
    "gateway.endpointPicker.port",
    "limits.aliasNodes",
    "limits.depth",
    "limits.documentBytes",
    "limits.documents",
    "limits.nodes",
    "limits.ruleBytes",
    "limits.ruleSteps",
];
const STRINGS: [&str; 22] = [
    "actor.gatewayURL",
    "actor.kserveDefaultMode",
    "actor.queues.provider",
    "actor.queues.rabbitmqClusterReference.connectionSecret.name",
    "actor.queues.rabbitmqClusterReference.name",
    "actor.queues.rabbitmqClusterReference.namespace",
    "actor.queues.type",
    "actor.runtimeScript",
    "actor.sidecarImage",
    "gateway.endpointPicker.name",
    "gateway.name",
    "gateway.namespace",
    "gateway.sectionName",
    "gpus.default",
    "llamaStack.clusterRole",
    "llamaStack.image",
    "llamaStack.mergeMode",
    "llamaStack.operatorNamespace",
    "llamaStack.preflight",
    "llamaStack.volumeSizeLimit",
    "output",
    "policy.podSecurity",
];
/// Keys whose values are lists: their entries, separated by commas.
const LISTS: [&str; 2] = ["policy.allowCapabilities", "policy.allowHostPaths"];
/// Keys that end with a name chosen by the user, such as a provider or an image prefix, and their documented form.
const MAPS: [(&str, &str); 7] = [
    ("gpus.namespaces", "gpus.namespaces.NAMESPACE"),
    ("images", "images.PREFIX"),
    ("llamaStack.distributions", "llamaStack.distributions.NAME"),
    ("llamaStack.imageOverrides", "llamaStack.imageOverrides.NAME"),
    ("severities", "severities.CODE"),
    ("runtimes", "runtimes.PROVIDER"),
    ("crdVersions", "crdVersions.PROVIDER"),
];

impl FunctionConfig {
    /// Reads functionConfig. If it is missing, all options have their defaults.
    pub(crate) fn read(envelope: &Envelope<'_>) -> Self {
        let Some(config) = envelope.function_config() else { return Self::default() };
        let (api_version, kind) = item::type_of(config);
        let is_known_group =
            ApiGroup::find(api_version.split_once('/').map_or(api_version, |(group, _)| group)).is_some();
        match (api_version, kind) {
            (render::API_VERSION, "Render") => {
                Self { options: Some(envelope.extract_text(config).0), ..Self::default() }
            }
            ("v1", "ConfigMap") => Self::from_data(config.get("data")),
            (_, kubefoundry_deployment::wire::KIND) if is_known_group => {
                Self { is_deployment: true, ..Self::default() }
            }
            _ => {
                let found = match (kind, api_version) {
                    ("", _) => format!("{} without a kind", config.describe()),
                    (_, "") => format!("a {kind} without an apiVersion"),
                    _ => format!("a {kind} of {api_version}"),
                };
                let message = format!(
                    "functionConfig is {found}, expected a Render of {}, a ConfigMap of v1, or a ModelDeployment",
                    render::API_VERSION
                );
                Self { diagnostics: vec![Diagnostic::new(&codes::INVALID_OPTION, message)], ..Self::default() }
            }
        }
    }

    /// Whether this function would accept a configuration, so that a function that uses it may be this one.
    pub(crate) fn is_acceptable(config: &Node<'_>) -> bool {
        let (api_version, kind) = item::type_of(config);
        match (api_version, kind) {
            (render::API_VERSION, "Render") => true,
            ("v1", "ConfigMap") => Self::is_acceptable_data(config.get("data")),
            _ => item::is_model_deployment(config),
        }
    }

    /// Returns the options in a ConfigMap; `None` if one of them is invalid.
    pub(crate) fn from_config_map(config_map: &Node<'_>) -> Option<String> {
        let config = Self::from_data(config_map.get("data"));
        config.options.filter(|_| config.diagnostics.is_empty())
    }

    /// Like [`Self::is_acceptable`], for the `data` of a ConfigMap.
    pub(crate) fn is_acceptable_data(data: Option<&Node<'_>>) -> bool {
        Self::from_data(data).diagnostics.is_empty()
    }

    fn from_data(data: Option<&Node<'_>>) -> Self {
        let mut function_config = Self { from_config_map: true, ..Self::default() };
        let mut render = Map::new();
        render.insert("apiVersion".to_owned(), Json::from(render::API_VERSION));
        render.insert("kind".to_owned(), Json::from("Render"));
        if let Some(data) = data
            && !matches!(data.value, Value::Mapping(_) | Value::Null)
        {
            function_config
                .report_error(format!("data is {}, expected a mapping of keys to text", data.describe()), None);
        }
        for entry in data.map(Node::entries).unwrap_or_default() {
            function_config.read_option(&entry.key, &entry.node, &mut render);
        }
        function_config.options = Some(Json::Object(render).to_string());
        function_config
    }

    /// Adds one key to `render`. Values in a ConfigMap are text, but unquoted `strict: true` is accepted, too.
    fn read_option(&mut self, key: &str, value: &Node<'_>, render: &mut Map<String, Json>) {
        let text = match &value.value {
            Value::String(text) => text.clone().into_owned(),
            Value::Bool(_) | Value::Integer(_) | Value::Float(_) => value.to_json().to_string(),
            _ => return self.report_error(format!("data[{key:?}] is {}, expected text", value.describe()), None),
        };
        let value = if BOOLEANS.contains(&key) {
            match text.as_str() {
                "true" => Json::from(true),
                "false" => Json::from(false),
                _ => return self.report_error(format!("data[{key:?}] is {text:?}, expected true or false"), None),
            }
        } else if NUMBERS.contains(&key) {
            match text.parse::<i64>() {
                Ok(number) => Json::from(number),
                Err(_) => return self.report_error(format!("data[{key:?}] is {text:?}, expected an integer"), None),
            }
        } else if LISTS.contains(&key) {
            text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(Json::from).collect()
        } else if STRINGS.contains(&key) || is_map_key(key) {
            Json::from(text)
        } else {
            let known: Vec<&str> = known_keys().collect();
            let renamed = render::RENAMED_FIELDS
                .iter()
                .find_map(|(old, new)| Some(format!("write {new}{}", key.strip_prefix(old)?)));
            let help =
                renamed.or_else(|| closest(key, known.iter().copied()).map(|meant| format!("did you mean {meant}?")));
            return self
                .report_error(format!("unknown key {key:?} in data, expected one of {}", known.join(", ")), help);
        };
        insert_value(render, key, value);
    }

    fn report_error(&mut self, message: String, help: Option<String>) {
        let mut diagnostic = Diagnostic::new(&codes::INVALID_OPTION, message);
        diagnostic.help = help;
        self.diagnostics.push(diagnostic);
    }
}

/// Splits a key of [`MAPS`] into the map and the name chosen by the user.
fn split_map_key(key: &str) -> Option<(&'static str, &str)> {
    let rest = |map: &str| key.strip_prefix(map)?.strip_prefix('.').filter(|rest| !rest.is_empty());
    MAPS.iter().find_map(|(map, _)| Some((*map, rest(map)?)))
}

fn is_map_key(key: &str) -> bool {
    split_map_key(key).is_some()
}

/// Inserts a value at the path of a key. Only the name chosen by the user may contain dots.
fn insert_value(render: &mut Map<String, Json>, key: &str, value: Json) {
    let (path, last) = split_map_key(key).or_else(|| key.rsplit_once('.')).unwrap_or(("", key));
    let mut fields = render;
    for field in path.split('.').filter(|field| !field.is_empty()) {
        let inner = fields.entry(field).or_insert_with(|| Json::Object(Map::new()));
        let Some(inner) = inner.as_object_mut() else { return };
        fields = inner;
    }
    fields.insert(last.to_owned(), value);
}

fn known_keys() -> impl Iterator<Item = &'static str> {
    BOOLEANS.into_iter().chain(STRINGS).chain(LISTS).chain(MAPS.into_iter().map(|(_, shown)| shown)).chain(NUMBERS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubefoundry_composition::BUILTIN;

    /// Every option of `Render` must have a key, except for those that are whole objects.
    #[test]
    fn every_option_of_render_is_a_key() {
        let fields = |known: &mut dyn Iterator<Item = &'static str>| -> Vec<&'static str> {
            let mut fields: Vec<&str> = known.map(|key| key.split('.').next().unwrap()).collect();
            fields.sort_unstable();
            fields.dedup();
            fields
        };
        let not_text = ["apiVersion", "kind", "metadata", "models", "providers"];
        let kubefoundry_kubernetes::wire::Shape::Object(shape) = kubefoundry_compiler::options::render::shape(&BUILTIN)
        else {
            panic!("an object")
        };
        // Those about files: a function reads none.
        let of_files = ["environments", "exclude", "helm", "include", "kustomize", "root"];
        let mut render: Vec<&str> = shape
            .fields
            .iter()
            .map(|field| field.key)
            .filter(|field| !not_text.contains(field) && !of_files.contains(field))
            .collect();
        render.sort_unstable();
        assert_eq!(fields(&mut known_keys()), render);
        let under = |group: &str| -> Vec<&'static str> {
            known_keys()
                .filter_map(|key| key.split_once('.'))
                .filter(|(at, _)| *at == group)
                .map(|(_, key)| key)
                .collect()
        };
        let mut limits = under("limits");
        limits.sort_unstable();
        let mut known = render::Limits::FIELDS.to_vec();
        known.sort_unstable();
        assert_eq!(limits, known);
        assert_eq!(under("kaito"), ["gatewayAPIInferenceExtension", "nodeAutoProvisioning"]);
        let mut gateway: Vec<&str> = under("gateway").iter().map(|key| key.split('.').next().unwrap()).collect();
        gateway.sort_unstable();
        gateway.dedup();
        let mut known = kubefoundry_model::gateway::GatewayOptions::FIELDS.to_vec();
        known.sort_unstable();
        assert_eq!(gateway, known);
        // Selectors and products are whole objects.
        assert_eq!(under("gpus"), ["default", "namespaces.NAMESPACE"]);
        // Transports are whole objects.
        let mut actor: Vec<&str> = under("actor").iter().map(|key| key.split('.').next().unwrap()).collect();
        actor.push("transports");
        actor.sort_unstable();
        actor.dedup();
        let mut known = kubefoundry_actor::options::ActorOptions::FIELDS.to_vec();
        known.sort_unstable();
        assert_eq!(actor, known);
        let mut llama_stack: Vec<&str> = under("llamaStack").iter().map(|key| key.split('.').next().unwrap()).collect();
        llama_stack.extend(["baseConfigPaths", "initResources"]);
        llama_stack.sort_unstable();
        let mut known = kubefoundry_llamastack::options::LlamaStackSettings::FIELDS.to_vec();
        known.sort_unstable();
        assert_eq!(llama_stack, known);
    }

    /// The README must list every key.
    #[test]
    fn every_key_is_documented() {
        let page = include_str!("../README.md");
        for key in known_keys() {
            let row = if key.starts_with("limits.") { "limits.FIELD" } else { key };
            assert!(page.contains(&format!("| `{row}` |")), "{key}");
        }
    }
}
