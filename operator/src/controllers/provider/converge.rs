//! Brings the objects of a deployment one step closer to the desired ones.
//!
//! ```text
//! main object:  not there ─ create      being deleted ─ wait       of another kind or name ─ delete, wait
//!               same hash ─ same: nothing ─ changed by somebody: drift     other hash ─ update
//! ```

use std::sync::Arc;
use std::time::Duration;

use kube::core::{DynamicObject, ObjectMeta};
use kube::{Api, Resource as _};
use serde_json::Value;

use super::desired::Desired;
use super::request::Mode;
use super::{ReconcileRequest, compare, objects};
use crate::cached::Cached;
use crate::error::Error;
use crate::names::RENDERED_HASH;
use crate::runtime::events::EventReason;
use crate::status::Force;
use crate::watch::Owned;

/// The result of a step.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Everything is as rendered.
    Settled,
    /// The main object was applied; as the apiserver returned it.
    Applied(Arc<Owned>),
    /// The watch has not delivered the last apply yet.
    CatchUp,
    /// An object has to be deleted first; says which.
    Recreating(String),
    /// Another client keeps changing an object; it is corrected after this time.
    Deferred(Duration),
    /// The apiserver or the provider refuses an object.
    Refused(String),
    /// An object of the same name exists that the deployment does not own.
    NotOwned(String),
    /// Nothing is applied, because the deployment asks for a dry run; says what would be.
    DryRun(String),
    /// Nothing is applied, because the namespace does not allow the provider.
    NotAllowed(String),
    /// Nothing is applied, because the provider cannot run it: reason and message of the condition.
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
enum Found {
    Nothing,
    /// It is being deleted.
    Going,
    Foreign,
    Ours(Arc<Owned>),
}

