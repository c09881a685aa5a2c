use std::io::ErrorKind;

use proptest::prelude::*;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;

const NAME: &str = "hooks.system.svc";
/// Ends a wait for what never happens.
const HANG: Duration = Duration::from_secs(60);

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A configuration with a certificate for [`NAME`], and the certificate as PEM.
fn self_signed() -> (Arc<ServerConfig>, String) {
    let issued = rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
    let key = PrivateKeyDer::from_pem_slice(issued.signing_key.serialize_pem().as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let server = server.with_no_client_auth().with_single_cert(vec![issued.cert.der().clone()], key).unwrap();
    (Arc::new(server), issued.cert.pem())
}

/// Answers with the method and the length of the body. `/panic` panics, and `/never` gets no answer.
fn echo() -> Handler {
    Arc::new(|request| {
        async move {
            match request.path.as_str() {
                "/panic" => panic!("on purpose"),
                "/never" => std::future::pending().await,
                _ => {}
            }
            text_response(StatusCode::OK, format!("{} {}", request.method, request.body.len()))
        }
        .boxed()
    })
}

/// Starts a server on a free port. Returns its address, the shutdown channel and the task.
async fn start(
    transport: Transport,
    handler: Handler,
    limits: Limits,
) -> (SocketAddr, watch::Sender<bool>, tokio::task::JoinHandle<()>) {
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut server = Server::bind(address, transport, handler).await.unwrap();
    server.limits = limits;
    let address = server.address().unwrap();
    let (stop, stopped) = watch::channel(false);
    (address, stop, tokio::spawn(server.run(stopped)))
}

/// Sends bytes and returns the whole answer.
async fn send(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may close the connection before it has read everything.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = timeout(HANG, stream.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Sends bytes, closes the sending side, and waits until the server closes the connection.
async fn send_and_close(address: SocketAddr, bytes: &[u8]) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    let _ = timeout(HANG, stream.read_to_end(&mut Vec::new())).await.unwrap();
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").into_bytes()
}

#[test]
fn every_request_gets_one_answer() {
    runtime().block_on(async {
        let limits = Limits { body: 10, read: HANG, response: HANG, ..Limits::default() };
        let (address, _stop, _) = start(Transport::Plain, echo(), limits).await;
        let post = |length: usize, body: &str| {
            format!("POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
                .into_bytes()
        };
        let chunked = b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\nb\r\n12345678901\r\n0\r\n\r\n";
        // Only what never ends reaches a limit of a millisecond.
        let soon = Duration::from_millis(1);
        let (reading, _stop, _) = start(Transport::Plain, echo(), Limits { read: soon, ..limits }).await;
        let (answering, _stop, _) = start(Transport::Plain, echo(), Limits { response: soon, ..limits }).await;
        let cases: [(SocketAddr, Vec<u8>, &str, &str); 8] = [
            (address, get("/"), "200 OK", "GET 0\n"),
            (address, post(5, "12345"), "200 OK", "POST 5\n"),
            (address, post(11, "12345678901"), "413 Payload Too Large", "too large\n"),
            (address, chunked.to_vec(), "413 Payload Too Large", "too large\n"),
            (reading, post(5, "123"), "408 Request Timeout", "took too long\n"),
            (address, get("/panic"), "500 Internal Server Error", "internal error\n"),
            (answering, get("/never"), "503 Service Unavailable", "took too long\n"),
            (address, b"nonsense\r\n\r\n".to_vec(), "400 Bad Request", ""),
        ];
        for (address, request, status, end) in cases {
            let answer = send(address, &request).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{answer}");
            assert!(answer.ends_with(end), "{answer}");
        }
    });
}

#[test]
fn a_silent_client_is_disconnected() {
    runtime().block_on(async {
        let limits = Limits { head: Duration::from_millis(100), ..Limits::default() };
        let (address, _stop, _) = start(Transport::Plain, echo(), limits).await;
        let mut silent = TcpStream::connect(address).await.unwrap();
        let read = timeout(HANG, silent.read(&mut [0; 16])).await.unwrap();
        // A reset of the connection is a disconnection, too.
        assert_eq!(read.unwrap_or(0), 0);
    });
}

/// Answers with the path, and `/late` only after a notification. Returns what is notified when such a request has
/// arrived, and what lets it be answered.
fn late() -> (Handler, Arc<Notify>, Arc<Notify>) {
    let (arrived, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, wait) = (Arc::clone(&arrived), Arc::clone(&release));
    let handler: Handler = Arc::new(move |request| {
        let (tell, wait) = (Arc::clone(&tell), Arc::clone(&wait));
        async move {
            if request.path == "/late" {
                tell.notify_one();
                wait.notified().await;
            }
            text_response(StatusCode::OK, request.path)
        }
        .boxed()
    });
    (handler, arrived, release)
}

/// Reads an answer that ends with this text from a connection that stays open.
async fn read_until(stream: &mut TcpStream, end: &str) {
    let mut answer = Vec::new();
    while !answer.ends_with(end.as_bytes()) {
        let mut part = [0; 512];
        let read = timeout(HANG, stream.read(&mut part)).await.unwrap().unwrap();
        assert!(read > 0, "the server closed the connection");
        answer.extend(&part[..read]);
    }
}

#[test]
fn a_full_server_closes_the_connection_that_waited_longest_for_its_client() {
    runtime().block_on(async {
        let limits = Limits { connections: 3, response: HANG, ..Limits::default() };
        let (handler, arrived, release) = late();
        let (address, _stop, _) = start(Transport::Plain, handler, limits).await;
        let is_closed =
            async |stream: &mut TcpStream| matches!(timeout(HANG, stream.read(&mut [0; 1])).await, Ok(Ok(0) | Err(_)));
        let mut busy = TcpStream::connect(address).await.unwrap();
        busy.write_all(b"GET /late HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        arrived.notified().await;
        // The system hands connections over in the order in which they came.
        let mut oldest = TcpStream::connect(address).await.unwrap();
        let mut younger = TcpStream::connect(address).await.unwrap();
        // A head that does not end.
        younger.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
        let answer = send(address, &get("/")).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(is_closed(&mut oldest).await);
        // The younger one is open: its head ends now.
        younger.write_all(b"host: x\r\n\r\n").await.unwrap();
        read_until(&mut younger, "/\n").await;
        // Idle clients do not keep others out.
        let mut idle = Vec::new();
        for _ in 0..20 {
            idle.push(TcpStream::connect(address).await.unwrap());
            let answer = send(address, &get("/")).await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        assert!(is_closed(&mut younger).await);
        // The busy one is open: its answer comes now.
        release.notify_one();
        read_until(&mut busy, "/late\n").await;
    });
}

#[test]
fn running_requests_finish_when_the_server_stops() {
    runtime().block_on(async {
        let (handler, arrived, release) = late();
        let (address, stop, server) =
            start(Transport::Plain, handler, Limits { drain: HANG, ..Limits::default() }).await;
        let idle = TcpStream::connect(address).await.unwrap();
        let slow = tokio::spawn(async move { send(address, &get("/late")).await });
        arrived.notified().await;
        stop.send(true).unwrap();
        // It takes no more connections, and then the request is answered. One that was in its queue is reset.
        let until_refused = async {
            while TcpStream::connect(address).await.err().map(|error| error.kind())
                != Some(ErrorKind::ConnectionRefused)
            {
                tokio::task::yield_now().await;
            }
        };
        timeout(HANG, until_refused).await.unwrap();
        release.notify_one();
        timeout(HANG, server).await.unwrap().unwrap();
        assert!(slow.await.unwrap().ends_with("late\n"));
        drop(idle);
    });
}

/// Connects with TLS, trusting only the certificates of this bundle.
async fn connect(address: SocketAddr, bundle: &str) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let client = client.with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(address).await.unwrap();
    TlsConnector::from(Arc::new(client)).connect(ServerName::try_from(NAME).unwrap(), stream).await
}

async fn ask(stream: &mut TlsStream<TcpStream>) -> String {
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"GET 0\n") {
        let mut part = [0; 512];
        let read = stream.read(&mut part).await.unwrap();
        assert!(read > 0, "the server closed the connection");
        answer.extend(&part[..read]);
    }
    String::from_utf8(answer).unwrap()
}

#[test]
fn a_certificate_is_replaced_without_a_restart() {
    runtime().block_on(async {
        let [old, new] = [(); 2].map(|()| self_signed());
        let (configuration, current) = watch::channel(None);
        let (address, _stop, _) = start(Transport::Tls(current), echo(), Limits::default()).await;
        // Without a configuration the server closes connections.
        assert!(connect(address, &old.1).await.is_err());
        configuration.send_replace(Some(old.0));
        let mut open = connect(address, &old.1).await.unwrap();
        assert!(ask(&mut open).await.starts_with("HTTP/1.1 200"));
        assert!(connect(address, &new.1).await.is_err());
        configuration.send_replace(Some(new.0));
        let mut fresh = connect(address, &new.1).await.unwrap();
        assert!(ask(&mut fresh).await.starts_with("HTTP/1.1 200"));
        assert!(connect(address, &old.1).await.is_err());
        // An open connection keeps its certificate.
        assert!(ask(&mut open).await.starts_with("HTTP/1.1 200"));
        // A connection without TLS is closed.
        assert!(!send(address, &get("/")).await.contains("HTTP/"));
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn survives_arbitrary_bytes(requests in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..4), is_tls: bool) {
        runtime().block_on(async {
            let (configuration, authority) = self_signed();
            let (sender, current) = watch::channel(Some(configuration));
            let transport = if is_tls { Transport::Tls(current) } else { Transport::Plain };
            let (address, stop, server) = start(transport, echo(), Limits::default()).await;
            for request in &requests {
                send_and_close(address, request).await;
            }
            if is_tls {
                assert!(ask(&mut connect(address, &authority).await.unwrap()).await.starts_with("HTTP/1.1 200"));
            } else {
                assert!(send(address, &get("/")).await.starts_with("HTTP/1.1 200"));
            }
            stop.send(true).unwrap();
            server.await.unwrap();
            drop(sender);
        });
    }
}
