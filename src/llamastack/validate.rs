//! From what was written to a server with everything decided: defaults, and every check of one distribution alone.
//!
//! Sources: the CRD, the operator's `controllers/resource_helper.go`, and `specs/001-deploy-time-providers-l1/spec.md`.

mod pod;
mod providers;

use super::options::Chosen;
use super::server::{Autoscaling, Budget, CaBundle, ContainerSpec, Network, Server};
use super::types::{ResourceClaim, Resources};
use super::{codes, options, wire};
use crate::diagnostic::codes as shared;
use crate::model::validate::checker::{Checker, text};
use crate::model::validate::environment::environment;
use crate::model::validate::image::image_reference;
use crate::model::validate::{Checked, labels, names, quantity};
use crate::options::Options;
use crate::path::FieldPath;
use crate::wire::{IntegerOrString, Map, closest, shorten};
use crate::yaml::{Node, Value};

/// The longest name: that of the Service ends in `-service`, and may have 63 characters.
const LONGEST_NAME: usize = 63 - "-service".len();

/// Checks a distribution. None when it has no name, or none that runs: a finding says so.
pub(super) fn validate(
    wire: &wire::LlamaStackDistribution,
    options: &Options,
    check: &mut Checker<'_, '_>,
) -> Option<Server> {
    let name = metadata(wire, check);
    let namespace = wire.metadata.as_ref().and_then(|metadata| text(metadata.namespace.as_deref()));
    let empty = wire::LlamaStackDistributionSpec::default();
    let spec = wire.spec.as_ref().unwrap_or(&empty);
    let nothing = wire::Server::default();
    let server = spec.server.as_ref().unwrap_or(&nothing);
    let path = FieldPath::parse("spec.server");
    let replicas = at_least(&FieldPath::parse("spec.replicas"), spec.replicas, 0, check).unwrap_or(1);
    let image = distribution(server.distribution.as_ref(), &path.join("distribution"), options, check);
    let container = container(server.container_spec.as_ref(), &path.join("containerSpec"), check);
    let workers = at_least(&path.join("workers"), server.workers, 1, check);
    let (storage, mount_path) = storage(server.storage.as_ref(), &path.join("storage"), check);
    let autoscaling = autoscaling(server.autoscaling.as_ref(), replicas, &path.join("autoscaling"), check);
    let budget = budget(server.pod_disruption_budget.as_ref(), &path.join("podDisruptionBudget"), check);
    let overrides = pod::overrides(server.pod_overrides.as_ref(), &path.join("podOverrides"), check);
    let spread = pod::spread(server.topology_spread_constraints.as_deref(), check);
    let user_config = user_config(server.user_config.as_ref(), namespace, &path.join("userConfig"), check);
    let ca_bundle = ca_bundle(server.tls_config.as_ref(), check);
    let network = network(spec.network.as_ref(), check);
    let providers = providers::providers(server.external_providers.as_ref(), options, check);
    let server = Server {
        name: name?,
        namespace: namespace.map(str::to_owned),
        replicas,
        image: image?,
        container,
        workers,
        mount_path,
        storage,
        service_account: overrides.service_account,
        grace_period: overrides.grace_period,
        volumes: overrides.volumes,
        volume_mounts: overrides.volume_mounts,
        autoscaling,
        budget,
        spread,
        user_config,
        ca_bundle,
        network,
        providers,
    };
    pod::clashes(&server, options, check);
    advice(&server, check);
    Some(server)
}

