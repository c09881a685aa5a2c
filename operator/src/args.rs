//! The command line.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use k8s_openapi::api::core::v1::Toleration;
use kubefoundry_controller_runtime::client;
use kubefoundry_controller_runtime::metrics::Metrics;
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_reconcile::recreation::RecreationPolicy;

use crate::role::Role;

/// Runs ModelDeployments in a Kubernetes cluster: applies the objects of the provider that serves each model.
#[derive(Debug, Parser)]
#[command(name = "kubefoundry-operator", version, about, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the operator, with all roles or some of them
    Run(Run),
    /// Print the manifests of the operator: CRDs, RBAC, Deployments and webhooks
    Manifests(Manifests),
    /// Apply these manifests to a cluster
    Install(Install),
    /// Apply the manifests of this version over an older one, and remove objects that it no longer needs
    Upgrade(Install),
    /// Remove the operator from a cluster; CRDs and ModelDeployments stay unless you ask for their removal
    Uninstall(Uninstall),
}

/// The Service through which the apiserver reaches the webhooks in the manifests.
pub(crate) const WEBHOOK_SERVICE: &str = "kubefoundry-webhooks";
/// The ports at which the program listens in a pod.
pub(crate) const WEBHOOK_PORT: u16 = 9443;
pub(crate) const METRICS_PORT: u16 = 8080;
pub(crate) const HEALTH_PORT: u16 = 8081;

fn at_any_address(port: u16) -> SocketAddr {
    (Ipv4Addr::UNSPECIFIED, port).into()
}

/// How to reach the cluster.
#[derive(Debug, Clone, Args)]
pub(crate) struct Cluster {
    /// Path of a kubeconfig; by default KUBECONFIG, then the service account of the pod
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Namespace of the operator
    #[arg(long, value_name = "NAME", default_value = "kubefoundry-system", value_parser = namespace)]
    pub(crate) namespace: String,
}

impl Cluster {
    /// Connects to the cluster.
    ///
    /// # Errors
    /// The reason why there is no usable configuration.
    pub(crate) async fn connect(&self, metrics: Arc<Metrics>) -> Result<kube::Client, String> {
        client::connect(self.kubeconfig.as_deref(), self.context.as_deref(), metrics).await
    }
}

/// Flags of `run`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    /// Roles that this process runs, separated by commas; by default all but `llamastack` and `actors`
    #[arg(long, value_name = "ROLE", value_delimiter = ',', value_parser = Role::parse)]
    pub(crate) roles: Vec<Role>,
    /// API groups whose ModelDeployments the operator serves, separated by commas
    #[arg(long, value_name = "GROUP", value_delimiter = ',', default_value = "kubefoundry.ai", value_parser = group)]
    pub(crate) groups: Vec<&'static ApiGroup>,
    /// A file with Render options (config.kubefoundry.ai/v1alpha1), such as a mounted ConfigMap
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Listen address of the admission webhooks
    #[arg(long, value_name = "ADDRESS", default_value_t = at_any_address(WEBHOOK_PORT))]
    pub(crate) webhook_address: SocketAddr,
    /// Service through which the API server reaches the webhooks
    #[arg(long, value_name = "NAME", default_value = WEBHOOK_SERVICE)]
    pub(crate) webhook_service: String,
    /// URL at which the API server reaches the webhooks instead of the Service; for running outside of the cluster
    #[arg(long, value_name = "URL")]
    pub(crate) webhook_url: Option<String>,
    /// Lifetime of the webhooks' certificate, which is renewed after two thirds of it
    #[arg(long, value_name = "TIME", default_value = "2160h", value_parser = duration)]
    pub(crate) certificate_lifetime: Duration,
    /// Refuse a ModelDeployment if its user may not create the provider's objects (SubjectAccessReview)
    #[arg(long)]
    pub(crate) check_access: bool,
    /// Listen address for Prometheus metrics
    #[arg(long, value_name = "ADDRESS", default_value_t = at_any_address(METRICS_PORT))]
    pub(crate) metrics_address: SocketAddr,
    /// Listen address for the probes /healthz and /readyz
    #[arg(long, value_name = "ADDRESS", default_value_t = at_any_address(HEALTH_PORT))]
    pub(crate) health_address: SocketAddr,
    /// Run without leader election; use it only if at most one replica runs
    #[arg(long)]
    pub(crate) no_leader_election: bool,
    /// Time without a renewal after which another replica may take the lease
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = duration)]
    pub(crate) lease_duration: Duration,
    /// Time to wait for the deletion of a provider's objects before the finalizer is removed anyway
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) finalizer_timeout: Duration,
    /// Time without a change after which a provider's status counts as stale
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) stale_after: Duration,
    /// How many deployments of a provider are recreated at a time, unless an edit is the reason
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) max_recreating: u16,
    /// Whether such a recreation waits for an annotation
    #[arg(long, value_enum, default_value_t = RecreateMode::Auto)]
    pub(crate) recreate: RecreateMode,
    /// Time within which a recreated object has to be ready; then the next one starts, and after three failures in a row none
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = duration)]
    pub(crate) recreate_deadline: Duration,
    /// Interval between two heartbeats of a provider
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) heartbeat_interval: Duration,
    /// Time without a heartbeat after which a provider is no longer selected
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration)]
    pub(crate) heartbeat_timeout: Duration,
    /// Interval at which all ModelDeployments are reconciled without a change
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    pub(crate) resync: Duration,
    /// Maximum number of reconciliations at a time
    #[arg(long, value_name = "NUMBER", default_value_t = 16)]
    pub(crate) concurrency: u16,
    /// Format of log lines
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
    /// Log filter: a level, or directives of tracing-subscriber
    #[arg(long, value_name = "FILTER", default_value = "info")]
    pub(crate) log: String,
}

