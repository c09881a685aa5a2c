//! Measures the operator with many deployments. Run it by hand; `.ci/operator` runs it with few:
//!
//! ```sh
//! export KUBEFOUNDRY_CONTROLPLANE=$(bash .ci/controlplane)
//! SCALE=10000 cargo test --release -p kubefoundry-operator --test it scale:: -- --nocapture
//! ```
//! `SCALE` deployments (500) exist when the operator starts. Then `SCALE_RATE` of them change per minute (1000) for
//! `SCALE_SECONDS` (60). Then everything is reconciled without a change, by a resync `SCALE_RESYNC` (`60s`) after the
//! start. `.ci/scale` runs it with the released program (`KUBEFOUNDRY_OPERATOR`), whose CPU time and memory have limits, too.
#![allow(clippy::cast_precision_loss, reason = "measurements are printed with two digits")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{env, fs};

use crate::harness::cluster::{Namespace, condition, kinds};
use crate::harness::operator::{Operator, Options};
use crate::harness::world::{self, count_requests, deployment, text, total};
use crate::harness::{ControlPlane, crds, eventually};
use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};

const NAMESPACES: usize = 10;
/// Maximum share of the API server's CPU time that the released operator takes for 500 deployments and for its start.
const MAX_CPU_SHARE: f64 = 0.2;
/// Maximum memory of the released operator with 500 deployments, in MB.
const MAX_MEGABYTES: f64 = 75.0;
const RECONCILIATIONS: &str = "kubefoundry_reconciliation_duration_seconds_count";

fn setting(name: &str, default: usize) -> usize {
    env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// The observed progress of a deployment.
#[derive(Clone, Default)]
struct Progress {
    generation: i64,
    /// The values of `observedGeneration`, and when each was seen first.
    observed: Vec<(i64, Instant)>,
    is_created: bool,
}

impl Progress {
    fn is_done(&self) -> bool {
        self.is_created && self.observed.last().is_some_and(|last| last.0 == self.generation)
    }
}

/// The progress of all deployments, by namespace and name.
type ProgressMap = Arc<Mutex<BTreeMap<(String, String), Progress>>>;

fn watch(client: &Client) -> ProgressMap {
    let watched = ProgressMap::default();
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &kinds::DEPLOYMENT.resource());
    let shared = Arc::clone(&watched);
    tokio::spawn(async move {
        let config = watcher::Config::default().page_size(500);
        let mut events = watcher(api, config).default_backoff().applied_objects().boxed();
        while let Some(event) = events.next().await {
            let Ok(object) = event else { continue };
            let key = (object.metadata.namespace.clone().unwrap(), object.metadata.name.clone().unwrap());
            let mut watched = shared.lock().unwrap();
            let seen = watched.entry(key).or_default();
            seen.generation = object.metadata.generation.unwrap();
            seen.is_created = condition(&object.data, "ResourceCreated").is_some_and(|it| it["status"] == "True");
            if let Some(observed) = object.data["status"]["observedGeneration"].as_i64()
                && seen.observed.last().is_none_or(|last| last.0 < observed)
            {
                seen.observed.push((observed, Instant::now()));
            }
        }
    });
    watched
}

/// The resources that the operator and the control plane have used so far.
struct Reading {
    at: Instant,
    operator: f64,
    plane: f64,
    requests: BTreeMap<String, u64>,
    events: f64,
    reconciliations: f64,
    evaluations: f64,
}

impl Reading {
    /// The reading of an operator that starts now. `plane` is the CPU time of the control plane.
    fn start(at: Instant, plane: f64) -> Self {
        Self {
            at,
            operator: 0.0,
            plane,
            requests: BTreeMap::new(),
            events: 0.0,
            reconciliations: 0.0,
            evaluations: 0.0,
        }
    }

