//! Findings of `render` and `lint` from the embedded skeletons, without CRDs in the input.

use kubefoundry_compiler::pipeline::{Compilation, YamlText, compile_as};
use kubefoundry_compiler::{Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};

use crate::common::upstream;

/// A deployment whose override becomes a field that Dynamo does not have near 1.1.1.
const OVERRIDE: &str = "
apiVersion: kubefoundry.ai/v1alpha1
kind: ModelDeployment
metadata: {name: qwen}
spec:
  model: {id: Qwen/Qwen3-8B}
  engine: {type: vllm}
  image: registry.example.com/team/vllm:stable
  provider: {name: dynamo, overrides: {runtimeVersion: 1.1.1}}
  resources: {gpu: {count: 1}}
";

/// An actor with its own pods.
const ACTOR: &str = "
apiVersion: asya.sh/v1alpha1
kind: AsyncActor
metadata: {name: echo}
spec:
  transport: rabbitmq
  workload:
    template:
      spec:
        containers:
        - name: asya-runtime
          image: a:1
          imagePullPolicyy: Always
          stdin: \"true\"
";

/// Options that let the actor be rendered.
const TRANSPORTS: &str = "
actor: {transports: {rabbitmq: {type: rabbitmq, enabled: true, config: {host: rabbitmq, port: 5672, username: asya}}}}
";

fn sources(text: &str, options: &str) -> SourceSet {
    let mut sources = SourceSet::default();
    sources.add("input.yaml", text);
    let head = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\n";
    sources.add_for(Purpose::Options, "kubefoundry.yaml", format!("{head}{options}"));
    sources
}

/// Returns the findings from skeletons: the code and the end of the message.
fn skeleton_findings(compilation: &Compilation) -> Vec<(&'static str, String)> {
    let found = compilation.diagnostics.iter().filter(|found| found.message.contains(" in the schema of "));
    found.map(|found| (found.code.id, found.location.as_ref().unwrap().path.to_string())).collect()
}

#[test]
fn render_checks_untyped_pod_fields() {
    let expected = [("KF0521", "imagePullPolicyy"), ("KF0518", "stdin")]
        .map(|(code, field)| (code, format!("spec.workload.template.spec.containers[0].{field}")));
    for thoroughness in [Thoroughness::Needed, Thoroughness::EveryRule, Thoroughness::Everything] {
        assert_eq!(
            skeleton_findings(&compile(&BUILTIN, &sources(ACTOR, TRANSPORTS), thoroughness)),
            expected,
            "{thoroughness:?}"
        );
    }
}

#[test]
fn only_lint_checks_typed_fields() {
    assert_eq!(
        skeleton_findings(&compile(&BUILTIN, &sources(OVERRIDE, "runtimes: {dynamo: 1.1.1}\n"), Thoroughness::Needed)),
        []
    );
    let found = skeleton_findings(&compile(
        &BUILTIN,
        &sources(OVERRIDE, "runtimes: {dynamo: 1.1.1}\n"),
        Thoroughness::EveryRule,
    ));
    let expected = ("KF0521", "spec.provider.overrides.runtimeVersion".to_owned());
    assert_eq!(found, [expected.clone(), expected]);
}

#[test]
fn a_field_of_a_schema_around_the_release_is_not_reported() {
    for runtime in ["1.4.0", "1.6.1"] {
        let text = OVERRIDE.replace("1.1.1", runtime);
        let compilation =
            compile(&BUILTIN, &sources(&text, &format!("runtimes: {{dynamo: {runtime}}}\n")), Thoroughness::EveryRule);
        assert_eq!(skeleton_findings(&compilation), [], "{runtime}");
    }
}

#[test]
fn crds_in_the_input_replace_all_skeletons() {
    let text = [OVERRIDE, ACTOR].join("---");
    let options = format!("runtimes: {{dynamo: 1.1.1}}{TRANSPORTS}");
    let mut sources = sources(&text, &options);
    assert_eq!(skeleton_findings(&compile(&BUILTIN, &sources, Thoroughness::EveryRule)).len(), 4);
    for (_, dump) in upstream::newest_dump().iter() {
        sources.add_for(Purpose::Crds, dump.name.clone(), dump.text.clone());
    }
    assert_eq!(skeleton_findings(&compile(&BUILTIN, &sources, Thoroughness::EveryRule)), []);
}

#[test]
fn a_kind_without_a_skeleton_is_not_checked() {
    let text = "
apiVersion: kubefoundry.ai/v1alpha1
kind: InferenceProviderConfig
metadata: {name: edge}
spec: {capabilities: {engines: [vllm], servingModes: [aggregated], gpuSupport: true}}
---
apiVersion: kubefoundry.ai/v1alpha1
kind: ModelDeployment
metadata: {name: qwen}
spec: {model: {id: org/qwen}, engine: {type: vllm}, provider: {name: edge}, resources: {gpu: {count: 1}}}
";
    let compilation = compile(&BUILTIN, &sources(text, ""), Thoroughness::EveryRule);
    assert_eq!((compilation.outputs.len(), skeleton_findings(&compilation)), (1, vec![]));
}

/// Documents with the same outline share one check, but each gets its own findings, in whatever order they are checked.
#[test]
fn every_document_has_its_findings_on_any_number_of_threads() {
    let fine = OVERRIDE.replace(", overrides: {runtimeVersion: 1.1.1}", "");
    let documents = (0..600).map(|number| {
        let text = if number % 3 == 0 { OVERRIDE } else { &fine };
        text.replace("name: qwen", &format!("name: qwen-{number}"))
    });
    let text = documents.collect::<Vec<_>>().join("---");
    assert!(text.len() > 2 * 64 * 1024, "it is more than a chunk");
    let said = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let sources = sources(&text, "runtimes: {dynamo: 1.1.1}\n");
        let compilation: Compilation<YamlText> =
            pool.install(|| compile_as(&BUILTIN, &sources, Thoroughness::EveryRule));
        compilation.diagnostics.into_iter().filter(|found| found.code.id == "KF0521").collect::<Vec<_>>()
    };
    let alone = said(1);
    assert_eq!(alone.len(), 2 * 200);
    for threads in [2, 5] {
        assert_eq!(said(threads), alone, "{threads} threads");
    }
}
