//! Dynamo: a deployment becomes one `DynamoGraphDeployment` with a frontend and its workers.
//!
//! ```text
//! overrides ─ settings ─┐
//! spec.image ─ runtime ─┼─ frontend, workers (flags, storage) ─ Graph ─┬─ v1alpha1: services
//! engines::resolve ─────┘                                              └─ v1beta1:  components
//! ```

mod backend;
mod behavior;
pub mod codes;
mod component;
mod flags;
mod frontend;
mod image;
mod import;
pub mod overrides;
mod reserved_flags;
mod reserved_variables;
pub mod runtimes;
mod settings;
mod status;
mod storage;
mod support;
mod trtllm;
mod v1alpha1;
mod v1beta1;
mod worker;

use backend::Backend;
use component::{Component, Graph};
use kubefoundry_deployment::wire::ModelDeployment;
use settings::DynamoSettings;

use kubefoundry_deployment::codes as shared_codes;
use kubefoundry_deployment::ir::{Deployment, ModelSource};
use kubefoundry_deployment::placement::PodPlacement;
use kubefoundry_diagnostics::Findings;
use kubefoundry_engines::{self as engines, Invocation, Launcher};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::pod::SpecBody;
use kubefoundry_kubernetes::wire::Describe as _;
use kubefoundry_provider::draft::{Draft, ImportRefusal, ImportSource, Refinement};
use kubefoundry_provider::known_images::{self, ImageContents};
use kubefoundry_provider::metadata;
use kubefoundry_provider::pod::{self, has_gpus};
use kubefoundry_provider::{
    ListKeys, ObjectKind, Provider, ProviderInfo, ServerDefault, Status, StatusError, Translation, TranslationContext,
};
use kubefoundry_transform::{Endpoint, PodPart};
use kubefoundry_yaml::field_path::FieldPath;

/// The name in `spec.provider.name` and in the options.
const NAME: &str = "dynamo";
/// The default CRD version, which every operator release serves.
const V1ALPHA1: &str = "nvidia.com/v1alpha1";
/// The CRD version that operators serve from 1.2 and store from 1.5.
const V1BETA1: &str = "nvidia.com/v1beta1";
/// The releases whose flags are known (docs/design/0012): the default, then the others from the newest to the oldest.
const RUNTIMES: &[&str] = &[
    "1.4.0", "1.6.1", "1.6.0", "1.5.1", "1.5.0", "1.4.2", "1.4.1", "1.3.1", "1.3.0", "1.2.1", "1.2.0", "1.1.1",
    "1.1.0", "1.0.2", "1.0.1", "1.0.0",
];
/// The port of the frontend (DynamoServicePort upstream).
const PORT: u16 = 8000;
/// The limit for the graph's name and a component's name together, from which the operator builds the names of Grove's
/// objects. Without Grove there is no such limit, but only the cluster knows
/// (validateComponentNameLength in `deploy/operator/internal/webhook/validation/dynamographdeployment.go`).
const MAX_NAMES_LENGTH: usize = 45;

/// The provider Dynamo.
#[derive(Debug)]
pub struct Dynamo;

static INFO: ProviderInfo = ProviderInfo {
    name: NAME,
    display_name: "Dynamo",
    config: include_str!("../config.yaml"),
    readme: include_str!("../README.md"),
    crd_versions: &[V1ALPHA1, V1BETA1],
    crd_versions_by_runtime: &[("1.5.0", V1BETA1)],
    runtimes: RUNTIMES,
    chooses_gpus: |_| false,
    placement: |_| PodPlacement::Scheduled,
    chooses_runtime_itself: false,
    flag_tables: runtimes::flag_tables,
    // The release notes of Dynamo 1.6.0.
    upgrades_by_minor_release: true,
    is_released_with_runtime: true,
    overrides: overrides::Overrides::SHAPE,
    section: None,
    codes: codes::CODES,
    deviations: support::deviations,
    behaviors: behavior::BEHAVIORS,
    kinds: &[ObjectKind { group: "nvidia.com", kind: "DynamoGraphDeployment", plural: "dynamographdeployments" }],
    unsupported_kinds: &[],
    server_defaults: &[ServerDefault { kind: "DynamoGraphDeployment", path: "useAsCompilationCache", value: "false" }],
    list_keys: &[
        // v1beta1
        ListKeys { field: "components", keys: &["name"] },
        // v1alpha1; its mounts are not those of containers.
        ListKeys { field: "envs", keys: &["name"] },
        ListKeys { field: "pvcs", keys: &["name"] },
        ListKeys { field: "volumeMounts", keys: &["mountPoint"] },
    ],
};

