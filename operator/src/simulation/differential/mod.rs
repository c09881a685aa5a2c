//! Compares the server in memory with a real apiserver: the same random requests of reconciliations, and the same writes
//! of other clients, must have the same outcome, lead to the same objects, and give their fields the same owners.
//!
//! `KUBEFOUNDRY_CONTROLPLANE` names the program of the apiserver (`bash .ci/controlplane` prints it). Without it, the test is
//! skipped.

mod apiserver;
mod steps;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use apiserver::RealServer;
use futures::future::join_all;
use kubefoundry_deployment::wire::KIND;
use kubefoundry_reconcile::request::{Answer, RequestError};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use steps::{Step, any_step};

use super::cluster::{DEPLOYMENT, Slots, Store};
use super::fields;
use super::scenario::{self, UserStep};
use super::server::{NAMESPACE, Part};

/// The number of sequences, and of the steps in each.
const SEQUENCES: u8 = 16;
const STEPS: usize = 60;
/// The client that creates the deployments.
const USER: &str = "kubectl";
/// A client that writes what others own.
const EDITOR: &str = "kubectl-edit";
/// Time for the garbage collector of the real apiserver.
const REST: Duration = Duration::from_secs(60);

/// An object of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Deployment,
    Workspace,
    ConfigMap,
}

impl Target {
    const ALL: [Self; 3] = [Self::Deployment, Self::Workspace, Self::ConfigMap];
    const CHILDREN: [Self; 2] = [Self::Workspace, Self::ConfigMap];

    fn api_version(self) -> &'static str {
        match self {
            Self::Deployment => "kubefoundry.ai/v1alpha1",
            Self::Workspace => "kaito.sh/v1beta1",
            Self::ConfigMap => "v1",
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Deployment => KIND,
            Self::Workspace => "Workspace",
            Self::ConfigMap => "ConfigMap",
        }
    }

    /// Returns an object of this kind without contents.
    fn object(self, name: &str) -> Value {
        json!({
            "apiVersion": self.api_version(), "kind": self.kind(),
            "metadata": {"name": name, "namespace": NAMESPACE},
        })
    }
}

/// The objects of a sequence on one server: as they are, and as they were before their last change.
#[derive(Debug, Clone, Default)]
struct View {
    now: BTreeMap<Target, Value>,
    before: BTreeMap<Target, Value>,
    /// The uid of the deployment, which is known also when it is gone.
    deployment_uid: String,
}

