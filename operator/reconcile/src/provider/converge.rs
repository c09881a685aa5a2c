//! Brings the objects of a deployment one step closer to the desired ones.
//!
//! ```text
//! main object:  missing ─ create all    being deleted ─ wait       of another kind or name ─ delete, wait
//!               same hash ─ no difference: nothing ─ another client changed it: repair drift     other hash ─ update
//! ```

use std::sync::Arc;
use std::time::Duration;

use kube::core::{ApiResource, GroupVersionKind};
use kubefoundry_controller_runtime::error::Error;
use kubefoundry_controller_runtime::observed::ObjectView;
use serde_json::Value;

use super::desired::Desired;
use super::{Reconciliation, compare, objects, request};
use crate::cached_object::CachedObject;
use crate::event::EventReason;
use crate::names::RENDERED_HASH;
use crate::observation::UpstreamObject;
use crate::recreation::RecreationState;
use crate::request::Mode;
use crate::status::Force;

/// A `resourceVersion` that no stored object has: etcd counts its revisions from 1, and the first write is the second. The
/// apiserver refuses an apply with it to an object that exists, in whatever state, and creates one that does not. So
/// nothing is adopted, and no dry run has to find out first.
const NO_VERSION: &str = "1";

/// The result of a step.
#[derive(Debug)]
pub(super) enum ReconcileOutcome {
    /// Everything is as rendered.
    Settled,
    /// The objects are as they were. The change of the specification waits for a provider that can be chosen.
    Held,
    /// The main object was applied; as the apiserver returned it.
    Applied(Arc<UpstreamObject>),
    /// The watch has not delivered the last apply yet, so the cache cannot be trusted.
    CatchUp,
    /// An object has to be deleted first; the message names it.
    Recreating(String),
    /// The main object has to be recreated, which has to wait; it runs on. State and message of the condition, and when
    /// to ask again.
    PendingRecreate { state: RecreationState, message: String, again: Option<Duration> },
    /// Another client keeps changing an object; it is corrected after this time.
    Deferred(Duration),
    /// The apiserver or the provider refuses an object.
    Refused(String),
    /// An object of the same name exists that the deployment does not own.
    NotOwned(String),
    /// Nothing is applied, because the deployment asks for a dry run; the message lists the objects.
    DryRun(String),
    /// Nothing is applied, because the namespace does not allow the provider.
    NotAllowed(String),
    /// Nothing is applied, because the provider cannot run the deployment: reason and message of the condition.
    Incompatible(&'static str, String),
    /// Nothing is applied, because the deployment has errors.
    Invalid(String),
}

/// What prevents a write.
pub(super) enum Obstacle {
    /// An object of the same name that the deployment does not own.
    NotOwned(String),
    Error(Error),
}

impl From<Error> for Obstacle {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// The cached state of a desired object.
enum CachedState {
    Missing,
    /// The deployment owns it, and it is being deleted.
    Terminating,
    /// An object of that name that the deployment does not own.
    NotOwned,
    Owned(Arc<UpstreamObject>),
}

impl Reconciliation<'_> {
    /// Brings the objects one step closer to the desired ones. Reports an object with another owner as an outcome
    /// instead of an error: a retry does not help until a user acts.
    pub(super) async fn converge(&self, desired: &Desired) -> Result<ReconcileOutcome, Error> {
        match self.try_converge(desired).await {
            Ok(outcome) => Ok(outcome),
            Err(Obstacle::NotOwned(message)) => Ok(ReconcileOutcome::NotOwned(message)),
            Err(Obstacle::Error(error)) => Err(error),
        }
    }

