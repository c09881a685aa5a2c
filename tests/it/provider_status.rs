//! Tests of the status table (docs/status.md) and of the facts of the upstream sources.

use serde_json::{Value, json};

use kubefoundry_composition::{BUILTIN, PROVIDERS};
use kubefoundry_deployment::wire::Phase;
use kubefoundry_kubernetes::wire::ConditionStatus;
use kubefoundry_provider::status::Status;

/// Builds an object of generation 7 with a status. `DGD alpha` and `DGD beta` are graphs of the two CRD versions.
fn object(kind: &str, status: &Value) -> Value {
    let (api_version, spec) = match kind {
        "Workspace" => ("kaito.sh/v1beta1", json!(null)),
        "InferenceSet" => ("kaito.sh/v1beta1", json!({"replicas": 2})),
        "DGD alpha" => (
            "nvidia.com/v1alpha1",
            json!({"services": {
                "Frontend": {"componentType": "frontend", "replicas": 1},
                "VllmPrefillWorker": {"componentType": "worker", "subComponentType": "prefill", "replicas": 2},
                "VllmDecodeWorker": {"componentType": "worker", "subComponentType": "decode"},
            }}),
        ),
        "DGD beta" => (
            "nvidia.com/v1beta1",
            json!({"components": [
                {"name": "Frontend", "type": "frontend", "replicas": 1},
                {"name": "VllmWorker", "type": "worker", "replicas": 3},
            ]}),
        ),
        _ => ("ray.io/v1", json!({"rayClusterConfig": {"workerGroupSpecs": [{"replicas": 2}, {"replicas": 1}]}})),
    };
    let kind = if kind.starts_with("DGD") { "DynamoGraphDeployment" } else { kind };
    json!({
        "apiVersion": api_version, "kind": kind, "spec": spec, "status": status,
        "metadata": {"name": "m", "namespace": "n", "generation": 7, "creationTimestamp": "2026-01-30T09:00:00Z"},
    })
}

/// Translates the status with the one provider that supports the object.
fn translate(object: &Value) -> Status {
    let read: Vec<_> = PROVIDERS.iter().filter_map(|provider| provider.translate_status(object).ok()).collect();
    let [status] = read.as_slice() else { panic!("{} providers read {object}", read.len()) };
    status.clone()
}

/// Builds conditions from tuples `(type, status, reason, message)`.
fn conditions(conditions: &[(&str, &str, &str, &str)]) -> Value {
    let to_json = |(kind, status, reason, message): &(&str, &str, &str, &str)| {
        let time = "2026-01-30T09:10:00Z";
        json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": time})
    };
    json!({"conditions": conditions.iter().map(to_json).collect::<Vec<_>>()})
}

/// Adds the fields of `other` to a status.
fn with(mut status: Value, other: &Value) -> Value {
    let other = other.as_object().unwrap().clone();
    status.as_object_mut().unwrap().extend(other);
    status
}

/// Builds the status of a RayService from conditions and the applications of both clusters.
fn ray(ready: &[(&str, &str, &str, &str)], active: &[(&str, &str)], pending: &[(&str, &str)]) -> Value {
    let cluster = |name: &str, applications: &[(&str, &str)]| {
        let states = applications.iter().enumerate().map(|(at, (state, message))| {
            let name = if at == 0 { "llm".to_owned() } else { format!("llm{at}") };
            (name, json!({"status": state, "message": message}))
        });
        let states: serde_json::Map<_, _> = states.collect();
        if states.is_empty() { json!({}) } else { json!({"rayClusterName": name, "applicationStatuses": states}) }
    };
    let clusters =
        json!({"activeServiceStatus": cluster("m-a", active), "pendingServiceStatus": cluster("m-p", pending)});
    with(if ready.is_empty() { json!({}) } else { conditions(ready) }, &clusters)
}

const SERVES: (&str, &str, &str, &str) = ("Ready", "True", "NonZeroServeEndpoints", "3 endpoints");
const STARTS: (&str, &str, &str, &str) = ("Ready", "False", "Initializing", "it starts");

