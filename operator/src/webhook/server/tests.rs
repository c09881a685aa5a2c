#![expect(clippy::needless_pass_by_value, reason = "requests are put together where they are sent")]

use std::sync::Mutex;
use std::time::Duration;

use http_body_util::BodyExt as _;
use kubefoundry_compiler::session::Providers;
use kubefoundry_diagnostics::source::SourceSet;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::runtime::server;
use crate::webhook::allow_list;

/// A cluster with the built-in providers and one list.
#[derive(Default)]
struct Fake {
    is_filling: bool,
    allowed: Option<&'static str>,
    access: Access,
    /// The provider that is known, when not all are.
    only: Option<&'static str>,
    /// The one that is not ready.
    unready: Option<&'static str>,
    asked: Mutex<Vec<SubjectAccessReview>>,
}

/// Whether users may create what they ask for.
#[derive(Clone, Copy, Default)]
enum Access {
    #[default]
    Unchecked,
    Granted,
    Refused(&'static str),
}

/// An engine that knows some of the built-in providers.
fn session(unready: Option<&str>, is_known: impl Fn(&str) -> bool) -> Session {
    let mut sources = SourceSet::default();
    for provider in kubefoundry_model::providers::PROVIDERS.iter().filter(|provider| is_known(provider.name())) {
        let status = if unready == Some(provider.name()) { "status: {ready: false}\n" } else { "" };
        sources.add(provider.name(), format!("{}\n{status}", provider.info().config));
    }
    Session::new(&sources, Providers::Given).unwrap()
}

impl Cluster for Fake {
    fn session(&self, group: &str) -> Availability {
        match group {
            "kubefoundry.ai" | "kubeairunway.ai" if self.is_filling => Availability::Starting,
            "kubefoundry.ai" | "kubeairunway.ai" => Availability::Ready(Evaluators {
                session: session(self.unready, |name| self.only.is_none_or(|only| only == name)),
                among: Arc::new(|allowed| session(None, |name| allowed.iter().any(|one| one == name))),
            }),
            _ => Availability::NotServed,
        }
    }

    fn allowed<'c>(&'c self, namespace: &'c str) -> BoxFuture<'c, Result<Option<Vec<String>>, String>> {
        let allowed = match namespace {
            "unreadable" => Err("forbidden".to_owned()),
            _ => Ok(self.allowed.map(allow_list::read)),
        };
        std::future::ready(allowed).boxed()
    }

    fn checks_access(&self) -> bool {
        !matches!(self.access, Access::Unchecked)
    }

    fn access(&self, question: SubjectAccessReview) -> BoxFuture<'_, Option<String>> {
        self.asked.lock().unwrap().push(question);
        let refusal = match self.access {
            Access::Refused(why) => Some(why.to_owned()),
            Access::Unchecked | Access::Granted => None,
        };
        std::future::ready(refusal).boxed()
    }
}

fn post(cluster: Arc<Fake>, path: &str, body: impl Into<hyper::body::Bytes>) -> (StatusCode, String) {
    let request = server::Request {
        method: Method::POST,
        path: path.to_owned(),
        content_type: Some("application/json; charset=utf-8".to_owned()),
        body: body.into(),
    };
    send(cluster, request)
}