    async fn try_converge(&self, desired: &Desired) -> Result<ReconcileOutcome, Obstacle> {
        let known = |object: &Value| {
            let found = self.observation.find(object).map(|found| &found.object);
            !self.memory().is_object_behind(&objects::key(object), found, self.moment())
        };
        if !desired.objects().filter(|object| is_watched(object)).all(known) {
            return Ok(ReconcileOutcome::CatchUp);
        }
        // All names are checked before anything is written, so a conflict leaves no half of the objects behind.
        let foreign = |object: &&Value| is_watched(object) && matches!(self.find(object), CachedState::NotOwned);
        if let Some(object) = desired.objects().find(foreign) {
            return Err(not_owned(object));
        }
        if self.lacks_owner(desired) && self.is_being_deleted().await? {
            return Ok(ReconcileOutcome::CatchUp);
        }
        // The finalizer comes before the first object: an object without it would be orphaned by a deletion now.
        self.add_finalizer().await?;
        let owned = self.owned();
        let main = desired.main();
        let is_stray = |owned: &&Arc<UpstreamObject>| {
            objects::is_main_kind(owned, self.observation.identity.provider) && !objects::is_same(owned, main)
        };
        let strays: Vec<&Arc<UpstreamObject>> = owned.iter().filter(is_stray).collect();
        if !strays.is_empty() {
            return self.delete_strays(desired, &strays).await;
        }
        match self.find(main) {
            CachedState::Missing => self.create_all(desired).await,
            CachedState::Terminating => Ok(ReconcileOutcome::Recreating(waiting_for_deletion(&objects::title(main)))),
            CachedState::NotOwned => Err(not_owned(main)),
            CachedState::Owned(live) => {
                let hash = live.object.annotation(&self.observation.base.api_group.label(RENDERED_HASH));
                if self.observation.holds() && hash != Some(desired.hash.as_str()) {
                    Ok(ReconcileOutcome::Held)
                } else if hash == Some(desired.hash.as_str()) {
                    self.repair_drift(desired, owned).await
                } else {
                    self.update_main(desired, &live).await
                }
            }
        }
    }

    fn find(&self, object: &Value) -> CachedState {
        let Some(found) = self.observation.find(object) else { return CachedState::Missing };
        let is_ours = self.is_owned(&found.object, ObjectView(object).kind()) || self.has_lost_owner(&found.object);
        match found {
            _ if !is_ours => CachedState::NotOwned,
            found if found.object.is_terminating() => CachedState::Terminating,
            found => CachedState::Owned(Arc::clone(found)),
        }
    }

    fn is_owned(&self, object: &CachedObject, kind: &str) -> bool {
        objects::is_owned(object, kind, self.deployment(), self.observation.base.api_group)
    }

    /// Whether another client took the owner from an object of the deployment. It is put back.
    fn has_lost_owner(&self, object: &CachedObject) -> bool {
        objects::has_lost_owner(object, self.deployment(), self.manager(), self.observation.base.api_group)
    }

    /// Whether an object of the deployment has lost its owner.
    fn lacks_owner(&self, desired: &Desired) -> bool {
        let found = desired.objects().filter_map(|object| self.observation.find(object));
        found.into_iter().any(|found| self.has_lost_owner(&found.object))
    }

    /// Whether the deployment is being deleted, though the cache may not show it yet. In an orphaning deletion the garbage
    /// collector takes the owner from the objects; putting it back would have them deleted with the deployment.
    async fn is_being_deleted(&self) -> Result<bool, Error> {
        let api_group = self.observation.base.api_group;
        let kind = GroupVersionKind::gvk(api_group.name, api_group.version, kubefoundry_deployment::wire::KIND);
        let live = self.get_metadata(ApiResource::from_gvk(&kind), self.deployment().name()).await?;
        Ok(live.is_none_or(|live| live.is_terminating() || live.uid() != self.deployment().uid()))
    }

    /// Deletes main objects whose kind or name is no longer desired.
    async fn delete_strays(
        &self,
        desired: &Desired,
        strays: &[&Arc<UpstreamObject>],
    ) -> Result<ReconcileOutcome, Obstacle> {
        // A running object is deleted only if the apiserver accepts its successor.
        if strays.iter().any(|stray| !stray.object.is_terminating())
            && matches!(self.find(desired.main()), CachedState::Missing)
        {
            self.apply(desired.main(), Mode::DryRun, Force::No).await?;
        }
        for stray in strays {
            self.delete(stray).await?;
        }
        let titles: Vec<String> = strays.iter().map(|stray| objects::live_title(stray)).collect();
        Ok(ReconcileOutcome::Recreating(waiting_for_deletion(&titles.join(", "))))
    }

