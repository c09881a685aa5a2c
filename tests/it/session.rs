//! A session that compiles the same texts again and again, as they are edited: what comes out is that of a fresh run.

use kubefoundry::session::{Providers, Session};
use kubefoundry::{Purpose, SourceSet, Thoroughness, compile};
use proptest::prelude::*;

const CONFIGURATION: &str = "apiVersion: kubefoundry.ai/v1alpha1\nkind: InferenceProviderConfig\nmetadata: {name: aaa}\nspec:\n  \
                             capabilities:\n    engines: [vllm, sglang]\n    servingModes: [aggregated]\n    gpuSupport: \
                             true\n  selectionRules:\n  - {condition: 'spec.resources.gpu.count > 1', priority: 999}\n";

const MODEL: &str = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata:\n  name: NAME\n  annotations: \
                     {kubefoundry.ai/lint-ignore: KF0504}\nspec: {model: {id: org/m}, engine: {type: vllm}, resources: {gpu: \
                     {count: 1}}}\n";

const ACTOR: &str = "apiVersion: asya.sh/v1alpha1\nkind: AsyncActor\nmetadata: {name: a}\nspec:\n  transport: rabbitmq\n  \
                     workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n";

const WORKLOAD: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {selector: {matchLabels: {a: b}}, \
                        template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n";

/// An actor that is bound to a workload, and its options.
const BINDING: [&str; 2] = [
    include_str!("../../testdata/golden/actor/binding-deployment/input.yaml"),
    include_str!("../../testdata/golden/actor/binding-deployment/kubefoundry.yaml"),
];

/// What a file of the input may hold; each is something else to a session.
fn texts() -> Vec<(&'static str, Purpose, String)> {
    let input = |text: &str| ("x.yaml", Purpose::Input, text.to_owned());
    vec![
        input(&crate::documents::documents(0..3)),
        input(&crate::documents::documents(2..5)),
        input(&MODEL.replace("NAME", "one")),
        input(&MODEL.replace("NAME", "one").replace("count: 1", "count: 2")),
        input(&MODEL.replace("count: 1", "count: -1")),
        input(&MODEL.replace("spec: {", "spec: {provider: {name: aaa}, ")),
        input(&MODEL.replace("ModelDeployment", "\"Model\\x44eployment\"")),
        input(CONFIGURATION),
        input(&CONFIGURATION.replace("engines: [", "engine: [")),
        input(&CONFIGURATION.replace("InferenceProviderConfig", "\"Inference\\x50roviderConfig\"")),
        input(ACTOR),
        input(WORKLOAD),
        input(&WORKLOAD.replace("{name: web}", "{name: web, annotations: {asya.sh/managed-by: a}}")),
        input("a: [\n"),
        input(BINDING[0]),
        ("options.yaml", Purpose::Options, BINDING[1].to_owned()),
        input("kind: Service\napiVersion: v1\nmetadata: {name: s}\n"),
        ("kustomization.yaml", Purpose::Input, "patches: [{path: x.yaml}]\n".to_owned()),
        (
            "options.yaml",
            Purpose::Options,
            "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nallowEmpty: true\n".to_owned(),
        ),
        (
            "options.yaml",
            Purpose::Options,
            "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nimages: {docker.io: mirror.example.com}\n"
                .to_owned(),
        ),
    ]
}

/// What is done to the texts between two runs: another text at a place, one more, or one less.
#[derive(Debug, Clone)]
enum Edit {
    Replace(usize, usize),
    Insert(usize, usize),
    Remove(usize),
}

fn edits() -> impl Strategy<Value = Edit> {
    let (place, text) = (0..8_usize, 0..texts().len());
    prop_oneof![
        3 => (place.clone(), text.clone()).prop_map(|(place, text)| Edit::Replace(place, text)),
        3 => (place.clone(), text).prop_map(|(place, text)| Edit::Insert(place, text)),
        1 => place.prop_map(Edit::Remove),
    ]
}

fn apply(edit: &Edit, chosen: &mut Vec<usize>) {
    let number = chosen.len();
    match *edit {
        Edit::Replace(place, text) if number > 0 => chosen[place % number] = text,
        Edit::Replace(place, text) | Edit::Insert(place, text) => chosen.insert(place % (number + 1), text),
        Edit::Remove(place) if number > 0 => drop(chosen.remove(place % number)),
        Edit::Remove(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_session_gives_what_a_fresh_run_gives_after_any_edits(
        start in proptest::collection::vec(0..texts().len(), 0..6),
        edits in proptest::collection::vec(edits(), 1..8),
    ) {
        let texts = texts();
        let mut session = Session::new(&SourceSet::default(), Providers::All).unwrap();
        let mut chosen = start;
        for edit in [None].into_iter().chain(edits.iter().map(Some)) {
            if let Some(edit) = edit {
                apply(edit, &mut chosen);
            }
            let mut sources = SourceSet::default();
            for text in &chosen {
                let (name, purpose, text) = &texts[*text];
                sources.add_for(*purpose, *name, text);
            }
            let fresh = format!("{:#?}", compile(&sources, Thoroughness::Needed));
            prop_assert_eq!(format!("{:#?}", session.compile(&sources)), fresh);
        }
    }
}

/// An edit makes a session read the text that was edited, and no other.
#[test]
fn a_session_knows_the_texts_that_did_not_change() {
    let mut session = Session::new(&SourceSet::default(), Providers::All).unwrap();
    let mut sources = SourceSet::default();
    for name in ["one", "two", "three"] {
        sources.add(format!("{name}.yaml"), MODEL.replace("NAME", name));
    }
    session.compile(&sources);
    assert_eq!(session.cached_texts(), 3);
    sources.add("aaa.yaml", CONFIGURATION);
    session.compile(&sources);
    assert_eq!(session.cached_texts(), 3, "a configuration is read each time");
    sources.add("actor.yaml", ACTOR);
    sources.add("web.yaml", WORKLOAD);
    session.compile(&sources);
    assert_eq!(session.cached_texts(), 3, "so is what transformations need to see");
}
