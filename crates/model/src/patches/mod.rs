//! Raw patches (`spec.provider.overrides.patches`): changes of the generated objects, for what no field says.
//!
//! ```text
//! generated objects ─ merge each patch ─ identity unchanged? ─ objects with the list of written values
//! ```
//! The pipeline then decides whether a patch overwrites what a field decides, because it knows which field that is.

mod identity;
mod list_items;
mod merge;

use serde_json::{Map, Value};

use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, ProviderRequest};
use kubefoundry_deployment::wire::{OBJECT_FIELDS, Patch, SharedOverrides};
use kubefoundry_diagnostics::{Diagnostic, FieldRef, Findings};
use kubefoundry_kubernetes::api_group::{AIRUNWAY, ApiGroup};
use kubefoundry_kubernetes::header::group_of;
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::wire::{PathOf, Read as _, Reader};
use kubefoundry_provider::Provider;
use kubefoundry_transform::{InstalledSchemas, ListType, PatchWrite, PatchedObject, read_configuration};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;
use list_items::{ItemIndex, ListRule};
use merge::{Merge, MergeProblem};

/// Returns, for each item of a patch of a list, the position of the item that it changes, or `None` for one that it adds.
/// Returns `None` for a list that a patch replaces as a whole. `field` is the field with the list, about which no CRD says
/// anything.
///
/// ```
/// use kubefoundry_model::patches::matched_items;
/// use serde_json::json;
/// let (items, changes) = ([json!({"name": "A"})], [json!({"name": "B"}), json!({"name": "A", "value": "1"})]);
/// assert_eq!(matched_items("env", &items, &changes), Some(vec![None, Some(0)]));
/// assert_eq!(matched_items("args", &[json!("-a")], &[json!("-b")]), None);
/// ```
pub fn matched_items(field: &str, items: &[Value], changes: &[Value]) -> Option<Vec<Option<usize>>> {
    let ListRule::Items(keys) = ListRule::choose(None, field, items, changes) else { return None };
    let mut index = ItemIndex::default();
    for (position, item) in items.iter().enumerate() {
        index.add(item, position, &keys);
    }
    // An item without its key cannot be in a patch.
    let matched = changes.iter().map(|change| keys.identity(change).map(|_| index.find(change, &keys)));
    matched.collect()
}

/// Returns the paths of everything in a deployment's overrides that patches its objects. `overrides` are those of a
/// deployment of `api_group`.
pub fn patch_paths(overrides: Option<&Node<'_>>, api_group: &ApiGroup) -> Vec<FieldPath> {
    if api_group.overrides_merged_by.is_none() {
        return vec![SharedOverrides::path_of_patches().into()];
    }
    let keys = overrides.map(Node::entries).unwrap_or_default().iter().map(|entry| entry.key.as_ref());
    let path = ProviderRequest::overrides_path();
    keys.filter(|key| OBJECT_FIELDS.contains(key)).map(|key| path.key(key.to_owned())).collect()
}

/// The key of the patches in the overrides, which providers read with their own ones.
const PATCHES: &str = "patches";
/// The kind with a Serve configuration, and the field that holds it as text.
const SERVE_CONFIG: (&str, &str) = ("RayService", "spec.serveConfigV2");

/// Applies the patches of a deployment to its objects, in order. Returns the objects that changed.
pub(crate) fn apply(
    deployment: &Deployment,
    provider: &dyn Provider,
    manifests: &mut [Manifest],
    schemas: Option<&dyn InstalledSchemas>,
    findings: &mut Findings<'_>,
) -> Vec<PatchedObject> {
    let patches = read_patches(deployment, findings);
    let merged = merged_overrides(deployment);
    if patches.is_empty() && merged.is_empty() {
        return Vec::new();
    }
    let mut objects: Vec<ObjectInWork> = manifests.iter().map(|_| ObjectInWork::default()).collect();
    for (index, patch) in &patches {
        let applied = AppliedPatch { patch, path: SharedOverrides::path_of_patches().index(*index), schemas };
        applied.apply(manifests, &mut objects, findings);
    }
    merge_overrides(&merged, provider, manifests, &mut objects, findings);
    let place =
        if merged.is_empty() { SharedOverrides::path_of_patches().into() } else { ProviderRequest::overrides_path() };
    let mut patched = Vec::new();
    for (position, (manifest, object)) in manifests.iter_mut().zip(objects).enumerate() {
        let Some((before, after)) = object.values else { continue };
        let object = PatchedObject {
            position,
            before,
            patches: place.clone(),
            text: serve_config_field(&manifest.kind),
            writes: object.writes,
        };
        let changes_identity = identity::report_changes(&object, &after, findings);
        if !changes_identity && after != object.before && replace_fields(manifest, after, &object, findings) {
            patched.push(object);
        }
    }
    patched
}

