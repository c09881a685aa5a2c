//! Connections that carry nothing: idle clients of the operator's ports, and an apiserver that does not answer.

use std::time::Duration;

use crate::harness::cluster::Namespace;
use crate::harness::cluster::kinds::{LEASE, PROVIDER_CONFIG, VALIDATING};
use crate::harness::operator::{Operator, Options};
use crate::harness::proxy::Proxy;
use crate::harness::world::{deployment, text};
use crate::harness::{ControlPlane, crds, eventually, free_port, webhooks};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
use tokio::net::TcpStream;

const LONG: Duration = Duration::from_secs(90);
/// The duration of the lease that expires.
const LEASE_SECONDS: i64 = 6;

/// Starts a control plane with the CRDs, and creates the operator's namespace and one for models.
async fn start() -> Option<(ControlPlane, Namespace, Namespace)> {
    let plane = ControlPlane::start().await?;
    let client = plane.admin().await;
    crds::install_own(&client).await;
    crds::install_upstream(&client).await;
    let system = Namespace::create(&client, "kubefoundry-system").await;
    let models = Namespace::create(&client, "models").await;
    Some((plane, system, models))
}

/// Opens as many connections as one client may, and sends nothing.
async fn open_idle(address: &str) -> Vec<TcpStream> {
    let mut idle = Vec::new();
    for _ in 0..600 {
        // A full server that accepts nothing more leaves the connection in the backlog of the system.
        if let Ok(Ok(stream)) = tokio::time::timeout(Duration::from_secs(2), TcpStream::connect(address)).await {
            idle.push(stream);
        }
    }
    idle
}

/// Asks `/healthz` and `/metrics`, as the kubelet and Prometheus do. That the answer does not wait until idle
/// connections time out is tested where their limits can be set (operator/runtime/src/server/tests.rs).
async fn assert_answers(operator: &Operator, address: &str, path: &str) {
    let answer = operator.get(address, path).await;
    assert!(matches!(answer, Ok((200, _))), "{path} with idle connections: {answer:?}\n{}", operator.end_of_log());
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_do_not_stop_the_service() {
    let Some((plane, _system, models)) = start().await else { return };
    let address = format!("127.0.0.1:{}", free_port());
    let options = Options::default().flag("--webhook-address", &address);
    let operator = options.flag("--webhook-url", &format!("https://{address}")).start_ready(&plane, "idle").await;
    for (port, path) in [(operator.health_address(), "/healthz"), (operator.metrics_address(), "/metrics")] {
        let mut idle = open_idle(port).await;
        assert_answers(&operator, port, path).await;
        // Renewed, as by a client that means it.
        idle.extend(open_idle(port).await);
        assert_answers(&operator, port, path).await;
        drop(idle);
    }

    let idle = open_idle(&address).await;
    models.apply(VALIDATING, &webhooks::validating(&address, "Fail", 3)).await.unwrap();
    eventually(LONG, "admission while 600 connections are idle", async || {
        let stored = models.apply(crate::harness::cluster::kinds::DEPLOYMENT, &deployment("models", 0)).await;
        stored.map(drop).map_err(|error| error.to_string())
    })
    .await;
    drop(idle);
}

/// Returns the heartbeat of a provider.
async fn heartbeat(models: &Namespace, provider: &str) -> String {
    let config = models.find(PROVIDER_CONFIG, provider).await.unwrap_or_default();
    text(&config, "/status/lastHeartbeat").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn heartbeats_resume_when_connections_are_dead_without_an_error() {
    let Some((plane, _system, models)) = start().await else { return };
    let proxy = Proxy::start(plane.port());
    let options = Options::default().roles("core,selector,kaito,dynamo,kuberay");
    let operator = options.kubeconfig(&proxy.kubeconfig(plane.kubeconfig())).start_ready(&plane, "black-hole").await;
    eventually(LONG, "a heartbeat", async || match heartbeat(&models, "dynamo").await {
        time if time.is_empty() => Err("none".to_owned()),
        time => Ok(time),
    })
    .await;
    proxy.black_hole();
    // The first one may have been on its way.
    for number in ["first", "second"] {
        for provider in ["kaito", "dynamo", "kuberay"] {
            let last = heartbeat(&models, provider).await;
            eventually(LONG, &format!("the {number} heartbeat of {provider}"), async || {
                let now = heartbeat(&models, provider).await;
                if now == last { Err(format!("{last}\n{}", operator.end_of_log())) } else { Ok(()) }
            })
            .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unopposed_lease_is_renewed_after_the_apiserver_stalled() {
    let Some((plane, system, _models)) = start().await else { return };
    let options = Options::default().roles("selector").flag("--lease-duration", &format!("{LEASE_SECONDS}s"));
    let operator = options.start_ready(&plane, "stall").await;
    let renewed = async || {
        let lease: Value = system.find(LEASE, "kubefoundry-provider-selector").await.unwrap_or_default();
        text(&lease, "/spec/renewTime").to_owned()
    };
    eventually(LONG, "a lease", async || match renewed().await {
        time if time.is_empty() => Err("none".to_owned()),
        _ => Ok(()),
    })
    .await;
    plane.signal("STOP");
    // It was not renewed after this.
    let stopped = Timestamp::now();
    eventually(LONG, "an expired lease, and a failure to renew it", async || {
        let age = Timestamp::now().duration_since(stopped);
        let has_failed = operator.log().contains("renewing the lease failed");
        if age.as_secs() > LEASE_SECONDS && has_failed { Ok(()) } else { Err(operator.end_of_log()) }
    })
    .await;
    plane.signal("CONT");
    let before = eventually(LONG, "an apiserver that answers", async || Ok::<_, String>(renewed().await)).await;
    for round in ["first", "second"] {
        let last = renewed().await;
        eventually(LONG, &format!("the {round} renewal after {before}"), async || {
            let now = renewed().await;
            if now == last { Err(format!("{now}\n{}", operator.end_of_log())) } else { Ok(()) }
        })
        .await;
    }
}
