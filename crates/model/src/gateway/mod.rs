//! The route from a Gateway to a model: an `InferencePool` of the pods that serve, and an `HTTPRoute` to it, as the
//! controller of airunway makes them (controller/internal/controller/gateway_reconciler.go of ai-runway/airunway).
//!
//! The administrator of the cluster makes the Gateway, its body-based router and the endpoint picker. The options name the
//! Gateway and the picker.

mod manifests;
mod settings;

use serde_json::Value;

pub use manifests::{HTTP_ROUTE, INFERENCE_POOL};
pub use settings::{EndpointPickerOptions, GatewayOptions, GatewaySettings};

use crate::model_name::requested_model_name;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, Gateway};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::pod::StringMap;
use kubefoundry_provider::{Behavior, GatewayBackend, ObjectKind, Provider, Reaction, Translation};
use kubefoundry_transform::{InstalledSchemas, RunContext};

/// The kinds that are rendered for a Gateway, whatever the provider.
pub static KINDS: &[ObjectKind] = &[
    ObjectKind { group: "gateway.networking.k8s.io", kind: HTTP_ROUTE, plural: "httproutes" },
    ObjectKind { group: "inference.networking.k8s.io", kind: INFERENCE_POOL, plural: "inferencepools" },
];

const fn row(kind: &'static str, path: &'static str, reaction: Reaction, source: &'static str) -> Behavior {
    Behavior { kind, path, reaction, source }
}

/// The reactions of Gateways to changed fields, whatever the provider.
pub static BEHAVIORS: &[Behavior] = &[
    row(HTTP_ROUTE, "metadata", Reaction::None, "Gateway API: a route attaches by its spec"),
    row(
        HTTP_ROUTE,
        "spec",
        Reaction::InPlace,
        "Gateway API: a Gateway is reconfigured, and no pod restarts (gateway-api.sigs.k8s.io/api-types/httproute)",
    ),
    row(INFERENCE_POOL, "metadata", Reaction::None, "Gateway API Inference Extension: the selector is in spec"),
    row(
        INFERENCE_POOL,
        "spec",
        Reaction::InPlace,
        "Gateway API Inference Extension: the picker watches its pool, and no pod restarts (pkg/epp/controller/inferencepool_reconciler.go)",
    ),
];

/// Renders the InferencePool and the HTTPRoute of a translated deployment, in the order in which they are applied.
/// Returns nothing if the deployment wants no Gateway, if upstream makes its own pool, or after reporting an error.
pub(crate) fn render(
    deployment: &Deployment,
    provider: &dyn Provider,
    translation: &Translation,
    context: &RunContext<'_>,
    findings: &mut Findings<'_>,
) -> Vec<Manifest> {
    let Some(gateway) = deployment.wanted_gateway() else { return Vec::new() };
    let (labels, port) = match &translation.gateway_backend {
        GatewayBackend::Pods { labels, port } => (labels, *port),
        GatewayBackend::UpstreamPool { name, why } => {
            report_upstream_pool(name, why, findings);
            return Vec::new();
        }
    };
    context.settings.with(|settings: &GatewaySettings| {
        let pool = render_pool(deployment, settings, (labels, port), context.schemas, findings);
        let route = if gateway.http_route_ref.is_some() {
            ignore_model_name(gateway, findings);
            None
        } else {
            render_route(deployment, gateway, settings, model_name(provider, translation), findings)
        };
        pool.into_iter().chain(route).collect()
    })
}

/// Says that the provider makes the pool, so that a second one would be of no use.
fn report_upstream_pool(name: &str, why: &str, findings: &mut Findings<'_>) {
    let place = FieldRef::key(&ModelDeployment::path().spec().gateway());
    let message = format!("spec.gateway is not rendered: {why}");
    findings
        .report(&codes::GATEWAY_NOT_RENDERED, place, message)
        .help(format!("write an HTTPRoute to the InferencePool {name}, and set spec.gateway.enabled to false"));
}

fn render_pool(
    deployment: &Deployment,
    settings: &GatewaySettings,
    (labels, port): (&StringMap, u16),
    schemas: Option<&dyn InstalledSchemas>,
    findings: &mut Findings<'_>,
) -> Option<Manifest> {
    let name = &deployment.metadata.name;
    let picker = settings.picker(name);
    if let Some((service, _)) = &picker {
        check_picker_name(service, findings);
    } else {
        let requires_picker =
            schemas.and_then(|it| it.requires_field(manifests::POOL_VERSION, INFERENCE_POOL, "spec.endpointPickerRef"));
        report_missing_picker(requires_picker, findings);
        if requires_picker == Some(true) {
            return None;
        }
    }
    Some(manifests::inference_pool(name, labels.clone(), port, picker))
}

