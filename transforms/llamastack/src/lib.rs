//! llama-stack servers: renders a `LlamaStackDistribution` with external providers to the objects that a controller
//! would create for it.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.
//!
//! ```text
//! wire ─ read ─ validate ─ server ─┬─ inputs, ca_bundle (ConfigMaps of the input) ─┬─ objects
//!                                  └─ pod ─ external ──────────────────────────────┘
//! ```
//! The objects follow those of the upstream operator, with external providers added to the pod. `docs/llama-stack.md`
//! describes both, and the differences from the operator.

mod ca_bundle;
pub mod codes;
mod external;
mod inputs;
pub mod install;
pub mod merge;
mod objects;
pub mod options;
pub mod package;
mod paths;
pub mod phase;
mod pod;
pub mod pod_status;
mod read;
mod server;
mod types;
mod validate;
pub mod wire;

use self::options::Settings;
use self::pod::Mode;
use self::server::Server;
use self::types::PodSpec;
use crate::options::Options;
use crate::wire::LlamaStackDistribution;
use kubefoundry_diagnostics::{Code, Findings};
use kubefoundry_kubernetes::check::Checker;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::pod::StringMap;
use kubefoundry_transform::Endpoint;
use kubefoundry_transform::codes as shared;
use kubefoundry_transform::{GroupKind, InputObject, PodPart, Transform, TransformOutput};
use kubefoundry_yaml::Node;
use kubefoundry_yaml::infallible::to_json_text;

/// The objects of a run that the transformation can access.
type ObjectSet<'s, 't> = kubefoundry_transform::ObjectSet<'s, 't, Settings>;

/// The transformation.
#[derive(Debug)]
pub struct LlamaStack;

impl Transform for LlamaStack {
    type Settings = Settings;

    fn name(&self) -> &'static str {
        "llamastack"
    }

    fn kind(&self) -> (&'static str, &'static str) {
        (wire::API_VERSION, wire::KIND)
    }

    fn owner_annotation(&self) -> &'static str {
        "llama-stack-distribution"
    }

    fn marker_texts(&self) -> &'static [&'static str] {
        &[SECTION]
    }

    fn needs_object(&self, header: &Header) -> bool {
        &*header.kind == "ConfigMap" && header.group().is_empty()
    }

    /// A distribution without external providers is left to the operator in the cluster.
    fn handles(&self, root: &Node<'_>, _: &Settings) -> bool {
        has_external_providers(root)
    }

    fn handled_description(&self) -> &'static str {
        "set spec.server.externalProviders: other LlamaStackDistributions are left to their operator"
    }

    fn report_misnamed(&self, header: &Header, _: &Settings, findings: &mut Findings<'_>) {
        if &*header.kind != wire::KIND || !has_external_providers(findings.scope().root) {
            return;
        }
        let message = format!(
            "apiVersion {:?} of a LlamaStackDistribution with external providers is not supported, expected {}",
            header.api_version,
            wire::API_VERSION
        );
        findings
            .report(&codes::FOREIGN_DISTRIBUTION, "apiVersion", message)
            .help(format!("change it to {}", wire::API_VERSION))
            .replace_with(format!("change it to {}", wire::API_VERSION), wire::API_VERSION);
    }

    fn schema_kinds(&self) -> &'static [GroupKind] {
        &[(wire::GROUP, wire::KIND)]
    }

    fn codes(&self) -> &'static [&'static Code] {
        codes::CODES
    }

    fn run(&self, object: &InputObject<'_>, set: &ObjectSet<'_, '_>, out: &mut TransformOutput<'_>) {
        let findings = &mut out.findings;
        let wire = read::read(&object.root, findings);
        let server = wire.and_then(|wire| {
            validate::validate(&wire, &Options::from_set(set), &mut Checker { api_group: None, findings })
        });
        findings.add_missing_help(|location| read::provider_at(&object.root, &location.path));
        let Some(server) = server else { return };
        let fields = || LlamaStackDistribution::path().spec().server();
        out.pod_parts = vec![
            PodPart { path: fields().pod_overrides().volumes().into(), field: "volumes".into() },
            PodPart { path: fields().topology_spread_constraints().into(), field: "topologySpreadConstraints".into() },
        ];
        render(&server, set, out);
    }
}

