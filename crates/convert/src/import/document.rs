//! Converts a draft to a `ModelDeployment`.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::compare::same_values;
use kubefoundry_deployment::ir::Role;
use kubefoundry_deployment::wire::{self, ModelDeployment};
use kubefoundry_engines::profile::{BooleanSetting, ConfigValue, EngineProfile};
use kubefoundry_engines::{ImportedFlag, profile};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::wire::{Describe as _, Shape};
use kubefoundry_provider::draft::{Draft, WorkerDraft, is_empty_collection};

/// The engine settings that have fields, and the remaining flags.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EngineSettings {
    model_id: Option<String>,
    /// Whether a flag names the model. If so, a flag would also set the served name.
    has_model_flag: bool,
    served_name: Option<String>,
    context_length: Option<i32>,
    trust_remote_code: bool,
    enforce_eager: bool,
    pub(super) prefix_caching: Option<bool>,
    /// The remaining flags of each kind of worker.
    pub(super) rest: Vec<Vec<ImportedFlag>>,
}

impl EngineSettings {
    /// Moves the settings that have fields from a draft's flags into fields. A flag of only one role stays a flag.
    pub(super) fn from_draft(draft: &Draft) -> Self {
        let profile = profile(draft.engine);
        let mut rest: Vec<Vec<ImportedFlag>> = draft.workers.iter().map(|worker| worker.flags.clone()).collect();
        let model_id =
            draft.model_id.clone().or_else(|| take_shared(&mut rest, |flags| take_value(flags, profile.model)));
        let served_name = draft
            .served_name
            .clone()
            .or_else(|| take_shared(&mut rest, |flags| take_value(flags, profile.served_name)));
        let context_length = take_shared(&mut rest, |flags| take_context_length(flags, profile));
        let mut is_set =
            |setting: BooleanSetting| take_shared(&mut rest, |flags| take_setting(flags, setting)).is_some();
        let trust_remote_code = is_set(profile.trust_remote_code);
        let enforce_eager = is_set(profile.enforce_eager);
        let prefix_caching = if is_set(profile.prefix_caching_off) {
            Some(false)
        } else {
            is_set(profile.prefix_caching_on).then_some(true)
        };
        let has_model_flag = draft.model_id.is_none() && model_id.is_some();
        Self {
            model_id,
            has_model_flag,
            served_name,
            context_length,
            trust_remote_code,
            enforce_eager,
            prefix_caching,
            rest,
        }
    }

    /// Keeps a switch as a flag if its field would render other flags, because the runtime has deprecated the switch.
    /// `reread` renders settings and imports the result.
    pub(super) fn keep_deprecated_switch(self, draft: &Draft, reread: impl Fn(&Self) -> Option<Draft>) -> Self {
        let BooleanSetting::ReplacedSwitch(name, _) = profile(draft.engine).enforce_eager else { return self };
        let has_switch =
            |draft: &Draft| draft.workers.iter().any(|worker| worker.flags.iter().any(|flag| flag.name == name));
        if !self.enforce_eager || !has_switch(draft) || reread(&self).is_none_or(|rendered| has_switch(&rendered)) {
            return self;
        }
        let mut rest = self.rest.clone();
        for flags in &mut rest {
            flags.push(ImportedFlag { name: name.to_owned(), values: Vec::new() });
        }
        Self { enforce_eager: false, rest, ..self }
    }
}

/// Takes a value out of the flags of every kind of worker. It takes nothing unless all of them have the same value.
fn take_shared<T: PartialEq>(
    all: &mut Vec<Vec<ImportedFlag>>,
    take: impl Fn(&mut Vec<ImportedFlag>) -> Option<T>,
) -> Option<T> {
    let mut after = all.clone();
    let values: Option<Vec<T>> = after.iter_mut().map(take).collect();
    let mut values = values?.into_iter();
    let first = values.next()?;
    if values.all(|other| other == first) {
        *all = after;
        return Some(first);
    }
    None
}

/// Takes the value of the first flag with this name out of the flags.
fn take_value(flags: &mut Vec<ImportedFlag>, name: &str) -> Option<String> {
    let position = flags.iter().position(|flag| flag.name == name && flag.value().is_some())?;
    flags.remove(position).values.pop()
}

/// Takes the context length out of the flags. A value that the field cannot hold stays a flag.
fn take_context_length(flags: &mut Vec<ImportedFlag>, profile: &EngineProfile) -> Option<i32> {
    let position = flags.iter().position(|flag| flag.name == profile.context_length)?;
    let length = flags.get(position)?.value()?.parse::<i32>().ok().filter(|length| *length > 0)?;
    flags.remove(position);
    Some(length)
}

