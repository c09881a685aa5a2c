//! Imports of provider objects; a rendering that is imported loses nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::common::generated::documents;
use crate::common::{case_folders, folders_in, read_case};
use kubefoundry_compiler::{Compilation, Output, Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_convert::import::{ImportReport, ImportSettings, import, import_with};
use kubefoundry_diagnostics::render;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_yaml as yaml;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::Value;

/// Returns the output of `kubefoundry import`.
fn output(import: &ImportReport) -> String {
    yaml::to_yaml_stream(import.imported.iter().map(|one| &one.model_deployment))
}

#[test]
fn cases_import_as_recorded() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in folders_in(&root.join("testdata/import")) {
        let sources = read_case(&folder);
        let (_, first) = sources.iter().find(|(_, source)| source.purpose == Purpose::Input).unwrap();
        assert!(first.text.starts_with("# "), "{}: the first line says what it shows", folder.display());
        let with_patches = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("patches"));
        let import = import_with(&BUILTIN, &sources, &ImportSettings { with_patches, ..ImportSettings::default() });
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(&folder);
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.remove_description();
        settings.bind(|| {
            insta::assert_snapshot!("output", output(&import));
            insta::assert_snapshot!(
                "diagnostics",
                render::text(&import.diagnostics, &sources, render::TextStyle::Plain)
            );
        });
    }
}

fn copy_settings(from: &SourceSet, to: &mut SourceSet) {
    for (_, source) in from.iter().filter(|(_, source)| source.purpose != Purpose::Input) {
        to.add_for(source.purpose, source.name.clone(), source.text.clone());
    }
}

/// Returns the output for ModelDeployments; only these have a provider.
fn of_models(compilation: &Compilation) -> impl Iterator<Item = &Output> {
    let of_model = |output: &&Output| compilation.decisions[output.decision].selection.is_some();
    compilation.outputs.iter().filter(|output| output.is_generated()).filter(of_model)
}

/// Returns sources with the options of a run and its generated objects as input.
fn rendered(sources: &SourceSet, compilation: &Compilation) -> SourceSet {
    let mut given = SourceSet::default();
    copy_settings(sources, &mut given);
    given.add("rendered.yaml", yaml::to_yaml_stream(of_models(compilation).map(|output| &output.object)));
    given
}

/// Imports what a run generated and returns a difference from the original, if any.
fn mistakes(sources: &SourceSet, compilation: &Compilation) -> Option<String> {
    let given = rendered(sources, compilation);
    let once = import(&BUILTIN, &given);
    let said = |import: &ImportReport, given: &SourceSet| render::concise(&import.diagnostics, given);
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
    let compilation = compile(&BUILTIN, &again, Thoroughness::Needed);
    let twice = import(&BUILTIN, &rendered(&again, &compilation));
    (output(&twice) != output(&once)).then(|| format!("again: {}\n{}", output(&once), output(&twice)))
}

/// Every case and example that a built-in provider renders is imported without residue.
#[test]
fn rendered_cases_are_imported_without_loss() {
    let mut count = 0;
    let mut report = String::new();
    for folder in case_folders() {
        let sources = read_case(&folder);
        let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
        // Changes by another transformation are residue.
        let is_changed = compilation.decisions.iter().any(|decision| decision.selection.is_none());
        // What airunway merges from overrides stays residue, because the import writes no such overrides.
        let is_merged = sources
            .iter()
            .any(|(_, source)| source.text.contains("\n    overrides:\n      routerMode: kv\n      metadata:"));
        if is_changed || is_merged || compilation.has_errors() || of_models(&compilation).next().is_none() {
            continue;
        }
        count += 1;
        // A patch may write what no field says.
        if sources.iter().any(|(_, source)| source.text.contains("\n      patches:\n")) {
            let settings = ImportSettings { with_patches: true, ..ImportSettings::default() };
            let import = import_with(&BUILTIN, &rendered(&sources, &compilation), &settings);
            for imported in import.imported.iter().filter(|imported| !imported.residue.is_empty()) {
                let _ = writeln!(report, "=== {}\n{:#?}\n{}", folder.display(), imported.residue, output(&import));
            }
            continue;
        }
        if let Some(mistake) = mistakes(&sources, &compilation) {
            let _ = writeln!(report, "=== {}\n{mistake}", folder.display());
        }
    }
    assert!(count > 150, "{count}");
    assert!(report.is_empty(), "{report}");
}

