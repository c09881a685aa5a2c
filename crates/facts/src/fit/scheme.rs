//! How many bits a weight has: from the type and the quantization of a checkpoint and of the command line.

use super::Settings;
use crate::model::Model;

/// Bits of a weight in thousandths, with its share of the scales: at least, and at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bits {
    pub(super) min: u32,
    pub(super) max: u32,
}

impl Bits {
    const fn new(min: u32, max: u32) -> Self {
        Self { min, max }
    }
}

/// How the weights of a model are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scheme {
    /// Weights that no quantization touches: embeddings, routers, norms.
    pub(super) plain: Bits,
    /// Weights that are quantized; those of `plain` without a quantization.
    pub(super) quantized: Bits,
    /// Whether the files are quantized, too; otherwise the engine quantizes what it loads.
    pub(super) is_checkpoint: bool,
    /// Whether experts are padded to what a kernel for MXFP4 takes.
    pub(super) pads_experts: bool,
}

/// The most bits of a 4-bit or 8-bit weight above these: a scale of 16 bits and a zero of 4 bits for each group of 32.
const MAX_GROUP_OVERHEAD: u32 = 625;

/// The fewest bits of a weight in any format that engines read: GGUF's IQ1.
const MIN_BITS: u32 = 1500;

/// Returns how the weights are stored.
///
/// - A type that is written decides (`--dtype`). Without one vLLM and SGLang load checkpoints of 32 bits in 16
///   (vLLM `config/model.py`, `_resolve_auto_dtype`); that other engines do is not known, so the upper bound is 32.
/// - A checkpoint's own quantization stays. One that is only written is applied while loading; engines have loaded the
///   whole model first, so its upper bound is the model without it.
/// - The model's id may name a quantization where none is known (NVIDIA's are in `hf_quant_config.json`), or
///   where the method's name covers several.
pub(super) fn scheme(model: &Model, settings: &Settings<'_>) -> Scheme {
    let plain = match settings.dtype.filter(|dtype| *dtype != "auto") {
        Some(dtype) => match dtype.to_ascii_lowercase().as_str() {
            "half" | "float16" | "fp16" | "bfloat16" | "bf16" => Bits::new(16_000, 16_000),
            "float" | "float32" | "fp32" => Bits::new(32_000, 32_000),
            _ => Bits::new(8_000, 32_000),
        },
        None => match model.dtype.as_deref() {
            Some("float32") => Bits::new(16_000, 32_000),
            Some(dtype) if dtype.starts_with("float8") => Bits::new(8_000, 16_000),
            _ => Bits::new(16_000, 16_000),
        },
    };
    let own = checkpoint(model);
    let written = settings.quantization.filter(|method| !method.eq_ignore_ascii_case("none")).map(|method| {
        let method = method.to_ascii_lowercase();
        by_method(&method, model).unwrap_or(Bits::new(MIN_BITS, 16_000))
    });
    let quantized = match (own, written) {
        (Some(own), _) => own,
        (None, Some(written)) => Bits::new(written.min.min(plain.min), plain.max),
        (None, None) => plain,
    };
    let names_mxfp4 = |text: &str| text.to_ascii_lowercase().contains("mxfp4");
    Scheme {
        plain,
        quantized,
        is_checkpoint: own.is_some(),
        pads_experts: model.quantization.as_deref().is_some_and(names_mxfp4) || names_mxfp4(&model.id),
    }
}

/// Returns the bits of a checkpoint that is quantized, or whose id says so.
fn checkpoint(model: &Model) -> Option<Bits> {
    let hint = by_id(&model.id, model);
    let method = model.quantization.as_deref().map(str::to_ascii_lowercase);
    let mut bits = match method.as_deref() {
        // A name alone proves nothing, so the upper bound is the model without a quantization.
        None => hint.map(|hint| Bits::new(hint.min, hint.max.max(16_000)))?,
        Some(method) => {
            let format = model.quantization_format.as_deref().map(str::to_ascii_lowercase);
            let bits = format.and_then(|format| by_method(&format, model)).or_else(|| by_method(method, model));
            let bits = bits.unwrap_or(Bits::new(MIN_BITS, 16_000));
            hint.filter(|hint| bits.min <= hint.min && hint.max <= bits.max).unwrap_or(bits)
        }
    };
    // DeepSeek V4 calls itself fp8, and has experts of 4 bits (`expert_dtype`) unless they were converted.
    let is_v4 = model.architectures.iter().any(|architecture| architecture.starts_with("DeepseekV4"));
    if is_v4 || model.expert_dtype.as_deref().is_some_and(|dtype| dtype.contains('4')) {
        bits.min = bits.min.min(4_250);
    }
    Some(bits)
}

