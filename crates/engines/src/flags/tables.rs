//! The committed flag tables of engines and of the programs that wrap them.

use super::file::FlagFile;
use super::table::FlagTable;

static LLAMA_SERVER: FlagFile = FlagFile::new("llama-server", include_str!("data/llama-server.txt"));
static SGLANG: FlagFile = FlagFile::new("sglang", include_str!("data/sglang.txt"));
static TRTLLM: FlagFile = FlagFile::new("trtllm", include_str!("data/trtllm.txt"));
static VLLM: FlagFile = FlagFile::new("vllm", include_str!("data/vllm.txt"));
static DYNAMO_FRONTEND: FlagFile = FlagFile::new("dynamo-frontend", include_str!("data/dynamo-frontend.txt"));
static DYNAMO_SGLANG: FlagFile = FlagFile::new("dynamo-sglang", include_str!("data/dynamo-sglang.txt"));
static DYNAMO_TRTLLM: FlagFile = FlagFile::new("dynamo-trtllm", include_str!("data/dynamo-trtllm.txt"));
static DYNAMO_VLLM: FlagFile = FlagFile::new("dynamo-vllm", include_str!("data/dynamo-vllm.txt"));

/// The flags of programs that wrap an engine, without the engine's own flags.
pub(super) static WRAPPERS: &[&FlagFile] = &[&DYNAMO_SGLANG, &DYNAMO_TRTLLM, &DYNAMO_VLLM];

/// The flags of engines.
pub(super) static ENGINES: &[&FlagFile] = &[&LLAMA_SERVER, &SGLANG, &TRTLLM, &VLLM];

/// Returns the flags of a program that wraps an engine (`dynamo-vllm`), without the engine's own flags, or `None` for
/// an unknown program or version.
///
/// ```
/// use kubefoundry_engines::flags;
/// assert!(flags::wrapper("dynamo-vllm", "1.4.0").is_some_and(|table| table.lookup("disaggregation-mode").is_some()));
/// assert!(flags::wrapper("dynamo-vllm", "0.7.1").is_none());
/// ```
pub fn wrapper(program: &str, version: &str) -> Option<FlagTable> {
    FlagTable::new(WRAPPERS.iter().find(|file| file.program == program)?, version)
}

/// The flags of programs that run beside an engine.
pub(super) static PROGRAMS: &[&FlagFile] = &[&DYNAMO_FRONTEND];

/// Returns every known version of an engine (`vllm`, `sglang`, `trtllm`, `llama-server`) or of a program that wraps one
/// (`dynamo-vllm`) with its table, oldest first. Empty for an unknown program.
///
/// ```
/// use kubefoundry_engines::flags;
/// let versions: Vec<&str> = flags::tables_by_version("dynamo-vllm").map(|(version, _)| version).collect();
/// assert_eq!((versions.first(), versions.last()), (Some(&"1.0.0"), Some(&"1.6.1")));
/// assert_eq!(flags::tables_by_version("vim").count(), 0);
/// ```
pub fn tables_by_version(program: &str) -> impl Iterator<Item = (&'static str, FlagTable)> {
    let mut files = ENGINES.iter().chain(WRAPPERS).chain(PROGRAMS);
    files.find(|file| file.program == program).copied().into_iter().flat_map(FlagTable::by_version)
}

/// Returns the flags of a vLLM version, those of its HTTP server included, or `None` for an unknown version.
///
/// ```
/// use kubefoundry_engines::flags;
/// assert!(flags::vllm("0.26.0").is_some());
/// assert!(flags::vllm("0.1.0").is_none());
/// ```
pub fn vllm(version: &str) -> Option<FlagTable> {
    FlagTable::new(&VLLM, version)
}

/// Returns the vLLM flags of an image: those of the version in its tag (`v0.26.0`, `0.26.0-cu130`), or of the newest
/// known version before it. A tag without a version stands for the newest known version. The second value tells whether
/// the table is that of the version in the tag.
///
/// ```
/// use kubefoundry_engines::flags;
/// let (old, is_exact) = flags::vllm_for_image("vllm/vllm-openai:v0.20.2");
/// assert!(is_exact && old.lookup("max-num-partial-prefills").is_some());
/// let (newest, is_exact) = flags::vllm_for_image("registry:5000/vllm:latest");
/// assert!(!is_exact && newest.lookup("max-num-partial-prefills").is_none());
/// ```
pub fn vllm_for_image(image: &str) -> (FlagTable, bool) {
    let name = image.split('@').next().unwrap_or(image);
    let tag = name.rsplit('/').next().and_then(|last| last.split_once(':')).map_or("", |(_, tag)| tag);
    let version = tag.strip_prefix('v').unwrap_or(tag);
    let core = version.split('-').next().unwrap_or(version);
    let is_version = core.split('.').count() >= 3 && core.starts_with(|c: char| c.is_ascii_digit());
    match FlagTable::new(&VLLM, core) {
        Some(table) => (table, true),
        None if is_version => (FlagTable::nearest(&VLLM, core), false),
        None => (FlagTable::newest(&VLLM), false),
    }
}

/// Returns the flags of an SGLang version, or `None` for an unknown version.
///
/// ```
/// use kubefoundry_engines::flags;
/// assert!(flags::sglang("0.5.16").is_some_and(|table| table.lookup("disable-radix-cache").is_some()));
/// ```
pub fn sglang(version: &str) -> Option<FlagTable> {
    FlagTable::new(&SGLANG, version)
}

/// Returns the main flags of llama.cpp's `llama-server`. It has more, and they change between builds.
///
/// ```
/// use kubefoundry_engines::flags;
/// assert!(flags::llama_server().lookup("ngl").is_some_and(|(flag, _)| flag.name == "n-gpu-layers"));
/// ```
pub fn llama_server() -> FlagTable {
    FlagTable::newest(&LLAMA_SERVER)
}

/// Returns the flags of Dynamo's frontend. They change between releases, so it may have others.
///
/// ```
/// use kubefoundry_engines::flags;
/// assert!(flags::dynamo_frontend().lookup("no-kv-events").is_some_and(|(flag, _)| flag.name == "kv-events"));
/// ```
pub fn dynamo_frontend() -> FlagTable {
    FlagTable::newest(&DYNAMO_FRONTEND)
}

/// Returns the main configuration keys of TensorRT-LLM's `LLM` class, which has more.
///
/// The parts of a nested key are joined by dots. The last part alone finds a key where it is unambiguous.
///
/// ```
/// use kubefoundry_engines::flags;
/// let reuse = flags::trtllm_keys().lookup("enable_block_reuse");
/// assert!(reuse.is_some_and(|(flag, _)| flag.name == "kv-cache-config.enable-block-reuse"));
/// ```
pub fn trtllm_keys() -> FlagTable {
    FlagTable::newest(&TRTLLM)
}