/// Returns whether a distribution has the section of external providers, even if it is empty or misplaced. A section in
/// the status does not count, because the operator writes it.
fn has_external_providers(root: &Node<'_>) -> bool {
    fn contains_section(node: &Node<'_>) -> bool {
        node.entries().iter().any(|entry| entry.key == SECTION || contains_section(&entry.node))
    }
    root.entry(SECTION).is_some() || root.get("spec").is_some_and(contains_section)
}

/// The key of the section of external providers.
const SECTION: &str = "externalProviders";

/// Generates the objects of a server, unless there are errors.
fn render(server: &Server, set: &ObjectSet<'_, '_>, out: &mut TransformOutput<'_>) {
    let options = &Options::from_set(set);
    let mode = Mode::select(server, options);
    let findings = &mut out.findings;
    check_options(server, mode, options.settings, findings);
    let user = inputs::read_user_config(server, mode, set, findings);
    let merged = inputs::merge_configuration(server, mode, &user, set, findings);
    inputs::report_unused_metadata(server, set, findings);
    let certificates = ca_bundle::prepare_mount(server, set, findings);
    if findings.has_errors() {
        return;
    }
    // Servers read mounted ConfigMaps only when they start. Hashes of their contents in the pod's annotations restart the
    // servers when the contents change.
    let mut annotations = StringMap::default();
    let mut manifests = Vec::new();
    if let Some(hash) = user.hash.as_ref().filter(|_| mode != Mode::Static) {
        annotations.push("configmap.hash/user-config", hash);
    }
    if let Some((config_map, hash)) = merged {
        annotations.push("configmap.hash/run-config", hash);
        manifests.push(config_map);
    }
    let mounted = certificates.map(|mounted| {
        if let Some((config_map, hash)) = mounted.generated {
            annotations.push("configmap.hash/ca-bundle", hash);
            manifests.push(config_map);
        }
        (mounted.config_map, mounted.key)
    });
    let ca = mounted.as_ref().map(|(config_map, key)| (config_map.as_str(), key.as_str()));
    let pod = pod::build_pod(server, ca, options);
    let cluster_objects = [
        objects::claim(server),
        objects::service_account(server),
        objects::role_binding(server, options),
        objects::service(server),
        objects::network_policy(server, options),
        objects::ingress(server),
        objects::disruption_budget(server),
        objects::autoscaler(server),
    ];
    manifests.extend(cluster_objects.into_iter().flatten());
    report_large_pod(&pod, &mut out.findings);
    if out.findings.has_errors() {
        return;
    }
    manifests.push(objects::deployment(server, pod, annotations));
    out.manifests = manifests;
    if let Some(decision) = &mut out.decision {
        decision.endpoint =
            server.has_service().then(|| Endpoint { service: server.object_name("service"), port: server.port() });
    }
}

/// Reports options that contradict the distribution, and an unpinned image.
fn check_options(server: &Server, mode: Mode, settings: &Settings, findings: &mut Findings<'_>) {
    if mode == Mode::Native && server.workers.is_some() {
        let message = "spec.server.workers cannot be set with llamaStack.nativeExtraProviders: uvicorn does not load \
                       external providers";
        findings
            .report(&shared::INVALID_VALUE, LlamaStackDistribution::path().spec().server().workers(), message)
            .help("remove it, or set llamaStack.nativeExtraProviders to false");
    }
    let renderer = settings.renderer();
    if matches!(mode, Mode::Init | Mode::Native) && renderer.is_default {
        let image = renderer.image;
        let message = format!(
            "the init container merge-config needs the image {image}, which is in no registry until you build and push it"
        );
        findings
            .report(
                &codes::UNPUBLISHED_RENDERER,
                LlamaStackDistribution::path().spec().server().external_providers(),
                message,
            )
            .help(format!(
                "push the image to a registry that the cluster pulls from, and add to kubefoundry.yaml, with that registry: \
                 llamaStack: {{image: registry.example.com/{image}}}"
            ));
    }
}

/// Maximum size of a pod as JSON: etcd stores at most 1.5 MiB for an object.
const MAX_POD_BYTES: usize = 3 << 19;

/// Reports a pod that no cluster can store.
fn report_large_pod(pod: &PodSpec, findings: &mut Findings<'_>) {
    let bytes = to_json_text(pod).len();
    if bytes > MAX_POD_BYTES {
        let message = format!(
            "the pod has {bytes} bytes as JSON, expected at most {MAX_POD_BYTES}: each provider adds a script and its config"
        );
        findings
            .report(&shared::OUT_OF_RANGE, LlamaStackDistribution::path().spec().server().external_providers(), message)
            .help("spread the providers over several distributions");
    }
}