/// Takes out the flags that have the meaning of a boolean field.
fn take_setting(flags: &mut Vec<ImportedFlag>, setting: BooleanSetting) -> Option<()> {
    let mut take = |name: &str, values: &[&str]| {
        let position = flags.iter().position(|flag| flag.name == name && flag.values == values)?;
        flags.remove(position);
        Some(())
    };
    match setting {
        BooleanSetting::Switch(name) => take(name, &[]),
        BooleanSetting::ReplacedSwitch(name, others) => take(name, &[]).or_else(|| {
            let mut after = flags.clone();
            for (name, value) in others {
                let position = after.iter().position(|flag| flag.name == *name && flag.value() == Some(*value))?;
                after.remove(position);
            }
            *flags = after;
            Some(())
        }),
        BooleanSetting::OffForm(name, off) => take(off, &[]).or_else(|| take(name, &["false"])),
        BooleanSetting::ConfigKey(keys, value) => take_key(flags, keys, value),
        BooleanSetting::Default | BooleanSetting::Ignored(_) => None,
    }
}

/// Takes out a configuration key, which may be nested in another key.
fn take_key(flags: &mut Vec<ImportedFlag>, keys: &[&str], expected: ConfigValue) -> Option<()> {
    let expected = match expected {
        ConfigValue::Bool(value) => Value::Bool(value),
        ConfigValue::Null => Value::Null,
    };
    let (first, inner) = keys.split_first()?;
    let position = flags.iter().position(|flag| flag.name == *first)?;
    let mut value: Value = serde_json::from_str(flags.get(position)?.value()?).ok()?;
    match inner {
        [] => (value == expected).then(|| drop(flags.remove(position))),
        [key] => {
            let fields = value.as_object_mut().filter(|fields| fields.get(*key) == Some(&expected))?;
            fields.remove(*key);
            if fields.is_empty() {
                flags.remove(position);
            } else if let Some(flag) = flags.get_mut(position) {
                flag.values = vec![value.to_string()];
            }
            Some(())
        }
        _ => None,
    }
}

/// Returns the flags that the user supplied: all kinds of workers share them, and a rendering would not add them on its
/// own. `rendered` are the flags that it adds.
pub(super) fn user_flags(imported: &[Vec<ImportedFlag>], rendered: &[Vec<ImportedFlag>]) -> Vec<ImportedFlag> {
    let mut supplied = imported.iter().enumerate().map(|(position, flags)| {
        let added = rendered.get(position).map_or(&[][..], Vec::as_slice);
        let is_supplied = |flag: &&ImportedFlag| !added.iter().any(|added| is_same_flag(added, flag));
        flags.iter().filter(is_supplied).cloned().collect::<Vec<_>>()
    });
    let first = supplied.next().unwrap_or_default();
    let others: Vec<Vec<ImportedFlag>> = supplied.collect();
    let in_all =
        |flag: &ImportedFlag| others.iter().all(|other| other.iter().any(|candidate| is_same_flag(candidate, flag)));
    first.into_iter().filter(in_all).collect()
}

fn is_same_flag(one: &ImportedFlag, other: &ImportedFlag) -> bool {
    one.name == other.name && same_values(&one.values, &other.values)
}

/// Returns the flags of each kind of worker that the user supplied and that `common` does not have.
pub(super) fn role_flags(
    imported: &[Vec<ImportedFlag>],
    rendered: &[Vec<ImportedFlag>],
    common: &[ImportedFlag],
) -> Vec<Vec<ImportedFlag>> {
    let own = imported.iter().enumerate().map(|(position, flags)| {
        let added = rendered.get(position).map_or(&[][..], Vec::as_slice);
        let is_own = |flag: &&ImportedFlag| !added.iter().chain(common).any(|other| is_same_flag(other, flag));
        flags.iter().filter(is_own).cloned().collect()
    });
    own.collect()
}

/// What the user supplied to the workers, beside what a rendering adds on its own.
#[derive(Debug, Clone, Default)]
pub(super) struct Supplied {
    /// Environment variables of all workers.
    pub(super) env: Vec<Value>,
    /// Flags of all workers.
    pub(super) flags: Vec<ImportedFlag>,
    /// Environment variables of each kind of worker only.
    pub(super) role_env: Vec<Vec<Value>>,
    /// Flags of each kind of worker only.
    pub(super) role_flags: Vec<Vec<ImportedFlag>>,
}