/// Returns the overrides that the group's system merges into the provider's object.
fn merged_overrides(deployment: &Deployment) -> Vec<(String, Value)> {
    let overrides = deployment.provider.overrides.as_ref();
    let overrides = overrides.filter(|_| deployment.api_group.overrides_merged_by.is_some());
    let entries = overrides.map(Node::entries).unwrap_or_default().iter();
    let merged = entries.filter(|entry| OBJECT_FIELDS.contains(&entry.key.as_ref()));
    merged.map(|entry| (entry.key.clone().into_owned(), entry.node.to_json())).collect()
}

/// Merges overrides into the provider's main object as airunway does (`deepMerge` in `providers/*/transformer.go`):
/// mappings key by key, and everything else, lists included, as a whole.
fn merge_overrides(
    overrides: &[(String, Value)],
    provider: &dyn Provider,
    manifests: &[Manifest],
    objects: &mut [ObjectInWork],
    findings: &mut Findings<'_>,
) {
    let is_main = |manifest: &Manifest| provider.info().has_kind(group_of(&manifest.api_version), &manifest.kind);
    let main = manifests.iter().zip(objects).find(|(manifest, _)| is_main(manifest));
    let Some((manifest, object)) = main.filter(|_| !overrides.is_empty()) else { return };
    let (value, writes) = object.open(manifest);
    let path = ProviderRequest::overrides_path();
    for (key, change) in overrides {
        let before = value.clone();
        let mut problems = Vec::new();
        let whole = |_: &FieldPath| Some(ListType::Atomic);
        let mut merge = Merge { list_type: &whole, text: None, writes, problems: &mut problems };
        let fields = Value::Object(Map::from_iter([(key.clone(), change.clone())]));
        merge.merge(value, &fields, &FieldPath::root(), &path);
        merge::report_all(&problems, 1, findings);
        if before == *value && problems.is_empty() {
            let at = path.key(key.clone());
            findings
                .report(&codes::PATCH_WITHOUT_EFFECT, FieldRef::key(&at), format!("{at} changes nothing"))
                .help("remove it: the object has these values anyway");
        }
    }
}

/// Reads the patches, with their indexes. The provider has reported what is wrong in them, together with its other
/// overrides; patches with an error are left out, so that no other finding is about them.
fn read_patches(deployment: &Deployment, findings: &Findings<'_>) -> Vec<(usize, Patch)> {
    let overrides = deployment.provider.overrides.as_ref().filter(|_| deployment.api_group.name != AIRUNWAY);
    let items = overrides.and_then(|overrides| overrides.get(PATCHES)).map(Node::items).unwrap_or_default();
    let read = |(index, item): (usize, &Node<'static>)| {
        let mut repeated = Findings::new(findings.scope().clone());
        let mut reader = Reader::for_overrides(&mut repeated, deployment.api_group);
        let patch = Patch::read(item, &SharedOverrides::path_of_patches().index(index), &mut reader)?;
        (!repeated.has_errors()).then_some((index, patch))
    };
    items.iter().enumerate().filter_map(read).collect()
}

/// An object while patches are applied to it.
#[derive(Default)]
struct ObjectInWork {
    /// The object before the first patch, and as it is now; `None` if no patch has it as its target.
    values: Option<(Value, Value)>,
    writes: Vec<PatchWrite>,
}

impl ObjectInWork {
    /// Returns the object as it is now, for a patch to change, and the list of what patches write.
    fn open(&mut self, manifest: &Manifest) -> (&mut Value, &mut Vec<PatchWrite>) {
        let (_, value) = self.values.get_or_insert_with(|| {
            let value = manifest.clone().into_json();
            (value.clone(), value)
        });
        (value, &mut self.writes)
    }
}

/// A patch that is applied.
struct AppliedPatch<'p> {
    patch: &'p Patch,
    path: PathOf<Patch>,
    schemas: Option<&'p dyn InstalledSchemas>,
}

