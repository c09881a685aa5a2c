//! What holds for every input: generated deployments of all providers, engines and modes beside documents of others, and
//! the inputs of all cases after accidents.
//!
//! Runs are the same every time: the seed is fixed (PROPTEST_RNG_SEED tries others, PROPTEST_CASES more), so no file of
//! regressions is kept; what a failure teaches becomes a case or a unit test.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod common;

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use common::start::{STARTS, Start};
use common::{case_folders, read_case};
use kubefoundry::diagnostic::codes;
use kubefoundry::model::validate::names::dns_1123_subdomain;
use kubefoundry::source::Source;
use kubefoundry::{Compilation, Output, SourceSet, Thoroughness, compile, yaml};
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value, json};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        max_global_rejects: 1_000_000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(20_261_121),
        ..ProptestConfig::default()
    }
}

/// Every field with values that are fine for most starts.
fn fields(start: Start) -> Vec<(&'static str, Value)> {
    let image = start.image.unwrap_or("registry.example.com/team/image:1.4.0");
    let arguments = match start.engine {
        "vllm" => json!({"max-num-seqs": "8", "seed": "1", "override-generation-config": "{\"temperature\": 0.5}"}),
        "sglang" => json!({"max-running-requests": "8", "random_seed": "1", "disable-overlap-schedule": ""}),
        "trtllm" => {
            json!({"max-batch-size": "8", "enable_chunked_prefill": "true", "kv_cache_config": "{\"dtype\": \"fp8\"}"})
        }
        _ => json!({"threads": "8", "seed": "1", "mlock": ""}),
    };
    vec![
        ("spec.model.id", json!("org/other-model")),
        ("spec.model.id", json!("bare-name")),
        ("spec.model.servedName", json!("served")),
        ("spec.model.storage.volumes", json!([{"name": "v", "mountPath": "/models", "claimName": "claim"}])),
        (
            "spec.model.storage.volumes",
            json!([
                {"name": "cache", "purpose": "modelCache", "size": "10Gi", "storageClassName": "fast"},
                {"name": "compiled", "purpose": "compilationCache", "size": 1_000_000, "accessMode": "ReadWriteOnce"},
            ]),
        ),
        ("spec.provider.name", json!("other")),
        ("spec.provider.overrides", json!({"instanceType": "Standard_NC24ads_A100_v4", "workload": "InferenceSet"})),
        (
            "spec.provider.overrides",
            json!({"routerMode": "kv", "frontend": {"replicas": 2, "resources": {"cpu": "4"}}}),
        ),
        (
            "spec.provider.overrides",
            json!({"head": {"rayStartParams": {"temp-dir": "/tmp/ray", "num-gpus": "0"}}, "acceleratorType": "H100"}),
        ),
        ("spec.engine.contextLength", json!(4096)),
        ("spec.engine.trustRemoteCode", json!(true)),
        ("spec.engine.enforceEager", json!(true)),
        ("spec.engine.enablePrefixCaching", json!(false)),
        ("spec.engine.args", arguments),
        ("spec.engine.args", json!({"some-new-flag": "a", "tensor-parallel-size": "1"})),
        ("spec.engine.extraArgs", json!(["--one-more-flag", "--other-flag=x"])),
        ("spec.image", json!(image)),
        ("spec.engine.image", json!(image)),
        ("spec.scaling.replicas", json!(0)),
        ("spec.scaling.replicas", json!(3)),
        ("spec.scaling.prefill.replicas", json!(2)),
        ("spec.scaling.decode.gpu.count", json!(1)),
        ("spec.resources.gpu.count", json!(8)),
        ("spec.resources.memory", json!("64Gi")),
        ("spec.resources.cpu", json!("500m")),
        (
            "spec.env",
            json!([{"name": "B", "value": "2"}, {"name": "A", "value": "1"}, {"name": "HF_ENDPOINT", "value": "http://hub"}]),
        ),
        ("spec.env", json!([{"name": "A", "valueFrom": {"secretKeyRef": {"key": "k", "name": "s"}}}])),
        ("spec.podTemplate.metadata.labels", json!({"team": "a", "app": "b"})),
        ("spec.podTemplate.metadata.annotations", json!({"note": "one: two # three", "other": "1"})),
        ("spec.secrets.huggingFaceToken", json!("hf-token")),
        ("spec.imagePullSecrets", json!([{"name": "b"}, {"name": "a"}])),
        ("spec.nodeSelector", json!({"pool": "gpu", "zone": "a"})),
        ("spec.tolerations", json!([{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}])),
        ("metadata.namespace", Value::Null),
        ("metadata.labels", json!({"kubefoundry.ai/team": "a", "kubeairunway.ai/team": "b", "app": "c"})),
        ("metadata.annotations", json!({"note": "n"})),
    ]
}

