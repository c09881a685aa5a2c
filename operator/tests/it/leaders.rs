//! Leader election: one replica reconciles, and another takes over when it is gone, whatever their clocks show.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::harness::cluster::{Namespace, kinds};
use crate::harness::operator::{Operator, Options};
use crate::harness::world::{self, count_events, count_requests, deployment, text, total, uids};
use crate::harness::{ControlPlane, crds, eventually};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

const LONG: Duration = Duration::from_secs(120);
/// The lease duration of these tests. A leader loses its lease when it is not renewed for two thirds of it.
const LEASE_DURATION: Duration = Duration::from_secs(12);
const HOUR: Duration = Duration::from_secs(3600);

struct Scene {
    plane: ControlPlane,
    namespace: Namespace,
    /// The namespace of the operator.
    system: Namespace,
}

async fn scene(name: &str) -> Option<Scene> {
    let plane = ControlPlane::start().await?;
    let client = plane.admin().await;
    crds::install_own(&client).await;
    crds::install_upstream(&client).await;
    let system = Namespace::create(&client, "kubefoundry-system").await;
    let namespace = Namespace::create(&client, name).await;
    Some(Scene { plane, namespace, system })
}

fn options() -> Options {
    Options::default()
        .roles("core,selector,kaito,dynamo,kuberay")
        .flag("--stale-after", "10m")
        .leader_election(&format!("{}s", LEASE_DURATION.as_secs()))
}

impl Scene {
    async fn deploy(&self, numbers: std::ops::Range<usize>) {
        let deployments: Vec<Value> = numbers.map(|number| deployment(&self.namespace.name, number)).collect();
        world::apply_all(&self.namespace, &deployments).await;
    }

    async fn until_settled(&self, operator: &Operator) {
        world::until_settled(&self.namespace, &[], operator, LONG).await;
    }

    /// The holders of all Leases.
    async fn holders(&self) -> BTreeSet<String> {
        let leases = world::list(&self.system, kinds::LEASE, "").await.unwrap_or_default();
        leases.iter().map(|lease| text(lease, "/spec/holderIdentity").to_owned()).collect()
    }

    /// A time in the specification of each Lease, by the name of the Lease.
    async fn times(&self, field: &str) -> BTreeMap<String, Timestamp> {
        let leases = world::list(&self.system, kinds::LEASE, "").await.unwrap();
        let time = |lease: &Value| lease["spec"][field].as_str().unwrap().parse::<Timestamp>().unwrap();
        leases.iter().map(|lease| (text(lease, "/metadata/name").to_owned(), time(lease))).collect()
    }

    /// Waits until there is one event with this reason about each of these deployments.
    async fn until_told_once(&self, numbers: std::ops::Range<usize>, reason: &str) {
        for number in numbers {
            let name = text(&deployment("any", number), "/metadata/name").to_owned();
            // The event follows the write that it is about.
            eventually(LONG, &format!("one event {reason} of {name}"), async || {
                match count_events(&self.namespace, &name, reason).await {
                    1 => Ok(()),
                    other => Err(other.to_string()),
                }
            })
            .await;
        }
    }

