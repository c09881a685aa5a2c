//! Requirements on every provider and every diagnostic code.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::start::{cells, engine_of, testing};
use crate::common::{case_folders, compile_case};
use kubefoundry::registry;
use kubefoundry_cel as cel;
use kubefoundry_compiler::{Thoroughness, compile};
use kubefoundry_composition::{BUILTIN, PROVIDERS};
use kubefoundry_deployment::wire::{EngineType, ServingMode};
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_engines::profile::BooleanSetting;
use kubefoundry_engines::{flags, profile};
use kubefoundry_kubernetes::wire::StringEnum;
use kubefoundry_model::rule_environment;
use kubefoundry_provider::ObjectKind;
use kubefoundry_provider::support;

/// No id or name of a code is used twice, and ids have the form KFnnnn.
#[test]
fn codes_are_unique() {
    let mut seen = BTreeSet::new();
    for code in registry::codes() {
        assert!(seen.insert(code.id) && seen.insert(code.name), "{} {} is used twice", code.id, code.name);
        let digits = code.id.strip_prefix("KF").unwrap();
        assert!(digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()), "{}", code.id);
        assert!(code.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{}", code.name);
        assert!(!code.summary.ends_with('.') && !code.summary.contains('\n'), "{}: {}", code.id, code.summary);
    }
}

/// A code that only one provider or transformation reports has its block and the name of its owner, and others have neither.
#[test]
fn codes_belong_to_their_area() {
    let mut owners: BTreeMap<&str, (&str, &[&kubefoundry_diagnostics::Code])> = BTreeMap::new();
    for provider in PROVIDERS {
        owners.insert(provider.name(), ("KF1", provider.info().codes));
    }
    let names = BTreeMap::from([("LlamaStackDistribution", "llama-stack"), ("AsyncActor", "actor")]);
    for transform in BUILTIN.transforms() {
        // Models have the shared areas.
        if let Some(name) = names.get(transform.kind().1) {
            owners.insert(*name, ("KF2", transform.codes()));
        }
    }
    let mut blocks = BTreeSet::new();
    for (owner, (begin, codes)) in &owners {
        assert!(blocks.insert(&codes[0].id[..4]), "{owner} has the block of another");
        for code in *codes {
            let has_block = code.id.starts_with(begin) && code.id[..4] == codes[0].id[..4];
            assert!(has_block && code.name.starts_with(&format!("{owner}-")), "{owner}: {} {}", code.id, code.name);
        }
    }
    for code in registry::codes().filter(|code| !blocks.contains(&code.id[..4])) {
        assert!(code.id.starts_with("KF0"), "{} has no owner", code.id);
        let owner = owners.keys().find(|owner| code.name.starts_with(&format!("{owner}-")));
        assert!(owner.is_none(), "{} {} is in a shared area", code.id, code.name);
    }
}

/// Every code appears in a golden, so that its message has been reviewed.
#[test]
fn every_code_has_a_golden() {
    let mut shown = BTreeSet::new();
    for folder in case_folders() {
        shown.extend(compile_case(&folder).diagnostics.iter().map(|diagnostic| diagnostic.code.id));
    }
    shown.extend(crate::common::found_by_commands().iter().map(|diagnostic| diagnostic.code.id));
    let missing: Vec<String> = registry::codes()
        // The command line finds those of built and skipped files; its tests run their pages.
        .filter(|code| !shown.contains(code.id) && !kubefoundry_compiler::codes::input::CODES.contains(code))
        .map(|code| {
            let did = case_folders().into_iter().filter(|folder| {
                let snapshot = std::fs::read_to_string(folder.join("diagnostics.snap")).unwrap_or_default();
                snapshot.contains(&format!("[{}]", code.id))
            });
            let did: Vec<String> = did.map(|folder| folder.display().to_string()).collect();
            if did.is_empty() {
                format!("{} ({}): add a case to testdata/golden whose input causes it", code.id, code.name)
            } else {
                format!(
                    "{} ({}): {} showed it, and its input causes it no longer. If that input names every provider or \
                     every engine, add the new one to it",
                    code.id,
                    code.name,
                    did.join(", ")
                )
            }
        })
        .collect();
    assert!(missing.is_empty(), "codes that no case shows:\n{}", missing.join("\n"));
}

