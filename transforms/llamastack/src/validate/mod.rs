//! Validation of a distribution: applies defaults, and makes every check that needs no other object.
//!
//! Sources: the CRD, the operator's `controllers/resource_helper.go`, and `specs/001-deploy-time-providers-l1/spec.md`.

mod availability;
mod config_maps;
mod distribution;
mod pod;
mod providers;
mod resources;

pub(super) use config_maps::check_ca_key;

use super::server::{ContainerSpec, DEFAULT_PORT, Network, Server};
use super::{codes, wire};
use crate::options::Options;
use kubefoundry_diagnostics::FieldRef;
use kubefoundry_kubernetes::check::environment::check_environment;
use kubefoundry_kubernetes::check::{Checker, non_empty};
use kubefoundry_kubernetes::syntax_result::SyntaxResult;
use kubefoundry_kubernetes::wire::IntegerOrString;
use kubefoundry_kubernetes::{labels, names};
use kubefoundry_transform::codes as shared;
use kubefoundry_yaml::field_path::FieldPath;

/// Maximum length of a distribution's name. The name of the Service adds `-service` and has at most 63 characters.
const MAX_NAME_LENGTH: usize = 63 - "-service".len();

/// Validates a distribution. Returns `None` after reporting the reason if it has no usable name or image.
pub(super) fn validate(
    wire: &wire::LlamaStackDistribution,
    options: &Options<'_>,
    check: &mut Checker<'_, '_>,
) -> Option<Server> {
    let name = validate_name(wire, check);
    let namespace = wire.metadata.as_ref().and_then(|metadata| non_empty(metadata.namespace.as_deref()));
    let empty_spec = wire::LlamaStackDistributionSpec::default();
    let spec = wire.spec.as_ref().unwrap_or(&empty_spec);
    let empty_server = wire::Server::default();
    let server = spec.server.as_ref().unwrap_or(&empty_server);
    let path = FieldPath::from(wire::LlamaStackDistribution::path().spec().server());
    let replicas = spec.replicas.unwrap_or(1);
    let image = distribution::resolve_image(server.distribution.as_ref(), &path.join("distribution"), options, check);
    let container = validate_container(server.container_spec.as_ref(), &path.join("containerSpec"), check);
    let workers = server.workers;
    let (storage, mount_path) = validate_storage(server.storage.as_ref(), &path.join("storage"), check);
    let autoscaling =
        availability::validate_autoscaling(server.autoscaling.as_ref(), replicas, &path.join("autoscaling"), check);
    let budget = availability::validate_disruption_budget(
        server.pod_disruption_budget.as_ref(),
        &path.join("podDisruptionBudget"),
        check,
    );
    let overrides = pod::validate_overrides(server.pod_overrides.as_ref(), &path.join("podOverrides"), check);
    let spread = pod::validate_spread_constraints(server.topology_spread_constraints.as_deref(), check);
    let user_config =
        config_maps::validate_user_config(server.user_config.as_ref(), namespace, &path.join("userConfig"), check);
    let ca_bundle = config_maps::validate_ca_bundle(server.tls_config.as_ref(), check);
    let network = validate_network(spec.network.as_ref(), check);
    let providers = providers::validate_providers(server.external_providers.as_ref(), options, check);
    let server = Server {
        name: name?,
        namespace: namespace.map(str::to_owned),
        replicas,
        image: image?,
        distribution: server.distribution.as_ref().and_then(|it| non_empty(it.name.as_deref())).map(str::to_owned),
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
    pod::report_conflicts(&server, options, check);
    report_suspicious_settings(&server, options, check);
    Some(server)
}

/// Validates the name. It must start with a letter, because the name of the Service is derived from it.
fn validate_name(wire: &wire::LlamaStackDistribution, check: &mut Checker<'_, '_>) -> Option<String> {
    let path = FieldPath::from(wire::LlamaStackDistribution::path().metadata());
    let metadata = wire.metadata.as_ref();
    let name = metadata.and_then(|metadata| metadata.name.as_deref());
    check.check_required_name(&path.join("name"), name, names::dns_1035_label);
    let name = non_empty(name)?;
    if names::dns_1035_label(name).is_ok() && name.len() > MAX_NAME_LENGTH {
        let length = name.len();
        let message = format!(
            "metadata.name has {length} characters, expected at most {MAX_NAME_LENGTH}: its Service is named {name}-service"
        );
        check.findings.report(&shared::NAME_TOO_LONG, &path.join("name"), message);
    }
    if let Some(namespace) = metadata.and_then(|metadata| non_empty(metadata.namespace.as_deref())) {
        check.check_name(&path.join("namespace"), namespace, names::dns_1123_label);
    }
    Some(name.to_owned())
}

/// Validates the server's container. A port that does not fit is replaced after it is reported; [`Server::port`] has the default of an absent
/// one.
fn validate_container(
    wire: Option<&wire::ContainerSpec>,
    path: &FieldPath,
    check: &mut Checker<'_, '_>,
) -> ContainerSpec {
    let empty = wire::ContainerSpec::default();
    let wire = wire.unwrap_or(&empty);
    let name = non_empty(wire.name.as_deref());
    let port = wire.port.and_then(|port| {
        let fits = u16::try_from(port).ok().filter(|port| *port != 0);
        if fits.is_none() {
            let message = format!("{path}.port is {port}, expected a port from 1 to 65535");
            check.findings.report(&shared::OUT_OF_RANGE, &path.join("port"), message);
        }
        // The error stops rendering; a port is set, so the Service is not reported as missing.
        fits.or(Some(DEFAULT_PORT))
    });
    let env = wire.env.clone().unwrap_or_default();
    check_environment(&wire::LlamaStackDistribution::path().spec().server().container_spec().env(), &env, check);
    ContainerSpec {
        name: name.unwrap_or("llama-stack").to_owned(),
        port,
        env,
        command: wire.command.clone().unwrap_or_default(),
        args: wire.args.clone().unwrap_or_default(),
        resources: resources::validate_resources(wire.resources.as_ref(), &path.join("resources"), check),
    }
}

/// Returns the size of the claim, if there is one, and the directory for models and data.
fn validate_storage(
    wire: Option<&wire::Storage>,
    path: &FieldPath,
    check: &mut Checker<'_, '_>,
) -> (Option<String>, String) {
    const MOUNT_PATH: &str = "/.llama";
    let Some(wire::Storage { size, mount_path }) = wire else { return (None, MOUNT_PATH.to_owned()) };
    let size = size.as_ref().map_or("10Gi", |IntegerOrString(size)| size);
    let mount_path = non_empty(mount_path.as_deref()).unwrap_or(MOUNT_PATH);
    check.check_syntax(&shared::INVALID_VOLUME, &path.join("mountPath"), mount_path, pod::check_mount_path(mount_path));
    (Some(size.to_owned()), mount_path.to_owned())
}

/// Validates the clients that may reach the server. `*` among the namespaces stands for all of them, so it is not
/// checked as a name.
fn validate_network(wire: Option<&wire::Network>, check: &mut Checker<'_, '_>) -> Option<Network> {
    let wire = wire?;
    let path = FieldPath::from(wire::LlamaStackDistribution::path().spec().network().allowed_from());
    let allowed = wire.allowed_from.as_ref();
    let namespaces = allowed.and_then(|allowed| allowed.namespaces.clone()).unwrap_or_default();
    for (index, namespace) in namespaces.iter().enumerate().filter(|(_, namespace)| *namespace != "*") {
        check.check_name(&path.join("namespaces").index(index), namespace, names::dns_1123_label);
    }
    let keys = allowed.and_then(|allowed| allowed.labels.clone()).unwrap_or_default();
    for (index, key) in keys.iter().enumerate() {
        let path = path.join("labels").index(index);
        check.check_syntax(&shared::INVALID_LABEL, &path, key, labels::label_key(key));
    }
    Some(Network { expose_route: wire.expose_route.unwrap_or_default(), namespaces, labels: keys })
}

/// Reports valid settings that probably do not have the intended effect.
fn report_suspicious_settings(server: &Server, options: &Options<'_>, check: &mut Checker<'_, '_>) {
    let network = server.network.as_ref();
    let allows = network.is_some_and(|network| !network.namespaces.is_empty() || !network.labels.is_empty());
    if allows && !options.settings.network_policy {
        let path = FieldPath::from(wire::LlamaStackDistribution::path().spec().network().allowed_from());
        let message =
            format!("{path} has no effect: no NetworkPolicy is rendered, so every client can reach the server");
        check
            .findings
            .report(&shared::FIELD_IGNORED, &path, message)
            .help("set llamaStack.networkPolicy: true in the Render options");
    }
    let exposed = server.network.as_ref().is_some_and(|network| network.expose_route);
    if !server.has_service() && (exposed || !server.providers.is_empty()) {
        let message = if exposed {
            "spec.network.exposeRoute is true, but the Ingress has no Service: spec.server.containerSpec has neither \
             port nor env"
        } else {
            "no Service is rendered: spec.server.containerSpec has neither port nor env"
        };
        let spec = wire::LlamaStackDistribution::path().spec();
        let location: FieldRef = if exposed { spec.network().expose_route().into() } else { spec.server().into() };
        check
            .findings
            .report(&codes::NO_SERVICE, location, message)
            .help("set spec.server.containerSpec.port, for example to 8321");
    }
    if server.providers.is_empty() {
        return;
    }
    let path = FieldPath::from(wire::LlamaStackDistribution::path().spec().server().container_spec());
    if !server.container.command.is_empty() {
        let path = path.join("command");
        let message = format!("{path} replaces the command that starts the server with its external providers");
        check
            .findings
            .report(&codes::START_OVERRIDDEN, &path, message)
            .help("remove it; a command of your own must start the server with /opt/llama-stack/config/run.yaml");
    } else if !server.container.args.is_empty() {
        let path = path.join("args");
        let message = format!(
            "{path} come after the arguments that start the server with its external providers, and take precedence over them"
        );
        check
            .findings
            .report(&codes::START_OVERRIDDEN, &path, message)
            .help("remove the arguments, or make sure that they set neither the configuration nor the port");
    }
    for (index, variable) in server.container.env.iter().enumerate() {
        let start_variable = START_VARIABLES.iter().find(|(name, ..)| variable.name.as_deref() == Some(*name));
        let Some((name, meaning, instead)) = start_variable else { continue };
        let path = path.join("env").index(index).join("name");
        let message = format!("{path} sets {name}, which otherwise {meaning}");
        check.findings.report(&codes::START_OVERRIDDEN, &path, message).help(format!(
            "remove the variable, or \
                                                                                      {instead}"
        ));
    }
}

/// Variables that control the start script: their names, their meaning, and the field that users should set instead.
const START_VARIABLES: [(&str, &str, &str); 9] = [
    (
        "LLAMA_STACK_CONFIG",
        "names the configuration with the external providers",
        "set it to /opt/llama-stack/config/run.yaml",
    ),
    ("LLS_PORT", "is the port of the Service and of the probe", "set spec.server.containerSpec.port instead"),
    ("LLS_WORKERS", "is the number of processes", "set spec.server.workers instead"),
    (
        "LLS_PREFLIGHT",
        "decides whether providers are checked",
        "set llamaStack.preflight in the Render options instead",
    ),
    ("LLS_START", "decides how the server is started", "set spec.server.containerSpec.command instead"),
    (
        "LLS_CONFIG_PATHS",
        "names the paths at which the configuration is searched",
        "set spec.server.userConfig instead",
    ),
    (
        "LLS_EXTRA_BASE_CONFIGS",
        "names further paths of the configuration in the image",
        "set llamaStack.baseConfigPaths in the Render options instead",
    ),
    ("LLS_DISTRIBUTION", "names the distribution", "set spec.server.distribution.name instead"),
    (
        "LLS_EXTRA_PROVIDERS",
        "names the file of external providers",
        "set llamaStack.nativeExtraProviders in the Render options instead",
    ),
];

/// Turns a condition into the result of a syntax check, whose error says what was expected.
fn expect(fits: bool, expected: &'static str) -> SyntaxResult {
    if fits { Ok(()) } else { Err(expected) }
}
