//! Published sizes, what must not be said, and how the answers change with memory, context and GPUs.

use proptest::prelude::*;

use super::*;
use crate::model::model;

const GIB: u64 = 1 << 30;

/// The model of an id with the sizes of its `config.json`, as far as they decide the size of its weights.
fn known(id: &'static str) -> Model {
    let base = |architecture: &'static str| Model {
        id: id.into(),
        architectures: vec![architecture.into()],
        tied_embeddings: Some(false),
        dtype: Some("bfloat16".into()),
        ..Model::default()
    };
    match id {
        "Qwen/Qwen3-8B" => Model {
            heads: Some(32),
            kv_heads: Some(8),
            head_dim: Some(128),
            layers: Some(36),
            hidden: Some(4096),
            intermediate: Some(12_288),
            vocab: Some(151_936),
            max_position: Some(40_960),
            ..base("Qwen3ForCausalLM")
        },
        "meta-llama/Llama-3.1-8B-Instruct" => Model {
            heads: Some(32),
            kv_heads: Some(8),
            layers: Some(32),
            hidden: Some(4096),
            intermediate: Some(14_336),
            vocab: Some(128_256),
            max_position: Some(131_072),
            ..base("LlamaForCausalLM")
        },
        "meta-llama/Llama-3.3-70B-Instruct" => Model {
            heads: Some(64),
            kv_heads: Some(8),
            layers: Some(80),
            hidden: Some(8192),
            intermediate: Some(28_672),
            vocab: Some(128_256),
            max_position: Some(131_072),
            ..base("LlamaForCausalLM")
        },
        "openai/gpt-oss-120b" => Model {
            heads: Some(64),
            kv_heads: Some(8),
            head_dim: Some(64),
            layers: Some(36),
            full_attention_layers: Some(18),
            is_hybrid: true,
            hidden: Some(2880),
            intermediate: Some(2880),
            experts: Some(128),
            vocab: Some(201_088),
            max_position: Some(131_072),
            quantization: Some("mxfp4".into()),
            ignored_modules: ["layers.*.mlp.router", "layers.*.self_attn", "lm_head"].map(Into::into).into(),
            ..base("GptOssForCausalLM")
        },
        "Qwen/Qwen3-235B-A22B-FP8" => Model {
            heads: Some(64),
            kv_heads: Some(4),
            head_dim: Some(128),
            layers: Some(94),
            hidden: Some(4096),
            intermediate: Some(12_288),
            moe_intermediate: Some(1536),
            experts: Some(128),
            vocab: Some(151_936),
            max_position: Some(40_960),
            quantization: Some("fp8".into()),
            quantization_block: Some((128, 128)),
            ignored_modules: vec!["lm_head".into()],
            ..base("Qwen3MoeForCausalLM")
        },
        "Qwen/Qwen3-30B-A3B" => Model {
            heads: Some(32),
            kv_heads: Some(4),
            head_dim: Some(128),
            layers: Some(48),
            hidden: Some(2048),
            intermediate: Some(6144),
            moe_intermediate: Some(768),
            experts: Some(128),
            vocab: Some(151_936),
            ..base("Qwen3MoeForCausalLM")
        },
        "Qwen/Qwen3-14B" => Model {
            heads: Some(40),
            kv_heads: Some(8),
            head_dim: Some(128),
            layers: Some(40),
            hidden: Some(5120),
            intermediate: Some(17_408),
            vocab: Some(151_936),
            ..base("Qwen3ForCausalLM")
        },
        "Qwen/Qwen2.5-7B-Instruct" => Model {
            heads: Some(28),
            kv_heads: Some(4),
            layers: Some(28),
            hidden: Some(3584),
            intermediate: Some(18_944),
            vocab: Some(152_064),
            ..base("Qwen2ForCausalLM")
        },
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-14B" => Model {
            heads: Some(40),
            kv_heads: Some(8),
            layers: Some(48),
            hidden: Some(5120),
            intermediate: Some(13_824),
            vocab: Some(152_064),
            ..base("Qwen2ForCausalLM")
        },
        "meta-llama/Llama-3.1-405B-Instruct-FP8" => Model {
            heads: Some(128),
            kv_heads: Some(8),
            layers: Some(126),
            hidden: Some(16_384),
            intermediate: Some(53_248),
            vocab: Some(128_256),
            quantization: Some("fbgemm_fp8".into()),
            ..base("LlamaForCausalLM")
        },
        "neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w8a8" => Model {
            quantization: Some("compressed-tensors".into()),
            id: id.into(),
            ..known("meta-llama/Llama-3.3-70B-Instruct")
        },
        "deepseek-ai/DeepSeek-V4-Pro" => Model {
            heads: Some(128),
            kv_heads: Some(1),
            head_dim: Some(512),
            layers: Some(61),
            hidden: Some(7168),
            moe_intermediate: Some(3072),
            experts: Some(384),
            shared_experts: Some(1),
            vocab: Some(129_280),
            quantization: Some("fp8".into()),
            quantization_block: Some((128, 128)),
            file_bytes: Some(864_727_240_540),
            ..base("DeepseekV4ForCausalLM")
        },
        "deepseek-ai/DeepSeek-V3" => Model {
            heads: Some(128),
            kv_heads: Some(128),
            layers: Some(61),
            hidden: Some(7168),
            intermediate: Some(18_432),
            moe_intermediate: Some(2048),
            experts: Some(256),
            shared_experts: Some(1),
            dense_layers: Some(3),
            vocab: Some(129_280),
            max_position: Some(163_840),
            mla_rank: Some(512),
            mla_rope_dim: Some(64),
            mla_nope_dim: Some(128),
            value_head_dim: Some(128),
            mla_query_rank: Some(1536),
            quantization: Some("fp8".into()),
            quantization_block: Some((128, 128)),
            ignored_modules: vec!["lm_head".into()],
            ..base("DeepseekV3ForCausalLM")
        },
        _ => panic!("{id}"),
    }
}

