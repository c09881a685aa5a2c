//! A provider may write kinds that no CRD defines. The one of this test writes a Deployment and a Service, and shows what
//! the interface promises to such a provider.

use kubefoundry_compiler::session::{Providers, Session};
use kubefoundry_compiler::{Compilation, Thoroughness, compile};
use kubefoundry_convert::import;
use kubefoundry_convert::import::ImportReport;
use kubefoundry_deployment::ir::{Deployment, EngineType, Role};
use kubefoundry_deployment::placement::PodPlacement;
use kubefoundry_deployment::wire::{MainObjectMetadata, Patch};
use kubefoundry_diagnostics::Findings;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_engines::{self as engines, CommandLine, Launcher, flags_from_argv};
use kubefoundry_kubernetes::api_group::AIRUNWAY;
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::pod::{Container, PodMetadata, PodSpec, PodTemplate, SpecBody, StringMap, http_service};
use kubefoundry_kubernetes::wire::Describe as _;
use kubefoundry_kubernetes::wire_object;
use kubefoundry_model::ModelDeployments;
use kubefoundry_model::composition::Composition;
use kubefoundry_provider::draft::{Draft, ImportRefusal, ImportSource, WorkerDraft, count_at, string_at};
use kubefoundry_provider::{
    Behavior, GatewayBackend, ObjectKind, Provider, ProviderInfo, Reaction, Status, StatusError, Translation,
    TranslationContext, import_pod, overrides, pod,
};
use kubefoundry_transform::Endpoint;
use serde_json::{Value, json};

static NATIVE: Composition = Composition::new(&[&Native], &[&ModelDeployments]);

/// The label by which the provider knows its Deployments.
const OWN_LABEL: &str = "native.example.com/model";
const PORT: u16 = 8000;

const CONFIG: &str = "\
apiVersion: kubefoundry.ai/v1alpha1
kind: InferenceProviderConfig
metadata: {name: native}
spec:
  capabilities: {engines: [vllm], servingModes: [aggregated], cpuSupport: false, gpuSupport: true}
";

const MODEL: &str = "\
apiVersion: kubefoundry.ai/v1alpha1
kind: ModelDeployment
metadata: {name: qwen, namespace: ml}
spec:
  model: {id: Qwen/Qwen3-8B}
  provider: {name: native}
  engine: {type: vllm}
  image: vllm/vllm-openai:v0.26.0
  resources: {gpu: {count: 1}}
";

wire_object! {
    /// Settings for this provider only.
    pub(crate) struct Overrides {
        /// Labels and annotations of the provider's main object.
        metadata: MainObjectMetadata = "metadata" [not_in(&[AIRUNWAY])],
        /// Changes of the generated objects, for what no other field says.
        patches: Vec<Patch> = "patches" [not_in(&[AIRUNWAY])],
    }
}

static INFO: ProviderInfo = ProviderInfo {
    name: "native",
    display_name: "Native",
    config: CONFIG,
    readme: "# Native\n",
    crd_versions: &["apps/v1"],
    crd_versions_by_runtime: &[],
    runtimes: &[],
    chooses_gpus: |_| false,
    placement: |_| PodPlacement::Scheduled,
    chooses_runtime_itself: false,
    flag_tables: |_, _| Vec::new(),
    upgrades_by_minor_release: false,
    is_released_with_runtime: false,
    overrides: Overrides::SHAPE,
    section: None,
    codes: &[],
    deviations: Vec::new,
    behaviors: &[Behavior {
        kind: "Deployment",
        path: "spec",
        reaction: Reaction::InPlace,
        source: "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/",
    }],
    kinds: &[ObjectKind { group: "apps", kind: "Deployment", plural: "deployments" }],
    unsupported_kinds: &[],
    server_defaults: &[],
    list_keys: &[],
};

#[derive(Debug)]
struct Native;

#[derive(Debug, serde::Serialize)]
struct DeploymentSpec {
    replicas: u32,
    selector: Selector,
    template: PodTemplate,
}

#[derive(Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Selector {
    match_labels: StringMap,
}

