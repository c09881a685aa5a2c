//! What an imported graph has in single components, as overrides: it shows only when the graph is compared with its
//! rendering, because a rendering gives components much that no field says.

use serde_json::{Map, Value, json};

use crate::MAX_NAMES_LENGTH;
use crate::import::component::GraphComponent;
use crate::overrides::StackFlag;
use crate::settings::component::{FRONTEND_FIELDS_ELSEWHERE, WORKER_FIELDS_ELSEWHERE, is_name};
use kubefoundry_deployment::ir::Role;
use kubefoundry_engines::flags_from_argv;
use kubefoundry_kubernetes::wire::StringEnum as _;
use kubefoundry_provider::draft::{Draft, Refinement, items_at, string_at, string_entries_at};
use kubefoundry_provider::import_pod::PROBES;

/// The keys of TensorRT-LLM's configuration that disaggregated mode adds.
const DISAGGREGATION_KEYS: [&str; 2] = ["cache_transceiver_config", "disable_overlap_scheduler"];

/// Adds what differs to a draft. Returns whether there is anything to add.
pub(crate) fn refine(refinement: &Refinement<'_>, draft: &mut Draft) -> bool {
    let (imported, rendered) =
        (GraphComponent::all_of(refinement.object), GraphComponent::all_of(refinement.rendering));
    let before = draft.clone();
    let roles: Vec<Role> = draft.workers.iter().map(|worker| worker.role).collect();
    let mut roles_of_workers = roles.into_iter();
    let mut pairs = Vec::new();
    for other in &rendered {
        let role = if other.kind() == "frontend" { None } else { roles_of_workers.next() };
        let renamed = draft.equivalents.renames.pairs.iter().find(|(_, rendered)| *rendered == other.name);
        let name = renamed.map_or(other.name, |(imported, _)| imported).to_owned();
        if let Some(own) = imported.iter().find(|component| component.name == name) {
            pairs.push(ComponentPair { role, own, rendered: other });
        }
    }
    let has_frontend = |components: &[GraphComponent<'_>]| components.iter().any(|it| it.kind() == "frontend");
    if has_frontend(&rendered) && !has_frontend(&imported) {
        draft.overrides.insert("frontend".to_owned(), json!({"enabled": false}));
        draft.frontend.clear();
    }
    let graph_name = string_at(refinement.rendering, "/metadata/name").unwrap_or_default();
    for pair in &pairs {
        pair.add_name_and_type(graph_name, draft);
        pair.add_omitted_flags(draft);
        pair.add_metadata(draft);
        if pair.role.is_none() {
            pair.add_frontend(draft);
        }
    }
    if let [first, second] = pairs.iter().filter(|pair| pair.role.is_some()).collect::<Vec<_>>().as_slice() {
        divide_containers(first, second, refinement, draft);
    }
    for pair in &pairs {
        pair.add_pod_fields(refinement, draft);
    }
    *draft != before
}

/// A component of the imported graph with the one that is rendered for it.
struct ComponentPair<'p> {
    /// `None` for the frontend.
    role: Option<Role>,
    own: &'p GraphComponent<'p>,
    rendered: &'p GraphComponent<'p>,
}

