"""vLLM: `make_arg_parser` of the OpenAI server, the engine's part of it marked as such.

Most flags are fields of configuration classes: `get_kwargs` makes the keywords of `add_argument` from a field's type.
It works on evaluated types, so it cannot be interpreted; `keywords_of_field` follows it case by case.
"""

import ast

from .arguments import Converter
from .interpreter import Interpreter
from .modules import Scope
from .values import ClassRef, External, FunctionRef, Generic, Parser, Unknown

ARGUMENTS = "vllm.engine.arg_utils"
# Where `make_arg_parser` lived, newest first.
SERVERS = (
    "vllm.entrypoints.common.cli_args",
    "vllm.entrypoints.launchers.cli_args",
    "vllm.entrypoints.openai.cli_args",
)

TYPES = {
    "human_readable_int": "human-int",
    "human_readable_int_or_auto": "human-int",
    "union_dict_and_str": "json-or-str",
    "parse_dataclass": "json-object",
    "parse_reasoning_parser": "str",
}


def extract(wheel):
    """The facts of one wheel by table, and notes."""
    fields = Fields()
    hooks = {
        "get_kwargs": lambda interpreter, _function, arguments, *_: fields.keywords(interpreter, arguments[0]),
        # They wrap the function that reads a value, to let `None` through or to report an error.
        "optional_type": lambda _interpreter, _function, arguments, *_: arguments[0],
        "parse_type": lambda _interpreter, _function, arguments, *_: arguments[0],
        # It looks for installed plugins, which may add flags; a wheel has none.
        "load_general_plugins": lambda *_: None,
    }
    interpreter = Interpreter(wheel, hooks)
    server = next((name for name in SERVERS if wheel.file_of(name)), None)
    if server is None:
        raise LookupError(f"make_arg_parser was in one of {', '.join(SERVERS)}; where is it now?")
    engine = interpreter.member(ARGUMENTS, "AsyncEngineArgs")
    inverses = isinstance(interpreter.member("vllm.utils.argparse_utils", "EnableDisableAction"), ClassRef)

    interpreter.run(interpreter.method(engine, "add_cli_args"), [Parser()])
    of_engine = len(interpreter.registered)
    interpreter.run(interpreter.member(server, "make_arg_parser"), [Parser()])
    calls = [(positional, keywords) for positional, keywords, _ in interpreter.registered]

    converter = Converter(interpreter, TYPES, inverses)
    of_engine_facts = converter.facts(calls[:of_engine], frontend=False)
    converter.notes.clear()  # The second run registers the engine's flags again.
    facts = converter.facts(calls[of_engine:], frontend=True) | of_engine_facts
    for name, values in known_values(interpreter, wheel).items():
        if name in facts and values and not facts[name].get("choices"):
            facts[name]["known"] = sorted(values)
    return {"vllm": list(facts.values())}, interpreter.notes + converter.notes


def known_values(interpreter, wheel):
    """The values of flags that take any text because plugins may register more, by flag."""
    layers = "vllm.model_executor.layers.quantization"
    loader = "vllm.model_executor.model_loader"
    tool_parsers = next(name for name in ("vllm.tool_parsers", "vllm.entrypoints.openai.tool_parsers")
                        if wheel.file_of(name))
    return {
        "quantization": literal_values(interpreter, layers, "QuantizationMethods"),
        "load-format": literal_values(interpreter, loader, "LoadFormats"),
        "tool-call-parser": registered_names(interpreter, wheel, tool_parsers, "_TOOL_PARSERS_TO_REGISTER"),
        "reasoning-parser": registered_names(interpreter, wheel, "vllm.reasoning", "_REASONING_PARSERS_TO_REGISTER"),
    }


def literal_values(interpreter, module, name):
    """The strings of a `Literal` that a module defines."""
    literal = interpreter.member(module, name)
    if not (isinstance(literal, Generic) and literal.origin == "Literal"):
        raise LookupError(f"{module}.{name}: where is it now?")
    return literal_options(literal)


def registered_names(interpreter, wheel, package, table):
    """The names under which a package registers its parsers.

    Newer versions list them in one dictionary. In older ones, each module of the package registers its class with the
    decorator `register_module("name")`, which also takes a list of names.
    """
    names = interpreter.items(interpreter.member(package, table))
    if names is not None:
        return list(names)
    found = []
    for tree in wheel.trees_below(package):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "register_module":
                arguments = [argument.value for argument in node.keywords if argument.arg == "name"] + node.args[:1]
                constants = [item for argument in arguments for item in ast.walk(argument) if isinstance(item, ast.Constant)]
                found += [item.value for item in constants if isinstance(item.value, str)]
    if not found:
        raise LookupError(f"{package}: where are its parsers registered now?")
    return found


