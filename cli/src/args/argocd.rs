//! The commands below `argocd`.

use clap::Subcommand;

pub(super) const EXAMPLES: &str = "\
Argo CD runs these commands in the application's directory. They read their parameters from the environment: \
ARGOCD_APP_PARAMETERS, PARAM_* and ARGOCD_ENV_*.

Examples:
  kubefoundry argocd generate
  ARGOCD_ENV_RUNTIMES=dynamo=1.4.0 kubefoundry argocd generate";

const GENERATE_EXAMPLES: &str = "\
Examples:
  kubefoundry argocd generate
  ARGOCD_ENV_RUNTIMES=dynamo=1.4.0 kubefoundry argocd generate";

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum ArgoCdCommand {
    /// Print the manifests of the application; on failure, print nothing
    #[command(after_help = GENERATE_EXAMPLES)]
    Generate,
    /// Print the files that kubefoundry can render, if any
    #[command(after_help = "Examples:\n  kubefoundry argocd discover")]
    Discover,
    /// Print the available parameters for the Argo CD UI
    #[command(after_help = "Examples:\n  kubefoundry argocd params")]
    Params,
}
