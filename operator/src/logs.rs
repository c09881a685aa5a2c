//! Log lines: text or JSON, on standard error.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

use crate::args::LogFormat;

/// Turns off the logs of kube, which repeat an error on each retry. The operator logs each error once.
const QUIET_KUBE: &str = "kube_client=off,kube_runtime=off";

/// Installs the global log subscriber.
///
/// # Errors
/// When the filter is invalid.
pub(crate) fn start(format: LogFormat, filter: &str) -> Result<(), ParseError> {
    let filter = EnvFilter::try_new(directives(filter))?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => subscriber.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).init(),
        LogFormat::Json => subscriber.json().flatten_event(true).with_current_span(false).with_span_list(false).init(),
    }
    Ok(())
}

/// Joins the operator's filter directives and the user's, which come last and so take precedence.
fn directives(filter: &str) -> String {
    format!("{QUIET_KUBE},{filter}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_a_level_or_directives() {
        for filter in ["info", "kubefoundry_operator=debug,kube_client=trace"] {
            EnvFilter::try_new(directives(filter)).unwrap();
        }
        assert!(EnvFilter::try_new(directives("kubefoundry_operator=loud")).is_err());
    }
}