fn tensor_parallel(size: u32) -> Settings<'static> {
    Settings { tensor_parallel: size, ..Settings::default() }
}

/// Within 5 % of the middle of the interval.
fn is_close(interval: Interval, published: u64) -> bool {
    let middle = interval.min.midpoint(interval.max.unwrap_or(u64::MAX));
    middle.abs_diff(published) <= published / 20
}

/// Published sizes: the number of weights x 2 bytes (8 190 735 360, 8 030 261 248 and 70 553 706 496), 60.8 GiB (arXiv
/// 2508.10925, table 1), 235 093 634 560 and 671 billion weights (arXiv 2412.19437) of 8 bits.
#[test]
fn weights_are_those_that_are_published() {
    for (id, published) in [
        ("Qwen/Qwen3-8B", 16_381_470_720),
        ("meta-llama/Llama-3.1-8B-Instruct", 16_060_522_496),
        ("meta-llama/Llama-3.3-70B-Instruct", 141_107_412_992),
        ("openai/gpt-oss-120b", 65_283_502_899),
        ("Qwen/Qwen3-235B-A22B-FP8", 235_093_634_560),
        ("deepseek-ai/DeepSeek-V3", 671_026_419_200),
    ] {
        let bytes = weights(&known(id), &Settings::default());
        let is_within = bytes.min <= published && bytes.max.unwrap() >= published;
        assert!(is_within || is_close(bytes, published), "{id}: {bytes:?}, published {published}");
        assert!(bytes.min.abs_diff(published) <= published / 20, "{id}: {bytes:?}, published {published}");
    }
}

/// The sizes of these two are known to the byte, but for norms.
#[test]
fn the_lower_bound_is_not_above_the_weights() {
    for (id, weights_of_card) in
        [("Qwen/Qwen3-8B", 8_190_735_360_u64), ("meta-llama/Llama-3.1-8B-Instruct", 8_030_261_248)]
    {
        let bytes = weights(&known(id), &Settings::default());
        let card = weights_of_card * 2;
        assert!(bytes.min <= card && card <= bytes.max.unwrap() && card - bytes.min < card / 1000, "{id}: {bytes:?}");
    }
}

/// What engines report that the weights take of a GPU, in thousandths of a GiB. `docs/fit.md` has the same table with
/// the sources.
const REPORTED: &[(&str, u32, u32, u64)] = &[
    ("meta-llama/Llama-3.1-8B-Instruct", 1, 1, 14_990),
    ("meta-llama/Llama-3.1-8B-Instruct", 2, 1, 7_510),
    ("meta-llama/Llama-3.1-8B-Instruct", 4, 1, 3_770),
    ("meta-llama/Llama-3.1-8B-Instruct", 1, 2, 7_510),
    ("meta-llama/Llama-3.1-8B-Instruct", 1, 4, 4_260),
    ("Qwen/Qwen2.5-7B-Instruct", 1, 1, 14_250),
    ("Qwen/Qwen2.5-7B-Instruct", 2, 1, 7_120),
    ("Qwen/Qwen2.5-7B-Instruct", 4, 1, 3_550),
    ("Qwen/Qwen3-14B", 1, 1, 27_520),
    ("Qwen/Qwen3-30B-A3B", 4, 1, 14_247),
    ("deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", 2, 1, 13_948),
    ("meta-llama/Llama-3.1-405B-Instruct-FP8", 8, 1, 57_752),
    ("neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w8a8", 1, 1, 67_723),
    ("openai/gpt-oss-120b", 1, 1, 64_380),
    ("openai/gpt-oss-120b", 1, 1, 65_965),
    ("deepseek-ai/DeepSeek-V3", 8, 1, 79_410),
    ("deepseek-ai/DeepSeek-V4-Pro", 8, 1, 125_650),
];

