//! The steps of a sequence: requests as reconciliations send them, and writes of other clients.

use kube::core::ApiResource;
use kubefoundry_reconcile::provider;
use kubefoundry_reconcile::request::{DeploymentPatch, Mode, Request};
use kubefoundry_reconcile::status::Force;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Target, View};
use crate::simulation::server::{NOW, Part};

/// The field managers of controllers.
const MANAGERS: [&str; 2] = ["kaito-provider", "dynamo-provider"];
/// The finalizers that a step can set on the deployment.
const FINALIZERS: [&str; 2] = ["kubefoundry.ai/kaito-provider", "kubefoundry.ai/dynamo-provider"];
/// The finalizer of an upstream operator.
const UPSTREAM_FINALIZER: &str = "example.com/upstream";
const ANNOTATION: &str = "example.com/note";
const LABEL: &str = "example.com/team";

/// What the uid in a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Uid {
    Right,
    /// That of an object that is gone.
    Wrong,
}

/// What the `resourceVersion` in a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Absent,
    Present,
    Stale,
}

/// The fields of an object that is applied. Numbers stand for values, none for absence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Applied {
    first: Option<u8>,
    second: Option<u8>,
    label: Option<u8>,
    is_owned: bool,
}

/// The fields of a status that is applied.
#[derive(Debug, Clone, Copy)]
pub(super) struct AppliedStatus {
    phase: Option<u8>,
    message: Option<u8>,
    /// The statuses of the conditions `Ready` and `Validated`.
    ready: Option<bool>,
    validated: Option<bool>,
}

/// A change of an object by another client.
#[derive(Debug, Clone, Copy)]
pub(super) enum Change {
    First(Option<u8>),
    Second(Option<u8>),
    Label(Option<u8>),
    /// Adds or removes a finalizer.
    Finalizer(bool),
    /// Takes the owner from the object.
    Disown,
    Phase(u8),
    Message(Option<u8>),
    Condition(bool),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Apply {
        target: Target,
        manager: usize,
        fields: Applied,
        mode: Mode,
        force: Force,
    },
    ApplyStatus {
        manager: usize,
        status: AppliedStatus,
        force: Force,
    },
    /// Replaces the finalizers of the deployment by those of a bit set.
    Finalizers {
        set: u8,
        uid: Uid,
    },
    Annotate {
        value: Option<u8>,
        uid: Uid,
    },
    /// Removes a field of the status by a JSON patch that tests the version.
    RemoveStatus {
        field: usize,
        version: Version,
    },
    Delete {
        target: Target,
        uid: Uid,
        version: Version,
    },
    Read {
        target: Target,
        is_whole: bool,
    },
    /// Another client writes an object with `Update`.
    Edit {
        target: Target,
        change: Change,
    },
    /// Another client deletes an object.
    Remove {
        target: Target,
    },
}

/// The fields of the status that [`Step::RemoveStatus`] removes; the last one stands for the condition `Ready`.
const STATUS_FIELDS: [&str; 3] = ["/status/phase", "/status/message", "/status/conditions/"];