/// The folder of a provider is complete. The failure lists everything that is missing and what to write.
#[test]
fn every_provider_is_complete() {
    let mut missing = Vec::new();
    let mut names = BTreeSet::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let health = std::fs::read_to_string(root.join("deploy/argocd/argocd-cm-patch.yaml")).unwrap();
    for provider in PROVIDERS {
        let info = provider.info();
        let name = info.name;
        let mut require = |holds: bool, file: &str, what: &str| {
            if !holds {
                missing.push(format!("providers/{name}/{file}: {what}"));
            }
        };
        require(names.insert(name), "src/lib.rs", "another provider has this name; INFO.name must be unique");
        let own = BUILTIN.configuration(cel::Limits::default()).builtin_candidate(name).is_some();
        require(own, "config.yaml", "must be an InferenceProviderConfig that can be read, with INFO.name as its name");
        require(
            !cells(*provider).is_empty(),
            "config.yaml",
            "must list at least one engine, and a mode that it runs in",
        );
        require(info.readme.starts_with("# "), "README.md", "must start with a heading");
        let describes = info.readme.contains("\n## Overrides\n");
        require(describes, "README.md", "must have a section `## Overrides`, which docs/providers quotes");
        require(
            !info.crd_versions.is_empty(),
            "src/lib.rs",
            "INFO.crd_versions must name the CRD versions that are written",
        );
        require(!info.kinds.is_empty(), "src/lib.rs", "INFO.kinds must name the kinds of its main objects");
        for own @ ObjectKind { group, kind, .. } in info.kinds {
            let served = info.crd_versions.iter().any(|version| version.split('/').next() == Some(group));
            require(
                served,
                "src/lib.rs",
                &format!("INFO.kinds has group {group} of {kind}, INFO.crd_versions has not"),
            );
            let foreign = serde_json::json!({"apiVersion": info.crd_versions.first(), "kind": kind});
            require(
                own.is_custom() || !provider.owns(&foreign),
                "src/lib.rs",
                &format!("owns() must refuse a {kind} that the provider has not made"),
            );
            let known = info.behaviors.iter().any(|row| row.kind == *kind);
            require(
                known,
                "src/behavior.rs",
                &format!("needs rows for {kind}: what upstream does when each field changes"),
            );
        }
        for row in info.behaviors {
            let (kind, path) = (row.kind, row.path);
            let is_source = row.source.len() >= 10 && !row.source.contains('?') && !row.source.contains("TODO");
            let what = format!("the row for {kind} {path} has no source: name the upstream file or the documentation");
            require(is_source, "src/behavior.rs", &what);
        }
        let mut fields = BTreeSet::new();
        let defaults = support::default_rows();
        for row in &(info.deviations)() {
            let field = row.field.as_str();
            let default = defaults.iter().find(|default| default.field == field);
            require(default.is_some(), "src/support.rs", &format!("{field} is not a field of support::default_rows()"));
            require(fields.insert(row.field.clone()), "src/support.rs", &format!("{field} has two rows, expected one"));
            require(
                !row.note.is_empty(),
                "src/support.rs",
                &format!("{field} has no note: say where it goes, or why not"),
            );
            require(
                default != Some(row),
                "src/support.rs",
                &format!("{field} is as in support::default_rows(): remove the row"),
            );
        }
        let hundreds: BTreeSet<&str> = info.codes.iter().map(|code| &code.id[..4]).collect();
        require(hundreds.len() <= 1, "codes.rs", "all codes must be in one range KFnn01 to KFnn99");
        let shared = PROVIDERS.iter().filter(|other| other.name() != name).flat_map(|other| other.info().codes);
        let is_own = !shared.into_iter().any(|code| hundreds.contains(&code.id[..4]));
        require(is_own, "codes.rs", "its range of codes belongs to another provider: take the next free one");
        if let Err(problem) = testing(name) {
            missing.push(problem.clone());
        }
        // Argo CD has health scripts of its own for the kinds of Kubernetes.
        for ObjectKind { group, kind, .. } in info.kinds.iter().filter(|kind| kind.is_custom()) {
            if !health.contains(&format!("  resource.customizations.health.{group}_{kind}: |")) {
                missing.push(format!(
                    "deploy/argocd/argocd-cm-patch.yaml: has no health script for {group}_{kind}; write one, and rows for \
                     it in tests/conformance/check_health.py and docs/argocd.md"
                ));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Every flag or key that we pass to an engine by name exists.
#[test]
fn every_flag_that_we_pass_exists() {
    let mut wrong = Vec::new();
    for (word, engine) in EngineType::VARIANTS {
        let profile = profile(*engine);
        // A provider may wrap the engine in a program with other flags.
        let wrappers = PROVIDERS.iter().map(|provider| format!("{}-{word}", provider.name()));
        let programs: Vec<String> = std::iter::once(profile.table.to_owned()).chain(wrappers).collect();
        let tables: Vec<_> = programs.iter().filter_map(|program| flags::tables_by_version(program).last()).collect();
        if flags::tables_by_version(profile.table).next().is_none() {
            wrong.push(format!(
                "crates/engines/src: the engine {word} names the flag table {:?}, and there is none. Write \
                 crates/engines/src/flags/data/{}.txt with `cargo xtask flags`, and add it to ENGINES in flags/tables.rs",
                profile.table, profile.table
            ));
            continue;
        }
        let mut names = vec![profile.model, profile.served_name, profile.context_length, profile.examples.number];
        if let Some(flags) = &profile.parallelism {
            names.extend([flags.tensor, flags.pipeline]);
            names.extend(flags.data.into_iter().chain(flags.data_inside_tensor));
            let sizes: Vec<&str> = [flags.tensor, flags.pipeline].into_iter().chain(flags.data).collect();
            if sizes.iter().collect::<BTreeSet<_>>().len() != sizes.len() {
                wrong.push(format!(
                    "crates/engines/src: the PROFILE of {word} gives two sizes of parallelism one flag: {sizes:?}"
                ));
            }
        }
        let mut keys = Vec::new();
        let switches =
            [profile.trust_remote_code, profile.prefix_caching_on, profile.prefix_caching_off, profile.enforce_eager];
        for setting in switches {
            match setting {
                BooleanSetting::Switch(name)
                | BooleanSetting::ReplacedSwitch(name, _)
                | BooleanSetting::OffForm(name, _) => names.push(name),
                BooleanSetting::ConfigKey(path, _) => keys.push(path.join(".").replace('_', "-")),
                BooleanSetting::Default | BooleanSetting::Ignored(_) => {}
            }
        }
        for name in names.into_iter().chain(keys.iter().map(String::as_str)) {
            if !tables.iter().any(|(_, table)| table.lookup(name).is_some()) {
                wrong.push(format!(
                    "crates/engines/src: the engine {word} gets --{name}, which no flag table has \
                     {programs:?}. Correct the name in its PROFILE"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A selection rule that compares with the name of any engine is not reported as never true (KF0415).
#[test]
fn rules_know_every_engine() {
    let environment = rule_environment::environment(cel::Limits::default());
    for (word, _) in EngineType::VARIANTS {
        let (_, warnings) = environment.compile(&format!("spec.engine.type == '{word}'")).unwrap();
        assert!(warnings.is_empty(), "{word}: {warnings:?}");
    }
    let (_, warnings) = environment.compile("spec.engine.type == 'no-engine'").unwrap();
    assert_eq!(warnings.len(), 1);
}

/// A provider renders every combination that its configuration lists, and refuses every other one with the message of
/// the specification.
#[test]
fn every_cell_of_the_matrix_is_rendered_or_refused() {
    let mut wrong = Vec::new();
    for provider in PROVIDERS {
        let (name, display, listed) = (provider.name(), provider.display_name(), cells(*provider));
        for (engine, _) in EngineType::VARIANTS {
            for (mode, _) in ServingMode::VARIANTS {
                let mut sources = SourceSet::default();
                sources.add("matrix.yaml", deployment(name, engine, mode));
                let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
                let is_rendered = !compilation.has_errors() && !compilation.outputs.is_empty();
                let is_refused = compilation.has_errors() && compilation.outputs.is_empty();
                let messages: Vec<&str> =
                    compilation.diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
                let refused = [
                    format!("{display} does not support {engine} engine"),
                    format!("{display} does not support {mode} mode"),
                ];
                let folder = format!("providers/{name}");
                if listed.contains(&(engine, mode)) {
                    if !is_rendered {
                        wrong.push(format!(
                            "{folder}/config.yaml lists {engine} in {mode} mode, and translate() in {folder}/src/lib.rs \
                             renders nothing for it: {messages:?}. Translate it, or take it out of config.yaml"
                        ));
                    }
                } else if !is_refused || !messages.iter().any(|message| refused.iter().any(|text| text == message)) {
                    wrong
                        .push(format!("{name} does not list {engine} in {mode} mode and must refuse it: {messages:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A configuration with the name of a built-in provider cannot enable what we do not render.
#[test]
fn a_permissive_configuration_renders_nothing_new() {
    let engines = EngineType::VARIANTS.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    for provider in PROVIDERS {
        for (engine, _) in EngineType::VARIANTS {
            for (mode, _) in ServingMode::VARIANTS {
                for gpus in [0, 2] {
                    let everything = format!(
                        "apiVersion: kubefoundry.ai/v1alpha1\nkind: InferenceProviderConfig\nmetadata: {{name: {}}}\nspec:\n  \
                         capabilities: {{engines: [{engines}], servingModes: [aggregated, disaggregated], \
                         cpuSupport: true, gpuSupport: true}}\n  selectionRules: [{{condition: \"true\", priority: 1000}}]\n---\n",
                        provider.name()
                    );
                    let text = deployment(provider.name(), engine, mode).replace("count: 2", &format!("count: {gpus}"));
                    let run = |text: String| {
                        let mut sources = SourceSet::default();
                        sources.add("matrix.yaml", text);
                        let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
                        let errors = compilation.has_errors();
                        (errors, if errors { Vec::new() } else { compilation.outputs })
                    };
                    let cell = format!("{} {engine} {mode} on {gpus} GPUs", provider.name());
                    assert_eq!(run(text.clone()), run(everything + &text), "{cell}");
                    assert_ne!(run(text), (false, Vec::new()), "{cell}: nothing, and no error");
                }
            }
        }
    }
}

fn deployment(provider: &str, engine: &str, mode: &str) -> String {
    let workload = if mode == "aggregated" {
        "  resources: {gpu: {count: 2}, memory: 32Gi}\n".to_owned()
    } else {
        let role = "{gpu: {count: 2}, memory: 32Gi}";
        format!("  scaling: {{prefill: {role}, decode: {role}}}\n")
    };
    let examples = &profile(engine_of(engine)).examples;
    let image = examples.image.map(|image| format!("  image: {image}\n")).unwrap_or_default();
    let id = examples.model;
    format!(
        "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {{name: m}}\nspec:\n  \
         model: {{id: {id}}}\n  provider: {{name: {provider}}}\n  engine: {{type: {engine}}}\n  \
         serving: {{mode: {mode}}}\n{image}{workload}"
    )
}

/// Automatic selection follows the specification (MD-3.1 to MD-3.6), with its reason strings verbatim.
#[test]
fn selection_follows_the_specification() {
    let rows = [
        ("llamacpp", "aggregated", 0, "kaito", "no GPU requested → kaito (only CPU provider)"),
        ("trtllm", "aggregated", 1, "dynamo", "engine=trtllm → dynamo (only trtllm provider)"),
        ("sglang", "aggregated", 1, "dynamo", "engine=sglang → dynamo (only sglang provider)"),
        ("sglang", "disaggregated", 1, "dynamo", "engine=sglang → dynamo (only sglang provider)"),
        ("llamacpp", "aggregated", 1, "kaito", "engine=llamacpp → kaito (only llamacpp provider)"),
        ("vllm", "disaggregated", 1, "dynamo", "mode=disaggregated → dynamo (best disaggregated support)"),
        ("vllm", "aggregated", 1, "dynamo", "default → dynamo (GPU inference default)"),
    ];
    for (engine, mode, gpus, provider, reason) in rows {
        let text = deployment("", engine, mode)
            .replace("  provider: {name: }\n", "")
            .replace("gpu: {count: 2}", &format!("gpu: {{count: {gpus}}}"))
            .replace("llama.cpp:server-cuda", "llama-cpp-runner:latest");
        let mut sources = SourceSet::default();
        sources.add("row.yaml", text);
        let compilation = compile(&BUILTIN, &sources, Thoroughness::Everything);
        let selection = compilation.decisions[0].selection.as_ref().unwrap();
        let found = (selection.provider.as_deref(), selection.reason.as_deref());
        assert_eq!(found, (Some(provider), Some(reason)), "{engine} {mode} {gpus}");
    }
}

/// KubeRay is never selected, and llama.cpp in disaggregated mode has no provider (docs/design/0006).
#[test]
fn a_deployment_without_provider_is_reported() {
    let text = deployment("", "llamacpp", "disaggregated").replace("  provider: {name: }\n", "");
    let mut sources = SourceSet::default();
    sources.add("none.yaml", text);
    let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
    let message = &compilation.diagnostics[0].message;
    assert!(
        message.starts_with("No compatible provider for engine=llamacpp, mode=disaggregated, gpu=true"),
        "{message}"
    );
    for provider in PROVIDERS {
        assert!(message.contains(provider.name()), "{message} names every candidate");
    }
}

/// Each supported combination of provider, engine and mode has a golden.
#[test]
fn every_supported_cell_has_a_golden() {
    let mut shown: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    for folder in case_folders() {
        let compilation = compile_case(&folder);
        if compilation.has_errors() {
            continue;
        }
        for decision in &compilation.decisions {
            let value = |path: &str| {
                let field = decision.fields.iter().find(|field| field.path == path);
                field.map(|field| field.value.trim_matches('"').to_owned()).unwrap_or_default()
            };
            let provider = decision.provider().map(str::to_owned).unwrap_or_default();
            *shown.entry((provider, value("spec.engine.type"), value("spec.serving.mode"))).or_default() += 1;
        }
    }
    let mut missing = Vec::new();
    for provider in PROVIDERS {
        let name = provider.name();
        for (engine, mode) in cells(*provider) {
            if !shown.contains_key(&(name.to_owned(), engine.to_owned(), mode.to_owned())) {
                missing.push(format!(
                    "no golden shows {engine} in {mode} mode on {name}: add a folder testdata/golden/{name}/<case> with an \
                     input.yaml, and run INSTA_UPDATE=always cargo test --test it golden::"
                ));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// A user's `InferenceProviderConfig` may claim capabilities for a built-in provider that it does not have.
#[test]
fn capabilities_that_a_builtin_provider_lacks_are_not_rendered() {
    for (provider, engine, rest) in [
        ("kaito", "sglang", "resources: {gpu: {count: 1}}"),
        ("kaito", "trtllm", "image: registry.example.com/trtllm:1, resources: {gpu: {count: 1}}"),
        ("kaito", "vllm", "scaling: {prefill: {gpu: {count: 1}}, decode: {gpu: {count: 1}}}"),
        ("dynamo", "llamacpp", "image: ghcr.io/ggml-org/llama.cpp:server, resources: {gpu: {count: 1}}"),
        ("kuberay", "sglang", "resources: {gpu: {count: 1}}"),
        ("kuberay", "trtllm", "resources: {gpu: {count: 1}}"),
        ("kuberay", "llamacpp", "image: ghcr.io/ggml-org/llama.cpp:server, resources: {cpu: \"1\"}"),
    ] {
        let engines = <EngineType as StringEnum>::VARIANTS.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        let text = format!(
            "apiVersion: kubefoundry.ai/v1alpha1\nkind: InferenceProviderConfig\nmetadata: {{name: {provider}}}\nspec:\n  \
             capabilities:\n    engines: [{engines}]\n    \
             servingModes: [aggregated, disaggregated]\n    cpuSupport: true\n    gpuSupport: true\n---\n\
             apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {{name: m}}\n\
             spec: {{model: {{id: org/model}}, engine: {{type: {engine}}}, provider: {{name: {provider}}}, {rest}}}\n"
        );
        let mut sources = kubefoundry::SourceSet::default();
        sources.add_for(kubefoundry::Purpose::Input, "input.yaml", text.as_str());
        let compilation = kubefoundry::compile(&sources, kubefoundry::Thoroughness::Needed);
        let mut kinds = PROVIDERS.iter().flat_map(|provider| provider.info().kinds).map(|kind| kind.kind);
        let outputs = kubefoundry_yaml::to_yaml_stream(compilation.outputs.iter().map(|output| &output.object));
        assert!(!kinds.any(|kind| outputs.contains(&format!("kind: {kind}\n"))), "{text}{outputs}");
    }
}
