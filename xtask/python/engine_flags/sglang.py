"""SGLang: `ServerArgs.add_cli_args`.

Newer versions declare most flags as annotated fields, `name: A[type, Arg(...)]`, and register them with
`add_cli_args_from_dataclass`; `keywords_of_field` follows that function. Since 0.5.21 the fields are spread over
classes that `_INPUT_NAMESPACES` lists.
"""

from .arguments import Converter
from .interpreter import Interpreter
from .modules import Scope
from .values import ClassRef, EnumMember, External, Generic, Instance, Parser
from .vllm import flatten

ARGUMENTS = "sglang.srt.server_args"

TYPES = {
    # The same name as vLLM's function, but other suffixes.
    "human_readable_int": "si-int",
    # An object, or the path of a file with one.
    "parse_cuda_graph_config_arg": "json-or-str",
}


def extract(wheel):
    """The facts of one wheel by table, and notes."""
    interpreter = Interpreter(wheel, {"add_cli_args_from_dataclass": register_fields})
    server = interpreter.member(ARGUMENTS, "ServerArgs")
    if not isinstance(server, ClassRef):
        raise LookupError(f"{ARGUMENTS}.ServerArgs: where is it now?")
    interpreter.run(interpreter.method(server, "add_cli_args"), [Parser()])
    converter = Converter(interpreter, TYPES)
    facts = converter.facts([(positional, keywords) for positional, keywords, _ in interpreter.registered])
    return {"sglang": list(facts.values())}, interpreter.notes + converter.notes


def register_fields(interpreter, _function, arguments, _keywords, scope):
    cls = arguments[1]
    namespaces = interpreter.member(ARGUMENTS, "_INPUT_NAMESPACES")
    sources = [cls] + [source for source in interpreter.items(namespaces) or [] if isinstance(source, ClassRef)]
    for source in sources:
        for name, (annotation, module) in interpreter.fields(source).items():
            hint = annotated(interpreter, annotation, module)
            if hint is not None:
                register_field(interpreter, name, *hint, module, scope.owner)


def annotated(interpreter, annotation, module):
    """The type and the `Arg` keywords of `A[type, Arg(...)]` or `A[type, "help"]`; None for any other field."""
    value = interpreter.evaluate(annotation, Scope(module))
    if not (isinstance(value, Generic) and value.origin == "Annotated"):
        return None
    for extra in value.parameters[1:]:
        if isinstance(extra, Instance) and extra.cls.name == "Arg":
            return value.parameters[0], extra.keywords
        if isinstance(extra, str) or getattr(extra, "text", None) and not isinstance(extra, EnumMember):
            return value.parameters[0], {"help": extra}
    return None


def register_field(interpreter, name, declared, spec, module, owner):
    if spec.get("no_cli") is True:
        return
    names = [spec.get("cli_name") or "--" + name.replace("_", "-"), *(spec.get("aliases") or [])]
    keywords = {"help": spec.get("help", "")}
    if spec.get("action") is not None:
        keywords |= {"action": spec["action"], **(spec.get("action_kwargs") or {})}
    else:
        keywords |= keywords_of_field(interpreter, declared, spec, module)
    interpreter.registered.append((names, keywords, owner))


def keywords_of_field(interpreter, declared, spec, module):
    hints = [hint for hint in flatten(interpreter, declared, module) if hint is not None]
    hint = hints[0] if len(hints) == 1 else None
    origin = hint.origin if isinstance(hint, Generic) else None
    reader = spec.get("type_parser")
    given = {"choices": spec["choices"]} if spec.get("choices") else {}
    if origin == "Literal":
        options = list(hint.parameters)
        return {"type": reader or plain(External(type(options[0]).__name__)), "choices": options} | given
    if origin in ("List", "list") and reader is None:
        element = hint.parameters[0] if isinstance(hint.parameters[0], External) else External("str")
        return {"type": plain(element), "nargs": spec.get("nargs") or "+"} | given
    if hint == External("bool"):
        return {"action": "store_true"}
    count = {"nargs": spec["nargs"]} if spec.get("nargs") else {}
    return {"type": reader or plain(hint)} | given | count


def plain(hint):
    """The function that reads a value of this type: `str` for all but numbers."""
    return hint if hint in (External("int"), External("float")) else External("str")
