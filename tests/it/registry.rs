//! The registries as a whole: what must hold for every provider and every diagnostic code, whoever adds one.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{case_folders, compile_all, read_case};
use kubefoundry::model::providers::PROVIDERS;
use kubefoundry::model::support;
use kubefoundry::registry;
use kubefoundry::wire::{EngineType, ServingMode, Word as _};
use kubefoundry::{SourceSet, Thoroughness, compile};

/// A code means one thing: no id and no name is used twice, and ids have the form KFnnnn.
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

/// Every code can be triggered, and somebody has looked at how it reads: a case folder shows it.
#[test]
fn every_code_has_a_golden() {
    let mut shown = BTreeSet::new();
    for folder in case_folders() {
        shown.extend(compile_all(&read_case(&folder)).diagnostics.iter().map(|diagnostic| diagnostic.code.id));
    }
    shown.extend(crate::common::found_by_commands().iter().map(|diagnostic| diagnostic.code.id));
    let missing: Vec<_> =
        registry::codes().filter(|code| !shown.contains(code.id)).map(|code| (code.id, code.name)).collect();
    assert!(missing.is_empty(), "no case shows {missing:?}");
}

/// A provider is complete: name, documentation, targets, and a row for every field of the specification.
#[test]
fn providers_are_complete() {
    let mut names = BTreeSet::new();
    for provider in PROVIDERS {
        let name = provider.name();
        assert!(names.insert(name), "{name} is registered twice");
        assert!(provider.readme().starts_with("# "), "{name} has a README");
        assert!(!provider.targets().is_empty(), "{name} has targets");
        assert!(!provider.behaviors().is_empty(), "{name} says what upstream does on change");
        let rows: BTreeSet<&str> = provider.field_support().iter().map(|row| row.field).collect();
        for field in support::FIELDS {
            assert!(rows.contains(field), "{name} says nothing of {field}");
        }
        assert_eq!(rows.len(), provider.field_support().len(), "{name} has one row a field");
        for row in provider.field_support() {
            assert!(support::FIELDS.contains(&row.field), "{name} has a row for {}, which is no field", row.field);
            assert!(!row.note.is_empty(), "{name} says where {} goes, or why it does not", row.field);
        }
    }
}

/// What a provider claims to run, it runs; what it does not claim, it refuses with the specification's words.
#[test]
fn every_cell_of_the_matrix_is_rendered_or_refused() {
    for provider in PROVIDERS {
        for (engine, _) in EngineType::WORDS {
            for (mode, _) in ServingMode::WORDS {
                let text = deployment(provider.name(), engine, mode);
                let mut sources = SourceSet::default();
                sources.add("matrix.yaml", text);
                let compilation = compile(&sources, Thoroughness::Needed);
                let messages: Vec<&str> =
                    compilation.diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
                let cell = format!("{} {engine} {mode}: {messages:?}", provider.name());
                let display = provider.display_name();
                if supported(provider.name(), engine, mode) {
                    assert!(!compilation.has_errors() && !compilation.outputs.is_empty(), "{cell}");
                } else {
                    assert!(compilation.has_errors() && compilation.outputs.is_empty(), "{cell}");
                    let refused = [
                        format!("{display} does not support {engine} engine"),
                        format!("{display} does not support {mode} mode"),
                    ];
                    assert!(messages.iter().any(|message| refused.iter().any(|text| text == message)), "{cell}");
                }
            }
        }
    }
}

