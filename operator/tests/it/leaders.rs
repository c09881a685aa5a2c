//! Replicas: one of them works, and another takes over when it is gone, whatever their clocks say.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::harness::cluster::{Namespace, kinds};
use crate::harness::operator::{Operator, Options};
use crate::harness::world::{self, deployment, text, times_said, total, uids, work};
use crate::harness::{ControlPlane, crds, eventually, stays};
use serde_json::{Value, json};

const LONG: Duration = Duration::from_secs(60);
/// How long a leader is believed, in these tests.
const LEASE: Duration = Duration::from_secs(6);
/// What a busy machine may add.
const SLACK: Duration = Duration::from_secs(6);

struct Scene {
    plane: ControlPlane,
    namespace: Namespace,
    /// The operator's own.
    system: Namespace,
}

async fn scene(name: &str) -> Option<Scene> {
    let plane = ControlPlane::start().await?;
    let client = plane.admin().await;
    crds::install_ours(&client).await;
    crds::install_upstream(&client).await;
    let system = Namespace::create(&client, "kubefoundry-system").await;
    let namespace = Namespace::create(&client, name).await;
    Some(Scene { plane, namespace, system })
}

fn options() -> Options {
    Options::default()
        .roles("core,selector,kaito,dynamo,kuberay")
        .flag("--stale-after", "10m")
        .leader_election(&format!("{}s", LEASE.as_secs()))
}

impl Scene {
    async fn deploy(&self, numbers: std::ops::Range<usize>) {
        let deployments: Vec<Value> = numbers.map(|number| deployment(&self.namespace.name, number)).collect();
        world::apply_all(&self.namespace, &deployments).await;
    }

    async fn until_settled(&self, operator: &Operator) {
        world::until_settled(&self.namespace, &[], operator, LONG).await;
    }

    /// Who holds the Leases. One Lease may be about who is there, not who leads: all count.
    async fn holders(&self) -> BTreeSet<String> {
        let leases = world::list(&self.system, kinds::LEASE, "").await.unwrap_or_default();
        leases.iter().map(|lease| text(lease, "/spec/holderIdentity").to_owned()).collect()
    }

    /// Waits until a single replica holds every Lease, and not this one. Who it is.
    async fn until_led(&self, not_by: &str) -> String {
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
    let leader = scene.until_led("").await;
    let mut second = options().start_ready(&scene.plane, "replica-2").await;
    scene.deploy(0..5).await;
    scene.until_settled(&first).await;
    assert_eq!(scene.until_led("").await, leader);
    assert_eq!(total(&work(&second).await), 0, "who does not lead writes nothing: {:?}", work(&second).await);

    // Killed: taken over when it has been silent for as long as it is believed, and not earlier.
    let killed = Instant::now();
    first.kill().await;
    let before = uids(&scene.namespace).await;
    scene.deploy(5..10).await;
    let next = scene.until_led(&leader).await;
    let took = killed.elapsed();
    eprintln!("killed: taken over after {took:?} with a lease of {LEASE:?}");
    // It renews every third of that.
    assert!(took + Duration::from_millis(200) > LEASE * 2 / 3, "{took:?}");
    assert!(took < LEASE + LEASE / 3 + SLACK, "{took:?}");
    scene.until_settled(&second).await;
    for (key, uid) in before {
        assert_eq!(uids(&scene.namespace).await.get(&key), Some(&uid), "{key} was made again");
    }

    // Asked to end: it gives up its Leases, and is followed at once.
    let third = options().start_ready(&scene.plane, "replica-3").await;
    let asked = Instant::now();
    assert_eq!(second.terminate().await, Some(0), "{}", second.end_of_log());
    scene.until_led(&next).await;
    let took = asked.elapsed();
    eprintln!("asked to end: taken over after {took:?}");
    assert!(took < LEASE * 2 / 3, "{took:?}");
    scene.deploy(10..15).await;
    scene.until_settled(&third).await;
    for number in 0..15 {
        let name = text(&deployment("any", number), "/metadata/name").to_owned();
        for reason in ["ProviderSelected", "ResourceCreated"] {
            assert_eq!(times_said(&scene.namespace, &name, reason).await, 1, "{reason} of {name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_slept_does_not_go_on() {
    let Some(scene) = scene("asleep").await else { return };
    let first = options().start_ready(&scene.plane, "asleep-1").await;
    let leader = scene.until_led("").await;
    let second = options().start_ready(&scene.plane, "asleep-2").await;
    scene.deploy(0..5).await;
    scene.until_settled(&first).await;
    let done = work(&first).await;
    first.process().signal("STOP");
    scene.deploy(5..10).await;
    scene.until_led(&leader).await;
    scene.until_settled(&second).await;
    scene.deploy(10..15).await;
    first.process().signal("CONT");
    scene.until_settled(&second).await;
    // It has lost: it ends, so that it starts anew as one that follows.
    assert_eq!(first.process().ended(LEASE + SLACK).await, Some(1), "{}", first.end_of_log());
    eprintln!("before it slept: {done:?}");
    for number in 0..15 {
        let name = text(&deployment("any", number), "/metadata/name").to_owned();
        assert_eq!(times_said(&scene.namespace, &name, "ResourceCreated").await, 1, "{name}");
    }
}

/// A Lease of somebody else's, by their clock.
async fn renew(scene: &Scene, hours: i64, round: u64) {
    for lease in world::list(&scene.system, kinds::LEASE, "").await.unwrap() {
        let now = k8s_openapi::jiff::Timestamp::now();
        let time = now + k8s_openapi::jiff::SignedDuration::from_hours(hours) + Duration::from_micros(round);
        let seconds = i64::try_from(LEASE.as_secs()).unwrap();
        let spec = json!({"spec": {
            "holderIdentity": "somebody-else", "leaseDurationSeconds": seconds,
            "acquireTime": format!("{time:.6}"), "renewTime": format!("{time:.6}"),
        }});
        scene.system.merge(kinds::LEASE, text(&lease, "/metadata/name"), &spec).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clock_of_a_leader_is_not_trusted() {
    let Some(scene) = scene("clock").await else { return };
    let mut operator = options().start_ready(&scene.plane, "clock").await;
    scene.until_led("").await;
    operator.kill().await;
    for (round, hours) in [(0, 5), (100, -5)] {
        // A leader whose clock is hours off is believed as long as it renews.
        renew(&scene, hours, round).await;
        operator.start_again();
        let mut renewals = round;
        stays(LEASE * 2, "led by somebody else", async || {
            renewals += 1;
            if renewals % 10 == 0 {
                renew(&scene, hours, renewals).await;
            }
            let holders = scene.holders().await;
            if holders.len() == 1 && holders.contains("somebody-else") { Ok(()) } else { Err(format!("{holders:?}")) }
        })
        .await;
        // And no longer.
        let silent = Instant::now();
        scene.until_led("somebody-else").await;
        eprintln!("a clock {hours} hours off: taken over after {:?}", silent.elapsed());
        assert!(silent.elapsed() < LEASE + LEASE / 3 + SLACK, "{:?}", silent.elapsed());
        scene.deploy(0..5).await;
        scene.until_settled(&operator).await;
        operator.kill().await;
    }
}
