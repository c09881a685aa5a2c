//! An HTTP/1 server: webhooks over TLS, metrics and health without. Whatever bytes a client sends, the server answers
//! or closes the connection.
//!
//! Corresponds to `kubert::server`, which reads certificates from files that a volume updates. Here the certificate
//! comes from a `watch` channel, because the operator issues and renews it itself (`webhook::certificates`). Every
//! phase of a connection has a limit ([`Limits`]), and a panic in a handler is answered with 500 instead of ending the
//! process. `hyper` does the protocol; a framework would add routing for five paths.

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex};
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
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::shutdown::{Shutdown, signaled};
use crate::mutex::lock;

/// A request whose body was read completely.
#[derive(Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The header `Content-Type`.
    pub content_type: Option<String>,
    /// The whole body.
    pub body: Bytes,
}

/// A response with its whole body.
pub type Response = http::Response<Full<Bytes>>;

/// Computes the response to a request.
pub type Handler = Arc<dyn Fn(Request) -> BoxFuture<'static, Response> + Send + Sync>;

/// Whether a server speaks TLS.
#[derive(Clone)]
pub enum Transport {
    /// Plain HTTP.
    Plain,
    /// TLS, with the current configuration of the channel. Open connections keep theirs; without a configuration the
    /// server closes new connections.
    Tls(watch::Receiver<Option<Arc<ServerConfig>>>),
}

/// The limits of connections and requests, so that a single client cannot exhaust the server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum size of a request body in bytes.
    pub body: usize,
    /// Maximum number of open connections. A further one closes the connection that has waited longest for its client,
    /// so that idle clients cannot keep others out.
    pub connections: usize,
    /// Time for the TLS handshake.
    pub handshake: Duration,
    /// Time for the head of a request, and idle time between two requests.
    pub head: Duration,
    /// Time to read a body.
    pub read: Duration,
    /// Time to compute a response.
    pub response: Duration,
    /// Time for running requests when the server stops.
    pub drain: Duration,
}

impl Limits {
    /// Returns the limits of a transport.
    fn of(transport: &Transport) -> Self {
        match transport {
            // Probes and scrapes send their request at once, and can open another connection for the next one.
            Transport::Plain => Self { head: Duration::from_secs(5), ..Self::default() },
            Transport::Tls(_) => Self::default(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // The apiserver accepts requests of 3 MiB, and an AdmissionReview carries the new and the old object.
            body: 2 * 3 * 1024 * 1024 + 64 * 1024,
            connections: 512,
            handshake: Duration::from_secs(10),
            // Go clients close a connection after 90 idle seconds, so the server is never the first to close it.
            head: Duration::from_secs(120),
            read: Duration::from_secs(10),
            // The maximum of `timeoutSeconds` of a webhook.
            response: Duration::from_secs(30),
            drain: Duration::from_secs(10),
        }
    }
}

/// A bound server.
pub struct Server {
    listener: TcpListener,
    transport: Transport,
    handler: Handler,
    /// The limits of each connection.
    pub limits: Limits,
}

impl Server {
    /// Listens on an address with the limits of the transport.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn bind(address: SocketAddr, transport: Transport, handler: Handler) -> std::io::Result<Self> {
        let limits = Limits::of(&transport);
        Ok(Self { listener: TcpListener::bind(address).await?, transport, handler, limits })
    }

    /// Returns the address, with the port that the system chose if none was asked for.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the shutdown is requested, then waits for running requests, at most [`Limits::drain`].
    pub async fn run(self, shutdown: Shutdown) {
        let Self { listener, transport, handler, limits } = self;
        let mut connections = JoinSet::new();
        let mut open = OpenConnections::default();
        let mut stopping = pin!(signaled(shutdown.clone()));
        'serve: loop {
            while connections.try_join_next().is_some() {}
            let accepted = tokio::select! {
                () = &mut stopping => break 'serve,
                accepted = listener.accept() => accepted,
            };
            let Ok((stream, _)) = accepted else {
                // For example out of file descriptors, which passes.
                sleep(Duration::from_millis(100)).await;
                continue;
            };
            while open.count() >= limits.connections && !open.close_longest_waiting() {
                // A handler runs for every connection. Each of them has a limit, so one of them ends soon.
                tokio::select! {
                    () = &mut stopping => break 'serve,
                    _ = connections.join_next() => {}
                }
            }
            let activity = Arc::new(Activity::default());
            let (transport, handler, shutdown) = (transport.clone(), Arc::clone(&handler), shutdown.clone());
            let task =
                connections.spawn(accept(stream, transport, tracked(handler, Arc::clone(&activity)), limits, shutdown));
            open.add(task, activity);
        }
        drop(listener);
        let all = async { while connections.join_next().await.is_some() {} };
        if timeout(limits.drain, all).await.is_err() {
            tracing::warn!("shutdown timeout: running requests were cancelled");
        }
    }
}

/// Whether a connection waits for its client, and since when.
#[derive(Default)]
struct Activity(Mutex<Option<RunningSince>>);

/// The number of handlers that run for a connection, and the time of the last change.
struct RunningSince {
    handlers: u32,
    at: Instant,
}

