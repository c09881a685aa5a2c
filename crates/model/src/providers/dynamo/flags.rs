//! The flags that Dynamo's serving modes need, per engine (docs/design/0012; upstream `examples/backends/*/deploy`).
//! What the user said on a flag wins.

use crate::wire::ModelDeployment;
use serde_json::{Value, json};

use super::backend::Engine;
use super::overrides;
use super::trtllm;
use crate::codes;
use crate::engines::{ArgumentValue, Invocation};
use crate::ir::{Deployment, Role};
use crate::providers::nixl;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_yaml::field_path::FieldPath;

/// What a worker is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stack<'v> {
    /// The engine.
    pub(super) engine: Engine,
    /// What the worker does.
    pub(super) role: Role,
    /// The Dynamo runtime version.
    pub(super) version: &'v str,
    /// Whether the frontend routes by KV caches.
    pub(super) kv_routing: bool,
}

/// Port of SGLang's bootstrap server, as in upstream's examples; without it Dynamo takes a random one.
const BOOTSTRAP_PORT: u32 = 12345;
/// SGLang's KV page in tokens, as in upstream's examples: prefill and decode must agree on one, and a router that
/// matches prefixes needs more than the default of 1.
const PAGE_SIZE: u32 = 16;

/// Adds what the stack needs to a worker's flags. `None` means that findings say why that is impossible.
pub(super) fn complete(
    invocation: &mut Invocation,
    stack: Stack<'_>,
    deployment: &Deployment,
    findings: &mut Findings<'_>,
) -> Option<()> {
    let publishes = stack.kv_routing && stack.role != Role::Decode;
    // One report is enough: the flags of decode are those of prefill.
    let possible = stack.role == Role::Decode
        || [
            mode_is_free(invocation, findings),
            !publishes || prefixes_cached(invocation, stack, deployment, findings),
            stack.engine != Engine::Sglang || sglang_agrees(invocation, stack, findings),
        ] == [true; 3];
    if stack.role != Role::Aggregated {
        disaggregate(invocation, stack);
    }
    if publishes {
        publish_kv_events(invocation, stack);
    }
    if stack.engine == Engine::Sglang && (stack.role != Role::Aggregated || stack.kv_routing) {
        invocation.set_default("page-size", ArgumentValue::Number(PAGE_SIZE.into()));
    }
    if stack.engine == Engine::Trtllm {
        trtllm::write_engine_config(invocation, stack.role, findings)?;
    }
    possible.then_some(())
}

/// `--disaggregation-mode` is `spec.serving.mode`'s: the same value for both roles can only be wrong.
fn mode_is_free(invocation: &Invocation, findings: &mut Findings<'_>) -> bool {
    let Some(argument) = invocation.get("disaggregation-mode") else {
        return true;
    };
    let message = format!("{} sets --disaggregation-mode, which is already set from spec.serving.mode", argument.path);
    findings
        .report(&codes::RESERVED_ARGUMENT, &argument.path, message)
        .help("remove it, and set spec.serving.mode: disaggregated with scaling.prefill and scaling.decode");
    false
}

/// What `dynamo.sglang` exits on, and what would leave decode workers without their prefill worker.
fn sglang_agrees(invocation: &Invocation, stack: Stack<'_>, findings: &mut Findings<'_>) -> bool {
    // Both parsers of tool calls would build them. Parsers of reasoning may be paired since 1.4.0: SGLang's then guides
    // decoding (`_validate_parser_flags` in dynamo/sglang/args.py).
    let pairs: &[(&str, &str)] = if stack.version == "1.1.1" {
        &[("tool-call-parser", "dyn-tool-call-parser"), ("reasoning-parser", "dyn-reasoning-parser")]
    } else {
        &[("tool-call-parser", "dyn-tool-call-parser")]
    };
    let mut fine = true;
    for (engines, dynamos) in pairs {
        if let (Some(first), Some(second)) = (invocation.get(engines), invocation.get(dynamos)) {
            let message = format!("--{dynamos} and --{engines} exclude each other: with both, the worker exits");
            findings
                .report(&codes::FLAG_NOT_ACCEPTED, FieldRef::key(&second.path), message)
                .related(FieldRef::key(&first.path), "set here")
                .help(format!("remove --{engines}: with --{dynamos} the frontend parses"));
            fine = false;
        }
    }
    let host = invocation.get("host").filter(|_| stack.role != Role::Aggregated);
    if let Some(argument) = host
        && !matches!(&argument.value, ArgumentValue::Text(host) if host == "0.0.0.0" || host == "::")
    {
        let message = "--host must be 0.0.0.0 in disaggregated mode: decode workers reach the bootstrap server at \
                       this address";
        findings.report(&codes::RESERVED_ARGUMENT, FieldRef::key(&argument.path), message).help("remove the flag");
        fine = false;
    }
    fine
}