/// The interval has what is reported; the lower bound may be above it by what rounding and 1 % explain.
#[test]
fn weights_are_those_that_engines_report() {
    for &(id, tensor_parallel, pipeline_parallel, thousandths) in REPORTED {
        let settings = Settings { tensor_parallel, pipeline_parallel, ..Settings::default() };
        let (bytes, reported) = (weights(&known(id), &settings), thousandths * GIB / 1000);
        println!("| {id} | {tensor_parallel} | {pipeline_parallel} | {thousandths} | {bytes} | {bytes:?}");
        let is_within = bytes.min <= reported + reported / 100 && reported <= bytes.max.unwrap();
        assert!(is_within, "{id} {tensor_parallel} {pipeline_parallel}: {bytes}, reported {reported}");
    }
}

/// What people report of a model: TP, context, memory of a GPU in hundredths of a GiB, permille of it, and whether it
/// ran. `docs/fit.md` has the sources.
const OUTCOMES: &[(&str, u32, u64, u64, u32, bool)] = &[
    ("meta-llama/Llama-3.1-8B-Instruct", 1, 8_192, 7919, 950, true),
    ("meta-llama/Llama-3.1-8B-Instruct", 1, 20_000, 2358, 900, true),
    ("meta-llama/Llama-3.1-8B-Instruct", 1, 29_000, 2358, 900, false),
    ("meta-llama/Llama-3.1-8B-Instruct", 1, 131_072, 1600, 900, false),
    ("Qwen/Qwen2.5-7B-Instruct", 1, 32_768, 7919, 950, true),
    ("Qwen/Qwen3-14B", 1, 8_192, 7919, 950, true),
    ("Qwen/Qwen3-30B-A3B", 4, 1_024, 2400, 900, true),
    ("deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", 2, 131_072, 2400, 980, false),
    ("meta-llama/Llama-3.1-405B-Instruct-FP8", 8, 131_072, 8000, 900, false),
    ("meta-llama/Llama-3.3-70B-Instruct", 1, 8_192, 8000, 900, false),
    ("neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w8a8", 1, 2_048, 8000, 980, true),
    ("openai/gpt-oss-120b", 1, 131_072, 7919, 950, false),
    ("deepseek-ai/DeepSeek-V3", 8, 163_840, 8000, 900, false),
    ("Qwen/Qwen3-235B-A22B-FP8", 4, 40_960, 7919, 900, true),
];

#[test]
fn what_ran_can_and_what_did_not_is_not_said_to_fit() {
    for &(id, tensor_parallel, context, memory, utilization, has_run) in OUTCOMES {
        let settings = Settings { tensor_parallel, context: Some(context), ..Settings::default() };
        let memory = Interval::exactly(memory * GIB / 100);
        let assessment = assess(&known(id), &settings, memory, utilization);
        println!(
            "OUT | {id} | {tensor_parallel} | {context} | {has_run} | {} | {} of {}",
            assessment.fit.as_str(),
            assessment.demand.total(),
            assessment.budget
        );
        assert_ne!(assessment.fit, if has_run { Fit::Cannot } else { Fit::Fits }, "{id} {context}: {assessment:?}");
    }
}

/// GiB of the cache and the tokens that have place in it, as vLLM and SGLang report them.
#[test]
fn tokens_are_as_large_as_engines_report() {
    for (id, tensor_parallel, hundredths, tokens) in [
        ("meta-llama/Llama-3.1-8B-Instruct", 1, 5811, 476_016),
        ("Qwen/Qwen2.5-7B-Instruct", 1, 5853, 1_096_000),
        ("Qwen/Qwen3-235B-A22B-FP8", 4, 811, 178_880),
        ("Qwen/Qwen3-235B-A22B-FP8", 4, 1646, 367_404),
    ] {
        let settings = Settings { tensor_parallel, kv_cache_dtype: Some("bfloat16"), ..Settings::default() };
        let token = kv_cache_per_token(&known(id), &settings);
        let reported = hundredths * GIB / 100 / tokens;
        println!("| {id} | {tensor_parallel} | {reported} | {token:?}");
        assert!(
            token.min.abs_diff(reported) <= reported / 50 && token.max == Some(token.min),
            "{id}: {token:?} {reported}"
        );
    }
}

