use super::file::FlagFile;
use super::tables::{ENGINES, PROGRAMS, WRAPPERS};
use super::*;

/// Returns every committed file.
fn files() -> impl Iterator<Item = &'static FlagFile> {
    PROGRAMS.iter().chain(WRAPPERS).chain(ENGINES).copied()
}

fn known_versions(file: &FlagFile) -> Vec<&'static str> {
    let line = file.text.lines().find_map(|line| line.strip_prefix("#versions ")).expect("a version line");
    line.split(' ').map(|word| word.split_once('=').expect("letter=version").1).collect()
}

fn every_table() -> Vec<(String, FlagTable)> {
    let mut tables = Vec::new();
    for file in files() {
        for version in known_versions(file) {
            tables.push((
                format!("{} {version}", file.program),
                FlagTable::new(file, version).expect("a listed version"),
            ));
        }
    }
    tables
}

/// Returns a flag, and panics if the table lacks it.
fn flag(table: &FlagTable, name: &str) -> Flag {
    table.lookup(name).unwrap_or_else(|| panic!("no flag {name}")).0
}

#[test]
fn keeps_entries_sorted_and_names_unique_in_each_version() {
    for file in files() {
        let (name, text) = (file.program, file.text);
        let names: Vec<&str> =
            text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(' ').next().unwrap()).collect();
        assert!(names.is_sorted(), "{name}");
        assert!(names.iter().all(|entry| !entry.contains('_') && !entry.starts_with('-')), "{name}");
    }
    for (table_name, table) in every_table() {
        let mut names: Vec<&str> = table.names().collect();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all, "{table_name}");
    }
}

#[test]
fn resolves_every_name_alias_and_off_form() {
    for (table_name, table) in every_table() {
        for name in table.names() {
            let (flag, spelling) = table.lookup(name).unwrap_or_else(|| panic!("{table_name}: {name}"));
            assert_eq!((flag.name, spelling), (name, Spelling::Name), "{table_name}");
            assert_eq!(table.lookup(&flag.key()).map(|(found, _)| found.name), Some(name), "{table_name}");
            assert_eq!(flag.kind == FlagKind::Pair, flag.off.is_some(), "{table_name}: {name}");
            if let Some(off) = flag.off {
                assert_eq!(
                    table.lookup(off).map(|(found, how)| (found.name, how)),
                    Some((name, Spelling::Off)),
                    "{table_name}"
                );
            }
            for alias in table.aliases(name) {
                assert_eq!(table.lookup(alias).map(|(found, how)| (found.name, how)), Some((name, Spelling::Alias)));
            }
            for choice in flag.choices() {
                assert_eq!(flag.check_value(choice), Ok(()), "{table_name}: {name}={choice}");
            }
        }
    }
}

#[test]
fn finds_every_entry_by_binary_search() {
    for file in files() {
        let (name, text) = (file.program, file.text);
        let tables: Vec<FlagTable> =
            known_versions(file).iter().map(|version| FlagTable::new(file, version).unwrap()).collect();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let entry = line.split(' ').next().unwrap();
            assert!(tables.iter().any(|table| table.lookup(entry).is_some()), "{name}: {line}");
        }
    }
}

#[test]
fn assigns_flags_to_the_program_that_registers_them() {
    let groups = |table: FlagTable| table.names().map(move |name| flag(&table, name).group);
    for file in WRAPPERS {
        for version in known_versions(file) {
            assert!(
                groups(wrapper(file.program, version).unwrap()).all(|group| group == FlagGroup::Wrapper),
                "{} {version}",
                file.program
            );
        }
    }
    for file in ENGINES {
        assert!(groups(FlagTable::newest(file)).all(|group| group != FlagGroup::Wrapper));
    }
}

/// A damaged interval would accept every number.
#[test]
fn every_interval_is_read() {
    for (program, table) in every_table() {
        for name in table.names() {
            let flag = flag(&table, name);
            assert!(
                !(flag.is_in_range(f64::MAX) && flag.is_in_range(f64::MIN)) || flag.range.is_empty(),
                "{program} {name}"
            );
        }
    }
}