    /// Creates all objects, the main one last, because it refers to the others.
    async fn create_all(&self, desired: &Desired) -> Result<ReconcileOutcome, Obstacle> {
        for object in desired.supporting() {
            self.ensure(object).await?;
        }
        let main = desired.main();
        let live = self.create_object(main).await?;
        let message = format!("Created {}", objects::title(main));
        self.publish(EventReason::ResourceCreated, message).await;
        Ok(ReconcileOutcome::Applied(applied(main, live)))
    }

    /// Applies objects again that another client changed or deleted. The rendered objects are those of the last apply.
    ///
    /// A difference is not always drift: the apiserver may store a value in another form than it was written. A dry run
    /// that changes nothing shows this, and is remembered, so that each reconciliation does not repeat it.
    async fn repair_drift(
        &self,
        desired: &Desired,
        owned: &[Arc<UpstreamObject>],
    ) -> Result<ReconcileOutcome, Obstacle> {
        let mut changed = Vec::new();
        for object in desired.objects().filter(|object| is_watched(object)) {
            match self.find(object) {
                CachedState::Missing => changed.push((object, None)),
                CachedState::NotOwned => return Err(not_owned(object)),
                CachedState::Terminating => {}
                CachedState::Owned(live) => {
                    if compare::differs(object, &live) || self.has_lost_owner(&live.object) {
                        let state = objects::comparison_hash(object, &live);
                        if !self.memory().is_unchangeable(&objects::key(object), &state) {
                            changed.push((object, Some(live)));
                        }
                    }
                }
            }
        }
        if changed.is_empty() {
            self.prune(desired, owned).await?;
            return Ok(ReconcileOutcome::Settled);
        }
        let delay = self.memory().correction_delay(self.moment());
        if let Some(delay) = delay {
            return Ok(ReconcileOutcome::Deferred(delay));
        }
        let mut corrected = None;
        for (object, live) in changed {
            let stored = match live {
                None => self.create_object(object).await?,
                Some(live) => {
                    let tried = self.apply(object, Mode::DryRun, Force::Yes).await?;
                    if objects::desired_fields(&tried.value()) == objects::desired_fields(&live.object.value()) {
                        let state = objects::comparison_hash(object, &live);
                        self.memory().record_unchangeable(&objects::key(object), state);
                        continue;
                    }
                    self.apply_and_record(object, Force::Yes).await?
                }
            };
            corrected = Some((object, stored));
        }
        let Some((object, stored)) = corrected else { return Ok(ReconcileOutcome::Settled) };
        self.memory().record_correction(self.moment());
        let message = "Provider resource was modified directly, reconciling";
        self.publish(EventReason::DriftDetected, message.to_owned()).await;
        let is_main = objects::key(object) == objects::key(desired.main());
        Ok(if is_main { ReconcileOutcome::Applied(applied(object, stored)) } else { ReconcileOutcome::Settled })
    }

    /// Deletes supporting objects that are no longer desired.
    async fn prune(&self, desired: &Desired, owned: &[Arc<UpstreamObject>]) -> Result<(), Error> {
        let is_desired = |owned: &UpstreamObject| desired.objects().any(|object| objects::is_same(owned, object));
        for stale in owned.iter().filter(|owned| !is_desired(owned)) {
            self.delete(stale).await?;
        }
        Ok(())
    }

    /// Creates or updates a supporting object.
    pub(super) async fn ensure(&self, object: &Value) -> Result<(), Obstacle> {
        if ObjectView(object).kind() == objects::CLAIM {
            return self.ensure_claim(object).await;
        }
        match self.find(object) {
            CachedState::Missing => self.create_object(object).await.map(drop),
            CachedState::NotOwned => Err(not_owned(object)),
            CachedState::Terminating => Err(being_deleted(object)),
            CachedState::Owned(live) if !compare::differs(object, &live) => Ok(()),
            CachedState::Owned(_) => Ok(self.overwrite(object).await.map(drop)?),
        }
    }