#[test]
fn a_70b_cannot_run_on_an_l4_and_an_8b_may() {
    let l4 = crate::gpu("L4-24GB").unwrap();
    let memory = Interval::between(l4.min_memory, l4.max_memory);
    let settings = Settings { context: Some(8192), ..Settings::default() };
    for large in [known("meta-llama/Llama-3.3-70B-Instruct"), model("meta-llama/Llama-3.3-70B-Instruct").unwrap()] {
        let assessment = assess(&large, &settings, memory, 900);
        assert_eq!((assessment.fit, assessment.largest_context), (Fit::Cannot, None));
    }
    for small in [known("meta-llama/Llama-3.1-8B-Instruct"), known("Qwen/Qwen3-8B")] {
        assert_ne!(assess(&small, &settings, memory, 900).fit, Fit::Cannot);
        // The whole context of Llama is 16 GiB: more than what is left (domain.md, section 4).
        let whole = Settings { context: Some(131_072), ..settings };
        assert_eq!(assess(&small, &whole, memory, 900).fit, Fit::Cannot);
    }
}

/// vLLM says 16.00 GiB for 131072 tokens of Llama 3.1 8B (tpu-inference PR 223), 22.5 GiB for 1048576 tokens of
/// Mistral Small 4 (kaito issue 2132), and 69.4 KB for a token of DeepSeek-V3.
#[test]
fn the_cache_is_what_engines_say() {
    let llama = known("meta-llama/Llama-3.1-8B-Instruct");
    assert_eq!(kv_cache_per_sequence(&llama, &Settings::default(), 131_072), Interval::exactly(16 * GIB));
    assert_eq!(kv_cache_per_token(&llama, &tensor_parallel(4)), Interval::exactly(32_768));
    // At least one head is on each GPU.
    assert_eq!(kv_cache_per_token(&llama, &tensor_parallel(32)), Interval::exactly(16_384));
    let fp8 = Settings { kv_cache_dtype: Some("fp8_e4m3"), ..Settings::default() };
    let eight = kv_cache_per_token(&llama, &fp8);
    assert!(eight.min == 65_536 && eight.max.unwrap() <= 65_536 * 9 / 8, "{eight:?}");
    let mistral = model("mistralai/Mistral-Small-4-119B-2603").unwrap();
    let sequence = kv_cache_per_sequence(&mistral, &Settings::default(), 1_048_576);
    assert_eq!(sequence.max, Some(45 * GIB / 2));
    let deepseek = known("deepseek-ai/DeepSeek-V3");
    let token = kv_cache_per_token(&deepseek, &tensor_parallel(8));
    assert_eq!(token, Interval::exactly(61 * 576 * 2));
    assert_eq!(token, kv_cache_per_token(&deepseek, &Settings::default()), "latent attention is not divided");
}

/// Half of gpt-oss's layers have a window of 128 tokens, which counts in the upper bound alone.
#[test]
fn layers_of_other_kinds_count_in_the_upper_bound_alone() {
    let oss = known("openai/gpt-oss-120b");
    let token = kv_cache_per_token(&oss, &Settings { kv_cache_dtype: Some("bfloat16"), ..Settings::default() });
    assert_eq!(token, Interval::between(18 * 2 * 8 * 64 * 2, 36 * 2 * 8 * 64 * 2));
    let unclear = Model { full_attention_layers: None, ..oss };
    assert_eq!(kv_cache_per_token(&unclear, &Settings::default()).min, 0);
    assert_eq!(kv_cache_per_token(&Model::default(), &Settings::default()), Interval::UNKNOWN);
}