#[test]
fn counts_are_those_of_the_packages() {
    let counts: Vec<(String, usize)> =
        every_table().into_iter().map(|(name, table)| (name, table.names().count())).collect();
    let counts: Vec<(&str, usize)> = counts.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(
        counts,
        [
            ("dynamo-frontend stored-main-021d616", 80),
            ("dynamo-sglang 1.0.0", 26),
            ("dynamo-sglang 1.0.1", 26),
            ("dynamo-sglang 1.0.2", 26),
            ("dynamo-sglang 1.1.0", 28),
            ("dynamo-sglang 1.1.1", 28),
            ("dynamo-sglang 1.2.0.post1", 29),
            ("dynamo-sglang 1.2.1", 29),
            ("dynamo-sglang 1.3.0.post1", 38),
            ("dynamo-sglang 1.3.1", 38),
            ("dynamo-sglang 1.4.0", 38),
            ("dynamo-sglang 1.4.1", 38),
            ("dynamo-sglang 1.4.2", 38),
            ("dynamo-sglang 1.5.0", 91),
            ("dynamo-sglang 1.5.1", 91),
            ("dynamo-sglang 1.6.0", 97),
            ("dynamo-sglang 1.6.1", 97),
            ("dynamo-trtllm 1.0.0", 68),
            ("dynamo-trtllm 1.0.1", 68),
            ("dynamo-trtllm 1.0.2", 68),
            ("dynamo-trtllm 1.1.0", 70),
            ("dynamo-trtllm 1.1.1", 70),
            ("dynamo-trtllm 1.2.0.post1", 71),
            ("dynamo-trtllm 1.2.1", 71),
            ("dynamo-trtllm 1.3.0.post1", 72),
            ("dynamo-trtllm 1.3.1", 72),
            ("dynamo-trtllm 1.4.0", 75),
            ("dynamo-trtllm 1.4.1", 75),
            ("dynamo-trtllm 1.4.2", 75),
            ("dynamo-trtllm 1.5.0", 128),
            ("dynamo-trtllm 1.5.1", 128),
            ("dynamo-trtllm 1.6.0", 133),
            ("dynamo-trtllm 1.6.1", 133),
            ("dynamo-vllm 1.0.0", 49),
            ("dynamo-vllm 1.0.1", 49),
            ("dynamo-vllm 1.0.2", 49),
            ("dynamo-vllm 1.1.0", 40),
            ("dynamo-vllm 1.1.1", 40),
            ("dynamo-vllm 1.2.0.post1", 40),
            ("dynamo-vllm 1.2.1", 40),
            ("dynamo-vllm 1.3.0.post1", 48),
            ("dynamo-vllm 1.3.1", 48),
            ("dynamo-vllm 1.4.0", 54),
            ("dynamo-vllm 1.4.1", 55),
            ("dynamo-vllm 1.4.2", 55),
            ("dynamo-vllm 1.5.0", 111),
            ("dynamo-vllm 1.5.1", 111),
            ("dynamo-vllm 1.6.0", 117),
            ("dynamo-vllm 1.6.1", 117),
            ("llama-server stored-readme-00dc8057", 136),
            ("sglang 0.5.9", 331),
            ("sglang 0.5.10.post1", 354),
            ("sglang 0.5.11", 374),
            ("sglang 0.5.12.post1", 387),
            ("sglang 0.5.14", 420),
            ("sglang 0.5.16", 460),
            ("sglang 0.5.18", 488),
            ("sglang 0.5.21", 512),
            ("sglang 0.5.23", 531),
            ("trtllm stored-main-0004396", 43),
            ("vllm 0.10.2", 176),
            ("vllm 0.11.0", 183),
            ("vllm 0.12.0", 194),
            ("vllm 0.14.1", 204),
            ("vllm 0.15.0", 207),
            ("vllm 0.16.0", 212),
            ("vllm 0.17.1", 222),
            ("vllm 0.18.0", 225),
            ("vllm 0.19.0", 230),
            ("vllm 0.19.1", 230),
            ("vllm 0.20.1", 239),
            ("vllm 0.20.2", 239),
            ("vllm 0.22.0", 261),
            ("vllm 0.22.1", 261),
            ("vllm 0.23.0", 261),
            ("vllm 0.25.1", 270),
            ("vllm 0.26.0", 274),
            ("vllm 0.27.0", 282),
            ("vllm 0.28.0", 284),
            ("vllm 0.29.0", 292),
            ("vllm 0.31.0", 311),
            ("vllm 0.33.0", 320),
        ]
    );
    let vllm = vllm("0.33.0").unwrap();
    let frontend = vllm.names().filter(|name| flag(&vllm, name).group == FlagGroup::Frontend).count();
    assert_eq!(frontend, 66);
}