impl Provider for Dynamo {
    fn info(&self) -> &'static ProviderInfo {
        &INFO
    }

    fn translate(
        &self,
        deployment: &Deployment,
        context: &TranslationContext<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<Translation> {
        let backend = Backend::find(deployment.engine.kind)?;
        let settings = settings::read_settings(deployment, findings);
        let is_valid = [require_model_id(deployment, findings), check_name(deployment, backend, &settings, findings)]
            == [true, true];
        let frontend_name = settings.frontend_name().to_owned();
        let graph = build_graph(deployment, backend, &settings, context, findings);
        // Dynamo needs GPUs, even if a configuration in the input claims otherwise.
        let graph = graph.filter(|_| is_valid && has_gpus(deployment))?;

        let name = &deployment.metadata.name;
        let main_object = if context.crd_version == V1BETA1 {
            let spec = v1beta1::Spec::from(graph);
            Manifest::new(V1BETA1, "DynamoGraphDeployment", name, SpecBody { spec })
        } else {
            let spec = v1alpha1::Spec::from(graph);
            Manifest::new(V1ALPHA1, "DynamoGraphDeployment", name, SpecBody { spec })
        };
        let mut manifests = pod::claims(deployment);
        manifests.push(main_object);
        let service = format!("{name}-{}", frontend_name.to_lowercase());
        Some(Translation {
            manifests,
            endpoint: settings.has_frontend.then_some(Endpoint { service, port: PORT }),
            gateway_backend: frontend::gateway_backend(deployment),
        })
    }

    fn launcher(
        &self,
        deployment: &Deployment,
        context: &TranslationContext<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<Launcher> {
        let backend = Backend::find(deployment.engine.kind)?;
        let settings = settings::read_settings(deployment, findings);
        let runtime = image::choose_runtime(deployment, backend, &settings, context, findings);
        Some(runtimes::launcher(backend.kind, runtime.release, runtime.is_exact))
    }

    fn pod_parts(&self, deployment: &Deployment) -> Vec<PodPart> {
        settings::component::pod_parts(deployment)
    }

    fn import(&self, source: &ImportSource<'_>) -> Result<Draft, ImportRefusal> {
        import::import(source)
    }

    fn unify(&self, object: &mut serde_json::Value) {
        import::unify::unify(object);
    }

    fn refine(&self, refinement: &Refinement<'_>, draft: &mut Draft) -> bool {
        import::refine::refine(refinement, draft)
    }

    fn replica_selector(&self, object: &serde_json::Value) -> Option<String> {
        status::worker_selector(object)
    }

    fn translate_status(&self, observed: &serde_json::Value) -> Result<Status, StatusError> {
        status::translate(observed)
    }
}

/// Builds the graph of a deployment. Returns `None` after reporting errors; every component is checked first.
fn build_graph(
    deployment: &Deployment,
    backend: &Backend,
    settings: &DynamoSettings,
    context: &TranslationContext<'_>,
    findings: &mut Findings<'_>,
) -> Option<Graph> {
    check_deployment(deployment, backend, findings);
    let runtime = image::choose_runtime(deployment, backend, settings, context, findings);
    frontend::check_environment(deployment, findings);
    if !settings.has_frontend {
        frontend::check_absence(deployment, findings);
    }
    storage::check_volumes(deployment, findings);
    let workers: Vec<Option<(Component, Invocation)>> = deployment
        .workload
        .workers()
        .into_iter()
        .map(|worker| worker::build_component(deployment, worker, backend, &runtime, settings, findings))
        .collect();
    if let [Some((_, prefill)), Some((_, decode))] = workers.as_slice() {
        let undecided = settings.workers.omitted_flags();
        engines::check_shared_settings(deployment.engine.kind, prefill, decode, &undecided, findings);
    }
    let frontend = settings.has_frontend.then(|| frontend::build_component(deployment, &runtime, settings));
    let mut components: Vec<Component> = frontend.into_iter().collect();
    for worker in workers {
        components.push(worker?.0);
    }
    Some(Graph { backend_framework: backend.framework, components })
}

/// Reports a model without an id, which Dynamo's workers need on their command line.
fn require_model_id(deployment: &Deployment, findings: &mut Findings<'_>) -> bool {
    if deployment.model.id.is_some() {
        return true;
    }
    let source = if deployment.model.source.value == ModelSource::Custom { " of source custom" } else { "" };
    findings
        .report(
            &shared_codes::MODEL_ID_NEEDED,
            ModelDeployment::path().spec().model(),
            format!("the model{source} has no id, but Dynamo's workers need one"),
        )
        .help(metadata::MODEL_ID_HELP);
    false
}

/// The pod labels that the operator overwrites (deploy/operator/internal/consts/consts.go).
const RESERVED_POD_LABELS: &[&str] = &[
    "nvidia.com/dynamo-base-model",
    "nvidia.com/dynamo-base-model-hash",
    "nvidia.com/dynamo-component",
    "nvidia.com/dynamo-component-pod",
    "nvidia.com/dynamo-component-type",
    "nvidia.com/dynamo-discovery-backend",
    "nvidia.com/dynamo-discovery-enabled",
    "nvidia.com/dynamo-graph-deployment-name",
    "nvidia.com/dynamo-namespace",
    "nvidia.com/dynamo-sub-component-type",
    "nvidia.com/dynamo-worker-hash",
    "nvidia.com/selector",
];

/// Checks the parts of a deployment that do not depend on overrides and engine flags. The workers read no GGUF files
/// (components and lib/llm of ai-dynamo).
fn check_deployment(deployment: &Deployment, backend: &Backend, findings: &mut Findings<'_>) {
    metadata::refuse_gguf(deployment, "Dynamo", findings);
    metadata::warn_about_ignored_pod_labels(deployment, "Dynamo", RESERVED_POD_LABELS, findings);
    reserved_variables::check_environment(deployment, findings);
    let program = format!("Dynamo with {}", engines::profile(backend.kind).display_name);
    known_images::check_contents(
        deployment,
        &program,
        |contents| contents == ImageContents::Dynamo(backend.kind),
        &format!("remove spec.image, or use an image with {program}, such as {}", backend.image),
        findings,
    );
}

fn check_name(
    deployment: &Deployment,
    backend: &Backend,
    settings: &DynamoSettings,
    findings: &mut Findings<'_>,
) -> bool {
    let starts_well = metadata::check_name_start(deployment, "Dynamo", findings);
    let names = worker::component_names(deployment, backend, settings);
    settings::names::check_unique_names(settings, &names, findings);
    let written: Vec<(&str, FieldPath)> = settings::names::written_names(settings);
    let is_multinode = deployment.workload.workers().iter().any(|worker| worker.nodes.value > 1);
    let is_written = |name: &str| !is_multinode && written.iter().any(|(other, _)| *other == name);
    let names = names.iter().map(|(_, name)| name.as_str()).chain([settings.frontend_name()]);
    let is_short = check_name_length(deployment, names.filter(|name| !is_written(name)), findings);
    if !is_multinode {
        settings::names::warn_about_long_names(deployment, &written, findings);
    }
    is_short && starts_well
}

fn check_name_length<'n>(
    deployment: &Deployment,
    components: impl Iterator<Item = &'n str>,
    findings: &mut Findings<'_>,
) -> bool {
    let longest = components.max_by_key(|component| component.len()).unwrap_or_default();
    metadata::check_name_length(
        deployment,
        MAX_NAMES_LENGTH.saturating_sub(longest.len()),
        &format!("a Dynamo graph with component {longest}"),
        format!(
            "shorten it: Dynamo names pods after it and the component, which together may have at most {MAX_NAMES_LENGTH} characters"
        ),
        findings,
    )
}
