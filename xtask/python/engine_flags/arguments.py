"""From what `add_argument` was called with to facts, by the rules of `argparse`."""

import re

from .values import ClassRef, EnumMember, External, FunctionRef, Unknown

# What functions that read a value accept, in the words of the tables.
TYPES = {
    "int": "int",
    "float": "float",
    "str": "str",
    "bool": "bool",
    "Path": "path",
    "loads": "json",
    "json_list_type": "json",
    "nullable_str": "str",
    "nullable_int": "int",
    "nullable_float": "float",
}

SWITCHES = {"store_true", "store_false", "store_const", "append_const", "count", "version", "help"}


class Converter:
    """Makes facts of registered arguments; remembers what it could not tell."""

    def __init__(self, interpreter, types=None, inverses=False):
        self.interpreter = interpreter
        self.types = TYPES | (types or {})
        # Whether a pair `--enable-x` is also switched off by `--disable-x`, and the other way round.
        self.inverses = inverses
        self.notes = []

    def facts(self, registered, **more):
        """The facts of some `add_argument` calls by name; positional arguments make none."""
        found = {}
        for positional, keywords in registered:
            names = [name for name in positional if isinstance(name, str)]
            if len(names) < len(positional):
                self.notes.append(f"a flag whose name is unknown: {[str(name) for name in positional]}")
            if names and names[0].startswith("-"):
                fact = self.fact(names, keywords) | more
                found[fact["name"]] = fact
        return found

    def fact(self, names, keywords):
        first = next((name for name in names if name.startswith("--")), names[0])
        name = bare(first)
        fact = {"name": name, "aliases": [bare(other) for other in names if other != first]}
        if "**" in keywords:
            self.note(name, "keywords", keywords["**"])
        action, nargs = self.action(keywords)
        if action == "pair":
            fact |= {"type": "pair", "off": f"no-{name}"}
            fact["inverse"] = self.inverse(name) if self.inverses else ""
        elif action == "switch":
            fact["type"] = "switch"
        else:
            kind = self.type(keywords.get("type"))
            choices = self.choices(name, keywords.get("choices"))
            if kind is None:
                # `argparse` calls it with the text and compares what it returns with the choices, so any text may do.
                self.note(name, "type", keywords["type"])
                kind, choices = "str", []
            fact |= {"type": kind, "choices": choices}
            fact["repeat"] = "&" if action == "append" else self.repeat(name, nargs)
        help_text = text_of(keywords.get("help"))
        fact["deprecated"] = (keywords.get("deprecated") not in (None, False) or action == "deprecated"
                              or "new_flag" in keywords or bool(re.search("deprecat", help_text, re.IGNORECASE)))
        if isinstance(keywords.get("new_flag"), str):
            self.notes.append(f"--{name}: says to use {keywords['new_flag']} instead")
        return fact

    def note(self, name, what, value):
        self.notes.append(f"--{name}: {what} not understood: {text_of(value)[:80]}")

    def action(self, keywords):
        """`switch`, `pair`, `append` or `value`, and how many values follow."""
        action, nargs = keywords.get("action"), keywords.get("nargs")
        if isinstance(action, str):
            kind = "switch" if action in SWITCHES else "append" if action in ("append", "extend") else "value"
            return kind, nargs
        if isinstance(action, External):
            return ("pair" if action.name.endswith("BooleanOptionalAction") else "value"), nargs
        if isinstance(action, ClassRef):
            ancestors = self.interpreter.ancestry(action)
            if any(ancestor.name.endswith("BooleanOptionalAction") for ancestor in ancestors):
                return "pair", nargs
            count = nargs if "nargs" in keywords else self.usual_count(action)
            is_switch = any(ancestor.name.endswith(("_StoreTrueAction", "_StoreConstAction")) for ancestor in ancestors)
            return ("switch", None) if is_switch or count == 0 else ("value", count)
        return "value", nargs

    def usual_count(self, action):
        """How many values a custom action takes unless told: the default of its constructor's `nargs`."""
        constructor = self.interpreter.method(action, "__init__")
        if constructor is None:
            return None
        spec = constructor.node.args
        names = [parameter.arg for parameter in spec.posonlyargs + spec.args]
        defaults = dict(zip(reversed(names), reversed(spec.defaults)))
        defaults |= {parameter.arg: value for parameter, value in zip(spec.kwonlyargs, spec.kw_defaults)}
        return getattr(defaults.get("nargs"), "value", None)

    def type(self, value):
        """The word for what a function that reads a value accepts; None for an unknown function."""
        if value is None:
            return "str"
        if isinstance(value, (External, FunctionRef, ClassRef)):
            return self.types.get(value.name.rsplit(".", 1)[-1])
        return None

    def choices(self, name, value):
        if value is None:
            return []
        items = self.interpreter.items(value)
        if items is None:
            self.note(name, "choices", value)
            return []
        items = [item.value if isinstance(item, EnumMember) else item for item in items if item is not None]
        unknown = [item for item in items if not isinstance(item, (str, int, float))]
        if unknown:
            self.note(name, "choices", unknown[0])
            return []
        texts = list(dict.fromkeys(str(item) for item in items))
        # Sets have no order and lists change theirs; a table that does not is easier to compare. Numbers stay numbers.
        return sorted(texts, key=lambda text: (0, int(text), "") if text.isdigit() else (1, 0, text))

    def repeat(self, name, nargs):
        if nargs in ("+", "*") or isinstance(nargs, int) and nargs > 0:
            return "+"
        if isinstance(nargs, Unknown):
            self.note(name, "number of values", nargs)
        return "?" if nargs == "?" else ""

    @staticmethod
    def inverse(name):
        for prefix, other in (("enable-", "disable-"), ("disable-", "enable-")):
            if name.startswith(prefix):
                return other + name.removeprefix(prefix)
        return ""


def bare(flag):
    """The name without dashes, in kebab-case."""
    return flag.lstrip("-").replace("_", "-")


def text_of(value):
    """What is known of a value, as text."""
    if isinstance(value, str):
        return value
    return getattr(value, "text", "") or getattr(value, "name", "") or str(value or "")