impl ComponentPair<'_> {
    /// Returns the key of the component in the overrides.
    fn key(&self) -> &'static str {
        match self.role {
            None => "frontend",
            Some(Role::Aggregated) => "worker",
            Some(Role::Prefill) => "prefill",
            Some(Role::Decode) => "decode",
        }
    }

    fn add_name_and_type(&self, graph_name: &str, draft: &mut Draft) {
        // Several nodes need Grove, which limits the names.
        let is_multinode = draft.workers.iter().any(|worker| worker.nodes > 1);
        let fits = !is_multinode || graph_name.len() + self.own.name.len() <= MAX_NAMES_LENGTH;
        if self.own.name != self.rendered.name && is_name(self.own.name) && fits {
            self.insert(draft, "name", json!(self.own.name));
            draft.equivalents.renames.pairs.retain(|(imported, _)| imported != self.own.name);
        }
        if self.role.is_some()
            && let (Some(own), Some(rendered)) = (self.own.worker_type(), self.rendered.worker_type())
            && own != rendered
        {
            self.insert(draft, "type", json!(own));
        }
    }

    /// Adds the flags that only the rendering has, if it would be without them.
    fn add_omitted_flags(&self, draft: &mut Draft) {
        let Some(worker) = draft.workers.iter().find(|worker| Some(worker.role) == self.role) else { return };
        let rendered = flags_from_argv(&self.rendered.readable_command_line().texts());
        let is_written = |name: &str| {
            let of_config_file = draft.equivalents.default_flags.iter();
            worker.flags.iter().chain(of_config_file).any(|flag| flag.name == name)
        };
        let omitted: Vec<Value> = StackFlag::VARIANTS
            .iter()
            .filter(|(name, flag)| match flag {
                StackFlag::OverrideEngineArgs => {
                    !DISAGGREGATION_KEYS.iter().any(|key| worker.flags.iter().any(|flag| flag.name == *key))
                }
                _ => !is_written(name),
            })
            .filter(|(name, _)| rendered.iter().any(|flag| flag.name == *name))
            .map(|(name, _)| json!(name))
            .collect();
        if !omitted.is_empty() {
            self.insert(draft, "omitFlags", Value::Array(omitted));
        }
    }

    fn add_frontend(&self, draft: &mut Draft) {
        if self.own.token_secret().is_none() && self.rendered.token_secret().is_some() {
            self.insert(draft, "huggingFaceToken", json!(false));
        }
        let image = string_at(self.own.container, "/image");
        if let Some(image) = image.filter(|image| string_at(self.rendered.container, "/image") != Some(*image)) {
            self.insert(draft, "image", json!(image));
        }
    }

    /// Adds the fields of the pod and of the container that differ and that no other field decides.
    fn add_pod_fields(&self, refinement: &Refinement<'_>, draft: &mut Draft) {
        let elsewhere: &[&str] = if self.role.is_none() { FRONTEND_FIELDS_ELSEWHERE } else { WORKER_FIELDS_ELSEWHERE };
        let pods = (self.own.pod.clone(), self.rendered.pod.clone());
        let containers = (self.own.container_with_probes(), self.rendered.container_with_probes());
        for (part, (own, rendered), left_out) in
            [("pod", pods, &["containers", "mainContainer"][..]), ("container", containers, elsewhere)]
        {
            for (field, value) in differing_fields(&own, &rendered, refinement) {
                if !left_out.contains(&field.as_str()) {
                    self.overrides(draft)[part][field] = value;
                }
            }
        }
    }

    /// Adds the labels and annotations that differ.
    fn add_metadata(&self, draft: &mut Draft) {
        for field in ["labels", "annotations"] {
            let entries = |component: &GraphComponent<'_>| {
                component.metadata.map(|metadata| string_entries_at(metadata, &format!("/{field}"))).unwrap_or_default()
            };
            let (own, rendered) = (entries(self.own), entries(self.rendered));
            let changed = own.iter().filter(|(key, value)| rendered.get(*key) != Some(value));
            let mut changes: Map<String, Value> = changed.map(|(key, value)| (key.clone(), value.clone())).collect();
            let removed = rendered.keys().filter(|key| !own.contains_key(*key));
            changes.extend(removed.map(|key| (key.clone(), Value::Null)));
            if !changes.is_empty() {
                self.overrides(draft)["metadata"][field] = Value::Object(changes);
            }
        }
    }

    /// Returns the overrides of the component, a mapping.
    fn overrides<'d>(&self, draft: &'d mut Draft) -> &'d mut Value {
        draft.overrides.entry(self.key()).or_insert_with(|| json!({}))
    }

    fn insert(&self, draft: &mut Draft, field: &str, value: Value) {
        self.overrides(draft)[field] = value;
    }
}

