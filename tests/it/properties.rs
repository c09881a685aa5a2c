//! Properties of every input: generated deployments of all providers, engines and modes among foreign documents, and
//! the mutated inputs of all cases.
//!
//! Runs are deterministic: the seed is fixed (set PROPTEST_RNG_SEED or PROPTEST_CASES for more), so there is no
//! regression file. A failure becomes a case or a unit test.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::common::generated::documents;
use crate::common::invariants;
use crate::common::mutation::mutation;
use crate::common::{case_folders, read_case};
use kubefoundry_compiler::codes;
use kubefoundry_compiler::{Compilation, Output, Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::Source;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_kubernetes::names::dns_1123_subdomain;
use kubefoundry_yaml as yaml;
use proptest::prelude::*;
use proptest::sample::Index;
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

fn sources(texts: impl IntoIterator<Item = String>) -> SourceSet {
    let mut sources = SourceSet::default();
    for (index, text) in texts.into_iter().enumerate() {
        sources.add(format!("{index}.yaml"), text);
    }
    sources
}

fn compiled(documents: &[Value]) -> Compilation {
    compile(&BUILTIN, &sources([yaml::to_yaml_stream(documents)]), Thoroughness::Everything)
}

/// Returns the objects in an order that does not depend on the input.
fn objects(compilation: &Compilation) -> Vec<&Output> {
    let mut outputs: Vec<&Output> = compilation.outputs.iter().collect();
    outputs.sort_by_key(|output| (&output.identity, output.object.to_string()));
    outputs
}

fn bodies(compilation: &Compilation) -> Vec<&Value> {
    objects(compilation).into_iter().map(|output| &output.object).collect()
}

/// Returns the findings in a fixed order: code, message, object.
fn sorted_findings(compilation: &Compilation) -> Vec<(&'static str, &str, String)> {
    let mut said: Vec<_> = compilation
        .diagnostics
        .iter()
        // This code is reported once per run, at the first deployment to which it applies.
        .filter(|found| found.code != &codes::UNPINNED_RUNTIME)
        .map(|found| (found.code.id, found.message.as_str(), format!("{:?}", found.object)))
        .collect();
    said.sort();
    said
}

/// Checks that an object has no empty fields and the expected labels and annotations.
fn check_object(output: &Output) -> Result<(), TestCaseError> {
    let object = &output.object;
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    prop_assert!(!text("/apiVersion").is_empty() && !text("/kind").is_empty(), "{}", object);
    prop_assert!(dns_1123_subdomain(text("/metadata/name")).is_ok(), "{}", object);
    let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object).cloned().unwrap_or_default();
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
    let marks = |entries: &Map<String, Value>, name: &str| {
        ["kubefoundry.ai/", "kubeairunway.ai/", "airunway.ai/"]
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
        // The CRD of KubeRay requires the field.
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

/// Returns a document with its mapping keys in another order.
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

/// Returns the texts of every case and example.
fn cases() -> &'static [Vec<Source>] {
    static CASES: OnceLock<Vec<Vec<Source>>> = OnceLock::new();
    CASES.get_or_init(|| {
        let folders = case_folders();
        folders.iter().map(|folder| read_case(folder).iter().map(|(_, source)| source.clone()).collect()).collect()
    })
}

/// The time limit of one run, which takes milliseconds. Only what does not end reaches it, also on a busy machine.
const MAX_RUN_TIME: Duration = Duration::from_secs(120);

#[expect(clippy::disallowed_methods, reason = "a test may look at the clock")]
fn in_time<T>(run: impl FnOnce() -> T) -> Result<T, TestCaseError> {
    let start = Instant::now();
    let result = run();
    let took = start.elapsed();
    prop_assert!(took < MAX_RUN_TIME, "took {:?}", took);
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
        let generated = compilation.outputs.iter().filter(|output| output.is_generated());
        generated.into_iter().try_for_each(check_object)?;
    }

    #[test]
    fn the_position_of_documents_does_not_matter(
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
        let moved = compile(&BUILTIN, &sources(parts.iter().zip(&files).map(text)), Thoroughness::Everything);
        let compilation = compiled(&documents);
        prop_assert_eq!(bodies(&compilation), bodies(&moved));
        prop_assert_eq!(sorted_findings(&compilation), sorted_findings(&moved));
    }

    #[test]
    fn the_order_of_keys_does_not_matter(documents in documents(), seed in any::<u64>()) {
        let mut seed = seed;
        let shuffled: Vec<Value> = documents.iter().map(|document| reordered(document, &mut seed)).collect();
        let (one, other) = (compiled(&documents), compiled(&shuffled));
        prop_assert_eq!(&one.outputs, &other.outputs);
        prop_assert_eq!(sorted_findings(&one), sorted_findings(&other));
    }

    /// A second run over input and output, as after `output: append`, gives the same objects.
    #[test]
    fn rendering_again_beside_the_output_changes_nothing(documents in documents()) {
        let compilation = compiled(&documents);
        prop_assume!(!compilation.has_errors());
        let generated = compilation.outputs.iter().filter(|output| output.is_generated()).map(|output| &output.object);
        let texts = [yaml::to_yaml_stream(&documents), yaml::to_yaml_stream(generated)];
        let again = compile(&BUILTIN, &sources(texts), Thoroughness::Everything);
        prop_assert_eq!(&compilation.outputs, &again.outputs);
        prop_assert_eq!(sorted_findings(&compilation), sorted_findings(&again));
    }

    #[test]
    fn mutated_inputs_end_in_findings(case in any::<Index>(), file in any::<Index>(), mutations in proptest::collection::vec(mutation(), 1..5)) {
        let case = case.get(cases());
        let file = file.index(case.len());
        let mut hurt = SourceSet::default();
        for (index, source) in case.iter().enumerate() {
            let whole = source.text.clone().into_bytes();
            let bytes = if index == file { mutations.iter().fold(whole, |bytes, mutation| mutation.apply(&bytes)) } else { whole };
            hurt.add_bytes(source.purpose, source.name.clone(), bytes);
        }
        in_time(|| invariants::check(&hurt))?.map_err(TestCaseError::fail)?;
    }
}
