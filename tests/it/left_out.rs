//! A program that was built without a transformation says so of each object that it passes on, and shows none as if it
//! had been checked.

use kubefoundry_analysis::status::{StalenessPolicy, StatusReport};
use kubefoundry_compiler::{Thoroughness, compile};
use kubefoundry_composition::PROVIDERS;
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_model::ModelDeployments;
use kubefoundry_model::composition::{Composition, LeftOutKind};

static MODELS_ONLY: Composition = Composition::new(PROVIDERS, &[&ModelDeployments]).without(&[LeftOutKind {
    group: "asya.sh",
    kind: "AsyncActor",
    feature: "actor",
}]);

const ACTOR: &str = "apiVersion: asya.sh/v1alpha1\nkind: AsyncActor\nmetadata: {name: a, namespace: ml}\n";
/// The kind in a group that is not the one of the transformation.
const OTHER: &str = "apiVersion: example.com/v1\nkind: AsyncActor\nmetadata: {name: b, namespace: ml}\n";

fn sources(purpose: Purpose) -> SourceSet {
    let mut sources = SourceSet::default();
    sources.add_for(purpose, "actors.yaml", format!("{ACTOR}---\n{OTHER}"));
    sources
}

/// Returns the findings about objects.
fn found(diagnostics: &[Diagnostic]) -> Vec<String> {
    let with_object = diagnostics.iter().filter_map(|it| Some((it, it.object.as_ref()?)));
    with_object.map(|(it, object)| format!("{} {object}: {}", it.code.id, it.message)).collect()
}

const EXPECTED: &str = r#"KF0405 AsyncActor ml/a: this program was built without the feature "actor"; the AsyncActor is passed on as it is"#;

#[test]
fn a_run_reports_objects_that_it_passes_on() {
    let compilation = compile(&MODELS_ONLY, &sources(Purpose::Input), Thoroughness::EveryRule);
    assert_eq!((found(&compilation.diagnostics), compilation.outputs.len()), (vec![EXPECTED.to_owned()], 0));
    assert!(MODELS_ONLY.may_hold_input(ACTOR));
}

#[test]
fn a_status_reports_objects_whose_state_it_does_not_know() {
    let report = StatusReport::read(&MODELS_ONLY, &sources(Purpose::ClusterSnapshot), StalenessPolicy::default());
    assert_eq!(found(&report.diagnostics), [EXPECTED]);
}
