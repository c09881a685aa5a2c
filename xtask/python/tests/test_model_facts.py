"""Facts of models, from small configurations."""

import json
import unittest

from model_facts.__main__ import lines
from model_facts.config import facts_of
from model_facts.quantization import patterns, ranges

from .wheels import WheelTest


def facts(config, **hf_quant_config):
    return {key: value for key, value in facts_of(config, hf_quant_config).items() if value not in (None, [])}


class ModelTest(WheelTest):
    def test_a_wheel_has_a_line_for_each_configuration(self):
        config = {
            "architectures": ["BForCausalLM"], "num_attention_heads": 4, "hidden_size": 64, "torch_dtype": "bfloat16",
        }
        quantization = {"quantization": {"quant_algo": "NVFP4", "group_size": 16}}
        wheel = self.wheel({
            "demo/model_configs/org--b_config.json": json.dumps(config),
            "demo/model_configs/Org--A--x_config.json": json.dumps(config | {"num_key_value_heads": 2}),
            "demo/model_configs/org--b_hf_quant_config.json": json.dumps(quantization),
            "demo/other_config.json": "{}",
        })
        self.assertEqual(lines(wheel), [
            "Org/A--x architectures=BForCausalLM heads=4 kvHeads=2 hidden=64 dtype=bfloat16",
            "org/b architectures=BForCausalLM heads=4 kvHeads=4 hidden=64 dtype=bfloat16 quantization=modelopt "
            "quantizationFormat=nvfp4 group=16",
        ])

    def test_the_language_model_of_a_multimodal_one_counts(self):
        config = {"architectures": ["A"], "hidden_size": 1, "text_config": {"hidden_size": 2, "num_experts": None}}
        self.assertEqual(facts(config), {"architectures": ["A"], "hidden": 2})


class AttentionTest(unittest.TestCase):
    def test_layers_that_keep_every_token_are_counted(self):
        for config, expected in [
            ({"layer_types": ["full_attention", "sliding_attention"] * 2, "num_hidden_layers": 4}, (2, True)),
            # More types than layers: those of multi-token prediction follow.
            ({"layer_types": ["full_attention", "sliding_attention"], "num_hidden_layers": 1}, (None, None)),
            # Sparse attention chooses among all tokens.
            ({"layer_types": ["deepseek_sparse_attention"] * 2, "num_hidden_layers": 2}, (None, None)),
            ({"layers_block_type": ["mamba", "moe", "attention", "moe"]}, (1, True)),
            ({"hybrid_override_pattern": "M-M*-", "num_hidden_layers": 5}, (1, True)),
            ({"hybrid_layer_pattern": [0, 1, 1], "num_hidden_layers": 3}, (1, True)),
            ({"linear_attn_config": {"full_attn_layers": [2], "kda_layers": [1, 3]}}, (1, True)),
            ({"block_configs": [{"attention": {"n_heads_in_group": 2}}, {"attention": {"no_op": True}}],
              "num_attention_heads": 4, "num_hidden_layers": 2}, (1, True)),
            # It is not known which layers have the window.
            ({"sliding_window": 8, "num_hidden_layers": 2}, (None, True)),
            ({"sliding_window": 8, "use_sliding_window": False, "num_hidden_layers": 2}, (None, None)),
            ({"attention_chunk_size": 8, "num_hidden_layers": 2}, (None, True)),
        ]:
            with self.subTest(config):
                found = facts(config)
                self.assertEqual((found.get("fullLayers"), found.get("hybrid")), expected)

    def test_pruned_layers_give_the_size_of_groups(self):
        blocks = [{"attention": {"n_heads_in_group": 8}}, {"attention": {"n_heads_in_group": None, "no_op": True}}]
        self.assertEqual(facts({"num_attention_heads": 64, "block_configs": blocks})["kvHeads"], 8)

    def test_plain_positions_are_not_stretched(self):
        for rope, expected in [
            ({"rope_scaling": {"rope_type": "yarn", "factor": 4}}, True),
            ({"rope_scaling": {"type": "yarn"}}, True),
            ({"rope_scaling": {"rope_type": "default", "mrope_section": [1]}}, None),
            ({"rope_parameters": {"full_attention": {"rope_type": "proportional"}, "sliding_attention": {}}}, None),
            ({"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}, True),
        ]:
            with self.subTest(rope):
                self.assertEqual(facts(rope).get("ropeScaling"), expected)


class FeedForwardTest(unittest.TestCase):
    def test_sizes_of_experts_and_dense_layers_are_told_apart(self):
        experts = {"moe_intermediate_size": 2, "num_experts": 4}
        keys = ("intermediate", "moeIntermediate", "sharedExperts", "sharedIntermediate", "denseLayers")
        for config, expected in [
            ({"intermediate_size": 8}, (8, None, None, None, None)),
            ({"intermediate_size": 8, "num_local_experts": 4}, (8, 8, None, None, None)),
            ({"intermediate_size": 8, "moe_intermediate_size": 2, "n_routed_experts": 4, "n_shared_experts": 1,
              "first_k_dense_replace": 3}, (8, 2, 1, None, 3)),
            ({"intermediate_size": 2, "intermediate_size_mlp": 8, "num_experts": 4, "interleave_moe_layer_step": 2,
              "num_hidden_layers": 6}, (8, 2, None, None, 3)),
            (experts | {"shared_expert_intermediate_size": 6}, (None, 2, 1, 6, None)),
            (experts | {"shared_expert_intermediate_size": 0}, (None, 2, None, None, None)),
            (experts | {"moe_layer_freq": [0, 1, 1]}, (None, 2, None, None, 1)),
        ]:
            with self.subTest(config):
                found = facts(config)
                self.assertEqual(tuple(found.get(key) for key in keys), expected)


class QuantizationTest(unittest.TestCase):
    def test_each_library_describes_it_differently(self):
        keys = ("quantization", "quantizationFormat", "block", "group", "kvCacheQuantization")
        group = {"group_0": {"weights": {"group_size": 16}}}
        for config, expected in [
            ({"quant_method": "fp8", "weight_block_size": [128, 64]}, ("fp8", None, "128x64", None, None)),
            ({"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": group},
             ("compressed-tensors", "pack-quantized", None, 16, None)),
            ({"quant_algo": "NVFP4", "config_groups": group, "kv_cache_scheme": {"type": "float", "num_bits": 8}},
             ("modelopt", "nvfp4", None, 16, "fp8")),
        ]:
            with self.subTest(config):
                found = facts({"quantization_config": config})
                self.assertEqual(tuple(found.get(key) for key in keys), expected)

    def test_modules_are_joined_over_layers(self):
        modules = [f"model.layers.{layer}.mlp.gate" for layer in range(3)]
        modules += ["lm_head", "model.layers.0.input_layernorm", "model.layers.0.mlp", "model.layers.2.mlp"]
        self.assertEqual(patterns(modules, 3), ["layers.*.mlp.gate", "layers.0+2.mlp", "lm_head"])
        self.assertEqual(ranges({1, 2, 3, 7}, 9), "1-3+7")


if __name__ == "__main__":
    unittest.main()
