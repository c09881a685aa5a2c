//! What the webhooks ask the program that serves them.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kubefoundry_compiler::session::Session;
use kubefoundry_compiler::verdict::AllowList;
use serde_json::Value;

/// The state of the cluster on which admission depends.
pub trait AdmissionContext: Send + Sync + 'static {
    /// Returns the evaluators of an API group, or why there are none.
    fn session(&self, group: &str) -> Availability;
    /// Returns the providers that a namespace allows; none means all.
    fn allow_list<'c>(&'c self, namespace: &'c str) -> BoxFuture<'c, Result<AllowList, String>>;
    /// Reads a ModelDeployment; none if it does not exist or the operator does not serve its group.
    fn deployment<'c>(
        &'c self,
        group: &'c str,
        namespace: &'c str,
        name: &'c str,
    ) -> BoxFuture<'c, Result<Option<Value>, String>>;
    /// Whether `--check-access` is set.
    fn checks_access(&self) -> bool;
    /// Returns the reason why a user is denied access; none if access is allowed.
    fn check_access(&self, review: SubjectAccessReview) -> BoxFuture<'_, Option<String>>;
    /// Records a request to a webhook, its verdict and how long it took.
    fn observe(&self, webhook: &'static str, verdict: &'static str, took: Duration);
}

/// Whether deployments of an API group can be evaluated.
pub enum Availability {
    /// The operator does not serve the group.
    NotServed,
    /// The caches are still filling.
    Starting,
    /// They can.
    Ready(Evaluators),
}

/// The sessions of an API group.
#[derive(Clone)]
pub struct Evaluators {
    /// Selects among all providers.
    pub session: Session,
    /// Creates sessions that select among some providers only.
    pub restrict: RestrictSession,
}

/// Returns a session that selects among these providers only.
pub type RestrictSession = Arc<dyn Fn(&[String]) -> Session + Send + Sync>;
