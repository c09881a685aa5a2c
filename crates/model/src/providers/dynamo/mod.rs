//! Dynamo: a deployment becomes one `DynamoGraphDeployment`, a frontend and its workers.
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
mod reserved;
pub(crate) mod runtimes;
mod status;
mod storage;
mod support;
mod trtllm;
mod v1alpha1;
mod v1beta1;
mod worker;

use crate::wire::ModelDeployment;
use backend::Backend;
use component::Graph;

use super::metadata;
use super::pod::{self, has_gpus};
use crate::codes as shared_codes;
use crate::draft::{Draft, ImportRefusal, ImportSource};
use crate::ir::{Deployment, ModelSource};
use crate::provider::{
    CustomKind, ListKeys, Provider, ProviderInfo, ServerDefault, Status, StatusError, Translation, TranslationContext,
};
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::pod::SpecBody;
use kubefoundry_kubernetes::wire::Describe as _;
use kubefoundry_transform::Endpoint;

/// Its name in `spec.provider.name` and in options.
const NAME: &str = "dynamo";
/// The CRD version that every operator release serves; the default.
const V1ALPHA1: &str = "nvidia.com/v1alpha1";
/// The CRD version that operators from 1.2 serve, and from 1.5 store.
const V1BETA1: &str = "nvidia.com/v1beta1";
/// The runtimes whose flags are known (docs/design/0012); the first is the default.
const RUNTIMES: &[&str] = &["1.4.0", "1.1.1", "1.6.1"];
/// Where the frontend listens (DynamoServicePort upstream).
const PORT: u16 = 8000;
/// The operator builds pod names from the graph's name and a component's: together no longer than this
/// (validateComponentNameLength in `deploy/operator/internal/webhook/validation/dynamographdeployment.go`).
const NAMES: usize = 45;

/// Dynamo.
#[derive(Debug)]
pub struct Dynamo;

static INFO: ProviderInfo = ProviderInfo {
    name: NAME,
    display_name: "Dynamo",
    config: include_str!("config.yaml"),
    readme: include_str!("README.md"),
    crd_versions: &[V1ALPHA1, V1BETA1],
    runtimes: RUNTIMES,
    is_released_with_runtime: true,
    overrides: overrides::Overrides::SHAPE,
    section: None,
    codes: codes::CODES,
    deviations: support::deviations,
    behaviors: behavior::BEHAVIORS,
    kinds: &[CustomKind { group: "nvidia.com", kind: "DynamoGraphDeployment", plural: "dynamographdeployments" }],
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
        let backend = Backend::of(deployment.engine.kind)?;
        let fits = [model_has_id(deployment, findings), name_fits(deployment, backend, findings)] == [true, true];
        let graph = graph(deployment, backend, context, findings);
        // Nothing runs without GPUs, whatever the capabilities in use say.
        let graph = graph.filter(|_| fits && has_gpus(deployment))?;

        let name = &deployment.metadata.name;
        let written = if context.crd_version == V1BETA1 {
            let spec = v1beta1::Spec::from(graph);
            Manifest::new(V1BETA1, "DynamoGraphDeployment", name, SpecBody { spec })
        } else {
            let spec = v1alpha1::Spec::from(graph);
            Manifest::new(V1ALPHA1, "DynamoGraphDeployment", name, SpecBody { spec })
        };
        let mut manifests = pod::claims(deployment);
        manifests.push(written);
        let service = format!("{name}-{}", frontend::NAME.to_lowercase());
        Some(Translation { manifests, endpoint: Endpoint { service, port: PORT } })
    }

    fn import(&self, source: &ImportSource<'_>) -> Result<Draft, ImportRefusal> {
        import::import(source)
    }

    fn translate_status(&self, observed: &serde_json::Value) -> Result<Status, StatusError> {
        status::translate(observed)
    }
}

/// The graph of a deployment. `None` means that findings say why there is none; all of it is looked at first.
fn graph(
    deployment: &Deployment,
    backend: &Backend,
    context: &TranslationContext<'_>,
    findings: &mut Findings<'_>,
) -> Option<Graph> {
    let settings = overrides::settings(deployment, findings);
    let runtime = image::runtime(deployment, backend, &settings, context, findings);
    frontend::check(deployment, findings);
    storage::check(deployment, findings);
    let workers: Vec<_> = deployment
        .workload
        .workers()
        .into_iter()
        .map(|worker| worker::component(deployment, worker, backend, &runtime, &settings, findings))
        .collect();
    let mut components = vec![frontend::component(deployment, &runtime, &settings)];
    for worker in workers {
        components.push(worker?);
    }
    Some(Graph { backend_framework: backend.framework, components })
}

/// Workers are started with the model's id.
fn model_has_id(deployment: &Deployment, findings: &mut Findings<'_>) -> bool {
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
        .help("set model.id to the absolute path of the model in the image");
    false
}

fn name_fits(deployment: &Deployment, backend: &Backend, findings: &mut Findings<'_>) -> bool {
    let components = deployment.workload.workers().into_iter().map(|worker| backend.component(worker.role));
    let longest = components.chain([frontend::NAME]).max_by_key(|component| component.len()).unwrap_or_default();
    metadata::name_fits(
        deployment,
        NAMES.saturating_sub(longest.len()),
        &format!("a Dynamo graph with component {longest}"),
        format!("shorten it: Dynamo names pods after it and the component, {NAMES} characters at most"),
        findings,
    )
}
