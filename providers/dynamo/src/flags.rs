//! The flags that Dynamo's serving modes need, per engine (docs/design/0012; upstream `examples/backends/*/deploy`).
//! A flag that the user sets wins.

use kubefoundry_deployment::wire::ModelDeployment;
use serde_json::{Value, json};

use super::backend::DynamoEngine;
use super::overrides::StackFlag;
use super::trtllm;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, Role};
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_engines::{ArgumentValue, Invocation};
use kubefoundry_provider::nixl;
use kubefoundry_provider::releases::Release;
use kubefoundry_yaml::field_path::FieldPath;

/// The stack that a worker is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkerStack<'s> {
    pub(super) engine: DynamoEngine,
    pub(super) role: Role,
    /// The Dynamo release whose flags the worker takes.
    pub(super) release: &'static Release,
    /// Flags that are not added.
    pub(super) omitted: &'s [StackFlag],
    /// The field that makes the frontend route requests by the content of KV caches, if it does.
    pub(super) kv_routing: Option<&'s FieldPath>,
}

/// The port of SGLang's bootstrap server, as in the upstream examples. Without it, Dynamo chooses a random port.
const BOOTSTRAP_PORT: u32 = 12345;
/// SGLang's KV page in tokens, as in the upstream examples. Prefill and decode must agree on it, and prefix matching in
/// the router needs more than the default of 1.
const PAGE_SIZE_TOKENS: u32 = 16;

/// Adds the flags that the stack needs to a worker's flags, except those that are omitted. Returns the omitted ones that
/// would have been added, or `None` after reporting a conflict.
pub(super) fn add_stack_flags(
    invocation: &mut Invocation,
    stack: WorkerStack<'_>,
    deployment: &Deployment,
    findings: &mut Findings<'_>,
) -> Option<Vec<StackFlag>> {
    let mut omitted = Vec::new();
    // Decode workers publish nothing: the router matches prompts against the caches of the workers that read prompts.
    let publishes = stack.kv_routing.filter(|_| stack.role != Role::Decode);
    // Prefill and decode have the same user flags, so only prefill reports conflicts.
    let is_valid = stack.role == Role::Decode
        || [
            check_mode_is_unset(invocation, findings),
            publishes.is_none_or(|path| check_prefix_caching(path, invocation, stack, deployment, findings)),
            stack.engine != DynamoEngine::Sglang || check_sglang_flags(invocation, stack, findings),
        ] == [true; 3];
    let is_valid = is_valid
        & (stack.engine != DynamoEngine::Vllm || nixl::complete_transfer_config(invocation, stack.role, findings))
        & publishes.is_none_or(|path| check_published_events(path, invocation, stack, findings));
    if stack.role != Role::Aggregated {
        add_disaggregation_flags(invocation, stack, &mut omitted);
    }
    if publishes.is_some() {
        publish_kv_events(invocation, stack, &mut omitted);
    }
    if stack.engine == DynamoEngine::Sglang && (stack.role != Role::Aggregated || stack.kv_routing.is_some()) {
        stack.add(StackFlag::PageSize, ArgumentValue::Number(PAGE_SIZE_TOKENS.into()), invocation, &mut omitted);
    }
    if stack.engine == DynamoEngine::Trtllm {
        let omits = stack.omitted.contains(&StackFlag::OverrideEngineArgs);
        let role = if omits { Role::Aggregated } else { stack.role };
        omitted.extend((omits && stack.role != Role::Aggregated).then_some(StackFlag::OverrideEngineArgs));
        trtllm::write_engine_config(invocation, role, findings)?;
    }
    is_valid.then_some(omitted)
}

impl WorkerStack<'_> {
    /// Adds a flag unless the user sets or omits it.
    fn add(self, flag: StackFlag, value: ArgumentValue, invocation: &mut Invocation, omitted: &mut Vec<StackFlag>) {
        if invocation.get(flag.as_str()).is_some() {
            return;
        }
        if self.omitted.contains(&flag) {
            omitted.push(flag);
        } else {
            invocation.set_default(flag.as_str(), value);
        }
    }
}

