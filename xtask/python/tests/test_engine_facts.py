"""Facts of engines, from small packages."""

from engine_facts import sglang, vllm

from .wheels import WheelTest

QUANTIZATION = {
    "vllm/model_executor/layers/quantization/__init__.py": """
        QuantizationMethods = Literal["fp8", "inherited", "online_fp8"]

        def get_quantization_config(name):
            method_to_config: dict[str, type] = {"fp8": Fp8Config, "inherited": ChildConfig, "decides": DecidingConfig}
            for shorthand in SHORTHANDS:
                method_to_config.setdefault(shorthand, Fp8Config)
        """,
    "vllm/model_executor/layers/quantization/fp8.py": """
        class Fp8Config(QuantizationConfig):
            @classmethod
            def get_min_capability(cls) -> int:
                return 75

            def get_config_filenames(cls) -> list[str]:
                return []

        class ChildConfig(Fp8Config):
            def get_config_filenames(cls):
                return ["quantize_config.json"]

        class DecidingConfig(QuantizationConfig):
            def get_min_capability(cls):
                if here:
                    return 80
                return -1
        """,
}

REGISTRY = {
    "vllm/model_executor/models/registry.py": """
        _TEXT_MODELS = {"AForCausalLM": ("a", "AForCausalLM")}
        _OTHER_MODELS = {"BModel": ("b", "BModel")}
        _VLLM_MODELS = {**_TEXT_MODELS, **_OTHER_MODELS}
        _PREVIOUSLY_SUPPORTED_MODELS = {"CModel": "0.9.2"}
        """,
}


class VllmTest(WheelTest):
    def test_tables_of_newer_versions(self):
        found = vllm.extract(self.wheel({
            **QUANTIZATION, **REGISTRY,
            "vllm/tool_parsers/__init__.py": '_TOOL_PARSERS_TO_REGISTER = {"hermes": ("m", "C")}',
            "vllm/reasoning/__init__.py": '_REASONING_PARSERS_TO_REGISTER = {"qwen3": ("m", "C")}',
        }))
        self.assertEqual(found, {
            "architecture": ["AForCausalLM", "BModel"],
            "dropped": {"CModel": "0.9.2"},
            "method": {"decides": None, "fp8": "7.5", "inherited": "7.5", "online_fp8": None},
            "checkpoint": ["inherited"],
            "bfloat16": [],
            "assertion": [],
            "tool": ["hermes"],
            "reasoning": ["qwen3"],
        })

    def test_what_the_configuration_refuses(self):
        found = vllm.extract(self.wheel({
            **QUANTIZATION, **REGISTRY,
            "vllm/config/model.py": """
                _FLOAT16_NOT_SUPPORTED_MODELS = {"gemma2": "Numerical instability."}
                _ONLINE_SHORTHANDS = {"inherited": Args()}

                def verify(self):
                    raise ValueError(
                        f"Target and draft model should have the same vocabulary size. "
                        f"Target model vocab_size={size}."
                    )
                """,
        }))
        self.assertEqual(
            (found["checkpoint"], found["bfloat16"], found["assertion"]), ([], ["gemma2"], ["draft-vocabulary"])
        )

    def test_registered_classes_of_older_versions(self):
        found = vllm.extract(self.wheel({
            **QUANTIZATION, **REGISTRY,
            "vllm/entrypoints/openai/tool_parsers/hermes.py": """
                @ToolParserManager.register_module(["hermes", "hermes2"])
                class HermesParser: ...
                """,
            "vllm/reasoning/qwen3.py": """
                @ReasoningParserManager.register_module("qwen3")
                class Qwen3Parser: ...
                """,
        }))
        self.assertEqual((found["tool"], found["reasoning"]), (["hermes", "hermes2"], ["qwen3"]))

    def test_a_package_without_a_registry_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "registry.py: where is it now"):
            vllm.extract(self.wheel(QUANTIZATION))


class SglangTest(WheelTest):
    def test_classes_tables_and_conditional_methods(self):
        found = sglang.extract(self.wheel({
            # A byte order mark is not part of the source.
            "sglang/srt/models/a.py": "\ufeffEntryClass = [AForCausalLM, AModel]",
            "sglang/srt/models/b.py": "EntryClass = BForCausalLM",
            "sglang/srt/layers/quantization/__init__.py": """
                BASE_QUANTIZATION_METHODS: Dict[str, Type] = {"fp8": Fp8Config}
                if is_npu():
                    BASE_QUANTIZATION_METHODS.update({"gptq": GPTQConfig})
                """,
            "sglang/srt/layers/quantization/fp8.py": """
                class Fp8Config:
                    def get_min_capability(self):
                        return 89
                """,
            "sglang/srt/function_call/function_call_parser.py": """
                class FunctionCallParser:
                    ToolCallParserEnum: Dict[str, Type] = {"hermes": HermesDetector}
                """,
            "sglang/srt/parser/reasoning_parser.py": """
                class ReasoningParser:
                    DetectorMap: Dict[str, Type] = {"deepseek-r1": Detector}
                """,
        }))
        self.assertEqual(found, {
            "architecture": ["AForCausalLM", "AModel", "BForCausalLM"],
            "dropped": {},
            "method": {"fp8": "8.9", "gptq": None},
            "checkpoint": [],
            "bfloat16": [],
            "assertion": [],
            "tool": ["hermes"],
            "reasoning": ["deepseek-r1"],
        })
