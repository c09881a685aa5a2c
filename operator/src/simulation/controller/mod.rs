//! The controllers: what each has observed, and how far its reconciliation is. They run the functions of
//! [`kubefoundry_reconcile`] themselves. As those are pure, a reconciliation is resumed by replaying its answers.

mod caches;
mod observe;
mod trace;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::session::{Providers, Session};
use kubefoundry_compiler::verdict::{AllowList, Cluster, Verdict};
use kubefoundry_composition::BUILTIN;
use kubefoundry_controller_runtime::error::Error;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_model::select::PriorChoice;
use kubefoundry_reconcile::cached_object::CachedObject;
use kubefoundry_reconcile::exchange::{Coroutine, Exchange, Progress};
use kubefoundry_reconcile::memory::{MAX_WATCH_LAG, Memory, Moment};
use kubefoundry_reconcile::observation::Observation;
use kubefoundry_reconcile::provider::{self, ProviderObservation};
use kubefoundry_reconcile::request::{Answer, DeploymentPatch, Request};
use kubefoundry_reconcile::{Next, core, selector};
use serde_json::Value;

use super::cluster::{self, Change, DEPLOYMENT, Slot, Slots, Store};
use super::interner::{Interner, Memo};
use super::invariants;
use super::server::NAMESPACE;
use caches::SimulatedRegistry;
use trace::{outcome, title};

/// The controllers, in the order of their numbers.
pub(super) const ROLES: [Role; 4] = [Role::Core, Role::Selector, Role::Provider("kaito"), Role::Provider("dynamo")];
const OPERATOR_OPTIONS: &str = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nownerReferences: true\n";
/// The moment of every reconciliation.
const MOMENT: Moment = Moment(Duration::from_secs(1000));

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Core,
    Selector,
    Provider(&'static str),
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Selector => "selector",
            Self::Provider(provider) => provider,
        }
    }

    /// Whether the controller's caches contain the object with this key.
    fn observes(self, key: &str) -> bool {
        let is_main = |kind: &str| key.starts_with(&format!("{kind}/"));
        match self {
            Self::Core | Self::Selector => is_main(kubefoundry_deployment::wire::KIND),
            Self::Provider("kaito") => !is_main("DynamoGraphDeployment"),
            Self::Provider(_) => !is_main("Workspace"),
        }
    }
}

/// A mistake that is made on purpose, to show that the exploration finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mistake {
    /// A provider that should give up its objects does not see them.
    ForgetsObjects,
    /// A provider waits neither for its predecessor nor for its objects to be gone.
    IsImpatient,
    /// A provider takes every main object for one that serves.
    BelievesInReadiness,
    /// A provider does not set its finalizer.
    SkipsFinalizer,
}

/// What a controller knows, and what it is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Controller {
    memory: u32,
    /// The version of each object that it has observed; the next one is no older.
    seen: Vec<u32>,
    run: Option<Run>,
    /// The observation that it need not act on again.
    done: Option<u32>,
}

/// A reconciliation between two requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Run {
    observation: u32,
    /// The memory at its start.
    memory: u32,
    answers: u32,
}

/// What was observed, by the numbers of the objects.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ObservationKey {
    role: usize,
    deployment: u32,
    children: Vec<u32>,
}

enum Observed {
    Base(Observation),
    Provider(Box<ProviderObservation>),
}

impl Observed {
    fn deployment(&self) -> &CachedObject {
        match self {
            Self::Base(observation) => &observation.deployment,
            Self::Provider(observation) => &observation.base.deployment,
        }
    }
}

/// The answers so far, as a list from the last to the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Answers {
    before: u32,
    answer: Option<u32>,
}

/// The next step of a reconciliation.
#[derive(Debug, Clone, Copy)]
enum Step {
    Request { request: u32 },
    Finished { memory: u32, result: Finish },
}

#[derive(Debug, Clone, Copy)]
enum Finish {
    /// Until something changes.
    Done,
    /// Until the watches have had their time.
    Waits,
    /// It is retried.
    Failed,
}

/// The version of each object that a controller observes.
type View = Vec<(u32, Option<u32>)>;

/// How a controller runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Pace {
    /// Between any two of its requests anything may happen, and its watches lag behind.
    Slow,
    /// It observes the present, and its reconciliations are not interrupted.
    Swift,
}

/// A transition of a controller.
#[derive(Debug, Clone)]
pub(super) struct Transition {
    pub(super) label: String,
    pub(super) slots: Slots,
    pub(super) controller: Controller,
    /// A main object was reported as running, and none of the known ones served.
    pub(super) reports_falsely: bool,
    /// It needs no watch that lags behind.
    pub(super) is_fair: bool,
}

