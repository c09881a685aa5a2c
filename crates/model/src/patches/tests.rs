use serde_json::json;

use super::*;
use kubefoundry_transform::ListType;

/// Merges a patch, and returns the result with the fields of the patch that cannot be merged or change nothing.
fn merge(target: Value, patch: &Value, list_type: &dyn Fn(&FieldPath) -> Option<ListType>) -> (Value, Vec<String>) {
    let (mut target, mut writes, mut problems) = (target, Vec::new(), Vec::new());
    let mut merge = Merge { list_type, text: None, writes: &mut writes, problems: &mut problems };
    merge.merge(&mut target, patch, &FieldPath::root(), &FieldPath::parse("merge"));
    let path = |problem: MergeProblem| match problem {
        MergeProblem::NoKey { item, keys } => format!("{item} without {keys}"),
        MergeProblem::SameKey { item, keys } => format!("{item} with the same {keys}"),
        MergeProblem::NothingToRemove { patch } => format!("{patch} removes nothing"),
    };
    (target, problems.into_iter().map(path).collect())
}

fn merged(target: Value, patch: &Value) -> Value {
    let (merged, problems) = merge(target, patch, &|_| None);
    assert!(problems.is_empty(), "{problems:?}");
    merged
}

#[test]
fn mappings_are_merged_by_key_and_null_removes() {
    assert_eq!(
        merged(
            json!({"a": 1, "b": {"c": 1, "d": 2}, "e": 3}),
            &json!({"b": {"d": null, "f": 4}, "e": null, "g": {"h": 5}})
        ),
        json!({"a": 1, "b": {"c": 1, "f": 4}, "g": {"h": 5}})
    );
    assert_eq!(merged(json!({"a": "text"}), &json!({"a": {"b": 1}})), json!({"a": {"b": 1}}));
    assert_eq!(merged(json!({"a": {"b": 1}}), &json!({"a": [1]})), json!({"a": [1]}));
    let (value, problems) = merge(json!({"a": {}}), &json!({"a": {"b": null}, "c": {"d": null}}), &|_| None);
    assert_eq!(value, json!({"a": {}, "c": {}}));
    assert_eq!(problems, ["merge.a.b removes nothing", "merge.c.d removes nothing"]);
}

#[test]
fn items_of_known_lists_are_matched_by_their_keys() {
    for (list, key) in [
        ("containers", "name"),
        ("env", "name"),
        ("volumes", "name"),
        ("components", "name"),
        ("volumeMounts", "mountPath"),
        ("volumeMounts", "mountPoint"),
        ("workerGroupSpecs", "groupName"),
    ] {
        let before = json!({list: [{key: "a", "x": 1}, {key: "b", "x": 2}]});
        let patch = json!({list: [{key: "c", "x": 5}, {key: "b", "x": 3, "y": 4}]});
        let after = json!({list: [{key: "a", "x": 1}, {key: "b", "x": 3, "y": 4}, {key: "c", "x": 5}]});
        assert_eq!(merged(before, &patch), after, "{list}");
    }
}

#[test]
fn ports_are_matched_by_name_or_number() {
    let before = json!({"ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 90, "protocol": "UDP"}]});
    let after = |patch: Value| merged(before.clone(), &json!({"ports": [patch]}))["ports"].as_array().unwrap().clone();
    assert_eq!(after(json!({"name": "http", "containerPort": 81}))[0]["containerPort"], 81);
    assert_eq!(after(json!({"containerPort": 80, "hostPort": 8080}))[0]["hostPort"], 8080);
    assert_eq!(after(json!({"containerPort": 90, "protocol": "UDP", "name": "dns"}))[1]["name"], "dns");
    // Another protocol is another port.
    assert_eq!(after(json!({"containerPort": 90})).len(), 3);
    let service = json!({"ports": [{"port": 80, "targetPort": 5000}]});
    assert_eq!(
        merged(service, &json!({"ports": [{"port": 80, "name": "http"}]}))["ports"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn other_lists_are_replaced() {
    let lists = [("args", json!(["--a", "--b"]), json!(["--c"])), ("tolerations", json!([{"key": "a"}]), json!([]))];
    for (list, before, after) in lists {
        assert_eq!(merged(json!({list: before}), &json!({list: after})), json!({list: after}));
    }
    // A list with a known name may hold scalars.
    assert_eq!(merged(json!({"ports": [80]}), &json!({"ports": [90]})), json!({"ports": [90]}));
}

#[test]
fn the_declaration_of_a_list_decides() {
    let declared = |list_type: ListType| {
        move |path: &FieldPath| (*path == FieldPath::parse("spec.list")).then(|| list_type.clone())
    };
    let merged = |list_type: ListType, before: Value, patch: Value| {
        let list_type = declared(list_type);
        let (value, _) = merge(json!({"spec": {"list": before}}), &json!({"spec": {"list": patch}}), &list_type);
        value.pointer("/spec/list").cloned().unwrap()
    };
    let keys = ListType::Map(vec![("port".to_owned(), None), ("protocol".to_owned(), Some(json!("TCP")))]);
    assert_eq!(
        merged(
            keys,
            json!([{"port": 1}]),
            json!([{"port": 1, "protocol": "TCP", "x": 1}, {"port": 1, "protocol": "UDP"}])
        ),
        json!([{"port": 1, "protocol": "TCP", "x": 1}, {"port": 1, "protocol": "UDP"}])
    );
    assert_eq!(merged(ListType::Set, json!(["a", "b"]), json!(["b", "c"])), json!(["a", "b", "c"]));
    assert_eq!(merged(ListType::Atomic, json!([{"name": "a"}]), json!([{"name": "b"}])), json!([{"name": "b"}]));
    // A list of containers that the CRD declares as one value is one.
    let atomic = |_: &FieldPath| Some(ListType::Atomic);
    let (value, _) = merge(json!({"containers": [{"name": "a"}]}), &json!({"containers": [{"name": "b"}]}), &atomic);
    assert_eq!(value, json!({"containers": [{"name": "b"}]}));
}

#[test]
fn items_that_cannot_be_told_apart_are_problems() {
    let patch = json!({"env": [{"value": "1"}, {"name": "A", "value": "1"}, {"name": "A", "value": "2"}]});
    let (value, problems) = merge(json!({}), &patch, &|_| None);
    assert_eq!(value, json!({"env": [{"name": "A", "value": "1"}]}));
    assert_eq!(problems, ["merge.env[0] without name", "merge.env[2] with the same name"]);
}
