#![expect(clippy::needless_pass_by_value, reason = "requests are built in the call that sends them")]

use std::sync::Mutex;
use std::time::Duration;

use futures::future::BoxFuture;
use http_body_util::BodyExt as _;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kubefoundry_compiler::session::{Providers, Session};
use kubefoundry_composition::BUILTIN;
use kubefoundry_controller_runtime::server;
use kubefoundry_diagnostics::source::SourceSet;
use serde_json::json;

use super::*;

mod arbitrary;
mod observed;

/// A cluster with the built-in providers and one allow list.
#[derive(Default)]
struct FakeCluster {
    is_filling: bool,
    allowed: Option<&'static str>,
    access: Access,
    /// The only registered provider; none for all of them.
    only: Option<&'static str>,
    /// The provider that is not ready.
    unready: Option<&'static str>,
    /// The deployment that is stored.
    stored: Option<Value>,
    reviews: Mutex<Vec<SubjectAccessReview>>,
    /// The webhooks that were asked, and their verdicts.
    verdicts: Mutex<Vec<(&'static str, &'static str)>>,
    /// Is notified when the allow list is asked for that never comes.
    silence: tokio::sync::Notify,
}

/// The answer to access reviews.
#[derive(Clone, Copy, Default)]
enum Access {
    #[default]
    Unchecked,
    Granted,
    Refused(&'static str),
}

/// Creates a session with some of the built-in providers.
fn session(unready: Option<&str>, is_known: impl Fn(&str) -> bool) -> Session {
    let mut sources = SourceSet::default();
    for provider in kubefoundry_composition::PROVIDERS.iter().filter(|provider| is_known(provider.name())) {
        let status = if unready == Some(provider.name()) { "status: {ready: false}\n" } else { "" };
        sources.add(provider.name(), format!("{}\n{status}", provider.info().config));
    }
    Session::new(&BUILTIN, &sources, Providers::Configured).unwrap()
}

impl AdmissionContext for FakeCluster {
    fn session(&self, group: &str) -> Availability {
        match group {
            "kubefoundry.ai" | "kubeairunway.ai" if self.is_filling => Availability::Starting,
            "kubefoundry.ai" | "kubeairunway.ai" => Availability::Ready(Evaluators {
                session: session(self.unready, |name| self.only.is_none_or(|only| only == name)),
                restrict: Arc::new(|allowed| session(None, |name| allowed.iter().any(|one| one == name))),
            }),
            _ => Availability::NotServed,
        }
    }

    fn allow_list<'c>(&'c self, namespace: &'c str) -> BoxFuture<'c, Result<AllowList, String>> {
        let allowed = match namespace {
            "unreadable" => Err("forbidden".to_owned()),
            "silent" => {
                self.silence.notify_one();
                return std::future::pending().boxed();
            }
            _ => Ok(AllowList::parse(namespace, self.allowed)),
        };
        std::future::ready(allowed).boxed()
    }

    fn deployment<'c>(
        &'c self,
        group: &'c str,
        namespace: &'c str,
        name: &'c str,
    ) -> BoxFuture<'c, Result<Option<Value>, String>> {
        assert_eq!((group, namespace, name), ("kubefoundry.ai", "ml", "phi"));
        std::future::ready(Ok(self.stored.clone())).boxed()
    }

    fn checks_access(&self) -> bool {
        !matches!(self.access, Access::Unchecked)
    }

    fn observe(&self, webhook: &'static str, verdict: &'static str, _took: Duration) {
        self.verdicts.lock().unwrap().push((webhook, verdict));
    }

    fn check_access(&self, review: SubjectAccessReview) -> BoxFuture<'_, Option<String>> {
        self.reviews.lock().unwrap().push(review);
        let refusal = match self.access {
            Access::Refused(reason) => Some(reason.to_owned()),
            Access::Unchecked | Access::Granted => None,
        };
        std::future::ready(refusal).boxed()
    }
}

fn post(cluster: Arc<FakeCluster>, path: &str, body: impl Into<hyper::body::Bytes>) -> (StatusCode, String) {
    let request = server::Request {
        method: Method::POST,
        path: path.to_owned(),
        content_type: Some("application/json; charset=utf-8".to_owned()),
        body: body.into(),
    };
    send(cluster, request)
}

fn send(cluster: Arc<FakeCluster>, request: server::Request) -> (StatusCode, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let answer = tokio::time::timeout(Duration::from_secs(60), handler(cluster)(request)).await.unwrap();
        let (head, body) = answer.into_parts();
        (head.status, String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap())
    })
}

