//! Validation of an actor: applies defaults, and makes every check that needs no other object.
//!
//! Where the Asya operator reports the same error, the message has the operator's exact words
//! (`validateAsyncActorSpec` and `GetTransport` of deliveryhero/asya v0.1.1).

mod binding;
mod scaling;
mod workload;

use super::codes::{TRANSPORT_NOT_USABLE, WORKLOAD_OR_REFERENCE};
use super::ir::{Actor, Mode, Sidecar};
use super::options::{Settings, Transport, TransportKind};
use super::wire::{ActorResources, ActorSidecar, AsyncActor, AsyncActorSpec, ImagePullPolicy, ONE_WORKLOAD};
use super::{DEFAULT_SIDECAR_IMAGE, RESERVED_ENVIRONMENT, codes};
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::check::environment;
use kubefoundry_kubernetes::check::{Checker, non_empty};
use kubefoundry_kubernetes::pod::{ResourceClaim, ResourceRequirements, StringMap};
use kubefoundry_kubernetes::syntax_result::SyntaxResult;
use kubefoundry_kubernetes::wire::{IntegerOrString, Map};
use kubefoundry_kubernetes::{image, names, quantity};
use kubefoundry_transform::codes as shared;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{closest, shorten};

/// Validates an actor. It returns one even after reporting errors, if possible, so that later checks run too. An actor
/// with errors is never rendered.
pub(super) fn validate(
    wire: &AsyncActor,
    settings: &Settings,
    images: &[(String, String)],
    findings: &mut Findings<'_>,
) -> Option<Actor> {
    let mut check = Checker { api_group: None, findings };
    let metadata = wire.metadata.clone().unwrap_or_default();
    let name = metadata.name.unwrap_or_default();
    check.check_required_name(
        &AsyncActor::path().metadata().name(),
        Some(name.as_str()).filter(|name| !name.is_empty()),
        actor_name,
    );
    if let Some(namespace) = non_empty(metadata.namespace.as_deref()) {
        check.check_name(&AsyncActor::path().metadata().namespace(), namespace, names::dns_1123_label);
    }
    let spec = wire.spec.as_ref()?;
    let transport = transport(spec, &name, settings, check.findings);
    let scaling = scaling::scaling(spec.scaling.as_ref(), &name, transport.as_ref(), &mut check);
    let mode = mode(spec, &name, metadata.namespace.as_deref(), scaling.is_some(), &mut check);
    let sidecar = sidecar(spec.sidecar.as_ref(), settings, images, &mut check);
    let timeout = spec.timeout.clone().unwrap_or_default();
    let at = FieldPath::from(AsyncActor::path().spec().timeout());
    Some(Actor {
        name,
        namespace: metadata.namespace,
        gateway: settings.gateway_url.clone(),
        transport,
        mode: mode?,
        sidecar,
        processing: at_least(1, non_zero(timeout.processing), 300, &at.key("processing"), &mut check),
        graceful_shutdown: at_least(
            1,
            non_zero(timeout.graceful_shutdown),
            30,
            &at.key("gracefulShutdown"),
            &mut check,
        ),
        scaling,
    })
}

/// Checks the name of an actor. It is also the value of a label, which has at most 63 characters.
fn actor_name(name: &str) -> SyntaxResult {
    if name.len() > 63 { names::dns_1123_label(name) } else { names::dns_1123_subdomain(name) }
}

/// Returns the transport that the actor names, if it is configured and enabled.
fn transport(
    spec: &AsyncActorSpec,
    actor: &str,
    settings: &Settings,
    findings: &mut Findings<'_>,
) -> Option<Transport> {
    let path = FieldPath::from(AsyncActor::path().spec().transport());
    let name = non_empty(spec.transport.as_deref())?;
    let Some(transport) = settings.transports.get(name) else {
        let message = format!("transport '{}' not found in operator configuration", shorten(name));
        let known: Vec<&str> = settings.transports.keys().map(String::as_str).collect();
        let help = match closest(name, known.iter().copied()) {
            Some(meant) => format!("did you mean {meant:?}?"),
            None if known.is_empty() => "configure it under actor.transports in the Render options".to_owned(),
            None => format!("use one of actor.transports in the Render options: {}", known.join(", ")),
        };
        findings.report(&TRANSPORT_NOT_USABLE, &path, message).help(help);
        return None;
    };
    if !transport.enabled {
        let message = format!("transport '{}' is disabled in operator configuration", shorten(name));
        findings
            .report(&TRANSPORT_NOT_USABLE, &path, message)
            .help("set enabled: true for it under actor.transports in the Render options");
        return None;
    }
    let fits_sqs = actor.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if matches!(transport.kind, TransportKind::Sqs(_)) && !fits_sqs {
        let message =
            format!("metadata.name is {actor:?}, expected letters, digits and '-', as in names of SQS queues");
        findings.report(&shared::INVALID_NAME, AsyncActor::path().metadata().name(), message);
    }
    Some(transport.clone())
}