/// Returns the bits of a method, as `quant_method`, `format` or `--quantization` name it, in lower case.
///
/// Source: the formats of vLLM's `model_executor/layers/quantization`. FP8 has a scale of 32 bits for a block, a
/// channel or a tensor, MXFP8 one of 8 bits for 32 weights; NVFP4 one of 8 bits for 16, and MXFP4 one of 8 bits for 32.
fn by_method(method: &str, model: &Model) -> Option<Bits> {
    let has = |words: &[&str]| words.iter().any(|word| method.contains(word));
    Some(if has(&["nvfp4"]) {
        Bits::new(4_500, 4_600)
    } else if has(&["mxfp4"]) {
        Bits::new(4_250, 4_250)
    } else if has(&["mxfp8"]) {
        Bits::new(8_000, 8_250)
    } else if has(&["w4a", "int4", "4bit", "awq"]) {
        grouped(4_000, model)
    } else if has(&["gptq"]) {
        Bits::new(2_000, 8_000 + MAX_GROUP_OVERHEAD)
    } else if has(&["fp8", "int8", "w8a", "8bit", "float-quantized", "int-quantized", "naive-quantized"]) {
        match model.quantization_block {
            Some((rows, columns)) => {
                let weights = rows.saturating_mul(columns).max(1);
                Bits::new(8_000, 8_000 + 32_000_u32.div_ceil(weights))
            }
            None => Bits::new(8_000, 8_250),
        }
    } else if has(&["bitsandbytes", "bnb", "pack-quantized", "compressed-tensors", "modelopt", "mixed", "quark"]) {
        Bits::new(4_000, 8_000 + MAX_GROUP_OVERHEAD)
    } else {
        return None;
    })
}

/// Returns the bits of 4 or 8 bits with a scale and a zero for each group.
fn grouped(bits: u32, model: &Model) -> Bits {
    match model.quantization_group {
        // Without zeros a group has its scale of 16 bits alone, of 8 bits in some formats.
        Some(group) if group > 0 => Bits::new(bits, bits + 20_000_u32.div_ceil(group)),
        _ => Bits::new(bits, bits + MAX_GROUP_OVERHEAD),
    }
}

/// Returns the bits that an id claims: `nvidia/Qwen3-235B-A22B-NVFP4`.
fn by_id(id: &str, model: &Model) -> Option<Bits> {
    let id = id.to_ascii_lowercase();
    let name = id.rsplit('/').next()?;
    if name.contains("gguf") {
        return Some(Bits::new(MIN_BITS, 16_000));
    }
    let words = ["nvfp4", "mxfp4", "mxfp8", "int4", "4bit", "w4a", "awq", "int8", "8bit", "w8a", "fp8", "gptq"];
    let word = words.iter().find(|word| name.contains(**word))?;
    by_method(word, model)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(id: &'static str, quantization: Option<&'static str>, written: Option<&str>) -> (u32, u32, bool) {
        let model = Model { id: id.into(), quantization: quantization.map(Into::into), ..Model::default() };
        let settings = Settings { quantization: written, ..Settings::default() };
        let scheme = scheme(&model, &settings);
        (scheme.quantized.min, scheme.quantized.max, scheme.is_checkpoint)
    }

    #[test]
    fn a_checkpoint_decides_before_the_command_line() {
        assert_eq!(bits("a/b", None, None), (16_000, 16_000, false));
        assert_eq!(bits("a/b", Some("mxfp4"), None), (4_250, 4_250, true));
        assert_eq!(bits("a/b-NVFP4", None, None), (4_500, 16_000, true));
        assert_eq!(bits("a/b-NVFP4", Some("modelopt"), None), (4_500, 4_600, true));
        assert_eq!(bits("a/b-GPTQ-Int4", Some("gptq"), None), (4_000, 4_625, true));
        assert_eq!(bits("a/b", Some("who-knows"), None), (1_500, 16_000, true));
        assert_eq!(bits("a/b", None, Some("fp8")), (8_000, 16_000, false));
        assert_eq!(bits("a/b", Some("fp8"), Some("compressed-tensors")), (8_000, 8_250, true));
        assert_eq!(bits("a/b", None, Some("none")), (16_000, 16_000, false));
    }

    #[test]
    fn a_written_type_decides() {
        let model = Model { dtype: Some("float32".into()), ..Model::default() };
        let plain = |dtype| scheme(&model, &Settings { dtype, ..Settings::default() }).plain;
        assert_eq!(plain(None), Bits::new(16_000, 32_000));
        assert_eq!(plain(Some("auto")), plain(None));
        assert_eq!(plain(Some("half")), Bits::new(16_000, 16_000));
        assert_eq!(plain(Some("float32")), Bits::new(32_000, 32_000));
    }
}