/// Reports `--disaggregation-mode`. Both roles share the user's flags but need different values, so `spec.serving.mode`
/// sets it.
fn check_mode_is_unset(invocation: &Invocation, findings: &mut Findings<'_>) -> bool {
    let Some(argument) = invocation.get("disaggregation-mode") else {
        return true;
    };
    let message = format!("{} sets --disaggregation-mode, which is already set from spec.serving.mode", argument.path);
    findings
        .report(&codes::RESERVED_ARGUMENT, &argument.path, message)
        .help("remove it, and set spec.serving.mode: disaggregated with spec.scaling.prefill and spec.scaling.decode");
    false
}

/// Reports flags on which `dynamo.sglang` exits, and a `--host` that decode workers could not reach.
fn check_sglang_flags(invocation: &Invocation, stack: WorkerStack<'_>, findings: &mut Findings<'_>) -> bool {
    // Two tool-call parsers would both parse the calls. Since 1.3.0 two reasoning parsers are allowed: SGLang's then
    // guides decoding (`_validate_parser_flags` in dynamo/sglang/args.py of 1.2.1 and 1.3.1).
    let pairs: &[(&str, &str)] = if stack.release.is_before("1.3.0") {
        &[("tool-call-parser", "dyn-tool-call-parser"), ("reasoning-parser", "dyn-reasoning-parser")]
    } else {
        &[("tool-call-parser", "dyn-tool-call-parser")]
    };
    let mut is_valid = true;
    for (engine_flag, dynamo_flag) in pairs {
        if let (Some(first), Some(second)) = (invocation.get(engine_flag), invocation.get(dynamo_flag)) {
            let message =
                format!("--{dynamo_flag} and --{engine_flag} exclude each other: with both, the worker exits");
            findings
                .report(&codes::FLAG_NOT_ACCEPTED, FieldRef::key(&second.path), message)
                .related(FieldRef::key(&first.path), "set here")
                .help(format!("remove --{engine_flag}: with --{dynamo_flag} the frontend does the parsing"));
            is_valid = false;
        }
    }
    let host = invocation.get("host").filter(|_| stack.role != Role::Aggregated);
    if let Some(argument) = host
        && !matches!(&argument.value, ArgumentValue::Text(host) if host == "0.0.0.0" || host == "::")
    {
        let message = "--host must be 0.0.0.0 in disaggregated mode: decode workers reach the bootstrap server at \
                       this address";
        findings.report(&codes::RESERVED_ARGUMENT, FieldRef::key(&argument.path), message).help("remove the flag");
        is_valid = false;
    }
    is_valid
}

/// Adds the flags of a role in disaggregated mode.
fn add_disaggregation_flags(invocation: &mut Invocation, stack: WorkerStack<'_>, omitted: &mut Vec<StackFlag>) {
    let text = |value: &str| ArgumentValue::Text(value.to_owned());
    stack.add(StackFlag::DisaggregationMode, text(stack.role.as_str()), invocation, omitted);
    match stack.engine {
        DynamoEngine::Vllm => {
            if let Some(transfer) = nixl::transfer_config(stack.role) {
                stack.add(StackFlag::KvTransferConfig, ArgumentValue::Json(transfer), invocation, omitted);
            }
        }
        DynamoEngine::Sglang => {
            stack.add(StackFlag::DisaggregationTransferBackend, text("nixl"), invocation, omitted);
            let port = ArgumentValue::Number(BOOTSTRAP_PORT.into());
            stack.add(StackFlag::DisaggregationBootstrapPort, port, invocation, omitted);
            // The bootstrap server binds this address. The default, 127.0.0.1, is unreachable for decode workers.
            stack.add(StackFlag::Host, text("0.0.0.0"), invocation, omitted);
        }
        DynamoEngine::Trtllm => {}
    }
}

