//! What the program is asked to do.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};

use crate::role::Role;

/// Turns ModelDeployments into the objects of the serving stack that runs them, in a cluster.
#[derive(Debug, Parser)]
#[command(name = "kubefoundry-operator", version, about, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one of it in a process")]
pub(crate) enum Command {
    /// Run the operator, all of it or some roles
    Run(Run),
    /// Print the objects that the operator needs in a cluster
    Manifests(Manifests),
    /// Apply those objects to a cluster
    Install(Install),
    /// Apply those of this version over an older one, and remove what is not needed any more
    Upgrade(Install),
    /// Remove them from a cluster; CRDs and ModelDeployments stay unless asked for
    Uninstall(Uninstall),
}

/// How to reach the cluster.
#[derive(Debug, Clone, Args)]
pub(crate) struct Cluster {
    /// Path of a kubeconfig; without it KUBECONFIG, then the pod's own account
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// The operator's own namespace
    #[arg(long, value_name = "NAME", default_value = "kubefoundry-system", value_parser = namespace)]
    pub(crate) namespace: String,
}

/// How the operator runs.
#[derive(Debug, Clone, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    /// Roles of this process, with commas; all of them by default
    #[arg(long, value_name = "ROLE", value_delimiter = ',', value_parser = Role::parse)]
    pub(crate) roles: Vec<Role>,
    /// API groups whose ModelDeployments are taken, with commas
    #[arg(long, value_name = "GROUP", value_delimiter = ',', default_value = "kubefoundry.ai", value_parser = group)]
    pub(crate) groups: Vec<&'static ApiGroup>,
    /// A file with Render options (config.kubefoundry.ai/v1alpha1), such as a mounted ConfigMap
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where the admission webhooks listen
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:9443")]
    pub(crate) webhook_address: SocketAddr,
    /// The Service through which the apiserver reaches the webhooks
    #[arg(long, value_name = "NAME", default_value = "kubefoundry-webhooks")]
    pub(crate) webhook_service: String,
    /// Where the apiserver reaches the webhooks instead, as a URL; for tests and for running outside of the cluster
    #[arg(long, value_name = "URL")]
    pub(crate) webhook_url: Option<String>,
    /// How long a certificate of the webhooks is valid; it is renewed after two thirds of that
    #[arg(long, value_name = "TIME", default_value = "2160h", value_parser = duration)]
    pub(crate) certificate_lifetime: Duration,
    /// Ask the apiserver whether the user who writes a ModelDeployment may create the provider's objects
    #[arg(long)]
    pub(crate) check_access: bool,
    /// Where metrics are served
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080")]
    pub(crate) metrics_address: SocketAddr,
    /// Where health is served
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8081")]
    pub(crate) health_address: SocketAddr,
    /// Work without a Lease: only where one replica at most runs
    #[arg(long)]
    pub(crate) no_leader_election: bool,
    /// How long a leader is believed without news
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = duration)]
    pub(crate) lease_duration: Duration,
    /// How long to wait for an object to be gone before it is given up
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) finalizer_timeout: Duration,
    /// How long an upstream status that should change may stay the same
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) stale_after: Duration,
    /// How often a provider says that it is alive
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) heartbeat_interval: Duration,
    /// After how long without a heartbeat a provider is not selected any more
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration)]
    pub(crate) heartbeat_timeout: Duration,
    /// How often everything is looked at again without a reason
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    pub(crate) resync: Duration,
    /// How many deployments are worked on at a time
    #[arg(long, value_name = "NUMBER", default_value_t = 16)]
    pub(crate) concurrency: u16,
    /// What log lines look like
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
    /// What is logged: a level, or directives of tracing-subscriber
    #[arg(long, value_name = "FILTER", default_value = "info")]
    pub(crate) log: String,
}

/// What log lines look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One line of text for people
    Text,
    /// One JSON object a line
    Json,
}