/// Determines whether the actor has its own workload. Returns `None` after reporting why that is not clear.
fn mode(
    spec: &AsyncActorSpec,
    name: &str,
    namespace: Option<&str>,
    scales: bool,
    check: &mut Checker<'_, '_>,
) -> Option<Mode> {
    let (workload, reference) = (
        FieldPath::from(AsyncActor::path().spec().workload()),
        FieldPath::from(AsyncActor::path().spec().workload_ref()),
    );
    match (check.is_present(&workload), check.is_present(&reference)) {
        (true, false) => {
            binding::report_misplaced_fields(spec, check);
            workload::workload(spec.workload.as_ref()?, name, scales, spec.timeout.as_ref(), check)
                .map(Mode::Standalone)
        }
        (false, true) => binding::binding(spec, namespace, check).map(Mode::Binding),
        (both, _) => {
            let place = if both { FieldRef::key(&reference) } else { FieldRef::key(&AsyncActor::path().spec()) };
            let reported = check.findings.report(&WORKLOAD_OR_REFERENCE, place, ONE_WORKLOAD);
            if both {
                reported
                    .related(FieldRef::key(&workload), "workload is set here")
                    .help("remove spec.workload to bind to an existing workload, or spec.workloadRef to create one");
            } else {
                reported.help("set spec.workload to create a workload, or spec.workloadRef to bind to an existing one");
            }
            None
        }
    }
}

fn sidecar(
    wire: Option<&ActorSidecar>,
    settings: &Settings,
    images: &[(String, String)],
    check: &mut Checker<'_, '_>,
) -> Sidecar {
    let wire = wire.cloned().unwrap_or_default();
    let path = FieldPath::from(AsyncActor::path().spec().sidecar());
    let own = non_empty(wire.image.as_deref());
    report_sidecar_image(own, settings, images, &path, check);
    let default = || match &settings.sidecar_image {
        Some(configured) => configured.clone(),
        None => image::apply_mirrors(images, DEFAULT_SIDECAR_IMAGE),
    };
    let env = wire.env.unwrap_or_default();
    let at = AsyncActor::path().spec().sidecar().env();
    environment::check_environment(&at, &env, check);
    for (index, variable) in env.iter().enumerate() {
        let name = variable.name.as_deref().unwrap_or_default();
        if RESERVED_ENVIRONMENT.contains(&name) {
            let at = at.clone().index(index).name();
            let message = format!("{at} is {name}, which kubefoundry sets itself");
            check.findings.report(&codes::RESERVED_NAME, &at, message).help("remove it");
        }
    }
    Sidecar {
        image: own.map_or_else(default, str::to_owned),
        pull_policy: wire.image_pull_policy.unwrap_or(ImagePullPolicy::IfNotPresent),
        resources: resources(wire.resources.unwrap_or_default(), &path.key("resources"), check),
        env,
    }
}

/// Reports an image that nodes cannot pull, or that has a release of the sidecar with other variables.
fn report_sidecar_image(
    own: Option<&str>,
    settings: &Settings,
    images: &[(String, String)],
    path: &FieldPath,
    check: &mut Checker<'_, '_>,
) {
    let mirrored = image::apply_mirrors(images, DEFAULT_SIDECAR_IMAGE);
    let image = own.or(settings.sidecar_image.as_deref()).unwrap_or(&mirrored);
    let at = if own.is_some() { path.key("image") } else { FieldPath::from(AsyncActor::path().metadata().name()) };
    if image == DEFAULT_SIDECAR_IMAGE {
        let message = format!("the image of the sidecar is {image}, which no public registry has");
        check
            .findings
            .report(&codes::SIDECAR_IMAGE, &at, message)
            .help("set actor.sidecarImage in the Render options, such as to ghcr.io/deliveryhero/asya-sidecar:0.1.1");
        return;
    }
    let (_, tag) = image::path_and_tag(image);
    let release: Option<Vec<u64>> = tag.and_then(|tag| {
        let tag = tag.strip_prefix('v').unwrap_or(tag);
        tag.split(['-', '+']).next()?.split('.').map(|part| part.parse().ok()).collect()
    });
    if release.is_some_and(|release| release.len() > 1 && release.as_slice() >= [0, 2].as_slice()) {
        let message = format!("the sidecar {} is a release after v0.1, which needs other variables", shorten(image));
        check.findings.report(&codes::SIDECAR_IMAGE, &at, message).help("use an image of Asya v0.1.1");
    }
}

fn resources(wire: ActorResources, path: &FieldPath, check: &mut Checker<'_, '_>) -> ResourceRequirements {
    let mut read = |map: Option<Map<IntegerOrString>>, field: &'static str| {
        let mut read = StringMap::default();
        for (name, IntegerOrString(value)) in map.unwrap_or_default().0 {
            let at = path.key(field).key(name.clone());
            check.check_syntax(&shared::INVALID_QUANTITY, &at, &value, quantity::quantity(&value));
            read.push(name, value);
        }
        read
    };
    let (limits, requests) = (read(wire.limits, "limits"), read(wire.requests, "requests"));
    let claims = wire.claims.unwrap_or_default().into_iter();
    let claims = claims.map(|claim| ResourceClaim { name: claim.name.unwrap_or_default(), request: None }).collect();
    ResourceRequirements { limits, requests, claims }
}

/// Returns a number, unless it is 0, which the Asya operator replaces by the default.
fn non_zero(given: Option<i32>) -> Option<i32> {
    given.filter(|number| *number != 0)
}

/// Returns a number or its default, and reports it if it is less than `min`.
fn at_least(min: i32, given: Option<i32>, default: i32, path: &FieldPath, check: &mut Checker<'_, '_>) -> i32 {
    let number = given.unwrap_or(default);
    if number < min {
        let message = format!("{path} is {number}, expected at least {min}");
        check.findings.report(&shared::OUT_OF_RANGE, path, message);
    }
    number
}
