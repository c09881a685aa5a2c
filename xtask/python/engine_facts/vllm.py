"""The facts of vLLM."""

from .trees import (
    assertions, assigned, config_files, dictionary, methods, min_capabilities, quantized_methods, registered, strings,
    tree_of, trees_below,
)

QUANTIZATION = "vllm/model_executor/layers/quantization/"

# What the engine refuses when it starts: a name, and a part of the message.
ASSERTIONS = {
    "auto-tool-choice": "--enable-auto-tool-choice requires --tool-call-parser",
    "draft-tensor-parallel": "cannot be other value than 1 or target model",
    "draft-vocabulary": "Target and draft model should have the same vocabulary size",
    "eplb": "enable_expert_parallel must be True to use EPLB",
    "experts": "Number of experts in the model must be greater than 0",
    "quantization": "does not match the quantization",
}


def extract(wheel):
    registry = tree_of(wheel, "vllm/model_executor/models/registry.py")
    config = trees_below(wheel, "vllm/config/", "vllm/config.py")
    return {
        "architecture": sorted(dictionary(registry, "_VLLM_MODELS")),
        "dropped": {
            name: strings(version)[0] for name, version in dictionary(registry, "_PREVIOUSLY_SUPPORTED_MODELS").items()
        },
        "method": quantization_methods(wheel),
        "checkpoint": checkpoint_methods(wheel, config),
        "bfloat16": sorted(
            name for tree in config for name in dictionary(tree, "_FLOAT16_NOT_SUPPORTED_MODELS")
        ),
        "assertion": assertions([*config, *trees_below(wheel, "vllm/entrypoints/")], ASSERTIONS),
        "tool": parsers(
            wheel, ("vllm/tool_parsers/", "vllm/entrypoints/openai/tool_parsers/"), "_TOOL_PARSERS_TO_REGISTER",
            "ToolParserManager",
        ),
        "reasoning": parsers(
            wheel, ("vllm/reasoning/",), "_REASONING_PARSERS_TO_REGISTER", "ReasoningParserManager",
        ),
    }


def quantization_methods(wheel):
    package = tree_of(wheel, f"{QUANTIZATION}__init__.py")
    trees = trees_below(wheel, QUANTIZATION, "vllm/models/")
    entries = dictionary(package, "method_to_config")
    # Names that are listed, but whose class a loop adds, are methods without a known bound.
    listed = assigned(package, "QuantizationMethods")
    found = methods(entries, min_capabilities(trees))
    return {name: found.get(name) for name in sorted({*found, *(strings(listed) if listed else [])})}


def checkpoint_methods(wheel, config):
    """The methods that need a checkpoint with their configuration: others quantize while they load."""
    entries = dictionary(tree_of(wheel, f"{QUANTIZATION}__init__.py"), "method_to_config")
    online = {name for tree in config for name in dictionary(tree, "_ONLINE_SHORTHANDS")}
    found = quantized_methods(entries, config_files(trees_below(wheel, QUANTIZATION)))
    return [name for name in found if name not in online]


def parsers(wheel, folders, table, manager):
    """The names of parsers: newer versions list them in a table, older ones register classes."""
    trees = trees_below(wheel, *folders)
    names = {name for tree in trees for name in dictionary(tree, table)} | set(registered(trees, manager))
    # The documentation of the manager has an example.
    return sorted(names - {"example"})
