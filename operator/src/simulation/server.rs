//! The part of a kube-apiserver that reconciliations use, as a pure function: one object and a request lead to another
//! object and an answer.
//!
//! It has `uid`, `resourceVersion`, `generation`, `managedFields`, conflicts, preconditions, finalizers and deletion
//! timestamps. Versions count each object by itself: a reconciliation compares only versions of one object.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::ApiResource;
use kubefoundry_reconcile::recreation::Turn;
use kubefoundry_reconcile::request::{Answer, DeploymentPatch, Mode, Request, RequestError, Stored};
use kubefoundry_reconcile::status::Force;
use serde_json::{Value, json};

use super::fields::{self, Path};

/// The only time of the simulation.
pub(super) const NOW: &str = "2026-01-30T10:00:00Z";
/// The namespace of all objects.
pub(super) const NAMESPACE: &str = "ml";

/// What a request did to an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Effect {
    Nothing,
    Stored(Value),
    Removed,
}

/// The name under which an object is stored, and what its next incarnation and version are called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Identity<'i> {
    /// Kind and name.
    pub(super) key: &'i str,
    /// The number of objects of this name before.
    pub(super) incarnations: u32,
    /// The version of the last write, deletions included.
    pub(super) version: u32,
}

impl Identity<'_> {
    /// Returns the `resourceVersion` of the next write. As in etcd, no object has the first one.
    fn next_version(&self) -> String {
        (self.version + 2).to_string()
    }
}

/// Which fields a write concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// All but the status.
    Object,
    Status,
}

/// Returns the key of the object that a request is about; `deployment` is that of the deployment.
pub(super) fn key_of(request: &Request, deployment: &str) -> String {
    let of = |resource: &ApiResource, name: &str| format!("{}/{name}", resource.kind);
    match request {
        Request::Apply { object, .. } => {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            format!("{}/{}", text("/kind"), text("/metadata/name"))
        }
        Request::Get { resource, name }
        | Request::GetMetadata { resource, name }
        | Request::MergePatch { resource, name, .. }
        | Request::Delete { resource, name, .. } => of(resource, name),
        // No controller of the simulation lists.
        Request::List { resource, labels } => of(resource, labels),
        Request::PatchDeployment { .. }
        | Request::ApplyStatus { .. }
        | Request::PatchStatus { .. }
        | Request::TakeTurn { .. }
        | Request::Publish { .. }
        | Request::Record(_) => deployment.to_owned(),
    }
}

/// Answers a request about the object `live`. `uid` is that of the deployment whose reconciliation asks.
pub(super) fn execute(live: Option<&Value>, identity: Identity<'_>, request: &Request, uid: &str) -> (Effect, Answer) {
    match request {
        Request::Apply { manager, object, mode, force } => {
            let (effect, answer) = apply(live, identity, manager, object, Part::Object, *force);
            if *mode == Mode::Real {
                return (effect, answer);
            }
            // A dry run keeps the version; that of a creation has none.
            let version = live.map(|live| live["metadata"]["resourceVersion"].clone()).unwrap_or_default();
            let unstored = |mut stored: Value| {
                stored["metadata"]["resourceVersion"] = version;
                stored
            };
            (Effect::Nothing, answer.map(|stored| stored.map(unstored)))
        }
        Request::ApplyStatus { manager, status, force } => {
            let Some(live) = live else { return refused(404, "not found") };
            let object = json!({"metadata": {"uid": uid}, "status": status});
            as_stored(apply(Some(live), identity, manager, &object, Part::Status, *force))
        }
        Request::PatchDeployment { manager, patch } => {
            as_stored(patch_object(live, identity, manager, patch, Part::Object))
        }
        Request::PatchStatus { manager, patch } => {
            let patch = DeploymentPatch::Json(patch.clone());
            as_stored(patch_object(live, identity, manager, &patch, Part::Status))
        }
        Request::Get { .. } => (Effect::Nothing, Ok(live.cloned())),
        Request::MergePatch { manager, patch, .. } => {
            patch_object(live, identity, manager, &DeploymentPatch::Merge(patch.clone()), Part::Object)
        }
        Request::GetMetadata { .. } => {
            let metadata_only = |live: &Value| json!({"metadata": live["metadata"]});
            (Effect::Nothing, Ok(live.map(metadata_only)))
        }
        Request::Delete { uid, version, .. } => delete(live, identity, Some(uid), version.as_deref()),
        // There is one deployment, so its turn has always come.
        Request::TakeTurn { .. } => (Effect::Nothing, Ok(Some(json!(Turn::Now)))),
        // No controller of the simulation lists.
        Request::List { .. } | Request::Publish { .. } | Request::Record(_) => (Effect::Nothing, Ok(None)),
    }
}