/// What is printed or applied.
#[derive(Debug, Clone, Args)]
pub(crate) struct Package {
    /// The operator's image; by default `kubefoundry-operator` with the version as its tag
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// Whether all roles run in one Deployment or are split into several
    #[arg(long, value_enum, default_value_t = Layout::All)]
    pub(crate) roles: Layout,
    /// Replicas of each Deployment; more than one adds a PodDisruptionBudget
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) replicas: u16,
    /// API groups whose ModelDeployments are taken, with commas
    #[arg(long, value_name = "GROUP", value_delimiter = ',', default_value = "kubefoundry.ai", value_parser = group)]
    pub(crate) groups: Vec<&'static ApiGroup>,
    /// Leave the admission webhooks out
    #[arg(long)]
    pub(crate) no_webhooks: bool,
    /// What becomes of a ModelDeployment while no webhook answers: it is refused, or checked later
    #[arg(long, value_enum, default_value_t = FailurePolicy::Fail, conflicts_with = "no_webhooks")]
    pub(crate) failure_policy: FailurePolicy,
    /// Let the webhooks ask whether the user who writes a ModelDeployment may create the provider's objects
    #[arg(long, conflicts_with = "no_webhooks")]
    pub(crate) check_access: bool,
}

/// What the apiserver does while no webhook answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailurePolicy {
    /// It refuses what should be validated
    Fail,
    /// It stores it; the operator says in the status what is wrong
    Ignore,
}

impl FailurePolicy {
    /// As Kubernetes writes it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Fail => "Fail",
            Self::Ignore => "Ignore",
        }
    }
}

/// Which roles run together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layout {
    /// All of them in one Deployment
    All,
    /// Webhooks and core, the selector and each provider in Deployments of their own
    Split,
}

/// Where what is printed would go.
#[derive(Debug, Clone, Args)]
pub(crate) struct Manifests {
    /// The operator's own namespace
    #[arg(long, value_name = "NAME", default_value = "kubefoundry-system", value_parser = namespace)]
    pub(crate) namespace: String,
    #[command(flatten)]
    pub(crate) package: Package,
}

/// What is applied, and where.
#[derive(Debug, Clone, Args)]
pub(crate) struct Install {
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    #[command(flatten)]
    pub(crate) package: Package,
    /// Ask the apiserver what it would do, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take over fields that others have set
    #[arg(long)]
    pub(crate) force_conflicts: bool,
}

/// What is removed, and where.
#[derive(Debug, Clone, Args)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    /// Say what would be removed, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove the CRDs as well; refused while there is a ModelDeployment or a provider's configuration that is not ours
    #[arg(long)]
    pub(crate) delete_crds: bool,
    /// Remove the namespace as well, with everything that is in it
    #[arg(long)]
    pub(crate) delete_namespace: bool,
}

/// A name that a namespace can have: a DNS label.
fn namespace(name: &str) -> Result<String, String> {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = name.len() <= 63
        && name.starts_with(alphanumeric)
        && name.ends_with(alphanumeric)
        && name.chars().all(|c| alphanumeric(c) || c == '-');
    let expected = "expected lower case letters, digits and dashes, at most 63, with a letter or digit at both ends";
    is_label.then(|| name.to_owned()).ok_or_else(|| expected.to_owned())
}

fn group(name: &str) -> Result<&'static ApiGroup, String> {
    let ours = || API_GROUPS.iter().filter(|api_group| api_group.has_crds);
    ours().find(|api_group| api_group.name == name).ok_or_else(|| {
        let names: Vec<&str> = ours().map(|api_group| api_group.name).collect();
        format!("expected {}", names.join(" or "))
    })
}

/// A time with its unit: `250ms`, `15s`, `5m`, `24h`.
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
        Some(0) | None => Err("expected more than nothing, and less than forever".to_owned()),
        Some(milliseconds) => Ok(Duration::from_millis(milliseconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit() {
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
    fn the_command_line_is_sound() {
        use clap::CommandFactory as _;
        Arguments::command().debug_assert();
    }
}