impl View {
    /// Takes over the present objects. Returns those that have another version than before.
    fn update(&mut self, present: BTreeMap<Target, Value>) -> BTreeSet<Target> {
        let version = |object: Option<&Value>| object.map(|object| object["metadata"]["resourceVersion"].clone());
        let is_changed = |target: &Target| version(self.now.get(target)) != version(present.get(target));
        let changed: BTreeSet<Target> = Target::ALL.into_iter().filter(is_changed).collect();
        for (target, old) in std::mem::replace(&mut self.now, present) {
            if changed.contains(&target) {
                self.before.insert(target, old);
            }
        }
        if let Some(deployment) = self.now.get(&Target::Deployment) {
            self.deployment_uid = deployment["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        }
        changed
    }
}

/// The server in memory.
struct MemoryServer {
    store: Store,
    slots: Slots,
}

impl MemoryServer {
    fn index(&self, target: Target, name: &str) -> Option<usize> {
        let key = format!("{}/{name}", target.kind());
        (0..self.slots.len()).find(|index| self.store.key(*index) == key)
    }

    fn objects(&self, name: &str) -> BTreeMap<Target, Value> {
        let find = |target| self.store.current(&self.slots, self.index(target, name)?);
        Target::ALL.into_iter().filter_map(|target| Some((target, (*find(target)?).clone()))).collect()
    }

    /// Carries out a step. The answer is none where there is nothing to do it with.
    fn take(&mut self, step: &Step, view: &View, name: &str) -> Option<Answer> {
        if let Some(request) = step.request(view, name) {
            let (key, slot) = self.store.target(&self.slots, &request);
            let (change, answer) = self.store.execute(&key, &slot, &request, &view.deployment_uid);
            self.slots = self.store.with(&self.slots, &key, change);
            return Some(answer);
        }
        let target = step.target();
        let index = self.index(target, name)?;
        if let Some((part, edited)) = step.edited(view) {
            let (after, answer) = self.store.try_update(&self.slots, index, EDITOR, part, edited);
            self.slots = after.unwrap_or_else(|| self.slots.clone());
            return Some(answer);
        }
        view.now.get(&target).filter(|_| !step.is_edit())?;
        self.slots = self.store.delete(&self.slots, index).unwrap_or_else(|| self.slots.clone());
        Some(Ok(None))
    }

    /// Runs the garbage collector until it has nothing to do.
    fn rest(&mut self) {
        while let Some((_, after)) = {
            let steps = self.store.environment_steps(&self.slots);
            steps.into_iter().find(|(title, _)| title.starts_with("garbage collector"))
        } {
            self.slots = after;
        }
    }
}

/// Whether the owners of fields are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owners {
    Compared,
    /// Other clients than ours took part.
    Ignored,
}

/// Returns what an object has in common on both servers: everything but its uid, its versions, and times.
fn comparable(object: &Value, uid: &str, owners: Owners) -> Value {
    let managed = fields_by_owner(object);
    let mut object = object.clone();
    drop_empty(&mut object);
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for name in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
            metadata.remove(name);
        }
        if let Some(time) = metadata.get_mut("deletionTimestamp") {
            *time = true.into();
        }
        if owners == Owners::Compared {
            metadata.insert("managedFields".to_owned(), json!(managed));
        }
    }
    // Nothing depends on the order in which conditions of several managers are listed.
    if let Some(conditions) = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
        conditions.sort_by_key(|condition| condition["type"].to_string());
    }
    // References to the deployment, and keys of them.
    let text = object.to_string();
    serde_json::from_str(&if uid.is_empty() { text } else { text.replace(uid, "UID") }).expect("valid JSON")
}

/// Returns what objects have in common on both servers.
fn comparable_objects(objects: &BTreeMap<Target, Value>, uid: &str, owners: Owners) -> Value {
    objects.iter().map(|(target, object)| (format!("{target:?}"), comparable(object, uid, owners))).collect()
}

/// Returns the fields of each owner, as texts.
fn fields_by_owner(object: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let all = entries.into_iter().flatten().map(|entry| {
        let owner = ["manager", "operation", "subresource"].map(|field| entry[field].as_str().unwrap_or_default());
        let paths = fields::parse(&entry["fieldsV1"]);
        let paths = paths.iter().filter(|path| !is_container(object, path)).map(|path| path.join(" "));
        (owner.join(" "), paths.collect::<BTreeSet<_>>())
    });
    all.filter(|(_, paths)| !paths.is_empty()).collect()
}

/// Whether a path is about a map or a list itself, without what is in it. Clients that write with `Update` own those, and
/// so do clients from which all that is in it was taken. Nothing depends on it.
fn is_container(object: &Value, path: &[String]) -> bool {
    match path {
        [.., above, last] if last == "." => above.starts_with("f:"),
        [.., last] if fields::has_items(last.trim_start_matches("f:")) => true,
        path => steps::is_above_fields(path) || fields::read(object, path) == Some(json!({})),
    }
}

/// Removes what an apply leaves of a map when it removes all fields of it: nothing, an empty map or null.
fn drop_empty(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.values_mut().for_each(drop_empty);
        fields.retain(|_, value| !value.is_null() && *value != json!({}));
    }
}

/// Returns what an answer has in common on both servers.
fn outcome(answer: &Answer, step: &Step, uid: &str) -> Value {
    match answer {
        Ok(None) => json!("nothing"),
        // What is read must not depend on what the server adds to the contents.
        Ok(Some(object)) if step.reads_metadata() => {
            comparable(&json!({"metadata": object["metadata"]}), uid, Owners::Ignored)
        }
        Ok(Some(object)) => {
            let has_version = object["metadata"]["resourceVersion"].as_str().is_some_and(|version| !version.is_empty());
            json!({"has_version": has_version, "object": comparable(object, uid, Owners::Compared)})
        }
        Err(RequestError::Refused { code, .. }) => json!({"code": code}),
        Err(error) => json!(error.to_string()),
    }
}

