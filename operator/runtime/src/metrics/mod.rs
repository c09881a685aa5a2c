//! Metrics (docs/specification.md OP-8.1), in Prometheus' text format.
//!
//! Corresponds to `kubert::runtime::RuntimeMetrics`, which registers metrics of its own names with `prometheus-client`;
//! here the names are those of the specification. The `prometheus` crate keeps counters and histograms. The state of
//! each deployment is kept once, in a small map, and written at each scrape: ten thousand deployments with label sets
//! of their own would take more memory than the deployments themselves.

mod declared;
mod scraped;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use declared::{
    ADMISSION_DURATION, ADMISSIONS, BINDING_CONFLICTS, BUILD, DEPLOYMENTS, DURATION, ERRORS, EVALUATIONS,
    HEARTBEAT_AGE, LEADER, OLDEST_WAIT, PHASE, QUEUE_DEPTH, RECREATIONS, REPLICAS, REQUESTS, RIGHTS, SELECTION,
    TAKEOVERS, WATCH_UP,
};
pub use declared::{METRICS, Metric};
use prometheus::{
    GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
};
use scraped::{Scraped, WatchState};
use tokio::time::Instant;

use super::queue::Queue;
use crate::mutex::lock;
use crate::text::truncate;

/// Upper bounds in seconds. Most reconciliations send no request, few send seven.
const BUCKETS: [f64; 13] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Maximum length of a label value: the authors of selection rules choose the reasons.
const MAX_LABEL_BYTES: usize = 128;
/// Maximum number of pairs of provider and reason; later ones count as the provider and reason `other`.
const MAX_REASONS: usize = 256;

/// The replicas of a deployment. A number that the provider does not report is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Replicas {
    /// Those that the specification asks for.
    pub desired: Option<i64>,
    /// Those that are ready.
    pub ready: Option<i64>,
    /// Those that have been ready for a while.
    pub available: Option<i64>,
}

/// The measured state of a deployment.
struct State {
    phase: &'static str,
    replicas: Replicas,
}

/// By namespace, then by name.
type Deployments = BTreeMap<Box<str>, BTreeMap<Box<str>, State>>;

