"""Facts about the quantization of a checkpoint, from `quantization_config`, or ModelOpt's `hf_quant_config.json`."""

import re

# The longest list of modules that a line has; a longer one says nothing that a reader could use.
MAX_IGNORED = 40


def quantization_facts(config, hf_quant_config, layers):
    described = config.get("quantization_config") or {}
    modelopt = hf_quant_config.get("quantization") or {}
    if not described and not modelopt:
        return {"expertDtype": config.get("expert_dtype")}
    group = (described.get("config_groups") or {}).get("group_0") or {}
    weights = group.get("weights") or {}
    # A configuration that ModelOpt wrote may lack the method.
    method = described.get("quant_method") or "modelopt"
    ignored = (
        described.get("ignore") or described.get("modules_to_not_convert") or described.get("exclude_modules")
        or modelopt.get("exclude_modules") or []
    )
    block = described.get("weight_block_size")
    return {
        "quantization": method.lower(),
        "quantizationFormat": lower(
            described.get("format") or described.get("quant_algo") or modelopt.get("quant_algo"),
        ),
        "block": f"{block[0]}x{block[1]}" if block else None,
        "group": weights.get("group_size") or described.get("group_size") or modelopt.get("group_size"),
        "kvCacheQuantization": kv_cache(described, modelopt),
        "expertDtype": config.get("expert_dtype"),
        "ignored": patterns(ignored, layers),
    }


def lower(text):
    return text.lower() if text else None


def kv_cache(described, modelopt):
    scheme = described.get("kv_cache_scheme") or described.get("kv_cache_quant_algo")
    if isinstance(scheme, dict):
        return {("float", 8): "fp8", ("int", 8): "int8", ("float", 4): "fp4"}.get(
            (scheme.get("type"), scheme.get("num_bits")),
        )
    return lower(scheme or modelopt.get("kv_cache_quant_algo"))


def patterns(modules, layers):
    """The modules without normalization layers, whose weights are not quantized in any case, joined over layers.

    `model.layers.0.mlp.gate` to `model.layers.77.mlp.gate` become `layers.*.mlp.gate` if the model has 78 layers, and
    `layers.0-77.mlp.gate` if it has more.
    """
    joined = {}
    for module in modules:
        if "norm" in module or module.endswith("e_score_correction_bias"):
            continue
        # The parts before the name of a module differ between multimodal models and others.
        module = re.sub(r"^(model|language_model|backbone)\.", "", module)
        module = re.sub(r"^(model|language_model|backbone)\.", "", module)
        head, number, tail = re.fullmatch(r"(layers\.)(\d+)(.*)|.*", module).group(1, 2, 3)
        numbers = joined.setdefault((head, tail) if number else (module, None), set())
        if number:
            numbers.add(int(number))
    names = [
        head if tail is None else f"{head}{ranges(numbers, layers)}{tail}" for (head, tail), numbers in joined.items()
    ]
    names = sorted(set(names))
    return names if len(names) <= MAX_IGNORED else []


def ranges(numbers, layers):
    """Numbers of layers as text: `*` for all, `0-2+61`."""
    if layers and numbers >= set(range(layers)):
        return "*"
    spans = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return "+".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
