"""Reads the facts of a `config.json`. Its keys differ between families of models, and each fact lists them."""

from .attention import attention_facts
from .quantization import quantization_facts

# Names of the part that describes the language model of a multimodal one.
TEXT_PARTS = ("text_config", "llm_config", "language_config")

# Types of positions that do not stretch the context beyond the one for which the model was trained.
PLAIN_POSITIONS = (None, "default", "mrope", "proportional")


class Config:
    """A configuration whose keys are searched in the language model's part first."""

    def __init__(self, whole):
        self.whole = whole
        self.text = next((whole[part] for part in TEXT_PARTS if isinstance(whole.get(part), dict)), whole)

    def get(self, *keys):
        """The value of the first key that has one. Null is not a value."""
        for part in (self.text, self.whole):
            for key in keys:
                if part.get(key) is not None:
                    return part[key]
        return None

    def number(self, *keys):
        """A number above zero: configurations write 0 for what a model does not have."""
        value = self.get(*keys)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def facts_of(whole, hf_quant_config):
    """The facts of a model, by the keys of a line, in the order in which they are written."""
    config = Config(whole)
    layers = layers_of(config)
    facts = {"architectures": whole.get("architectures") or []}
    facts |= attention_facts(config, layers)
    facts |= {"hidden": config.number("hidden_size")}
    facts |= feed_forward_facts(config, layers)
    facts |= {
        "mtpLayers": config.number("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"),
        "vocab": config.number("vocab_size"),
        "tied": config.get("tie_word_embeddings"),
        "maxPosition": config.number("max_position_embeddings"),
        "ropeScaling": True if has_rope_scaling(config) else None,
        "dtype": config.get("torch_dtype", "dtype"),
    }
    return facts | quantization_facts(config, hf_quant_config, layers)


def layers_of(config):
    listed = config.get("layers_block_type")
    return config.number("num_hidden_layers") or (len(listed) if listed else None)


def feed_forward_facts(config, layers):
    """Sizes of the feed-forward layers, and how many of them are dense."""
    size = config.number("intermediate_size")
    experts = config.number("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
    expert_size = config.number("moe_intermediate_size", "expert_intermediate_size")
    # These families give the size of experts as `intermediate_size`, and that of dense layers by a key of their own.
    dense_size = config.number("intermediate_size_mlp", "dense_intermediate_size")
    if experts and dense_size:
        size, expert_size = dense_size, size
    elif experts and not expert_size:
        expert_size = size
    shared_size = config.number(
        "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "share_expert_dim",
        "shared_intermediate_size",
    )
    shared = config.number("n_shared_experts", "num_shared_experts") or (1 if shared_size else None)
    return {
        "intermediate": size,
        "moeIntermediate": expert_size if experts else None,
        # A squared ReLU has no gate: Nemotron's feed-forward layers are two matrices, not three.
        "ungated": True if config.get("mlp_hidden_act", "hidden_act") == "relu2" else None,
        "moeHidden": config.number("moe_latent_size", "routed_expert_hidden_size") if experts else None,
        "experts": experts,
        "expertsPerToken": config.number(
            "num_experts_per_tok", "experts_per_token", "num_experts_per_token", "top_k_experts",
        ) if experts else None,
        "sharedExperts": shared if experts else None,
        "sharedIntermediate": shared_size if experts and shared_size != expert_size else None,
        "denseLayers": dense_layers(config, layers) if experts else None,
        "moeLayers": moe_layers(config) if experts else None,
    }


def dense_layers(config, layers):
    """How many layers have no experts, if the configuration says so."""
    if frequencies := config.get("moe_layer_freq"):
        if isinstance(frequencies, list):
            return frequencies[:layers].count(0) or None
    if types := config.get("mlp_layer_types"):
        return types[:layers].count("dense") or None
    if first := config.number("first_k_dense_replace"):
        return first
    step = config.number("interleave_moe_layer_step")
    if step and step > 1 and layers:
        return layers - layers // step
    return None


def moe_layers(config):
    """How many blocks have experts, in a model whose blocks are either attention, Mamba or feed-forward."""
    if pattern := config.get("hybrid_override_pattern"):
        return pattern.count("E") or None
    if types := config.get("layers_block_type"):
        return types.count("moe") or None
    return None


def has_rope_scaling(config):
    for key in ("rope_scaling", "rope_parameters"):
        positions = config.get(key)
        if not isinstance(positions, dict):
            continue
        # Some families have one description for each type of layer.
        nested = [value for value in positions.values() if isinstance(value, dict)]
        for description in nested or [positions]:
            if description.get("rope_type", description.get("type")) not in PLAIN_POSITIONS:
                return True
            if description.get("type") not in PLAIN_POSITIONS:
                return True
    return False