impl Supplied {
    /// Divides the variables of the workers of a draft. `added` are those that a rendering adds to each.
    pub(super) fn divide_env(&mut self, draft: &Draft, added: Option<&Draft>) {
        let own = |draft: &Draft, position: usize| -> Vec<Value> {
            let worker = draft.workers.get(position);
            worker.and_then(|worker| worker.env.clone()).unwrap_or_else(|| draft.env.clone())
        };
        let supplied: Vec<Vec<Value>> = (0..draft.workers.len().max(1))
            .map(|position| {
                let added = added.map(|added| own(added, position)).unwrap_or_default();
                own(draft, position).into_iter().filter(|variable| !added.contains(variable)).collect()
            })
            .collect();
        let name = |variable: &Value| variable.get("name").cloned();
        // Where the values differ, a role replaces the first one.
        let in_all =
            |variable: &&Value| supplied.iter().all(|env| env.iter().any(|other| name(other) == name(variable)));
        self.env = supplied.first().into_iter().flatten().filter(in_all).cloned().collect();
        let is_own = |variable: &&Value| !self.env.contains(variable);
        self.role_env = supplied.iter().map(|env| env.iter().filter(is_own).cloned().collect()).collect();
    }
}

/// Builds a document from a draft.
pub(super) struct DocumentBuilder<'w> {
    pub(super) api_group: &'static ApiGroup,
    pub(super) metadata: &'w Value,
    pub(super) draft: &'w Draft,
    pub(super) settings: &'w EngineSettings,
    /// The provider, if the document names it.
    pub(super) provider: Option<&'static str>,
    /// Whether the document sets the image.
    pub(super) with_image: bool,
    pub(super) supplied: &'w Supplied,
    /// Whether the default of the API group enables prefix caching.
    pub(super) has_default_caching: bool,
    /// Whether the object identifies its model as a HuggingFace model.
    pub(super) is_hugging_face: bool,
}