/// Collects measurements. `controller` is `core`, `selector` or the name of a provider.
pub struct Metrics {
    registry: Registry,
    duration: HistogramVec,
    errors: IntCounterVec,
    selection: IntCounterVec,
    evaluations: IntCounterVec,
    requests: IntCounterVec,
    leader: IntGaugeVec,
    takeovers: IntCounterVec,
    recreations: IntCounterVec,
    binding_conflicts: IntCounterVec,
    rights: IntGaugeVec,
    admissions: IntCounterVec,
    admission_duration: HistogramVec,
    scraped: Scraped,
    reasons: Mutex<BTreeSet<String>>,
    deployments: Mutex<Deployments>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Registers all metrics.
    pub fn new() -> Self {
        let registry = Registry::new();
        let build: GaugeVec = register(&registry, GaugeVec::new(options(&BUILD), BUILD.labels));
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1.0);
        let histogram = |metric: &Metric| {
            HistogramVec::new(HistogramOpts::new(metric.name, metric.meaning).buckets(BUCKETS.to_vec()), metric.labels)
        };
        Self {
            duration: register(&registry, histogram(&DURATION)),
            errors: register(&registry, IntCounterVec::new(options(&ERRORS), ERRORS.labels)),
            selection: register(&registry, IntCounterVec::new(options(&SELECTION), SELECTION.labels)),
            evaluations: register(&registry, IntCounterVec::new(options(&EVALUATIONS), EVALUATIONS.labels)),
            requests: register(&registry, IntCounterVec::new(options(&REQUESTS), REQUESTS.labels)),
            leader: register(&registry, IntGaugeVec::new(options(&LEADER), LEADER.labels)),
            recreations: register(&registry, IntCounterVec::new(options(&RECREATIONS), RECREATIONS.labels)),
            takeovers: register(&registry, IntCounterVec::new(options(&TAKEOVERS), TAKEOVERS.labels)),
            binding_conflicts: register(
                &registry,
                IntCounterVec::new(options(&BINDING_CONFLICTS), BINDING_CONFLICTS.labels),
            ),
            rights: register(&registry, IntGaugeVec::new(options(&RIGHTS), RIGHTS.labels)),
            admissions: register(&registry, IntCounterVec::new(options(&ADMISSIONS), ADMISSIONS.labels)),
            admission_duration: register(&registry, histogram(&ADMISSION_DURATION)),
            scraped: Scraped::default(),
            registry,
            reasons: Mutex::default(),
            deployments: Mutex::default(),
        }
    }

    /// Records the duration of a reconciliation, successful or not.
    pub fn observe_reconciliation(&self, controller: &str, took: Duration) {
        self.duration.with_label_values(&[controller]).observe(took.as_secs_f64());
    }

    /// Counts a failed or waiting reconciliation of a deployment, and begins to measure its wait; `kind` is
    /// [`Error::kind`](crate::error::Error::kind).
    pub fn record_failure(&self, controller: &'static str, namespace: &str, name: &str, kind: &'static str) {
        self.errors.with_label_values(&[controller, kind]).inc();
        self.scraped.begin_wait(controller, namespace, name);
    }

    /// Ends the wait of a deployment for a controller.
    pub fn record_success(&self, controller: &str, namespace: &str, name: &str) {
        self.scraped.end_wait(controller, namespace, name);
    }

    /// Counts an evaluation of a deployment.
    pub fn count_evaluation(&self, controller: &str) {
        self.evaluations.with_label_values(&[controller]).inc();
    }

    /// Counts a recreation that ended.
    pub fn count_recreation(&self, controller: &str, is_ready: bool) {
        self.recreations.with_label_values(&[controller, if is_ready { "ready" } else { "not_ready" }]).inc();
    }

    /// Counts status fields that a controller took back from another client.
    pub fn count_takeover(&self, controller: &str) {
        self.takeovers.with_label_values(&[controller]).inc();
    }

    /// Counts a binding that another client reverted.
    pub fn count_binding_conflict(&self, controller: &str) {
        self.binding_conflicts.with_label_values(&[controller]).inc();
    }

    /// Counts the selection of a provider.
    pub fn count_selection(&self, provider: &str, reason: &str) {
        let (provider, reason) = (truncate_label(provider), truncate_label(reason));
        let key = format!("{provider}\n{reason}");
        let mut reasons = lock(&self.reasons);
        let is_known = reasons.contains(&key);
        if is_known || reasons.len() < MAX_REASONS {
            if !is_known {
                reasons.insert(key);
            }
            self.selection.with_label_values(&[provider, reason]).inc();
        } else {
            self.selection.with_label_values(&["other", "other"]).inc();
        }
    }

    /// Sets the state of a deployment.
    pub fn set_deployment(&self, namespace: &str, name: &str, phase: &'static str, replicas: Replicas) {
        let state = State { phase, replicas };
        let mut deployments = lock(&self.deployments);
        // Allocates keys only for new deployments.
        if let Some(names) = deployments.get_mut(namespace) {
            if let Some(known) = names.get_mut(name) {
                *known = state;
            } else {
                names.insert(name.into(), state);
            }
        } else {
            deployments.insert(namespace.into(), BTreeMap::from([(name.into(), state)]));
        }
    }

    /// Drops the state of a deleted deployment.
    pub fn forget(&self, namespace: &str, name: &str) {
        let mut deployments = lock(&self.deployments);
        if let Some(names) = deployments.get_mut(namespace) {
            names.remove(name);
            if names.is_empty() {
                deployments.remove(namespace);
            }
        }
        drop(deployments);
        self.scraped.forget(namespace, name);
    }

    /// Counts a request by verb (`get`, `apply`, …) and resource.
    pub fn count_request(&self, verb: &'static str, resource: &str) {
        self.requests.with_label_values(&[verb, resource]).inc();
    }

    /// Records whether this process leads a role.
    pub fn set_leader(&self, role: &str, leads: bool) {
        let gauge: IntGauge = self.leader.with_label_values(&[role]);
        gauge.set(i64::from(leads));
        if leads {
            self.scraped.begin_role(role);
        } else {
            self.scraped.end_role(role);
            // Only the leader knows it. There is no series if the role does not belong to a provider.
            let _ = self.rights.remove_label_values(&[role]);
        }
    }

    /// Records how many rights the controller of a provider lacks.
    pub fn set_missing_rights(&self, provider: &str, missing: usize) {
        self.rights.with_label_values(&[provider]).set(i64::try_from(missing).unwrap_or(i64::MAX));
    }

    /// Records that the heartbeat of a provider was written, or that this process began to lead it.
    pub fn record_heartbeat(&self, provider: &'static str) {
        self.scraped.beat(provider);
    }

    /// Measures a queue of the controller of a role.
    pub fn measure_queue(&self, role: &'static str, queue: Arc<Queue>) {
        self.scraped.add_queue(role, queue);
    }

    /// Records a request to a webhook.
    pub fn observe_admission(&self, webhook: &'static str, verdict: &'static str, took: Duration) {
        self.admissions.with_label_values(&[webhook, verdict]).inc();
        self.admission_duration.with_label_values(&[webhook]).observe(took.as_secs_f64());
    }

    /// Measures whether a watch works, until the value is dropped.
    pub fn measure_watch(self: &Arc<Self>, what: &str) -> WatchMeter {
        WatchMeter { number: self.scraped.add_watch(what), metrics: Arc::clone(self) }
    }

    /// Returns for how long a watch of this name has not worked; none if it works.
    pub fn watch_down_for(&self, what: &str) -> Option<Duration> {
        self.scraped.watch_down_for(what)
    }

    /// Formats all metrics in Prometheus' text format.
    ///
    /// # Panics
    /// Never: a string takes every text.
    #[expect(clippy::expect_used, reason = "writing to a string does not fail")]
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Err(error) = TextEncoder::new().encode_utf8(&self.registry.gather(), &mut text) {
            tracing::error!(%error, "metrics are missing in the answer; this is a bug");
        }
        let written =
            self.scraped.write(&mut text).and_then(|()| write_deployments(&lock(&self.deployments), &mut text));
        written.expect("a string takes every text");
        text
    }
}

