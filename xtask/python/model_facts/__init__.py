"""Reads facts about models from the `config.json` files in a wheel. It imports and runs nothing of the wheel."""