#[test]
fn translates_every_row_of_the_status_table() {
    use Phase::{Deploying, Failed, Pending, Running};
    let seen = json!({"observedGeneration": 7});
    let dgd = |state: &str| with(json!({"state": state}), &seen);
    let rows: Vec<(&str, Value, Option<Phase>, &str)> = vec![
        // KAITO
        ("Workspace", json!({"state": "Ready"}), Some(Running), ""),
        ("Workspace", conditions(&[("WorkspaceSucceeded", "True", "workspaceSucceeded", "")]), Some(Running), ""),
        ("Workspace", json!({"state": "Succeeded"}), Some(Running), ""),
        (
            "Workspace",
            conditions(&[("ResourceReady", "True", "", "nodes are ready")]),
            Some(Deploying),
            "nodes are ready",
        ),
        (
            "Workspace",
            with(
                json!({"state": "Pending"}),
                &conditions(&[
                    ("ResourceReady", "True", "", "nodes"),
                    ("InferenceReady", "False", "", "loading weights"),
                ]),
            ),
            Some(Deploying),
            "loading weights",
        ),
        ("Workspace", json!({"state": "NotReady"}), Some(Deploying), ""),
        (
            "Workspace",
            with(
                json!({"state": "NotReady"}),
                &conditions(&[
                    ("InferenceReady", "True", "", "up"),
                    ("WorkspaceSucceeded", "False", "BenchmarkFailed", "too slow"),
                ]),
            ),
            Some(Deploying),
            "too slow",
        ),
        ("Workspace", json!({"state": "Running"}), Some(Deploying), ""),
        ("Workspace", json!({"state": "Pending"}), Some(Pending), ""),
        ("Workspace", json!(null), Some(Pending), "no status yet"),
        // The condition is False while the Workspace starts.
        ("Workspace", conditions(&[("WorkspaceSucceeded", "False", "workspacePending", "")]), Some(Pending), ""),
        (
            "Workspace",
            with(
                json!({"state": "Failed"}),
                &conditions(&[("WorkspaceSucceeded", "False", "workspaceFailed", "job failed")]),
            ),
            Some(Failed),
            "job failed",
        ),
        ("Workspace", conditions(&[("WorkspaceSucceeded", "False", "workspaceFailed", "x")]), Some(Failed), "x"),
        (
            "Workspace",
            json!({"state": "Dreaming"}),
            None,
            "status.state is \"Dreaming\", which this version does not know",
        ),
        ("Workspace", json!({"state": 5}), None, "status.state is 5, which this version does not know"),
        ("InferenceSet", json!(null), Some(Pending), "no status yet"),
        (
            "InferenceSet",
            conditions(&[("InferenceSetReady", "True", "inferencesetReady", "it is")]),
            Some(Running),
            "it is",
        ),
        (
            "InferenceSet",
            conditions(&[("InferenceSetReady", "False", "inferencesetNotReady", "1/2")]),
            Some(Deploying),
            "1/2",
        ),
        (
            "InferenceSet",
            conditions(&[("InferenceSetReady", "False", "inferencesetFailed", "no pool")]),
            Some(Failed),
            "no pool",
        ),
        ("InferenceSet", json!({"replicas": 2, "readyReplicas": 2}), Some(Running), ""),
        ("InferenceSet", json!({"replicas": 2}), Some(Deploying), ""),
        // Dynamo, both CRD versions
        (
            "DGD beta",
            with(dgd("successful"), &conditions(&[("Ready", "True", "all_resources_are_ready", "ready")])),
            Some(Running),
            "ready",
        ),
        ("DGD alpha", dgd("successful"), Some(Running), ""),
        // Operators of 2025 do not report the observed generation.
        ("DGD alpha", json!({"state": "successful"}), Some(Running), ""),
        (
            "DGD beta",
            json!({"state": "successful", "observedGeneration": 6}),
            Some(Deploying),
            "the controller has seen generation 6 of 7",
        ),
        (
            "DGD beta",
            json!({"state": "failed", "observedGeneration": 6}),
            Some(Deploying),
            "the controller has seen generation 6 of 7",
        ),
        ("DGD alpha", dgd("initializing"), Some(Deploying), ""),
        (
            "DGD beta",
            with(dgd("pending"), &conditions(&[("Ready", "False", "some_resources_are_not_ready", "worker: 0/1")])),
            Some(Deploying),
            "worker: 0/1",
        ),
        (
            "DGD beta",
            with(dgd("pending"), &json!({"rollingUpdate": {"phase": "Failed"}})),
            Some(Deploying),
            "the rolling update failed",
        ),
        ("DGD alpha", json!(null), Some(Pending), "no status yet"),
        ("DGD alpha", json!({}), Some(Pending), "no status yet"),
        (
            "DGD beta",
            with(dgd("failed"), &conditions(&[("Ready", "False", "failed", "mismatch")])),
            Some(Failed),
            "mismatch",
        ),
        // The specification expects this state, but no operator writes it.
        ("DGD alpha", dgd("deploying"), None, "status.state is \"deploying\", which this version does not know"),
        ("DGD beta", seen.clone(), None, "status.state is null, which this version does not know"),
        // KubeRay
        ("RayService", ray(&[SERVES], &[("RUNNING", "")], &[]), Some(Running), "3 endpoints"),
        (
            "RayService",
            ray(&[SERVES, ("UpgradeInProgress", "True", "", "")], &[("RUNNING", "")], &[("DEPLOYING", "1 of 2")]),
            Some(Running),
            "upgrade in progress; llm: DEPLOYING: 1 of 2",
        ),
        (
            "RayService",
            ray(&[SERVES, ("UpgradeInProgress", "True", "", "")], &[("RUNNING", "")], &[("DEPLOY_FAILED", "no GPU")]),
            Some(Running),
            "upgrade in progress; llm: DEPLOY_FAILED: no GPU",
        ),
        ("RayService", ray(&[STARTS], &[], &[]), Some(Deploying), "it starts"),
        ("RayService", ray(&[STARTS], &[], &[("DEPLOYING", "1 of 2")]), Some(Deploying), "llm: DEPLOYING: 1 of 2"),
        (
            "RayService",
            ray(&[("Ready", "False", "ZeroServeEndpoints", "none")], &[("RUNNING", "")], &[]),
            Some(Deploying),
            "none",
        ),
        (
            "RayService",
            ray(&[STARTS], &[], &[("DEPLOYING", ""), ("UNHEALTHY", "")]),
            Some(Deploying),
            "llm1: UNHEALTHY",
        ),
        ("RayService", json!(null), Some(Pending), "no status yet"),
        ("RayService", json!({"serviceStatus": ""}), Some(Pending), ""),
        (
            "RayService",
            ray(&[("Ready", "False", "SuspendComplete", "it sleeps")], &[], &[]),
            Some(Pending),
            "it sleeps",
        ),
        ("RayService", ray(&[STARTS, ("Suspended", "True", "", "")], &[], &[]), Some(Pending), "it starts"),
        ("RayService", ray(&[STARTS], &[], &[("DEPLOY_FAILED", "no GPU")]), Some(Failed), "llm: DEPLOY_FAILED: no GPU"),
        (
            "RayService",
            ray(&[("Ready", "False", "ValidationFailed", "too long")], &[], &[]),
            Some(Failed),
            "ValidationFailed: too long",
        ),
        (
            "RayService",
            ray(&[("Ready", "False", "InitializingTimeout", "after 1h")], &[], &[("DEPLOYING", "")]),
            Some(Failed),
            "InitializingTimeout: after 1h",
        ),
        (
            "RayService",
            ray(&[("Ready", "False", "SomethingNew", "?")], &[], &[]),
            None,
            "status.conditions[Ready].reason is \"SomethingNew\", which this version does not know; ?",
        ),
        (
            "RayService",
            ray(&[("Ready", "Unknown", "", "")], &[], &[]),
            None,
            "status.conditions[Ready].status is \"Unknown\", which this version does not know",
        ),
        // Operators before 1.3 have no conditions.
        ("RayService", json!({"serviceStatus": "Running"}), Some(Running), ""),
        ("RayService", ray(&[], &[], &[("DEPLOYING", "")]), Some(Deploying), "llm: DEPLOYING"),
        ("RayService", ray(&[], &[], &[("DEPLOY_FAILED", "")]), Some(Failed), "llm: DEPLOY_FAILED"),
        (
            "RayService",
            json!({"serviceStatus": "Failed"}),
            None,
            "status.serviceStatus is \"Failed\", which this version does not know",
        ),
    ];
    for (kind, status, phase, message) in rows {
        let read = translate(&object(kind, &status));
        assert_eq!((read.phase, read.message.as_str()), (phase, message), "{kind} {status}");
        assert_eq!(read.unrecognized.is_empty(), phase.is_some(), "{kind} {status}");
        let ready = match phase {
            Some(Phase::Running) => ConditionStatus::True,
            Some(_) => ConditionStatus::False,
            None => ConditionStatus::Unknown,
        };
        let unified: Vec<_> = read.conditions.iter().map(|it| (it.condition_type.as_str(), it.status)).collect();
        assert_eq!(unified, [("ResourceCreated", ConditionStatus::True), ("Ready", ready)], "{kind} {status}");
    }
}

