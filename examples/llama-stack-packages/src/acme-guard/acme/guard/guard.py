try:  # llama-stack 0.4 and later
    from llama_stack_api import RunShieldResponse, Safety, SafetyViolation, ViolationLevel
except ImportError:
    from llama_stack.apis.safety import RunShieldResponse, Safety, SafetyViolation, ViolationLevel


class Guard(Safety):
    def __init__(self, config):
        self.config = config

    async def initialize(self):
        pass

    async def shutdown(self):
        pass

    async def register_shield(self, shield):
        pass

    async def unregister_shield(self, identifier):
        pass

    # Up to 0.4 the fields of a request are arguments of their own.
    async def run_shield(self, request=None, shield_id="", messages=(), params=None):
        messages = messages if request is None else request.messages
        text = " ".join(str(message.content) for message in messages).lower()
        found = [word for word in self.config.words if word in text]
        if not found:
            return RunShieldResponse()
        violation = SafetyViolation(
            violation_level=ViolationLevel.ERROR,
            user_message="This message is not allowed.",
            metadata={"words": found, "threshold": self.config.threshold, "note": self.config.note},
        )
        return RunShieldResponse(violation=violation)

    async def run_moderation(self, request=None, input="", model=""):
        raise NotImplementedError("acme-guard judges messages with shields only")