impl Run {
    /// Returns the API groups whose ModelDeployments this process looks at; none if no role is about them.
    pub(crate) fn model_groups(&self) -> &[&'static ApiGroup] {
        if self.roles.iter().any(|role| role.serves_models()) { &self.groups } else { &[] }
    }

    /// Returns the flags for recreations.
    pub(crate) fn recreation_policy(&self) -> RecreationPolicy {
        RecreationPolicy {
            max: usize::from(self.max_recreating),
            needs_approval: self.recreate == RecreateMode::Approve,
            deadline: self.recreate_deadline,
        }
    }
}

/// Who decides about recreations that no edit of a deployment causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecreateMode {
    /// The operator, one after the other
    Auto,
    /// A user, by an annotation on each deployment
    Approve,
}

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One line of text per event
    Text,
    /// One JSON object per line
    Json,
}

/// Options of the manifests. An absent one has its default, or with `upgrade` the value of the installation.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Package {
    /// Image of the operator
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// Run all roles in one Deployment (`all`, the default), or `split` them into several; `llamastack` and `actors` are
    /// off unless they are added: `all,actors`
    #[arg(long, value_name = "ROLES", value_delimiter = ',', value_parser = role_word)]
    pub(crate) roles: Vec<RoleWord>,
    /// Replicas of each Deployment, 1 by default; more than one adds a PodDisruptionBudget
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) replicas: Option<u16>,
    /// API groups whose ModelDeployments the operator serves, separated by commas; `kubefoundry.ai` by default
    #[arg(long, value_name = "GROUP", value_delimiter = ',', value_parser = group)]
    pub(crate) groups: Vec<&'static ApiGroup>,
    /// Leave out the admission webhooks
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_webhooks: Option<bool>,
    /// Handling of a ModelDeployment while no webhook answers: refuse it (the default), or store it and report errors in
    /// its status
    #[arg(long, value_enum)]
    pub(crate) failure_policy: Option<FailurePolicy>,
    /// Refuse a ModelDeployment if its user may not create the provider's objects (SubjectAccessReview)
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) check_access: Option<bool>,
    #[command(flatten)]
    pub(crate) pods: Pods,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// Options of the operator's pods.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Pods {
    /// Resources that a pod requests, such as `cpu=100m,memory=128Mi`
    #[arg(long, value_name = "RESOURCE=QUANTITY", value_delimiter = ',', value_parser = pair)]
    pub(crate) requests: Vec<(String, String)>,
    /// Limits of a pod's resources, such as `cpu=2,memory=512Mi`
    #[arg(long, value_name = "RESOURCE=QUANTITY", value_delimiter = ',', value_parser = pair)]
    pub(crate) limits: Vec<(String, String)>,
    /// Secrets with which the image is pulled, separated by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) image_pull_secrets: Vec<String>,
    /// Labels of the nodes on which the pods run, separated by commas
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', value_parser = pair)]
    pub(crate) node_selector: Vec<(String, String)>,
    /// Taints that the pods tolerate, separated by commas: `KEY`, `KEY=VALUE`, either of them with `:EFFECT`
    #[arg(long, value_name = "TAINT", value_delimiter = ',', value_parser = toleration)]
    pub(crate) tolerations: Vec<Toleration>,
}

