//! Which engine versions a runtime carries, and their tables.

use super::table::FlagTable;

const DYNAMO_SGLANG: &str = include_str!("data/dynamo-sglang.txt");
const DYNAMO_TRTLLM: &str = include_str!("data/dynamo-trtllm.txt");
const DYNAMO_VLLM: &str = include_str!("data/dynamo-vllm.txt");
const LLAMA_SERVER: &str = include_str!("data/llama-server.txt");
const SGLANG: &str = include_str!("data/sglang.txt");
const TRTLLM: &str = include_str!("data/trtllm.txt");
const VLLM: &str = include_str!("data/vllm.txt");

/// Every committed table, for tests that walk them.
#[cfg(test)]
pub(super) const ALL: &[(&str, &str)] = &[
    ("dynamo-sglang", DYNAMO_SGLANG),
    ("dynamo-trtllm", DYNAMO_TRTLLM),
    ("dynamo-vllm", DYNAMO_VLLM),
    ("llama-server", LLAMA_SERVER),
    ("sglang", SGLANG),
    ("trtllm", TRTLLM),
    ("vllm", VLLM),
];

/// An engine that Dynamo wraps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// TensorRT-LLM.
    Trtllm,
}

/// A release of a serving runtime and the engine versions its images carry; none where an engine is not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runtime {
    /// The version of the runtime.
    pub version: &'static str,
    /// Its vLLM.
    pub vllm: Option<&'static str>,
    /// Its SGLang.
    pub sglang: Option<&'static str>,
    /// Its TensorRT-LLM.
    pub trtllm: Option<&'static str>,
}

/// The Dynamo releases whose flags are known, oldest first.
pub const DYNAMO_VERSIONS: &[Runtime] = &[
    Runtime { version: "1.1.1", vllm: Some("0.19.0"), sglang: Some("0.5.10.post1"), trtllm: Some("1.3.0rc11") },
    Runtime { version: "1.4.0", vllm: Some("0.26.0"), sglang: Some("0.5.16"), trtllm: Some("1.3.0rc22") },
    Runtime { version: "1.6.1", vllm: Some("0.31.0"), sglang: Some("0.5.21"), trtllm: Some("1.3.0rc29") },
];

/// The Ray releases whose flags are known, oldest first; Ray Serve LLM drives vLLM only.
pub const RAY_VERSIONS: &[Runtime] = &[
    Runtime { version: "2.56.0", vllm: Some("0.22.0"), sglang: None, trtllm: None },
    Runtime { version: "2.60.0", vllm: Some("0.29.0"), sglang: None, trtllm: None },
];

/// What a worker of Dynamo accepts.
#[derive(Debug, Clone, Copy)]
pub struct DynamoTables {
    /// The flags of Dynamo's own worker program, which it reads first.
    pub wrapper: FlagTable,
    /// The flags of the engine. Dynamo's vLLM worker refuses those of [`Group::Frontend`](super::Group::Frontend).
    /// TensorRT-LLM has configuration keys instead ([`trtllm_keys`]).
    pub engine: FlagTable,
}

/// The tables of a worker in a Dynamo release; none for a release not in [`DYNAMO_VERSIONS`].
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use kubefoundry::model::engines::flags::{self, Engine, Group};
/// let tables = flags::dynamo(Engine::Vllm, "1.4.0").ok_or("known release")?;
/// assert!(tables.wrapper.lookup("disaggregation-mode").is_some());
/// assert!(tables.engine.lookup("tool-call-parser").is_some_and(|(flag, _)| flag.group == Group::Frontend));
/// assert!(flags::dynamo(Engine::Vllm, "0.7.1").is_none());
/// # Ok(())
/// # }
/// ```
pub fn dynamo(engine: Engine, version: &str) -> Option<DynamoTables> {
    let runtime = DYNAMO_VERSIONS.iter().find(|runtime| runtime.version == version)?;
    let (wrapper, engine) = match engine {
        Engine::Vllm => (DYNAMO_VLLM, vllm(runtime.vllm?)?),
        Engine::Sglang => (DYNAMO_SGLANG, sglang(runtime.sglang?)?),
        Engine::Trtllm => (DYNAMO_TRTLLM, trtllm_keys()),
    };
    Some(DynamoTables { wrapper: FlagTable::new(wrapper, version)?, engine })
}