/// The controllers of one operator.
pub(super) struct Controllers {
    session: Session,
    max_lag: usize,
    mistake: Option<Mistake>,
    memories: Interner<Memory>,
    keys: Interner<ObservationKey>,
    observed: BTreeMap<u32, Arc<Observed>>,
    answers: Interner<Answers>,
    answer_texts: Interner<String, Answer>,
    requests: Interner<String, Request>,
    steps: Memo<Run, Step>,
    /// What a request about the object in a slot, for the deployment with a uid, does and answers.
    answered: Memo<(u32, Slot, String), (Change, u32)>,
    verdicts: Mutex<Memo<String, Arc<Verdict>>>,
}

impl Controllers {
    pub(super) fn new(max_lag: usize, mistake: Option<Mistake>) -> Self {
        let mut sources = SourceSet::default();
        sources.add_for(Purpose::Options, "operator", OPERATOR_OPTIONS);
        let session = Session::new(&BUILTIN, &sources, Providers::All).expect("valid options");
        let mut controllers = Self {
            session,
            max_lag,
            mistake,
            memories: Interner::default(),
            keys: Interner::default(),
            observed: BTreeMap::new(),
            answers: Interner::default(),
            answer_texts: Interner::default(),
            requests: Interner::default(),
            steps: Memo::default(),
            answered: Memo::default(),
            verdicts: Mutex::default(),
        };
        controllers.memories.intern(Memory::default());
        controllers.answers.intern(Answers { before: 0, answer: None });
        controllers
    }

    /// Returns the objects that a deployment renders to; `None` where it does not.
    pub(super) fn render(&self, deployment: &Value) -> Vec<Value> {
        self.decide(deployment, None).evaluation.objects.clone()
    }

    /// Decides a deployment. What a reconciliation changes in it does not matter, so each decision is made once.
    fn decide(&self, deployment: &Value, prior: Option<&PriorChoice>) -> Arc<Verdict> {
        let metadata = &deployment["metadata"];
        let parts = [
            &deployment["spec"],
            &deployment["status"]["provider"],
            &metadata["uid"],
            &metadata["labels"],
            &metadata["annotations"],
        ];
        let key = format!("{parts:?} {prior:?}");
        let known = self.verdicts.lock().expect("no panic").get(&key);
        known.unwrap_or_else(|| {
            let restrict = |_: &[String]| self.session.clone();
            let allowed = AllowList::parse(NAMESPACE, None);
            let cluster = Cluster {
                session: &self.session,
                restrict: &restrict,
                allowed: &allowed,
                thoroughness: Thoroughness::Needed,
            };
            self.verdicts.lock().expect("no panic").set(key, Arc::new(cluster.decide(deployment, prior)))
        })
    }

    /// The controller after a crash: a new process lists the current state.
    pub(super) fn crashed(
        &self,
        store: &Store,
        slots: &Slots,
        role: usize,
        controller: &Controller,
    ) -> Option<Controller> {
        let is_lost = controller.run.is_some() || controller.memory != 0;
        if self.max_lag == 0 {
            return is_lost.then(Controller::default);
        }
        let seen =
            (0..slots.len()).map(|index| if ROLES[role].observes(store.key(index)) { slots[index].version } else { 0 });
        is_lost.then(|| Controller { seen: seen.collect(), ..Controller::default() })
    }

    /// Returns everything that a controller can do next. At `Pace::Swift` its reconciliations are not interrupted.
    pub(super) fn transitions(
        &mut self,
        store: &mut Store,
        slots: &Slots,
        role: usize,
        controller: &Controller,
        pace: Pace,
    ) -> Vec<Transition> {
        if let Some(run) = controller.run {
            return vec![self.execute(store, slots, role, controller, run)];
        }
        let mut views = Self::views(store, slots, role, controller);
        if pace == Pace::Swift {
            views.truncate(1);
        }
        let mut transitions: Vec<Transition> = (0..)
            .zip(&views)
            .filter_map(|(lag, view)| self.start(store, slots, role, controller, view, lag == 0))
            .collect();
        if pace == Pace::Swift {
            for transition in &mut transitions {
                while let Some(run) = transition.controller.run {
                    let next = self.execute(store, &transition.slots, role, &transition.controller, run);
                    transition.label = format!("{}; {}", transition.label, next.label);
                    transition.reports_falsely |= next.reports_falsely;
                    (transition.slots, transition.controller) = (next.slots, next.controller);
                }
            }
        }
        transitions
    }

