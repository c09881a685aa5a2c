//! Reconciles an object of a kind that another operator may own: an AsyncActor or a LlamaStackDistribution that was handed
//! to this operator by an annotation.
//!
//! ```text
//! not handed over ─ nothing, or release      being deleted ─ release
//! handed over ─ inputs ─ render (engine) ─┬─ ensure the generated objects, prune
//!                                         ├─ bind to a workload of another owner (binding)
//!                                         └─ report ─ status
//! ```
//! Like a provider's, every decision follows from the state of the cluster and the answers to the requests. Instead of a
//! cache of whole objects it reads what it needs: the driver notes every read, and requeues the object when what was read
//! changes (`operator/src/watch/related.rs`).

mod actors;
mod binding;
mod ensure;
mod kind;
mod llamastack;
mod release;
mod rendering;
mod report;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_controller_runtime::error::Error;
use kubefoundry_kubernetes::wire::ConditionStatus;
use serde_json::Value;

use self::actors::ACTORS;
use self::binding::TargetReference;
use self::ensure::Obstacle;
pub use self::kind::{Access, ClaimedKind, RelatedKind};
use self::kind::{Read, View};
use self::llamastack::LLAMA_STACK;
use self::rendering::Rendered;
use super::Next;
use super::exchange::Exchange;
use super::memory::{MAX_WATCH_LAG, Memory};
use super::observation::Observation;
use super::request::{Request, RequestError};
use super::status_writer::{Authority, StatusWriter};
use crate::cached_object::CachedObject;
use crate::conditions::{APPLIED, BOUND};
use crate::event::EventReason;
use crate::names::MANAGED;
use crate::status::{self, Condition, Force, StatusUpdate};

/// Every kind that has a role of its own, off by default.
pub const CLAIMED_KINDS: &[&dyn ClaimedKind] = &[&LLAMA_STACK, &ACTORS];

/// Interval of checks whether an object with another owner still blocks a name. Its changes are seen at once.
const OBSTACLE_INTERVAL: Duration = Duration::from_secs(60);

/// An object that was applied for a claimed object, as far as its metadata tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedObject {
    /// The kind.
    pub resource: Arc<kube::core::ApiResource>,
    /// The name, in the namespace of the claimed object.
    pub name: String,
    /// The uid.
    pub uid: String,
    /// The `resourceVersion`.
    pub version: Option<String>,
    /// Whether it is being deleted.
    pub is_terminating: bool,
}

/// What is known of a claimed object when it is reconciled.
pub struct ClaimedObservation {
    /// The object, the time, and who else writes its status.
    pub base: Observation,
    /// The kind of the object.
    pub kind: &'static dyn ClaimedKind,
    /// The Render options of the operator.
    pub options: Option<String>,
    /// Whether the caches of what was applied are filled.
    pub is_ready: bool,
    /// What was applied for the object, by the caches.
    pub owned: Vec<OwnedObject>,
    /// The names of all objects of the kind in the namespace.
    pub siblings: Vec<String>,
    /// `--finalizer-timeout`.
    pub finalizer_timeout: Duration,
}

/// Brings the objects of a claimed object one step closer to their desired state.
///
/// # Errors
/// The error of the apiserver, or what has to happen first.
pub async fn reconcile(
    observation: &ClaimedObservation,
    memory: &Mutex<Memory>,
    exchange: &Exchange,
) -> Result<Next, Error> {
    Reconciliation { observation, memory, exchange }.run().await
}

struct Reconciliation<'r> {
    observation: &'r ClaimedObservation,
    memory: &'r Mutex<Memory>,
    exchange: &'r Exchange,
}

/// How far the objects are: what the status reports of a reconciliation.
pub(super) struct Outcome {
    /// The condition `Applied`.
    applied: Condition,
    /// The condition `Bound`; none for an object that does not bind.
    bound: Option<Condition>,
    /// The workload to which the object is, or will be, bound.
    target: Option<TargetReference>,
    /// The conflicts about the binding: how many, and when the last one was.
    conflicts: binding::Conflicts,
    /// When to look again.
    next: Next,
    /// The error that the error policy retries.
    failure: Option<Error>,
}

impl Outcome {
    fn applied(condition: Condition) -> Self {
        let conflicts = binding::Conflicts::default();
        Self { applied: condition, bound: None, target: None, conflicts, next: Next::OnChange, failure: None }
    }
}

