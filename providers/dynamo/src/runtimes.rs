//! The engine versions in Dynamo's releases, and the launchers of its workers.

use super::backend::{Backend, DynamoEngine};
use super::reserved_flags::{REFUSED_VLLM_FLAGS, RESERVED_FLAGS};
use kubefoundry_deployment::ir::EngineType;
use kubefoundry_engines as engines;
use kubefoundry_engines::flags;
use kubefoundry_engines::flags::FlagTable;
use kubefoundry_engines::{Charset, ConfigKeys, Launcher, Parser, SeparateValues, ServerFlagRefusal};
use kubefoundry_provider::releases::EnginePin::Exactly;
use kubefoundry_provider::releases::{EnginePin, Release, find_release};

/// The releases, oldest first, with the engines that their wheels require. The versions of TensorRT-LLM share one table
/// of keys.
pub static RELEASES: &[Release] = &[
    Release::new("1.0.0", V1_0),
    Release::new("1.0.1", V1_0),
    Release::new("1.0.2", V1_0),
    Release::new("1.1.0", V1_1),
    Release::new("1.1.1", V1_1),
    Release { version: "1.2.0", package: "1.2.0.post1", engines: V1_2 },
    Release::new("1.2.1", V1_2),
    Release { version: "1.3.0", package: "1.3.0.post1", engines: V1_3 },
    Release::new("1.3.1", V1_3),
    Release::new("1.4.0", V1_4),
    Release::new("1.4.1", V1_4),
    Release::new("1.4.2", V1_4),
    Release::new("1.5.0", V1_5),
    Release::new("1.5.1", V1_5),
    Release::new("1.6.0", V1_6),
    Release::new("1.6.1", V1_6),
];

type Engines = &'static [(&'static str, EnginePin)];

const V1_0: Engines =
    &[("vllm", Exactly("0.16.0")), ("sglang", Exactly("0.5.9")), ("tensorrt-llm", Exactly("1.3.0rc5.post1"))];
const V1_1: Engines =
    &[("vllm", Exactly("0.19.0")), ("sglang", Exactly("0.5.10.post1")), ("tensorrt-llm", Exactly("1.3.0rc11"))];
const V1_2: Engines =
    &[("vllm", Exactly("0.20.1")), ("sglang", Exactly("0.5.11")), ("tensorrt-llm", Exactly("1.3.0rc14"))];
const V1_3: Engines =
    &[("vllm", Exactly("0.23.0")), ("sglang", Exactly("0.5.14")), ("tensorrt-llm", Exactly("1.3.0rc19"))];
const V1_4: Engines =
    &[("vllm", Exactly("0.26.0")), ("sglang", Exactly("0.5.16")), ("tensorrt-llm", Exactly("1.3.0rc22"))];
const V1_5: Engines =
    &[("vllm", Exactly("0.28.0")), ("sglang", Exactly("0.5.18")), ("tensorrt-llm", Exactly("1.3.0rc25"))];
const V1_6: Engines =
    &[("vllm", Exactly("0.31.0")), ("sglang", Exactly("0.5.21")), ("tensorrt-llm", Exactly("1.3.0rc29"))];

/// The flags that the operator finds only as two elements, when it injects multi-node flags for vLLM
/// (deploy/operator internal/dynamo/backend_vllm.go, getFlagValue).
const SEPARATE_VALUES: SeparateValues =
    SeparateValues::Flags(&["tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size"]);

/// Dynamo's vLLM worker does not run vLLM's HTTP server. The worker's own flags replace those for parsing and
/// templates.
const NO_SERVER: ServerFlagRefusal = ServerFlagRefusal {
    replacements: &[
        ("chat-template", "custom-jinja-template"),
        ("enable-auto-tool-choice", "dyn-tool-call-parser"),
        ("exclude-tools-when-tool-choice-none", "exclude-tools-when-tool-choice-none"),
        ("reasoning-parser", "dyn-reasoning-parser"),
        ("tool-call-parser", "dyn-tool-call-parser"),
    ],
    help: "remove the flag: the OpenAI server is the Frontend component",
};

/// The load formats of Dynamo's own loaders (dynamo/sglang/args.py and dynamo/vllm/args.py), and of ModelExpress, which
/// its images contain.
const LOADERS: &[(&str, &str)] = &[("load-format", "gms"), ("load-format", "modelexpress"), ("load-format", "mx")];

/// For multi-node workers the operator quotes args into a shell command, incompletely. Values are therefore limited to
/// characters that are not special in a shell (docs/design/0009).
const CHARSET: Charset = Charset {
    marks: "._/:@=,+-",
    reason: "which Dynamo may pass to a shell",
    help: "use only letters, digits and . _ / : @ = , + -",
};