/// Generates any step. Those that a reconciliation sends most often come most often.
pub(super) fn any_step() -> impl Strategy<Value = Step> {
    let value = || prop::option::weighted(0.8, 0..3_u8);
    let child = || prop::sample::select(Target::CHILDREN.to_vec());
    let manager = 0..MANAGERS.len();
    let force = || prop::sample::select(vec![Force::No, Force::Yes]);
    let uid = || prop_oneof![5 => Just(Uid::Right), 1 => Just(Uid::Wrong)];
    let version = || prop_oneof![2 => Just(Version::Absent), 2 => Just(Version::Present), 1 => Just(Version::Stale)];
    let fields = (value(), value(), value(), prop::bool::weighted(0.7))
        .prop_map(|(first, second, label, is_owned)| Applied { first, second, label, is_owned });
    let mode = prop_oneof![4 => Just(Mode::Real), 1 => Just(Mode::DryRun)];
    let condition = || prop::option::weighted(0.7, any::<bool>());
    let status = (value(), value(), condition(), condition())
        .prop_map(|(phase, message, ready, validated)| AppliedStatus { phase, message, ready, validated });
    let change = prop_oneof![
        value().prop_map(Change::First),
        value().prop_map(Change::Second),
        value().prop_map(Change::Label),
        any::<bool>().prop_map(Change::Finalizer),
        Just(Change::Disown),
        (0..3_u8).prop_map(Change::Phase),
        value().prop_map(Change::Message),
        any::<bool>().prop_map(Change::Condition),
    ];
    prop_oneof![
        6 => (child(), manager.clone(), fields, mode, force())
            .prop_map(|(target, manager, fields, mode, force)| Step::Apply { target, manager, fields, mode, force }),
        5 => (manager, status, force())
            .prop_map(|(manager, status, force)| Step::ApplyStatus { manager, status, force }),
        // Rarely none: a deployment that is terminating is gone then.
        2 => (prop_oneof![8 => 1..4_u8, 1 => Just(0)], uid()).prop_map(|(set, uid)| Step::Finalizers { set, uid }),
        2 => (value(), uid()).prop_map(|(value, uid)| Step::Annotate { value, uid }),
        2 => (0..STATUS_FIELDS.len(), version()).prop_map(|(field, version)| Step::RemoveStatus { field, version }),
        2 => (child(), uid(), version()).prop_map(|(target, uid, version)| Step::Delete { target, uid, version }),
        1 => (child(), any::<bool>()).prop_map(|(target, is_whole)| Step::Read { target, is_whole }),
        5 => (prop::sample::select(Target::ALL.to_vec()), change)
            .prop_map(|(target, change)| Step::Edit { target, change }),
        1 => prop_oneof![3 => child(), 1 => Just(Target::Deployment)].prop_map(|target| Step::Remove { target }),
    ]
}

impl Step {
    /// The name of the step, without its parameters.
    pub(super) fn title(&self) -> String {
        format!("{self:?}").split(' ').next().unwrap_or_default().to_owned()
    }

    pub(super) fn target(&self) -> Target {
        match self {
            Self::Apply { target, .. }
            | Self::Delete { target, .. }
            | Self::Read { target, .. }
            | Self::Edit { target, .. }
            | Self::Remove { target } => *target,
            Self::ApplyStatus { .. } | Self::Finalizers { .. } | Self::Annotate { .. } | Self::RemoveStatus { .. } => {
                Target::Deployment
            }
        }
    }

    /// Whether the step asks for metadata only.
    pub(super) fn reads_metadata(&self) -> bool {
        matches!(self, Self::Read { is_whole: false, .. })
    }