impl Reconciliation<'_> {
    fn object(&self) -> &CachedObject {
        &self.observation.base.deployment
    }

    fn kind(&self) -> &'static dyn ClaimedKind {
        self.observation.kind
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        super::lock(self.memory)
    }

    async fn publish(&self, reason: EventReason, message: String) {
        self.exchange.tell(Request::Publish { reason, message }).await;
    }

    async fn run(&self) -> Result<Next, Error> {
        let base = &self.observation.base;
        if self.memory().is_behind(self.object(), base.moment) {
            return Ok(Next::After(MAX_WATCH_LAG));
        }
        if base.is_paused() {
            return Ok(Next::OnChange);
        }
        if self.object().is_terminating() {
            return if self.has_finalizer() { self.release_deleted().await } else { Ok(Next::OnChange) };
        }
        if !base.has_annotation(MANAGED) {
            return if self.was_claimed() { self.release_given_up().await } else { Ok(Next::OnChange) };
        }
        if !self.observation.is_ready {
            return Err(Error::Waiting("the caches of what was applied are not filled yet".to_owned()));
        }
        self.converge().await
    }

    /// Whether this operator has worked on the object before.
    fn was_claimed(&self) -> bool {
        let owned = status::owned(&self.observation.base.value, self.kind().manager());
        self.has_finalizer() || !owned.is_null()
    }

    /// Renders the object, and brings everything closer to the result.
    async fn converge(&self) -> Result<Next, Error> {
        let base = &self.observation.base;
        let inputs = self.read_all(&self.kind().inputs(&base.value)).await?;
        // What the object no longer means is given back first, so that two workloads never run it.
        if let Some(old) = self.recorded_target().filter(|old| !self.kind().means(&base.value, old)) {
            self.unbind(&old).await?;
        }
        let rendered = match self.binding_obstacle(&inputs) {
            Some(obstacle) => Err(obstacle),
            None => rendering::render(self.observation.options.as_deref(), &base.value, &inputs)
                .map_err(|error| Condition::new(APPLIED, false, "Invalid", error)),
        };
        let mut live = Vec::new();
        let outcome = match &rendered {
            Ok(rendered) => self.apply_all(rendered, &inputs, &mut live).await?,
            Err(condition) => {
                let mut outcome = Outcome::applied(condition.clone());
                if self.kind().binds(&base.value) {
                    let message = condition.message.clone();
                    outcome.bound = Some(Condition::new(BOUND, false, condition.reason.clone(), message));
                    outcome.target = self.recorded_target().filter(|old| self.kind().means(&base.value, old));
                    outcome.conflicts = self.conflicts();
                }
                outcome
            }
        };
        live.extend(self.read_all(&self.kind().surroundings(&base.value)).await?);
        // The bound workload is an input, as it was before this reconciliation.
        for input in inputs {
            if !live.iter().any(|known| is_same(known, &input)) {
                live.push(input);
            }
        }
        let report_in = self.report(&outcome, rendered.as_ref().ok(), &live).await?;
        match outcome.failure {
            Some(error) => Err(error),
            None => Ok(outcome.next.or_after(report_in)),
        }
    }

    /// Applies what was rendered. `live` receives the objects as they are afterwards.
    async fn apply_all(&self, rendered: &Rendered, inputs: &[Value], live: &mut Vec<Value>) -> Result<Outcome, Error> {
        let mut outcome = match self.ensure_all(rendered, live).await {
            Ok(None) => {
                self.prune(rendered).await?;
                let message = "everything is applied as rendered";
                Outcome::applied(Condition::new(APPLIED, true, "Applied", message))
            }
            Ok(Some(delay)) => {
                let message = "another client keeps changing an object; it is corrected after a while";
                let next = Next::After(delay);
                Outcome { next, ..Outcome::applied(Condition::new(APPLIED, false, "Contested", message)) }
            }
            Err(Obstacle::NotOwned(message)) => {
                let condition = Condition::new(APPLIED, false, "NotOwned", message);
                Outcome { next: Next::After(OBSTACLE_INTERVAL), ..Outcome::applied(condition) }
            }
            Err(Obstacle::Error(Error::Api(RequestError::Refused { code, message })))
                if matches!(code, 400 | 403 | 413 | 422 | 500) =>
            {
                let condition = Condition::new(APPLIED, false, "Refused", message.clone());
                let failure = Some(RequestError::Refused { code, message }.into());
                Outcome { failure, ..Outcome::applied(condition) }
            }
            Err(Obstacle::Error(error)) => return Err(error),
        };
        let value = &self.observation.base.value;
        if self.kind().binds(value) {
            outcome.conflicts = self.conflicts();
            if let (Some(changed), true) = (&rendered.changed, outcome.applied.status == ConditionStatus::True) {
                self.bind(changed, inputs, &mut outcome, live).await?;
            } else {
                let message = "the other objects are applied first";
                outcome.bound = Some(Condition::new(BOUND, false, "Waiting", message));
                outcome.target = self.recorded_target();
            }
        }
        Ok(outcome)
    }

    /// Reads objects that the cluster has; those that do not exist are left out.
    async fn read_all(&self, reads: &[Read]) -> Result<Vec<Value>, Error> {
        let mut found = Vec::new();
        for read in reads {
            match read {
                Read::Named(resource, name) => {
                    let object = self.get(resource, name).await?;
                    found.extend(object);
                }
                Read::Labeled(resource, labels) => {
                    let request = Request::List { resource: resource.clone(), labels: labels.clone() };
                    let Value::Array(items) = self.exchange.ask(request).await? else {
                        return Err(RequestError::Failed("the answer to a list is not a list".to_owned()).into());
                    };
                    found.extend(items.into_iter().map(|item| with_kind(item, resource)));
                }
            }
        }
        Ok(found)
    }

    /// Reads an object; none when it does not exist.
    async fn get(&self, resource: &kube::core::ApiResource, name: &str) -> Result<Option<Value>, Error> {
        let request = Request::Get { resource: resource.clone(), name: name.to_owned() };
        Ok(self.exchange.send(request).await?.map(|object| with_kind(object, resource)))
    }

    /// Writes the status if it differs.
    async fn write_status(&self, update: &StatusUpdate) -> Result<bool, Error> {
        let writer = StatusWriter {
            observation: &self.observation.base,
            memory: self.memory,
            exchange: self.exchange,
            manager: self.kind().manager(),
            authority: Authority::Own,
        };
        writer.write(update, Force::No).await
    }

    /// Reports the state in the status. Returns the time after which it is reported, if another client keeps writing the
    /// status: the operator of the kind may do so, which does not know that the object was handed over.
    async fn report(
        &self,
        outcome: &Outcome,
        rendered: Option<&Rendered>,
        live: &[Value],
    ) -> Result<Option<Duration>, Error> {
        let base = &self.observation.base;
        let view = View { object: &base.value, rendered, live, outcome: report::Report::new(outcome), now: base.now };
        let update = self.kind().status(&view).condition(outcome.applied.clone());
        let update = update.conditions(outcome.bound.clone());
        if let Some(message) = report::new_failure(base.status(), outcome) {
            self.publish(EventReason::ProviderError, message).await;
        }
        let is_shared = status::owners(&base.value).any(|owner| owner.manager != self.kind().manager());
        let delay = self.memory().correction_delay(base.moment).filter(|_| is_shared);
        if delay.is_some() {
            return Ok(delay);
        }
        if self.write_status(&update).await? && is_shared {
            self.memory().record_correction(base.moment);
        }
        Ok(None)
    }

    fn now(&self) -> Time {
        self.observation.base.now
    }
}

/// Adds `apiVersion` and `kind` where a list leaves them out.
fn with_kind(mut object: Value, resource: &kube::core::ApiResource) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.entry("apiVersion").or_insert_with(|| resource.api_version.as_str().into());
        fields.entry("kind").or_insert_with(|| resource.kind.as_str().into());
    }
    object
}

/// Whether two values are the same object, in whatever version of its API.
fn is_same(one: &Value, other: &Value) -> bool {
    let identity = |object: &Value| {
        let api_version = text(object, "/apiVersion");
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        (group.to_owned(), text(object, "/kind").to_owned(), text(object, "/metadata/name").to_owned())
    };
    identity(one) == identity(other)
}

/// Splits the `apiVersion` of a kind that the program claims.
#[expect(clippy::expect_used, reason = "it is a constant, and no claimed kind is of the core group")]
fn group_version(api_version: &'static str) -> (&'static str, &'static str) {
    api_version.split_once('/').expect("a claimed kind has an API group")
}

/// Returns the string at a JSON pointer; empty if absent.
fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