/// The vLLM flags of a Ray release; none for a release not in [`RAY_VERSIONS`].
///
/// ```
/// use kubefoundry::model::engines::flags;
/// assert!(flags::ray("2.56.0").is_some_and(|table| table.lookup("max_model_len").is_some()));
/// assert!(flags::ray("2.0.0").is_none());
/// ```
pub fn ray(version: &str) -> Option<FlagTable> {
    vllm(RAY_VERSIONS.iter().find(|runtime| runtime.version == version)?.vllm?)
}

/// The flags of a vLLM version, its HTTP server's included; none for an unknown version.
///
/// ```
/// use kubefoundry::model::engines::flags;
/// assert!(flags::vllm("0.26.0").is_some());
/// assert!(flags::vllm("0.1.0").is_none());
/// ```
pub fn vllm(version: &str) -> Option<FlagTable> {
    FlagTable::new(VLLM, version)
}

/// The vLLM flags of an image: those of the version that its tag names (`v0.26.0`, `0.26.0-cu130`), or of the newest
/// known one before it; without a version in the tag, those of the newest known version.
///
/// ```
/// use kubefoundry::model::engines::flags;
/// let old = flags::vllm_of_image("vllm/vllm-openai:v0.20.2");
/// assert!(old.lookup("max-num-partial-prefills").is_some());
/// assert!(flags::vllm_of_image("registry:5000/vllm:latest").lookup("max-num-partial-prefills").is_none());
/// ```
pub fn vllm_of_image(image: &str) -> FlagTable {
    let name = image.split('@').next().unwrap_or(image);
    let tag = name.rsplit('/').next().and_then(|last| last.split_once(':')).map_or("", |(_, tag)| tag);
    let version = tag.strip_prefix('v').unwrap_or(tag);
    let core = version.split('-').next().unwrap_or(version);
    let is_version = core.split('.').count() >= 3 && core.starts_with(|c: char| c.is_ascii_digit());
    if is_version { FlagTable::nearest(VLLM, core) } else { FlagTable::newest(VLLM) }
}

/// The flags of an SGLang version; none for an unknown version.
///
/// ```
/// use kubefoundry::model::engines::flags;
/// assert!(flags::sglang("0.5.16").is_some_and(|table| table.lookup("disable-radix-cache").is_some()));
/// ```
pub fn sglang(version: &str) -> Option<FlagTable> {
    FlagTable::new(SGLANG, version)
}

/// The main flags of llama.cpp's `llama-server`; it has more, and they change between builds.
///
/// ```
/// use kubefoundry::model::engines::flags;
/// assert!(flags::llama_server().lookup("ngl").is_some_and(|(flag, _)| flag.name == "n-gpu-layers"));
/// ```
pub fn llama_server() -> FlagTable {
    FlagTable::newest(LLAMA_SERVER)
}

/// The main configuration keys of TensorRT-LLM's `LLM` class; it has more.
///
/// A nested key has dots; its last part alone finds it where that is unambiguous.
///
/// ```
/// use kubefoundry::model::engines::flags;
/// let found = flags::trtllm_keys().lookup("enable_block_reuse");
/// assert!(found.is_some_and(|(flag, _)| flag.name == "kv-cache-config.enable-block-reuse"));
/// ```
pub fn trtllm_keys() -> FlagTable {
    FlagTable::newest(TRTLLM)
}

/// vLLM's flags for parsing and templates, and those by which Dynamo's workers take their place.
const WRAPPER_REPLACEMENTS: &[(&str, &str)] = &[
    ("chat-template", "custom-jinja-template"),
    ("enable-auto-tool-choice", "dyn-tool-call-parser"),
    ("exclude-tools-when-tool-choice-none", "exclude-tools-when-tool-choice-none"),
    ("reasoning-parser", "dyn-reasoning-parser"),
    ("tool-call-parser", "dyn-tool-call-parser"),
];

/// The flag of Dynamo's worker that does what a vLLM server flag does; without dashes, in kebab-case.
///
/// ```
/// use kubefoundry::model::engines::flags::wrapper_replacement;
/// assert_eq!(wrapper_replacement("tool-call-parser"), Some("dyn-tool-call-parser"));
/// assert_eq!(wrapper_replacement("host"), None);
/// ```
pub fn wrapper_replacement(frontend_flag: &str) -> Option<&'static str> {
    WRAPPER_REPLACEMENTS.iter().find(|(flag, _)| *flag == frontend_flag).map(|(_, replacement)| *replacement)
}

/// The vLLM flags that [`wrapper_replacement`] knows.
#[cfg(test)]
pub(super) fn replaced_flags() -> impl Iterator<Item = (&'static str, &'static str)> {
    WRAPPER_REPLACEMENTS.iter().copied()
}
