//! Property tests of injection over generated objects.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::inject::{self, Injection, InjectionError};
use super::layout::{LAYOUTS, Layout};
use super::pod::{self, Volumes};

/// Volume names, some of which collide with the added ones.
fn volume_name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("socket-dir".to_owned()),
        Just("asya-socket-dir".to_owned()),
        Just("tmp".to_owned()),
        Just("asya-tmp".to_owned()),
        Just("asya-runtime".to_owned()),
        Just("asya-asya-runtime".to_owned()),
        "[a-z]{1,4}",
    ]
}

fn port() -> impl Strategy<Value = u16> {
    prop_oneof![Just(8080_u16), 9095..9100_u16, 1..=u16::MAX]
}

fn container() -> impl Strategy<Value = Value> {
    let mounts = prop::collection::vec(volume_name(), 0..3);
    let env = prop::collection::vec("[A-Z]{1,3}|ASYA_SOCKET_DIR|ASYA_HANDLER", 0..3);
    ("[a-z]{1,5}", prop::collection::vec(port(), 0..3), mounts, env, any::<bool>()).prop_map(
        |(name, ports, mounts, env, sparse)| {
            let mut container = json!({"name": name, "image": "registry.example.com/a:1"});
            if !sparse || !ports.is_empty() {
                container["ports"] = ports.iter().map(|port| json!({"containerPort": port})).collect();
            }
            if !sparse || !env.is_empty() {
                container["env"] = env.iter().map(|name| json!({"name": name, "value": "x"})).collect();
            }
            container["volumeMounts"] =
                mounts.iter().map(|name| json!({"name": name, "mountPath": format!("/{name}")})).collect();
            container
        },
    )
}

/// A part that may be absent, null, empty or filled.
fn part(value: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Option<Value>> {
    prop_oneof![1 => Just(None), 1 => Just(Some(Value::Null)), 4 => value.prop_map(Some)].boxed()
}

fn labels() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-z]{1,3}", "[a-z]{0,3}", 0..3).prop_map(|labels| json!(labels))
}

/// An object of a kind to which actors can bind.
fn object() -> impl Strategy<Value = (usize, Value)> {
    let list = |item: BoxedStrategy<Value>, least| prop::collection::vec(item, least..4).prop_map(Value::Array);
    let volume = volume_name().prop_map(|name| json!({"name": name, "emptyDir": {}}));
    (
        0..LAYOUTS.len(),
        part(list(container().boxed(), 0)),
        part(list(container().boxed(), 0)),
        part(list(volume.boxed(), 0)),
        part(labels()),
        part(labels()),
        part((0..200_i32).prop_map(|seconds| json!(seconds))),
        part((0..5_i32).prop_map(|replicas| json!(replicas))),
        any::<bool>(),
    )
        .prop_map(|(kind, containers, init, volumes, labels, annotations, grace, replicas, with_metadata)| {
            let layout = &LAYOUTS[kind];
            let mut spec = Map::new();
            let parts = [
                ("initContainers", init),
                ("volumes", volumes),
                ("terminationGracePeriodSeconds", grace),
                ("containers", containers),
            ];
            for (key, part) in parts {
                spec.extend(part.map(|part| (key.to_owned(), part)));
            }
            let mut object = json!({"apiVersion": "x/v1", "kind": layout.kind, "metadata": {"name": "model"}});
            if let Some(annotations) = annotations {
                object["metadata"]["annotations"] = annotations;
            }
            if let Some(replicas) = replicas {
                put(&mut object, &["spec", "replicas"], replicas);
            }
            put(&mut object, layout.pod_spec, Value::Object(spec));
            if with_metadata && layout.pod_metadata != layout.pod_spec {
                put(&mut object, layout.pod_metadata, json!({}));
            }
            if let Some(labels) = labels {
                put(&mut object, &[layout.pod_metadata, &["labels"]].concat(), labels);
            }
            (kind, object)
        })
}

fn put(object: &mut Value, path: &[&str], value: Value) {
    *path.iter().fold(object, |object, key| &mut object[*key]) = value;
}

/// Builds the injection of an actor into an object.
fn injection(object: &Value, layout: &Layout, grace: i32, scales: bool, account: bool) -> Injection {
    let empty = Map::new();
    let spec = layout.pod_spec.iter().try_fold(object, |value, key| value.get(*key));
    let spec = spec.and_then(Value::as_object).unwrap_or(&empty);
    let volumes = Volumes::with_free_names(&pod::items(spec, "volumes").map(pod::name_of).collect());
    let metrics = pod::metrics_port(&pod::declared_ports(spec)).unwrap_or(8080);
    let container = |name: &str| {
        let mounts: Vec<Value> = volumes.runtime_mounts().into_iter().map(pod::json).collect();
        json!({"name": name, "volumeMounts": mounts, "ports": [{"containerPort": metrics}]})
    };
    Injection {
        actor: "echo".to_owned(),
        containers: vec![container("asya-runtime"), container("asya-sidecar")],
        volumes: volumes.list().into_iter().map(pod::json).collect(),
        labels: pod::own_labels("echo", "model").to_vec(),
        grace_period: Some(grace),
        service_account: account.then(|| "asya-echo".to_owned()),
        scales,
    }
}