#[test]
fn has_known_vllm_facts_in_every_version() {
    for version in known_versions(ENGINES.iter().find(|file| file.program == "vllm").unwrap()) {
        let vllm = vllm(version).unwrap();
        for (name, kind) in [
            ("max-model-len", FlagKind::Value),
            ("trust-remote-code", FlagKind::Pair),
            ("enable-prefix-caching", FlagKind::Pair),
            ("enforce-eager", FlagKind::Pair),
            ("enable-lora", FlagKind::Pair),
            ("enable-chunked-prefill", FlagKind::Pair),
            ("disable-log-stats", FlagKind::Switch),
            ("headless", FlagKind::Switch),
            ("hf-token", FlagKind::OptionalValue),
        ] {
            assert_eq!(flag(&vllm, name).kind, kind, "{version} {name}");
        }
        for (name, value_type) in [
            ("max-model-len", ValueType::HumanInteger),
            ("max-num-batched-tokens", ValueType::HumanInteger),
            ("gpu-memory-utilization", ValueType::Float),
            ("tensor-parallel-size", ValueType::Integer),
            ("kv-transfer-config", ValueType::JsonObject),
            ("kv-events-config", ValueType::JsonObject),
            ("hf-overrides", ValueType::JsonOrText),
            ("limit-mm-per-prompt", ValueType::Json),
            ("quantization", ValueType::Text),
        ] {
            assert_eq!(flag(&vllm, name).value_type, value_type, "{version} {name}");
        }
        for name in
            ["tool-call-parser", "enable-auto-tool-choice", "host", "port", "chat-template", "lora-modules", "api-key"]
        {
            assert_eq!(flag(&vllm, name).group, FlagGroup::Frontend, "{version} {name}");
        }
        for name in ["reasoning-parser", "max-model-len", "served-model-name", "enable-lora"] {
            assert_eq!(flag(&vllm, name).group, FlagGroup::Engine, "{version} {name}");
        }
        assert_eq!(flag(&vllm, "served-model-name").repeat, Repetition::List);
        assert_eq!(flag(&vllm, "middleware").repeat, Repetition::Append);
        for (short, name) in [
            ("tp", "tensor-parallel-size"),
            ("pp", "pipeline-parallel-size"),
            ("dp", "data-parallel-size"),
            ("q", "quantization"),
        ] {
            assert_eq!(flag(&vllm, short).name, name);
        }
        assert!(flag(&vllm, "quantization").choices().next().is_none(), "an open set");
        assert!(flag(&vllm, "quantization").known_values().any(|value| value == "fp8"), "{version}");
        assert!(flag(&vllm, "tool-call-parser").known_values().any(|value| value == "hermes"), "{version}");
        assert!(flag(&vllm, "reasoning-parser").known_values().any(|value| value == "deepseek_r1"), "{version}");
        assert!(flag(&vllm, "load-format").known_values().any(|value| value == "safetensors"), "{version}");
    }
}

