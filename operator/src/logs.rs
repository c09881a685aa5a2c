//! Log lines: text or JSON, on standard error.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

use crate::args::LogFormat;

/// What the client says of itself is said by us, once: it repeats itself on each try.
const QUIET: &str = "kube_client=off,kube_runtime=off";

/// Starts logging.
///
/// # Errors
/// When the filter cannot be read.
pub(crate) fn start(format: LogFormat, filter: &str) -> Result<(), ParseError> {
    let filter = EnvFilter::try_new(directives(filter))?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => subscriber.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).init(),
        LogFormat::Json => subscriber.json().flatten_event(true).with_current_span(false).with_span_list(false).init(),
    }
    Ok(())
}

/// The filter as given, after ours: what it says of the client wins.
fn directives(filter: &str) -> String {
    format!("{QUIET},{filter}")
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