/// Reports that no option names a picker: as an error if the CRD of the cluster requires one, and as a warning if that CRD
/// is not known, because the releases of the CRD up to 1.5 require one
/// (kubernetes-sigs/gateway-api-inference-extension#2898).
fn report_missing_picker(requires_picker: Option<bool>, findings: &mut Findings<'_>) {
    let (code, message) = match requires_picker {
        Some(false) => return,
        Some(true) => (
            &codes::ENDPOINT_PICKER_REQUIRED,
            "the InferencePool has no endpointPickerRef, which the CRD in the cluster requires",
        ),
        None => (
            &codes::ENDPOINT_PICKER_MISSING,
            "the InferencePool has no endpointPickerRef, which the CRD requires in releases of the Gateway API Inference \
             Extension up to 1.5",
        ),
    };
    let place = FieldRef::key(&ModelDeployment::path().spec().gateway());
    findings.report(code, place, message).help(
        "set the option gateway.endpointPicker.name to the Service of the picker, such as \"{name}-epp\", in which {name} \
         stands for the deployment",
    );
}

/// Reports a picker whose name, with that of the deployment, is too long for a Service.
fn check_picker_name(service: &str, findings: &mut Findings<'_>) {
    /// Names of Services are DNS labels.
    const MAX_LENGTH: usize = 63;
    let length = service.len();
    if length > MAX_LENGTH {
        let message = format!(
            "the endpoint picker {service} has a name of {length} characters, expected at most {MAX_LENGTH} for a Service"
        );
        findings
            .report(&codes::NAME_TOO_LONG, ModelDeployment::path().metadata().name(), message)
            .help("shorten it, or the option gateway.endpointPicker.name");
    }
}

fn render_route(
    deployment: &Deployment,
    gateway: &Gateway,
    settings: &GatewaySettings,
    served_name: Option<String>,
    findings: &mut Findings<'_>,
) -> Option<Manifest> {
    let spec = || ModelDeployment::path().spec();
    if let (Some(written), Some(served)) = (&gateway.model_name, &served_name)
        && written != served
    {
        let path = spec().gateway().model_name();
        let message = format!("{path} is {written:?}, but the model answers to {served:?} only");
        findings.report(&codes::GATEWAY_MODEL_MISMATCH, &path, message).help(
            "remove it, or change spec.model.servedName, unless an InferenceModelRewrite changes the name in requests",
        );
    }
    let model_name = gateway.model_name.clone().or(served_name);
    if model_name.is_none() {
        let message = "the image decides which name the model answers to, so the HTTPRoute cannot select its requests";
        findings
            .report(&codes::GATEWAY_MODEL_UNKNOWN, FieldRef::key(&spec().gateway()), message)
            .help(format!("set {} to that name", spec().gateway().model_name()));
    }
    let parent = settings.parent();
    if parent.is_none() {
        let message = "spec.gateway needs an HTTPRoute, but gateway.name is not set in the options";
        findings.report(&codes::GATEWAY_UNNAMED, FieldRef::key(&spec().gateway()), message).help(format!(
            "set gateway.name, and gateway.namespace if the Gateway is in another namespace; for an HTTPRoute of your \
             own, set {}",
            spec().gateway().http_route_ref()
        ));
    }
    Some(manifests::http_route(&deployment.metadata.name, parent?, &model_name?))
}

/// Warns about a name for a route that is not rendered.
fn ignore_model_name(gateway: &Gateway, findings: &mut Findings<'_>) {
    if gateway.model_name.is_some() {
        let path = || ModelDeployment::path().spec().gateway();
        let (field, route) = (path().model_name(), path().http_route_ref());
        let message = format!("{field} has no effect: with {route}, no HTTPRoute is rendered");
        findings.report(&codes::FIELD_IGNORED, &field, message).help("remove it, and write the name in your HTTPRoute");
    }
}

/// Returns the name to which the model answers, read from the rendered objects.
fn model_name(provider: &dyn Provider, translation: &Translation) -> Option<String> {
    let objects: Vec<Value> = translation.manifests.iter().cloned().map(Manifest::into_json).collect();
    let objects: Vec<&Value> = objects.iter().collect();
    requested_model_name(provider, &objects)
}
