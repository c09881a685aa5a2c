//! A small HTTP/1 server: webhooks over TLS, metrics and health without. Whatever bytes come, it answers or hangs up.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::runtime::metrics::Metrics;

/// Turns true when the program is to stop; a sender that is gone means the same.
pub(crate) type Stop = watch::Receiver<bool>;

/// Waits for the word to stop.
pub(crate) async fn stopped(mut stop: Stop) {
    // An error means that nobody is left who could say so.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// A request that was read to its end.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Bytes,
}

/// What is answered.
pub(crate) type Answer = http::Response<Full<Bytes>>;

/// Answers requests.
pub(crate) type Handler = Arc<dyn Fn(Request) -> BoxFuture<'static, Answer> + Send + Sync>;

/// How bytes are protected on their way.
#[derive(Clone)]
pub(crate) enum Security {
    /// Not at all.
    Plain,
    /// By TLS, with the configuration of the moment: connections that stand go on with theirs. Without one nobody is let in.
    Tls(watch::Receiver<Option<Arc<ServerConfig>>>),
}

/// What a client may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Bytes of a body.
    pub(crate) body: usize,
    /// Connections at a time; more wait to be accepted.
    pub(crate) connections: usize,
    /// Time for the TLS handshake.
    pub(crate) handshake: Duration,
    /// Time for the head of a request, and between two requests.
    pub(crate) head: Duration,
    /// Time for a body.
    pub(crate) read: Duration,
    /// Time for an answer.
    pub(crate) answer: Duration,
    /// Time for requests under way when the server stops.
    pub(crate) drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // What an apiserver accepts of its clients; what it sends is an object of that size, and the one before it.
            body: 2 * 3 * 1024 * 1024 + 64 * 1024,
            connections: 512,
            handshake: Duration::from_secs(10),
            // Clients in Go close a connection that was idle for 90 seconds: we are not the first to hang up.
            head: Duration::from_secs(120),
            read: Duration::from_secs(10),
            // The longest `timeoutSeconds` of a webhook.
            answer: Duration::from_secs(30),
            drain: Duration::from_secs(10),
        }
    }
}

/// A server that was given all it needs.
pub(crate) struct Server {
    pub(crate) listener: TcpListener,
    pub(crate) security: Security,
    pub(crate) handler: Handler,
    pub(crate) limits: Limits,
}

impl Server {
    /// Listens at an address.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub(crate) async fn bind(address: SocketAddr, security: Security, handler: Handler) -> std::io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, security, handler, limits: Limits::default() })
    }

    /// Answers until it is told to stop; then lets requests under way come to their end.
    pub(crate) async fn run(self, stop: Stop) {
        let Self { listener, security, handler, limits } = self;
        let places = Arc::new(Semaphore::new(limits.connections));
        let mut connections = JoinSet::new();
        let mut stopping = pin!(stopped(stop.clone()));
        loop {
            while connections.try_join_next().is_some() {}
            let accepted = async {
                let place = Arc::clone(&places).acquire_owned().await;
                (listener.accept().await, place)
            };
            let (accepted, place) = tokio::select! {
                () = &mut stopping => break,
                accepted = accepted => accepted,
            };
            let Ok((stream, _)) = accepted else {
                // Out of file descriptors, say: it passes.
                sleep(Duration::from_millis(100)).await;
                continue;
            };
            let (security, handler, stop) = (security.clone(), Arc::clone(&handler), stop.clone());
            connections.spawn(async move {
                let _place = place;
                greet(stream, security, handler, limits, stop).await;
            });
        }
        drop(listener);
        let all = async { while connections.join_next().await.is_some() {} };
        if timeout(limits.drain, all).await.is_err() {
            tracing::warn!("requests were cut off: they took longer than the server may take to stop");
        }
    }
}

/// Agrees on TLS, where it is asked for, and serves what comes then.
async fn greet(stream: TcpStream, security: Security, handler: Handler, limits: Limits, stop: Stop) {
    // Answers are small, and waited for.
    let _ = stream.set_nodelay(true);
    match security {
        Security::Plain => converse(stream, handler, limits, stop).await,
        Security::Tls(configuration) => {
            let Some(configuration) = configuration.borrow().clone() else { return };
            match timeout(limits.handshake, TlsAcceptor::from(configuration).accept(stream)).await {
                Ok(Ok(stream)) => converse(stream, handler, limits, stop).await,
                // Probes of a TCP port end here as well.
                Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                Err(_) => tracing::debug!("a TLS handshake took too long"),
            }
        }
    }
}

