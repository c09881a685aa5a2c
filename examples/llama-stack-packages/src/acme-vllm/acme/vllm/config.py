from llama_stack.providers.remote.inference.vllm.config import VLLMInferenceAdapterConfig
from pydantic import model_validator


class VllmConfig(VLLMInferenceAdapterConfig):
    url: str

    # Since 0.3.5 the field of llama-stack is `base_url`.
    @model_validator(mode="before")
    @classmethod
    def set_base_url(cls, values):
        if "base_url" in VLLMInferenceAdapterConfig.model_fields and "url" in values:
            values = {"base_url": values["url"], **values}
        return values
