//! Facts about versions of inference engines.
//!
//! `engines.txt` has one line for each name of a kind, such as `vllm/tool/hermes`, with the ranges of versions in which it
//! holds, and one line for each engine with the versions that were read. Questions are searched in place.

use crate::line::{Line, find_exact, parse_two};

static ENGINES: &str = include_str!("../data/engines.txt");

/// A version of an engine whose package was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineFacts {
    engine: &'static str,
    /// The versions of the engine in ascending order, separated by commas.
    versions: &'static str,
    version: &'static str,
    source: &'static str,
}

/// Returns the facts of an engine (`vllm`, `sglang`) and exactly this version (`0.33.0`), if its package was read.
pub fn engine_facts(engine: &str, version: &str) -> Option<EngineFacts> {
    let line = find_exact(ENGINES, engine)?;
    let versions = line.get("versions")?;
    let version = versions.split(',').find(|known| *known == version)?;
    Some(EngineFacts { engine: line.name, versions, version, source: line.get("source")? })
}

impl EngineFacts {
    /// Returns the name of the engine.
    pub fn engine(&self) -> &'static str {
        self.engine
    }

    /// Returns the version.
    pub fn version(&self) -> &'static str {
        self.version
    }

    /// Returns where the facts are from.
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// Returns whether the engine has an implementation of an architecture (a class of `architectures`). Without one,
    /// vLLM and SGLang try that of Transformers, which serves many other architectures, so `false` means a doubt.
    pub fn serves(&self, architecture: &str) -> bool {
        self.line("architecture", architecture).is_some()
    }

    /// Returns the last version that had an implementation of an architecture, if the engine lists it as dropped in this
    /// version. Versions between those that were read count, too. vLLM names that version when Transformers has no
    /// implementation either (`_raise_for_unsupported` in `model_executor/models/registry.py`).
    pub fn last_version_with(&self, architecture: &str) -> Option<&'static str> {
        self.line("dropped", architecture)?.get("value").and_then(|value| self.value(value))
    }

    /// Returns whether the engine has a quantization method, by the name that checkpoints or `--quantization` use.
    pub fn has_method(&self, method: &str) -> bool {
        self.line("method", method).is_some()
    }

    /// Returns the least CUDA compute capability for which the engine has a quantization method; `None` also if the
    /// engine decides that by more than the capability.
    pub fn min_capability(&self, method: &str) -> Option<(u8, u8)> {
        let capability = self.value(self.line("method", method)?.get("value")?)?;
        Some(parse_two(method, "method", capability, '.'))
    }

    /// Returns whether a quantization method reads its settings from the checkpoint, so that the engine refuses a model
    /// that is not quantized. Other methods quantize while they load (`get_config_filenames` of the method's class).
    pub fn needs_checkpoint(&self, method: &str) -> bool {
        self.line("checkpoint", method).is_some()
    }

    /// Returns whether the engine refuses 16-bit numbers with 5 bits of exponent (`float16`) for a type of models
    /// (`model_type` of `config.json`).
    pub fn refuses_float16(&self, model_type: &str) -> bool {
        self.line("bfloat16", model_type).is_some()
    }

    /// Returns whether the engine refuses something when it starts, by the name that `xtask/python/engine_facts` has for
    /// the message: `draft-vocabulary`.
    pub fn asserts(&self, name: &str) -> bool {
        self.line("assertion", name).is_some()
    }

    /// Finds the line of a name of a kind that holds in this version.
    fn line(&self, kind: &str, name: &str) -> Option<Line<'static>> {
        let line = find_exact(ENGINES, &format!("{}/{kind}/{name}", self.engine))?;
        line.get("in").is_none_or(|ranges| self.is_in(ranges)).then_some(line)
    }

    /// Returns the value of this version: `7.5` for all versions, or `8.0@0.10.2..0.12.0,7.5@0.14.1..0.33.0`.
    fn value(&self, values: &'static str) -> Option<&'static str> {
        values.split(',').find_map(|value| match value.split_once('@') {
            None => Some(value),
            Some((value, ranges)) => self.is_in(ranges).then_some(value),
        })
    }

    /// Returns whether ranges of versions (`0.10.2..0.12.0|0.15.0`) contain this version. Both ends belong to a range.
    fn is_in(&self, ranges: &str) -> bool {
        let position = |version: &str| self.versions.split(',').position(|known| known == version);
        let own = position(self.version);
        ranges.split('|').any(|range| {
            let (first, last) = range.split_once("..").unwrap_or((range, range));
            position(first) <= own && own <= position(last)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::lines;

    #[test]
    fn lines_are_sorted_and_found() {
        let names: Vec<&str> = lines(ENGINES).map(|line| line.name).collect();
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
        for name in names {
            assert!(find_exact(ENGINES, name).is_some(), "{name}");
        }
    }

    /// The counts of the two packages that were also counted by other means.
    #[test]
    fn counts_are_those_of_the_packages() {
        let count = |engine: &str, version: &str, kind: &str| {
            let facts = engine_facts(engine, version).unwrap();
            let prefix = format!("{engine}/{kind}/");
            let names = lines(ENGINES).filter_map(|line| line.name.strip_prefix(&prefix));
            names.filter(|name| facts.line(kind, name).is_some()).count()
        };
        for (kind, expected) in [("architecture", 415), ("dropped", 50), ("tool", 58), ("reasoning", 42)] {
            assert_eq!(count("vllm", "0.33.0", kind), expected, "{kind}");
        }
        assert_eq!((count("sglang", "0.5.23", "tool"), count("sglang", "0.5.23", "reasoning")), (44, 36));
    }

    #[test]
    fn every_capability_is_read() {
        for engine in ["vllm", "sglang"] {
            let prefix = format!("{engine}/method/");
            let methods: Vec<&str> = lines(ENGINES).filter_map(|line| line.name.strip_prefix(&prefix)).collect();
            let versions = find_exact(ENGINES, engine).unwrap().get("versions").unwrap().split(',');
            let versions = versions.map(|version| engine_facts(engine, version).unwrap());
            let known =
                versions.flat_map(|facts| methods.iter().filter_map(move |method| facts.min_capability(method)));
            assert!(known.count() > 100, "{engine}");
        }
    }

    #[test]
    fn facts_are_those_of_the_version() {
        let [old, new] = ["0.12.0", "0.33.0"].map(|version| engine_facts("vllm", version).unwrap());
        assert!(old.serves("AquilaForCausalLM") && !new.serves("AquilaForCausalLM"));
        assert_eq!(
            (old.last_version_with("AquilaForCausalLM"), new.last_version_with("AquilaForCausalLM")),
            (None, Some("0.24.0"))
        );
        assert!(new.serves("LlamaForCausalLM") && !new.serves("llamaforcausallm"));
        assert_eq!(new.last_version_with("LlamaForCausalLM"), None);
        assert_eq!((old.min_capability("fp8"), new.min_capability("fp8")), (Some((8, 0)), Some((7, 5))));
        assert_eq!((new.min_capability("fp_quant"), new.min_capability("awqq")), (Some((10, 0)), None));
        assert!(old.has_method("gguf") && !new.has_method("gguf"));
        assert!(new.needs_checkpoint("awq") && !new.needs_checkpoint("fp8") && !new.needs_checkpoint("mxfp8"));
        assert!(new.refuses_float16("gemma3") && !new.refuses_float16("gemma4"));
        assert!(new.asserts("draft-vocabulary") && new.asserts("experts") && !new.asserts("expert-parallel"));
        let sglang = engine_facts("sglang", "0.5.23").unwrap();
        assert!(sglang.needs_checkpoint("gptq") && !sglang.needs_checkpoint("fp8") && sglang.asserts("quantization"));
        assert!(sglang.serves("LlamaForCausalLM"));
        assert!(!sglang.source().is_empty());
    }

    #[test]
    fn other_versions_are_not_known() {
        assert_eq!((engine_facts("vllm", "0.33"), engine_facts("vim", "9.0")), (None, None));
    }
}
