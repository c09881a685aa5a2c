"""A small interpreter of the Python that fills `argparse` parsers.

It works on syntax trees and on the values of `values`; what it does not understand becomes `Unknown`, so that one new
construct upstream costs one fact and not the table. It knows no package: what a package's own helpers do is given as
hooks. A condition whose value is unknown runs both ways, because a flag that some build registers is a flag that a user
may write.
"""

import ast
import builtins

from .modules import Module, Scope
from .values import ClassRef, EnumMember, External, FunctionRef, Generic, Instance, Method, ModuleRef, Parser, Unknown

# More than any parser needs; a loop in the sources of a wheel must not become one here.
MAX_DEPTH = 60

# Methods of plain values that cannot do anything but compute.
PURE_METHODS = {
    str: {"replace", "lower", "upper", "title", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "split",
          "join", "startswith", "endswith"},
    dict: {"items", "keys", "values", "get", "pop", "copy", "update", "setdefault"},
    list: {"append", "extend", "remove", "copy", "insert"},
    set: {"add", "discard", "remove", "update", "union", "copy"},
    tuple: set(),
}

# Methods that add to a value. Under an unknown condition they do not: it is one that most installations do not meet, as
# when an environment variable adds a value for tests.
ADDITIONS = {"add", "append", "extend", "insert"}

# Names whose subscript is a type, whatever module they are imported from.
GENERICS = {
    "Literal", "Optional", "Union", "Annotated", "SkipValidation", "ClassVar", "InitVar", "List", "list",
    "Sequence", "Iterable", "Collection", "Dict", "dict", "Mapping", "Tuple", "tuple", "Set", "set",
    "FrozenSet", "frozenset", "Type", "type", "Callable",
}


class Returned(Exception):
    """Carries the value of a `return` to the call that it ends."""

    def __init__(self, value):
        super().__init__()
        self.value = value


class Stopped(Exception):
    """A `raise`, `continue` or `break`: what follows in the block is not reached."""


