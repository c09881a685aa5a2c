//! Reconciliation: what has to be requested so that a deployment comes one step closer to its desired state.
//!
//! ```text
//! observation (cached deployment, objects, time) ─┐
//! memory (writes that the watches owe) ───────────┼─ reconcile ⇄ exchange (request → answer) ─ next
//! registry (options, providers, CRDs) ────────────┘
//! ```
//! Nothing here has a client, a clock or a cache: a reconciliation is a pure function of its arguments and of the answers
//! to its requests. The controllers of the operator run it with an apiserver; the simulation runs the same function with every
//! interleaving of two controllers, crashes and other clients.

pub mod cached_object;
pub mod claimed;
pub mod conditions;
pub mod core;
pub mod decision;
pub mod event;
pub mod exchange;
mod finalizer;
pub mod memory;
pub mod names;
pub mod observation;
pub mod provider;
pub mod recreation;
pub mod request;
pub mod selector;
pub mod status;
pub mod status_writer;

use std::time::Duration;

use kubefoundry_controller_runtime::mutex::lock;

/// When a deployment is reconciled again after a success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
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