/// Describes where two values differ; none where they are equal.
fn difference(in_memory: &Value, real: &Value) -> Option<String> {
    let mut found = Vec::new();
    collect_differences("", in_memory, real, &mut found);
    (!found.is_empty()).then(|| found.join("\n"))
}

fn collect_differences(at: &str, in_memory: &Value, real: &Value, found: &mut Vec<String>) {
    if let (Some(left), Some(right)) = (in_memory.as_object(), real.as_object()) {
        for name in left.keys().chain(right.keys()).collect::<BTreeSet<_>>() {
            collect_differences(&format!("{at}/{name}"), &in_memory[name], &real[name], found);
        }
    } else if in_memory != real {
        found.push(format!("{at} is {in_memory} in memory, and {real} on a real apiserver"));
    }
}

/// Runs one sequence on both servers. Returns the number of steps of each outcome, or where the servers differ.
async fn compare(real: &RealServer, number: u8, steps: &[Step]) -> Result<BTreeMap<String, usize>, String> {
    let name = format!("s{number}");
    let mut memory = MemoryServer { store: Store::new(&name, 0), slots: Slots::new() };
    let mut deployment = scenario::deployment();
    deployment["metadata"]["name"] = json!(name);
    // With the defaults of the CRD, which the server in memory does not know.
    deployment = real.defaulted(&deployment).await;
    memory.slots = memory
        .store
        .update(&memory.slots, DEPLOYMENT, USER, Part::Object, deployment.clone())
        .expect("a deployment that is created");
    real.create(&deployment).await;
    let mut sequence = Sequence { real, memory, name, views: Views::default() };
    sequence.look("its creation").await?;
    let (mut outcomes, mut trace) = (BTreeMap::new(), Vec::new());
    for step in steps {
        trace.push(format!("{step:?}"));
        let taken = sequence.take(step).await.map_err(|error| format!("{}\n{error}", trace.join("\n")))?;
        if let Some(outcome) = taken {
            *outcomes.entry(format!("{} {outcome}", step.title())).or_default() += 1;
        }
        // What happens to the objects of a deployment that is gone is the garbage collector's affair.
        if sequence.views.is_gone() {
            break;
        }
    }
    // Every second one leaves its objects behind.
    let user = if number.is_multiple_of(2) { UserStep::Delete } else { UserStep::Orphan };
    sequence.rest(user).await.map_err(|error| format!("{}\n{user:?}\n{error}", trace.join("\n")))?;
    Ok(outcomes)
}

/// What is known of the objects on both servers.
#[derive(Debug, Default)]
struct Views {
    in_memory: View,
    real: View,
}

impl Views {
    /// Whether the deployment is gone.
    fn is_gone(&self) -> bool {
        !self.in_memory.now.contains_key(&Target::Deployment)
    }
}

/// A sequence of steps on both servers.
struct Sequence<'r> {
    real: &'r RealServer,
    memory: MemoryServer,
    /// The name of all its objects.
    name: String,
    views: Views,
}

