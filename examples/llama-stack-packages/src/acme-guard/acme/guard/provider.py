try:  # llama-stack 0.4 and later
    from llama_stack_api import Api, InlineProviderSpec
except ImportError:
    from llama_stack.providers.datatypes import Api, InlineProviderSpec


def get_provider_spec():
    return InlineProviderSpec(
        api=Api.safety,
        provider_type="inline::acme-guard",
        module="acme.guard",
        config_class="acme.guard.config.GuardConfig",
        pip_packages=[],
    )
