"""What the providers of Acme share."""

BLOCKED_WORDS = ("bomb", "dynamite")