/// Adds the flag that makes a worker publish KV cache events. Without events a KV router knows no cache, and does not
/// fall back to predictions (router overview of Dynamo's documentation).
fn publish_kv_events(invocation: &mut Invocation, stack: WorkerStack<'_>, omitted: &mut Vec<StackFlag>) {
    let (flag, value) = match stack.engine {
        DynamoEngine::Vllm => {
            let events = json!({
                "publisher": "zmq",
                "topic": "kv-events",
                "endpoint": "tcp://*:20080",
                "enable_kv_cache_events": true
            });
            (StackFlag::KvEventsConfig, ArgumentValue::Json(events))
        }
        DynamoEngine::Sglang => {
            let events = json!({"publisher": "zmq", "topic": "kv-events", "endpoint": "tcp://*:5557"});
            (StackFlag::KvEventsConfig, ArgumentValue::Json(events))
        }
        DynamoEngine::Trtllm => {
            // 1.3.0 renamed it.
            let is_old = stack.release.is_before("1.3.0");
            let flag = if is_old { StackFlag::PublishEventsAndMetrics } else { StackFlag::PublishKvEvents };
            (flag, ArgumentValue::On)
        }
    };
    stack.add(flag, value, invocation, omitted);
}

/// Reports KV routing with a `kv-events-config` of the user that leaves the events of vLLM off, as its default does.
fn check_published_events(
    path: &FieldPath,
    invocation: &Invocation,
    stack: WorkerStack<'_>,
    findings: &mut Findings<'_>,
) -> bool {
    let Some(argument) = invocation.get("kv-events-config").filter(|_| stack.engine == DynamoEngine::Vllm) else {
        return true;
    };
    let ArgumentValue::Json(Value::Object(settings)) = &argument.value else { return true };
    if settings.get("enable_kv_cache_events") == Some(&Value::Bool(true)) {
        return true;
    }
    let message = format!("{path} is kv, but --kv-events-config does not enable KV cache events");
    findings
        .report(&codes::KV_ROUTING_WITHOUT_PREFIX_CACHE, path, message)
        .related(&argument.path, "events are off here")
        .help("add \"enable_kv_cache_events\": true to the object, or remove the flag: it is set for KV routing");
    false
}

/// Reports KV routing without prefix caching: Dynamo would drop the events of the workers and mention it only in its
/// log.
fn check_prefix_caching(
    path: &FieldPath,
    invocation: &Invocation,
    stack: WorkerStack<'_>,
    deployment: &Deployment,
    findings: &mut Findings<'_>,
) -> bool {
    let Some(cause) = find_disabled_prefix_cache(invocation, stack.engine, deployment) else {
        return true;
    };
    let message = format!("{path} is kv, but {cause} turns prefix caching off");
    findings
        .report(&codes::KV_ROUTING_WITHOUT_PREFIX_CACHE, path, message)
        .related(&cause, "prefix caching is turned off here")
        .help(format!("remove {cause}: a KV router looks for the worker that has the prefix of a prompt in its cache"));
    false
}

/// Finds the field that turns prefix caching off.
fn find_disabled_prefix_cache(
    invocation: &Invocation,
    engine: DynamoEngine,
    deployment: &Deployment,
) -> Option<FieldPath> {
    let typed_field = || FieldPath::from(ModelDeployment::path().spec().engine().enable_prefix_caching());
    if deployment.engine.enable_prefix_caching.is_some_and(|enabled| !enabled.value) {
        return Some(typed_field());
    }
    match engine {
        DynamoEngine::Vllm => {
            let argument = invocation.get("enable-prefix-caching")?;
            matches!(argument.value, ArgumentValue::Off(_)).then(|| argument.path.clone())
        }
        DynamoEngine::Sglang => {
            let argument = invocation.get("disable-radix-cache")?;
            matches!(argument.value, ArgumentValue::On).then(|| argument.path.clone())
        }
        DynamoEngine::Trtllm => {
            let reuse = invocation.engine_config.get("kv_cache_config")?.get("enable_block_reuse")?;
            let path = invocation.key_path(&["kv_cache_config", "enable_block_reuse"])?;
            (reuse == &Value::Bool(false)).then(|| path.clone())
        }
    }
}
