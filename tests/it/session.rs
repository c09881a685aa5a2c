//! A session that compiles texts repeatedly, as they are edited: the result equals that of a fresh run.

use kubefoundry_compiler::session::{Providers, Session};
use kubefoundry_compiler::{Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use proptest::prelude::*;

const CONFIGURATION: &str = "apiVersion: kubefoundry.ai/v1alpha1\nkind: InferenceProviderConfig\nmetadata: {name: aaa}\nspec:\n  \
                             capabilities:\n    engines: [vllm, sglang]\n    servingModes: [aggregated]\n    gpuSupport: \
                             true\n  selectionRules:\n  - {condition: 'spec.resources.gpu.count > 1', priority: 999}\n";

const MODEL: &str = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata:\n  name: NAME\n  annotations: \
                     {kubefoundry.ai/lint-ignore: KF0503}\nspec: {model: {id: org/m}, engine: {type: vllm}, resources: {gpu: \
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

/// Returns texts for files of the input. A session treats each of them differently.
pub(crate) fn texts() -> Vec<(&'static str, Purpose, String)> {
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
        input(&crate::documents::documents(0..3).replace("KF0503", "KF0211")),
        input(&format!("# a comment\n---\n{}---\n{CONFIGURATION}", MODEL.replace("NAME", "one"))),
        input(&MODEL.replace("engine: {type: vllm}", "engine: {type: vllm, contextLength: 4096, extraArgs: [--x]}")),
        input(&MODEL.replace("metadata:\n", "metadata:\n  labels: {a: b}\n").replace("engine:", "engne:")),
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
        // The facts of the model decide whether `count: 2` is an error.
        ("m/config.json", Purpose::ModelConfig, "{\"num_attention_heads\": 7}".to_owned()),
        ("m/config.json", Purpose::ModelConfig, "{\"num_attention_heads\": 8}".to_owned()),
    ]
}

/// Returns documents of a text. A session or the YAML reader treats each of them differently.
fn documents() -> Vec<String> {
    let alike = MODEL.replace("{model:", "{adapters: [{name: a, source: org/a}], model:");
    vec![
        MODEL.replace("NAME", "one"),
        MODEL.replace("NAME", "two"),
        alike.replace("NAME", "three"),
        alike.replace("NAME", "four").replace("count: 1", "count: 2"),
        MODEL.replace("count: 1", "count: -1"),
        MODEL.replace("kind: ModelDeployment", "kind: \"Model\\x44eployment\""),
        MODEL.replace("engine: {type: vllm}", "engine: {type: vllm}, engne: {}"),
        MODEL.replace("spec: {", "spec: {provider: {name: aaa}, "),
        format!("# a comment\n{MODEL}# and another one\n"),
        format!("kind: List\napiVersion: v1\nitems:\n- {}", MODEL.trim_end().replace('\n', "\n  ") + "\n"),
        format!("{}  extra: |\n    ---\n    kind: ModelDeployment\n", MODEL.replace("spec: {", "spec:\n  {")),
        MODEL.replace('\n', "\r\n"),
        CONFIGURATION.to_owned(),
        ACTOR.to_owned(),
        WORKLOAD.to_owned(),
        "# nothing but a comment\n".to_owned(),
        String::new(),
        "a: [\n".to_owned(),
        "a: &a 1\nb: *a\n".to_owned(),
        "b: *a\n".to_owned(),
        "%YAML 1.2\n".to_owned(),
        "...\n".to_owned(),
        "kind: Service\napiVersion: v1\nmetadata: {name: s}\n".to_owned(),
    ]
}

/// An edit between two runs: replace, add or remove a text.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    Replace(usize, usize),
    Insert(usize, usize),
    Remove(usize),
}

pub(crate) fn edits(texts: usize) -> impl Strategy<Value = Edit> {
    let (place, text) = (0..8_usize, 0..texts);
    prop_oneof![
        3 => (place.clone(), text.clone()).prop_map(|(place, text)| Edit::Replace(place, text)),
        3 => (place.clone(), text).prop_map(|(place, text)| Edit::Insert(place, text)),
        1 => place.prop_map(Edit::Remove),
    ]
}

pub(crate) fn apply(edit: &Edit, chosen: &mut Vec<usize>) {
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
        edits in proptest::collection::vec(edits(texts().len()), 1..8),
        thoroughness in thoroughness(),
    ) {
        let texts = texts();
        let mut session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
        let mut chosen = start;
        for edit in [None].into_iter().chain(edits.iter().map(Some)) {
            if let Some(edit) = edit {
                apply(edit, &mut chosen);
            }
            let mut sources = SourceSet::default();
            for text in &chosen {
                let (name, purpose, text) = &texts[*text];
                let id = sources.add_for(*purpose, *name, text);
                if *purpose == Purpose::ModelConfig {
                    sources.set_subject(id, "org/m");
                }
            }
            let fresh = format!("{:?}", compile(&BUILTIN, &sources, thoroughness));
            prop_assert_eq!(format!("{:?}", session.compile(&sources, thoroughness)), fresh);
        }
    }

    /// The same property for edits of single documents of one text.
    #[test]
    fn a_session_gives_what_a_fresh_run_gives_after_edits_of_documents(
        start in proptest::collection::vec(0..documents().len(), 0..8),
        edits in proptest::collection::vec(edits(documents().len()), 1..8),
        thoroughness in thoroughness(),
        starts_with_marker in any::<bool>(),
    ) {
        let documents = documents();
        let mut session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
        let mut chosen = start;
        for edit in [None].into_iter().chain(edits.iter().map(Some)) {
            if let Some(edit) = edit {
                apply(edit, &mut chosen);
            }
            let text = chosen.iter().map(|document| documents[*document].as_str()).collect::<Vec<_>>().join("---\n");
            let mut sources = SourceSet::default();
            sources.add("x.yaml", if starts_with_marker { format!("---\n{text}") } else { text.clone() });
            sources.add("y.yaml", MODEL.replace("NAME", "other"));
            let fresh = format!("{:?}", compile(&BUILTIN, &sources, thoroughness));
            prop_assert_eq!(format!("{:?}", session.compile(&sources, thoroughness)), fresh, "{}", text);
        }
    }
}

