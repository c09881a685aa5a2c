//! Leader election: one replica reconciles, and another takes over when it is gone, whatever their clocks show.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::harness::cluster::{Namespace, kinds};
use crate::harness::operator::{Operator, Options};
use crate::harness::world::{self, count_events, count_requests, deployment, text, total, uids};
use crate::harness::{ControlPlane, crds, eventually, stays};
use serde_json::{Value, json};

const LONG: Duration = Duration::from_secs(60);
/// The lease duration of these tests.
const LEASE_DURATION: Duration = Duration::from_secs(6);
/// Additional time for a busy machine.
const SLACK: Duration = Duration::from_secs(6);

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
    let killed = Instant::now();
    first.kill().await;
    let before = uids(&scene.namespace).await;
    scene.deploy(5..10).await;
    let next = scene.until_led_by_other(&leader).await;
    let took = killed.elapsed();
    eprintln!("killed: taken over after {took:?} with a lease of {LEASE_DURATION:?}");
    // The last renewal was up to a third of the duration before the kill.
    assert!(took + Duration::from_millis(200) > LEASE_DURATION * 2 / 3, "{took:?}");
    assert!(took < LEASE_DURATION + LEASE_DURATION / 3 + SLACK, "{took:?}");
    scene.until_settled(&second).await;
    for (key, uid) in before {
        assert_eq!(uids(&scene.namespace).await.get(&key), Some(&uid), "{key} was recreated");
    }

    // After SIGTERM the leader releases its Leases, so another replica takes over at once.
    let third = options().start_ready(&scene.plane, "replica-3").await;
    let asked = Instant::now();
    assert_eq!(second.terminate().await, Some(0), "{}", second.end_of_log());
    scene.until_led_by_other(&next).await;
    let took = asked.elapsed();
    eprintln!("asked to end: taken over after {took:?}");
    assert!(took < LEASE_DURATION * 2 / 3, "{took:?}");
    scene.deploy(10..15).await;
    scene.until_settled(&third).await;
    for number in 0..15 {
        let name = text(&deployment("any", number), "/metadata/name").to_owned();
        for reason in ["ProviderSelected", "ResourceCreated"] {
            assert_eq!(count_events(&scene.namespace, &name, reason).await, 1, "{reason} of {name}");
        }
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
    eventually(LEASE_DURATION + SLACK, "a process that leads no role", async || {
        match first.metric("kubefoundry_leader", &[]).await {
            leads if leads < 0.5 => Ok(()),
            leads => Err(format!("it leads {leads} roles\n{}", first.end_of_log())),
        }
    })
    .await;
    let before = total(&count_requests(&first).await);
    scene.deploy(15..18).await;
    scene.until_settled(&second).await;
    assert_eq!(total(&count_requests(&first).await), before, "{:?}", count_requests(&first).await);
    eprintln!("before it slept: {done:?}");
    for number in 0..18 {
        let name = text(&deployment("any", number), "/metadata/name").to_owned();
        assert_eq!(count_events(&scene.namespace, &name, "ResourceCreated").await, 1, "{name}");
    }
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
        let time = format!("{:.6}", k8s_openapi::jiff::Timestamp::now());
        json!({"spec": {"holderIdentity": holder, "leaseDurationSeconds": seconds, "acquireTime": time, "renewTime": time}})
    };
    scene.system.merge(kinds::LEASE, stolen, &lease("a-thief", 100_000_000)).await;
    eventually(LEASE_DURATION + SLACK, "a role without its lease", async || match leads("dynamo").await {
        value if value < 0.5 => Ok(()),
        value => Err(format!("kubefoundry_leader is {value}\n{}", operator.end_of_log())),
    })
    .await;
    // The series stays at 0 while it waits, and the other roles lead.
    stays(LEASE_DURATION * 2, "led in part", async || {
        let text = operator.metrics().await;
        let expected = ["core\"} 1", "dynamo\"} 0", "kaito\"} 1", "kuberay\"} 1", "selector\"} 1"];
        match expected.iter().find(|end| !text.contains(&format!("kubefoundry_leader{{role=\"{end}"))) {
            None => Ok(()),
            Some(end) => Err(format!("no {end} in\n{text}")),
        }
    })
    .await;
    assert!(operator.process().is_running(), "{}", operator.end_of_log());
    scene.system.merge(kinds::LEASE, stolen, &lease("", 1)).await;
    eventually(LEASE_DURATION + SLACK, "a role that leads again", async || match leads("dynamo").await {
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
async fn renew_as_other(scene: &Scene, hours: i64, round: u64) {
    for lease in world::list(&scene.system, kinds::LEASE, "").await.unwrap() {
        let now = k8s_openapi::jiff::Timestamp::now();
        let time = now + k8s_openapi::jiff::SignedDuration::from_hours(hours) + Duration::from_micros(round);
        let seconds = i64::try_from(LEASE_DURATION.as_secs()).unwrap();
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
    for (round, hours) in [(0, 5), (100, -5)] {
        // The last request of the killed process may still be on its way, and would write its own name again.
        eventually(Duration::from_secs(20), "led by another process", async || {
            renew_as_other(&scene, hours, round).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            check_led_by_another_process(&scene).await
        })
        .await;
        // A leader whose clock is hours off keeps the lease as long as it renews.
        renew_as_other(&scene, hours, round).await;
        operator.restart();
        let mut renewals = round;
        stays(LEASE_DURATION * 2, "led by another process", async || {
            renewals += 1;
            if renewals % 10 == 0 {
                renew_as_other(&scene, hours, renewals).await;
            }
            check_led_by_another_process(&scene).await
        })
        .await;
        // Without renewals the lease expires.
        let silent = Instant::now();
        scene.until_led_by_other("another-process").await;
        eprintln!("a clock {hours} hours off: taken over after {:?}", silent.elapsed());
        assert!(silent.elapsed() < LEASE_DURATION + LEASE_DURATION / 3 + SLACK, "{:?}", silent.elapsed());
        scene.deploy(0..5).await;
        scene.until_settled(&operator).await;
        operator.kill().await;
    }
}
