def get_provider_spec():
    parts = {"module": "acme.vllm", "config_class": "acme.vllm.config.VllmConfig", "pip_packages": []}
    try:  # llama-stack 0.4 and later
        from llama_stack_api import Api, RemoteProviderSpec
    except ImportError:
        from llama_stack.providers.datatypes import Api, RemoteProviderSpec
    provider_type = "remote::acme-vllm"
    if "adapter" in RemoteProviderSpec.model_fields:  # llama-stack 0.2
        from llama_stack.providers.datatypes import AdapterSpec, remote_provider_spec

        return remote_provider_spec(Api.inference, AdapterSpec(adapter_type="acme-vllm", **parts))
    return RemoteProviderSpec(api=Api.inference, adapter_type="acme-vllm", provider_type=provider_type, **parts)
