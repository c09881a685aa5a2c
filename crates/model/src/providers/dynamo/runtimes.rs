//! The engine versions in Dynamo's releases, and the launchers of its workers.

use super::backend::{Backend, DynamoEngine};
use super::reserved_flags::{REFUSED_VLLM_FLAGS, RESERVED_FLAGS};
use crate::engines;
use crate::engines::flags;
use crate::engines::flags::FlagTable;
use crate::engines::{Charset, ConfigKeys, Launcher, Parser, SeparateValues, ServerFlagRefusal};
use crate::ir::EngineType;

/// A Dynamo release with the engine versions in its images.
#[derive(Debug)]
struct DynamoRelease {
    version: &'static str,
    vllm: &'static str,
    sglang: &'static str,
}

/// The releases whose flags are known, oldest first. Their versions of TensorRT-LLM (1.3.0rc11, rc22, rc29) share one
/// table of keys.
const RELEASES: &[DynamoRelease] = &[
    DynamoRelease { version: "1.1.1", vllm: "0.19.0", sglang: "0.5.10.post1" },
    DynamoRelease { version: "1.4.0", vllm: "0.26.0", sglang: "0.5.16" },
    DynamoRelease { version: "1.6.1", vllm: "0.31.0", sglang: "0.5.21" },
];

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

/// For multi-node workers the operator quotes args into a shell command, incompletely. Values are therefore limited to
/// characters that are not special in a shell (docs/design/0009).
const CHARSET: Charset = Charset {
    marks: "._/:@=,+-",
    reason: "which Dynamo may pass to a shell",
    help: "use only letters, digits and . _ / : @ = , + -",
};

/// Returns the launcher `python3 -m dynamo.<engine>` of a release. It parses its own flags first, then the engine's.
pub(crate) fn launcher(engine: EngineType, version: &str) -> Launcher {
    let name = engines::profile(engine).display_name;
    let base = Launcher {
        charset: Some(CHARSET),
        refused_flags: vec![RESERVED_FLAGS],
        ..Launcher::new(format!("Dynamo {version}'s {name} worker"))
    };
    let release = RELEASES.iter().find(|release| release.version == version);
    // Only the own parser of dynamo.vllm expands no abbreviations (`allow_abbrev=False`).
    let parsers = |wrapper: &str, abbreviates: bool, engine: Option<FlagTable>| {
        let wrapper = flags::wrapper(wrapper, version).map(|table| Parser { table, abbreviates });
        wrapper.into_iter().chain(engine.map(|table| Parser { table, abbreviates: true })).collect()
    };
    match Backend::find(engine).map(|backend| backend.engine) {
        Some(DynamoEngine::Vllm) => Launcher {
            parsers: parsers("dynamo-vllm", false, release.and_then(|release| flags::vllm(release.vllm))),
            separate_values: SEPARATE_VALUES,
            server_flag_refusal: Some(NO_SERVER),
            refused_flags: vec![RESERVED_FLAGS, REFUSED_VLLM_FLAGS],
            ..base
        },
        Some(DynamoEngine::Sglang) => Launcher {
            parsers: parsers("dynamo-sglang", true, release.and_then(|release| flags::sglang(release.sglang))),
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

#[cfg(test)]
mod tests {
    use super::super::RUNTIMES;
    use super::*;
    use crate::providers::wheel_pins;

    #[test]
    fn releases_are_those_that_were_read_from_wheels() {
        let stated = |version: &str| {
            let release = RELEASES.iter().find(|release| release.version == version)?;
            Some(vec![("vllm", release.vllm), ("sglang", release.sglang)])
        };
        assert_eq!(wheel_pins::differences("ai-dynamo", "dynamo", stated), Vec::<String>::new());
    }

    #[test]
    fn every_runtime_has_tables() {
        for version in RUNTIMES {
            for (engine, parsers) in [(EngineType::Vllm, 2), (EngineType::Sglang, 2), (EngineType::Trtllm, 1)] {
                assert_eq!(launcher(engine, version).parsers.len(), parsers, "{version} {engine:?}");
            }
        }
        assert_eq!(RELEASES.len(), RUNTIMES.len());
    }

    #[test]
    fn replacements_exist_in_every_wrapper() {
        for release in RELEASES {
            let wrapper = flags::wrapper("dynamo-vllm", release.version).unwrap();
            let engine = flags::vllm(release.vllm).unwrap();
            for (server, own) in NO_SERVER.replacements {
                assert!(engine.lookup(server).is_some(), "{} {server}", release.version);
                assert!(wrapper.lookup(own).is_some(), "{} {own}", release.version);
            }
        }
    }
}