/// Returns the fields that differ with the imported value, or `null` for those that only the rendering has.
fn differing_fields(own: &Value, rendered: &Value, refinement: &Refinement<'_>) -> Vec<(String, Value)> {
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let (own, rendered) = (fields(own), fields(rendered));
    let mut differing = Vec::new();
    for (field, value) in &own {
        let other = rendered.get(field).unwrap_or(&Value::Null);
        if (refinement.differs)(value, other) {
            differing.push((field.clone(), value.clone()));
        }
    }
    let only_rendered = rendered.iter().filter(|(field, value)| {
        own.get(*field).is_none_or(Value::is_null) && (refinement.differs)(&Value::Null, value)
    });
    differing.extend(only_rendered.map(|(field, _)| (field.clone(), Value::Null)));
    differing
}

/// Moves probes, mounts and security contexts that the two roles do not share to the fields of the roles.
fn divide_containers(
    first: &ComponentPair<'_>,
    second: &ComponentPair<'_>,
    refinement: &Refinement<'_>,
    draft: &mut Draft,
) {
    let [own, other] = [first, second].map(|pair| pair.own.container_with_probes());
    let differs = |one: Option<&Value>, other: Option<&Value>| {
        (refinement.differs)(one.unwrap_or(&Value::Null), other.unwrap_or(&Value::Null))
    };
    for (name, field) in PROBES {
        if differs(own.get(*field), other.get(*field)) {
            draft.probes.shift_remove(*name);
            for (position, container) in [&own, &other].into_iter().enumerate() {
                let probe = container.get(*field).filter(|probe| !probe.is_null());
                if let (Some(probe), Some(worker)) = (probe, draft.workers.get_mut(position)) {
                    let probes = worker.container.entry("probes").or_insert_with(|| json!({}));
                    probes[*name] = probe.clone();
                }
            }
        }
    }
    if differs(own.get("securityContext"), other.get("securityContext")) {
        draft.security_context = None;
        for (position, container) in [&own, &other].into_iter().enumerate() {
            let context = container.get("securityContext").filter(|context| !context.is_null());
            if let (Some(context), Some(worker)) = (context, draft.workers.get_mut(position)) {
                worker.container.insert("securityContext".to_owned(), context.clone());
            }
        }
    }
    // A mount that only one role has.
    let (own_mounts, other_mounts) = (items_at(&own, "/volumeMounts"), items_at(&other, "/volumeMounts"));
    let is_in = |mounts: &[Value], mount: &Value| mounts.iter().any(|other| !(refinement.differs)(mount, other));
    let (kept, moved): (Vec<Value>, Vec<Value>) =
        draft.volume_mounts.drain(..).partition(|mount| is_in(other_mounts, mount));
    draft.volume_mounts = kept;
    let rendered = second.rendered.container_with_probes();
    let rendered_mounts = items_at(&rendered, "/volumeMounts");
    let missing: Vec<Value> = other_mounts
        .iter()
        .filter(|mount| !is_in(rendered_mounts, mount) && !is_in(own_mounts, mount))
        .cloned()
        .collect();
    for mount in &missing {
        declare_volume(mount, second.own.pod, draft);
    }
    for (position, mounts) in [moved, missing].into_iter().enumerate() {
        if let Some(worker) = draft.workers.get_mut(position).filter(|_| !mounts.is_empty()) {
            let all = worker.container.entry("volumeMounts").or_insert_with(|| json!([]));
            if let Some(all) = all.as_array_mut() {
                all.extend(mounts);
            }
        }
    }
}

/// Adds the volume of a mount to those of the workers, which must have a volume of each name that is mounted.
fn declare_volume(mount: &Value, pod: &Value, draft: &mut Draft) {
    let name = string_at(mount, "/name");
    let is_named = |volume: &&Value| string_at(volume, "/name") == name;
    let Some(volume) = items_at(pod, "/volumes").iter().find(is_named) else { return };
    if draft.volumes.iter().any(|volume| is_named(&volume)) {
        return;
    }
    let volumes = draft.pod_spec.entry("volumes").or_insert_with(|| json!([]));
    if let Some(volumes) = volumes.as_array_mut().filter(|volumes| !volumes.iter().any(|volume| is_named(&volume))) {
        volumes.push(volume.clone());
    }
}