#[test]
fn reports_deleted_objects_as_terminating() {
    for (kind, status) in [
        ("Workspace", json!({"state": "Ready"})),
        ("InferenceSet", json!(null)),
        ("DGD alpha", json!({"state": "failed"})),
        ("DGD beta", json!({"state": "new"})),
        ("RayService", ray(&[SERVES], &[], &[])),
    ] {
        let mut object = object(kind, &status);
        object["metadata"]["deletionTimestamp"] = json!("2026-01-30T10:00:00Z");
        object["metadata"]["finalizers"] = json!(["a/b", "c"]);
        let read = translate(&object);
        assert_eq!(read.phase, Some(Phase::Terminating), "{kind}");
        assert_eq!(read.message, "being deleted since 2026-01-30T10:00:00Z, waits for a/b, c");
    }
}

#[test]
fn counts_replicas_that_upstream_reports() {
    let worker =
        |ready: Value, available: Value| json!({"replicas": 3, "readyReplicas": ready, "availableReplicas": available});
    let beta = |worker: Value| json!({"state": "pending", "components": {"Frontend": {"readyReplicas": 1}, "VllmWorker": worker}});
    let clusters = json!({
        "conditions": [{"type": "Ready", "status": "True", "reason": "NonZeroServeEndpoints"}],
        "activeServiceStatus": {"rayClusterName": "m-a", "rayClusterStatus":
            {"desiredWorkerReplicas": 4, "readyWorkerReplicas": 3, "availableWorkerReplicas": 4, "state": "ready"}},
        "pendingServiceStatus": {"rayClusterName": "m-p", "trafficRoutedPercent": 20, "rayClusterStatus": {"readyWorkerReplicas": 9}},
    });
    for (kind, status, expected) in [
        ("Workspace", json!({"state": "Ready"}), (Some(1), Some(1), Some(1))),
        ("Workspace", json!(null), (Some(1), Some(0), Some(0))),
        ("Workspace", json!({"state": "Dreaming"}), (Some(1), None, None)),
        ("InferenceSet", json!({"replicas": 2, "readyReplicas": 1}), (Some(2), Some(1), None)),
        // Go omits a count of zero. Without a status, there is no count.
        ("InferenceSet", json!({"replicas": 2}), (Some(2), Some(0), None)),
        ("InferenceSet", json!(null), (Some(2), None, None)),
        ("DGD beta", beta(worker(json!(2), json!(1))), (Some(3), Some(2), Some(1))),
        // A PodCliqueScalingGroup counts no ready replicas, a PodClique no available ones.
        ("DGD beta", beta(worker(json!(null), json!(1))), (Some(3), None, Some(1))),
        ("DGD beta", beta(worker(json!(2), json!(null))), (Some(3), Some(2), None)),
        ("DGD beta", json!(null), (Some(3), None, None)),
        // Both roles together.
        (
            "DGD alpha",
            json!({"state": "pending", "services": {"VllmPrefillWorker": {"readyReplicas": 2}, "VllmDecodeWorker": {"readyReplicas": 1}}}),
            (Some(3), Some(3), None),
        ),
        // A sum with a missing count is absent.
        (
            "DGD alpha",
            json!({"state": "pending", "services": {"VllmPrefillWorker": {"readyReplicas": 2}}}),
            (Some(3), None, None),
        ),
        ("RayService", json!(null), (Some(3), None, None)),
        ("RayService", clusters, (Some(4), Some(3), Some(4))),
    ] {
        let replicas = translate(&object(kind, &status)).replicas.unwrap();
        assert_eq!((replicas.desired, replicas.ready, replicas.available), expected, "{kind} {status}");
    }
}