#[test]
fn differs_between_versions_like_the_packages() {
    let has = |version: &str, name: &str| vllm(version).unwrap().lookup(name).map(|(flag, how)| (flag.name, how));
    assert_eq!(has("0.26.0", "disable-prefix-caching"), None);
    assert_eq!(has("0.33.0", "disable-prefix-caching"), Some(("enable-prefix-caching", Spelling::Off)));
    assert_eq!(has("0.33.0", "disable-log-requests"), Some(("enable-log-requests", Spelling::Off)));
    assert_eq!(has("0.26.0", "calculate-kv-scales"), Some(("calculate-kv-scales", Spelling::Name)));
    assert_eq!(has("0.33.0", "calculate-kv-scales"), None);
    assert_eq!(has("0.33.0", "device-memory-utilization"), Some(("gpu-memory-utilization", Spelling::Alias)));
    assert!(flag(&vllm("0.33.0").unwrap(), "mamba-cache-mode").deprecated);
    assert!(!flag(&vllm("0.26.0").unwrap(), "mamba-cache-mode").deprecated);

    let wrapper = |version| wrapper("dynamo-vllm", version).unwrap();
    let prefill = flag(&wrapper("1.1.1"), "is-prefill-worker");
    assert_eq!((prefill.deprecated, prefill.replaced_by), (true, Some("--disaggregation-mode=prefill")));
    assert!(wrapper("1.4.0").lookup("is-prefill-worker").is_none());
    assert_eq!(wrapper("1.4.0").replacement("is_prefill_worker"), Some("--disaggregation-mode=prefill"));

    // vLLM registers these in a loop over names, which an extractor that reads single calls would miss.
    let sampling = flag(&wrapper("1.6.1"), "benchmark-decode-batch-granularity");
    assert_eq!((sampling.value_type, sampling.deprecated), (ValueType::Integer, true));
    assert_eq!(flag(&super::wrapper("dynamo-sglang", "1.6.1").unwrap(), "engine-route").repeat, Repetition::Append);

    let sglang = |version| sglang(version).unwrap();
    assert_eq!(flag(&sglang("0.5.16"), "enable-fused-qk-norm-rope").kind, FlagKind::Switch);
    assert_eq!(flag(&sglang("0.5.23"), "enable-fused-qk-norm-rope").kind, FlagKind::Pair);
    assert!(!flag(&sglang("0.5.12.post1"), "disable-cuda-graph").deprecated);
    assert!(flag(&sglang("0.5.23"), "disable-cuda-graph").deprecated);
    assert!(!flag(&sglang("0.5.23"), "smg-grpc-mode").deprecated);
}

#[test]
fn has_known_sglang_facts_in_every_version() {
    for version in known_versions(ENGINES.iter().find(|file| file.program == "sglang").unwrap()) {
        let sglang = sglang(version).unwrap();
        assert_eq!(
            sglang.lookup("tensor-parallel-size").map(|(flag, how)| (flag.name, how)),
            Some(("tp-size", Spelling::Alias)),
            "{version}"
        );
        assert_eq!(flag(&sglang, "model").name, "model-path");
        assert!(sglang.lookup("enable-prefix-caching").is_none());
        assert!(sglang.lookup("no-trust-remote-code").is_none(), "a switch has no off form");
        for (name, kind) in [
            ("trust-remote-code", FlagKind::Switch),
            ("disable-radix-cache", FlagKind::Switch),
            ("enable-metrics", FlagKind::Switch),
            ("model-checksum", FlagKind::OptionalValue),
        ] {
            assert_eq!(flag(&sglang, name).kind, kind, "{version} {name}");
        }
        // 0.5.9 takes plain integers only.
        let context_length = if version == "0.5.9" { ValueType::Integer } else { ValueType::SiInteger };
        assert_eq!(flag(&sglang, "context-length").value_type, context_length);
        for (name, value_type) in [
            ("json-model-override-args", ValueType::JsonObject),
            ("kv-events-config", ValueType::JsonObject),
            ("model-loader-extra-config", ValueType::JsonObject),
            ("hicache-storage-backend-extra-config", ValueType::JsonOrText),
            ("deepep-config", ValueType::JsonOrText),
        ] {
            assert_eq!(flag(&sglang, name).value_type, value_type, "{version} {name}");
        }
        assert_eq!(flag(&sglang, "lora-paths").repeat, Repetition::List);
        assert!(flag(&sglang, "quantization").known_values().any(|value| value == "fp8"));
        assert!(flag(&sglang, "quantization").choices().next().is_none(), "plugins add methods");
    }
}