/// Returns the launcher `python3 -m dynamo.<engine>` of a release. It parses its own flags first, then the engine's.
/// `is_exact` tells whether the image is known to have exactly that release.
pub fn launcher(engine: EngineType, release: &'static Release, is_exact: bool) -> Launcher {
    let version = release.version;
    let name = engines::profile(engine).display_name;
    let base = Launcher {
        charset: Some(CHARSET),
        extra_values: LOADERS,
        is_exact,
        unknown_flag_consequence: "the worker does not start",
        refused_flags: vec![RESERVED_FLAGS],
        ..Launcher::new(format!("Dynamo {version}'s {name} worker"))
    };
    let engine_version = |name: &str| release.engine(name).map(EnginePin::version);
    // Only the own parser of dynamo.vllm expands no abbreviations (`allow_abbrev=False`).
    let parsers = |wrapper: &str, abbreviates: bool, engine: Option<FlagTable>| {
        let wrapper = flags::wrapper(wrapper, release.package).map(|table| Parser { table, abbreviates });
        wrapper.into_iter().chain(engine.map(|table| Parser { table, abbreviates: true })).collect()
    };
    match Backend::find(engine).map(|backend| backend.engine) {
        Some(DynamoEngine::Vllm) => Launcher {
            parsers: parsers("dynamo-vllm", false, engine_version("vllm").and_then(flags::vllm)),
            separate_values: SEPARATE_VALUES,
            server_flag_refusal: Some(NO_SERVER),
            refused_flags: vec![RESERVED_FLAGS, REFUSED_VLLM_FLAGS],
            ..base
        },
        Some(DynamoEngine::Sglang) => Launcher {
            parsers: parsers("dynamo-sglang", true, engine_version("sglang").and_then(flags::sglang)),
            ..base
        },
        Some(DynamoEngine::Trtllm) => Launcher {
            parsers: parsers("dynamo-trtllm", true, None),
            config_keys: Some(ConfigKeys {
                table: flags::trtllm_keys(),
                help: "move configuration keys to spec.engine.args: extraArgs takes flags of the Dynamo wrapper",
            }),
            ..base
        },
        None => base,
    }
}

/// Returns the flag tables of a version for an engine.
pub(super) fn flag_tables(engine: EngineType, version: &str) -> Vec<FlagTable> {
    let found = find_release(RELEASES, version);
    found.map(|found| launcher(engine, found.release, false).tables().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::RUNTIMES;
    use super::*;

    /// The engine versions that NVIDIA's documentation of Dynamo 1.6.1 lists for releases (reference/releases,
    /// compatibility). The wheels must not contradict it.
    #[test]
    fn releases_have_the_engines_of_the_documented_matrix() {
        for (version, vllm, sglang, trtllm) in [
            ("1.0.2", "0.16.0", "0.5.9", "1.3.0rc5.post1"),
            ("1.1.1", "0.19.0", "0.5.10.post1", "1.3.0rc11"),
            ("1.2.1", "0.20.1", "0.5.11", "1.3.0rc14"),
            ("1.3.1", "0.23.0", "0.5.14", "1.3.0rc19"),
            ("1.4.2", "0.26.0", "0.5.16", "1.3.0rc22"),
            ("1.5.1", "0.28.0", "0.5.18", "1.3.0rc25"),
            ("1.6.0", "0.31.0", "0.5.21", "1.3.0rc29"),
        ] {
            let release = RELEASES.iter().find(|release| release.version == version).unwrap();
            for (engine, expected) in [("vllm", vllm), ("sglang", sglang), ("tensorrt-llm", trtllm)] {
                assert_eq!(release.engine(engine), Some(Exactly(expected)), "{version} {engine}");
            }
        }
    }

    #[test]
    fn every_runtime_has_tables() {
        for release in RELEASES {
            for (engine, parsers) in [(EngineType::Vllm, 2), (EngineType::Sglang, 2), (EngineType::Trtllm, 1)] {
                assert_eq!(launcher(engine, release, true).parsers.len(), parsers, "{release:?} {engine:?}");
            }
        }
        let mut runtimes = RUNTIMES.to_vec();
        runtimes.sort_unstable();
        assert_eq!(runtimes, RELEASES.iter().map(|release| release.version).collect::<Vec<_>>());
    }

    #[test]
    fn replacements_exist_in_every_wrapper() {
        for release in RELEASES {
            let wrapper = flags::wrapper("dynamo-vllm", release.package).unwrap();
            let engine = flags::vllm(release.engine("vllm").unwrap().version()).unwrap();
            for (server, own) in NO_SERVER.replacements {
                assert!(engine.lookup(server).is_some(), "{} {server}", release.version);
                // Added in 1.1.0.
                let is_too_old = *own == "exclude-tools-when-tool-choice-none" && release.version.starts_with("1.0.");
                assert!(is_too_old || wrapper.lookup(own).is_some(), "{} {own}", release.version);
            }
        }
    }
}
