//! Migrations to another provider and to another API group.

use std::fmt::Write as _;
use std::path::Path;

use crate::common::generated::documents;
use crate::common::{case_folders, compile_case, folders_in, migrated, read_case};
use kubefoundry_compiler::{Thoroughness, compile};
use kubefoundry_composition::{BUILTIN, PROVIDERS};
use kubefoundry_convert::migrate::{GroupMigration, ProviderMigration, migrate_to_group, migrate_to_provider};
use kubefoundry_diagnostics::render;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_yaml as yaml;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::Value;

/// Returns the output of a migration.
fn output(migration: &ProviderMigration) -> String {
    let mut out = String::new();
    for moved in &migration.moved {
        let _ = writeln!(out, "# {}: {} -> {}", moved.object, moved.from, moved.to);
        for lost in &moved.capabilities_lost {
            let _ = writeln!(out, "# not on {}: {lost}", moved.to);
        }
        for step in &moved.plan {
            let _ = writeln!(out, "# {}: {}", step.title, step.notes.join(" "));
        }
        out.push_str(&yaml::to_yaml_stream(std::iter::once(&moved.model_deployment).chain(&moved.manifests)));
    }
    out
}

fn texts(regrouping: &GroupMigration) -> String {
    if regrouping.has_errors() {
        return String::new();
    }
    regrouping.texts.iter().map(|text| text.text.as_str()).collect()
}

/// The name of a case names its destination.
#[test]
fn cases_migrate_as_recorded() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in folders_in(&root.join("testdata/migrate")) {
        let sources = read_case(&folder);
        let (_, first) = sources.iter().find(|(_, source)| source.purpose == Purpose::Input).unwrap();
        assert!(first.text.starts_with("# "), "{}: the first line says what it shows", folder.display());
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let (output, diagnostics) = if name.starts_with("to-group") {
            let regrouping = migrate_to_group(&BUILTIN, &sources, ApiGroup::find("kubefoundry.ai").unwrap());
            (texts(&regrouping), regrouping.diagnostics)
        } else {
            let provider = PROVIDERS.iter().find(|it| name.starts_with(&format!("to-{}", it.name()))).unwrap();
            let migration = migrate_to_provider(&BUILTIN, &sources, *provider);
            (output(&migration), migration.diagnostics)
        };
        assert_eq!(diagnostics, migrated(&folder, &sources));
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(&folder);
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.remove_description();
        settings.bind(|| {
            insta::assert_snapshot!("output", output);
            insta::assert_snapshot!("diagnostics", render::text(&diagnostics, &sources, render::TextStyle::Plain));
        });
    }
}

/// After a move to another group, every case renders the same objects except for labels and annotations, or a finding
/// reports the difference. Moving it again changes nothing.
#[test]
fn cases_move_to_the_other_groups() {
    let mut count = 0;
    for folder in case_folders() {
        let sources = read_case(&folder);
        if compile_case(&folder).has_errors() {
            continue;
        }
        for target in API_GROUPS {
            let regrouping = migrate_to_group(&BUILTIN, &sources, target);
            if regrouping.has_errors() {
                continue;
            }
            count += 1;
            // What is of the group already stays as it is, so that a second move would be the first.
            if regrouping.texts.is_empty() {
                continue;
            }
            let mut moved = sources.clone();
            for text in &regrouping.texts {
                moved.set_text(text.source, text.text.clone());
            }
            let again = migrate_to_group(&BUILTIN, &moved, target);
            assert!(again.texts.is_empty(), "{}: {}", folder.display(), texts(&again));
        }
    }
    assert!(count > 300, "{count}");
}

/// A migration without errors renders objects of the new provider and lists every step.
#[test]
fn cases_move_to_the_other_providers() {
    let mut count = 0;
    for folder in case_folders() {
        let sources = read_case(&folder);
        for provider in PROVIDERS {
            let migration = migrate_to_provider(&BUILTIN, &sources, *provider);
            if migration.has_errors() {
                continue;
            }
            for moved in &migration.moved {
                count += 1;
                assert_eq!(moved.plan.len(), 4, "{}", folder.display());
                let main = moved.manifests.last().unwrap();
                let kinds = provider.info().kinds.iter().map(|own| own.kind).collect::<Vec<_>>();
                assert!(kinds.contains(&main["kind"].as_str().unwrap()), "{}: {main}", folder.display());
                assert_ne!(moved.model_deployment["metadata"]["name"], *moved.object.name);
            }
        }
    }
    assert!(count > 100, "{count}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        max_global_rejects: 1_000_000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(20_261_123),
        ..ProptestConfig::default()
    })]

    /// Without a finding, a moved object renders the same objects except for labels and annotations.
    #[test]
    fn groups_render_alike(documents in documents()) {
        let target = &API_GROUPS[0];
        for model in documents.iter().filter(|it| it["kind"] == "ModelDeployment") {
            let mut sources = SourceSet::default();
            sources.add("model.yaml", yaml::to_yaml_stream([model]));
            let before = compile(&BUILTIN, &sources, Thoroughness::Needed);
            let regrouping = migrate_to_group(&BUILTIN, &sources, target);
            if before.has_errors() || !regrouping.diagnostics.is_empty() {
                continue;
            }
            let mut moved = SourceSet::default();
            moved.add("model.yaml", texts(&regrouping));
            let after = compile(&BUILTIN, &moved, Thoroughness::Needed);
            prop_assert!(!after.has_errors(), "{}", texts(&regrouping));
            let bodies = |compilation: &kubefoundry_compiler::Compilation| {
                let body = |output: &kubefoundry_compiler::Output| {
                    let mut object = output.object.clone();
                    object["metadata"]["labels"].take();
                    object["metadata"]["annotations"].take();
                    // The default served name of an engine is the id, so writing it out changes nothing.
                    remove_default_name(&mut object, model["spec"]["model"]["id"].as_str().unwrap_or_default());
                    object
                };
                compilation.outputs.iter().filter(|output| output.is_generated()).map(body).collect::<Vec<Value>>()
            };
            let (one, other) = (bodies(&before), bodies(&after));
            for (one, other) in one.iter().zip(&other) {
                let found = kubefoundry_convert::import::compare::differences(&BUILTIN, one, other, &kubefoundry_provider::draft::Equivalents::default());
                prop_assert!(found.is_empty(), "{:?}\n{}\n{}", found, yaml::to_yaml_stream([model]), texts(&regrouping));
            }
            prop_assert_eq!(one.len(), other.len());
        }
    }
}

fn remove_default_name(value: &mut Value, id: &str) {
    match value {
        Value::Array(items) => {
            items.retain(|item| item.as_str() != Some(&format!("--served-model-name={id}")));
            for item in items {
                remove_default_name(item, id);
            }
        }
        Value::Object(fields) => {
            for field in fields.values_mut() {
                remove_default_name(field, id);
            }
        }
        _ => {}
    }
}