/// Flags of `run` that the Deployments get. They are checked here and passed on as text.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Settings {
    /// `--lease-duration` of `run`
    #[arg(long, value_name = "TIME", value_parser = duration_text)]
    lease_duration: Option<String>,
    /// `--finalizer-timeout` of `run`
    #[arg(long, value_name = "TIME", value_parser = duration_text)]
    finalizer_timeout: Option<String>,
    /// `--stale-after` of `run`
    #[arg(long, value_name = "TIME", value_parser = duration_text)]
    stale_after: Option<String>,
    /// `--resync` of `run`
    #[arg(long, value_name = "TIME", value_parser = duration_text)]
    resync: Option<String>,
    /// `--concurrency` of `run`
    #[arg(long, value_name = "NUMBER")]
    concurrency: Option<u16>,
    /// `--log` of `run`
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
}

impl Settings {
    /// Returns the arguments of `run` for the given flags, each with its name.
    pub(crate) fn arguments(&self) -> Vec<(&'static str, String)> {
        let Self { lease_duration, finalizer_timeout, stale_after, resync, concurrency, log } = self;
        let flags = [
            ("--lease-duration", lease_duration.clone()),
            ("--finalizer-timeout", finalizer_timeout.clone()),
            ("--stale-after", stale_after.clone()),
            ("--resync", resync.clone()),
            ("--concurrency", concurrency.map(|number| number.to_string())),
            ("--log", log.clone()),
        ];
        flags.into_iter().filter_map(|(name, value)| Some((name, format!("{name}={}", value?)))).collect()
    }
}

/// The `failurePolicy` of the validating webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailurePolicy {
    /// Refuse the object
    Fail,
    /// Store the object; the operator reports its errors in the status
    Ignore,
}

impl FailurePolicy {
    /// Returns the value of the field `failurePolicy`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Fail => "Fail",
            Self::Ignore => "Ignore",
        }
    }
}

/// A word of `--roles` of the manifests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoleWord {
    Layout(Layout),
    /// A role that is off by default.
    Optional(Role),
}

/// Parses a word of `--roles` of the manifests.
fn role_word(word: &str) -> Result<RoleWord, String> {
    let optional = Role::optional();
    match word {
        "all" => Ok(RoleWord::Layout(Layout::All)),
        "split" => Ok(RoleWord::Layout(Layout::Split)),
        _ => optional.iter().find(|role| role.name() == word).map(|role| RoleWord::Optional(*role)).ok_or_else(|| {
            let names: Vec<&str> = optional.iter().map(|role| role.name()).collect();
            format!("expected all or split, and the optional roles {}", names.join(", "))
        }),
    }
}

/// The distribution of roles to Deployments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// All roles in one Deployment
    All,
    /// One Deployment each for webhooks and core, for the selector and for each provider
    Split,
}

/// Flags of `manifests`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Manifests {
    /// Namespace of the operator
    #[arg(long, value_name = "NAME", default_value = "kubefoundry-system", value_parser = namespace)]
    pub(crate) namespace: String,
    #[command(flatten)]
    pub(crate) package: Package,
}

/// Flags of `install` and `upgrade`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Install {
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    #[command(flatten)]
    pub(crate) package: Package,
    /// Send every request as a server-side dry run, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take over fields that other field managers have set
    #[arg(long)]
    pub(crate) force_conflicts: bool,
    /// Time to wait for a pod that answers the webhooks, before the API server calls it
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) wait: Duration,
    /// Let the API server call the webhooks at once; until a pod answers, it refuses ModelDeployments
    #[arg(long, conflicts_with = "wait")]
    pub(crate) no_wait: bool,
}

/// Flags of `uninstall`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    /// Print what would be removed, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove the CRDs as well; refused while a ModelDeployment or the configuration of another provider exists
    #[arg(long)]
    pub(crate) delete_crds: bool,
    /// Remove the namespace as well, with everything in it
    #[arg(long)]
    pub(crate) delete_namespace: bool,
}