fn disaggregate(invocation: &mut Invocation, stack: Stack<'_>) {
    let text = |value: &str| ArgumentValue::Text(value.to_owned());
    invocation.set_default("disaggregation-mode", text(stack.role.as_str()));
    match stack.engine {
        Engine::Vllm => {
            if let Some(transfer) = nixl::transfer_config(stack.role) {
                invocation.set_default("kv-transfer-config", ArgumentValue::Json(transfer));
            }
        }
        Engine::Sglang => {
            invocation.set_default("disaggregation-transfer-backend", text("nixl"));
            invocation.set_default("disaggregation-bootstrap-port", ArgumentValue::Number(BOOTSTRAP_PORT.into()));
            // The bootstrap server binds it, and its default is 127.0.0.1.
            invocation.set_default("host", text("0.0.0.0"));
        }
        Engine::Trtllm => {}
    }
}

/// Without events a KV router knows of no cache and does not fall back to guessing
/// (router overview of Dynamo's documentation).
fn publish_kv_events(invocation: &mut Invocation, stack: Stack<'_>) {
    match stack.engine {
        Engine::Vllm => {
            let events = json!({
                "publisher": "zmq",
                "topic": "kv-events",
                "endpoint": "tcp://*:20080",
                "enable_kv_cache_events": true
            });
            invocation.set_default("kv-events-config", ArgumentValue::Json(events));
        }
        Engine::Sglang => {
            let events = json!({"publisher": "zmq", "topic": "kv-events", "endpoint": "tcp://*:5557"});
            invocation.set_default("kv-events-config", ArgumentValue::Json(events));
        }
        Engine::Trtllm => {
            let flag = if stack.version == "1.1.1" { "publish-events-and-metrics" } else { "publish-kv-events" };
            invocation.set_default(flag, ArgumentValue::On);
        }
    }
}

/// KV routing needs prefix caches: Dynamo drops the events of a worker without one, and says so only in its log.
fn prefixes_cached(
    invocation: &Invocation,
    stack: Stack<'_>,
    deployment: &Deployment,
    findings: &mut Findings<'_>,
) -> bool {
    let Some(cause) = prefix_cache_switch(invocation, stack.engine, deployment) else {
        return true;
    };
    let path = overrides::path().router_mode();
    let message = format!("{path} is kv, but {cause} turns prefix caching off");
    findings
        .report(&codes::KV_ROUTING_WITHOUT_PREFIX_CACHE, &path, message)
        .related(&cause, "prefix caching is turned off here")
        .help(format!("remove {cause}: a KV router looks for the worker that has the prefix of a prompt in its cache"));
    false
}

/// The field that turns prefix caching off, if one does.
fn prefix_cache_switch(invocation: &Invocation, engine: Engine, deployment: &Deployment) -> Option<FieldPath> {
    let typed = || FieldPath::from(ModelDeployment::path().spec().engine().enable_prefix_caching());
    if deployment.engine.enable_prefix_caching.is_some_and(|enabled| !enabled.value) {
        return Some(typed());
    }
    match engine {
        Engine::Vllm => {
            let argument = invocation.get("enable-prefix-caching")?;
            matches!(argument.value, ArgumentValue::Off(_)).then(|| argument.path.clone())
        }
        Engine::Sglang => {
            let argument = invocation.get("disable-radix-cache")?;
            matches!(argument.value, ArgumentValue::On).then(|| argument.path.clone())
        }
        Engine::Trtllm => {
            let reuse = invocation.engine_config.get("kv_cache_config")?.get("enable_block_reuse")?;
            let path = invocation.key_path(&["kv_cache_config", "enable_block_reuse"])?;
            (reuse == &Value::Bool(false)).then(|| path.clone())
        }
    }
}
