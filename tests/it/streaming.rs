//! Documents are processed in chunks on several threads, and provider configurations are read before the rest. Neither
//! may affect the result.

use kubefoundry_compiler::pipeline::{Compilation, YamlText, compile_as};
use kubefoundry_compiler::{Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_yaml as yaml;
use proptest::prelude::*;

const BROKEN: &[&str] = &[
    "a: [\n",
    "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: m, name: n}\nspec: {engine: {type: vlm}}\n",
    "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeploymentList\nitems: [{metadata: {name: model-000000}}, 1]\n",
    "apiVersion: kubefoundry.ai/v1alpha1\nkind: InferenceProviderConfig\nmetadata: {name: other}\nspec: {}\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
    "# nothing\n",
];

/// Returns output and findings of a run, as text.
fn run_output(texts: &[String], thoroughness: Thoroughness, threads: usize) -> String {
    let mut sources = SourceSet::default();
    for (number, text) in texts.iter().enumerate() {
        sources.add(format!("{number}.yaml"), text);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let compilation: Compilation<YamlText> = pool.install(|| compile_as(&BUILTIN, &sources, thoroughness));
    format!("{compilation:?}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_number_of_threads_does_not_matter(
        split in 90..150_usize,
        breaks in proptest::collection::vec((0..250_usize, 0..BROKEN.len()), 0..4),
    ) {
        let mut all: Vec<String> = crate::documents::documents(0..250).split("---\n").map(str::to_owned).collect();
        for (at, which) in breaks {
            all.insert(at, BROKEN[which].to_owned());
        }
        let (first, second) = all.split_at(split);
        let texts = [first.join("---\n"), second.join("---\n")];
        // A run that needs no more than the output transforms chunks independently of each other, others do not.
        for thoroughness in [Thoroughness::Needed, Thoroughness::Everything] {
            let alone = run_output(&texts, thoroughness, 1);
            prop_assert!(alone.len() > 100_000);
            for threads in [2, 5] {
                prop_assert!(run_output(&texts, thoroughness, threads) == alone, "{threads} threads");
            }
        }
    }
}

/// A list without items can fill a chunk, which is then empty although the text is not at its end.
#[test]
fn documents_after_a_long_empty_list_are_read() {
    let comment = "# a comment in a list without items\n".repeat(3_000);
    let model = crate::documents::documents(0..1);
    let mut sources = SourceSet::default();
    sources.add("list.yaml", format!("apiVersion: v1\nkind: List\n{comment}items: []\n---\n{model}"));
    assert_eq!(compile(&BUILTIN, &sources, Thoroughness::Needed).outputs.len(), 1);
}

/// YAML text and values are two forms of the same output.
#[test]
fn texts_are_the_values_written_out() {
    let mut sources = SourceSet::default();
    sources.add("corpus.yaml", crate::documents::documents(0..100));
    let values = compile(&BUILTIN, &sources, Thoroughness::Needed);
    let texts: Compilation<YamlText> = compile_as(&BUILTIN, &sources, Thoroughness::Needed);
    assert!(!values.has_errors() && !values.outputs.is_empty());
    let written: Vec<String> = values.outputs.iter().map(|it| yaml::to_yaml_stream([&it.object])).collect();
    assert_eq!(texts.outputs.iter().map(|it| it.object.as_str()).collect::<Vec<_>>(), written);
}

const CONFIG: &str = "apiVersion: kubefoundry.ai/v1alpha1\nkind: KIND\nmetadata: {name: aaa}\nspec:\n  capabilities:\n    \
                      engines: [vllm, sglang]\n    servingModes: [aggregated]\n    gpuSupport: true\n  selectionRules:\n  - \
                      {condition: 'true', priority: 999}\n";

/// A configuration applies to documents before it, too, however its kind is spelled: with an escape, it is recognized
/// only after parsing.
#[test]
fn configurations_apply_wherever_and_however_they_are_written() {
    let run = |kind: &str| {
        let mut sources = SourceSet::default();
        sources.add("models.yaml", crate::documents::documents(0..1));
        sources.add("provider.yaml", CONFIG.replace("KIND", kind));
        let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
        let said: Vec<_> = compilation.diagnostics.iter().map(|it| (it.code.id, it.message.clone())).collect();
        (compilation.decisions[0].provider().map(str::to_owned), compilation.inputs.len(), said)
    };
    let plain = run("InferenceProviderConfig");
    assert_eq!(plain.0.as_deref(), Some("aaa"));
    assert_eq!(run("\"Inference\\x50roviderConfig\""), plain);
}

/// The same for a kustomization, whose patches are incomplete objects.
#[test]
fn kustomizations_are_recognized_however_they_are_written() {
    let run = |group: &str| {
        let mut sources = SourceSet::default();
        sources.add("patch.yaml", crate::documents::documents(0..1));
        sources.add("models.yaml", crate::documents::documents(0..2).replace("name: model", "name: other"));
        let text = format!("apiVersion: {group}\nkind: Component\npatches: [{{path: patch.yaml}}]\n");
        sources.add("component.yaml", text);
        let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
        compilation.decisions.iter().map(|it| it.object.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(run("kustomize.config.k8s.io/v1alpha1"), ["other-000000", "other-000001"]);
    assert_eq!(run("\"kustomize.config.k8s\\x2eio/v1alpha1\""), ["other-000000", "other-000001"]);
}