impl Activity {
    fn change(&self, change: impl FnOnce(u32) -> u32) {
        let mut state = lock(&self.0);
        let handlers = change(state.as_ref().map_or(0, |state| state.handlers));
        *state = Some(RunningSince { handlers, at: Instant::now() });
    }

    /// Returns the time since which the connection has waited for its client; none while a handler runs.
    fn waiting_since(&self, accepted: Instant) -> Option<Instant> {
        match &*lock(&self.0) {
            None => Some(accepted),
            Some(RunningSince { handlers: 0, at }) => Some(*at),
            Some(_) => None,
        }
    }
}

/// Records in the activity of a connection that the handler runs, also when it panics or is cancelled.
fn tracked(handler: Handler, activity: Arc<Activity>) -> Handler {
    struct Running(Arc<Activity>);
    impl Drop for Running {
        fn drop(&mut self) {
            self.0.change(|handlers| handlers.saturating_sub(1));
        }
    }
    Arc::new(move |request| {
        activity.change(|handlers| handlers.saturating_add(1));
        let running = Running(Arc::clone(&activity));
        let response = handler(request);
        async move {
            let _running = running;
            response.await
        }
        .boxed()
    })
}

/// The open connections of a server.
#[derive(Default)]
struct OpenConnections(Vec<(AbortHandle, Instant, Arc<Activity>)>);

impl OpenConnections {
    fn add(&mut self, task: AbortHandle, activity: Arc<Activity>) {
        self.0.push((task, Instant::now(), activity));
    }

    fn count(&mut self) -> usize {
        self.0.retain(|(task, ..)| !task.is_finished());
        self.0.len()
    }

    /// Closes the connection whose client has been silent for longest: in the handshake, the head or the body of a
    /// request, or between two requests. False when a handler runs for each of them.
    fn close_longest_waiting(&mut self) -> bool {
        let waiting = self.0.iter().enumerate();
        let waiting =
            waiting.filter_map(|(at, (_, accepted, activity))| Some((activity.waiting_since(*accepted)?, at)));
        let Some((_, at)) = waiting.min() else { return false };
        let (task, ..) = self.0.swap_remove(at);
        task.abort();
        true
    }
}

/// Performs the TLS handshake where the transport asks for one, and serves the connection.
async fn accept(stream: TcpStream, transport: Transport, handler: Handler, limits: Limits, shutdown: Shutdown) {
    // Responses are small, and the client waits for them.
    let _ = stream.set_nodelay(true);
    match transport {
        Transport::Plain => serve_connection(stream, handler, limits, shutdown).await,
        Transport::Tls(configuration) => {
            let Some(configuration) = configuration.borrow().clone() else { return };
            match timeout(limits.handshake, TlsAcceptor::from(configuration).accept(stream)).await {
                Ok(Ok(stream)) => serve_connection(stream, handler, limits, shutdown).await,
                // TCP probes also end here.
                Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
                Err(_) => tracing::debug!("TLS handshake timed out"),
            }
        }
    }
}

/// Serves the requests of one connection.
async fn serve_connection<S>(stream: S, handler: Handler, limits: Limits, shutdown: Shutdown)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| {
        let handler = Arc::clone(&handler);
        async move { Ok::<_, std::convert::Infallible>(respond(request, handler, limits).await) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(limits.head);
    let mut connection = pin!(server.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = signaled(shutdown) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection failed");
    }
}

/// Reads a request within the limits and calls the handler. A handler that panics or takes too long is answered for.
async fn respond(request: http::Request<Incoming>, handler: Handler, limits: Limits) -> Response {
    let (head, body) = request.into_parts();
    let announced = head.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: usize| length > limits.body) {
        return text_response(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large");
    }
    let body = match timeout(limits.read, Limited::new(body, limits.body).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return text_response(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large");
        }
        Ok(Err(_)) => return text_response(StatusCode::BAD_REQUEST, "the request could not be read"),
        Err(_) => return text_response(StatusCode::REQUEST_TIMEOUT, "the request took too long"),
    };
    let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let request = Request { method: head.method, path: head.uri.path().to_owned(), content_type, body };
    // A bug in one handler must not end the server.
    let handled = AssertUnwindSafe(async { handler(request).await }).catch_unwind();
    match timeout(limits.response, handled).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => {
            tracing::error!("a request handler panicked; this is a bug");
            text_response(StatusCode::INTERNAL_SERVER_ERROR, "internal error")
        }
        Err(_) => text_response(StatusCode::SERVICE_UNAVAILABLE, "the answer took too long"),
    }
}

/// Creates a response with a content type.
pub fn response(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Creates a response of one line of plain text.
pub fn text_response(status: StatusCode, text: impl Into<String>) -> Response {
    response(status, "text/plain; charset=utf-8", text.into() + "\n")
}

/// Creates the response to a method that a path does not support; `allowed` is the value of `Allow`.
pub fn method_not_allowed(allowed: &'static str) -> Response {
    let mut response = text_response(StatusCode::METHOD_NOT_ALLOWED, format!("expected {allowed}"));
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

#[cfg(test)]
mod tests;
