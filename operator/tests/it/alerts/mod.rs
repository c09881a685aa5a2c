//! The alerts and the dashboard that are shipped (deploy/operator), evaluated by the rule engine of Prometheus.
//!
//! `KUBEFOUNDRY_PROMTOOL` names its program (`bash .ci/promtool` prints the path). Without it, what needs it is skipped.

mod provoked;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use crate::harness::operator::Operator;
use crate::harness::root;
use kubefoundry_yaml as yaml;
use serde_json::{Value, json};

/// Reads a YAML file of the repository.
fn read(path: &str) -> Value {
    let text = fs::read_to_string(root().join(path)).unwrap();
    yaml::parse(&text, &yaml::Limits::default()).documents.first().unwrap().root.to_json()
}

/// The rules of the PrometheusRule that is shipped, as promtool reads them.
fn rules() -> Value {
    let shipped = read("deploy/operator/alerts/alerts.yaml");
    assert_eq!(
        (&shipped["apiVersion"], &shipped["kind"]),
        (&json!("monitoring.coreos.com/v1"), &json!("PrometheusRule"))
    );
    shipped["spec"].clone()
}

/// The names of the alerts.
fn alert_names() -> BTreeSet<String> {
    let rules = rules();
    let groups = rules["groups"].as_array().unwrap().iter();
    let alerts = groups.flat_map(|group| group["rules"].as_array().unwrap());
    alerts.map(|rule| rule["alert"].as_str().unwrap().to_owned()).collect()
}

/// Runs promtool on files in a directory of their own. Returns whether it succeeded, and its output; none without
/// promtool.
fn promtool(arguments: &[&str], files: &[(&str, String)]) -> Option<(bool, String)> {
    let Some(program) = std::env::var_os("KUBEFOUNDRY_PROMTOOL") else {
        assert!(std::env::var_os("CI_OPERATOR").is_none(), "CI needs KUBEFOUNDRY_PROMTOOL");
        eprintln!("skipped: KUBEFOUNDRY_PROMTOOL is not set");
        return None;
    };
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    let output = Command::new(PathBuf::from(program)).args(arguments).current_dir(directory.path()).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Some((output.status.success(), text))
}

/// The name of a series, its labels, and its value.
type Samples = BTreeMap<String, f64>;

fn samples(text: &str) -> Samples {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap();
            (series.to_owned(), value.parse().unwrap())
        })
        .collect()
}

/// The time between two scrapes, in seconds, as far as the alerts can tell. The real one depends on the machine.
const SCRAPE_INTERVAL: f64 = 5.0;

/// The alerts that fire when an operator stays for two hours in the state in which it is; none without promtool.
///
/// Its metrics are scraped before and after `work`, which waits for what the caller wants to be counted. Counters go on
/// as if it had taken [`SCRAPE_INTERVAL`]. An age goes on if it grew by all the time between the scrapes; other values
/// stay.
pub async fn firing(operator: &Operator, work: impl Future<Output = ()>) -> Option<BTreeSet<String>> {
    let first = operator.metrics().await;
    let started = Instant::now();
    work.await;
    let passed = started.elapsed().as_secs_f64();
    let second = operator.metrics().await;
    let counters: BTreeSet<&str> = second
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .filter_map(|line| line.split_once(' '))
        .filter(|(_, kind)| matches!(*kind, "counter" | "histogram"))
        .map(|(name, _)| name)
        .collect();
    let before = samples(&first);
    let mut series = Vec::new();
    for (name, value) in samples(&second) {
        let grown = value - before.get(&name).copied().unwrap_or_default();
        let metric = name.split('{').next().unwrap();
        let is_counter = counters.iter().any(|counter| metric.starts_with(counter));
        let is_age = (metric.ends_with("_age_seconds") || metric.ends_with("_wait_seconds")) && grown > passed * 0.8;
        let step = match (is_counter, is_age) {
            (true, _) => grown.max(0.0) * 60.0 / SCRAPE_INTERVAL,
            (false, true) => 60.0,
            (false, false) => 0.0,
        };
        series.push(json!({"series": name, "values": format!("{value}+{step:.6}x120")}));
    }
    let test = json!({
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "tests": [{
            "interval": "1m",
            "input_series": series,
            "promql_expr_test": [{
                "expr": "count by (alertname) (ALERTS{alertstate=\"firing\"})", "eval_time": "119m", "exp_samples": [],
            }],
        }],
    });
    // JSON is YAML.
    let files = [("rules.yaml", rules().to_string()), ("test.yaml", test.to_string())];
    let (has_none, output) = promtool(&["test", "rules", "test.yaml"], &files)?;
    // Promtool prints the samples that were not expected.
    let names = output.split("alertname=\"").skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned);
    let names: BTreeSet<String> = names.collect();
    assert!(has_none == names.is_empty(), "{output}");
    Some(names)
}