/// Past failures of the round trip.
#[test]
fn written_defaults_are_imported_without_loss() {
    let model = |group: &str, spec: &str| {
        format!("apiVersion: {group}/v1alpha1\nkind: ModelDeployment\nmetadata: {{name: m}}\nspec: {spec}\n")
    };
    let vllm_image = "image: registry.example.com/vllm:1";
    let llamacpp = "image: 'ghcr.io/ggml-org/llama.cpp:server'";
    for text in [
        // A served name that equals the default of the engine.
        model("airunway.ai", "{model: {id: org/m, servedName: org/m}, engine: {type: vllm}}"),
        // A default of the API group, on a provider that leaves the setting to the image.
        model(
            "airunway.ai",
            &format!(
                "{{model: {{id: org/m}}, engine: {{type: vllm, enablePrefixCaching: true}}, {vllm_image}, resources: {{gpu: {{count: 1}}}}, provider: {{name: kaito}}}}"
            ),
        ),
        // A list that consists of a single value.
        model(
            "kubefoundry.ai",
            "{model: {id: org/m}, engine: {type: vllm, args: {hf-overrides: '[\"--a\"]'}}, resources: {gpu: {count: 1}}, provider: {name: kuberay}}",
        ),
        // A model on a claim, without a served name.
        model(
            "airunway.ai",
            &format!(
                "{{model: {{id: /models/m, storage: {{volumes: [{{name: v, claimName: c, mountPath: /models}}]}}}}, engine: {{type: llamacpp}}, {llamacpp}, provider: {{name: kaito}}}}"
            ),
        ),
    ] {
        let mut sources = SourceSet::default();
        sources.add("model.yaml", text.as_str());
        let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
        assert!(!compilation.has_errors(), "{text}\n{}", render::concise(&compilation.diagnostics, &sources));
        assert_eq!(mistakes(&sources, &compilation), None, "{text}");
    }
}

/// Invalid options are reported before the objects are read.
#[test]
fn options_are_read_first() {
    let mut sources = SourceSet::default();
    sources.add_for(Purpose::Options, "options.yaml", "apiVersion: example.com/v1\nkind: Render\n");
    let workspace =
        "apiVersion: kaito.sh/v1beta1\nkind: Workspace\nmetadata: {name: NAME}\ninference: {preset: {name: phi-4}}\n";
    sources.add("one.yaml", workspace.replace("NAME", "one"));
    sources.add("two.yaml", workspace.replace("NAME", "two"));
    let import = import(&BUILTIN, &sources);
    let codes: Vec<&str> = import.diagnostics.iter().map(|found| found.code.id).collect();
    assert_eq!(codes, ["KF0801"]);
}

/// Collects the JSON pointers of all scalars.
fn leaves(value: &Value, pointer: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                leaves(value, &format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")), all);
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| leaves(value, &format!("{pointer}/{index}"), all));
        }
        _ => all.push(pointer.to_owned()),
    }
}