    /// Returns the request of a reconciliation; none for a step of another client. The uids and versions are those of the
    /// server that the view is of.
    pub(super) fn request(&self, view: &View, name: &str) -> Option<Request> {
        let manager = |manager: usize| MANAGERS[manager].to_owned();
        let deployment_uid = |uid: Uid| match uid {
            Uid::Right => view.deployment_uid.clone(),
            Uid::Wrong => "00000000-0000-0000-0000-000000000000".to_owned(),
        };
        Some(match *self {
            Self::Apply { target, manager: by, fields, mode, force } => {
                let object = fields.object(target, name, &view.deployment_uid);
                Request::Apply { manager: manager(by), object, mode, force }
            }
            Self::ApplyStatus { manager: by, status, force } => {
                Request::ApplyStatus { manager: manager(by), status: status.value(), force }
            }
            Self::Finalizers { set, uid } => {
                let live = view.now.get(&Target::Deployment)?;
                let before = live["metadata"].get("finalizers");
                let after: Vec<&str> =
                    (0..).zip(FINALIZERS).filter(|(bit, _)| set & (1 << bit) != 0).map(|(_, one)| one).collect();
                let patch = json!([
                    {"op": "test", "path": "/metadata/uid", "value": deployment_uid(uid)},
                    {"op": "test", "path": "/metadata/finalizers", "value": before},
                    {"op": if before.is_some() { "replace" } else { "add" }, "path": "/metadata/finalizers", "value": after},
                ]);
                Request::PatchDeployment { manager: manager(0), patch: DeploymentPatch::Json(patch) }
            }
            Self::Annotate { value, uid } => {
                let value = value.map(|value| format!("note {value}"));
                let patch = json!({"metadata": {"uid": deployment_uid(uid), "annotations": {ANNOTATION: value}}});
                Request::PatchDeployment { manager: manager(0), patch: DeploymentPatch::Merge(patch) }
            }
            Self::RemoveStatus { field, version } => {
                let tested = view.version(Target::Deployment, version);
                let test =
                    tested.map(|version| json!({"op": "test", "path": "/metadata/resourceVersion", "value": version}));
                let mut path = STATUS_FIELDS[field].to_owned();
                if path.ends_with('/') {
                    let live = &view.now.get(&Target::Deployment)?["status"]["conditions"];
                    let mut all = live.as_array().into_iter().flatten();
                    // The servers differ in the order. A number beyond the list is refused.
                    path += &all.position(|one| one["type"] == "Ready").unwrap_or(9).to_string();
                }
                let removal = json!({"op": "remove", "path": path});
                let patch = test.into_iter().chain([removal]).collect();
                Request::PatchStatus { manager: manager(0), patch }
            }
            Self::Delete { target, uid, version } => {
                let live = view.now.get(&target).map(|live| live["metadata"]["uid"].as_str().unwrap_or_default());
                let uid = live.filter(|_| uid == Uid::Right).map_or_else(|| deployment_uid(Uid::Wrong), str::to_owned);
                let version = view.version(target, version);
                Request::Delete { resource: resource(target), name: name.to_owned(), uid, version }
            }
            Self::Read { target, is_whole: true } => Request::Get { resource: resource(target), name: name.to_owned() },
            Self::Read { target, is_whole: false } => {
                Request::GetMetadata { resource: resource(target), name: name.to_owned() }
            }
            Self::Edit { .. } | Self::Remove { .. } => return None,
        })
    }

    /// Returns the object as another client edits it, and the part that it writes; none for another step, and where the
    /// object does not exist or has no such part.
    pub(super) fn edited(&self, view: &View) -> Option<(Part, Value)> {
        let Self::Edit { target, change } = self else { return None };
        let mut object = view.now.get(target)?.clone();
        Some((change.make(*target, &mut object)?, object))
    }

    /// Whether the step is an edit, which may have nothing to edit.
    pub(super) fn is_edit(&self) -> bool {
        matches!(self, Self::Edit { .. })
    }
}

pub(super) fn resource(target: Target) -> ApiResource {
    provider::resource(&target.object(""))
}

impl View {
    fn version(&self, target: Target, version: Version) -> Option<String> {
        let of = |object: &Value| object["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        let now = || self.now.get(&target).and_then(of);
        match version {
            Version::Absent => None,
            Version::Present => now(),
            Version::Stale => self.before.get(&target).and_then(of).or_else(now),
        }
    }
}

impl Applied {
    fn object(self, target: Target, name: &str, owner: &str) -> Value {
        let mut object = target.object(name);
        set(&mut object, first(target), self.first.map(text));
        set(&mut object, second(target), self.second.map(text));
        set(&mut object, &["metadata", "labels", LABEL], self.label.map(|value| json!(format!("team-{value}"))));
        if self.is_owned {
            object["metadata"]["ownerReferences"] = json!([{
                "apiVersion": Target::Deployment.api_version(), "kind": Target::Deployment.kind(), "name": name,
                "uid": owner, "controller": true, "blockOwnerDeletion": true,
            }]);
        }
        object
    }
}

/// The path of a field that a client sets in an object of this kind.
fn first(target: Target) -> &'static [&'static str] {
    match target {
        Target::Deployment => &["spec", "model", "servedName"],
        Target::Workspace => &["resource", "instanceType"],
        Target::ConfigMap => &["data", "first"],
    }
}

/// The path of another field, below more maps.
fn second(target: Target) -> &'static [&'static str] {
    match target {
        Target::Deployment => &["spec", "provider", "overrides", "instanceType"],
        Target::Workspace => &["inference", "preset", "name"],
        Target::ConfigMap => &["data", "second"],
    }
}