#[test]
fn names_the_service_of_each_kind() {
    for (kind, expected) in [
        ("Workspace", Some("m:80")),
        // KAITO creates no Service for a set. A rendered set, which has the annotation, comes with one.
        ("InferenceSet", None),
        ("DGD alpha", Some("m-frontend:8000")),
        ("DGD beta", Some("m-frontend:8000")),
        ("RayService", Some("m-serve-svc:8000")),
    ] {
        let endpoint = translate(&object(kind, &json!(null))).endpoint.map(|it| format!("{}:{}", it.service, it.port));
        assert_eq!(endpoint.as_deref(), expected, "{kind}");
    }
    let mut set = object("InferenceSet", &json!(null));
    set["metadata"]["annotations"] = json!({"kubefoundry.ai/model-deployment": "n/m"});
    assert_eq!(translate(&set).endpoint.unwrap().service, "m-inference");
    let mut tuning = object("Workspace", &json!({"state": "Running"}));
    tuning["tuning"] = json!({"method": "lora"});
    let tuning = translate(&tuning);
    assert!(tuning.endpoint.is_none() && tuning.replicas.is_none());
}

#[test]
fn lists_both_clusters_and_their_applications() {
    let status = ray(&[SERVES], &[("RUNNING", "")], &[("DEPLOYING", "1 of 2"), ("NEW", "")]);
    let status = translate(&object("RayService", &status));
    let parts: Vec<_> = status
        .parts
        .iter()
        .map(|part| format!("{} {} {}", part.role, part.name, part.state.as_deref().unwrap_or("-")))
        .collect();
    assert_eq!(
        parts,
        [
            "active cluster m-a -",
            "active application llm RUNNING",
            "pending cluster m-p -",
            "pending application llm DEPLOYING",
            "pending application llm1 NEW",
        ]
    );
    // The active cluster serves, so an unknown state elsewhere only adds an unrecognized value.
    assert_eq!(status.phase, Some(Phase::Running));
    assert_eq!(status.unrecognized[0].path, "status.pendingServiceStatus.applicationStatuses[\"llm1\"].status");
}