/// A configuration of a built-in provider's name may claim everything: what we do not render is refused all the same.
#[test]
fn a_permissive_configuration_renders_nothing_new() {
    for provider in PROVIDERS {
        for (engine, _) in EngineType::WORDS {
            for (mode, _) in ServingMode::WORDS {
                for gpus in [0, 2] {
                    let everything = format!(
                        "apiVersion: kubefoundry.ai/v1alpha1\nkind: InferenceProviderConfig\nmetadata: {{name: {}}}\nspec:\n  \
                         capabilities: {{engines: [vllm, sglang, trtllm, llamacpp], servingModes: [aggregated, disaggregated], \
                         cpuSupport: true, gpuSupport: true}}\n  selectionRules: [{{condition: \"true\", priority: 1000}}]\n---\n",
                        provider.name()
                    );
                    let text = deployment(provider.name(), engine, mode).replace("count: 2", &format!("count: {gpus}"));
                    let run = |text: String| {
                        let mut sources = SourceSet::default();
                        sources.add("matrix.yaml", text);
                        let compilation = compile(&sources, Thoroughness::Needed);
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

/// The capability matrix (docs/specification.md MD-3.8) as docs/design/0006 reads it.
fn supported(provider: &str, engine: &str, mode: &str) -> bool {
    matches!(
        (provider, engine, mode),
        ("kaito", "vllm" | "llamacpp", "aggregated")
            | ("dynamo", "vllm" | "sglang" | "trtllm", _)
            | ("kuberay", "vllm", _)
    )
}

fn deployment(provider: &str, engine: &str, mode: &str) -> String {
    let workload = if mode == "aggregated" {
        "  resources: {gpu: {count: 2}, memory: 32Gi}\n".to_owned()
    } else {
        let role = "{gpu: {count: 2}, memory: 32Gi}";
        format!("  scaling: {{prefill: {role}, decode: {role}}}\n")
    };
    let image = if engine == "llamacpp" { "  image: ghcr.io/ggml-org/llama.cpp:server-cuda\n" } else { "" };
    let id = if engine == "llamacpp" { "org/model/model.gguf" } else { "org/model" };
    let overrides =
        if engine == "llamacpp" && provider == "kaito" { ", overrides: {runner: llama-server}" } else { "" };
    format!(
        "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {{name: m}}\nspec:\n  \
         model: {{id: {id}}}\n  provider: {{name: {provider}{overrides}}}\n  engine: {{type: {engine}}}\n  \
         serving: {{mode: {mode}}}\n{image}{workload}"
    )
}

/// Auto-selection follows the specification (MD-3.1 to MD-3.6) row by row, with its reasons word for word.
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
        let compilation = compile(&sources, Thoroughness::Everything);
        let selection = compilation.decisions[0].selection.as_ref().unwrap();
        let found = (selection.provider.as_deref(), selection.reason.as_deref());
        assert_eq!(found, (Some(provider), Some(reason)), "{engine} {mode} {gpus}");
    }
}

/// KubeRay is never selected, and llama.cpp in disaggregated mode has no provider (docs/design/0006).
#[test]
fn what_has_no_provider_says_so() {
    let text = deployment("", "llamacpp", "disaggregated").replace("  provider: {name: }\n", "");
    let mut sources = SourceSet::default();
    sources.add("none.yaml", text);
    let compilation = compile(&sources, Thoroughness::Needed);
    let message = &compilation.diagnostics[0].message;
    assert!(
        message.starts_with("No compatible provider for engine=llamacpp, mode=disaggregated, gpu=true"),
        "{message}"
    );
    for provider in PROVIDERS {
        assert!(message.contains(provider.name()), "{message} names every candidate");
    }
}

/// A case that claims a provider's matrix cell exists for each cell the provider supports.
#[test]
fn every_supported_cell_has_a_golden() {
    let mut shown: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    for folder in case_folders() {
        let compilation = compile_all(&read_case(&folder));
        if compilation.has_errors() {
            continue;
        }
        for decision in compilation.decisions {
            let value = |path: &str| {
                let field = decision.fields.iter().find(|field| field.path == path);
                field.map(|field| field.value.trim_matches('"').to_owned()).unwrap_or_default()
            };
            let provider = decision.provider().map(str::to_owned).unwrap_or_default();
            *shown.entry((provider, value("spec.engine.type"), value("spec.serving.mode"))).or_default() += 1;
        }
    }
    for provider in PROVIDERS {
        for (engine, _) in EngineType::WORDS {
            for (mode, _) in ServingMode::WORDS {
                let cell = (provider.name().to_owned(), (*engine).to_owned(), (*mode).to_owned());
                if supported(provider.name(), engine, mode) {
                    assert!(shown.contains_key(&cell), "no golden for {cell:?}");
                }
            }
        }
    }
}