/// The name, from which those of all objects are derived; a Service's has to start with a letter.
fn metadata(wire: &wire::LlamaStackDistribution, check: &mut Checker<'_, '_>) -> Option<String> {
    let path = FieldPath::parse("metadata");
    let metadata = wire.metadata.as_ref();
    let name = metadata.and_then(|metadata| metadata.name.as_deref());
    check.required_name(&path.join("name"), name, names::dns_1035_label);
    let name = text(name)?;
    if names::dns_1035_label(name).is_ok() && name.len() > LONGEST_NAME {
        let length = name.len();
        let message = format!(
            "metadata.name has {length} characters, expected at most {LONGEST_NAME}: its Service is named {name}-service"
        );
        check.findings.report(&shared::NAME_TOO_LONG, &path.join("name"), message);
    }
    if let Some(namespace) = metadata.and_then(|metadata| text(metadata.namespace.as_deref())) {
        check.name(&path.join("namespace"), namespace, names::dns_1123_label);
    }
    Some(name.to_owned())
}

/// The image: that of a known distribution, or the one that is given.
fn distribution(
    wire: Option<&wire::Distribution>,
    path: &FieldPath,
    options: &Options,
    check: &mut Checker<'_, '_>,
) -> Option<String> {
    let name = wire.and_then(|wire| text(wire.name.as_deref()));
    let image = wire.and_then(|wire| text(wire.image.as_deref()));
    match (name, image) {
        (Some(_), Some(_)) => {
            let message = "Only one of name or image can be specified, found both in spec.server.distribution";
            check
                .findings
                .report(&codes::UNKNOWN_DISTRIBUTION, &path.join("image"), message)
                .help("keep image for an image of your own, name for a distribution that is known");
            None
        }
        (None, None) => {
            if check.absent_or_empty(&path.join("name")) && check.absent_or_empty(&path.join("image")) {
                let message = "spec.server.distribution has neither name nor image, expected one of them";
                let known = options.llama_stack.distributions().join(", ");
                check
                    .findings
                    .report(&codes::UNKNOWN_DISTRIBUTION, path, message)
                    .help(format!("name a distribution ({known}), or give an image"));
            }
            None
        }
        (None, Some(image)) => {
            check.expect(&shared::INVALID_IMAGE, &path.join("image"), image, image_reference(image));
            Some(options::pulled(options, image))
        }
        (Some(name), None) => {
            let Some(Chosen { image, is_default }) = options.llama_stack.distribution(name) else {
                unknown_distribution(name, &path.join("name"), options, check);
                return None;
            };
            if is_default {
                let message =
                    format!("the image of distribution {name} is {image}, and follows the version of kubefoundry");
                check.findings.report(&shared::UNPINNED_RUNTIME, &path.join("name"), message).help(format!(
                    "pin it: llamaStack: {{distributions: {{{name}: {image:?}}}}} in the Render options"
                ));
            }
            Some(options::pulled(options, &image))
        }
    }
}

fn unknown_distribution(name: &str, path: &FieldPath, options: &Options, check: &mut Checker<'_, '_>) {
    let known = options.llama_stack.distributions();
    let message = format!("{path} is {:?}, expected one of {}", shorten(name), known.join(", "));
    let reported = check.findings.report(&codes::UNKNOWN_DISTRIBUTION, path, message);
    match closest(name, known.iter().copied()) {
        Some(meant) => reported.help(format!("did you mean {meant:?}?")),
        None => reported.help(
            "add its image under llamaStack.distributions in the Render options, or give spec.server.distribution.image",
        ),
    };
}

fn container(wire: Option<&wire::ContainerSpec>, path: &FieldPath, check: &mut Checker<'_, '_>) -> ContainerSpec {
    let empty = wire::ContainerSpec::default();
    let wire = wire.unwrap_or(&empty);
    let name = text(wire.name.as_deref());
    if let Some(name) = name {
        check.name(&path.join("name"), name, names::dns_1123_label);
    }
    let port = wire.port.filter(|port| *port != 0).and_then(|port| {
        let fits = u16::try_from(port).ok();
        if fits.is_none() {
            let message = format!("{path}.port is {port}, expected a port from 1 to 65535");
            check.findings.report(&shared::OUT_OF_RANGE, &path.join("port"), message);
        }
        fits
    });
    let env = wire.env.clone().unwrap_or_default();
    environment(&path.join("env"), &env, check);
    ContainerSpec {
        name: name.unwrap_or("llama-stack").to_owned(),
        port,
        env,
        command: wire.command.clone().unwrap_or_default(),
        args: wire.args.clone().unwrap_or_default(),
        resources: resources(wire.resources.as_ref(), &path.join("resources"), check),
    }
}

