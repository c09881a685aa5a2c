"""Dynamo: the flags of its wrappers of vLLM, SGLang and TensorRT-LLM, without those of the engines themselves.

A wrapper's parser holds the flags that all share and those of its own; both are argument groups of this wheel, which
fill the parser by two helpers, `add_argument` and `add_negatable_bool_argument`. Since 1.5.0, each wrapper passes the
flags that are left to a second parser, which reads the worker's advertisement to the router.
"""

from .arguments import Converter
from .interpreter import Interpreter
from .values import ClassRef, External, FunctionRef, Instance, Parser

ENGINES = ("vllm", "sglang", "trtllm")
SHARED = "dynamo.common.configuration.groups.runtime_args"
ROUTER = "dynamo.common.configuration.groups.router_args"


def extract(wheel):
    """The facts of one wheel by table, and notes."""
    tables, notes = {}, []
    for engine in ENGINES:
        interpreter = Interpreter(wheel, {"add_argument": add_argument, "add_negatable_bool_argument": add_pair})
        for module in (SHARED, f"dynamo.{engine}.backend_args"):
            fill(interpreter, module)
        advertisement = interpreter.member(ROUTER, "add_worker_router_arguments")
        if isinstance(advertisement, FunctionRef):
            interpreter.run(advertisement, [Parser()])
        converter = Converter(interpreter)
        facts = converter.facts([(positional, keywords) for positional, keywords, _ in interpreter.registered])
        tables[f"dynamo-{engine}"] = list(facts.values())
        notes += [f"dynamo-{engine}: {note}" for note in interpreter.notes + converter.notes]
    return tables, notes


def fill(interpreter, name):
    """Runs `add_arguments` of the argument groups that a module defines."""
    module = interpreter.module(name)
    if module is None:
        raise LookupError(f"{name}: where is it now?")
    groups = [interpreter.member(name, bound) for bound, nodes in module.bindings.items() if bound.endswith("ArgGroup")]
    for group in groups:
        if isinstance(group, ClassRef) and group.module is module:
            interpreter.run(interpreter.method(group, "add_arguments", Instance(group, {})), [Parser()])


def add_argument(interpreter, _function, _arguments, keywords, scope):
    register(interpreter, keywords, scope, {"type": keywords.get("arg_type", External("str"))})


def add_pair(interpreter, _function, _arguments, keywords, scope):
    register(interpreter, keywords, scope, {"action": External("argparse.BooleanOptionalAction")})


def register(interpreter, keywords, scope, more):
    names = [name for name in (keywords.get("flag_name"), keywords.get("obsolete_flag")) if name is not None]
    interpreter.registered.append((names, keywords | more, scope.owner))
