//! The analysis of selection rules is correct: every witness selects what the analysis states, and every suggested
//! change works.

use std::collections::BTreeSet;

use crate::common::{case_folders, compile_all, read_case};
use kubefoundry_analysis::selection_analysis::{Analysis, Flaw, FlawKind, Obstacle, Providers, analyze, why_not};
use kubefoundry_analysis::trace::{DocumentChange, apply_changes};
use kubefoundry_compiler::Compilation;
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_model::select::Selection;
use kubefoundry_yaml as yaml;
use serde_json::Value;

/// Configurations with one flaw of each kind.
const FLAWED: &str = "
apiVersion: kubefoundry.ai/v1alpha1
kind: InferenceProviderConfig
metadata: {name: acme}
spec:
  capabilities: {engines: [vllm], servingModes: [aggregated], gpuSupport: true}
  selectionRules:
  - {condition: spec.resources.gpu.count > 8, priority: 60}
  - {condition: spec.resources.gpu.count > 16, priority: 40}
  - {condition: spec.engine.contextLength < 0, priority: 70}
  - {condition: spec.engine.type == 'llamacpp', priority: 70}
  - {condition: \"metadata.labels.tier == 'gold'\", priority: 10}
---
apiVersion: kubefoundry.ai/v1alpha1
kind: InferenceProviderConfig
metadata: {name: zeta}
spec:
  capabilities: {engines: [vllm], servingModes: [aggregated], gpuSupport: true}
  selectionRules:
  - {condition: spec.resources.gpu.count > 8, priority: 60}
---
apiVersion: kubefoundry.ai/v1alpha1
kind: InferenceProviderConfig
metadata: {name: down}
spec:
  capabilities: {engines: [vllm], servingModes: [aggregated], gpuSupport: true}
  selectionRules:
  - {condition: \"true\", priority: 900}
status: {ready: false}
---
apiVersion: kubefoundry.ai/v1alpha1
kind: InferenceProviderConfig
metadata: {name: idle}
spec:
  capabilities: {engines: [mlc], servingModes: [aggregated], gpuSupport: true}
";

fn with(configurations: &str, document: &Value) -> Compilation {
    let mut sources = SourceSet::default();
    sources.add("configurations.yaml", configurations);
    let mut text = String::new();
    yaml::to_yaml(document, &mut text);
    sources.add("witness.yaml", text);
    compile_all(&sources)
}

fn analysis(configurations: &str) -> Analysis {
    let mut sources = SourceSet::default();
    sources.add("configurations.yaml", configurations);
    analyze(&BUILTIN, &sources, Providers::All).unwrap()
}

fn kinds(analysis: &Analysis) -> BTreeSet<(FlawKind, String, Option<usize>)> {
    let name = |flaw: &Flaw| (flaw.kind, flaw.provider.clone(), flaw.rule.as_ref().map(|rule| rule.rule));
    analysis.flaws.iter().map(name).collect()
}

/// Asserts that compiling the witness gives the stated selection and demonstrates the flaw.
fn check(flaw: &Flaw, configurations: &str) {
    let Some(witness) = &flaw.witness else { panic!("no witness for {flaw:?}") };
    let compilation = with(configurations, &witness.document);
    let selection: &Selection = compilation.decisions[0].selection.as_ref().unwrap();
    assert_eq!((&selection.provider, &selection.reason), (&witness.selects, &witness.reason), "{flaw:#?}");
    if flaw.kind != FlawKind::Fails {
        assert!(!compilation.has_errors(), "{flaw:#?} {:#?}", compilation.diagnostics);
    }
    let candidate = selection.candidates.iter().find(|candidate| candidate.provider == flaw.provider).unwrap();
    let value = flaw.rule.as_ref().map(|rule| candidate.rules[rule.rule - 1].value);
    match flaw.kind {
        FlawKind::Dead => assert_eq!(value, Some(Some(false)), "{flaw:#?}"),
        FlawKind::Fails => {
            assert_eq!(value, Some(None), "{flaw:#?}");
            assert!(compilation.has_errors(), "{flaw:#?}");
        }
        FlawKind::Unreachable if flaw.rule.is_some() => {
            assert_eq!(value, Some(Some(true)), "{flaw:#?}");
            assert!(candidate.closed_gate.is_some(), "{flaw:#?}");
        }
        FlawKind::Unreachable => assert_ne!(selection.provider.as_ref(), Some(&flaw.provider), "{flaw:#?}"),
        FlawKind::Shadowed => {
            assert_eq!(value, Some(Some(true)), "{flaw:#?}");
            let rule = flaw.rule.as_ref().unwrap();
            assert!(
                selection.provider.as_ref() != Some(&flaw.provider) || candidate.score != Some(rule.priority),
                "{flaw:#?}"
            );
        }
        FlawKind::Tied => {
            let other = &flaw.others[0].provider;
            let tied = selection.candidates.iter().find(|candidate| candidate.provider == *other).unwrap();
            assert_eq!(candidate.score, tied.score, "{flaw:#?}");
            assert_eq!(selection.provider.as_ref(), Some(&flaw.provider), "{flaw:#?}");
        }
        FlawKind::NamedOnly => assert!(selection.explicit, "{flaw:#?}"),
        _ => panic!("a kind without a check: {flaw:#?}"),
    }
}

#[test]
fn every_flaw_is_found_and_has_a_witness_that_renders() {
    let analysis = analysis(FLAWED);
    assert!(analysis.complete, "{analysis:#?}");
    let expected = [
        (FlawKind::Dead, "acme", Some(3)),
        (FlawKind::Unreachable, "acme", Some(4)),
        (FlawKind::Shadowed, "acme", Some(2)),
        (FlawKind::Shadowed, "acme", Some(5)),
        (FlawKind::Fails, "acme", Some(5)),
        (FlawKind::Tied, "acme", Some(1)),
        (FlawKind::Unreachable, "down", None),
        (FlawKind::Unreachable, "down", Some(1)),
        (FlawKind::Unreachable, "idle", None),
        (FlawKind::NamedOnly, "kuberay", None),
        (FlawKind::Unreachable, "zeta", None),
        (FlawKind::Shadowed, "zeta", Some(1)),
    ];
    let expected = expected.map(|(kind, provider, rule)| (kind, provider.to_owned(), rule));
    assert_eq!(kinds(&analysis), BTreeSet::from(expected));
    for flaw in &analysis.flaws {
        check(flaw, FLAWED);
    }
}

/// The built-in rules have no flaw.
#[test]
fn the_built_in_rules_have_no_flaw() {
    let analysis = analysis("");
    assert!(analysis.complete);
    assert_eq!(kinds(&analysis), BTreeSet::from([(FlawKind::NamedOnly, "kuberay".to_owned(), None)]));
    for flaw in &analysis.flaws {
        check(flaw, "");
    }
}

/// Analyzes one provider with one rule.
fn analyze_rule(condition: &str) -> Analysis {
    analysis(&format!(
        "apiVersion: kubefoundry.ai/v1alpha1\nkind: InferenceProviderConfig\nmetadata: {{name: one}}\nspec:\n  capabilities: \
         {{engines: [vllm], servingModes: [aggregated], gpuSupport: true}}\n  selectionRules:\n  - {{condition: {condition:?}, \
         priority: 900}}\n"
    ))
}

/// Rules that can be true are not reported as dead.
#[test]
fn string_conditions_are_tried_together_and_by_length() {
    for condition in [
        "spec.model.id.contains('llama') && spec.model.id.contains('70b')",
        "spec.model.id.startsWith('meta') && spec.model.id.endsWith('8B')",
        "spec.model.id.size() > 20",
    ] {
        let flaws = kinds(&analyze_rule(condition));
        assert!(flaws.iter().all(|(_, provider, _)| provider != "one"), "{condition}: {flaws:?}");
    }
}

/// An incomplete analysis is reported as incomplete.
#[test]
fn a_computed_condition_is_not_reported_as_certainly_dead() {
    for condition in [
        "has(spec.image) && spec.image.matches('^reg/.*:v[0-9]+$')",
        "spec.resources.gpu.count * 3 == 21",
        "has(spec.nodeSelector) && spec.nodeSelector.size() > 3",
    ] {
        let analysis = analyze_rule(condition);
        assert!(!analysis.complete && !analysis.unvaried.is_empty(), "{condition}");
        for flaw in analysis.flaws.iter().filter(|flaw| flaw.provider == "one") {
            assert!(flaw.message.contains("as far as was tried"), "{condition}: {}", flaw.message);
        }
    }
    assert!(analyze_rule("spec.resources.gpu.count > 3").complete);
}

/// If another rule fails, no rule wins, and the message names none.
#[test]
fn a_rule_blocked_by_a_failing_rule_is_reported() {
    let configuration = "
apiVersion: kubefoundry.ai/v1alpha1
kind: InferenceProviderConfig
metadata: {name: one}
spec:
  capabilities: {engines: [vllm], servingModes: [aggregated], gpuSupport: true}
  selectionRules:
  - {condition: \"metadata.labels['a'] == spec.provider.overrides.x\", priority: 950}
  - {condition: \"true\", priority: 900}
";
    let analysis = analysis(configuration);
    let second = analysis.flaws.iter().find(|flaw| flaw.rule.as_ref().is_some_and(|rule| rule.rule == 2)).unwrap();
    assert!(second.message.ends_with("a rule fails, and nothing is selected"), "{}", second.message);
    for flaw in analysis.flaws.iter().filter(|flaw| flaw.provider == "one") {
        assert!(!flaw.message.ends_with(": "), "{}", flaw.message);
    }
}

/// With `strict`, a change that causes a warning is not suggested.
#[test]
fn changes_that_options_refuse_are_not_suggested() {
    let mut sources = SourceSet::default();
    sources.add_for(
        Purpose::Options,
        "options.yaml",
        "{apiVersion: config.kubefoundry.ai/v1alpha1, kind: Render, strict: true}",
    );
    let document = serde_json::json!({
        "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": {"name": "phi"},
        "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}},
    });
    let mut with_model = sources.clone();
    with_model.add("model.json", document.to_string());
    for answer in why_not(&BUILTIN, &with_model, "kaito").unwrap() {
        for changes in [&answer.by_rules, &answer.by_name].into_iter().flatten() {
            let mut sources = sources.clone();
            sources.add("model.json", apply_changes(&document, changes).unwrap().to_string());
            assert!(!compile_all(&sources).has_errors(), "{changes:?}");
        }
    }
}

/// Without the built-in providers, rules that they shadow are no longer shadowed.
#[test]
fn configurations_can_be_analyzed_without_the_built_in_ones() {
    let mut sources = SourceSet::default();
    sources.add("configurations.yaml", FLAWED);
    let alone = analyze(&BUILTIN, &sources, Providers::Configured).unwrap();
    let names: Vec<&str> = alone.providers.iter().map(|provider| provider.provider.as_str()).collect();
    assert_eq!(names, ["acme", "down", "idle", "zeta"]);
    assert!(!kinds(&alone).contains(&(FlawKind::NamedOnly, "kuberay".to_owned(), None)));
}

/// If there are too many combinations, a sample is judged, and the analysis reports it.
#[test]
fn a_space_that_is_too_large_is_sampled() {
    let rule = |field: &str, n: usize| {
        format!("  - {{condition: \"{field} == {n} || {field} == {}\", priority: {n}}}\n", n + 7)
    };
    let mut text =
        "apiVersion: kubefoundry.ai/v1alpha1\nkind: InferenceProviderConfig\nmetadata: {name: many}\nspec:\n  \
                    capabilities: {engines: [vllm], servingModes: [aggregated], gpuSupport: true}\n  selectionRules:\n"
            .to_owned();
    for (index, field) in
        ["spec.engine.contextLength", "spec.scaling.replicas", "spec.resources.gpu.count"].iter().enumerate()
    {
        for n in 1..12 {
            text += &rule(field, 100 * (index + 1) + 20 * n);
        }
    }
    let analysis = analysis(&text);
    assert!(!analysis.complete);
    assert!(analysis.judged <= kubefoundry_analysis::selection_analysis::MAX_POINTS);
    // The sample still shows that each rule can decide.
    assert!(!analysis.flaws.iter().any(|flaw| flaw.kind == FlawKind::Dead), "{:#?}", analysis.flaws);
}

fn apply(document: &Value, changes: &[DocumentChange]) -> Value {
    apply_changes(document, changes).unwrap()
}

/// Every suggestion works when it is applied, and does not work without any one of its changes.
#[test]
fn every_suggestion_makes_the_provider_win() {
    let mut answers = 0;
    let examples = case_folders().into_iter().filter(|folder| folder.parent().unwrap().ends_with("examples"));
    for folder in examples {
        let sources = read_case(&folder);
        let Some((_, model)) = sources.iter().find(|(_, source)| source.name == "model.yaml") else { continue };
        let text = &model.text;
        let parsed = yaml::parse(text, &yaml::Limits::default());
        let [document] = parsed.documents.as_slice() else { continue };
        let document = document.root.to_json();
        if document["kind"] != "ModelDeployment" {
            continue;
        }
        let run = |document: &Value, provider: &str, explicit: bool| {
            let mut text = String::new();
            yaml::to_yaml(document, &mut text);
            let mut changed = SourceSet::default();
            for (_, source) in sources.iter() {
                let text = if source.name == "model.yaml" { &text } else { &source.text };
                changed.add_for(source.purpose, source.name.clone(), text.clone());
            }
            let compilation = compile_all(&changed);
            let selection = compilation.decisions.first().and_then(|decision| decision.selection.as_ref());
            !compilation.has_errors()
                && selection.is_some_and(|it| it.provider.as_deref() == Some(provider) && it.explicit == explicit)
        };
        for provider in ["dynamo", "kaito", "kuberay"] {
            let answer = why_not(&BUILTIN, &sources, provider).unwrap().remove(0);
            if answer.selected.as_deref() == Some(provider) {
                assert_eq!((&answer.by_rules, &answer.by_name), (&None, &None));
                continue;
            }
            assert_eq!(answer.by_rules.is_none(), answer.obstacle.is_some(), "{answer:#?}");
            assert_eq!(provider == "kuberay", answer.obstacle == Some(Obstacle::NoRules), "{answer:#?}");
            for (changes, explicit) in [(&answer.by_rules, false), (&answer.by_name, true)] {
                let Some(changes) = changes else { continue };
                assert!(run(&apply(&document, changes), provider, explicit), "{}: {answer:#?}", folder.display());
                answers += 1;
                if changes.len() > 3 {
                    // Changing the mode and its sizes counts as one change.
                    continue;
                }
                for left_out in 0..changes.len() {
                    let mut fewer = changes.clone();
                    fewer.remove(left_out);
                    assert!(!run(&apply(&document, &fewer), provider, explicit), "{}: {answer:#?}", folder.display());
                }
            }
        }
    }
    assert!(answers > 20, "{answers} answers");
}

#[test]
fn an_obstacle_is_reported() {
    let mut sources = SourceSet::default();
    sources.add("configurations.yaml", FLAWED);
    sources.add(
        "model.yaml",
        "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: m}\nspec:\n  model: {id: org/m}\n  \
         engine: {type: vllm}\n  resources: {gpu: {count: 1}}\n",
    );
    let obstacle = |provider: &str| why_not(&BUILTIN, &sources, provider).unwrap().remove(0).obstacle;
    assert_eq!(obstacle("down"), Some(Obstacle::NotReady));
    assert_eq!(obstacle("idle"), Some(Obstacle::NoEngine));
    assert_eq!(obstacle("zeta"), Some(Obstacle::NothingFound));
    let error = why_not(&BUILTIN, &sources, "zet").unwrap_err();
    assert!(error.to_string().contains("did you mean \"zeta\"?"), "{error}");
}