class Fields:
    """What `get_kwargs` makes of the fields of a class."""

    def __init__(self):
        # Read once, when the module that defines them is there.
        self.suffixed = None

    def keywords(self, interpreter, cls):
        if not isinstance(cls, ClassRef):
            return Unknown("get_kwargs of an unknown class")
        if self.suffixed is None:
            self.suffixed = named_readers(interpreter)
        # A field's documentation becomes its help; it may speak of the deprecation of other things, so it is not read.
        return {name: self.keywords_of_field(interpreter, name, annotation, module)
                for name, (annotation, module) in interpreter.fields(cls).items()}

    def keywords_of_field(self, interpreter, name, annotation, module):
        hints = hints_of(interpreter, annotation, module)
        origins = {name_of(hint) for hint in hints}
        literal = [hint for hint in hints if isinstance(hint, Generic) and hint.origin == "Literal"]
        if any(isinstance(hint, ClassRef) and is_dataclass(interpreter, hint) for hint in hints):
            return {"type": External("parse_dataclass")}
        if origins == {"bool", "str", "none"}:
            return {"type": External("str"), "nargs": "?"}
        if "bool" in origins:
            return {"action": External("argparse.BooleanOptionalAction")}
        if literal:
            options = [option for hint in literal for option in literal_options(hint)]
            kind = External(type(options[0]).__name__) if options else External("str")
            return {"type": kind} if "str" in origins else {"type": kind, "choices": options}
        for collection in ("tuple", "list", "set", "sequence"):
            if collection in origins:
                return self.keywords_of_collection(interpreter, hints, collection, module)
        if "int" in origins:
            return {"type": self.suffixed.get(name, External("int"))}
        if "float" in origins:
            return {"type": External("float")}
        mappings = origins & {"dict", "mapping"}
        if mappings or any(is_dict(interpreter, hint) for hint in hints):
            plain = {"none", "str", *mappings}
            others = [hint for hint in hints if not is_dict(interpreter, hint) and name_of(hint) not in plain]
            return {"type": External("union_dict_and_str" if "str" in origins or others else "json.loads")}
        return {"type": External("str")}

    def keywords_of_collection(self, interpreter, hints, collection, module):
        hint = next(hint for hint in hints if name_of(hint) == collection)
        parameters = [item for item in getattr(hint, "parameters", ()) if item is not Ellipsis]
        elements = flatten(interpreter, parameters[0], module) if parameters else []
        if len(elements) == 1 and isinstance(elements[0], Generic) and elements[0].origin == "Literal":
            options = literal_options(elements[0])
            return {"type": External(type(options[0]).__name__), "choices": options, "nargs": "+"}
        kind = elements[0] if len(elements) == 1 and isinstance(elements[0], External) else External("str")
        return {"type": kind, "nargs": "+"}


def named_readers(interpreter):
    """Fields of whole numbers that `get_kwargs` reads with a function of their own: field name -> that function.

    The function compares the field's name (`name == "x"`, `name in {…}`), which changes between versions.
    """
    module = interpreter.module(ARGUMENTS)
    function = interpreter.member(ARGUMENTS, "_compute_kwargs")
    if not isinstance(function, FunctionRef):
        return {}
    scope = Scope(module)
    for node in ast.walk(function.node):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Set):
            scope.variables[node.targets[0].id] = interpreter.evaluate(node.value, scope)
    found = {}
    for node in ast.walk(function.node):
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.Compare)
                and isinstance(node.test.left, ast.Name) and node.test.left.id == "name"):
            continue
        names = interpreter.evaluate(node.test.comparators[0], scope)
        for statement in node.body:
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "kwargs[name]['type']":
                reader = interpreter.evaluate(statement.value, scope)
                for name in [names] if isinstance(names, str) else interpreter.items(names) or []:
                    found.setdefault(name, reader)
    return found


def hints_of(interpreter, annotation, module):
    """The members of a field's type, unions and `Annotated` dissolved."""
    return flatten(interpreter, interpreter.evaluate(annotation, Scope(module)), module)


def flatten(interpreter, value, module):
    if isinstance(value, str):
        # A forward reference.
        try:
            return hints_of(interpreter, ast.parse(value, mode="eval").body, module)
        except SyntaxError:
            return [Unknown(value)]
    if isinstance(value, Generic):
        if value.origin in ("Union", "Optional"):
            found = [hint for parameter in value.parameters for hint in flatten(interpreter, parameter, module)]
            return found + ([None] if value.origin == "Optional" else [])
        if value.origin in ("Annotated", "SkipValidation", "InitVar", "ClassVar"):
            return flatten(interpreter, value.parameters[0], module)
    return [value]


def name_of(hint):
    """The name of a type in lower case, without its module and parameters: `none`, `list`, `int`."""
    name = hint.origin if isinstance(hint, Generic) else getattr(hint, "name", hint)
    return str(name).rsplit(".", 1)[-1].lower()


def literal_options(hint):
    """The values of a `Literal`, those of literals in it included."""
    found = []
    for parameter in hint.parameters:
        found += literal_options(parameter) if isinstance(parameter, Generic) else [parameter]
    return found


def is_dataclass(interpreter, cls):
    return any("config" in text or "dataclass" in text
               for ancestor in interpreter.ancestry(cls) if isinstance(ancestor, ClassRef)
               for text in map(ast.unparse, ancestor.node.decorator_list))


def is_dict(interpreter, hint):
    if isinstance(hint, Generic):
        return hint.origin.lower() in ("dict", "mapping")
    return isinstance(hint, ClassRef) and any(ancestor == External("dict") for ancestor in interpreter.ancestry(hint))