/// Measures whether one watch works.
pub struct WatchMeter {
    metrics: Arc<Metrics>,
    number: u64,
}

impl WatchMeter {
    /// Records that the watch delivered something.
    pub fn succeed(&self) {
        self.metrics.scraped.change_watch(self.number, WatchState::succeed);
    }

    /// Records that an attempt failed.
    pub fn fail(&self) {
        self.metrics.scraped.change_watch(self.number, |watch| watch.fail(Instant::now()));
    }
}

impl Drop for WatchMeter {
    fn drop(&mut self) {
        self.metrics.scraped.remove_watch(self.number);
    }
}

fn options(metric: &Metric) -> Opts {
    Opts::new(metric.name, metric.meaning)
}

/// Registers a collector for one of the metrics above.
#[expect(clippy::expect_used, reason = "names and labels are constants, and a test registers them all")]
fn register<C: prometheus::core::Collector + Clone + 'static>(
    registry: &Registry,
    collector: prometheus::Result<C>,
) -> C {
    let collector = collector.expect("names and labels are well-formed");
    registry.register(Box::new(collector.clone())).expect("every name is registered once");
    collector
}

/// Returns the longest prefix of a label value that the limit allows.
fn truncate_label(value: &str) -> &str {
    truncate(value, MAX_LABEL_BYTES)
}

/// Writes the families of [`DEPLOYMENTS`], [`REPLICAS`] and [`PHASE`].
fn write_deployments(deployments: &Deployments, text: &mut String) -> std::fmt::Result {
    write_header(&DEPLOYMENTS, text)?;
    for (namespace, names) in deployments {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for state in names.values() {
            *counts.entry(state.phase).or_default() += 1;
        }
        for (phase, count) in counts {
            let namespace = escape_label(namespace);
            writeln!(text, "{}{{namespace=\"{namespace}\",phase=\"{phase}\"}} {count}", DEPLOYMENTS.name)?;
        }
    }
    write_header(&REPLICAS, text)?;
    for_each_deployment(
        deployments,
        |namespace, name, State { replicas: Replicas { desired, ready, available }, .. }| {
            for (state, count) in [("desired", desired), ("ready", ready), ("available", available)] {
                if let Some(count) = count {
                    let series = REPLICAS.name;
                    writeln!(text, "{series}{{name=\"{name}\",namespace=\"{namespace}\",state=\"{state}\"}} {count}")?;
                }
            }
            Ok(())
        },
    )?;
    write_header(&PHASE, text)?;
    for_each_deployment(deployments, |namespace, name, State { phase, .. }| {
        writeln!(text, "{}{{name=\"{name}\",namespace=\"{namespace}\",phase=\"{phase}\"}} 1", PHASE.name)
    })
}

/// Writes the comments before a family.
fn write_header(metric: &Metric, text: &mut String) -> std::fmt::Result {
    let Metric { name, kind, meaning, .. } = metric;
    writeln!(text, "# HELP {name} {meaning}\n# TYPE {name} {kind}")
}

/// Calls `write` for each deployment, with escaped names.
fn for_each_deployment(
    deployments: &Deployments,
    mut write: impl FnMut(&str, &str, &State) -> std::fmt::Result,
) -> std::fmt::Result {
    for (namespace, names) in deployments {
        let namespace = escape_label(namespace);
        for (name, state) in names {
            write(&namespace, &escape_label(name), state)?;
        }
    }
    Ok(())
}

