"""Writes facts as a line: a name and `key=value` pairs. `crates/facts/src/line.rs` reads such lines."""


def line_of(name, facts):
    """The line of a model. A fact that is None or empty is left out."""
    pairs = [f"{key}={text(value)}" for key, value in facts.items() if value not in (None, [], "")]
    return " ".join([name, *pairs])


def text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(text(item) for item in value)
    return str(value).replace(" ", "_")
