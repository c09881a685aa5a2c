"""The values that the interpreter works with, beside plain strings, numbers, lists, tuples, sets and dictionaries."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Unknown:
    """A value that the source text does not tell; `text` is what is known of how it comes about."""

    text: str


@dataclass(frozen=True)
class External:
    """A builtin, or an object of a package that is not in the wheel, by its dotted name."""

    name: str


@dataclass(frozen=True)
class ModuleRef:
    """A module of the wheel."""

    name: str


@dataclass(frozen=True, eq=False)
class ClassRef:
    """A class of the wheel."""

    module: Any
    node: Any

    @property
    def name(self):
        return self.node.name


@dataclass(frozen=True, eq=False)
class FunctionRef:
    """A function, method or lambda of the wheel, with the variables that surround its definition."""

    module: Any
    node: Any
    owner: Any = None
    receiver: Any = None
    closure: dict = field(default_factory=dict)

    @property
    def name(self):
        return getattr(self.node, "name", "lambda")


@dataclass(frozen=True, eq=False)
class Instance:
    """An object of a class of the wheel, with the keywords that it was made with."""

    cls: ClassRef
    keywords: dict


@dataclass(frozen=True)
class EnumMember:
    """A member of an enumeration of the wheel."""

    name: str
    value: Any


@dataclass(frozen=True, eq=False)
class Generic:
    """A type with parameters: `Literal["a"]`, `list[int]`, `Union[...]`."""

    origin: str
    parameters: tuple


@dataclass(frozen=True, eq=False)
class Parser:
    """The `argparse` parser that is being filled, or a group of it."""


@dataclass(frozen=True, eq=False)
class Method:
    """A method of a plain value, or of the parser, that is about to be called."""

    receiver: Any
    name: str
