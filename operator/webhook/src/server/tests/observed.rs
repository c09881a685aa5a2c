//! What the metrics count of requests.

use kubefoundry_controller_runtime::server::{Server, Transport};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;

#[test]
fn every_request_is_counted_with_its_verdict() {
    let cluster = Arc::new(FakeCluster::default());
    admit_in(&cluster, "/validate", &request(phi(valid_spec()), Value::Null));
    admit_in(&cluster, "/validate", &request(phi(invalid_spec()), Value::Null));
    admit_in(&cluster, "/mutate", &request(phi(valid_spec()), Value::Null));
    post(Arc::clone(&cluster), "/validate", "{");
    post(Arc::clone(&cluster), "/convert", "{");
    // Not a request to a webhook.
    post(Arc::clone(&cluster), "/", "{}");
    let verdicts = cluster.verdicts.lock().unwrap();
    let expected = [
        ("validate", "allowed"),
        ("validate", "refused"),
        ("mutate", "allowed"),
        ("validate", "error"),
        ("convert", "error"),
    ];
    assert_eq!(*verdicts, expected);
}

/// Formats a request whose answer waits for an apiserver that does not answer.
fn unanswered() -> Vec<u8> {
    let mut request = request(phi(valid_spec()), Value::Null);
    request["namespace"] = json!("silent");
    let body = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).to_string();
    let head = "POST /validate HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json";
    format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Serves a cluster on a free port, sends an unanswered request there, and lets the client act on the connection.
/// Returns the verdicts.
fn verdicts_of(
    response: Duration,
    client: impl AsyncFnOnce(TcpStream, &FakeCluster),
) -> Vec<(&'static str, &'static str)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let cluster = Arc::new(FakeCluster::default());
        let local = "127.0.0.1:0".parse().unwrap();
        let mut server = Server::bind(local, Transport::Plain, handler(Arc::clone(&cluster))).await.unwrap();
        server.limits.response = response;
        let address = server.address().unwrap();
        let (_stop, stopped) = tokio::sync::watch::channel(false);
        let serving = tokio::spawn(server.run(stopped));
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&unanswered()).await.unwrap();
        client(stream, &cluster).await;
        let counted = async {
            while cluster.verdicts.lock().unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        // A request that is never counted fails the assertion of the caller.
        let _ = tokio::time::timeout(Duration::from_secs(60), counted).await;
        serving.abort();
        cluster.verdicts.lock().unwrap().clone()
    })
}

#[test]
fn a_request_that_ends_at_the_limit_of_the_server_is_counted() {
    let verdicts = verdicts_of(Duration::from_millis(100), async |mut stream: TcpStream, _: &FakeCluster| {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    });
    assert_eq!(verdicts, [("validate", "error")]);
}

#[test]
fn a_request_that_the_client_gives_up_is_counted() {
    let verdicts = verdicts_of(Duration::from_secs(600), async |stream: TcpStream, cluster: &FakeCluster| {
        // The server has read the request by then.
        cluster.silence.notified().await;
        drop(stream);
    });
    assert_eq!(verdicts, [("validate", "error")]);
}
