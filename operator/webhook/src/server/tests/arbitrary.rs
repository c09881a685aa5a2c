//! Requests that are arbitrary JSON, or no JSON at all.

use proptest::prelude::*;

use super::*;

/// Generates arbitrary JSON, sometimes with keys and values of a ModelDeployment.
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
    fn answers_any_object(spec in any_json(), metadata in any_json(), old in any_json(), path in 0..2usize, kind in 0..2usize) {
        let kind = ["ModelDeployment", "InferenceProviderConfig"][kind];
        let object = json!({"apiVersion": "kubefoundry.ai/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec});
        let response = admit_with(FakeCluster { allowed: Some("kaito"), ..FakeCluster::default() }, ["/mutate", "/validate"][path], &request(object, old));
        prop_assert!(response["allowed"].is_boolean());
    }

    #[test]
    fn answers_any_body(body in prop::collection::vec(any::<u8>(), 0..200), json in any_json(), path in 0..3usize) {
        let path = ["/mutate", "/validate", "/convert"][path];
        let (status, _) = post(Arc::new(FakeCluster::default()), path, body);
        prop_assert_eq!(status, StatusCode::BAD_REQUEST);
        let (status, _) = post(Arc::new(FakeCluster::default()), path, json.to_string());
        prop_assert_eq!(status, StatusCode::BAD_REQUEST);
    }
}