impl DocumentBuilder<'_> {
    /// Returns the `ModelDeployment`, with its fields in the order of their declarations.
    pub(super) fn document(&self) -> Value {
        let mut document = self.fields();
        arrange_as_declared(&mut document, &ModelDeployment::SHAPE, self.api_group.name);
        document
    }

    /// Returns the fields of the document, not yet in the order of their declarations.
    fn fields(&self) -> Value {
        let mut spec = Map::new();
        spec.insert("model".to_owned(), Value::Object(self.model()));
        let mut provider = Map::new();
        insert(&mut provider, "name", self.provider);
        insert_non_empty(&mut provider, "overrides", Value::Object(self.draft.overrides.clone()));
        insert_non_empty(&mut spec, "provider", Value::Object(provider));
        spec.insert("engine".to_owned(), Value::Object(self.engine()));
        self.insert_workload(&mut spec);
        self.insert_shared_memory(&mut spec);
        insert(&mut spec, "image", self.draft.image.as_deref().filter(|_| self.with_image));
        insert_non_empty(&mut spec, "env", Value::Array(self.supplied.env.clone()));
        insert_non_empty(&mut spec, "probes", Value::Object(self.draft.probes.clone()));
        insert_non_empty(&mut spec, "volumeMounts", Value::Array(self.draft.volume_mounts.clone()));
        spec.extend(self.draft.security_context.clone().map(|context| ("securityContext".to_owned(), context)));
        insert_non_empty(&mut spec, "frontend", Value::Object(self.draft.frontend.clone()));
        let mut pods = Map::new();
        insert_non_empty(&mut pods, "labels", Value::Object(self.draft.pod_labels.clone()));
        insert_non_empty(&mut pods, "annotations", Value::Object(self.draft.pod_annotations.clone()));
        let mut template = Map::new();
        insert_non_empty(&mut template, "metadata", Value::Object(pods));
        insert_non_empty(&mut template, "spec", Value::Object(self.draft.pod_spec.clone()));
        insert_non_empty(&mut spec, "podTemplate", Value::Object(template));
        if let Some(token) = &self.draft.hugging_face_token {
            spec.insert("secrets".to_owned(), json!({"huggingFaceToken": token}));
        }
        insert_non_empty(&mut spec, "imagePullSecrets", Value::Array(self.draft.image_pull_secrets.clone()));
        insert_non_empty(&mut spec, "nodeSelector", Value::Object(self.draft.node_selector.clone()));
        insert_non_empty(&mut spec, "tolerations", Value::Array(self.draft.tolerations.clone()));
        json!({
            "apiVersion": self.api_group.api_version(),
            "kind": wire::KIND,
            "metadata": self.metadata,
            "spec": spec,
        })
    }

    /// Adds `spec.resources.sharedMemory`, beside the resources of an aggregated worker.
    fn insert_shared_memory(&self, spec: &mut Map<String, Value>) {
        let Some(size) = &self.draft.shared_memory else { return };
        let resources = spec.entry("resources").or_insert_with(|| Value::Object(Map::new()));
        if let Some(resources) = resources.as_object_mut() {
            resources.insert("sharedMemory".to_owned(), json!(size));
        }
    }

    /// Returns `spec.model`. The served name is omitted if a rendering derives the same one.
    fn model(&self) -> Map<String, Value> {
        let EngineSettings { model_id, served_name, .. } = self.settings;
        let mut model = Map::new();
        insert(&mut model, "id", model_id.as_deref());
        let derived = model_id.as_deref().and_then(|id| id.rsplit('/').find(|part| !part.is_empty()));
        let is_custom = self.is_custom();
        let is_derived = self.api_group.derives_served_name && served_name.as_deref() == derived;
        // Ray uses the source as the name of a model without one; a flag means that a user set a name.
        let is_model_id =
            !self.api_group.derives_served_name && self.draft.served_name.is_some() && served_name == model_id;
        if served_name.is_none() && self.settings.has_model_flag && self.api_group.derives_served_name && !is_custom {
            // Without a served name, engines use the id, but a rendering would use its last part.
            insert(&mut model, "servedName", model_id.as_deref().filter(|id| Some(*id) != derived));
        } else if !is_derived && !is_model_id && !is_custom {
            insert(&mut model, "servedName", served_name.as_deref());
        }
        if is_custom {
            model.insert("source".to_owned(), json!("custom"));
        }
        if !self.draft.volumes.is_empty() {
            model.insert("storage".to_owned(), json!({"volumes": self.draft.volumes}));
        }
        model
    }

    /// Returns whether the model is part of the image: its id is a path outside all volumes, and no name is set.
    fn is_custom(&self) -> bool {
        let EngineSettings { model_id, served_name, .. } = self.settings;
        let Some(id) = model_id.as_deref().filter(|id| id.starts_with('/')) else { return self.draft.is_custom };
        let on_volume = |volume: &Value| {
            let path = volume.get("mountPath").and_then(Value::as_str).unwrap_or("/model-cache").trim_end_matches('/');
            id.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_mounted = |mount: &Value| mount.get("mountPath").is_some() && on_volume(mount);
        let is_on_volume = self.draft.volumes.iter().any(on_volume) || self.draft.volume_mounts.iter().any(is_mounted);
        let is_unnamed = served_name.is_none() || served_name == model_id;
        let is_in_image = self.draft.image.is_some() && !self.is_hugging_face;
        self.draft.is_custom || is_in_image && (is_unnamed || !is_on_volume)
    }

    /// Returns `spec.engine`. Flags without a field become `args` or, if a mapping cannot express them, `extraArgs`.
    fn engine(&self) -> Map<String, Value> {
        let EngineSettings { context_length, trust_remote_code, enforce_eager, prefix_caching, .. } = self.settings;
        let mut engine = Map::new();
        engine.insert("type".to_owned(), json!(self.draft.engine));
        if let Some(length) = context_length {
            engine.insert("contextLength".to_owned(), json!(length));
        }
        if *trust_remote_code {
            engine.insert("trustRemoteCode".to_owned(), json!(true));
        }
        let is_default = |enabled: bool| self.has_default_caching && self.api_group.prefix_caching == Some(enabled);
        if let Some(enabled) = prefix_caching.filter(|enabled| !is_default(*enabled)) {
            engine.insert("enablePrefixCaching".to_owned(), json!(enabled));
        }
        if *enforce_eager {
            engine.insert("enforceEager".to_owned(), json!(true));
        }
        insert_flags(&mut engine, &self.supplied.flags);
        engine
    }

    /// Inserts replicas and resources: `scaling` and `resources` for one kind of worker, `serving` and `scaling` for
    /// two.
    fn insert_workload(&self, spec: &mut Map<String, Value>) {
        let worker = |worker: &WorkerDraft| {
            let mut fields = Map::new();
            if worker.gpu_count > 0 {
                let mut gpu = json!({"count": worker.gpu_count});
                if let Some(kind) = &worker.gpu_type {
                    gpu["type"] = json!(kind);
                }
                fields.insert("gpu".to_owned(), gpu);
            }
            insert(&mut fields, "memory", worker.memory.as_deref());
            insert(&mut fields, "cpu", worker.cpu.as_deref());
            if worker.nodes > 1 {
                fields.insert("nodes".to_owned(), json!(worker.nodes));
            }
            fields
        };
        if let [one] = self.draft.workers.as_slice() {
            if one.replicas != 1 {
                spec.insert("scaling".to_owned(), json!({"replicas": one.replicas}));
            }
            let mut resources = worker(one);
            resources.extend(one.resources.clone());
            insert_non_empty(spec, "resources", Value::Object(resources));
            return;
        }
        let mut scaling = Map::new();
        for (position, role) in self.draft.workers.iter().enumerate() {
            let mut fields = Map::new();
            if role.replicas != 1 {
                fields.insert("replicas".to_owned(), json!(role.replicas));
            }
            fields.extend(worker(role));
            let mut resources = role.resources.clone();
            // The roles in `scaling` have no field for CPUs.
            if let Some(cpu) = fields.shift_remove("cpu") {
                let requests = resources.entry("requests").or_insert_with(|| Value::Object(Map::new()));
                if let Some(requests) = requests.as_object_mut() {
                    requests.insert("cpu".to_owned(), cpu);
                }
            }
            insert_non_empty(&mut fields, "resources", Value::Object(resources));
            let mut engine = Map::new();
            insert_flags(&mut engine, self.supplied.role_flags.get(position).map_or(&[][..], Vec::as_slice));
            insert_non_empty(&mut fields, "engine", Value::Object(engine));
            let env = self.supplied.role_env.get(position).cloned().unwrap_or_default();
            insert_non_empty(&mut fields, "env", Value::Array(env));
            fields.extend(role.container.clone());
            let name = if role.role == Role::Prefill { "prefill" } else { "decode" };
            scaling.insert(name.to_owned(), Value::Object(fields));
        }
        spec.insert("serving".to_owned(), json!({"mode": "disaggregated"}));
        spec.insert("scaling".to_owned(), Value::Object(scaling));
    }
}