fn phi(spec: Value) -> Value {
    json!({
        "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment",
        "metadata": {"name": "phi", "namespace": "ml", "uid": "1", "managedFields": [{"manager": "kubectl"}]},
        "spec": spec,
    })
}

fn valid_spec() -> Value {
    json!({"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}})
}

fn invalid_spec() -> Value {
    json!({"engine": {"type": "vllm"}})
}

/// Creates a request that creates an object, or updates `old`.
fn request(object: Value, old: Value) -> Value {
    let group = object["apiVersion"].as_str().unwrap_or_default().split('/').next().unwrap_or_default().to_owned();
    let operation = if old.is_null() { "CREATE" } else { "UPDATE" };
    json!({
        "uid": "u", "kind": {"group": group, "version": "v1alpha1", "kind": object["kind"]},
        "resource": {"group": group, "version": "v1alpha1", "resource": "modeldeployments"},
        "name": "phi", "namespace": "ml", "operation": operation,
        "userInfo": {"username": "jo", "groups": ["devs"]}, "object": object, "oldObject": old, "dryRun": false,
    })
}

fn admit_with(cluster: FakeCluster, path: &str, request: &Value) -> Value {
    admit_in(&Arc::new(cluster), path, request)
}

fn admit_in(cluster: &Arc<FakeCluster>, path: &str, request: &Value) -> Value {
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let (status, body) = post(Arc::clone(cluster), path, review.to_string());
    assert_eq!(status, StatusCode::OK, "{body}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answer["apiVersion"], "admission.k8s.io/v1");
    assert_eq!(answer["response"]["uid"], "u");
    answer["response"].clone()
}

fn validate(object: Value, old: Value) -> Value {
    admit_with(FakeCluster::default(), "/validate", &request(object, old))
}

fn refusal_message(response: &Value) -> &str {
    assert_eq!(response["allowed"], false, "{response}");
    response["status"]["message"].as_str().unwrap()
}

fn assert_allowed(response: &Value) {
    assert_eq!(response["allowed"], true, "{response}");
}

#[test]
fn admits_a_valid_deployment() {
    assert_eq!(validate(phi(valid_spec()), Value::Null)["allowed"], true);
}

#[test]
fn reports_every_error_with_field_and_code() {
    let response = validate(phi(invalid_spec()), Value::Null);
    assert_eq!(
        refusal_message(&response),
        "spec.model.id: model.id is required when source is huggingface [KF0208]\n\
         spec.resources.gpu.count: vLLM engine requires GPU (set resources.gpu.count > 0) [KF0202]"
    );
    assert_eq!((&response["status"]["code"], &response["status"]["reason"]), (&json!(422), &json!("Invalid")));
    let causes = response["status"]["details"]["causes"].as_array().unwrap();
    assert_eq!(causes.len(), 2);
    assert_eq!(causes[0]["field"], "spec.model.id");
    assert_eq!(response["status"]["details"]["kind"], "ModelDeployment");
}

#[test]
fn sends_warnings_unless_an_annotation_ignores_them() {
    let mut spec = valid_spec();
    spec["model"] = json!({"id": "/models/phi", "source": "custom", "servedName": "phi"});
    spec["image"] = json!("registry.example.com/phi:1");
    let mut object = phi(spec);
    let response = validate(object.clone(), Value::Null);
    assert_allowed(&response);
    let warnings = response["warnings"].as_array().unwrap();
    let ignored = warnings.iter().find(|it| it.as_str().unwrap().contains("servedName is ignored for custom source"));
    let ignored = ignored.unwrap_or_else(|| panic!("{response}")).as_str().unwrap();
    let code = ignored.get(1..7).unwrap().to_owned();
    object["metadata"]["annotations"] = json!({"kubefoundry.ai/lint-ignore": code});
    let response = validate(object, Value::Null);
    assert!(!response.to_string().contains("servedName is ignored"), "{response}");
}

#[test]
fn an_invalid_stored_deployment_can_be_labeled_and_deleted() {
    let mut labeled = phi(invalid_spec());
    labeled["metadata"]["labels"] = json!({"team": "a"});
    labeled["metadata"]["finalizers"] = json!([]);
    let response = validate(labeled, phi(invalid_spec()));
    assert_eq!((&response["allowed"], &response["warnings"]), (&json!(true), &Value::Null));
    let mut worse = invalid_spec();
    worse["engine"]["type"] = json!("sglang");
    assert!(refusal_message(&validate(phi(worse.clone()), phi(invalid_spec()))).contains("SGLang engine requires GPU"));
    let mut going = phi(worse);
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(validate(going, phi(invalid_spec()))["allowed"], true);
}

#[test]
fn writes_defaults_only_when_the_specification_changes() {
    let patched = |object: &Value, old: Value| {
        let response = admit_with(FakeCluster::default(), "/mutate", &request(object.clone(), old));
        assert_allowed(&response);
        let mut object = object.clone();
        if let Some(patch) = response.get("patch") {
            let patch: k8s_openapi::ByteString = serde_json::from_value(patch.clone()).unwrap();
            json_patch::patch(&mut object, &serde_json::from_slice::<json_patch::Patch>(&patch.0).unwrap()).unwrap();
        }
        object
    };
    let new = patched(&phi(valid_spec()), Value::Null);
    assert_eq!(new["spec"]["model"]["source"], "huggingface");
    assert_eq!(new["spec"]["serving"]["mode"], "aggregated");
    assert_eq!(new["spec"]["model"]["id"], "org/phi");
    assert_eq!(new["metadata"], phi(valid_spec())["metadata"]);
    // A second time changes nothing, and neither does a change of labels.
    assert_eq!(patched(&new, Value::Null), new);
    let mut labeled = phi(valid_spec());
    labeled["metadata"]["labels"] = json!({"team": "a"});
    assert_eq!(patched(&labeled, phi(valid_spec())), labeled);
    // An object that cannot be read stays unchanged; validation reports it.
    assert_eq!(patched(&phi(json!({"model": 7})), Value::Null), phi(json!({"model": 7})));
    // The name may be generated later.
    let mut unnamed = phi(valid_spec());
    unnamed["metadata"] = json!({"generateName": "phi-"});
    assert_eq!(patched(&unnamed, Value::Null)["spec"]["model"]["source"], "huggingface");
}

#[test]
fn admits_deletions_and_status_writes() {
    let mut deletion = request(phi(invalid_spec()), phi(invalid_spec()));
    deletion["operation"] = json!("DELETE");
    deletion["object"] = Value::Null;
    let mut status = request(phi(invalid_spec()), Value::Null);
    status["subResource"] = json!("status");
    for request in [deletion, status] {
        assert_eq!(
            admit_with(FakeCluster { is_filling: true, ..FakeCluster::default() }, "/validate", &request)["allowed"],
            true
        );
    }
}

#[test]
fn validates_only_api_groups_with_crds() {
    let mut object = phi(invalid_spec());
    object["apiVersion"] = json!("kubeairunway.ai/v1alpha1");
    assert!(refusal_message(&validate(object.clone(), Value::Null)).contains("model.id is required"));
    object["apiVersion"] = json!("example.com/v1");
    assert_eq!(validate(object, Value::Null)["allowed"], true);
}

#[test]
fn admits_nothing_before_the_caches_are_filled() {
    let cluster = Arc::new(FakeCluster { is_filling: true, ..FakeCluster::default() });
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request(phi(valid_spec()), Value::Null),
    });
    for path in ["/mutate", "/validate"] {
        let (status, _) = post(Arc::clone(&cluster), path, review.to_string());
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    }
}

#[test]
fn refuses_a_provider_outside_of_the_allow_list() {
    let only_kaito = || FakeCluster { allowed: Some("kaito"), ..FakeCluster::default() };
    let mut named = valid_spec();
    named["provider"] = json!({"name": "kuberay"});
    let response = admit_with(only_kaito(), "/validate", &request(phi(named.clone()), Value::Null));
    assert_eq!(
        refusal_message(&response),
        "Provider 'kuberay' is not allowed in namespace 'ml', which allows: kaito (annotation kubefoundry.ai/allowed-providers)"
    );
    assert_eq!(response["status"]["reason"], "Forbidden");
    // A deployment that names no provider gets an allowed one: without the list it would be dynamo.
    let response = admit_with(only_kaito(), "/validate", &request(phi(valid_spec()), Value::Null));
    assert!(refusal_message(&response).starts_with("spec: No compatible provider for "), "{response}");
    assert!(refusal_message(&response).ends_with(
        "\nspec.provider.name: No provider can be selected in namespace 'ml', which allows: kaito (annotation kubefoundry.ai/allowed-providers)"
    ));
    let cpu = json!({"model": {"id": "org/phi"}, "engine": {"type": "llamacpp"}, "image": "registry.example.com/phi:1",
        "provider": {"overrides": {"runner": "llama-server"}}});
    assert_allowed(&admit_with(only_kaito(), "/validate", &request(phi(cpu), Value::Null)));
    let none = FakeCluster { allowed: Some(""), ..FakeCluster::default() };
    refusal_message(&admit_with(none, "/validate", &request(phi(named.clone()), Value::Null)));
    // A selection from before a change of the list stays until the specification changes.
    let mut stored = phi(valid_spec());
    stored["status"] = json!({"provider": {"name": "dynamo", "selectedReason": "default"}});
    assert_allowed(&admit_with(only_kaito(), "/validate", &request(stored.clone(), stored.clone())));
    let mut changed = stored.clone();
    changed["spec"]["resources"]["gpu"]["count"] = json!(2);
    refusal_message(&admit_with(only_kaito(), "/validate", &request(changed, stored)));
    // The status of a new object does not count as an earlier selection.
    let mut forged = phi(valid_spec());
    forged["status"] = json!({"provider": {"name": "kaito"}});
    let kuberay = FakeCluster { allowed: Some("kuberay"), ..FakeCluster::default() };
    admit_with(kuberay, "/validate", &request(forged, Value::Null));
    // An unreadable list allows nothing.
    let mut elsewhere = request(phi(named), Value::Null);
    elsewhere["namespace"] = json!("unreadable");
    assert!(
        refusal_message(&admit_with(FakeCluster::default(), "/validate", &elsewhere))
            .contains("cannot read the allowed providers of namespace \"unreadable\": forbidden")
    );
}

#[test]
fn the_user_must_have_access_to_the_rendered_objects() {
    let cluster = Arc::new(FakeCluster { access: Access::Refused("no, jo"), ..FakeCluster::default() });
    let response = admit_in(&cluster, "/validate", &request(phi(valid_spec()), Value::Null));
    assert_eq!(refusal_message(&response), "no, jo");
    let asked = cluster.reviews.lock().unwrap().remove(0).spec;
    assert_eq!(asked.user.as_deref(), Some("jo"));
    let resource = asked.resource_attributes.unwrap();
    assert_eq!(resource.resource.as_deref(), Some("dynamographdeployments"));
    assert_eq!(resource.group.as_deref(), Some("nvidia.com"));
    assert_eq!(resource.namespace.as_deref(), Some("ml"));
    // No review for a change that creates nothing, or for an object that is refused anyway.
    let mut labeled = phi(valid_spec());
    labeled["metadata"]["labels"] = json!({"team": "a"});
    assert_eq!(admit_in(&cluster, "/validate", &request(labeled, phi(valid_spec())))["allowed"], true);
    refusal_message(&admit_in(&cluster, "/validate", &request(phi(invalid_spec()), Value::Null)));
    assert!(cluster.reviews.lock().unwrap().is_empty());
    let granted = Arc::new(FakeCluster { access: Access::Granted, ..FakeCluster::default() });
    assert_eq!(admit_in(&granted, "/validate", &request(phi(valid_spec()), Value::Null))["allowed"], true);
    assert_eq!(granted.reviews.lock().unwrap().len(), 1);
}

#[test]
fn the_user_must_have_access_to_supporting_objects_as_well() {
    let cluster = Arc::new(FakeCluster { access: Access::Granted, ..FakeCluster::default() });
    let mut spec = valid_spec();
    spec["model"]["storage"] = json!({"volumes": [{"name": "weights", "purpose": "modelCache", "size": "10Gi"}]});
    assert_allowed(&admit_in(&cluster, "/validate", &request(phi(spec), Value::Null)));
    let reviews = cluster.reviews.lock().unwrap();
    let asked: Vec<(String, String)> = reviews
        .iter()
        .map(|review| {
            let attributes = review.spec.resource_attributes.clone().unwrap();
            (attributes.group.unwrap(), attributes.resource.unwrap())
        })
        .collect();
    let expected = [("", "persistentvolumeclaims"), ("nvidia.com", "dynamographdeployments")];
    assert_eq!(asked, expected.map(|(group, resource)| (group.to_owned(), resource.to_owned())));
}

#[test]
fn a_scale_is_reviewed_as_the_update_that_it_amounts_to() {
    let scale = |replicas: Value| {
        let object = |replicas: Value| {
            json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "phi", "namespace": "ml"},
                "spec": {"replicas": replicas}})
        };
        let mut scale = request(object(replicas), object(json!(1)));
        scale["kind"] = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
        scale["resource"] = json!({"group": "kubefoundry.ai", "version": "v1alpha1", "resource": "modeldeployments"});
        scale["subResource"] = json!("scale");
        scale
    };
    let with = |spec: Value| FakeCluster { stored: Some(phi(spec)), ..FakeCluster::default() };
    assert_allowed(&admit_with(with(valid_spec()), "/validate", &scale(json!(3))));
    let response = admit_with(with(valid_spec()), "/validate", &scale(json!(-1)));
    assert!(refusal_message(&response).contains("spec.scaling.replicas"), "{response}");
    let role = json!({"gpu": {"count": 1}, "memory": "8Gi"});
    let disaggregated = json!({"model": {"id": "org/phi"}, "engine": {"type": "vllm"},
        "serving": {"mode": "disaggregated"}, "scaling": {"prefill": role, "decode": role}});
    let response = admit_with(with(disaggregated), "/validate", &scale(json!(3)));
    assert!(refusal_message(&response).contains("spec.scaling.prefill.replicas"), "{response}");
    // One that is gone is left to the apiserver, and a scale has no defaults.
    assert_allowed(&admit_with(FakeCluster::default(), "/validate", &scale(json!(3))));
    let response = admit_with(with(valid_spec()), "/mutate", &scale(json!(3)));
    assert!(response["allowed"] == true && response["patch"].is_null(), "{response}");
}

