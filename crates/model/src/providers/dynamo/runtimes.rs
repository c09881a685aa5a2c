//! The engines in Dynamo's releases, and the workers that take their flags.

use super::backend::{Backend, Engine};
use super::reserved::{OF_THE_GRAPH, OF_VLLM};
use crate::engines;
use crate::engines::flags;
use crate::engines::flags::FlagTable;
use crate::engines::{Charset, ConfigKeys, Launcher, Parser, SeparateValues, ServerFlagRefusal};
use crate::ir::EngineType;

/// A release and the engine versions that its images carry.
#[derive(Debug)]
struct Release {
    version: &'static str,
    vllm: &'static str,
    sglang: &'static str,
}

/// The releases whose flags are known, oldest first. Their TensorRT-LLM (1.3.0rc11, rc22, rc29) has one table of keys.
const RELEASES: &[Release] = &[
    Release { version: "1.1.1", vllm: "0.19.0", sglang: "0.5.10.post1" },
    Release { version: "1.4.0", vllm: "0.26.0", sglang: "0.5.16" },
    Release { version: "1.6.1", vllm: "0.31.0", sglang: "0.5.21" },
];

/// The flags that the operator finds only as two elements when it injects multi-node flags for vLLM
/// (deploy/operator internal/dynamo/backend_vllm.go, getFlagValue).
const SEPARATE_VALUES: SeparateValues =
    SeparateValues::Flags(&["tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size"]);

/// vLLM's server is not in its worker; its flags for parsing and templates have these in their place.
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

/// The operator may re-quote a worker's args into a shell for multi-node, and quotes too little: text is held to
/// characters that mean nothing there (docs/design/0009).
const CHARSET: Charset = Charset {
    marks: "._/:@=,+-",
    reason: "which Dynamo may pass to a shell",
    help: "use only letters, digits and . _ / : @ = , + -",
};

/// `python3 -m dynamo.<engine>` of a release: flags of its own first, then the engine's.
pub(crate) fn launcher(engine: EngineType, version: &str) -> Launcher {
    let name = engines::profile(engine).display_name;
    let base = Launcher {
        charset: Some(CHARSET),
        refused_flags: vec![OF_THE_GRAPH],
        ..Launcher::new(format!("Dynamo {version}'s {name} worker"))
    };
    let release = RELEASES.iter().find(|release| release.version == version);
    // Only dynamo.vllm turns abbreviations off, in its own parser (`allow_abbrev=False`).
    let parsers = |wrapper: &str, abbreviates: bool, engine: Option<FlagTable>| {
        let wrapper = flags::wrapper(wrapper, version).map(|table| Parser { table, abbreviates });
        wrapper.into_iter().chain(engine.map(|table| Parser { table, abbreviates: true })).collect()
    };
    match Backend::of(engine).map(|backend| backend.engine) {
        Some(Engine::Vllm) => Launcher {
            parsers: parsers("dynamo-vllm", false, release.and_then(|release| flags::vllm(release.vllm))),
            separate_values: SEPARATE_VALUES,
            server_flag_refusal: Some(NO_SERVER),
            refused_flags: vec![OF_THE_GRAPH, OF_VLLM],
            ..base
        },
        Some(Engine::Sglang) => Launcher {
            parsers: parsers("dynamo-sglang", true, release.and_then(|release| flags::sglang(release.sglang))),
            ..base
        },
        Some(Engine::Trtllm) => Launcher {
            parsers: parsers("dynamo-trtllm", true, None),
            config_keys: Some(ConfigKeys {
                table: flags::trtllm_keys(),
                help: "move configuration keys to engine.args: extraArgs takes flags of the Dynamo wrapper",
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
    use crate::providers::pins;

    #[test]
    fn releases_are_those_that_were_read_from_wheels() {
        let stated = |version: &str| {
            let release = RELEASES.iter().find(|release| release.version == version)?;
            Some(vec![("vllm", release.vllm), ("sglang", release.sglang)])
        };
        assert_eq!(pins::differences("ai-dynamo", "dynamo", stated), Vec::<String>::new());
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