    /// Creates or updates a volume claim. An existing claim may grow. Claims are not watched, because a cluster can
    /// have many that do not belong to any deployment.
    async fn ensure_claim(&self, object: &Value) -> Result<(), Obstacle> {
        let Some(live) = self.get(objects::resource(object), objects::name(object)).await? else {
            return self.create_object(object).await.map(drop);
        };
        let live = request::read(live)?;
        if !self.is_owned(&live, objects::CLAIM) {
            return Err(not_owned(object));
        }
        if live.is_terminating() {
            return Err(being_deleted(object));
        }
        let live = UpstreamObject { resource: objects::resource(object).into(), object: live };
        if compare::differs(object, &live) {
            self.overwrite(object).await?;
        }
        Ok(())
    }

    /// Creates an object that the cache does not contain. If it exists after all, it is updated only if the deployment
    /// owns it: the watch lags behind, or does not select the object by its labels.
    async fn create_object(&self, object: &Value) -> Result<CachedObject, Obstacle> {
        let mut created = object.clone();
        created["metadata"]["resourceVersion"] = NO_VERSION.into();
        match self.apply_and_record(&created, Force::No).await {
            Err(error) if error.has_code(409) => {}
            answer => return Ok(answer?),
        }
        let resource = objects::resource(object);
        let kind = resource.kind.clone();
        match self.get_metadata(resource, objects::name(object)).await? {
            Some(live) if !self.is_owned(&live, &kind) && !self.has_lost_owner(&live) => Err(not_owned(object)),
            Some(live) if live.metadata.deletion_timestamp.is_some() => Err(being_deleted(object)),
            Some(_) => Ok(self.overwrite(object).await?),
            None => Err(being_deleted(object)),
        }
    }

    /// Updates an object of the deployment after a dry run, so that a refusal changes nothing.
    async fn overwrite(&self, object: &Value) -> Result<CachedObject, Error> {
        self.apply(object, Mode::DryRun, Force::Yes).await?;
        self.apply_and_record(object, Force::Yes).await
    }

    /// Applies an object, and remembers the write so that an older cached state is not mistaken for the current one.
    /// Returns the object as stored.
    pub(super) async fn apply_and_record(&self, object: &Value, force: Force) -> Result<CachedObject, Error> {
        let stored = self.apply(object, Mode::Real, force).await?;
        // A claim is not watched, so no watch would ever show the write.
        if is_watched(object) {
            self.memory().record_apply(&objects::key(object), &stored, self.moment());
        }
        tracing::info!(
            namespace = self.deployment().namespace(),
            deployment = self.deployment().name(),
            kind = ObjectView(object).kind(),
            name = objects::name(object),
            "applied"
        );
        Ok(stored)
    }
}

/// Whether the kind of an object is watched.
fn is_watched(object: &Value) -> bool {
    ObjectView(object).kind() != objects::CLAIM
}

/// Pairs a main object, as the apiserver returned it after an apply, with its kind.
pub(super) fn applied(object: &Value, stored: CachedObject) -> Arc<UpstreamObject> {
    Arc::new(UpstreamObject { resource: objects::resource(object).into(), object: stored })
}

/// Returns the status message that is shown while an object is deleted before its successor is created.
pub(super) fn waiting_for_deletion(what: &str) -> String {
    format!("waiting for {what} to be deleted before it is recreated")
}

fn not_owned(object: &Value) -> Obstacle {
    let title = objects::title(object);
    Obstacle::NotOwned(format!(
        "{title} exists but is not owned by this ModelDeployment, so the operator does not change it"
    ))
}

fn being_deleted(object: &Value) -> Obstacle {
    Obstacle::Error(Error::Waiting(format!("{} is being deleted", objects::title(object))))
}