/// Whether the path of an owned field is the one of a map in which steps write fields.
pub(super) fn is_above_fields(path: &[String]) -> bool {
    let mut written = vec![vec!["metadata", "annotations", ANNOTATION], vec!["metadata", "labels", LABEL]];
    written.push(vec!["status", "phase"]);
    for target in Target::ALL {
        written.extend([first(target).to_vec(), second(target).to_vec()]);
    }
    let names: Vec<&str> = path.iter().map(|element| element.trim_start_matches("f:")).collect();
    written.iter().any(|field| field.len() > names.len() && field.starts_with(&names))
}

/// A value of [`first`] or [`second`].
fn text(value: u8) -> Value {
    json!(format!("value-{value}"))
}

impl AppliedStatus {
    fn value(self) -> Value {
        let conditions = [("Ready", self.ready), ("Validated", self.validated)];
        let conditions: Vec<Value> =
            conditions.into_iter().filter_map(|(kind, status)| Some(condition(kind, status?))).collect();
        let mut status = json!({"observedGeneration": 1});
        set(&mut status, &["phase"], self.phase.map(phase));
        set(&mut status, &["message"], self.message.map(|value| json!(format!("message {value}"))));
        if !conditions.is_empty() {
            status["conditions"] = json!(conditions);
        }
        status
    }
}

fn phase(value: u8) -> Value {
    json!(["Pending", "Running", "Failed"][usize::from(value) % 3])
}

fn condition(kind: &str, status: bool) -> Value {
    let status = if status { "True" } else { "False" };
    json!({"type": kind, "status": status, "reason": "So", "message": "it is so", "lastTransitionTime": NOW})
}

impl Change {
    /// Changes an object, and returns the part that was changed; none where the object cannot have it.
    fn make(self, target: Target, object: &mut Value) -> Option<Part> {
        let of_status = |part: Part| (target == Target::Deployment).then_some(part);
        match self {
            Self::First(value) => set(object, first(target), value.map(text)),
            Self::Second(value) => set(object, second(target), value.map(text)),
            Self::Label(value) => {
                set(object, &["metadata", "labels", LABEL], value.map(|value| json!(format!("team-{value}"))));
            }
            Self::Finalizer(is_set) => {
                let known = object.pointer("/metadata/finalizers").and_then(Value::as_array).cloned();
                let others = known.unwrap_or_default().into_iter().filter(|one| *one != UPSTREAM_FINALIZER);
                let all: Vec<Value> = others.chain(is_set.then(|| json!(UPSTREAM_FINALIZER))).collect();
                set(object, &["metadata", "finalizers"], (!all.is_empty()).then(|| json!(all)));
            }
            Self::Disown => set(object, &["metadata", "ownerReferences"], None),
            Self::Phase(value) => {
                object["status"]["phase"] = phase(value);
                return of_status(Part::Status);
            }
            Self::Message(value) => {
                set(object, &["status", "message"], value.map(|value| json!(format!("message {value}"))));
                return of_status(Part::Status);
            }
            Self::Condition(status) => {
                let known = object.pointer("/status/conditions").and_then(Value::as_array).cloned();
                let mut all = known.unwrap_or_default();
                // In its place, since another order would be a change.
                match all.iter_mut().find(|one| one["type"] == "Ready") {
                    Some(ready) => *ready = condition("Ready", status),
                    None => all.push(condition("Ready", status)),
                }
                object["status"]["conditions"] = all.into();
                return of_status(Part::Status);
            }
        }
        Some(Part::Object)
    }
}

/// Sets or removes the value at a path of names. Maps above it are created, and stay when they are empty.
fn set(object: &mut Value, path: &[&str], value: Option<Value>) {
    let Some((last, above)) = path.split_last() else { return };
    if let Some(value) = value {
        let mut at = object;
        for name in above {
            at = &mut at[*name];
        }
        at[*last] = value;
    } else if let Some(parent) = above.iter().try_fold(object, |at, name| at.get_mut(*name)) {
        parent.as_object_mut().map(|fields| fields.remove(*last));
    }
}
