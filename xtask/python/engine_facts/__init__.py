"""Reads facts about an inference engine from the syntax trees of its wheel, which is never imported or run."""