fn send(cluster: Arc<Fake>, request: server::Request) -> (StatusCode, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let answer = tokio::time::timeout(Duration::from_secs(20), handler(cluster)(request)).await.unwrap();
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

fn good() -> Value {
    json!({"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}})
}

fn bad() -> Value {
    json!({"engine": {"type": "vllm"}})
}

/// A request about a new object, or about one that was another before.
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

fn ask(cluster: Fake, path: &str, request: &Value) -> Value {
    ask_of(&Arc::new(cluster), path, request)
}

fn ask_of(cluster: &Arc<Fake>, path: &str, request: &Value) -> Value {
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let (status, body) = post(Arc::clone(cluster), path, review.to_string());
    assert_eq!(status, StatusCode::OK, "{body}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answer["apiVersion"], "admission.k8s.io/v1");
    assert_eq!(answer["response"]["uid"], "u");
    answer["response"].clone()
}

fn validate(object: Value, old: Value) -> Value {
    ask(Fake::default(), "/validate", &request(object, old))
}

fn message(response: &Value) -> &str {
    assert_eq!(response["allowed"], false, "{response}");
    response["status"]["message"].as_str().unwrap()
}

fn allow(response: &Value) {
    assert_eq!(response["allowed"], true, "{response}");
}

#[test]
fn a_good_deployment_passes() {
    assert_eq!(validate(phi(good()), Value::Null)["allowed"], true);
}

#[test]
fn every_error_is_said_with_its_field_and_code() {
    let response = validate(phi(bad()), Value::Null);
    assert_eq!(
        message(&response),
        "spec.model.id: model.id is required when source is huggingface [KF0207]\n\
         spec.resources.gpu.count: vLLM engine requires GPU (set resources.gpu.count > 0) [KF0201]"
    );
    assert_eq!((&response["status"]["code"], &response["status"]["reason"]), (&json!(422), &json!("Invalid")));
    let causes = response["status"]["details"]["causes"].as_array().unwrap();
    assert_eq!(causes.len(), 2);
    assert_eq!(causes[0]["field"], "spec.model.id");
    assert_eq!(response["status"]["details"]["kind"], "ModelDeployment");
}

#[test]
fn warnings_pass_and_are_said_unless_the_object_says_to_ignore_them() {
    let mut spec = good();
    spec["model"] = json!({"id": "/models/phi", "source": "custom", "servedName": "phi"});
    spec["image"] = json!("registry.example.com/phi:1");
    let mut object = phi(spec);
    let response = validate(object.clone(), Value::Null);
    allow(&response);
    let warnings = response["warnings"].as_array().unwrap();
    let ignored = warnings.iter().find(|it| it.as_str().unwrap().contains("servedName is ignored for custom source"));
    let ignored = ignored.unwrap_or_else(|| panic!("{response}")).as_str().unwrap();
    let code = ignored.get(1..7).unwrap().to_owned();
    object["metadata"]["annotations"] = json!({"kubefoundry.ai/lint-ignore": code});
    let response = validate(object, Value::Null);
    assert!(!response.to_string().contains("servedName is ignored"), "{response}");
}

#[test]
fn what_is_stored_with_errors_can_be_changed_in_all_else_and_let_go() {
    let mut labelled = phi(bad());
    labelled["metadata"]["labels"] = json!({"team": "a"});
    labelled["metadata"]["finalizers"] = json!([]);
    let response = validate(labelled, phi(bad()));
    assert_eq!((&response["allowed"], &response["warnings"]), (&json!(true), &Value::Null));
    let mut worse = bad();
    worse["engine"]["type"] = json!("sglang");
    assert!(message(&validate(phi(worse.clone()), phi(bad()))).contains("SGLang engine requires GPU"));
    let mut going = phi(worse);
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(validate(going, phi(bad()))["allowed"], true);
}

#[test]
fn defaults_are_written_where_the_specification_is() {
    let patched = |object: &Value, old: Value| {
        let response = ask(Fake::default(), "/mutate", &request(object.clone(), old));
        allow(&response);
        let mut object = object.clone();
        if let Some(patch) = response.get("patch") {
            let patch: k8s_openapi::ByteString = serde_json::from_value(patch.clone()).unwrap();
            json_patch::patch(&mut object, &serde_json::from_slice::<json_patch::Patch>(&patch.0).unwrap()).unwrap();
        }
        object
    };
    let new = patched(&phi(good()), Value::Null);
    assert_eq!(new["spec"]["model"]["source"], "huggingface");
    assert_eq!(new["spec"]["serving"]["mode"], "aggregated");
    assert_eq!(new["spec"]["model"]["id"], "org/phi");
    assert_eq!(new["metadata"], phi(good())["metadata"]);
    // Once more changes nothing, and neither does a change of something else.
    assert_eq!(patched(&new, Value::Null), new);
    let mut labelled = phi(good());
    labelled["metadata"]["labels"] = json!({"team": "a"});
    assert_eq!(patched(&labelled, phi(good())), labelled);
    // What cannot be read is left as it is, for validation to say so.
    assert_eq!(patched(&phi(json!({"model": 7})), Value::Null), phi(json!({"model": 7})));
    // A name that is still to be made is none of its business.
    let mut unnamed = phi(good());
    unnamed["metadata"] = json!({"generateName": "phi-"});
    assert_eq!(patched(&unnamed, Value::Null)["spec"]["model"]["source"], "huggingface");
}

#[test]
fn deletions_and_the_status_are_not_looked_at() {
    let mut deletion = request(phi(bad()), phi(bad()));
    deletion["operation"] = json!("DELETE");
    deletion["object"] = Value::Null;
    let mut status = request(phi(bad()), Value::Null);
    status["subResource"] = json!("status");
    for request in [deletion, status] {
        assert_eq!(ask(Fake { is_filling: true, ..Fake::default() }, "/validate", &request)["allowed"], true);
    }
}

#[test]
fn the_older_group_is_validated_as_well_and_others_are_not() {
    let mut object = phi(bad());
    object["apiVersion"] = json!("kubeairunway.ai/v1alpha1");
    assert!(message(&validate(object.clone(), Value::Null)).contains("model.id is required"));
    object["apiVersion"] = json!("example.com/v1");
    assert_eq!(validate(object, Value::Null)["allowed"], true);
}

#[test]
fn nothing_is_admitted_before_the_caches_are_filled() {
    let cluster = Arc::new(Fake { is_filling: true, ..Fake::default() });
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request(phi(good()), Value::Null),
    });
    for path in ["/mutate", "/validate"] {
        let (status, _) = post(Arc::clone(&cluster), path, review.to_string());
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    }
}

#[test]
fn a_provider_outside_of_the_list_is_refused() {
    let only_kaito = || Fake { allowed: Some("kaito"), ..Fake::default() };
    let mut named = good();
    named["provider"] = json!({"name": "kuberay"});
    let response = ask(only_kaito(), "/validate", &request(phi(named.clone()), Value::Null));
    assert_eq!(
        message(&response),
        "provider \"kuberay\" is not allowed in namespace \"ml\"; its annotation kubefoundry.ai/allowed-providers allows: kaito"
    );
    assert_eq!(response["status"]["reason"], "Forbidden");
    // Where nobody is named, the choice is among those that are allowed: without the list it would be dynamo.
    let response = ask(only_kaito(), "/validate", &request(phi(good()), Value::Null));
    assert!(message(&response).starts_with("spec: No compatible provider for "), "{response}");
    assert!(message(&response).ends_with(
        "\nspec.provider.name: namespace \"ml\" allows: kaito (annotation kubefoundry.ai/allowed-providers)"
    ));
    let cpu = json!({"model": {"id": "org/phi"}, "engine": {"type": "llamacpp"}, "image": "registry.example.com/phi:1",
        "provider": {"overrides": {"runner": "llama-server"}}});
    allow(&ask(only_kaito(), "/validate", &request(phi(cpu), Value::Null)));
    let none = Fake { allowed: Some(""), ..Fake::default() };
    message(&ask(none, "/validate", &request(phi(named.clone()), Value::Null)));
    // What was chosen before the list changed stays, until the specification changes.
    let mut stored = phi(good());
    stored["status"] = json!({"provider": {"name": "dynamo", "selectedReason": "default"}});
    allow(&ask(only_kaito(), "/validate", &request(stored.clone(), stored.clone())));
    let mut changed = stored.clone();
    changed["spec"]["resources"]["gpu"]["count"] = json!(2);
    message(&ask(only_kaito(), "/validate", &request(changed, stored)));
    // Nobody says in a new object what was chosen before.
    let mut forged = phi(good());
    forged["status"] = json!({"provider": {"name": "kaito"}});
    let kuberay = Fake { allowed: Some("kuberay"), ..Fake::default() };
    ask(kuberay, "/validate", &request(forged, Value::Null));
    // A list that cannot be read allows nothing.
    let mut elsewhere = request(phi(named), Value::Null);
    elsewhere["namespace"] = json!("unreadable");
    assert!(message(&ask(Fake::default(), "/validate", &elsewhere)).contains("cannot be read: forbidden"));
}

#[test]
fn the_user_must_be_allowed_to_create_what_the_deployment_becomes() {
    let cluster = Arc::new(Fake { access: Access::Refused("no, jo"), ..Fake::default() });
    let response = ask_of(&cluster, "/validate", &request(phi(good()), Value::Null));
    assert_eq!(message(&response), "no, jo");
    let asked = cluster.asked.lock().unwrap().remove(0).spec;
    assert_eq!(asked.user.as_deref(), Some("jo"));
    let resource = asked.resource_attributes.unwrap();
    assert_eq!(resource.resource.as_deref(), Some("dynamographdeployments"));
    assert_eq!(resource.group.as_deref(), Some("nvidia.com"));
    assert_eq!(resource.namespace.as_deref(), Some("ml"));
    // Not asked: a change that creates nothing, and an object that is refused anyway.
    let mut labelled = phi(good());
    labelled["metadata"]["labels"] = json!({"team": "a"});
    assert_eq!(ask_of(&cluster, "/validate", &request(labelled, phi(good())))["allowed"], true);
    message(&ask_of(&cluster, "/validate", &request(phi(bad()), Value::Null)));
    assert!(cluster.asked.lock().unwrap().is_empty());
    let may = Arc::new(Fake { access: Access::Granted, ..Fake::default() });
    assert_eq!(ask_of(&may, "/validate", &request(phi(good()), Value::Null))["allowed"], true);
    assert_eq!(may.asked.lock().unwrap().len(), 1);
}

#[test]
fn a_deployment_that_nobody_can_take_yet_waits_unless_access_is_checked() {
    let nobody = || Fake { only: Some("nobody"), ..Fake::default() };
    let response = ask(nobody(), "/validate", &request(phi(good()), Value::Null));
    assert_eq!(response["allowed"], true, "{response}");
    let response =
        ask(Fake { unready: Some("dynamo"), ..Fake::default() }, "/validate", &request(phi(good()), Value::Null));
    allow(&response);
    assert!(response["warnings"][0].as_str().unwrap().contains("reports ready: false"), "{response}");
    let checked = Fake { access: Access::Granted, ..nobody() };
    assert!(
        message(&ask(checked, "/validate", &request(phi(good()), Value::Null)))
            .contains("no provider can be chosen yet")
    );
}

#[test]
fn a_provider_configuration_is_validated() {
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
    let right = config("spec.resources.gpu.count > 0");
    let wrong = config("spec.resources.gpu.count >");
    assert_eq!(validate(right.clone(), Value::Null), json!({"uid": "u", "allowed": true}));
    let response = validate(wrong.clone(), Value::Null);
    assert!(message(&response).starts_with("spec.selectionRules[0].condition: "), "{response}");
    assert_eq!(validate(wrong.clone(), wrong)["allowed"], true);
    // Before the caches are filled: nothing of them is needed.
    let filling = Fake { is_filling: true, ..Fake::default() };
    assert_eq!(ask(filling, "/validate", &request(right, Value::Null))["allowed"], true);
}

#[test]
fn other_requests_are_told_what_is_expected() {
    let cluster = || Arc::new(Fake::default());
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
        "uid": "u", "desiredAPIVersion": "kubefoundry.ai/v1alpha1", "objects": [phi(good())],
    }});
    assert!(post(cluster(), "/convert", review.to_string()).1.contains("Success"));
}

