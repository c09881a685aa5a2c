//! LlamaStackDistributions with external providers.

use kube::core::{ApiResource, GroupVersionKind};
use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_kubernetes::wire::StringEnum as _;
use kubefoundry_llamastack::phase::{self, Phase, ProviderStatus};
use kubefoundry_llamastack::wire::{API_VERSION, Api, GROUP, KIND};
use serde_json::{Value, json};

use super::kind::{Access, ClaimedKind, GENERATED, Plural, Read, RelatedKind, View, related};
use super::{group_version, report, text};
use crate::conditions::DEPLOYMENT_READY;
use crate::status::{Condition, StatusUpdate};

/// The kind LlamaStackDistribution.
pub(crate) struct LlamaStack;

/// The kind LlamaStackDistribution.
pub(crate) static LLAMA_STACK: LlamaStack = LlamaStack;

/// The label of a ConfigMap with the metadata of a provider. Its value is the provider's id.
const METADATA: &str = "llamastack.io/provider-metadata";

static PLURAL: Plural = Plural {
    objects: "llamastackdistributions",
    status: "llamastackdistributions/status",
    finalizers: "llamastackdistributions/finalizers",
};

const RELATED: &[RelatedKind] = &[
    related(("", "v1"), ("Pod", "pods"), "app=llama-stack", Access::Read),
    related(("", "v1"), ("ConfigMap", "configmaps"), "", Access::Manage),
    related(("", "v1"), ("Service", "services"), GENERATED, Access::Manage),
    related(("", "v1"), ("ServiceAccount", "serviceaccounts"), GENERATED, Access::Manage),
    related(("", "v1"), ("PersistentVolumeClaim", "persistentvolumeclaims"), "llamastack.io/watch=true", Access::Keep),
    related(("apps", "v1"), ("Deployment", "deployments"), GENERATED, Access::Manage),
    related(("autoscaling", "v2"), ("HorizontalPodAutoscaler", "horizontalpodautoscalers"), GENERATED, Access::Manage),
    related(("networking.k8s.io", "v1"), ("Ingress", "ingresses"), GENERATED, Access::Manage),
    related(("networking.k8s.io", "v1"), ("NetworkPolicy", "networkpolicies"), GENERATED, Access::Manage),
    related(("policy", "v1"), ("PodDisruptionBudget", "poddisruptionbudgets"), GENERATED, Access::Manage),
];

fn core(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", kind))
}

/// Returns the ids and images of the external providers, in the order in which they are installed.
fn providers(object: &Value) -> Vec<(&str, &str)> {
    let sections = &object["spec"]["server"]["externalProviders"];
    let lists = Api::ALL.into_iter().filter_map(|api| sections.get(api.section())?.as_array());
    lists.flatten().map(|provider| (text(provider, "/providerId"), text(provider, "/image"))).collect()
}