/// gpt-oss-120b runs on one H100 with 80 GB, and DeepSeek-V3 on eight H200, but not on eight H100.
#[test]
fn models_run_where_people_run_them() {
    let memory = |name: &str| {
        let gpu = crate::gpu(name).unwrap();
        Interval::between(gpu.min_memory, gpu.max_memory)
    };
    let oss = known("openai/gpt-oss-120b");
    assert_ne!(assess(&oss, &tensor_parallel(1), memory("H100-SXM-80GB"), 900).fit, Fit::Cannot);
    let deepseek = known("deepseek-ai/DeepSeek-V3");
    assert_eq!(assess(&deepseek, &tensor_parallel(8), memory("H100-SXM-80GB"), 900).fit, Fit::Cannot);
    let on_h200 = assess(&deepseek, &tensor_parallel(8), memory("H200-SXM-141GB"), 900);
    assert_eq!((on_h200.fit, on_h200.largest_context), (Fit::Fits, Some(163_840)));
    let (fewest, most) = on_h200.sequences_at_full_context.unwrap();
    assert!(0 < fewest && fewest <= most, "{fewest} {most}");
    let two_nodes = Settings { pipeline_parallel: 2, ..tensor_parallel(8) };
    assert_ne!(assess(&deepseek, &two_nodes, memory("H100-SXM-80GB"), 900).fit, Fit::Cannot);
    let spread = Settings { expert_parallel: 16, ..tensor_parallel(1) };
    let wide = weights(&deepseek, &spread);
    assert!(wide.max.unwrap() < 90 * GIB && wide.min > 40 * GIB, "{wide}");
}

#[test]
fn what_is_not_known_never_fits() {
    let nothing = assess(&Model::default(), &Settings::default(), Interval::exactly(u64::MAX), 900);
    assert_eq!((nothing.fit, nothing.demand.weights), (Fit::Unknown, Interval::UNKNOWN));
    assert_eq!((nothing.largest_context, nothing.sequences_at_full_context), (None, None));
    // An architecture that is not known is judged by its files alone.
    let files = Model { file_bytes: Some(21 * GIB), layers: Some(1), hidden: Some(1), ..Model::default() };
    assert_eq!(weights(&files, &Settings::default()), Interval::between(10 * GIB, 21 * GIB * 21 / 20 + 1));
    let llama = known("meta-llama/Llama-3.1-8B-Instruct");
    let sparse = Model { intermediate: None, ..llama };
    let bytes = weights(&sparse, &Settings::default());
    assert!(bytes.min > 0 && bytes.max.is_none(), "{bytes:?}");
    assert_eq!(assess(&sparse, &Settings::default(), Interval::exactly(80 * GIB), 900).fit, Fit::Unknown);
    assert_eq!(assess(&sparse, &Settings::default(), Interval::exactly(GIB), 900).fit, Fit::Cannot);
}

/// A quantization that is only written counts in the lower bound alone: engines have loaded the whole model first.
#[test]
fn a_written_quantization_lowers_the_lower_bound_alone() {
    let llama = known("meta-llama/Llama-3.1-8B-Instruct");
    let plain = weights(&llama, &Settings::default());
    let fp8 = weights(&llama, &Settings { quantization: Some("fp8"), ..Settings::default() });
    assert_eq!(fp8.max, plain.max);
    // vLLM 0.19 reports 8.49 GiB.
    assert!(fp8.min < 849 * GIB / 100 && fp8.min > 7 * GIB, "{fp8}");
    let wide = weights(&llama, &Settings { dtype: Some("float32"), ..Settings::default() });
    // vLLM 0.19 reports 29.98 GiB.
    assert!(is_close(wide, 2998 * GIB / 100), "{wide}");
}

/// Of nearly all models the upper bound of the weights is known, without which the answer is `unknown` wherever it is
/// not `cannot`. Without the sizes of feed-forward layers in the data, only the sizes of files say something.
#[test]
fn most_models_have_an_answer() {
    let (known, unknown): (Vec<Model>, Vec<Model>) =
        crate::model::models().partition(|model| weights(model, &Settings::default()).max.is_some());
    let has_sizes = model("Qwen/Qwen3-8B").unwrap().intermediate.is_some();
    let ids: Vec<_> = unknown.iter().map(|model| &model.id).collect();
    assert!(known.len() >= if has_sizes { 120 } else { 60 }, "{} without an upper bound: {ids:#?}", ids.len());
}

/// Sizes and files that contradict each other: neither is believed, on however many GPUs.
#[test]
fn contradictions_widen_the_bounds() {
    let llama = Model { file_bytes: Some(GIB), ..known("meta-llama/Llama-3.1-8B-Instruct") };
    let bytes = weights(&llama, &Settings::default());
    assert!(bytes.min < GIB / 2 && bytes.max.unwrap() > 15 * GIB, "{bytes}");
    assert!(weights(&llama, &tensor_parallel(64)).min < bytes.min);
}