#[test]
fn every_alert_fires_and_stays_silent_as_written() {
    let path = "tests/prometheus/alerts.test.yaml";
    let test = fs::read_to_string(root().join(path)).unwrap();
    let cases = read(path);
    let cases = cases["tests"].as_array().unwrap().iter().flat_map(|test| test["alert_rule_test"].as_array().unwrap());
    let (mut fires, mut silent) = (BTreeSet::new(), BTreeSet::new());
    for case in cases {
        let name = case["alertname"].as_str().unwrap().to_owned();
        if case["exp_alerts"].as_array().unwrap().is_empty() {
            silent.insert(name)
        } else {
            fires.insert(name)
        };
    }
    assert_eq!(fires, alert_names(), "alerts with a case in which they fire");
    assert_eq!(silent, alert_names(), "alerts with a case in which they do not");
    let files = [("rules.yaml", rules().to_string()), ("alerts.test.yaml", test)];
    let Some((passed, output)) = promtool(&["test", "rules", "alerts.test.yaml"], &files) else { return };
    assert!(passed, "{output}");
}

#[test]
fn the_page_shows_the_alerts_that_are_shipped() {
    let page = fs::read_to_string(root().join("docs/operator/operate.md")).unwrap();
    let shipped = fs::read_to_string(root().join("deploy/operator/alerts/alerts.yaml")).unwrap();
    assert!(
        page.contains(&format!("```yaml\n{shipped}```\n")),
        "copy deploy/operator/alerts/alerts.yaml into the page"
    );
}

/// The metrics of the reference, with the series of histograms.
fn documented_metrics() -> BTreeSet<String> {
    let page = fs::read_to_string(root().join("docs/operator/reference.md")).unwrap();
    let mut names = BTreeSet::new();
    for row in page.lines().filter_map(|line| line.strip_prefix("| `kubefoundry_")) {
        let mut cells = row.split(" | ");
        let name = format!("kubefoundry_{}", cells.next().unwrap().trim_end_matches('`'));
        if cells.next() == Some("histogram") {
            names.extend(["_bucket", "_sum", "_count"].map(|end| format!("{name}{end}")));
        }
        names.insert(name);
    }
    assert!(names.len() > 10, "{names:?}");
    names
}

/// The names of metrics in an expression.
fn metrics_in(expression: &str) -> BTreeSet<String> {
    let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("kubefoundry_")).map(str::to_owned).collect()
}

#[test]
fn the_dashboard_and_the_alerts_query_metrics_that_exist() {
    let map = read("deploy/operator/dashboard/dashboard.yaml");
    assert_eq!(map["metadata"]["labels"]["grafana_dashboard"], "1");
    let dashboard: Value = serde_json::from_str(map["data"]["kubefoundry.json"].as_str().unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut expressions = Vec::new();
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "two panels have the id {}", panel["id"]);
        assert!(panel["title"].is_string() && panel["gridPos"]["w"].is_u64(), "{panel}");
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{panel}");
        expressions.extend(targets.iter().map(|target| target["expr"].as_str().unwrap().to_owned()));
    }
    let (documented, shown) = (documented_metrics(), expressions.iter().flat_map(|expression| metrics_in(expression)));
    let shown: BTreeSet<String> = shown.collect();
    assert_eq!(shown.difference(&documented).collect::<Vec<_>>(), Vec::<&String>::new(), "metrics without a reference");
    let alerts = metrics_in(&rules().to_string());
    assert_eq!(
        alerts.difference(&documented).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "metrics without a reference"
    );
    // The dashboard shows every metric in some form.
    let is_shown = |metric: &String| shown.iter().any(|one| one.starts_with(metric.as_str()));
    let histogram_parts = ["_bucket", "_sum", "_count"];
    let missing: Vec<&String> = documented
        .iter()
        .filter(|metric| !histogram_parts.iter().any(|end| metric.ends_with(end)) && !is_shown(metric))
        .collect();
    assert_eq!(missing, Vec::<&String>::new(), "metrics without a panel");

    // The engine parses every expression.
    let recorded =
        expressions.iter().enumerate().map(|(number, expr)| json!({"record": format!("panel:{number}"), "expr": expr}));
    let panels = json!({"groups": [{"name": "dashboard", "rules": recorded.collect::<Vec<_>>()}]});
    let files = [("dashboard.yaml", panels.to_string()), ("alerts.yaml", rules().to_string())];
    let arguments = ["check", "rules", "--lint=all", "--lint-fatal", "dashboard.yaml", "alerts.yaml"];
    let Some((passed, output)) = promtool(&arguments, &files) else { return };
    assert!(passed, "{output}");
    // And it is the engine that refuses.
    let broken =
        [("broken.yaml", json!({"groups": [{"name": "b", "rules": [{"record": "b", "expr": "sum(("}]}]}).to_string())];
    let (passed, output) = promtool(&["check", "rules", "broken.yaml"], &broken).unwrap();
    assert!(!passed, "{output}");
}
