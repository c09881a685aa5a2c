//! Imports: what objects of providers become, and that rendering and importing lose nothing between them.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test reads its cases from files, and fails by panicking"
)]

mod common;

use std::path::Path;

use common::generated::documents;
use common::{case_folders, folders_in, read_case};
use kubefoundry::diagnostic::render;
use kubefoundry::import::{Import, import};
use kubefoundry::{Compilation, Purpose, SourceSet, Thoroughness, compile, yaml};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::Value;

/// What `kubefoundry import` prints: the deployments, nothing when there is an error.
fn output(import: &Import) -> String {
    if import.has_errors() {
        return String::new();
    }
    yaml::to_yaml_stream(import.imported.iter().map(|one| &one.model_deployment))
}

#[test]
fn cases_import_as_recorded() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in folders_in(&root.join("testdata/import")) {
        let sources = read_case(&folder);
        let (_, first) = sources.iter().find(|(_, source)| source.purpose == Purpose::Input).unwrap();
        assert!(first.text.starts_with("# "), "{}: the first line says what it shows", folder.display());
        let import = import(&sources);
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(&folder);
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.remove_description();
        settings.bind(|| {
            insta::assert_snapshot!("output", output(&import));
            insta::assert_snapshot!("diagnostics", render::text(&import.diagnostics, &sources, render::Style::Plain));
        });
    }
}

fn copy_settings(from: &SourceSet, to: &mut SourceSet) {
    for (_, source) in from.iter().filter(|(_, source)| source.purpose != Purpose::Input) {
        to.add_for(source.purpose, source.name.clone(), source.text.clone());
    }
}

/// The options of a run, with what it generated as input.
fn rendered(sources: &SourceSet, compilation: &Compilation) -> SourceSet {
    let mut given = SourceSet::default();
    copy_settings(sources, &mut given);
    let generated = compilation.outputs.iter().filter(|output| output.is_generated());
    given.add("rendered.yaml", yaml::to_yaml_stream(generated.map(|output| &output.object)));
    given
}

/// What is wrong with the import of what a run generated: everything comes back, and again the same.
fn mistakes(sources: &SourceSet, compilation: &Compilation) -> Option<String> {
    let given = rendered(sources, compilation);
    let once = import(&given);
    let said = |import: &Import, given: &SourceSet| render::concise(&import.diagnostics, given);
    if once.has_errors() {
        return Some(format!("refused: {}", said(&once, &given)));
    }
    let residue: Vec<_> = once.imported.iter().flat_map(|one| &one.residue).collect();
    if !residue.is_empty() {
        return Some(format!("residue: {residue:#?}\n{}", output(&once)));
    }
    let mut again = SourceSet::default();
    copy_settings(&given, &mut again);
    again.add("imported.yaml", output(&once));
    let compilation = compile(&again, Thoroughness::Needed);
    let twice = import(&rendered(&again, &compilation));
    (output(&twice) != output(&once)).then(|| format!("again: {}\n{}", output(&once), output(&twice)))
}

/// Every case and example that a provider of this program renders comes back without residue.
#[test]
fn cases_come_back() {
    let mut count = 0;
    let mut report = String::new();
    for folder in case_folders() {
        let sources = read_case(&folder);
        let compilation = compile(&sources, Thoroughness::Needed);
        if compilation.has_errors() || !compilation.outputs.iter().any(kubefoundry::Output::is_generated) {
            continue;
        }
        count += 1;
        if let Some(mistake) = mistakes(&sources, &compilation) {
            report.push_str(&format!("=== {}\n{mistake}\n", folder.display()));
        }
    }
    assert!(count > 150, "{count}");
    assert!(report.is_empty(), "{report}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        max_global_rejects: 1_000_000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(20_261_122),
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_rendered_can_be_imported(documents in documents()) {
        let models: Vec<&Value> = documents.iter().filter(|it| it["kind"] == "ModelDeployment").collect();
        for model in models {
            let mut sources = SourceSet::default();
            sources.add("model.yaml", yaml::to_yaml_stream([model]));
            let compilation = compile(&sources, Thoroughness::Needed);
            let generates = compilation.outputs.iter().any(kubefoundry::Output::is_generated);
            if !compilation.has_errors() && generates {
                let mistake = mistakes(&sources, &compilation);
                prop_assert!(mistake.is_none(), "{}\n{}", yaml::to_yaml_stream([model]), mistake.unwrap());
            }
        }
    }
}