fn rank(fit: Fit) -> u8 {
    match fit {
        Fit::Cannot => 0,
        Fit::Marginal | Fit::Unknown => 1,
        Fit::Fits => 2,
    }
}

fn models() -> impl Strategy<Value = Model> {
    let ids = [
        "Qwen/Qwen3-8B",
        "meta-llama/Llama-3.1-8B-Instruct",
        "meta-llama/Llama-3.3-70B-Instruct",
        "openai/gpt-oss-120b",
        "Qwen/Qwen3-235B-A22B-FP8",
        "deepseek-ai/DeepSeek-V3",
    ];
    let all: Vec<Model> = ids.into_iter().map(known).chain(crate::model::models()).collect();
    // With any field unknown, or of any size.
    (prop::sample::select(all), 0..9_u8, prop::option::of(any::<u32>())).prop_map(|(mut model, field, value)| {
        match field {
            0 => model.intermediate = value,
            1 => model.experts = value,
            2 => model.layers = value,
            3 => model.hidden = value,
            4 => model.kv_heads = value,
            5 => model.file_bytes = value.map(u64::from),
            6 => model.vocab = value,
            _ => {}
        }
        model
    })
}

fn settings() -> impl Strategy<Value = Settings<'static>> {
    let sizes = || prop::sample::select(vec![0, 1, 2, 3, 4, 8, 16, u32::MAX]);
    let words = || {
        let words = ["auto", "bfloat16", "float32", "fp8", "awq", "bitsandbytes", "?"];
        prop::option::of(prop::sample::select(words.to_vec()))
    };
    (sizes(), sizes(), sizes(), prop::option::of(any::<u64>()), words(), words(), words()).prop_map(
        |(tensor_parallel, pipeline_parallel, expert_parallel, context, dtype, quantization, kv_cache_dtype)| {
            Settings {
                tensor_parallel,
                pipeline_parallel,
                expert_parallel,
                context,
                dtype,
                quantization,
                kv_cache_dtype,
                ..Settings::default()
            }
        },
    )
}

proptest! {
    #[test]
    fn bounds_are_in_order(model in models(), settings in settings()) {
        let assessment = assess(&model, &settings, Interval::exactly(80 * GIB), 900);
        let demand = assessment.demand;
        for interval in [demand.weights, demand.kv_cache, demand.overhead, demand.total()] {
            prop_assert!(interval.max.is_none_or(|max| interval.min <= max), "{interval:?}");
        }
    }

    #[test]
    fn more_memory_is_never_worse(
        model in models(),
        settings in settings(),
        least in 0..200 * GIB,
        width in 0..10 * GIB,
        more in 0..200 * GIB,
    ) {
        let fit = |by: u64| assess(&model, &settings, Interval::between(least + by, least + width + by), 900);
        let (few, many) = (fit(0), fit(more));
        prop_assert!(rank(many.fit) >= rank(few.fit), "{few:?} {many:?}");
        prop_assert!(many.largest_context >= few.largest_context);
    }

    #[test]
    fn more_context_is_never_better(
        model in models(),
        settings in settings(),
        memory in 0..200 * GIB,
        context in 0..2_000_000_u64,
        more in 0..2_000_000_u64,
    ) {
        let fit = |context: u64| {
            assess(&model, &Settings { context: Some(context), ..settings }, Interval::exactly(memory), 900).fit
        };
        prop_assert!(rank(fit(context + more)) <= rank(fit(context)));
    }

    #[test]
    fn more_gpus_never_need_more_at_least(
        model in models(),
        settings in settings(),
        one in 1..64_u32,
        more in 0..64_u32,
    ) {
        let demand = |tensor_parallel: u32| {
            let settings = Settings { tensor_parallel, ..settings };
            assess(&model, &settings, Interval::exactly(80 * GIB), 900)
        };
        let (few, many) = (demand(one), demand(one + more));
        prop_assert!(many.demand.total().min <= few.demand.total().min, "{few:?} {many:?}");
        prop_assert!(few.fit != Fit::Fits || many.fit != Fit::Cannot);
    }

    #[test]
    fn the_largest_context_fits(model in models(), settings in settings(), memory in 0..400 * GIB) {
        let memory = Interval::exactly(memory);
        if let Some(tokens) = assess(&model, &settings, memory, 900).largest_context {
            let fit = assess(&model, &Settings { context: Some(tokens), ..settings }, memory, 900).fit;
            prop_assert_eq!(fit, Fit::Fits);
        }
    }
}