    async fn now(operator: &Operator, plane: &ControlPlane) -> Self {
        Self {
            at: Instant::now(),
            operator: cpu_seconds(operator.process().pid()),
            plane: cpu_seconds(plane.pid().unwrap()),
            requests: count_requests(operator).await,
            events: operator.metric("kubefoundry_api_requests_total", &[r#"resource="events""#]).await,
            reconciliations: operator.metric(RECONCILIATIONS, &[]).await,
            evaluations: operator.metric("kubefoundry_evaluations_total", &[]).await,
        }
    }
}

/// The CPU time of a process in seconds.
fn cpu_seconds(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The fields after the name, which may contain spaces. Times are in ticks of 10 ms.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Resident and peak memory in MB of a process.
fn memory(pid: u32) -> (f64, f64) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let field = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    };
    (megabytes(field("VmRSS:")), megabytes(field("VmHWM:")))
}

/// Prints a row of the table and the requests since `from`, and returns the current reading.
async fn print_row(what: &str, each: usize, from: &Reading, operator: &Operator, plane: &ControlPlane) -> Reading {
    let now = Reading::now(operator, plane).await;
    let sent = total(&now.requests) - total(&from.requests);
    let (resident, peak) = memory(operator.process().pid());
    println!(
        "| {what} | {:.0} s | {sent} | {:.2} | {:.2} | {resident:.0} MB ({peak:.0} MB) | {:.1} s | {:.0} MB | {:.1} s |",
        (now.at - from.at).as_secs_f64(),
        sent as f64 / each as f64,
        (now.events - from.events) / each as f64,
        now.operator - from.operator,
        memory(plane.pid().unwrap()).0,
        now.plane - from.plane,
    );
    for (request, count) in &now.requests {
        let count = count - from.requests.get(request).unwrap_or(&0);
        if count > 0 {
            println!("<!-- {request}: {count} -->");
        }
    }
    println!(
        "<!-- an object: {:.2} reconciliations, {:.2} evaluations -->",
        (now.reconciliations - from.reconciliations) / each as f64,
        (now.evaluations - from.evaluations) / each as f64
    );
    now
}

/// The number of reconciliations of core, which handles every deployment.
async fn reconciliations(operator: &Operator) -> f64 {
    operator.metric(RECONCILIATIONS, &[r#"provider="core""#]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_deployments() {
    let Some(plane) = ControlPlane::start().await else { return };
    let count = setting("SCALE", 500);
    let rate = setting("SCALE_RATE", 1000);
    let seconds = setting("SCALE_SECONDS", 60);
    let resync = env::var("SCALE_RESYNC").unwrap_or_else(|_| "60s".to_owned());
    let limit = Duration::from_secs(120 + count as u64 / 10);
    let client = plane.admin().await;
    crds::install_own(&client).await;
    crds::install_upstream(&client).await;
    Namespace::create(&client, "kubefoundry-system").await;
    let mut namespaces = Vec::new();
    for number in 0..NAMESPACES {
        namespaces.push(Namespace::create(&client, &format!("scale-{number}")).await);
    }
    let started = Instant::now();
    for (number, namespace) in namespaces.iter().enumerate() {
        let ours = (0..count).filter(|it| it % NAMESPACES == number);
        // Each namespace has all five variants.
        let ours: Vec<Value> = ours.map(|it| deployment(&namespace.name, it / NAMESPACES)).collect();
        world::apply_all(namespace, &ours).await;
    }
    println!("{count} deployments are there after {:.0} s", started.elapsed().as_secs_f64());
    println!(
        "control plane: {:.0} MB, {:.1} s of CPU time\n",
        memory(plane.pid().unwrap()).0,
        cpu_seconds(plane.pid().unwrap())
    );
    let watched = watch(&client);
    eventually(limit, "all seen", async || match watched.lock().unwrap().len() {
        all if all == count => Ok(()),
        some => Err(some.to_string()),
    })
    .await;

    println!(
        "| | wall time | requests | an object | events an object | memory (most) | CPU | control plane | its CPU |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let options = Options::default()
        .leader_election("15s")
        .flag("--heartbeat-interval", "30s")
        .flag("--heartbeat-timeout", "2m")
        .flag("--stale-after", "60m")
        .flag("--resync", &resync)
        .flag("--log", "warn");
    let started = Instant::now();
    let (before, plane_before) = (Instant::now(), cpu_seconds(plane.pid().unwrap()));
    let mut operator = options.start_ready(&plane, "scale").await;
    let cold = Reading::start(before, plane_before);
    eventually(limit, "all converged", async || {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let watched = watched.lock().unwrap();
        let done = watched.values().filter(|seen| seen.is_done()).count();
        if done == count { Ok(()) } else { Err(format!("{done} of {count}")) }
    })
    .await;
    let cold = print_row("cold start", count, &cold, &operator, &plane).await;
    let per_create = total(&cold.requests) as f64 / count as f64;

    // Only the variants that are updated in place.
    let updated: Vec<usize> = (0..count).filter(|it| matches!(it / NAMESPACES % 5, 1 | 2 | 4)).collect();
    let updates = rate * seconds / 60;
    let mut ticks = tokio::time::interval(Duration::from_secs_f64(60.0 / rate as f64));
    let mut asked = Vec::new();
    for update in 0..updates {
        ticks.tick().await;
        let number = updated[update % updated.len()];
        let namespace = namespaces[number % NAMESPACES].clone();
        let name = text(&deployment("any", number / NAMESPACES), "/metadata/name").to_owned();
        // The number of replicas alternates with each round.
        let replicas = 3 + update / updated.len() % 2;
        asked.push(tokio::spawn(async move {
            let at = Instant::now();
            let changed =
                namespace.merge(kinds::DEPLOYMENT, &name, &json!({"spec": {"scaling": {"replicas": replicas}}})).await;
            ((namespace.name, name), changed["metadata"]["generation"].as_i64().unwrap(), at)
        }));
    }
    let mut lags: Vec<Duration> = Vec::new();
    for update in asked {
        let (key, generation, at) = update.await.unwrap();
        let lag = eventually(limit, "an update observed", async || {
            let watched = watched.lock().unwrap();
            let observed = watched[&key].observed.iter().find(|observed| observed.0 >= generation);
            observed.map(|observed| observed.1.saturating_duration_since(at)).ok_or_else(|| format!("{key:?}"))
        })
        .await;
        lags.push(lag);
    }
    lags.sort();
    let warm = print_row(&format!("{updates} updates, {rate} a minute"), updates, &cold, &operator, &plane).await;
    let at = |hundredth: usize| lags[(lags.len() - 1) * hundredth / 100].as_secs_f64() * 1000.0;
    println!("<!-- lag of an update: median {:.0} ms, 99 of 100 {:.0} ms, most {:.0} ms -->", at(50), at(99), at(100));

    // The resync reconciles everything with every controller.
    let looked = reconciliations(&operator).await;
    eventually(Duration::from_secs(900), "a resync", async || {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = reconciliations(&operator).await;
        if now >= looked + count as f64 { Ok(()) } else { Err(format!("{looked}, {now}")) }
    })
    .await;
    let quiet = print_row("resync without a change", count, &warm, &operator, &plane).await;
    let (_, highest_memory) = memory(operator.process().pid());
    let per_resync = (total(&quiet.requests) - total(&warm.requests)) as f64 / count as f64;

    // A restart without pending changes.
    operator.kill().await;
    let before = cpu_seconds(plane.pid().unwrap());
    let again = Instant::now();
    operator.restart();
    operator.until_ready().await;
    eventually(limit, "everything looked at after the start", async || {
        let now = reconciliations(&operator).await;
        if now >= count as f64 { Ok(()) } else { Err(format!("{now} of {count}")) }
    })
    .await;
    let from = Reading::start(again, before);
    let restart = print_row("started again without a change", count, &from, &operator, &plane).await;
    let per_restart = total(&restart.requests) as f64 / count as f64;
    println!("\nall of it took {:.0} s", started.elapsed().as_secs_f64());

    let hold = |what: &str, value: f64, max: f64| {
        println!("{what}: {value:.3}, at most {max}");
        assert!(value <= max, "{what}: {value}, more than {max}");
    };
    // A build for tests competes with other tests, so deployments are decided before all providers are there.
    let is_released = env::var_os("KUBEFOUNDRY_OPERATOR").is_some();
    let limit = |released, debug| if is_released { released } else { debug };
    hold("requests on a create", per_create, limit(7.0, 10.0));
    hold("requests on a resync without a change", per_resync, limit(0.1, 1.0));
    hold("requests on a start without a change", per_restart, limit(0.1, 1.0));
    if is_released {
        hold("evaluations on a create", cold.evaluations / count as f64, 1.5);
        // The CPU time of the API server, which does the same work on the same cores, tells how fast these are.
        hold("CPU time of a create, of the API server's", cold.operator / (cold.plane - plane_before), MAX_CPU_SHARE);
        hold("memory in MB", highest_memory, MAX_MEGABYTES);
    }
}