/// Any JSON, with keys that mean something now and then.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec!["vllm", "custom", "disaggregated", "kaito", "1Gi"]).prop_map(Value::from),
    ];
    let key = prop_oneof![
        prop::sample::select(vec![
            "spec",
            "metadata",
            "name",
            "namespace",
            "model",
            "id",
            "engine",
            "type",
            "resources",
            "gpu",
            "count",
            "provider",
            "overrides",
            "serving",
            "mode",
            "status",
            "annotations",
            "labels",
            "args",
            "env",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_object_is_answered(spec in any_json(), metadata in any_json(), old in any_json(), path in 0..2usize, kind in 0..2usize) {
        let kind = ["ModelDeployment", "InferenceProviderConfig"][kind];
        let object = json!({"apiVersion": "kubefoundry.ai/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec});
        let response = ask(Fake { allowed: Some("kaito"), ..Fake::default() }, ["/mutate", "/validate"][path], &request(object, old));
        prop_assert!(response["allowed"].is_boolean());
    }

    #[test]
    fn any_body_is_answered(body in prop::collection::vec(any::<u8>(), 0..200), json in any_json(), path in 0..3usize) {
        let path = ["/mutate", "/validate", "/convert"][path];
        let (status, _) = post(Arc::new(Fake::default()), path, body);
        prop_assert_eq!(status, StatusCode::BAD_REQUEST);
        let (status, _) = post(Arc::new(Fake::default()), path, json.to_string());
        prop_assert_eq!(status, StatusCode::BAD_REQUEST);
    }
}