/// Answers a write of the deployment as the controllers read it.
fn as_stored((effect, answer): (Effect, Answer)) -> (Effect, Answer) {
    let stored = |object: Value| json!(serde_json::from_value::<Stored>(object).expect("metadata"));
    (effect, answer.map(|object| object.map(stored)))
}

fn refused(code: u16, message: &str) -> (Effect, Answer) {
    (Effect::Nothing, Err(RequestError::Refused { code, message: message.to_owned() }))
}

/// Deletes an object, or marks it as terminating while it has finalizers.
pub(super) fn delete(
    live: Option<&Value>,
    identity: Identity<'_>,
    uid: Option<&str>,
    version: Option<&str>,
) -> (Effect, Answer) {
    let Some(live) = live else { return refused(404, "not found") };
    let metadata = &live["metadata"];
    let differs = |expected: Option<&str>, field: &str| expected.is_some_and(|expected| metadata[field] != expected);
    if differs(uid, "uid") || differs(version, "resourceVersion") {
        return refused(409, "the preconditions of the deletion do not hold");
    }
    if finalizers(live).is_empty() {
        return (Effect::Removed, Ok(None));
    }
    if is_terminating(live) {
        return (Effect::Nothing, Ok(None));
    }
    let mut marked = live.clone();
    marked["metadata"]["deletionTimestamp"] = json!(NOW);
    marked["metadata"]["deletionGracePeriodSeconds"] = json!(0);
    if let Some(generation) = metadata["generation"].as_i64() {
        marked["metadata"]["generation"] = json!(generation + 1);
    }
    marked["metadata"]["resourceVersion"] = json!(identity.next_version());
    (Effect::Stored(marked), Ok(None))
}