#[test]
fn keeps_reason_and_time_of_the_providers_ready_condition() {
    let ready = |kind: &str, status: Value| translate(&object(kind, &status)).conditions[1].clone();
    let own = ready("RayService", ray(&[SERVES], &[], &[]));
    assert_eq!(
        (own.reason.as_str(), own.last_transition_time.as_deref()),
        ("NonZeroServeEndpoints", Some("2026-01-30T09:10:00Z"))
    );
    // Upstream's condition is True, but for the previous generation.
    let old = with(
        json!({"state": "successful", "observedGeneration": 6}),
        &conditions(&[("Ready", "True", "all_resources_are_ready", "")]),
    );
    let own = ready("DGD beta", old);
    assert_eq!(
        (own.reason.as_str(), own.status, own.last_transition_time),
        ("Deploying", ConditionStatus::False, None)
    );
    assert_eq!(ready("DGD beta", json!({"state": "x"})).reason, "UnknownState");
}

#[test]
fn refuses_other_kinds_and_versions() {
    let dynamo = BUILTIN.find_provider("dynamo").unwrap();
    let error = |version: &str, kind: &str| {
        dynamo.translate_status(&json!({"apiVersion": version, "kind": kind})).unwrap_err().to_string()
    };
    assert_eq!(
        error("nvidia.com/v1beta1", "DynamoModel"),
        "nvidia.com/v1beta1 DynamoModel is not an object of Dynamo that runs a model, expected DynamoGraphDeployment of nvidia.com"
    );
    assert_eq!(
        error("nvidia.com/v2", "DynamoGraphDeployment"),
        "nvidia.com/v2 DynamoGraphDeployment is of a version that is not read, expected v1alpha1 or v1beta1"
    );
    assert!(dynamo.translate_status(&json!(null)).is_err());
}

#[test]
fn accepts_any_shape_of_status() {
    for shape in [json!(null), json!(1), json!("x"), json!([1]), json!({"a": 1}), json!([{"type": 1, "status": 2}])] {
        for kind in ["Workspace", "InferenceSet", "DGD alpha", "DGD beta", "RayService"] {
            let base = object(kind, &json!({"state": "pending"}));
            for pointer in ["/status", "/spec", "/metadata", "/status/state"] {
                let mut object = base.clone();
                *object.pointer_mut(pointer).unwrap() = shape.clone();
                translate(&object);
            }
            for field in ["conditions", "services", "components", "serviceStatus", "activeServiceStatus"] {
                let mut object = base.clone();
                object["status"][field] = shape.clone();
                translate(&object);
            }
        }
    }
}
