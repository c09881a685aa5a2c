//! Being built.
use std::sync::Arc;

use kube::runtime::controller::Action;
use kubefoundry::model::provider::Provider;

use crate::cached::Cached;
use crate::context::Context;
use crate::error::Error;

pub(crate) struct ProviderContext {}
impl ProviderContext {
    pub(crate) fn new(_shared: Context, _provider: &'static dyn Provider) -> Self {
        Self {}
    }
}
pub(crate) async fn reconcile(_deployment: Arc<Cached>, _context: Arc<ProviderContext>) -> Result<Action, Error> {
    Ok(Action::await_change())
}
pub(crate) fn error_policy(_deployment: Arc<Cached>, _error: &Error, _context: Arc<ProviderContext>) -> Action {
    Action::await_change()
}