/// Asserts that `after` contains everything of `before` unchanged. Lists may be longer and mappings may have more
/// entries, and the scalars that an injection sets may differ.
fn assert_kept(before: &Value, after: &Value, path: &str) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let order: Vec<&String> = after.keys().filter(|key| before.contains_key(*key)).collect();
            let kept: Vec<&String> = before.keys().filter(|key| after.contains_key(*key)).collect();
            assert_eq!(order, kept, "the order of the keys of {path}");
            for (key, value) in before {
                let path = format!("{path}.{key}");
                if path == ".spec.replicas" || key == "terminationGracePeriodSeconds" {
                    continue;
                }
                assert_kept(value, after.get(key).unwrap_or(&Value::Null), &path);
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            let kept: Vec<String> = after.iter().take(before.len()).map(Value::to_string).collect();
            let expected: Vec<String> = before.iter().map(Value::to_string).collect();
            assert_eq!(kept, expected, "{path}");
        }
        (Value::Null, _) => {}
        _ => assert_eq!(before.to_string(), after.to_string(), "{path}"),
    }
}

fn names(object: &Value, layout: &Layout, list: &str) -> Vec<String> {
    let spec = layout.pod_spec.iter().try_fold(object, |value, key| value.get(*key));
    let items = spec.and_then(|spec| spec.get(list)?.as_array()).into_iter().flatten();
    items.map(|item| pod::name_of(item).to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Injection keeps existing parts and their order, avoids colliding names and ports, can be reversed, and can be
    /// repeated with the same result.
    #[test]
    fn injection_keeps_existing_parts(
        (kind, object) in object(), grace in 1..200_i32, scales in any::<bool>(), account in any::<bool>(),
    ) {
        let layout = &LAYOUTS[kind];
        let injection = injection(&object, layout, grace, scales, account);
        let added = inject::inject(&object, layout, &injection).unwrap();
        assert_kept(&object, &added, "");

        let (before, after) = (names(&object, layout, "volumes"), names(&added, layout, "volumes"));
        let new: BTreeSet<&String> = after[before.len()..].iter().collect();
        prop_assert_eq!(new.len(), 3);
        prop_assert!(before.iter().all(|name| !new.contains(name)), "{:?} {:?}", before, new);
        let containers = names(&added, layout, "containers");
        prop_assert_eq!(&containers[containers.len() - 2..], ["asya-runtime", "asya-sidecar"]);
        let spec = layout.pod_spec.iter().fold(&object, |value, key| &value[*key]);
        let used = pod::declared_ports(spec.as_object().unwrap());
        let metrics = injection.containers[0]["ports"][0]["containerPort"].as_u64().unwrap();
        prop_assert!(!used.contains(&u16::try_from(metrics).unwrap()));

        let stripped = inject::strip(&added, layout);
        prop_assert_eq!(&stripped, &object);
        let again = inject::inject(&stripped, layout, &injection).unwrap();
        prop_assert_eq!(again, added);
    }

    /// A forged record in the annotation cannot change parts that injection never changes.
    #[test]
    fn a_forged_record_is_harmless((kind, object) in object(), path in "[a-z.]{0,20}|spec|metadata|metadata.name|spec.replicas", null in any::<bool>()) {
        let layout = &LAYOUTS[kind];
        let injection = injection(&object, layout, 30, false, false);
        let mut added = inject::inject(&object, layout, &injection).unwrap();
        let key = if null { "null" } else { "created" };
        added["metadata"]["annotations"]["asya.sh/restore"] =
            json!({key: [path], "changed": {path.as_str(): {"is": "model", "was": {"x": 1}}}}).to_string().into();
        let stripped = inject::strip(&added, layout);
        prop_assert_eq!(&stripped["metadata"]["name"], &object["metadata"]["name"]);
        prop_assert_eq!(&stripped["kind"], &object["kind"]);
        prop_assert_eq!(names(&stripped, layout, "containers"), names(&object, layout, "containers"));
    }
}

#[test]
fn strip_ignores_objects_without_the_annotation() {
    let layout = &LAYOUTS[0];
    let object = json!({"spec": {"template": {"spec": {"containers": [{"name": "asya-runtime"}]}}}});
    assert_eq!(inject::strip(&object, layout), object);
}

#[test]
fn rejects_objects_with_conflicting_parts() {
    let layout = &LAYOUTS[0];
    let with = |spec: Value| json!({"spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": spec}}});
    let injection = injection(&with(json!({})), layout, 30, false, true);
    let rows = [
        (json!({"spec": {}}), InjectionError::Shape("spec.template.spec".to_owned(), "a mapping")),
        (with(json!({"containers": 1})), InjectionError::Shape("spec.template.spec.containers".to_owned(), "a list")),
        (
            with(json!({"initContainers": [{"name": "asya-sidecar"}]})),
            InjectionError::Container("asya-sidecar".to_owned()),
        ),
        (with(json!({"serviceAccountName": "own"})), InjectionError::ServiceAccount("own".to_owned())),
        (
            json!({"spec": {"template": {"spec": {}, "metadata": {"labels": {"asya.sh/asya": "x"}}}}}),
            InjectionError::Label("asya.sh/asya".to_owned()),
        ),
        (
            json!({"spec": {"template": {"spec": {}, "metadata": []}}}),
            InjectionError::Shape("spec.template.metadata".to_owned(), "a mapping"),
        ),
    ];
    for (object, expected) in rows {
        assert_eq!(inject::inject(&object, layout, &injection), Err(expected), "{object}");
    }
}

#[test]
fn strip_keeps_values_edited_after_injection() {
    let layout = &LAYOUTS[0];
    let object =
        json!({"metadata": {}, "spec": {"replicas": 2, "template": {"spec": {"terminationGracePeriodSeconds": 40}}}});
    let injection = injection(&object, layout, 90, true, false);
    let mut added = inject::inject(&object, layout, &injection).unwrap();
    assert_eq!(added["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], 90);
    added["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = json!(120);
    added["spec"]["replicas"] = json!(7);
    let stripped = inject::strip(&added, layout);
    let spec = &stripped["spec"];
    assert_eq!(
        (&spec["replicas"], &spec["template"]["spec"]["terminationGracePeriodSeconds"]),
        (&json!(7), &json!(120))
    );
}
