//! The list of flag tables.

/// A flag table.
#[derive(Debug)]
pub(crate) struct Table {
    /// The folder below `xtask/facts/flags`, and the generated file without its extension.
    pub(crate) name: &'static str,
    /// The name in the header of the generated file.
    pub(crate) title: &'static str,
    /// The source of the facts, for the header.
    pub(crate) source: &'static str,
    /// The Python package from which the facts are read; `None` if they are transcribed by hand.
    pub(crate) package: Option<&'static str>,
    /// Whether the facts may differ from the software that runs, because they come from another version of it.
    pub(crate) is_uncertain: bool,
}

impl Table {
    /// Whether the flags belong to a program that wraps the engine.
    pub(crate) fn is_wrapper(&self) -> bool {
        self.package == Some("ai-dynamo")
    }
}

/// The packages that `--engine` accepts. Ray has no table of its own: it accepts the flags of the vLLM version that it
/// pins.
pub(crate) const PACKAGES: &[&str] = &["vllm", "sglang", "ai-dynamo", "ray"];

pub(crate) const TABLES: &[Table] = &[
    Table {
        name: "dynamo-frontend",
        title: "dynamo.frontend",
        source: "flags transcribed from the sources at 021d616; other versions differ",
        package: None,
        is_uncertain: true,
    },
    Table {
        name: "dynamo-sglang",
        title: "dynamo.sglang",
        source: "ai-dynamo wheels of exactly these versions",
        package: Some("ai-dynamo"),
        is_uncertain: false,
    },
    Table {
        name: "dynamo-trtllm",
        title: "dynamo.trtllm",
        source: "ai-dynamo wheels of exactly these versions",
        package: Some("ai-dynamo"),
        is_uncertain: false,
    },
    Table {
        name: "dynamo-vllm",
        title: "dynamo.vllm",
        source: "ai-dynamo wheels of exactly these versions",
        package: Some("ai-dynamo"),
        is_uncertain: false,
    },
    Table {
        name: "llama-server",
        title: "llama.cpp-server",
        source: "flags transcribed from tools/server/README.md at 00dc8057; other flags exist",
        package: None,
        is_uncertain: true,
    },
    Table {
        name: "sglang",
        title: "sglang",
        source: "sglang wheels of exactly these versions",
        package: Some("sglang"),
        is_uncertain: false,
    },
    Table {
        name: "trtllm",
        title: "tensorrt-llm.LLM",
        source: "configuration keys transcribed from llm_args.py at 0004396, after 1.3.0rc21; other keys exist",
        package: None,
        is_uncertain: true,
    },
    Table {
        name: "vllm",
        title: "vllm",
        source: "vllm packages of exactly these versions",
        package: Some("vllm"),
        is_uncertain: false,
    },
];