fn resources(wire: Option<&wire::Resources>, path: &FieldPath, check: &mut Checker<'_, '_>) -> Resources {
    let mut resources = Resources::default();
    let Some(wire::Resources { claims, limits, requests }) = wire else { return resources };
    for (index, claim) in claims.iter().flatten().enumerate() {
        let path = path.join("claims").index(index).join("name");
        check.required_name(&path, claim.name.as_deref(), names::dns_1123_label);
        let name = claim.name.clone().unwrap_or_default();
        resources.claims.push(ResourceClaim { name, request: claim.request.clone() });
    }
    for (field, given, amounts) in
        [("limits", limits, &mut resources.limits), ("requests", requests, &mut resources.requests)]
    {
        let path = path.join(field);
        for (name, IntegerOrString(amount)) in given.iter().flat_map(|Map(given)| given) {
            check.expect_key(&shared::INVALID_LABEL, &path, name, labels::label_key(name));
            let at = path.key(name.clone());
            check.expect(&shared::INVALID_QUANTITY, &at, amount, quantity::quantity(amount));
            amounts.push(name, amount);
        }
    }
    resources
}

/// The size of the claim, where there is one, and where models and data are kept.
fn storage(wire: Option<&wire::Storage>, path: &FieldPath, check: &mut Checker<'_, '_>) -> (Option<String>, String) {
    const MOUNT_PATH: &str = "/.llama";
    let Some(wire::Storage { size, mount_path }) = wire else { return (None, MOUNT_PATH.to_owned()) };
    let size = size.as_ref().map_or("10Gi", |IntegerOrString(size)| size);
    check.quantity(&path.join("size"), size);
    let mount_path = text(mount_path.as_deref()).unwrap_or(MOUNT_PATH);
    check.expect(&shared::INVALID_VOLUME, &path.join("mountPath"), mount_path, pod::mount_path(mount_path));
    (Some(size.to_owned()), mount_path.to_owned())
}

/// The operator never scales below `spec.replicas`, nor below one.
fn autoscaling(
    wire: Option<&wire::Autoscaling>,
    replicas: i32,
    path: &FieldPath,
    check: &mut Checker<'_, '_>,
) -> Option<Autoscaling> {
    let wire = wire?;
    let max_path = path.join("maxReplicas");
    if check.absent(&max_path) {
        check.required(&max_path);
    }
    let max = at_least(&max_path, wire.max_replicas, 1, check)?;
    let given = at_least(&path.join("minReplicas"), wire.min_replicas, 0, check).unwrap_or(1);
    let min = given.max(replicas).max(1);
    if max >= 1 && max < min {
        let source = if given >= replicas { "minReplicas" } else { "spec.replicas" };
        let message = format!("{max_path} is {max}, expected at least {min}, which {source} asks for");
        check.findings.report(&shared::INVALID_VALUE, &max_path, message);
    }
    let cpu = at_least(&path.join("targetCPUUtilizationPercentage"), wire.target_cpu_utilization_percentage, 1, check);
    let memory =
        at_least(&path.join("targetMemoryUtilizationPercentage"), wire.target_memory_utilization_percentage, 1, check);
    Some(Autoscaling { min, max, cpu, memory })
}