/// Serves one connection.
async fn converse<S>(stream: S, handler: Handler, limits: Limits, stop: Stop)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| {
        let handler = Arc::clone(&handler);
        async move { Ok::<_, std::convert::Infallible>(serve(request, handler, limits).await) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(limits.head);
    let mut connection = pin!(server.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

/// Reads one request, and has it answered.
async fn serve(request: http::Request<Incoming>, handler: Handler, limits: Limits) -> Answer {
    let (head, body) = request.into_parts();
    let announced = head.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: usize| length > limits.body) {
        return text(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large");
    }
    let body = match timeout(limits.read, Limited::new(body, limits.body).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return text(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large");
        }
        Ok(Err(_)) => return text(StatusCode::BAD_REQUEST, "the request could not be read"),
        Err(_) => return text(StatusCode::REQUEST_TIMEOUT, "the request took too long"),
    };
    let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let request = Request { method: head.method, path: head.uri.path().to_owned(), content_type, body };
    // A bug in one answer is not the end of the server.
    let answered = AssertUnwindSafe(async { handler(request).await }).catch_unwind();
    match timeout(limits.answer, answered).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => {
            tracing::error!("answering a request failed; this is a bug");
            text(StatusCode::INTERNAL_SERVER_ERROR, "internal error")
        }
        Err(_) => text(StatusCode::SERVICE_UNAVAILABLE, "the answer took too long"),
    }
}

/// An answer of any type.
pub(crate) fn answer(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Answer::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

/// An answer in a few words.
pub(crate) fn text(status: StatusCode, words: impl Into<String>) -> Answer {
    answer(status, "text/plain; charset=utf-8", words.into() + "\n")
}

/// A request by a method that the path does not know.
pub(crate) fn not_allowed(allowed: &'static str) -> Answer {
    let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, format!("expected {allowed}"));
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    answer
}

fn is_read(request: &Request) -> bool {
    request.method == Method::GET || request.method == Method::HEAD
}

fn at_once(answer: Answer) -> BoxFuture<'static, Answer> {
    std::future::ready(answer).boxed()
}

/// `/metrics`.
pub(crate) fn metrics(metrics: Arc<Metrics>) -> Handler {
    Arc::new(move |request| {
        at_once(match request.path.as_str() {
            "/metrics" if is_read(&request) => {
                answer(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", metrics.text())
            }
            "/metrics" => not_allowed("GET, HEAD"),
            _ => text(StatusCode::NOT_FOUND, "expected /metrics"),
        })
    })
}

/// What must be before the program can do its work, and what of it is. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Readiness(Arc<Mutex<BTreeMap<&'static str, Option<String>>>>);

impl Readiness {
    /// Says that something is missing; until [`Readiness::met`] the program is not ready.
    pub(crate) fn waits(&self, what: &'static str, why: impl Into<String>) {
        self.set(what, Some(why.into()));
    }

    /// Says why something is missing, unless it was there already.
    pub(crate) fn still_waits(&self, what: &'static str, why: impl Into<String>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(all.get(what), Some(None)) {
            all.insert(what, Some(why.into()));
        }
    }

    /// Says that it is there.
    pub(crate) fn met(&self, what: &'static str) {
        self.set(what, None);
    }

    /// What is missing, one line each; nothing when all is there.
    pub(crate) fn missing(&self) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(|(what, why)| Some(format!("{what}: {}", why.as_deref()?))).collect()
    }

    fn set(&self, what: &'static str, why: Option<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(what, why);
    }
}

/// `/healthz`: the process answers. `/readyz`: all that it needs is there.
pub(crate) fn health(readiness: Readiness) -> Handler {
    Arc::new(move |request| {
        at_once(match request.path.as_str() {
            "/healthz" | "/readyz" if !is_read(&request) => not_allowed("GET, HEAD"),
            "/healthz" => text(StatusCode::OK, "ok"),
            "/readyz" => {
                let missing = readiness.missing();
                if missing.is_empty() {
                    text(StatusCode::OK, "ok")
                } else {
                    text(StatusCode::SERVICE_UNAVAILABLE, missing.join("\n"))
                }
            }
            _ => text(StatusCode::NOT_FOUND, "expected /healthz or /readyz"),
        })
    })
}

#[cfg(test)]
mod tests;
