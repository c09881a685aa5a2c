"""Ray: Ray Serve LLM hands its `engine_kwargs` to the vLLM that its wheel pins, so that pin is the whole fact."""


def extract(wheel):
    """No table of its own, and no notes."""
    if "vllm" not in wheel.requirements():
        raise LookupError("the wheel pins no vllm")
    return {}, []