/// Values that are fine here or there, or nowhere.
fn odd_fields() -> Vec<(&'static str, Value)> {
    vec![
        ("spec.model.id", json!("/models/m")),
        ("spec.model.servedName", json!("not, served")),
        ("spec.model.source", json!("custom")),
        ("spec.provider.name", json!("kubray")),
        ("spec.resources.gpu.count", json!(0)),
        ("spec.resources.gpu.type", json!("amd.com/gpu")),
        ("spec.gateway", json!({"enabled": true})),
        ("spec.engin", json!({})),
        ("spec.provider.name", Value::Null),
    ]
}

/// Whether a field means something in a mode.
fn applies(field: &str, mode: &str) -> bool {
    match mode {
        "aggregated" => !field.starts_with("spec.scaling.prefill") && !field.starts_with("spec.scaling.decode"),
        _ => !field.starts_with("spec.resources") && field != "spec.scaling.replicas",
    }
}

fn set(document: &mut Value, path: &str, value: Value) {
    let mut node = document;
    for key in path.split('.') {
        node = node.as_object_mut().unwrap().entry(key).or_insert_with(|| json!({}));
    }
    *node = value;
}

/// A deployment: one of the starts, some fields of it, and at times an odd one.
fn deployment() -> impl Strategy<Value = Value> {
    select(STARTS).prop_flat_map(|start| {
        let mut fields = fields(start);
        fields.retain(|(field, _)| applies(field, start.mode));
        let odd = (0..6_usize).prop_flat_map(|dice| subsequence(odd_fields(), usize::from(dice == 0)));
        (subsequence(fields, 0..8), odd, any::<bool>()).prop_map(move |(fields, odd, other_group)| {
            let mut document = start.document();
            if other_group {
                document["apiVersion"] = json!("kubeairunway.ai/v1alpha1");
            }
            for (path, value) in fields.into_iter().chain(odd) {
                set(&mut document, path, value);
            }
            document
        })
    })
}

/// Documents that are none of ours, one of them in the way of what may be generated.
fn foreign() -> impl Strategy<Value = Value> {
    select(vec![
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}, "data": {"a": "b"}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "m0", "namespace": "default"}}),
        json!({"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "m0", "namespace": "default"}}),
        json!({"apiVersion": "example.com/v1", "kind": "ModelDeployment", "metadata": {"name": "theirs"}}),
        json!({"apiVersion": "kubefoundry.ai/v1alpha1", "kind": "InferenceProviderConfig", "metadata": {"name": "other"}, "spec": {
            "capabilities": {"engines": ["vllm"], "servingModes": ["aggregated"], "gpuSupport": true},
            "selectionRules": [{"condition": "spec.engine.contextLength == 4096", "priority": 500}]}}),
    ])
}

/// Some deployments, named apart, and other documents.
fn documents() -> impl Strategy<Value = Vec<Value>> {
    (proptest::collection::vec(deployment(), 1..4), proptest::collection::vec(foreign(), 0..3)).prop_map(
        |(mut documents, mut foreign)| {
            for (index, document) in documents.iter_mut().enumerate() {
                document["metadata"]["name"] = json!(format!("m{index}"));
            }
            foreign.sort_by_key(Value::to_string);
            foreign.dedup();
            documents.append(&mut foreign);
            documents
        },
    )
}