pub(super) fn is_terminating(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

/// Returns the finalizers of an object.
pub(super) fn finalizers(object: &Value) -> Vec<&str> {
    let list = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The owner of fields: manager, operation and subresource.
type Owner = (String, String, String);

fn owners(object: &Value) -> BTreeMap<Owner, BTreeSet<Path>> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    let owner = |entry: &Value| (text(entry, "manager"), text(entry, "operation"), text(entry, "subresource"));
    entries.into_iter().flatten().map(|entry| (owner(entry), fields::parse(&entry["fieldsV1"]))).collect()
}

fn set_owners(object: &mut Value, owners: &BTreeMap<Owner, BTreeSet<Path>>) {
    let entries = owners.iter().filter(|(_, paths)| !paths.is_empty()).map(|((manager, operation, part), paths)| {
        let mut entry = json!({
            "manager": manager, "operation": operation, "apiVersion": "v1", "time": NOW,
            "fieldsType": "FieldsV1", "fieldsV1": fields::format(paths),
        });
        if !part.is_empty() {
            entry["subresource"] = json!(part);
        }
        entry
    });
    object["metadata"]["managedFields"] = entries.collect();
}

impl Part {
    fn subresource(self) -> String {
        if self == Self::Status { "status".to_owned() } else { String::new() }
    }

    fn contains(self, path: &[String]) -> bool {
        (path.first().is_some_and(|first| first == "f:status")) == (self == Self::Status)
    }
}

/// Applies server-side.
fn apply(
    live: Option<&Value>,
    identity: Identity<'_>,
    manager: &str,
    object: &Value,
    part: Part,
    force: Force,
) -> (Effect, Answer) {
    let uid = object.pointer("/metadata/uid");
    if uid.is_some() && uid != live.map(|live| &live["metadata"]["uid"]) {
        return refused(409, "the uid is that of another object");
    }
    if let (Some(live), Some(version)) = (live, object.pointer("/metadata/resourceVersion"))
        && *version != live["metadata"]["resourceVersion"]
    {
        return refused(409, "the object has been modified");
    }
    let new = || {
        let mut new = json!({
            "apiVersion": object["apiVersion"], "kind": object["kind"],
            "metadata": {"name": object["metadata"]["name"], "namespace": NAMESPACE},
        });
        begin(&mut new, identity);
        new
    };
    let mut merged = live.cloned().unwrap_or_else(new);
    let mut all = owners(&merged);
    let owner = (manager.to_owned(), "Apply".to_owned(), part.subresource());
    let applied: BTreeSet<Path> = fields::paths(object).into_iter().filter(|path| part.contains(path)).collect();
    let before = all.remove(&owner).unwrap_or_default();
    for path in &applied {
        if fields::read(&merged, path) == fields::read(object, path) {
            continue;
        }
        for ((other, operation, _), owned) in &mut all {
            if !owned.contains(path) {
                continue;
            }
            if force == Force::No {
                return refused(409, &format!("conflict with \"{other}\" ({operation}): {}", path.join(".")));
            }
            owned.remove(path);
        }
        fields::write(&mut merged, path, &fields::read(object, path).unwrap_or_default());
    }
    for path in before.difference(&applied).filter(|path| !all.values().any(|owned| owned.contains(*path))) {
        fields::remove(&mut merged, path);
    }
    all.insert(owner, applied);
    set_owners(&mut merged, &all);
    commit(live, identity, merged)
}

fn patch_object(
    live: Option<&Value>,
    identity: Identity<'_>,
    manager: &str,
    patch: &DeploymentPatch,
    part: Part,
) -> (Effect, Answer) {
    let Some(live) = live else { return refused(404, "not found") };
    let mut patched = live.clone();
    match patch {
        DeploymentPatch::Json(steps) => {
            let steps = serde_json::from_value::<json_patch::Patch>(steps.clone());
            // The apiserver takes a test against null for one that the field is absent.
            let Ok(json_patch::Patch(steps)) = steps else { return refused(400, "no JSON patch") };
            for step in steps {
                let is_absent = |path: &str| patched.pointer(path).is_none_or(Value::is_null);
                if let json_patch::PatchOperation::Test(test) = &step
                    && test.value.is_null()
                    && is_absent(&test.path.to_string())
                {
                    continue;
                }
                if json_patch::patch(&mut patched, &[step]).is_err() {
                    return refused(422, "a step of the patch failed");
                }
            }
        }
        DeploymentPatch::Merge(patch) => json_patch::merge(&mut patched, patch),
    }
    if patched["metadata"]["uid"] != live["metadata"]["uid"] {
        return refused(422, "metadata.uid: field is immutable");
    }
    update(Some(live), identity, manager, patched, part)
}

/// Replaces an object or its status, as `Update` does: the manager owns what it changes from now on.
pub(super) fn update(
    live: Option<&Value>,
    identity: Identity<'_>,
    manager: &str,
    mut changed: Value,
    part: Part,
) -> (Effect, Answer) {
    let nothing = json!({});
    let before = live.unwrap_or(&nothing);
    if live.is_none() {
        begin(&mut changed, identity);
    }
    drop_empty_metadata(&mut changed);
    let is_new = |finalizer: &&str| !finalizers(before).contains(finalizer);
    if is_terminating(before) && finalizers(&changed).iter().any(is_new) {
        return refused(422, "no new finalizers can be added if the object is being deleted");
    }
    let (old, new) = (fields::paths(before), fields::paths(&changed));
    let touched: BTreeSet<Path> = old
        .union(&new)
        .filter(|path| {
            part.contains(path)
                && (!new.contains(*path)
                    || !old.contains(*path)
                    || fields::read(before, path) != fields::read(&changed, path))
        })
        .cloned()
        .collect();
    let mut all = owners(before);
    for owned in all.values_mut() {
        owned.retain(|path| !touched.contains(path));
    }
    let owner = (manager.to_owned(), "Update".to_owned(), part.subresource());
    all.entry(owner).or_default().extend(touched.into_iter().filter(|path| new.contains(path)));
    set_owners(&mut changed, &all);
    commit(live, identity, changed)
}

/// Writes what the apiserver records of an object when it is created.
fn begin(object: &mut Value, identity: Identity<'_>) {
    let has_generation = has_generation(object);
    let metadata = &mut object["metadata"];
    metadata["uid"] = json!(format!("{}#{}", identity.key, identity.incarnations + 1));
    metadata["creationTimestamp"] = json!(NOW);
    if has_generation {
        metadata["generation"] = json!(1);
    }
}

/// Whether changes of an object are counted: those of custom resources are, those of ConfigMaps and Services are not.
fn has_generation(object: &Value) -> bool {
    object["apiVersion"].as_str().is_some_and(|version| version.contains('/'))
}

/// Whether the conditions of a deployment have the fields that its CRD requires: of a condition that several managers own,
/// one may take a field away.
fn has_whole_conditions(object: &Value) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let is_whole = |condition: &Value| {
        ["type", "status", "reason", "message", "lastTransitionTime"].iter().all(|field| condition[*field].is_string())
    };
    object["kind"] != kubefoundry_deployment::wire::KIND || conditions.into_iter().flatten().all(is_whole)
}

