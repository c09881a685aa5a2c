"""An inference provider for the vLLM clusters of Acme, based on the one of llama-stack."""


async def get_adapter_impl(config, deps):
    from llama_stack.providers.remote.inference.vllm import get_adapter_impl

    return await get_adapter_impl(config, deps)