/// The residue is complete: a change of any scalar of an object changes the import or the residue,
/// or the object is refused.
#[test]
fn every_change_of_an_object_changes_the_import() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases =
        ["examples/model-cache", "examples/llama-8b-kuberay", "examples/phi-4-kaito", "examples/mistral-gguf-cpu"];
    let mut count = 0;
    for case in cases {
        let compilation = compile(&BUILTIN, &read_case(&root.join(case)), Thoroughness::Needed);
        let objects: Vec<Value> = compilation.outputs.iter().map(|output| output.object.clone()).collect();
        let of = |objects: &[Value]| {
            let mut sources = SourceSet::default();
            sources.add("objects.yaml", yaml::to_yaml_stream(objects));
            import(&BUILTIN, &sources)
        };
        let before = of(&objects);
        assert!(before.imported.len() == 1 && before.imported[0].residue.is_empty(), "{case}");
        for (position, object) in objects.iter().enumerate() {
            let mut all = Vec::new();
            leaves(object, "", &mut all);
            // The reason of a selection has no effect on the object.
            for leaf in all.iter().filter(|leaf| !leaf.ends_with("selected-reason")) {
                let mut changed = objects.clone();
                let value = changed[position].pointer_mut(leaf).unwrap();
                *value = match value {
                    Value::String(text) => Value::from(format!("{text}x")),
                    Value::Number(number) => Value::from(number.as_i64().unwrap_or(0) + 1),
                    Value::Bool(value) => Value::from(!*value),
                    other => panic!("{leaf} is {other}"),
                };
                let after = of(&changed);
                let is_seen = after.has_errors()
                    || after.imported.iter().any(|one| !one.residue.is_empty())
                    || output(&after) != output(&before);
                assert!(is_seen, "{case}: {leaf} of\n{}", yaml::to_yaml_stream(&changed));
                count += 1;
            }
        }
    }
    assert!(count > 120, "{count}");
}

/// Returns the fields of a deployment that its import must have, with their values: all except those without effect.
fn fields(compilation: &Compilation) -> BTreeMap<String, String> {
    let ignored: Vec<String> = compilation
        .diagnostics
        .iter()
        .filter(|found| ["field-ignored", "kaito-preset-resources", "scaling-ignored"].contains(&found.code.name))
        .filter_map(|found| Some(found.location.as_ref()?.path.to_string()))
        .collect();
    // The served name is derived from an id that has no effect.
    let unnamed = ignored.iter().any(|path| path == "spec.model.id");
    let is_trace = |path: &str| {
        let follows = unnamed && path == "spec.model.servedName";
        // Flags and overrides are compared by their effect, because there is no residue. Labels of other prefixes are
        // not imported.
        !["metadata.labels", "metadata.annotations", "spec.engine", "spec.provider"]
            .iter()
            .any(|it| path.starts_with(it))
            && !path.ends_with(".purpose")
            && !follows
            && !ignored.iter().any(|ignored| path.starts_with(ignored.as_str()))
    };
    let decision = compilation.decisions.first().unwrap();
    let kept = decision.fields.iter().filter(|field| is_trace(&field.path) || field.path == "spec.engine.type");
    let named = kept.map(|field| {
        let path = if field.path == "spec.engine.image" { "spec.image" } else { &field.path };
        (path.to_owned(), field.value.clone())
    });
    named.collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        max_global_rejects: 1_000_000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(20_261_122),
        ..ProptestConfig::default()
    })]

    #[test]
    fn rendered_objects_can_be_imported(documents in documents()) {
        let models: Vec<&Value> = documents.iter().filter(|it| it["kind"] == "ModelDeployment").collect();
        for model in models {
            let mut sources = SourceSet::default();
            sources.add("model.yaml", yaml::to_yaml_stream([model]));
            let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
            let generates = compilation.outputs.iter().any(Output::is_generated);
            if !compilation.has_errors() && generates {
                let mistake = mistakes(&sources, &compilation);
                prop_assert!(mistake.is_none(), "{}\n{}", yaml::to_yaml_stream([model]), mistake.unwrap());
                let imported = output(&import(&BUILTIN, &rendered(&sources, &compilation)));
                let mut again = SourceSet::default();
                again.add("imported.yaml", imported.as_str());
                let wanted = fields(&compile(&BUILTIN, &sources, Thoroughness::Everything));
                let came_back = fields(&compile(&BUILTIN, &again, Thoroughness::Everything));
                for (field, value) in &wanted {
                    let other = came_back.get(field);
                    prop_assert!(other.is_none_or(|other| other == value), "{field}: {value} {other:?}\n{imported}");
                    let is_made_up = field.starts_with("spec.model.id") || field.starts_with("spec.image");
                    // Nothing is rendered for a gateway.
                    let is_gateway = field.starts_with("spec.gateway");
                    prop_assert!(other.is_some() || is_made_up || is_gateway, "{field}: {value}\n{imported}");
                }
            }
        }
    }
}
