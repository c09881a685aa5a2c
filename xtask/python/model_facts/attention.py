"""Facts about attention: heads, their dimensions, and which layers keep every token in the KV cache."""

# Types of layers whose cache grows with the context. Sparse attention chooses among all tokens, so it keeps them all.
GROWING = ("full_attention", "attention", "deepseek_sparse_attention", "sparse_attention")


def attention_facts(config, layers):
    heads = config.number("num_attention_heads")
    full_layers, is_hybrid = full_attention_layers(config, layers)
    return {
        "heads": heads,
        "kvHeads": kv_heads(config, heads),
        "headDim": config.number("head_dim", "attention_head_dim"),
        "valueHeadDim": config.number("v_head_dim"),
        # Gemma 4 describes its sliding layers by the usual keys and full attention by these; MiMo does the opposite.
        "fullKvHeads": config.number("num_global_key_value_heads"),
        "fullHeadDim": config.number("global_head_dim"),
        "slidingKvHeads": config.number("swa_num_key_value_heads"),
        "slidingHeadDim": config.number("swa_head_dim"),
        "layers": layers,
        "fullLayers": full_layers if is_hybrid else None,
        "hybrid": True if is_hybrid else None,
        "slidingWindow": sliding_window(config) if is_hybrid else None,
        "mlaRank": config.number("kv_lora_rank"),
        "mlaRopeDim": config.number("qk_rope_head_dim"),
        "mlaNopeDim": config.number("qk_nope_head_dim"),
        "mlaQueryRank": config.number("q_lora_rank"),
    }


def kv_heads(config, heads):
    """Key and value heads; as many as attention heads if the configuration does not say."""
    # Models that were pruned by layers give the number of attention heads that share one head of keys.
    groups = {block["attention"].get("n_heads_in_group") for block in config.get("block_configs") or []} - {None}
    if groups:
        return heads // min(groups) if heads and len(groups) == 1 else None
    return config.number("num_key_value_heads") or heads


def full_attention_layers(config, layers):
    """How many layers keep every token, or None if that is not known, and whether there are others."""
    if types := layer_types(config):
        types = types[:layers]
        growing = sum(kind in GROWING for kind in types)
        return growing, growing < len(types)
    if linear := config.get("linear_attn_config"):
        return len(linear["full_attn_layers"]), bool(linear["kda_layers"])
    # DeepSeek V4 compresses all layers, by one of several ratios, and Llama 4 attends in chunks in most layers. Their
    # configurations do not say how much of a context remains.
    if config.get("compress_ratios") or config.number("attention_chunk_size"):
        return None, True
    if sliding_window(config) and (first := config.number("max_window_layers")) and layers and first < layers:
        return first, True
    return None, bool(sliding_window(config))


def layer_types(config):
    """The type of each layer, or None."""
    if types := config.get("layer_types", "layers_block_type"):
        return types
    if pattern := config.get("hybrid_override_pattern"):
        return ["attention" if block == "*" else "other" for block in pattern]
    if pattern := config.get("hybrid_layer_pattern"):
        return ["full_attention" if kind == 0 else "sliding_attention" for kind in pattern]
    if blocks := config.get("block_configs"):
        return ["full_attention" if is_full(block["attention"]) else "none" for block in blocks]
    return None


def is_full(attention):
    return not (attention.get("no_op") or attention.get("replace_with_linear") or attention.get("window_length"))


def sliding_window(config):
    """The tokens of a sliding window that is in use."""
    # Qwen gives a window and says with another key that it is not used.
    if config.get("use_sliding_window") is False:
        return None
    return config.number("sliding_window", "sliding_window_size")