    /// Returns all combinations of versions in which the controller may observe the objects.
    fn views(store: &Store, slots: &Slots, role: usize, controller: &Controller) -> Vec<View> {
        let mut views = vec![Vec::new()];
        for (index, slot) in slots.iter().enumerate() {
            let seen = controller.seen.get(index).copied().unwrap_or_default();
            let observes = ROLES[role].observes(store.key(index));
            let past = slot.past.iter().copied().filter(|(version, _)| *version >= seen && observes);
            let current = if observes { (slot.version, slot.current) } else { (0, None) };
            let choices: Vec<(u32, Option<u32>)> = [current].into_iter().chain(past).collect();
            views = views
                .into_iter()
                .flat_map(|view| choices.iter().map(move |choice| [&view[..], &[*choice]].concat()))
                .collect();
        }
        views
    }

    /// Observes, and asks for the first request. None when there is nothing to do.
    fn start(
        &mut self,
        store: &mut Store,
        slots: &Slots,
        role: usize,
        controller: &Controller,
        view: &View,
        is_fair: bool,
    ) -> Option<Transition> {
        let name = ROLES[role].name();
        let transition = |label: &str, controller: Controller| {
            let label = format!("{name} {label}");
            Transition { label, slots: slots.clone(), controller, reports_falsely: false, is_fair }
        };
        let Some(deployment) = view[DEPLOYMENT].1 else {
            let gone = Controller::default();
            return (gone != *controller).then(|| transition("forgets the deployment", gone));
        };
        let children = view[1..].iter().filter_map(|(_, object)| *object).collect();
        let observation = self.keys.intern(ObservationKey { role, deployment, children });
        if controller.done == Some(observation) {
            return None;
        }
        let mut memory = (*self.memories.get(controller.memory)).clone();
        let uid = store.object(deployment)["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        memory.begin(&uid);
        let memory = self.memories.intern(memory);
        let run = Run { observation, memory, answers: 0 };
        let versions = view.iter().map(|(version, _)| *version);
        let seen: Vec<u32> = if self.max_lag == 0 { Vec::new() } else { versions.collect() };
        match self.step(store, run) {
            Step::Request { .. } => {
                let label =
                    format!("observes versions {:?}", view.iter().map(|(version, _)| *version).collect::<Vec<_>>());
                Some(transition(&label, Controller { memory, seen, done: None, run: Some(run) }))
            }
            // It waits for its watches. Once they have delivered everything, it need not.
            Step::Finished { result: Finish::Waits, .. } if is_fair => {
                let mut memory = (*self.memories.get(memory)).clone();
                let observed = self.observe(store, observation);
                memory.record_success(observed.deployment(), Moment(MOMENT.0 + MAX_WATCH_LAG));
                let memory = self.memories.intern(memory);
                let waited = Controller { memory, seen, ..controller.clone() };
                (waited != *controller).then(|| transition("has waited for its watches", waited))
            }
            Step::Finished { .. } => None,
        }
    }

    /// Sends the request that a reconciliation asks for, and resumes it.
    fn execute(
        &mut self,
        store: &mut Store,
        slots: &Slots,
        role: usize,
        controller: &Controller,
        run: Run,
    ) -> Transition {
        let Step::Request { request: request_id } = self.step(store, run) else { unreachable!("a run has a request") };
        let request = self.requests.get(request_id);
        let key = (*self.keys.get(run.observation)).clone();
        let uid = store.object(key.deployment)["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let (object, slot) = store.target(slots, &request);
        let answered = (request_id, slot.clone(), uid.clone());
        let (change, answer) = self.answered.get(&answered).unwrap_or_else(|| {
            let (change, answer) = match store.execute(&object, &slot, &request, &uid) {
                (_, Ok(_)) if self.mistake == Some(Mistake::SkipsFinalizer) && adds_finalizer(&request) => {
                    (Change::Nothing, Ok(slot.current.map(|id| (*store.object(id)).clone())))
                }
                answered => answered,
            };
            let answer = self.answer_texts.intern_as(format!("{answer:?}"), answer);
            self.answered.set(answered, (change, answer))
        });
        let after = store.with(slots, &object, change);
        let reports_falsely = self.reports_falsely(store, &key, run, &request);
        let label = format!("{}: {} {}", ROLES[role].name(), title(&request), outcome(&self.answer_texts.get(answer)));
        let answers = self.answers.intern(Answers { before: run.answers, answer: Some(answer) });
        let run = Run { answers, ..run };
        let step = self.step(store, run);
        Transition {
            label,
            slots: after,
            controller: self.after(store, controller.clone(), run, step),
            reports_falsely,
            is_fair: true,
        }
    }

    /// Whether a request reports a running model although no main object that the reconciliation knows serves.
    fn reports_falsely(&self, store: &Store, key: &ObservationKey, run: Run, request: &Request) -> bool {
        let Request::ApplyStatus { status, .. } = request else { return false };
        if status["phase"] != "Running" {
            return false;
        }
        let name = &status["provider"]["resourceName"];
        let uid = store.object(key.deployment)["metadata"]["uid"].clone();
        let serves = |object: &Value| {
            cluster::is_ready(object)
                && object["metadata"]["name"] == *name
                && invariants::deployment_uid(object) == Some(&uid)
        };
        let observed = key.children.iter().any(|child| serves(&store.object(*child)));
        let applied =
            || self.replayed(run.answers).iter().any(|answer| matches!(answer, Ok(Some(object)) if serves(object)));
        !observed && !applied()
    }

    fn after(&mut self, store: &Store, controller: Controller, run: Run, step: Step) -> Controller {
        let Step::Finished { memory, result } = step else { return Controller { run: Some(run), ..controller } };
        // What the memory, or the observation itself, keeps from being repeated, needs no note. Fewer states differ then.
        let again = self.step(store, Run { memory, answers: 0, ..run });
        let is_done = !matches!(result, Finish::Failed) && matches!(again, Step::Request { .. });
        Controller { memory, run: None, done: is_done.then_some(run.observation), ..controller }
    }

    /// Returns the answers to a reconciliation, the first one first.
    fn replayed(&self, mut answers: u32) -> Vec<Answer> {
        let mut all = Vec::new();
        loop {
            let Answers { before, answer } = *self.answers.get(answers);
            let Some(answer) = answer else { break };
            all.push((*self.answer_texts.get(answer)).clone());
            answers = before;
        }
        all.reverse();
        all
    }

    /// Runs a reconciliation from its start with the answers so far.
    fn step(&mut self, store: &Store, run: Run) -> Step {
        if let Some(step) = self.steps.get(&run) {
            return step;
        }
        let observed = self.observe(store, run.observation);
        let memory = Mutex::new((*self.memories.get(run.memory)).clone());
        let exchange = Exchange::default();
        let role = ROLES[self.keys.get(run.observation).role];
        let registry = SimulatedRegistry { controllers: self };
        let progress = {
            let mut coroutine = match (&*observed, role) {
                (Observed::Base(observation), Role::Core) => {
                    Coroutine::new(&exchange, core::reconcile(observation, &registry, &memory, &exchange))
                }
                (Observed::Base(observation), _) => {
                    Coroutine::new(&exchange, selector::reconcile(observation, &registry, &memory, &exchange))
                }
                (Observed::Provider(observation), _) => {
                    Coroutine::new(&exchange, provider::reconcile(observation, &memory, &exchange))
                }
            };
            let mut answers = self.replayed(run.answers).into_iter();
            let mut answer = None;
            loop {
                match coroutine.resume(answer.take()) {
                    // Neither changes the cluster, so they need no interleaving.
                    Progress::Request(Request::Publish { .. } | Request::Record(_)) => answer = Some(Ok(None)),
                    Progress::Request(request) => match answers.next() {
                        Some(next) => answer = Some(next),
                        None => break Err(request),
                    },
                    Progress::Finished(result) => break Ok(result),
                }
            }
        };
        let mut memory = memory.into_inner().expect("no panic");
        let step = match progress {
            Err(request) => {
                let request = self.requests.intern_as(format!("{request:?}"), request);
                Step::Request { request }
            }
            Ok(result) => {
                let result = finish(&result);
                if !matches!(result, Finish::Failed) {
                    memory.record_success(observed.deployment(), MOMENT);
                }
                Step::Finished { memory: self.memories.intern(memory), result }
            }
        };
        self.steps.set(run, step)
    }
}

fn finish(result: &Result<Next, Error>) -> Finish {
    match result {
        // Longer delays are those of deadlines, which lie beyond the simulated time.
        Ok(Next::After(delay)) if *delay <= MAX_WATCH_LAG => Finish::Waits,
        Ok(_) => Finish::Done,
        Err(_) => Finish::Failed,
    }
}

fn adds_finalizer(request: &Request) -> bool {
    let Request::PatchDeployment { patch: DeploymentPatch::Json(patch), .. } = request else { return false };
    patch[2]["value"].as_array().is_some_and(|finalizers| !finalizers.is_empty())
}