/// Removes the empty lists and maps that the apiserver leaves out of metadata.
fn drop_empty_metadata(object: &mut Value) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for name in ["annotations", "finalizers", "labels", "ownerReferences"] {
            let value = metadata.get(name);
            if value == Some(&json!([])) || value == Some(&json!({})) {
                metadata.remove(name);
            }
        }
    }
}

/// Stores an object if it differs: with a new version, with a new generation where more than metadata and status
/// changed, and not at all where its last finalizer went.
fn commit(live: Option<&Value>, identity: Identity<'_>, mut changed: Value) -> (Effect, Answer) {
    drop_empty_metadata(&mut changed);
    if !has_whole_conditions(&changed) {
        return refused(422, "a field of a condition is required");
    }
    if live == Some(&changed) {
        return (Effect::Nothing, Ok(Some(changed)));
    }
    if let Some(live) = live {
        let contents = |object: &Value| {
            let fields = object.as_object().cloned().unwrap_or_default();
            fields.into_iter().filter(|(name, _)| !["metadata", "status"].contains(&name.as_str())).collect::<Value>()
        };
        if has_generation(live) && contents(live) != contents(&changed) {
            let generation = live["metadata"]["generation"].as_i64().unwrap_or_default() + 1;
            changed["metadata"]["generation"] = json!(generation);
        }
    }
    changed["metadata"]["resourceVersion"] = json!(identity.next_version());
    if is_terminating(&changed) && finalizers(&changed).is_empty() {
        return (Effect::Removed, Ok(Some(changed)));
    }
    (Effect::Stored(changed.clone()), Ok(Some(changed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: Identity<'static> = Identity { key: "Workspace/m", incarnations: 0, version: 0 };

    fn at(version: u32) -> Identity<'static> {
        Identity { version, incarnations: 1, ..OBJECT }
    }

    fn workspace(fields: &[(&str, &str)]) -> Value {
        let spec: Value = fields.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        json!({"apiVersion": "kaito.sh/v1beta1", "kind": "Workspace", "metadata": {"name": "m"}, "spec": spec})
    }

    fn stored(result: (Effect, Answer)) -> Value {
        let Effect::Stored(stored) = result.0 else { panic!("{result:?}") };
        stored
    }

    #[expect(clippy::needless_pass_by_value, reason = "it takes the result of a call")]
    fn code(result: (Effect, Answer)) -> u16 {
        let Err(RequestError::Refused { code, .. }) = result.1 else { panic!("{result:?}") };
        code
    }

    #[test]
    fn fields_have_owners_and_conflicts() {
        let mine = |live: Option<&Value>, identity, fields: &[(&str, &str)], force| {
            apply(live, identity, "mine", &workspace(fields), Part::Object, force)
        };
        let first = stored(mine(None, OBJECT, &[("a", "1"), ("b", "1")], Force::No));
        assert_eq!(first["metadata"]["uid"], "Workspace/m#1");
        // An apply with a version changes no object that has another, and creates one that does not exist.
        let mut versioned = workspace(&[("a", "1"), ("b", "1")]);
        versioned["metadata"]["resourceVersion"] = json!("1");
        let create = |live| apply(live, OBJECT, "mine", &versioned, Part::Object, Force::No);
        assert_eq!(stored(create(None)), first);
        assert_eq!(code(create(Some(&first))), 409);
        // An equal apply stores nothing; one without a field removes it.
        assert_eq!(mine(Some(&first), at(1), &[("a", "1"), ("b", "1")], Force::No).0, Effect::Nothing);
        let second = stored(mine(Some(&first), at(1), &[("a", "1")], Force::No));
        assert_eq!((&second["spec"], &second["metadata"]["generation"]), (&json!({"a": "1"}), &json!(2)));
        assert_eq!(second["metadata"]["resourceVersion"], "3");
        // Another client takes a field over.
        let mut edited = second.clone();
        edited["spec"]["a"] = json!("2");
        let third = stored(update(Some(&second), at(2), "kubectl", edited, Part::Object));
        assert_eq!(code(mine(Some(&third), at(3), &[("a", "1")], Force::No)), 409);
        let fourth = stored(mine(Some(&third), at(3), &[("a", "1")], Force::Yes));
        assert_eq!(fourth["metadata"]["managedFields"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn deletions_wait_for_finalizers_and_check_preconditions() {
        let mut object = workspace(&[("a", "1")]);
        object["metadata"]["finalizers"] = json!(["a/b"]);
        let live = stored(update(None, OBJECT, "kubectl", object, Part::Object));
        assert_eq!(code(delete(Some(&live), at(1), Some("other"), None)), 409);
        assert_eq!(code(delete(Some(&live), at(1), None, Some("7"))), 409);
        assert_eq!(code(delete(None, at(1), None, None)), 404);
        let marked = stored(delete(Some(&live), at(1), Some("Workspace/m#1"), Some("2")));
        let mut more = marked.clone();
        more["metadata"]["finalizers"] = json!(["a/b", "c/d"]);
        assert_eq!(code(update(Some(&marked), at(2), "kubectl", more, Part::Object)), 422);
        let mut free = marked.clone();
        free["metadata"]["finalizers"] = json!([]);
        assert_eq!(update(Some(&marked), at(2), "kubectl", free, Part::Object).0, Effect::Removed);
    }

    #[test]
    fn an_apply_for_another_uid_is_refused() {
        let live = stored(update(None, OBJECT, "kubectl", workspace(&[]), Part::Object));
        let status = |uid: &str| {
            let request = Request::ApplyStatus {
                manager: "mine".to_owned(),
                status: json!({"phase": "Running"}),
                force: Force::No,
            };
            execute(Some(&live), at(1), &request, uid)
        };
        assert_eq!(code(status("other")), 409);
        let reported = stored(status("Workspace/m#1"));
        assert_eq!(reported["metadata"]["generation"], 1);
        let entry = &reported["metadata"]["managedFields"][1];
        assert_eq!((&entry["manager"], &entry["subresource"]), (&json!("mine"), &json!("status")));
    }
}