#[test]
fn a_deployment_without_a_provider_is_stored_unless_access_is_checked() {
    let no_provider = || FakeCluster { only: Some("none"), ..FakeCluster::default() };
    let response = admit_with(no_provider(), "/validate", &request(phi(valid_spec()), Value::Null));
    assert_eq!(response["allowed"], true, "{response}");
    let response = admit_with(
        FakeCluster { unready: Some("dynamo"), ..FakeCluster::default() },
        "/validate",
        &request(phi(valid_spec()), Value::Null),
    );
    assert_allowed(&response);
    assert!(response["warnings"][0].as_str().unwrap().contains("reports ready: false"), "{response}");
    let checked = FakeCluster { access: Access::Granted, ..no_provider() };
    assert!(
        refusal_message(&admit_with(checked, "/validate", &request(phi(valid_spec()), Value::Null)))
            .contains("no provider can be selected yet")
    );
}

#[test]
fn validates_provider_configurations() {
    let config = |condition: &str| {
        json!({
            "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "InferenceProviderConfig",
            "metadata": {"name": "edge", "managedFields": [{"manager": "kubectl"}]},
            "spec": {
                "capabilities": {"engines": ["vllm"], "servingModes": ["aggregated"], "gpuSupport": true},
                "selectionRules": [{"condition": condition, "priority": 1}],
            },
        })
    };
    let valid = config("spec.resources.gpu.count > 0");
    let invalid = config("spec.resources.gpu.count >");
    assert_eq!(validate(valid.clone(), Value::Null), json!({"uid": "u", "allowed": true}));
    let response = validate(invalid.clone(), Value::Null);
    assert!(refusal_message(&response).starts_with("spec.selectionRules[0].condition: "), "{response}");
    assert_eq!(validate(invalid.clone(), invalid)["allowed"], true);
    // Configurations are validated without the caches.
    let filling = FakeCluster { is_filling: true, ..FakeCluster::default() };
    assert_eq!(admit_with(filling, "/validate", &request(valid, Value::Null))["allowed"], true);
}

#[test]
fn refuses_other_requests() {
    let cluster = || Arc::new(FakeCluster::default());
    assert_eq!(post(cluster(), "/", "{}").0, StatusCode::NOT_FOUND);
    assert_eq!(post(cluster(), "/validate", "{}").0, StatusCode::BAD_REQUEST);
    assert_eq!(post(cluster(), "/convert", "{}").0, StatusCode::BAD_REQUEST);
    let request = |method: Method, content_type: Option<&str>| server::Request {
        method,
        path: "/validate".to_owned(),
        content_type: content_type.map(str::to_owned),
        body: hyper::body::Bytes::new(),
    };
    assert_eq!(send(cluster(), request(Method::GET, None)).0, StatusCode::METHOD_NOT_ALLOWED);
    for content_type in [None, Some("text/plain")] {
        assert_eq!(send(cluster(), request(Method::POST, content_type)).0, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    let review = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {
        "uid": "u", "desiredAPIVersion": "kubefoundry.ai/v1alpha1", "objects": [phi(valid_spec())],
    }});
    assert!(post(cluster(), "/convert", review.to_string()).1.contains("Success"));
}
