//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};

use crate::recreation::RecreationPolicy;
use crate::role::Role;

/// Runs ModelDeployments in a Kubernetes cluster: applies the objects of the provider that serves each model.
#[derive(Debug, Parser)]
#[command(name = "kubefoundry-operator", version, about, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "a process has one value of it")]
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

/// Flags of `run`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    /// Roles that this process runs, separated by commas; all of them by default
    #[arg(long, value_name = "ROLE", value_delimiter = ',', value_parser = Role::parse)]
    pub(crate) roles: Vec<Role>,
    /// API groups whose ModelDeployments the operator serves, separated by commas
    #[arg(long, value_name = "GROUP", value_delimiter = ',', default_value = "kubefoundry.ai", value_parser = group)]
    pub(crate) groups: Vec<&'static ApiGroup>,
    /// A file with Render options (config.kubefoundry.ai/v1alpha1), such as a mounted ConfigMap
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Listen address of the admission webhooks
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:9443")]
    pub(crate) webhook_address: SocketAddr,
    /// Service through which the API server reaches the webhooks
    #[arg(long, value_name = "NAME", default_value = "kubefoundry-webhooks")]
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
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080")]
    pub(crate) metrics_address: SocketAddr,
    /// Listen address for the probes /healthz and /readyz
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8081")]
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
    /// How many deployments of a provider are recreated at a time, if no edit of theirs is the reason
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

/// Options of the manifests.
#[derive(Debug, Clone, Args)]
pub(crate) struct Package {
    /// Image of the operator; by default `kubefoundry-operator` with the version as its tag
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// Run all roles in one Deployment, or split them into several
    #[arg(long, value_enum, default_value_t = Layout::All)]
    pub(crate) roles: Layout,
    /// Replicas of each Deployment; more than one adds a PodDisruptionBudget
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) replicas: u16,
    /// API groups whose ModelDeployments the operator serves, separated by commas
    #[arg(long, value_name = "GROUP", value_delimiter = ',', default_value = "kubefoundry.ai", value_parser = group)]
    pub(crate) groups: Vec<&'static ApiGroup>,
    /// Leave out the admission webhooks
    #[arg(long)]
    pub(crate) no_webhooks: bool,
    /// Handling of a ModelDeployment while no webhook answers: refuse it, or store it and report errors in its status
    #[arg(long, value_enum, default_value_t = FailurePolicy::Fail, conflicts_with = "no_webhooks")]
    pub(crate) failure_policy: FailurePolicy,
    /// Refuse a ModelDeployment if its user may not create the provider's objects (SubjectAccessReview)
    #[arg(long, conflicts_with = "no_webhooks")]
    pub(crate) check_access: bool,
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

/// The distribution of roles to Deployments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
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
fn group(name: &str) -> Result<&'static ApiGroup, String> {
    let candidates = || API_GROUPS.iter().filter(|api_group| api_group.has_crds);
    candidates().find(|api_group| api_group.name == name).ok_or_else(|| {
        let names: Vec<&str> = candidates().map(|api_group| api_group.name).collect();
        format!("expected {}", names.join(" or "))
    })
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
    fn the_command_line_is_valid() {
        use clap::CommandFactory as _;
        Arguments::command().debug_assert();
    }
}
