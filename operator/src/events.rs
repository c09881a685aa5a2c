//! Events (spec/1 §9), once for each thing that happens.

use crate::cached::Cached;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happening {
    /// `Normal ProviderSelected`.
    ProviderSelected,
}

/// Where events go.
#[derive(Clone)]
pub(crate) struct Events {}

impl Events {
    /// Writes an event about a deployment. What cannot be written is logged: it stops nothing.
    pub(crate) async fn publish(&self, _deployment: &Cached, _happening: Happening, _message: &str) {}
}