pub(crate) fn thoroughness() -> impl Strategy<Value = Thoroughness> {
    prop_oneof![Just(Thoroughness::Needed), Just(Thoroughness::EveryRule), Just(Thoroughness::Everything)]
}

/// After an edit, a session transforms only the edited document.
#[test]
fn a_session_transforms_only_the_documents_that_changed() {
    for thoroughness in [Thoroughness::Needed, Thoroughness::EveryRule, Thoroughness::Everything] {
        let mut session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
        let mut models: Vec<String> = (0..1000).map(|name| MODEL.replace("NAME", &format!("m{name}"))).collect();
        let mut sources = SourceSet::default();
        let id = sources.add("models.yaml", models.join("---\n"));
        session.compile(&sources, thoroughness);
        assert_eq!(session.mapped_documents(), 1000);
        session.compile(&sources, thoroughness);
        assert_eq!(session.mapped_documents(), 0);
        models[700] = models[700].replace("count: 1", "count: 16");
        sources.set_text(id, models.join("---\n"));
        assert_eq!(session.compile(&sources, thoroughness).decisions[700].gpus[0].count, 16);
        assert_eq!(session.mapped_documents(), 1, "one changed");
        models.remove(3);
        sources.set_text(id, models.join("---\n"));
        session.compile(&sources, thoroughness);
        assert_eq!(session.mapped_documents(), 0, "documents that moved are those that they were");
    }
}

/// Each environment has results of its own, which a change in another one does not affect.
#[test]
fn a_session_keeps_the_results_of_each_environment() {
    let mut session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
    let mut sources = SourceSet::default();
    let ids = ["dev", "prod"].map(|name| {
        let options = format!(
            "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nruntimes: {{dynamo: 1.{}.0}}\n",
            name.len()
        );
        let options = sources.add_for(Purpose::Options, format!("{name}/kubefoundry.yaml"), options);
        let model = sources.add(format!("{name}/m.yaml"), MODEL.replace("NAME", "m"));
        sources.add_environment(name, [options, model]);
        model
    });
    session.compile(&sources, Thoroughness::EveryRule);
    assert_eq!(session.mapped_documents(), 2);
    sources.set_text(ids[0], sources.get(ids[0]).text.replace("count: 1", "count: 2"));
    let again = session.compile(&sources, Thoroughness::EveryRule);
    assert_eq!(session.mapped_documents(), 1);
    assert_eq!(format!("{again:?}"), format!("{:?}", compile(&BUILTIN, &sources, Thoroughness::EveryRule)));
}

/// A session does not cache configurations, nor objects that transformations look up.
#[test]
fn a_session_does_not_cache_what_other_objects_depend_on() {
    let mut session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
    let mut sources = SourceSet::default();
    for name in ["one", "two", "three"] {
        sources.add(format!("{name}.yaml"), MODEL.replace("NAME", name));
    }
    let mut mapped = |sources: &SourceSet| {
        session.compile(sources, Thoroughness::Needed);
        session.mapped_documents()
    };
    assert_eq!((mapped(&sources), mapped(&sources)), (3, 0));
    sources.add("aaa.yaml", CONFIGURATION);
    assert_eq!((mapped(&sources), mapped(&sources)), (4, 1));
    sources.add("set.yaml", format!("{ACTOR}---\n{WORKLOAD}---\n{}", MODEL.replace("NAME", "four")));
    assert_eq!((mapped(&sources), mapped(&sources)), (7, 3), "of a text, only the documents that are needed");
}

/// A text with an unreadable document is transformed and cached as a whole.
#[test]
fn an_unreadable_text_is_one_unit() {
    let mut session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).unwrap();
    let mut sources = SourceSet::default();
    let models = format!("{}---\n{}", MODEL.replace("NAME", "one"), MODEL.replace("NAME", "two"));
    let id = sources.add("models.yaml", models.clone());
    let mut mapped = |sources: &SourceSet| {
        session.compile(sources, Thoroughness::Needed);
        session.mapped_documents()
    };
    assert_eq!(mapped(&sources), 2);
    sources.set_text(id, format!("{models}---\nkind: [\n"));
    assert_eq!((mapped(&sources), mapped(&sources)), (2, 0));
    sources.set_text(id, format!("{models}---\nkind: []\n"));
    assert_eq!(mapped(&sources), 3);
    let broken = "---\nkind: [\n";
    for text in [broken.to_owned(), format!("{models}{broken}")] {
        sources.set_text(id, text);
        let fresh = compile(&BUILTIN, &sources, Thoroughness::Needed).diagnostics;
        assert_eq!(session.compile(&sources, Thoroughness::Needed).diagnostics, fresh);
    }
}
