//! Shutdown: the signals that ask the process to stop, and the flag that passes the request on to its tasks.
//!
//! Corresponds to `kubert::shutdown`: [`sigint_or_sigterm`] registers the signals, [`Shutdown`] is kubert's `Watch`,
//! and [`signaled`] waits for it. kubert has one phase. The operator needs two: servers and watches stop when the
//! signal arrives, but a lease is vacated only once no reconciliation is running
//! ([`ConcurrencyLimiter::close`](super::limiter::ConcurrencyLimiter::close)). Each phase is one channel of this
//! type.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Becomes true when the holder is to stop. A dropped sender means the same.
pub type Shutdown = watch::Receiver<bool>;

/// Waits until the shutdown is requested.
pub async fn signaled(mut shutdown: Shutdown) {
    // The sender was dropped: treat it as a stop.
    let _ = shutdown.wait_for(|requested| *requested).await;
}

/// Registers SIGINT and SIGTERM, and returns a future that completes at the first of them.
///
/// # Errors
/// When the system refuses to register a signal.
pub fn sigint_or_sigterm() -> std::io::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