impl ClaimedKind for LlamaStack {
    fn name(&self) -> &'static str {
        "llamastack"
    }

    fn group_kind(&self) -> (&'static str, &'static str) {
        (GROUP, KIND)
    }

    fn resource(&self) -> ApiResource {
        let (_, version) = group_version(API_VERSION);
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, version, KIND), PLURAL.objects)
    }

    fn plural(&self) -> &'static Plural {
        &PLURAL
    }

    fn manager(&self) -> &'static str {
        "kubefoundry-llamastack"
    }

    fn finalizer(&self) -> Option<&'static str> {
        None
    }

    fn related(&self) -> &'static [RelatedKind] {
        RELATED
    }

    fn inputs(&self, object: &Value) -> Vec<Read> {
        let names = ["/spec/server/userConfig/configMapName", "/spec/server/tlsConfig/caBundle/configMapName"];
        let named = names.into_iter().map(|pointer| text(object, pointer)).filter(|name| !name.is_empty());
        let named = named.map(|name| Read::Named(core("ConfigMap"), name.to_owned()));
        let providers = providers(object).into_iter().filter(|(id, _)| !id.is_empty());
        let metadata = providers.map(|(id, _)| Read::Labeled(core("ConfigMap"), format!("{METADATA}={id}")));
        named.chain(metadata).collect()
    }

    fn surroundings(&self, object: &Value) -> Vec<Read> {
        let name = text(object, "/metadata/name");
        vec![Read::Labeled(core("Pod"), format!("app.kubernetes.io/instance={name}"))]
    }

    fn status(&self, view: &View<'_>) -> StatusUpdate {
        let object = view.object;
        let (name, namespace) = (text(object, "/metadata/name"), text(object, "/metadata/namespace"));
        let entry = report::judge(object, view.live, view.now);
        let state = entry.as_ref().and_then(|entry| entry.state.as_deref()).unwrap_or("Pending");
        let is_invalid = view.outcome.applied.reason == "Invalid";
        let state = if is_invalid { "Failed" } else { state };
        let message = entry.as_ref().map(|entry| entry.status.message.clone()).unwrap_or_default();
        let ready = match state {
            "Ready" => Condition::new(DEPLOYMENT_READY, true, "Ready", "the server is ready"),
            _ if is_invalid => {
                Condition::new(DEPLOYMENT_READY, false, "NotReady", view.outcome.applied.message.clone())
            }
            _ => Condition::new(DEPLOYMENT_READY, false, "NotReady", message),
        };
        let deployment = report::find(view.live, "apps/v1", "Deployment", name);
        let available = deployment.and_then(|it| it.pointer("/status/availableReplicas")?.as_i64()).unwrap_or(0);
        let service = report::find(view.live, "v1", "Service", &format!("{name}-service"));
        let port = service.and_then(|service| service.pointer("/spec/ports/0/port")?.as_i64());
        let url = port.map(|port| format!("http://{name}-service.{namespace}.svc.cluster.local:{port}"));
        StatusUpdate::default()
            .field("phase", state)
            .field("availableReplicas", available)
            .field("serviceURL", url)
            .field("externalProviders", provider_statuses(object, view.live, view.now))
            .condition(ready)
    }
}

/// Returns how far the installation of each provider is, by the newest pod.
fn provider_statuses(object: &Value, live: &[Value], now: Time) -> Vec<Value> {
    let is_pod = |object: &&Value| text(object, "/kind") == "Pod";
    let newest = live.iter().filter(is_pod).max_by_key(|pod| {
        let is_deleted = !text(pod, "/metadata/deletionTimestamp").is_empty();
        (!is_deleted, text(pod, "/metadata/creationTimestamp"), text(pod, "/metadata/name"))
    });
    let recorded = object.pointer("/status/externalProviders").and_then(Value::as_array);
    let before = |id: &str| -> Option<ProviderStatus> {
        let known = recorded?.iter().find(|known| text(known, "/providerId") == id)?;
        let field = |name: &str| text(known, name).to_owned();
        let (_, phase) = Phase::VARIANTS.iter().find(|(word, _)| *word == text(known, "/phase"))?;
        Some(ProviderStatus {
            provider_id: id.to_owned(),
            image: field("/image"),
            phase: *phase,
            message: field("/message"),
            init_container_name: field("/initContainerName"),
            last_transition_time: field("/lastTransitionTime"),
        })
    };
    let now = now.to_string();
    let status = |(id, image): (&str, &str)| {
        let state = newest.map_or(phase::ContainerState::Absent, |pod| phase::state(pod, id));
        let status = phase::status(id, image, &state, &now, before(id).as_ref());
        json!({
            "providerId": status.provider_id,
            "image": status.image,
            "phase": status.phase.as_str(),
            "message": status.message,
            "initContainerName": status.init_container_name,
            "lastTransitionTime": status.last_transition_time,
        })
    };
    providers(object).into_iter().map(status).collect()
}