class Interpreter:
    """Runs functions of a wheel on `values`."""

    def __init__(self, wheel, hooks=None):
        self.wheel = wheel
        # Function name -> what to do in its place: hook(interpreter, function, arguments, keywords, scope).
        self.hooks = dict(hooks or {})
        self.modules = {}
        self.bodies = {}
        # How many conditions of unknown value surround what is running.
        self.uncertain = 0
        # What `add_argument` was called with: (positional, keywords, class whose method made the call).
        self.registered = []
        # What could not be followed, for the person who adds a version.
        self.notes = []
        self.depth = 0

    # Modules and names

    def module(self, name):
        """A module of the wheel; None for one that is not in it or cannot be parsed."""
        if name not in self.modules:
            found = self.wheel.file_of(name)
            self.modules[name] = None
            if found:
                file, is_package = found
                try:
                    self.modules[name] = Module(name, is_package, ast.parse(self.wheel.read(file)))
                except (SyntaxError, ValueError) as error:
                    self.notes.append(f"{file}: {error}")
            elif self.wheel.has_folder(name):
                self.modules[name] = Module(name, True, ast.Module([], []))
        return self.modules[name]

    def member(self, module_name, name):
        """What a module binds a name to, or its submodule of that name."""
        module = self.module(module_name)
        if module is None:
            return External(f"{module_name}.{name}")
        found = self._bound(module, name)
        if found is not None:
            return found[0]
        if self.module(f"{module_name}.{name}") is not None:
            return ModuleRef(f"{module_name}.{name}")
        return Unknown(f"{module_name}.{name}")

    def _bound(self, module, name):
        """A value in a tuple, so that a bound None differs from no binding."""
        if name in module.values:
            return (module.values[name],)
        if name in module.pending:
            return (Unknown(name),)
        if name not in module.bindings:
            for star in module.stars:
                source = self.module(self._absolute(module, star))
                found = source and self._bound(source, name)
                if found:
                    return found
            return None
        module.pending.add(name)
        scope = Scope(module)
        try:
            for node in module.bindings[name]:
                self._bind(node, name, scope)
        finally:
            module.pending.discard(name)
        module.values[name] = scope.variables.get(name, Unknown(name))
        return (module.values[name],)

    def _bind(self, node, name, scope):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self._import(node, scope, only=name)
        else:
            self._statement(node, scope)

    @staticmethod
    def _absolute(module, node):
        if not node.level:
            return node.module
        parts = module.name.split(".")
        parts = parts[: len(parts) - node.level + (1 if module.is_package else 0)]
        return ".".join(parts + ([node.module] if node.module else []))

    def _import(self, node, scope, only=None):
        for alias in node.names:
            name = alias.asname or alias.name.split(".")[0]
            if only not in (None, name) or alias.name == "*":
                continue
            if isinstance(node, ast.ImportFrom):
                value = self.member(self._absolute(scope.module, node), alias.name)
            else:
                target = alias.name if alias.asname else name
                value = ModuleRef(target) if self.module(target) else External(target)
            scope.variables[name] = value

    def lookup(self, name, scope):
        if name in scope.variables:
            return scope.variables[name]
        found = self._bound(scope.module, name)
        if found is not None:
            return found[0]
        return External(name) if hasattr(builtins, name) else Unknown(name)

    # Classes

    def ancestry(self, cls):
        """The class and its ancestors, nearest first; those outside the wheel as `External`."""
        found = [cls]
        for base in cls.node.bases:
            value = self.evaluate(base, Scope(cls.module))
            if isinstance(value, ClassRef) and value.node is not cls.node:
                found += [ancestor for ancestor in self.ancestry(value) if ancestor not in found]
            elif isinstance(value, External):
                found.append(value)
            elif isinstance(value, Generic):
                found.append(External(value.origin))
        return found

    def body(self, cls):
        """What the statements of a class's body bind; its methods are found by `method`."""
        if cls.node not in self.bodies:
            scope = Scope(cls.module)
            for node in cls.node.body:
                if isinstance(node, (ast.Assign, ast.AnnAssign)):
                    self._statement(node, scope)
            self.bodies[cls.node] = scope.variables
        return self.bodies[cls.node]

    def fields(self, cls):
        """The annotated fields of a class, its ancestors' first: name -> (the annotation, the module it stands in)."""
        found = {}
        for ancestor in reversed(self.ancestry(cls)):
            for node in getattr(getattr(ancestor, "node", None), "body", []):
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    found[node.target.id] = (node.annotation, ancestor.module)
        return found

    def method(self, cls, name, receiver=None, after=None):
        """A method of a class by name, of the ancestors behind `after` where that is given; None if there is none."""
        ancestry = self.ancestry(cls)
        if after is not None:
            nodes = [getattr(ancestor, "node", None) for ancestor in ancestry]
            ancestry = ancestry[nodes.index(after.node) + 1:] if after.node in nodes else []
        for ancestor in ancestry:
            for node in getattr(getattr(ancestor, "node", None), "body", []):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
                    return FunctionRef(ancestor.module, node, owner=ancestor, receiver=receiver or cls)
        return None

    def enum_members(self, cls):
        return [EnumMember(name, value) for name, value in self.body(cls).items() if not name.startswith("_")]

    def is_enum(self, cls):
        return any(isinstance(ancestor, External) and ancestor.name.rsplit(".", 1)[-1].endswith(("Enum", "Flag"))
                   for ancestor in self.ancestry(cls))

    # Statements

    def run(self, function, arguments=(), keywords=None):
        """Calls a function with values; gives what it returns."""
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                return Unknown(f"{function.name}()")
            variables = dict(function.closure)
            variables.update(self._parameters(function, list(arguments), dict(keywords or {})))
            scope = Scope(function.module, variables, owner=function.owner, receiver=function.receiver)
            if isinstance(function.node, ast.Lambda):
                return self.evaluate(function.node.body, scope)
            try:
                self._block(function.node.body, scope)
            except Returned as returned:
                return returned.value
            except Stopped:
                return Unknown(f"{function.name}()")
            return None
        finally:
            self.depth -= 1

    def _parameters(self, function, arguments, keywords):
        spec = function.node.args
        decorators = [ast.unparse(decorator) for decorator in getattr(function.node, "decorator_list", [])]
        if function.owner is not None and "staticmethod" not in decorators:
            receiver = function.receiver
            if "classmethod" in decorators and isinstance(receiver, Instance):
                receiver = receiver.cls
            arguments.insert(0, receiver)
        names = [parameter.arg for parameter in spec.posonlyargs + spec.args]
        scope = Scope(function.module)
        variables = {}
        for name, default in zip(reversed(names), reversed(spec.defaults)):
            variables[name] = self.evaluate(default, scope)
        for parameter, default in zip(spec.kwonlyargs, spec.kw_defaults):
            names.append(parameter.arg)
            variables[parameter.arg] = Unknown(parameter.arg) if default is None else self.evaluate(default, scope)
        positional = [parameter.arg for parameter in spec.posonlyargs + spec.args]
        variables.update(zip(positional, arguments))
        if spec.vararg:
            variables[spec.vararg.arg] = tuple(arguments[len(positional):])
        variables.update({name: value for name, value in keywords.items() if name in names})
        if spec.kwarg:
            variables[spec.kwarg.arg] = {name: value for name, value in keywords.items() if name not in names}
        for name in names:
            variables.setdefault(name, Unknown(name))
        return variables

    def _block(self, body, scope):
        for node in body:
            self._statement(node, scope)

    def _maybe(self, body, scope):
        """Runs a block that may or may not be reached: it leaves its effects, but cannot end what surrounds it."""
        self.uncertain += 1
        try:
            self._block(body, scope)
        except (Returned, Stopped):
            pass
        finally:
            self.uncertain -= 1

    def _statement(self, node, scope):
        match node:
            case ast.Expr():
                self.evaluate(node.value, scope)
            case ast.Assign():
                value = self.evaluate(node.value, scope)
                for target in node.targets:
                    self._assign(target, value, scope)
            case ast.AnnAssign() if node.value is not None:
                self._assign(node.target, self.evaluate(node.value, scope), scope)
            case ast.AugAssign():
                current = self.evaluate(_as_load(node.target), scope)
                value = self._add(current, self.evaluate(node.value, scope))
                self._assign(node.target, value, scope)
            case ast.If():
                test = self.evaluate(node.test, scope)
                if isinstance(test, (Unknown, External)):
                    self._maybe(node.body, scope)
                    self._maybe(node.orelse, scope)
                else:
                    self._block(node.body if test else node.orelse, scope)
            case ast.For():
                self._loop(node, scope)
            case ast.With():
                self._block(node.body, scope)
            case ast.Try():
                self._block(node.body + node.orelse + node.finalbody, scope)
            case ast.Return():
                raise Returned(None if node.value is None else self.evaluate(node.value, scope))
            case ast.Raise() | ast.Continue() | ast.Break():
                raise Stopped
            case ast.Import() | ast.ImportFrom():
                self._import(node, scope)
            case ast.FunctionDef():
                scope.variables[node.name] = FunctionRef(scope.module, node, closure=scope.variables)
            case ast.ClassDef():
                scope.variables[node.name] = ClassRef(scope.module, node)
            case ast.Delete():
                for target in node.targets:
                    if isinstance(target, ast.Subscript):
                        holder = self.evaluate(target.value, scope)
                        if isinstance(holder, dict):
                            holder.pop(self.evaluate(target.slice, scope), None)

    def _loop(self, node, scope):
        items = self.items(self.evaluate(node.iter, scope))
        if items is None:
            self.notes.append(f"a loop over an unknown sequence: {ast.unparse(node.iter)[:60]}")
            return
        for item in items:
            self._assign(node.target, item, scope)
            try:
                self._block(node.body, scope)
            except Stopped:
                continue

    def _assign(self, target, value, scope):
        if isinstance(target, ast.Name):
            scope.variables[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = self.items(value)
            if values is None or len(values) != len(target.elts):
                values = [Unknown(ast.unparse(target))] * len(target.elts)
            for part, item in zip(target.elts, values):
                self._assign(part, item, scope)
        elif isinstance(target, ast.Subscript):
            holder = self.evaluate(target.value, scope)
            key = self.evaluate(target.slice, scope)
            if isinstance(holder, dict) and isinstance(key, (str, int)):
                holder[key] = value

    def items(self, value):
        """The members of a value that a loop may go over; None where they are not known."""
        if isinstance(value, (list, tuple)):
            return list(value)
        if isinstance(value, (set, frozenset)):
            return sorted(value, key=str)
        if isinstance(value, dict):
            return list(value)
        if isinstance(value, ClassRef) and self.is_enum(value):
            return self.enum_members(value)
        return None

    # Expressions

    def evaluate(self, node, scope):
        """The value of an expression; `Unknown` where the sources do not tell."""
        value = self._evaluate(node, scope)
        return Unknown(ast.unparse(node)[:80]) if value is NotImplemented else value

    def _evaluate(self, node, scope):
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self.lookup(node.id, scope)
            case ast.Attribute():
                return self._attribute(self.evaluate(node.value, scope), node.attr)
            case ast.List() | ast.Tuple() | ast.Set():
                items = self._elements(node.elts, scope)
                if isinstance(node, ast.Set):
                    return set(items) if all(isinstance(item, (str, int, float)) for item in items) else items
                return items if isinstance(node, ast.List) else tuple(items)
            case ast.Dict():
                return self._dictionary(node, scope)
            case ast.JoinedStr():
                return self._joined(node, scope)
            case ast.BinOp():
                left, right = self.evaluate(node.left, scope), self.evaluate(node.right, scope)
                return self._add(left, right) if isinstance(node.op, ast.Add) else self._either(node.op, left, right)
            case ast.BoolOp():
                values = [self.evaluate(value, scope) for value in node.values]
                return self._boolean(node.op, values)
            case ast.UnaryOp():
                value = self.evaluate(node.operand, scope)
                if isinstance(value, (Unknown, External)):
                    return NotImplemented
                if isinstance(node.op, ast.Not):
                    return not value
                return -value if isinstance(node.op, ast.USub) and isinstance(value, (int, float)) else NotImplemented
            case ast.Compare() if len(node.ops) == 1:
                left, right = self.evaluate(node.left, scope), self.evaluate(node.comparators[0], scope)
                return _compare(node.ops[0], left, right)
            case ast.IfExp():
                test = self.evaluate(node.test, scope)
                if isinstance(test, (Unknown, External)):
                    return NotImplemented
                return self.evaluate(node.body if test else node.orelse, scope)
            case ast.Subscript():
                return self._subscript(self.evaluate(node.value, scope), self.evaluate(node.slice, scope))
            case ast.Lambda():
                return FunctionRef(scope.module, node, closure=scope.variables)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node, scope)
            case ast.Call():
                return self._call(node, scope)
        return NotImplemented

    def _elements(self, nodes, scope):
        items = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                inner = self.items(self.evaluate(node.value, scope))
                items += [Unknown(ast.unparse(node)[:80])] if inner is None else inner
            else:
                items.append(self.evaluate(node, scope))
        return items

    def _dictionary(self, node, scope):
        found = {}
        for key, value in zip(node.keys, node.values):
            inner = self.evaluate(value, scope)
            if key is None:
                found.update(inner if isinstance(inner, dict) else {"**": inner})
                continue
            name = self.evaluate(key, scope)
            if isinstance(name, EnumMember):
                name = name.value
            if isinstance(name, (str, int)):
                found[name] = inner
        return found

    def _joined(self, node, scope):
        text, known = "", True
        for part in node.values:
            value = part.value if isinstance(part, ast.Constant) else self.evaluate(part.value, scope)
            known &= isinstance(value, (str, int, float))
            text += str(value) if isinstance(value, (str, int, float)) else "…"
        return text if known else Unknown(text)

    def _add(self, left, right):
        if isinstance(left, str) and isinstance(right, str) or isinstance(left, tuple) and isinstance(right, tuple):
            return left + right
        if isinstance(left, list) or isinstance(right, list):
            # A list that is known in part stays a list, with a mark in it.
            return [item for side in (left, right)
                    for item in (self.items(side) if self.items(side) is not None else [side])]
        numbers = (int, float)
        if isinstance(left, numbers) and isinstance(right, numbers):
            return left + right
        texts = (side if isinstance(side, str) else getattr(side, "text", "…") for side in (left, right))
        return Unknown("".join(texts))

    @staticmethod
    def _either(operator, left, right):
        types = (External, ClassRef, Generic, type(None))
        if isinstance(operator, ast.BitOr):
            if isinstance(left, (set, dict)) and isinstance(right, type(left)):
                return left | right
            if isinstance(left, types) or isinstance(right, types):
                return Generic("Union", (left, right))
        if isinstance(operator, ast.Sub) and isinstance(left, set) and isinstance(right, set):
            return left - right
        return NotImplemented

    @staticmethod
    def _boolean(operator, values):
        wanted = isinstance(operator, ast.Or)
        for value in values:
            if isinstance(value, (Unknown, External)):
                return NotImplemented
            if bool(value) == wanted:
                return value
        return values[-1]

    def _subscript(self, holder, key):
        if isinstance(holder, dict):
            return holder.get(key, NotImplemented) if isinstance(key, (str, int)) else NotImplemented
        if isinstance(holder, (list, tuple)) and isinstance(key, int) and -len(holder) <= key < len(holder):
            return holder[key]
        if isinstance(holder, External) and holder.name.rsplit(".", 1)[-1] in GENERICS:
            parameters = key if isinstance(key, tuple) else (key,)
            return Generic(holder.name.rsplit(".", 1)[-1], parameters)
        if isinstance(holder, (ClassRef, External)):
            return holder
        return NotImplemented

    def _attribute(self, holder, name):
        if isinstance(holder, ModuleRef):
            return self.member(holder.name, name)
        if isinstance(holder, External):
            return External(f"{holder.name}.{name}")
        if isinstance(holder, EnumMember):
            return getattr(holder, name) if name in ("name", "value") else NotImplemented
        if isinstance(holder, (ClassRef, Instance)):
            return self._class_attribute(holder, name)
        if isinstance(holder, Parser) or any(isinstance(holder, kind) and name in methods
                                             for kind, methods in PURE_METHODS.items()):
            return Method(holder, name)
        return NotImplemented

    def _class_attribute(self, holder, name):
        cls = holder.cls if isinstance(holder, Instance) else holder
        if isinstance(holder, Instance) and name in holder.keywords:
            return holder.keywords[name]
        if name == "__name__":
            return cls.name
        if self.is_enum(cls):
            member = next((member for member in self.enum_members(cls) if member.name == name), None)
            if member:
                return member
        method = self.method(cls, name, receiver=holder)
        if method:
            return method
        for ancestor in self.ancestry(cls):
            if isinstance(ancestor, ClassRef) and name in self.body(ancestor):
                return self.body(ancestor)[name]
        return NotImplemented

    def _comprehension(self, node, scope):
        if len(node.generators) != 1:
            return NotImplemented
        generator = node.generators[0]
        items = self.items(self.evaluate(generator.iter, scope))
        if items is None:
            return NotImplemented
        inner = Scope(scope.module, dict(scope.variables), owner=scope.owner, receiver=scope.receiver)
        found = []
        for item in items:
            self._assign(generator.target, item, inner)
            tests = [self.evaluate(test, inner) for test in generator.ifs]
            if any(isinstance(test, (Unknown, External)) for test in tests):
                return NotImplemented
            if all(tests):
                found.append((self.evaluate(node.key, inner), self.evaluate(node.value, inner))
                             if isinstance(node, ast.DictComp) else self.evaluate(node.elt, inner))
        if isinstance(node, ast.DictComp):
            return {key: value for key, value in found if isinstance(key, (str, int))}
        return found

    # Calls

    def _call(self, node, scope):
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
            inner = node.func.value
            if isinstance(inner.func, ast.Name) and inner.func.id == "super" and scope.owner is not None:
                cls = scope.receiver.cls if isinstance(scope.receiver, Instance) else scope.receiver
                if not isinstance(cls, ClassRef):
                    return NotImplemented
                method = self.method(cls, node.func.attr, scope.receiver, after=scope.owner)
                return self.run(method, *self._arguments(node, scope)) if method else NotImplemented
        function = self.evaluate(node.func, scope)
        arguments, keywords = self._arguments(node, scope)
        hook = self.hooks.get(getattr(function, "name", "").rsplit(".", 1)[-1])
        if hook and isinstance(function, (FunctionRef, External)):
            return hook(self, function, arguments, keywords, scope)
        if isinstance(function, Method):
            return self._method(function, arguments, keywords, scope)
        if isinstance(function, ClassRef):
            return Instance(function, keywords)
        if isinstance(function, FunctionRef):
            return self.run(function, arguments, keywords)
        if isinstance(function, External):
            return self._builtin(function.name.rsplit(".", 1)[-1], arguments, keywords)
        return NotImplemented

    def _arguments(self, node, scope):
        keywords = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, scope)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif isinstance(value, dict):
                keywords.update(value)
            else:
                keywords["**"] = value
        return self._elements(node.args, scope), keywords

    def _method(self, method, arguments, keywords, scope):
        if isinstance(method.receiver, Parser):
            if method.name == "add_argument":
                self.registered.append((arguments, keywords, scope.owner))
                return None
            return Parser() if method.name.endswith("_group") else NotImplemented
        if any(isinstance(argument, Unknown) for argument in arguments) and method.name not in ("append", "extend"):
            # `update(UNKNOWN)` and the like would raise, or lose what is known.
            return NotImplemented
        if self.uncertain and method.name in ADDITIONS:
            return None
        try:
            result = getattr(method.receiver, method.name)(*arguments)
        except (TypeError, ValueError, KeyError, AttributeError):
            return NotImplemented
        return list(result) if type(result).__name__ in ("dict_items", "dict_keys", "dict_values") else result

    def _builtin(self, name, arguments, keywords):
        if name == "deepcopy" and arguments:
            return _copy(arguments[0])
        if name == "get_args" and arguments and isinstance(arguments[0], Generic):
            return tuple(arguments[0].parameters)
        if name == "dict" and not arguments:
            return dict(keywords)
        if name not in ("list", "tuple", "set", "frozenset", "sorted") or len(arguments) > 1:
            return NotImplemented
        items = self.items(arguments[0]) if arguments else []
        if items is None:
            return NotImplemented
        if name == "sorted":
            return sorted(items, key=str)
        if name in ("set", "frozenset"):
            return set(items) if all(isinstance(item, (str, int)) for item in items) else items
        return tuple(items) if name == "tuple" else items


def _copy(value):
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value


def _as_load(target):
    """An assignment's target, read."""
    return ast.parse(ast.unparse(target), mode="eval").body


def _compare(operator, left, right):
    if isinstance(left, (Unknown, External)) or isinstance(right, (Unknown, External)):
        return NotImplemented
    match operator:
        case ast.Eq():
            return left == right
        case ast.NotEq():
            return left != right
        case ast.Is():
            return left is right
        case ast.IsNot():
            return left is not right
        case ast.In() | ast.NotIn() if isinstance(right, (list, tuple, set, dict, str)):
            try:
                return (left in right) == isinstance(operator, ast.In)
            except TypeError:
                return NotImplemented
    return NotImplemented
