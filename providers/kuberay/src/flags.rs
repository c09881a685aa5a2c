//! Checks of vLLM's flags that `engine_kwargs` cannot carry, and the flags on which Ray's own settings depend.

use kubefoundry_deployment::codes;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_engines::{Argument, ArgumentValue, Invocation};

/// The flags of vLLM's own program. No keyword argument has these names (`AsyncEngineArgs` and `FrontendArgs` of vLLM
/// 0.22.0), and Ray Serve fails the application on an unknown one (`VLLMEngineConfig.from_llm_config` of Ray 2.56.0).
const PROGRAM_FLAGS: &[&str] = &["api-server-count", "config", "grpc", "headless"];

/// The flags of vLLM's HTTP server, which does not run under Ray Serve. Ray Serve would accept them without effect,
/// which is worst for `api-key`.
const SERVER_FLAGS: &[&str] = &[
    "allow-credentials",
    "allowed-headers",
    "allowed-methods",
    "allowed-origins",
    "api-key",
    "disable-access-log-for-endpoints",
    "disable-fastapi-docs",
    "disable-uvicorn-access-log",
    "enable-offline-docs",
    "enable-request-id-headers",
    "enable-ssl-refresh",
    "h11-max-header-count",
    "h11-max-incomplete-event-size",
    "host",
    "log-config-file",
    "middleware",
    "port",
    "root-path",
    "ssl-ca-certs",
    "ssl-cert-reqs",
    "ssl-certfile",
    "ssl-ciphers",
    "ssl-keyfile",
    "uds",
    "uvicorn-log-level",
];

/// Reports the flags that Ray Serve cannot pass on. Returns whether there are none.
pub(super) fn check_flags(invocation: &Invocation, findings: &mut Findings<'_>) -> bool {
    let refused: Vec<(&Argument, &str)> = invocation
        .arguments
        .iter()
        .filter_map(|argument| {
            let name = argument.name.as_str();
            let help = if PROGRAM_FLAGS.contains(&name) {
                "remove the flag: ray.serve.llm runs vLLM as a library, not as vllm serve"
            } else if SERVER_FLAGS.contains(&name) {
                "remove the flag: Ray Serve is the HTTP server, on port 8000 without an API key or TLS"
            } else if name == "distributed-executor-backend" && argument.value != ArgumentValue::Text("ray".to_owned())
            {
                "remove the flag: Ray runs the ranks of a model as Ray actors"
            } else {
                return None;
            };
            Some((argument, help))
        })
        .collect();
    for (Argument { name, path, .. }, help) in &refused {
        let message = format!("ray.serve.llm does not accept the flag --{name}");
        findings.report(&codes::FLAG_NOT_ACCEPTED, FieldRef::key(path), message).help(*help);
    }
    refused.is_empty()
}

/// Returns whether vLLM's statistics are off. Ray then refuses to export them
/// (`LLMConfig._check_log_stats_with_metrics`).
pub(super) fn has_statistics_off(invocation: &Invocation) -> bool {
    invocation.get("disable-log-stats").is_some_and(|argument| argument.value == ArgumentValue::On)
}