/// Parses the name of a namespace: a DNS label.
fn namespace(name: &str) -> Result<String, String> {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = name.len() <= 63
        && name.starts_with(alphanumeric)
        && name.ends_with(alphanumeric)
        && name.chars().all(|c| alphanumeric(c) || c == '-');
    let expected = "expected lower case letters, digits and dashes, at most 63, with a letter or digit at both ends";
    is_label.then(|| name.to_owned()).ok_or_else(|| expected.to_owned())
}

/// Parses the name of an API group for which there are CRDs.
pub(crate) fn group(name: &str) -> Result<&'static ApiGroup, String> {
    let candidates = || API_GROUPS.iter().filter(|api_group| api_group.has_crds);
    candidates().find(|api_group| api_group.name == name).ok_or_else(|| {
        let names: Vec<&str> = candidates().map(|api_group| api_group.name).collect();
        format!("expected {}", names.join(" or "))
    })
}

/// Parses `KEY=VALUE`.
fn pair(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty());
    parts.map(|(key, value)| (key.to_owned(), value.to_owned())).ok_or_else(|| "expected KEY=VALUE".to_owned())
}

/// Parses a toleration: a taint, which tolerates every value without `=VALUE` and every effect without `:EFFECT`.
fn toleration(text: &str) -> Result<Toleration, String> {
    let (taint, effect) = text.split_once(':').map_or((text, None), |(taint, effect)| (taint, Some(effect)));
    let (key, value) = taint.split_once('=').map_or((taint, None), |(key, value)| (key, Some(value)));
    if key.is_empty() || effect.is_some_and(|effect| !TAINT_EFFECTS.contains(&effect)) {
        return Err(format!("expected KEY, KEY=VALUE or either with :EFFECT, one of {}", TAINT_EFFECTS.join(", ")));
    }
    Ok(Toleration {
        key: Some(key.to_owned()),
        operator: Some(if value.is_some() { "Equal" } else { "Exists" }.to_owned()),
        value: value.map(ToOwned::to_owned),
        effect: effect.map(ToOwned::to_owned),
        ..Toleration::default()
    })
}

const TAINT_EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Checks a duration, and returns its text.
fn duration_text(text: &str) -> Result<String, String> {
    duration(text).map(|_| text.to_owned())
}

/// Parses a duration with a unit: `250ms`, `15s`, `5m`, `24h`.
fn duration(text: &str) -> Result<Duration, String> {
    let expected = || "expected a number with its unit, such as 250ms, 15s, 5m or 24h".to_owned();
    let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(expected)?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| expected())?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(expected()),
    };
    match number.checked_mul(milliseconds) {
        Some(0) | None => Err("expected a duration greater than zero and less than 2^64 ms".to_owned()),
        Some(milliseconds) => Ok(Duration::from_millis(milliseconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_needs_a_unit() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("24h"), Ok(Duration::from_secs(86_400)));
        for wrong in ["", "5", "m", "0s", "-1s", "1.5s", "5 m", "99999999999999999h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_namespace_is_a_dns_label() {
        assert_eq!(namespace("kubefoundry-system"), Ok("kubefoundry-system".to_owned()));
        for wrong in ["", "-a", "a-", "A", "a.b", "a b", &"a".repeat(64)] {
            assert!(namespace(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_toleration_is_a_taint() {
        let parsed = |text: &str| {
            let toleration = toleration(text).unwrap();
            let text = |part: Option<String>| part.unwrap_or_default();
            [toleration.key, toleration.operator, toleration.value, toleration.effect].map(text)
        };
        assert_eq!(parsed("gpu"), ["gpu", "Exists", "", ""]);
        assert_eq!(parsed("gpu=a100"), ["gpu", "Equal", "a100", ""]);
        assert_eq!(parsed("gpu=:NoExecute"), ["gpu", "Equal", "", "NoExecute"]);
        assert_eq!(parsed("gpu:NoSchedule"), ["gpu", "Exists", "", "NoSchedule"]);
        for wrong in ["", "=a", "gpu:Never", ":NoSchedule"] {
            assert!(toleration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_command_line_is_valid() {
        use clap::CommandFactory as _;
        Arguments::command().debug_assert();
    }
}