impl ReconcileRequest<'_> {
    pub(super) async fn converge(&self, desired: &Desired) -> Result<Outcome, Error> {
        match self.try_converge(desired).await {
            Ok(outcome) => Ok(outcome),
            Err(Obstacle::NotOwned(message)) => Ok(Outcome::NotOwned(message)),
            Err(Obstacle::Error(error)) => Err(error),
        }
    }

    async fn try_converge(&self, desired: &Desired) -> Result<Outcome, Obstacle> {
        let known = |object: &Value| {
            let upstream = &self.shared().upstream;
            let found = upstream.find(&objects::resource(object), self.deployment.namespace(), objects::name(object));
            let found = found.as_ref().map(|found| &found.object);
            !self.context.state.is_object_behind(self.deployment, &objects::key(object), found)
        };
        if !desired.objects().filter(|object| is_watched(object)).all(known) {
            return Ok(Outcome::CatchUp);
        }
        // Checked before anything is written or deleted.
        let foreign = |object: &&Value| is_watched(object) && matches!(self.find(object), Found::Foreign);
        if let Some(object) = desired.objects().find(foreign) {
            return Err(not_owned(object));
        }
        // The finalizer comes before the first object.
        self.hold().await?;
        let owned = self.owned();
        let main = desired.main();
        let is_stray =
            |owned: &&Arc<Owned>| objects::is_main_kind(owned, self.context.provider) && !objects::is_same(owned, main);
        let strays: Vec<&Arc<Owned>> = owned.iter().filter(is_stray).collect();
        if !strays.is_empty() {
            return self.replace(desired, &strays).await;
        }
        match self.find(main) {
            Found::Nothing => self.create(desired).await,
            Found::Going => Ok(Outcome::Recreating(until_gone(&objects::title(main)))),
            Found::Foreign => Err(not_owned(main)),
            Found::Ours(live) => {
                let hash = live.object.annotation(&self.shared().api_group.label(RENDERED_HASH));
                if hash == Some(desired.hash.as_str()) {
                    self.keep(desired, &owned).await
                } else {
                    self.update(desired, &live).await
                }
            }
        }
    }

    fn find(&self, object: &Value) -> Found {
        let (kind, namespace) = (objects::text(object, "/kind"), self.deployment.namespace());
        let found = self.shared().upstream.find(&objects::resource(object), namespace, objects::name(object));
        match found {
            None => Found::Nothing,
            Some(found) if !self.is_ours(&found.object.metadata, kind) => Found::Foreign,
            Some(found) if found.object.is_terminating() => Found::Going,
            Some(found) => Found::Ours(found),
        }
    }

    fn is_ours(&self, metadata: &ObjectMeta, kind: &str) -> bool {
        objects::is_ours(metadata, kind, self.deployment, self.shared().api_group)
    }

    /// Deletes main objects whose kind or name is not desired any more.
    async fn replace(&self, desired: &Desired, strays: &[&Arc<Owned>]) -> Result<Outcome, Obstacle> {
        // A running object is deleted only if the apiserver accepts its successor.
        if strays.iter().any(|stray| !stray.object.is_terminating())
            && matches!(self.find(desired.main()), Found::Nothing)
        {
            self.apply(desired.main(), Mode::DryRun, Force::No).await?;
        }
        for stray in strays {
            self.delete(stray, true).await?;
        }
        let titles: Vec<String> = strays.iter().map(|stray| objects::live_title(stray)).collect();
        Ok(Outcome::Recreating(until_gone(&titles.join(", "))))
    }

    async fn create(&self, desired: &Desired) -> Result<Outcome, Obstacle> {
        for object in desired.supporting() {
            self.ensure(object).await?;
        }
        let main = desired.main();
        let live = self.make(main).await?;
        let message = format!("Created {}", objects::title(main));
        self.shared().events.publish(self.deployment, EventReason::ResourceCreated, &message).await;
        Ok(Outcome::Applied(applied(main, live)))
    }

    /// Repairs drift: the rendered objects are the same as at the last apply.
    async fn keep(&self, desired: &Desired, owned: &[Arc<Owned>]) -> Result<Outcome, Obstacle> {
        let uid = self.deployment.uid();
        let mut changed = Vec::new();
        for object in desired.objects().filter(|object| is_watched(object)) {
            match self.find(object) {
                Found::Nothing => changed.push((object, None)),
                Found::Foreign => return Err(not_owned(object)),
                Found::Going => {}
                Found::Ours(live) => {
                    if compare::differs(object, &live) {
                        let state = objects::state(object, &live);
                        if !self.context.state.is_unchangeable(uid, &objects::key(object), &state) {
                            changed.push((object, Some(live)));
                        }
                    }
                }
            }
        }
        if changed.is_empty() {
            self.prune(desired, owned).await?;
            return Ok(Outcome::Settled);
        }
        if let Some(delay) = self.context.state.correction_delay(uid) {
            return Ok(Outcome::Deferred(delay));
        }
        let mut corrected = None;
        for (object, live) in changed {
            let stored = match live {
                None => self.make(object).await?,
                Some(live) => {
                    let tried = self.apply(object, Mode::DryRun, Force::Yes).await?;
                    if objects::desired_fields(&tried.value()) == objects::desired_fields(&live.object.value()) {
                        // The apiserver stores it in another form.
                        let state = objects::state(object, &live);
                        self.context.state.record_unchangeable(uid, &objects::key(object), state);
                        continue;
                    }
                    self.store(object, Force::Yes).await?
                }
            };
            corrected = Some((object, stored));
        }
        let Some((object, stored)) = corrected else { return Ok(Outcome::Settled) };
        self.context.state.record_correction(uid);
        let message = "Provider resource was modified directly, reconciling";
        self.shared().events.publish(self.deployment, EventReason::DriftDetected, message).await;
        let is_main = objects::key(object) == objects::key(desired.main());
        Ok(if is_main { Outcome::Applied(applied(object, stored)) } else { Outcome::Settled })
    }

    /// Deletes supporting objects that are not desired any more.
    async fn prune(&self, desired: &Desired, owned: &[Arc<Owned>]) -> Result<(), Error> {
        let is_desired = |owned: &Owned| desired.objects().any(|object| objects::is_same(owned, object));
        for stale in owned.iter().filter(|owned| !is_desired(owned)) {
            self.delete(stale, true).await?;
        }
        Ok(())
    }

    /// Creates or updates a supporting object.
    pub(super) async fn ensure(&self, object: &Value) -> Result<(), Obstacle> {
        if objects::text(object, "/kind") == objects::CLAIM {
            return self.ensure_claim(object).await;
        }
        match self.find(object) {
            Found::Nothing => self.make(object).await.map(drop),
            Found::Foreign => Err(not_owned(object)),
            Found::Going => Err(going(object)),
            Found::Ours(live) if !compare::differs(object, &live) => Ok(()),
            Found::Ours(_) => Ok(self.overwrite(object).await.map(drop)?),
        }
    }

    /// Creates or updates a volume claim. Claims are not watched, because there are many of them, with data of users.
    /// An existing claim may grow.
    async fn ensure_claim(&self, object: &Value) -> Result<(), Obstacle> {
        let Some(live) = self.api(object).get_opt(objects::name(object)).await.map_err(Error::from)? else {
            return self.make(object).await.map(drop);
        };
        if !self.is_ours(&live.metadata, objects::CLAIM) {
            return Err(not_owned(object));
        }
        if live.is_terminating() {
            return Err(going(object));
        }
        let live = Owned { resource: objects::resource(object).into(), object: live };
        if compare::differs(object, &live) {
            self.overwrite(object).await?;
        }
        Ok(())
    }

    /// Creates an object that the cache does not contain. If it exists after all, it is updated only if the deployment
    /// owns it.
    async fn make(&self, object: &Value) -> Result<Cached, Obstacle> {
        let exists = match self.apply(object, Mode::DryRun, Force::No).await {
            // The dry run of a creation returns no resourceVersion.
            Ok(tried) => tried.metadata.resource_version.is_some_and(|version| !version.is_empty()),
            Err(error) if error.is(409) => true,
            Err(error) => return Err(error.into()),
        };
        if !exists {
            // Without force: an object that was created in the meantime causes a conflict.
            return Ok(self.store(object, Force::No).await?);
        }
        let resource = objects::resource(object);
        let client = self.shared().client.clone();
        let api: Api<DynamicObject> = Api::namespaced_with(client, self.deployment.namespace(), &resource);
        match api.get_metadata_opt(objects::name(object)).await.map_err(Error::from)? {
            Some(live) if !self.is_ours(live.meta(), &resource.kind) => Err(not_owned(object)),
            Some(live) if live.metadata.deletion_timestamp.is_some() => Err(going(object)),
            Some(_) => Ok(self.overwrite(object).await?),
            None => Err(going(object)),
        }
    }

    /// Updates an object of the deployment after a dry run.
    async fn overwrite(&self, object: &Value) -> Result<Cached, Error> {
        self.apply(object, Mode::DryRun, Force::Yes).await?;
        self.store(object, Force::Yes).await
    }

    /// Applies an object after its dry run, and records it.
    pub(super) async fn store(&self, object: &Value, force: Force) -> Result<Cached, Error> {
        let stored = self.apply(object, Mode::Real, force).await?;
        self.context.state.record_apply(self.deployment, &objects::key(object), &stored);
        tracing::info!(
            namespace = self.deployment.namespace(),
            deployment = self.deployment.name(),
            kind = objects::text(object, "/kind"),
            name = objects::name(object),
            "applied"
        );
        Ok(stored)
    }
}

/// Whether the kind of an object is watched.
fn is_watched(object: &Value) -> bool {
    objects::text(object, "/kind") != objects::CLAIM
}

/// A main object as the apiserver returned it.
pub(super) fn applied(object: &Value, stored: Cached) -> Arc<Owned> {
    Arc::new(Owned { resource: objects::resource(object).into(), object: stored })
}

pub(super) fn until_gone(what: &str) -> String {
    format!("waiting for {what} to be gone before it is made anew")
}

fn not_owned(object: &Value) -> Obstacle {
    let title = objects::title(object);
    Obstacle::NotOwned(format!("{title} is there and not owned by this ModelDeployment: it is left alone"))
}

fn going(object: &Value) -> Obstacle {
    Obstacle::Error(Error::Waiting(format!("{} is being deleted", objects::title(object))))
}