    /// Waits until a single replica other than this one holds every Lease, and returns its identity.
    async fn until_led_by_other(&self, not_by: &str) -> String {
        eventually(LONG, "one leader", async || {
            let holders = self.holders().await;
            match holders.iter().next() {
                Some(one) if holders.len() == 1 && !one.is_empty() && one != not_by => Ok(one.clone()),
                _ => Err(format!("{holders:?}")),
            }
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_replica_takes_over() {
    let Some(scene) = scene("replicas").await else { return };
    let mut first = options().start_ready(&scene.plane, "replica-1").await;
    let leader = scene.until_led_by_other("").await;
    let mut second = options().start_ready(&scene.plane, "replica-2").await;
    scene.deploy(0..5).await;
    scene.until_settled(&first).await;
    assert_eq!(scene.until_led_by_other("").await, leader);
    assert_eq!(
        total(&count_requests(&second).await),
        0,
        "a replica that does not lead sends no writes: {:?}",
        count_requests(&second).await
    );

    // After a kill, another replica takes over when the lease has expired, and not earlier.
    first.kill().await;
    let renewed = scene.times("renewTime").await;
    let before = uids(&scene.namespace).await;
    scene.deploy(5..10).await;
    let next = scene.until_led_by_other(&leader).await;
    for (lease, acquired) in scene.times("acquireTime").await {
        // Both are times of this machine. It counts from the moment in which it saw the last renewal.
        let took = acquired.duration_since(renewed[&lease]);
        eprintln!("killed: {lease} taken over {took:?} after its renewal, with a lease of {LEASE_DURATION:?}");
        assert!(Duration::try_from(took).is_ok_and(|took| took >= LEASE_DURATION), "{lease}: {took:?}");
    }
    scene.until_settled(&second).await;
    for (key, uid) in before {
        assert_eq!(uids(&scene.namespace).await.get(&key), Some(&uid), "{key} was recreated");
    }

    // After SIGTERM the leader releases its Leases, so another replica takes over at once.
    let third = options().start_ready(&scene.plane, "replica-3").await;
    assert_eq!(second.terminate().await, Some(0), "{}", second.end_of_log());
    let leases = scene.times("renewTime").await.len();
    let released = second.log().lines().filter(|line| line.contains("released the lease")).count();
    assert_eq!(released, leases, "{}", second.end_of_log());
    scene.until_led_by_other(&next).await;
    scene.deploy(10..15).await;
    scene.until_settled(&third).await;
    for reason in ["ProviderSelected", "ResourceCreated"] {
        scene.until_told_once(0..15, reason).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_leader_does_not_continue() {
    let Some(scene) = scene("asleep").await else { return };
    let first = options().start_ready(&scene.plane, "asleep-1").await;
    let leader = scene.until_led_by_other("").await;
    let second = options().start_ready(&scene.plane, "asleep-2").await;
    scene.deploy(0..5).await;
    scene.until_settled(&first).await;
    let done = count_requests(&first).await;
    first.process().signal("STOP");
    scene.deploy(5..10).await;
    scene.until_led_by_other(&leader).await;
    scene.until_settled(&second).await;
    scene.deploy(10..15).await;
    first.process().signal("CONT");
    scene.until_settled(&second).await;
    // It lost its leases, so it waits for them, and changes nothing in the meantime.
    eventually(LONG, "a process that leads no role", async || match first.metric("kubefoundry_leader", &[]).await {
        leads if leads < 0.5 => Ok(()),
        leads => Err(format!("it leads {leads} roles\n{}", first.end_of_log())),
    })
    .await;
    let before = total(&count_requests(&first).await);
    scene.deploy(15..18).await;
    scene.until_settled(&second).await;
    assert_eq!(total(&count_requests(&first).await), before, "{:?}", count_requests(&first).await);
    eprintln!("before it slept: {done:?}");
    scene.until_told_once(0..18, "ResourceCreated").await;
}

/// A lost lease ends one role, not the process with its other roles and its webhooks.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_lease_ends_one_role_which_then_waits_to_lead_again() {
    let Some(scene) = scene("one-role").await else { return };
    let operator = options().start_ready(&scene.plane, "one-role").await;
    scene.until_led_by_other("").await;
    let leads = async |role: &str| operator.metric("kubefoundry_leader", &[&format!("role=\"{role}\"")]).await;
    scene.deploy(0..5).await;
    scene.until_settled(&operator).await;
    let stolen = "kubefoundry-dynamo";
    let lease = |holder: &str, seconds: i64| {
        let time = format!("{:.6}", Timestamp::now());
        json!({"spec": {"holderIdentity": holder, "leaseDurationSeconds": seconds, "acquireTime": time, "renewTime": time}})
    };
    scene.system.merge(kinds::LEASE, stolen, &lease("a-thief", 100_000_000)).await;
    eventually(LONG, "a role without its lease", async || match leads("dynamo").await {
        value if value < 0.5 => Ok(()),
        value => Err(format!("kubefoundry_leader is {value}\n{}", operator.end_of_log())),
    })
    .await;
    // The series stays at 0 while it waits, and the other roles lead: their leases are renewed for longer than one lasts.
    let start = scene.times("renewTime").await;
    eventually(LONG, "renewals of the other leases", async || {
        let text = operator.metrics().await;
        for end in ["core\"} 1", "dynamo\"} 0", "kaito\"} 1", "kuberay\"} 1", "selector\"} 1"] {
            assert!(text.contains(&format!("kubefoundry_leader{{role=\"{end}")), "no {end} in\n{text}");
        }
        let now = scene.times("renewTime").await;
        let mut others = start.iter().filter(|(lease, _)| *lease != stolen);
        let are_renewed = others.all(|(lease, before)| {
            Duration::try_from(now[lease].duration_since(*before)).is_ok_and(|time| time > LEASE_DURATION)
        });
        if are_renewed { Ok(()) } else { Err(format!("{start:?}, {now:?}")) }
    })
    .await;
    assert!(operator.process().is_running(), "{}", operator.end_of_log());
    scene.system.merge(kinds::LEASE, stolen, &lease("", 1)).await;
    eventually(LONG, "a role that leads again", async || match leads("dynamo").await {
        value if value > 0.5 => Ok(()),
        value => Err(format!("kubefoundry_leader is {value}\n{}", operator.end_of_log())),
    })
    .await;
    scene.deploy(5..10).await;
    scene.until_settled(&operator).await;
}

/// A replica that waits from its start has a series for every role, so that a role without a leader can be seen.
#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_never_led_has_a_series() {
    let Some(scene) = scene("waiting").await else { return };
    let first = options().start_ready(&scene.plane, "waiting-1").await;
    scene.until_led_by_other("").await;
    let second = options().start_ready(&scene.plane, "waiting-2").await;
    for role in ["core", "selector", "kaito", "dynamo", "kuberay"] {
        let line = format!("kubefoundry_leader{{role=\"{role}\"}} 0");
        assert!(second.metrics().await.lines().any(|found| found == line), "no {line} in\n{}", second.metrics().await);
    }
    drop(first);
}

/// Renews all Leases for another holder whose clock is off by some hours.
async fn renew_as_other(scene: &Scene, hours: i64, duration: Duration) {
    for lease in world::list(&scene.system, kinds::LEASE, "").await.unwrap() {
        let time = Timestamp::now() + SignedDuration::from_hours(hours);
        let seconds = i64::try_from(duration.as_secs()).unwrap();
        let spec = json!({"spec": {
            "holderIdentity": "another-process", "leaseDurationSeconds": seconds,
            "acquireTime": format!("{time:.6}"), "renewTime": format!("{time:.6}"),
        }});
        scene.system.merge(kinds::LEASE, text(&lease, "/metadata/name"), &spec).await;
    }
}

async fn check_led_by_another_process(scene: &Scene) -> Result<(), String> {
    let holders = scene.holders().await;
    if holders.len() == 1 && holders.contains("another-process") { Ok(()) } else { Err(format!("{holders:?}")) }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clock_of_the_leader_does_not_matter() {
    let Some(scene) = scene("clock").await else { return };
    let mut operator = options().start_ready(&scene.plane, "clock").await;
    scene.until_led_by_other("").await;
    operator.kill().await;
    for hours in [5, -5] {
        // A leader whose clock is hours off keeps the lease. Its duration is longer than any delay of this machine. The
        // last request of the killed process may still be on its way; it names the version before, and so fails.
        renew_as_other(&scene, hours, HOUR).await;
        operator.restart();
        operator.until_ready().await;
        eventually(LONG, "attempts to take each lease", async || {
            check_led_by_another_process(&scene).await.unwrap();
            let labels = ["verb=\"get\"", "resource=\"leases\""];
            let attempts = operator.metric("kubefoundry_api_requests_total", &labels).await;
            // Three for each of the five roles.
            if attempts >= 15.0 { Ok(()) } else { Err(format!("{attempts} attempts")) }
        })
        .await;
        // Without renewals the lease expires, and not earlier.
        let silent = Instant::now();
        renew_as_other(&scene, hours, LEASE_DURATION).await;
        scene.until_led_by_other("another-process").await;
        eprintln!("a clock {hours} hours off: taken over after {:?}", silent.elapsed());
        assert!(silent.elapsed() >= LEASE_DURATION, "{:?}", silent.elapsed());
        scene.deploy(0..5).await;
        scene.until_settled(&operator).await;
        operator.kill().await;
    }
}