impl Provider for Native {
    fn info(&self) -> &'static ProviderInfo {
        &INFO
    }

    fn owns(&self, object: &Value) -> bool {
        let is_deployment = string_at(object, "/apiVersion") == Some("apps/v1") && object["kind"] == "Deployment";
        is_deployment && object["spec"]["template"]["metadata"]["labels"].get(OWN_LABEL).is_some()
    }

    fn translate(
        &self,
        deployment: &Deployment,
        context: &TranslationContext<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<Translation> {
        overrides::read::<Overrides>(deployment, findings);
        let launcher = self.launcher(deployment, context, findings)?;
        let workers = deployment.workload.workers();
        let worker = workers.first()?;
        let invocation = engines::resolve(deployment, worker, &launcher, findings);
        let name = &deployment.metadata.name;
        let labels = StringMap::from_entry(OWN_LABEL, name.as_str());
        let container = Container {
            name: Some("vllm".into()),
            image: Some(context.image(&deployment.image.as_ref()?.0)),
            command: ["python3", "-m", "vllm.entrypoints.openai.api_server"].map(str::to_owned).to_vec(),
            args: invocation.argv(),
            ..pod::base_container(deployment, worker)
        };
        let spec = DeploymentSpec {
            replicas: worker.replicas.value,
            selector: Selector { match_labels: labels.clone() },
            template: PodTemplate {
                metadata: Some(PodMetadata { labels: labels.clone(), annotations: StringMap::default() }),
                spec: PodSpec { containers: vec![container], ..pod::base_pod_spec(deployment) },
            },
        };
        let mut manifests = pod::claims(deployment);
        manifests.push(http_service(name, labels.clone(), PORT, PORT));
        manifests.push(Manifest::new(context.crd_version, "Deployment", name, SpecBody { spec }));
        Some(Translation {
            manifests,
            endpoint: Some(Endpoint { service: name.clone(), port: PORT }),
            gateway_backend: GatewayBackend::Pods { labels, port: PORT },
        })
    }

    fn launcher(&self, deployment: &Deployment, _: &TranslationContext<'_>, _: &mut Findings<'_>) -> Option<Launcher> {
        Some(Launcher::vllm_server(&deployment.image.as_ref()?.0))
    }

    fn import(&self, source: &ImportSource<'_>) -> Result<Draft, ImportRefusal> {
        let spec = source.object.pointer("/spec/template/spec").unwrap_or(&Value::Null);
        let container = import_pod::find_container(spec, "vllm").ok_or_else(|| ImportRefusal("no vllm".to_owned()))?;
        let line = CommandLine::read(container).map_err(|error| ImportRefusal(error.to_string()))?;
        let mut draft = Draft::new(EngineType::Vllm);
        import_pod::import_pod(source.object.pointer("/spec/template/metadata"), spec, container, source, &mut draft);
        draft.pod_labels.remove(OWN_LABEL);
        let mut worker = WorkerDraft::new(Role::Aggregated);
        import_pod::import_resources(container, &mut worker);
        worker.replicas = count_at(source.object, "/spec/replicas").unwrap_or(1);
        worker.flags = flags_from_argv(&line.texts());
        draft.workers.push(worker);
        draft.owned_siblings.extend(source.find_sibling("Service", source.name()).map(|(position, _)| position));
        Ok(draft)
    }

    fn translate_status(&self, _: &Value) -> Result<Status, StatusError> {
        Err(StatusError::UnsupportedVersion { found: String::new(), expected: "apps/v1".to_owned() })
    }
}

fn sources(texts: &[(Purpose, &str)]) -> SourceSet {
    let mut sources = SourceSet::default();
    for (position, (purpose, text)) in texts.iter().enumerate() {
        sources.add_for(*purpose, format!("{position}.yaml"), *text);
    }
    sources
}

fn run(texts: &[(Purpose, &str)]) -> Compilation {
    compile(&NATIVE, &sources(texts), Thoroughness::EveryRule)
}

fn messages(compilation: &Compilation) -> Vec<String> {
    compilation.diagnostics.iter().map(|finding| format!("{} {}", finding.code.id, finding.message)).collect()
}

/// Returns the rendered objects of [`MODEL`].
fn rendered() -> Vec<Value> {
    let compilation = run(&[(Purpose::Input, MODEL)]);
    assert!(!compilation.has_errors(), "{:?}", messages(&compilation));
    compilation.outputs.into_iter().map(|output| output.object).collect()
}

fn import_objects(objects: &[Value]) -> ImportReport {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    import::import(&NATIVE, &sources(&[(Purpose::Input, &list)]))
}

/// CRDs of the cluster that have nothing to do with the provider.
const OTHER_CRDS: &str =
    r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinitionList", "items": []}"#;

#[test]
fn kinds_of_kubernetes_need_no_crd() {
    let kinds = |objects: &[Value]| objects.iter().map(|object| object["kind"].to_string()).collect::<Vec<_>>();
    assert_eq!(kinds(&rendered()), [r#""Service""#, r#""Deployment""#]);
    let with_crds = run(&[(Purpose::Input, MODEL), (Purpose::Crds, OTHER_CRDS)]);
    assert!(!with_crds.has_errors(), "{:?}", messages(&with_crds));
    assert_eq!(with_crds.outputs.len(), 2);
    // The operator registers a provider as ready if a version can be written.
    let session = Session::new(&NATIVE, &sources(&[(Purpose::Crds, OTHER_CRDS)]), Providers::All).unwrap();
    assert_eq!(session.crd_version("native").as_deref(), Some("apps/v1"));
}

#[test]
fn only_the_deployments_of_the_provider_are_imported() {
    let own = import_objects(&rendered());
    let [imported] = own.imported.as_slice() else { panic!("{:?}", own.diagnostics) };
    assert_eq!(imported.residue, [], "{:?}", imported.model_deployment);
    let foreign = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"template": {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}},
    });
    let report = import_objects(&[foreign]);
    let found: Vec<&str> = report.diagnostics.iter().map(|finding| finding.code.name).collect();
    assert_eq!((report.imported.len(), found), (0, vec!["import-finds-nothing"]));
}

#[test]
fn patches_of_kinds_of_kubernetes_are_checked() {
    let patched = |spec: &str| {
        let patch = format!("{{target: {{kind: Deployment}}, merge: {{spec: {spec}}}}}");
        let model = MODEL.replace("{name: native}", &format!("{{name: native, overrides: {{patches: [{patch}]}}}}"));
        messages(&run(&[(Purpose::Input, &model)]))
    };
    assert_eq!(patched("{minReadySeconds: 5}"), Vec::<String>::new());
    for wrong in ["{minReadySecond: 5}", "{template: {spec: {hostname: 5}}}"] {
        let found = patched(wrong);
        assert_eq!(found.len(), 1, "{wrong}: {found:?}");
    }
}
