"""The facts of SGLang."""

import ast

from .trees import (
    assertions, assigned, config_files, dictionary, methods, min_capabilities, quantized_methods, tree_of, trees_below,
    updates,
)

QUANTIZATION = "sglang/srt/layers/quantization/"

# What the engine refuses when it starts: a name, and a part of the message.
ASSERTIONS = {
    "expert-parallel": "must be divisible by ep_size",
    "quantization": "does not match the quantization",
}


def extract(wheel):
    package = tree_of(wheel, f"{QUANTIZATION}__init__.py")
    table = "BASE_QUANTIZATION_METHODS"
    # Methods that only some platforms have are methods: `update` runs under a condition.
    entries = updates(package, table) | dictionary(package, table)
    tool_parsers = tree_of(wheel, "sglang/srt/function_call/function_call_parser.py")
    reasoning_parsers = tree_of(wheel, "sglang/srt/parser/reasoning_parser.py", "sglang/srt/reasoning_parser.py")
    models = trees_below(wheel, "sglang/srt/models/")
    quantization = trees_below(wheel, QUANTIZATION)
    runtime = trees_below(wheel, "sglang/srt/configs/", "sglang/srt/model_executor/")
    return {
        "architecture": sorted({name for tree in models for name in entry_classes(tree)}),
        "dropped": {},
        "method": dict(sorted(methods(entries, min_capabilities(quantization)).items())),
        "checkpoint": quantized_methods(entries, config_files(quantization)),
        "bfloat16": [],
        "assertion": assertions(runtime, ASSERTIONS),
        "tool": sorted(dictionary(tool_parsers, "ToolCallParserEnum")),
        "reasoning": sorted(dictionary(reasoning_parsers, "DetectorMap")),
    }


def entry_classes(tree):
    """The classes of a module by which models are found: `EntryClass = A`, or a list of classes."""
    value = assigned(tree, "EntryClass")
    return [node.id for node in ast.walk(value) if isinstance(node, ast.Name)] if value else []