fn sources(texts: impl IntoIterator<Item = String>) -> SourceSet {
    let mut sources = SourceSet::default();
    for (index, text) in texts.into_iter().enumerate() {
        sources.add(format!("{index}.yaml"), text);
    }
    sources
}

fn compiled(documents: &[Value]) -> Compilation {
    compile(&sources([yaml::to_yaml_stream(documents)]), Thoroughness::Everything)
}

/// The objects in an order of their own.
fn objects(compilation: &Compilation) -> Vec<&Output> {
    let mut outputs: Vec<&Output> = compilation.outputs.iter().collect();
    outputs.sort_by_key(|output| (&output.identity, output.object.to_string()));
    outputs
}

fn bodies(compilation: &Compilation) -> Vec<&Value> {
    objects(compilation).into_iter().map(|output| &output.object).collect()
}

/// What was said, whatever the order: code, message, object.
fn said(compilation: &Compilation) -> Vec<(&'static str, &str, String)> {
    let mut said: Vec<_> = compilation
        .diagnostics
        .iter()
        // Said once in a run, at the first deployment that it is true of.
        .filter(|found| found.code != &codes::UNPINNED_RUNTIME)
        .map(|found| (found.code.id, found.message.as_str(), format!("{:?}", found.object)))
        .collect();
    said.sort();
    said
}

/// Nothing that an apiserver would refuse or a reader would stumble over.
fn check_object(output: &Output) -> Result<(), TestCaseError> {
    let object = &output.object;
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    prop_assert!(!text("/apiVersion").is_empty() && !text("/kind").is_empty(), "{}", object);
    prop_assert!(dns_1123_subdomain(text("/metadata/name")).is_ok(), "{}", object);
    let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object).cloned().unwrap_or_default();
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
    let marks = |entries: &Map<String, Value>, name: &str| {
        ["kubefoundry.ai/", "kubeairunway.ai/"]
            .iter()
            .filter(|prefix| entries.contains_key(&format!("{prefix}{name}")))
            .count()
    };
    prop_assert_eq!(marks(&annotations, "model-deployment"), 1, "{}", object);
    let of_us = usize::from(text("/kind") != "PersistentVolumeClaim");
    prop_assert_eq!(marks(&labels, "managed-by"), of_us, "{}", object);
    check_value("", object)
}

fn check_value(key: &str, value: &Value) -> Result<(), TestCaseError> {
    match value {
        Value::Null => prop_assert!(false, "{key} is null"),
        Value::String(text) => prop_assert!(!text.is_empty(), "{key} is empty"),
        Value::Array(items) => {
            prop_assert!(!items.is_empty(), "{key} is empty");
            items.iter().try_for_each(|item| check_value(key, item))?;
        }
        // KubeRay requires the field (KubeRay's CRD).
        Value::Object(fields) => {
            prop_assert!(!fields.is_empty() || key == "rayStartParams", "{key} is empty");
            fields.iter().try_for_each(|(key, value)| check_value(key, value))?;
        }
        Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

fn reads_back(compilation: &Compilation) -> Result<(), TestCaseError> {
    let text = yaml::to_yaml_stream(compilation.outputs.iter().map(|output| &output.object));
    let parsed = yaml::parse(&text, &yaml::Limits::default());
    prop_assert!(parsed.failure.is_none(), "{:?}\n{}", parsed.failure, text);
    prop_assert!(parsed.documents.iter().all(|document| document.problems.is_empty()), "{}", text);
    let read: Vec<Value> = parsed.documents.iter().map(|document| document.root.to_json()).collect();
    let made: Vec<Value> = compilation.outputs.iter().map(|output| output.object.clone()).collect();
    prop_assert_eq!(read, made);
    Ok(())
}

/// The mapping keys of a document in another order.
fn reordered(value: &Value, seed: &mut u64) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> =
                fields.iter().map(|(key, value)| (key.clone(), reordered(value, seed))).collect();
            for last in (1..fields.len()).rev() {
                *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                fields.swap(last, usize::try_from(*seed >> 33).unwrap() % (last + 1));
            }
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => items.iter().map(|item| reordered(item, seed)).collect(),
        scalar => scalar.clone(),
    }
}