/// Escapes a label value as the text format requires.
fn escape_label(value: &str) -> std::borrow::Cow<'_, str> {
    if value.contains(['\\', '"', '\n']) {
        value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").into()
    } else {
        value.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replicas(desired: i64) -> Replicas {
        Replicas { desired: Some(desired), ready: Some(1), available: None }
    }

    /// Metrics with one measurement of each kind.
    fn sample_metrics() -> Metrics {
        let metrics = Metrics::new();
        metrics.observe_reconciliation("kaito", Duration::from_millis(3));
        metrics.count_evaluation("core");
        metrics.count_takeover("kaito");
        metrics.count_binding_conflict("actors");
        metrics.count_recreation("kaito", false);
        metrics.record_failure("kaito", "ml", "phi", "conflict");
        metrics.measure_queue("kaito", Arc::default());
        metrics.record_heartbeat("kaito");
        metrics.set_missing_rights("kaito", 0);
        metrics.observe_admission("validate", "allowed", Duration::from_millis(2));
        metrics.count_selection("dynamo", "default → dynamo (GPU inference default)");
        metrics.count_request("apply", "workspaces");
        metrics.set_leader("core", false);
        metrics.set_leader("kaito", true);
        metrics.set_deployment("ml", "phi", "Running", replicas(2));
        metrics.set_deployment("ml", "llama", "Pending", Replicas::default());
        metrics
    }

    #[test]
    fn the_text_has_every_documented_metric() {
        let metrics = Arc::new(sample_metrics());
        let watch = metrics.measure_watch("namespaces");
        let text = metrics.text();
        drop(watch);
        assert!(!metrics.text().contains("namespaces"));
        for Metric { name, kind, labels, .. } in METRICS {
            assert!(text.contains(&format!("# TYPE {name} {kind}\n")), "{name}\n{text}");
            let series = text.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| !rest.starts_with(' ')));
            let series = series.unwrap_or_else(|| panic!("{name} has no series\n{text}"));
            for label in *labels {
                assert!(series.contains(&format!("{label}=\"")), "{series}");
            }
        }
        let families = text.lines().filter(|line| line.starts_with("# TYPE ")).count();
        assert_eq!(families, METRICS.len(), "{text}");
    }

    #[test]
    fn writes_and_forgets_the_state_of_deployments() {
        let metrics = sample_metrics();
        let text = metrics.text();
        for line in [
            "kubefoundry_modeldeployment_total{namespace=\"ml\",phase=\"Pending\"} 1",
            "kubefoundry_modeldeployment_total{namespace=\"ml\",phase=\"Running\"} 1",
            "kubefoundry_deployment_replicas{name=\"phi\",namespace=\"ml\",state=\"desired\"} 2",
            "kubefoundry_deployment_replicas{name=\"phi\",namespace=\"ml\",state=\"ready\"} 1",
            "kubefoundry_deployment_phase{name=\"phi\",namespace=\"ml\",phase=\"Running\"} 1",
        ] {
            assert!(text.lines().any(|written| written == line), "{line}\n{text}");
        }
        assert!(!text.contains("state=\"available\""), "{text}");

        metrics.set_deployment("ml", "phi", "Failed", Replicas::default());
        let text = metrics.text();
        assert!(!text.contains("phase=\"Running\"") && !text.contains("state="), "{text}");

        metrics.forget("ml", "phi");
        metrics.forget("ml", "llama");
        metrics.forget("ml", "never-seen");
        assert!(!metrics.text().contains("namespace=\"ml\""));
    }

    #[test]
    fn label_values_are_escaped_and_bounded() {
        let metrics = Metrics::new();
        metrics.set_deployment("a\"b", "c\\d\ne", "Unknown", Replicas::default());
        metrics.count_selection("edge", &"é".repeat(MAX_LABEL_BYTES));
        for number in 0..2 * MAX_REASONS {
            metrics.count_selection("edge", &format!("rule {number}"));
        }
        let text = metrics.text();
        assert!(text.contains(r#"{name="c\\d\ne",namespace="a\"b",phase="Unknown"} 1"#), "{text}");
        assert!(text.contains(&format!("reason=\"{}\"", "é".repeat(MAX_LABEL_BYTES / 2))), "{text}");
        assert!(text.lines().filter(|line| line.starts_with(SELECTION.name)).count() <= MAX_REASONS + 1);
        assert!(text.contains("kubefoundry_provider_selection{provider=\"other\",reason=\"other\"} 257"), "{text}");
    }
}
