//! Runs a reconciliation as a coroutine: it asks for one request at a time, and continues with the answer.
//!
//! A reconciliation reads nothing but its arguments, and the answers. So the same observation and the same answers
//! always lead to the same request: the driver with the client and the simulation with every interleaving run one
//! function. `async` is used for the state machine that the compiler makes of it, not for input and output.

use std::pin::Pin;
use std::sync::{Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use kubefoundry_controller_runtime::mutex::lock;
use serde_json::Value;

use super::request::{Answer, Request, RequestError};

/// The slot through which a reconciliation hands out requests and takes answers.
#[derive(Debug, Default)]
pub struct Exchange(Mutex<Slot>);

#[derive(Debug, Default)]
struct Slot {
    request: Option<Request>,
    answer: Option<Answer>,
}

impl Exchange {
    /// Hands a request to the driver of the reconciliation, and waits for the answer.
    pub(crate) async fn send(&self, request: Request) -> Answer {
        self.lock().request = Some(request);
        std::future::poll_fn(|_| self.lock().answer.take().map_or(Poll::Pending, Poll::Ready)).await
    }

    /// Like [`Self::send`], for a request that is answered with a value if it does not fail.
    pub(crate) async fn ask(&self, request: Request) -> Result<Value, RequestError> {
        self.send(request).await?.ok_or_else(|| RequestError::Failed("the answer to a request is empty".to_owned()))
    }

    /// Hands over a request whose answer does not matter: a measurement or an event. The driver logs an event that it
    /// cannot publish, and a reconciliation does not fail for it.
    pub(crate) async fn tell(&self, request: Request) {
        self.send(request).await.ok();
    }

    fn lock(&self) -> MutexGuard<'_, Slot> {
        lock(&self.0)
    }
}

/// What a reconciliation needs next.
#[derive(Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time, on the stack of the driver")]
pub enum Progress<T> {
    /// The answer to this request.
    Request(Request),
    /// Nothing: it has finished.
    Finished(T),
}

/// A reconciliation between two requests.
pub struct Coroutine<'r, T> {
    exchange: &'r Exchange,
    future: Pin<Box<dyn Future<Output = T> + Send + 'r>>,
}

impl<'r, T> Coroutine<'r, T> {
    /// Wraps the future of a reconciliation that sends its requests to this exchange, and waits for nothing else.
    pub fn new(exchange: &'r Exchange, future: impl Future<Output = T> + Send + 'r) -> Self {
        Self { exchange, future: Box::pin(future) }
    }

    /// Continues with the answer to the last request; with none at the start.
    ///
    /// # Panics
    /// When the reconciliation waits for something else than an answer.
    #[expect(clippy::expect_used, reason = "the only future that is pending is that of `Exchange::send`")]
    pub fn resume(&mut self, answer: Option<Answer>) -> Progress<T> {
        self.exchange.lock().answer = answer;
        match self.future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => Progress::Finished(result),
            Poll::Pending => {
                let request = self.exchange.lock().request.take();
                Progress::Request(request.expect("a reconciliation waits only for answers"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Measurement;

    #[test]
    fn a_coroutine_hands_out_its_requests_one_by_one() {
        let exchange = Exchange::default();
        let mut coroutine = Coroutine::new(&exchange, async {
            let first = exchange.send(Request::Record(Measurement::Gone)).await;
            let second = exchange.send(Request::Record(Measurement::Takeover)).await;
            (first, second)
        });
        assert_eq!(coroutine.resume(None), Progress::Request(Request::Record(Measurement::Gone)));
        assert_eq!(coroutine.resume(Some(Ok(None))), Progress::Request(Request::Record(Measurement::Takeover)));
        let answer = Ok(Some(serde_json::json!({})));
        assert_eq!(coroutine.resume(Some(answer.clone())), Progress::Finished((Ok(None), answer)));
    }
}