/// Returns a value that is JSON on several lines as JSON on one line, the form that every argument parser reads.
fn on_one_line(value: &str) -> Cow<'_, str> {
    let json = value.contains('\n').then(|| serde_json::from_str::<Value>(value).ok()).flatten();
    json.filter(|json| json.is_object() || json.is_array())
        .map_or(Cow::Borrowed(value), |json| Cow::Owned(json.to_string()))
}

/// Sorts the fields of an object, at every depth, in the order of their declarations, and removes those that the API group
/// does not have. Keys of maps keep their order.
pub(super) fn arrange_as_declared(value: &mut Value, shape: &Shape, group: &str) {
    match (value, shape) {
        (Value::Object(fields), Shape::Object(object)) => {
            fields.retain(|key, _| object.field(key).is_none_or(|field| !field.facets.not_in.contains(&group)));
            let position = |key: &String| object.fields.iter().position(|field| field.key == *key);
            let mut sorted: Vec<(String, Value)> = std::mem::take(fields).into_iter().collect();
            sorted.sort_by_key(|(key, _)| position(key));
            for (key, value) in &mut sorted {
                if let Some(field) = object.field(key) {
                    arrange_as_declared(value, &field.full_shape(), group);
                }
            }
            *fields = sorted.into_iter().collect();
        }
        (Value::Array(items), Shape::List(shape)) => {
            for item in items {
                arrange_as_declared(item, shape, group);
            }
        }
        _ => {}
    }
}

fn insert(fields: &mut Map<String, Value>, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        fields.insert(key.to_owned(), json!(value));
    }
}

/// Inserts a value unless it is empty.
fn insert_non_empty(fields: &mut Map<String, Value>, key: &str, value: Value) {
    if !is_empty_collection(&value) {
        fields.insert(key.to_owned(), value);
    }
}

/// Inserts flags as `args` or, if a mapping cannot express them, as `extraArgs`.
fn insert_flags(engine: &mut Map<String, Value>, flags: &[ImportedFlag]) {
    let (mut args, mut extra) = (Map::new(), Vec::new());
    // `engine.args` accepts only valid flag names.
    let is_name = |name: &str| {
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte))
    };
    let is_named = |flag: &&ImportedFlag| !flag.name.trim_matches('-').is_empty() && is_name(&flag.name);
    for flag in flags.iter().filter(is_named) {
        match flag.values.as_slice() {
            [] => drop(args.insert(flag.name.clone(), json!(""))),
            [value] => drop(args.insert(flag.name.clone(), json!(on_one_line(value)))),
            values => {
                extra.push(format!("--{}", flag.name));
                extra.extend(values.iter().cloned());
            }
        }
    }
    // The order of flags has no meaning, so sorting makes the document independent of the imported order.
    args.sort_keys();
    insert_non_empty(engine, "args", Value::Object(args));
    insert_non_empty(engine, "extraArgs", json!(extra));
}
