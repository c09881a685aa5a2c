from acme_client import BLOCKED_WORDS
from pydantic import BaseModel


class GuardConfig(BaseModel):
    words: list[str] = list(BLOCKED_WORDS)
    note: str = ""
    threshold: float = 0.5
