//! Reconciliation: what has to be requested so that a deployment comes one step closer to its desired state.
//!
//! ```text
//! observation (cached deployment, objects, time) ─┐
//! memory (writes that the watches owe) ───────────┼─ reconcile ⇄ exchange (request → answer) ─ next
//! registry (options, providers, CRDs) ────────────┘
//! ```
//! Nothing here has a client, a clock or a cache: a reconciliation is a pure function of its arguments and of the answers
//! to its requests. [`crate::controllers`] runs it with an apiserver; the simulation runs the same function with every
//! interleaving of two controllers, crashes and other clients.

pub(crate) mod claimed;
pub(crate) mod core;
pub(crate) mod exchange;
mod finalizer;
pub(crate) mod memory;
pub(crate) mod observation;
pub(crate) mod provider;
pub(crate) mod request;
pub(crate) mod selector;
pub(crate) mod status_writer;

use std::time::Duration;

use crate::mutex::lock;

/// When a deployment is reconciled again after a success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// When it, or something that decides about it, changes.
    OnChange,
    /// After this time at the latest.
    After(Duration),
}

impl Next {
    /// Returns the earlier of two times.
    #[must_use]
    fn or_after(self, delay: Option<Duration>) -> Self {
        match (self, delay) {
            (Self::OnChange, None) => Self::OnChange,
            (Self::OnChange, Some(delay)) => Self::After(delay),
            (Self::After(other), delay) => Self::After(delay.map_or(other, |delay| delay.min(other))),
        }
    }
}