#[test]
fn marks_transcribed_tables_as_uncertain() {
    assert!(llama_server().names().all(|name| flag(&llama_server(), name).uncertain));
    assert!(trtllm_keys().names().all(|name| flag(&trtllm_keys(), name).uncertain));
    assert!(!flag(&vllm("0.19.0").unwrap(), "dtype").uncertain);
    assert_eq!(llama_server().lookup("no-cache-prompt").map(|(_, how)| how), Some(Spelling::Off));
    assert_eq!(flag(&llama_server(), "c").name, "ctx-size");
    assert!(trtllm_keys().lookup("quantization").is_none());
    for (name, canonical, how) in [
        ("temperature", "temp", Spelling::Alias),
        ("no-mmproj", "mmproj-auto", Spelling::Off),
        ("no-ui", "webui", Spelling::Off),
        ("no-mmap", "mmap", Spelling::Off),
    ] {
        assert_eq!(llama_server().lookup(name).map(|(flag, how)| (flag.name, how)), Some((canonical, how)), "{name}");
    }
    assert_eq!(flag(&llama_server(), "verbose").kind, FlagKind::Switch);
}

#[test]
fn checks_values() {
    let vllm = vllm("0.26.0").unwrap();
    let sglang = sglang("0.5.16").unwrap();
    let long =
        "expected an integer, which may end in k, m, g, t (decimal) or K, M, G, T (binary), of at least -1, or auto";
    for (table, name, value, expected) in [
        (&vllm, "max-model-len", "32768", None),
        (&vllm, "max-model-len", "-1", None),
        (&vllm, "max-model-len", "auto", None),
        (&vllm, "max-model-len", "25.6k", None),
        (&vllm, "max-model-len", "1.5K", Some(long)),
        (&vllm, "max-model-len", "-1k", Some(long)),
        (&vllm, "max-model-len", "k", Some(long)),
        (&vllm, "max-model-len", "", Some(long)),
        (&vllm, "tensor-parallel-size", "2.5", Some("expected an integer of at least 1")),
        (&vllm, "tensor-parallel-size", "0", Some("expected an integer of at least 1")),
        (&vllm, "gpu-memory-utilization", ".9", None),
        (&vllm, "gpu-memory-utilization", "1", None),
        (&vllm, "gpu-memory-utilization", "0", Some("expected a number above 0 and at most 1")),
        (&vllm, "gpu-memory-utilization", "90", Some("expected a number above 0 and at most 1")),
        (&vllm, "gpu-memory-utilization", "NaN", Some("expected a number above 0 and at most 1")),
        (&vllm, "gpu-memory-utilization", "90%", Some("expected a number above 0 and at most 1")),
        (&vllm, "kv-transfer-config", r#"{"kv_role":"kv_both"}"#, None),
        (&vllm, "kv-transfer-config", "{kv_role: kv_both}", Some("expected a JSON object")),
        (&vllm, "kv-transfer-config", "[]", Some("expected a JSON object")),
        (&vllm, "hf-overrides", "some.module", None),
        (&vllm, "hf-overrides", "{bad}", Some("expected a JSON object or a text without braces around it")),
        (&vllm, "quantization", "of-tomorrow", None),
        (&vllm, "max-lora-rank", "64", None),
        (&vllm, "max-lora-rank", "7", Some("expected one of 1, 8, 16, 32, 64, 128, 256, 320, 512")),
        (&vllm, "enforce-eager", "", None),
        (&vllm, "enforce-eager", "false", None),
        (&vllm, "enforce-eager", "yes", Some("expected true or false")),
        (&vllm, "cudagraph-capture-sizes", "1 2 4", None),
        (&vllm, "cudagraph-capture-sizes", "1,2", Some("expected integers")),
        (&vllm, "hf-token", "", None),
        (&sglang, "context-length", "32Ki", None),
        (
            &sglang,
            "context-length",
            "32K",
            Some("expected an integer, which may end in k, M, G, T (decimal) or Ki, Mi, Gi, Ti (binary)"),
        ),
    ] {
        let problem = flag(table, name).check_value(value).err().map(|problem| problem.to_string());
        assert_eq!(problem.as_deref(), expected, "{name}={value}");
    }
}

#[test]
fn accepts_any_text_as_a_name() {
    for (_, table) in every_table() {
        for name in ["", "-", "_", "no-", "no_", "é", "zzzz", "--model", "\n", " ", "#versions"] {
            assert!(table.lookup(name).is_none(), "{name:?}");
            assert!(table.replacement(name).is_none());
        }
    }
}

#[test]
fn suggests_nothing_for_very_long_names() {
    let table = super::vllm("0.26.0").unwrap();
    assert_eq!(table.suggest(&"a".repeat(1_000_000)), None);
}