impl Sequence<'_> {
    /// Looks at the objects, and compares them.
    async fn look(&mut self, after: &str) -> Result<(), String> {
        let Self { real, memory, name, views } = self;
        let changed_in_memory = views.in_memory.update(memory.objects(name));
        let changed_on_real = views.real.update(real.objects(name).await);
        if views.is_gone() && !views.real.now.contains_key(&Target::Deployment) {
            return Ok(());
        }
        let all = |view: &View| comparable_objects(&view.now, &view.deployment_uid, Owners::Compared);
        if let Some(difference) = difference(&all(&views.in_memory), &all(&views.real)) {
            return Err(format!("after {after}: {difference}"));
        }
        // Whether anything was stored shows in the versions alone.
        if changed_in_memory != changed_on_real {
            return Err(format!(
                "after {after}: a new version of {changed_in_memory:?} in memory, and of {changed_on_real:?} on a real apiserver"
            ));
        }
        Ok(())
    }

    /// Takes a step on both servers. Returns its outcome; none where there was nothing to do it with.
    async fn take(&mut self, step: &Step) -> Result<Option<String>, String> {
        let Self { real, memory, name, views } = self;
        let answers = (memory.take(step, &views.in_memory, name), real.take(step, &views.real, name).await);
        let (in_memory, real) = match &answers {
            (None, None) => return Ok(None),
            (Some(in_memory), Some(real)) => (in_memory, real),
            answers => return Err(format!("one step, and other answers: {answers:?}")),
        };
        let found = outcome(in_memory, step, &views.in_memory.deployment_uid);
        let expected = outcome(real, step, &views.real.deployment_uid);
        if let Some(difference) = difference(&found, &expected) {
            let errors = [in_memory, real].map(|answer| answer.as_ref().err());
            return Err(format!("answers: {difference}, with the errors {errors:?}"));
        }
        self.look("it").await?;
        Ok(Some(expected["code"].as_u64().map_or_else(|| "ok".to_owned(), |code| code.to_string())))
    }

    /// Deletes the deployment on both servers, and compares what the garbage collectors leave.
    async fn rest(&mut self, user: UserStep) -> Result<(), String> {
        if !self.views.is_gone() {
            self.take(&Step::Finalizers { set: 0, uid: steps::Uid::Right }).await?;
        }
        let Self { real, memory, name, views } = self;
        if !views.is_gone() {
            memory.slots = user.take(&mut memory.store, &memory.slots);
            real.delete(name, user == UserStep::Orphan).await;
        }
        memory.rest();
        let expected = comparable_objects(&memory.objects(name), &views.in_memory.deployment_uid, Owners::Ignored);
        let started = Instant::now();
        loop {
            let found = comparable_objects(&real.objects(name).await, &views.real.deployment_uid, Owners::Ignored);
            match difference(&expected, &found) {
                None => return Ok(()),
                Some(difference) if started.elapsed() > REST => return Err(format!("at rest: {difference}")),
                Some(_) => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    }
}

#[test]
fn the_server_in_memory_answers_as_a_real_one_does() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let Some(real) = RealServer::start().await else { return };
        let sequences = (0..SEQUENCES).map(|number| {
            let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[number; 32]);
            let mut runner = TestRunner::new_with_rng(Config::default(), rng);
            (number, proptest::collection::vec(any_step(), STEPS).new_tree(&mut runner).unwrap().current())
        });
        let sequences: Vec<(u8, Vec<Step>)> = sequences.collect();
        let compared = join_all(sequences.iter().map(|(number, steps)| compare(&real, *number, steps))).await;
        let differences =
            (0..).zip(&compared).filter_map(|(number, compared)| Some((number, compared.as_ref().err()?)));
        let differences: Vec<String> =
            differences.map(|(number, difference): (u8, _)| format!("sequence {number}:\n{difference}")).collect();
        assert!(differences.is_empty(), "{}", differences.join("\n\n"));
        let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
        for (outcome, count) in compared.into_iter().flatten().flatten() {
            *outcomes.entry(outcome).or_default() += count;
        }
        println!("{outcomes:#?}");
        // The sequences reach what reconciliations depend on.
        for expected in [
            "Apply ok",
            "Apply 409",
            "ApplyStatus ok",
            "ApplyStatus 409",
            "ApplyStatus 422",
            "Finalizers ok",
            "Finalizers 422",
            "Annotate ok",
            "Annotate 422",
            "RemoveStatus ok",
            "RemoveStatus 422",
            "Delete ok",
            "Delete 409",
            "Delete 404",
            "Read ok",
            "Edit ok",
            "Remove ok",
        ] {
            assert!(outcomes.get(expected).is_some_and(|count| *count > 0), "{expected} in {outcomes:#?}");
        }
    });
}