fn budget(wire: Option<&wire::PodDisruptionBudget>, path: &FieldPath, check: &mut Checker<'_, '_>) -> Option<Budget> {
    let wire = wire?;
    let mut amount = |field: &'static str, given: Option<&Node<'static>>| {
        let given = given?;
        let fits = match &given.value {
            Value::Integer(number) => *number >= 0,
            Value::String(percent) => percent.strip_suffix('%').is_some_and(is_number),
            _ => false,
        };
        if !fits {
            let path = path.join(field);
            let message =
                format!("{path} is {}, expected a number of pods, or a percentage such as 25%", given.to_json());
            check.findings.report(&shared::INVALID_VALUE, &path, message);
        }
        Some(given.to_json())
    };
    let min_available = amount("minAvailable", wire.min_available.as_ref());
    let max_unavailable = amount("maxUnavailable", wire.max_unavailable.as_ref());
    if min_available.is_some() && max_unavailable.is_some() {
        let message = format!("{path} has both minAvailable and maxUnavailable, expected one of them");
        check.findings.report(&shared::INVALID_VALUE, &path.join("maxUnavailable"), message);
    }
    Some(Budget { min_available, max_unavailable })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A pod mounts ConfigMaps of its own namespace. The operator takes one of that name there, whatever was written.
fn user_config(
    wire: Option<&wire::UserConfig>,
    own: Option<&str>,
    path: &FieldPath,
    check: &mut Checker<'_, '_>,
) -> Option<String> {
    let wire::UserConfig { config_map_name, config_map_namespace } = wire?;
    check.required_name(&path.join("configMapName"), config_map_name.as_deref(), names::dns_1123_subdomain);
    if let Some(namespace) = text(config_map_namespace.as_deref())
        && own != Some(namespace)
    {
        let path = path.join("configMapNamespace");
        let expected = own.map_or_else(
            || "the namespace of the distribution, which states none".to_owned(),
            |own| format!("{own:?}, the namespace of the distribution"),
        );
        let message = format!(
            "{path} is {:?}, expected {expected}: a pod mounts ConfigMaps of its own namespace only",
            shorten(namespace)
        );
        check
            .findings
            .report(&codes::UNUSABLE_USER_CONFIG, &path, message)
            .help("put a copy of the ConfigMap into that namespace, and remove configMapNamespace");
    }
    text(config_map_name.as_deref()).map(str::to_owned)
}

/// The key of a ConfigMap that holds certificates, where none is named.
const CA_KEY: &str = "ca-bundle.crt";

fn ca_bundle(wire: Option<&wire::TlsConfig>, check: &mut Checker<'_, '_>) -> Option<CaBundle> {
    let wire = wire?.ca_bundle.as_ref()?;
    let path = FieldPath::parse("spec.server.tlsConfig.caBundle");
    check.required_name(&path.join("configMapName"), wire.config_map_name.as_deref(), names::dns_1123_subdomain);
    let namespace = text(wire.config_map_namespace.as_deref());
    if let Some(namespace) = namespace {
        check.name(&path.join("configMapNamespace"), namespace, names::dns_1123_label);
    }
    let mut keys = wire.config_map_keys.clone().unwrap_or_default();
    let path = path.join("configMapKeys");
    if keys.len() > 50 {
        let message = format!("{path} has {} entries, expected at most 50", keys.len());
        check.findings.report(&shared::OUT_OF_RANGE, &path, message);
    }
    for (index, key) in keys.iter().enumerate() {
        if let Err(problem) = ca_key(key) {
            check.findings.report(&codes::UNUSABLE_CA_BUNDLE, &path.index(index), problem).help(
                "name a key of the ConfigMap: letters, digits, '-', '_' and '.', starting and ending with a letter or digit",
            );
        }
    }
    if keys.is_empty() {
        keys.push(CA_KEY.to_owned());
    }
    let config_map = text(wire.config_map_name.as_deref())?.to_owned();
    Some(CaBundle { config_map, namespace: namespace.map(str::to_owned), keys })
}

/// The operator's checks of a key, in its order and its words.
pub(super) fn ca_key(key: &str) -> Result<(), String> {
    let alphanumeric = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = key.as_bytes();
    let characters = bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    let problem = if key.is_empty() {
        return Err("ConfigMap key cannot be empty".to_owned());
    } else if key.len() > 253 {
        "too long (max 253 characters)"
    } else if key.contains("..") || key.contains('/') {
        "contains invalid path characters"
    } else if !characters || !alphanumeric(bytes.first()) || !alphanumeric(bytes.last()) {
        "contains invalid characters. Only alphanumeric characters, hyphens, underscores, and dots are allowed"
    } else {
        return Ok(());
    };
    Err(format!("failed to validate ConfigMap key '{}': {problem}", shorten(key)))
}

fn network(wire: Option<&wire::Network>, check: &mut Checker<'_, '_>) -> Option<Network> {
    let wire = wire?;
    let path = FieldPath::parse("spec.network.allowedFrom");
    let allowed = wire.allowed_from.as_ref();
    let namespaces = allowed.and_then(|allowed| allowed.namespaces.clone()).unwrap_or_default();
    for (index, namespace) in namespaces.iter().enumerate().filter(|(_, namespace)| *namespace != "*") {
        check.name(&path.join("namespaces").index(index), namespace, names::dns_1123_label);
    }
    let keys = allowed.and_then(|allowed| allowed.labels.clone()).unwrap_or_default();
    for (index, key) in keys.iter().enumerate() {
        let path = path.join("labels").index(index);
        check.expect(&shared::INVALID_LABEL, &path, key, labels::label_key(key));
    }
    Some(Network { expose_route: wire.expose_route.unwrap_or_default(), namespaces, labels: keys })
}

/// Checks that a number is not too small. One that is comes back all the same, so that the rest can be looked at.
fn at_least(path: &FieldPath, number: Option<i32>, least: i32, check: &mut Checker<'_, '_>) -> Option<i32> {
    let number = number?;
    if number < least {
        let message = format!("{path} is {number}, expected at least {least}");
        check.findings.report(&shared::OUT_OF_RANGE, path, message);
    }
    Some(number)
}

/// What is rendered as it is written, and probably not as meant.
fn advice(server: &Server, check: &mut Checker<'_, '_>) {
    let exposed = server.network.as_ref().is_some_and(|network| network.expose_route);
    if !server.has_service() && (exposed || !server.providers.is_empty()) {
        let message = if exposed {
            "spec.network.exposeRoute is true, but no Service is made that the Ingress leads to: spec.server.containerSpec has neither port nor env"
        } else {
            "no Service is made: spec.server.containerSpec has neither port nor env"
        };
        let path = if exposed { "spec.network.exposeRoute" } else { "spec.server" };
        check
            .findings
            .report(&codes::NO_SERVICE, path, message)
            .help("give spec.server.containerSpec.port, such as 8321");
    }
    if server.providers.is_empty() {
        return;
    }
    let path = FieldPath::parse("spec.server.containerSpec");
    for (field, given) in [("command", &server.container.command), ("args", &server.container.args)] {
        if !given.is_empty() {
            let path = path.join(field);
            let message = format!(
                "{path} takes the place of the command that checks and starts the server with its external providers"
            );
            check.findings.report(&codes::START_OVERRIDDEN, &path, message).help(
                "start the server with /opt/llama-stack/config/run.yaml, after llama-stack preflight where that is wanted, or remove it",
            );
        }
    }
    let set = |name: &str| server.container.env.iter().position(|variable| variable.name.as_deref() == Some(name));
    if let Some(index) = set("LLAMA_STACK_CONFIG") {
        let path = path.join("env").index(index).join("name");
        let message = format!(
            "{path} sets LLAMA_STACK_CONFIG, which otherwise names the configuration with the external providers"
        );
        check
            .findings
            .report(&codes::START_OVERRIDDEN, &path, message)
            .help("remove it, or make it /opt/llama-stack/config/run.yaml");
    }
}

/// The answer of a check.
fn expect(fits: bool, expected: &'static str) -> Checked {
    if fits { Ok(()) } else { Err(expected) }
}