impl AppliedPatch<'_> {
    /// Applies the patch to every object that it targets.
    fn apply(&self, manifests: &[Manifest], objects: &mut [ObjectInWork], findings: &mut Findings<'_>) {
        // The reader has refused a patch without a target.
        let Some(target) = &self.patch.target else { return };
        let is_target = |manifest: &Manifest| {
            target.kind.as_ref() == Some(&manifest.kind)
                && target.name.as_ref().is_none_or(|name| *name == manifest.metadata.name)
        };
        let (mut targets, mut has_effect) = (0, false);
        let mut problems = Vec::new();
        for (manifest, object) in manifests.iter().zip(objects).filter(|(manifest, _)| is_target(manifest)) {
            targets += 1;
            let (value, writes) = object.open(manifest);
            let before = value.clone();
            self.merge_fields(value, manifest, writes, &mut problems);
            self.merge_serve_config(value, manifest, writes, &mut problems, findings);
            has_effect |= before != *value;
        }
        if targets == 0 {
            self.report_missing_target(manifests, findings);
            return;
        }
        merge::report_all(&problems, targets, findings);
        let is_invalid = |finding: &Diagnostic| {
            finding.location.as_ref().is_some_and(|location| location.path.starts_with(&self.path))
        };
        if !has_effect && problems.is_empty() && !findings.iter().any(is_invalid) {
            findings
                .report(&codes::PATCH_WITHOUT_EFFECT, &self.path, format!("{} changes nothing", self.path))
                .help("remove it, or write under merge what the objects should have");
        }
    }

    fn merge_fields(
        &self,
        value: &mut Value,
        manifest: &Manifest,
        writes: &mut Vec<PatchWrite>,
        problems: &mut Vec<MergeProblem>,
    ) {
        let Some(fields) = &self.patch.merge else { return };
        let list_type = |path: &FieldPath| {
            self.schemas.and_then(|schemas| schemas.list_type(&manifest.api_version, &manifest.kind, path))
        };
        let mut merge = Merge { list_type: &list_type, text: None, writes, problems };
        merge.merge(value, &to_json(&fields.0), &FieldPath::root(), &self.path.clone().merge());
    }

    /// Merges into the YAML text of a Serve configuration, and writes the text again.
    fn merge_serve_config(
        &self,
        value: &mut Value,
        manifest: &Manifest,
        writes: &mut Vec<PatchWrite>,
        problems: &mut Vec<MergeProblem>,
        findings: &mut Findings<'_>,
    ) {
        let Some(fields) = &self.patch.serve_config else { return };
        let place = self.path.clone().serve_config();
        let field = serve_config_field(&manifest.kind);
        let config = field.as_ref().and_then(|field| read_configuration(value, field));
        let (Some(field), Some(mut config)) = (field, config) else {
            let name = format!("{} {}", manifest.kind, manifest.metadata.name);
            let message = format!("{place} cannot be merged: {name} has no Serve configuration");
            findings
                .report(&codes::PATCH_WITHOUT_SERVE_CONFIG, FieldRef::key(&place), message)
                .help("only a RayService has a Serve configuration; fields of other kinds are written under merge");
            return;
        };
        let before = config.clone();
        let mut merge = Merge { list_type: &|_| None, text: Some(&field), writes, problems };
        merge.merge(&mut config, &to_json(&fields.0), &FieldPath::root(), &place);
        if let Some(text) = value.pointer_mut(&field.json_pointer()).filter(|_| config != before) {
            let mut written = String::new();
            yaml::to_yaml(&config, &mut written);
            *text = Value::String(written);
        }
    }

    fn report_missing_target(&self, manifests: &[Manifest], findings: &mut Findings<'_>) {
        let Some(target) = &self.patch.target else { return };
        let Some(kind) = &target.kind else { return };
        let name = target.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        let message = format!("{} is {kind}{name}, which is not generated", self.path.clone().target());
        let existing: Vec<String> =
            manifests.iter().map(|manifest| format!("{} {}", manifest.kind, manifest.metadata.name)).collect();
        findings
            .report(&codes::PATCH_WITHOUT_TARGET, self.path.clone().target(), message)
            .help(format!("the generated objects are {}", existing.join(", ")));
    }
}

fn to_json(fields: &[(String, Node<'static>)]) -> Value {
    Value::Object(fields.iter().map(|(key, node)| (key.clone(), node.to_json())).collect())
}

/// Returns the field of a kind that holds a Serve configuration, if it has one.
fn serve_config_field(kind: &str) -> Option<FieldPath> {
    let (with_config, field) = SERVE_CONFIG;
    (kind == with_config).then(|| FieldPath::parse(field))
}

/// Writes the fields of a patched object back to its manifest. Returns whether its labels and annotations are mappings;
/// if not, that is reported.
fn replace_fields(manifest: &mut Manifest, after: Value, object: &PatchedObject, findings: &mut Findings<'_>) -> bool {
    let Value::Object(mut fields) = after else { return false };
    let mut metadata = fields.shift_remove("metadata").unwrap_or_default();
    for key in ["apiVersion", "kind"] {
        fields.shift_remove(key);
    }
    let mut is_mapping = true;
    let mut take = |key: &'static str, into: &mut Map<String, Value>| match metadata.get_mut(key).map(Value::take) {
        None => into.clear(),
        Some(Value::Object(pairs)) => *into = pairs,
        Some(other) => {
            is_mapping = false;
            let path = FieldPath::parse("metadata").key(key);
            let place = object.patch_of(&path, None).unwrap_or_else(|| object.patches.clone());
            let message = format!("{path} of {} {} would be {other}", manifest.kind, manifest.metadata.name);
            findings.report(&codes::PATCH_VIOLATES_SCHEMA, &place, format!("{message}, expected a mapping of strings"));
        }
    };
    take("labels", &mut manifest.metadata.labels);
    take("annotations", &mut manifest.metadata.annotations);
    manifest.body = std::sync::Arc::new(fields);
    is_mapping
}

#[cfg(test)]
mod tests;