/// The texts of every case and example.
fn cases() -> &'static [Vec<Source>] {
    static CASES: OnceLock<Vec<Vec<Source>>> = OnceLock::new();
    CASES.get_or_init(|| {
        let folders = case_folders();
        folders.iter().map(|folder| read_case(folder).iter().map(|(_, source)| source.clone()).collect()).collect()
    })
}

#[rustfmt::skip]
const ODD: &[&str] = &[
    "", "~", "null", "true", "-1", "0", "1.5", "1e400", "99999999999999999999", "''", "\"\"", "[]", "{}", "[[]]", "{a: {}}", "*x", "&x y", "!!str 1",
    "!!int x", "|\n", ">-\n  a\n", "'", "\"", "{", "]", ": ", "- ", "? ", "#", "---", "...", "%YAML 9", "\t", "\r", "\u{0}", "\u{85}", "\u{feff}", "é",
    "<<: *x", "$(A)", "0x7fffffff", "2147483648", "a\u{202e}b",
];

/// An accident that can happen to a text.
#[derive(Debug, Clone)]
enum Accident {
    Delete(Index, usize),
    Insert(Index, &'static str),
    Repeat(Index, usize),
    Truncate(Index),
    SwapLines(Index, Index),
    Indent(Index, usize),
    Scalar(Index, &'static str),
}

fn accident() -> impl Strategy<Value = Accident> {
    let place = any::<Index>;
    prop_oneof![
        (place(), 1..20_usize).prop_map(|(at, length)| Accident::Delete(at, length)),
        (place(), select(ODD)).prop_map(|(at, text)| Accident::Insert(at, text)),
        (place(), 1..200_usize).prop_map(|(at, length)| Accident::Repeat(at, length)),
        place().prop_map(Accident::Truncate),
        (place(), place()).prop_map(|(one, other)| Accident::SwapLines(one, other)),
        (place(), 0..6_usize).prop_map(|(line, spaces)| Accident::Indent(line, spaces)),
        (place(), select(ODD)).prop_map(|(line, text)| Accident::Scalar(line, text)),
    ]
}

impl Accident {
    fn happen(&self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if bytes.is_empty() || lines.is_empty() {
            return text.to_owned();
        }
        let piece = |at: &Index, length: usize| {
            let start = at.index(bytes.len());
            start..(start + length).min(bytes.len())
        };
        match self {
            Self::Delete(at, length) => drop(bytes.drain(piece(at, *length))),
            Self::Insert(at, text) => drop(bytes.splice(piece(at, 0), text.bytes())),
            Self::Repeat(at, length) => {
                let piece = piece(at, *length);
                let copy = bytes[piece.clone()].repeat(3);
                drop(bytes.splice(piece, copy));
            }
            Self::Truncate(at) => bytes.truncate(at.index(bytes.len())),
            Self::SwapLines(one, other) => {
                let (one, other) = (one.index(lines.len()), other.index(lines.len()));
                lines.swap(one, other);
                return lines.join("\n");
            }
            Self::Indent(line, spaces) => {
                let line = line.index(lines.len());
                lines[line] = format!("{}{}", " ".repeat(*spaces), lines[line].trim_start());
                return lines.join("\n");
            }
            Self::Scalar(line, scalar) => {
                let line = line.index(lines.len());
                let value = lines[line].find(": ").map_or(lines[line].len(), |colon| colon + 2);
                lines[line].replace_range(value.., scalar);
                return lines.join("\n");
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// How long a run may take, unoptimized, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

#[expect(clippy::disallowed_methods, reason = "a test may look at the clock")]
fn in_time<T>(run: impl FnOnce() -> T) -> Result<T, TestCaseError> {
    let start = Instant::now();
    let result = run();
    let took = start.elapsed();
    prop_assert!(took < PATIENCE, "took {:?}", took);
    Ok(result)
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn objects_are_well_formed_and_always_the_same(documents in documents()) {
        let compilation = in_time(|| compiled(&documents))?;
        let again = compiled(&documents);
        prop_assert_eq!(&compilation.outputs, &again.outputs);
        prop_assert_eq!(&compilation.diagnostics, &again.diagnostics);
        reads_back(&compilation)?;
        let generated = compilation.outputs.iter().filter(|output| !output.passed_on);
        generated.into_iter().try_for_each(check_object)?;
    }

    #[test]
    fn where_documents_stand_does_not_matter(
        (documents, order) in documents().prop_flat_map(|documents| {
            let order = Just((0..documents.len()).collect::<Vec<_>>()).prop_shuffle();
            (Just(documents), order)
        }),
        files in proptest::collection::vec((0..3_usize, any::<bool>()), 8),
    ) {
        let mut parts: Vec<Vec<Value>> = vec![Vec::new(); 3];
        for (document, (file, _)) in order.iter().map(|at| documents[*at].clone()).zip(&files) {
            parts[*file].push(document);
        }
        let text = |(part, (_, as_list)): (&Vec<Value>, &(usize, bool))| {
            let list = json!({"apiVersion": "v1", "kind": "List", "items": part});
            if *as_list { yaml::to_yaml_stream([&list]) } else { yaml::to_yaml_stream(part) }
        };
        let moved = compile(&sources(parts.iter().zip(&files).map(text)), Thoroughness::Everything);
        let compilation = compiled(&documents);
        prop_assert_eq!(bodies(&compilation), bodies(&moved));
        prop_assert_eq!(said(&compilation), said(&moved));
    }

    #[test]
    fn the_order_of_keys_does_not_matter(documents in documents(), seed in any::<u64>()) {
        let mut seed = seed;
        let shuffled: Vec<Value> = documents.iter().map(|document| reordered(document, &mut seed)).collect();
        let (one, other) = (compiled(&documents), compiled(&shuffled));
        prop_assert_eq!(&one.outputs, &other.outputs);
        prop_assert_eq!(said(&one), said(&other));
    }

    /// Output beside its input is what a second run finds where the first one appended.
    #[test]
    fn rendering_again_beside_the_output_changes_nothing(documents in documents()) {
        let compilation = compiled(&documents);
        prop_assume!(!compilation.has_errors());
        let generated = compilation.outputs.iter().filter(|output| !output.passed_on).map(|output| &output.object);
        let texts = [yaml::to_yaml_stream(&documents), yaml::to_yaml_stream(generated)];
        let again = compile(&sources(texts), Thoroughness::Everything);
        prop_assert_eq!(&compilation.outputs, &again.outputs);
        prop_assert_eq!(said(&compilation), said(&again));
    }

    #[test]
    fn accidents_end_in_findings(case in any::<Index>(), file in any::<Index>(), accidents in proptest::collection::vec(accident(), 1..5)) {
        let case = case.get(cases());
        let file = file.index(case.len());
        let mut hurt = SourceSet::default();
        for (index, source) in case.iter().enumerate() {
            let whole = source.text.clone();
            let text = if index == file { accidents.iter().fold(whole, |text, accident| accident.happen(&text)) } else { whole };
            hurt.add_for(source.purpose, source.name.clone(), text);
        }
        let compilation = in_time(|| compile(&hurt, Thoroughness::Everything))?;
        in_time(|| common::diagnostics(&compilation, &hurt))?;
        if !compilation.has_errors() {
            reads_back(&compilation)?;
        }
    }
}
