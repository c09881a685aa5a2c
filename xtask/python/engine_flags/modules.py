"""The names of a module of the wheel, and the variables of running code."""

import ast


class Scope:
    """The variables that a piece of code sees."""

    def __init__(self, module, variables=None, owner=None, receiver=None):
        self.module = module
        self.variables = {} if variables is None else variables
        # The class whose method is running, and what it was called on: `super()` needs both.
        self.owner = owner
        self.receiver = receiver


class Module:
    """One module of the wheel: what its names are bound to, evaluated when first asked for."""

    def __init__(self, name, is_package, tree):
        self.name = name
        self.is_package = is_package
        self.bindings = {}
        self.stars = []
        self.values = {}
        self.pending = set()
        self._collect(tree.body)

    def _collect(self, body):
        for node in body:
            if isinstance(node, ast.If):
                # What only a type checker sees is bound too, but what is bound at run time counts.
                if "TYPE_CHECKING" in ast.unparse(node.test):
                    self._collect_missing(node.body)
                    self._collect(node.orelse)
                else:
                    self._collect(node.orelse)
                    self._collect(node.body)
            elif isinstance(node, ast.Try):
                for handler in node.handlers:
                    self._collect(handler.body)
                self._collect(node.body + node.orelse + node.finalbody)
            elif isinstance(node, ast.With):
                self._collect(node.body)
            elif isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                self.bindings[node.name] = [node]
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    if alias.name == "*":
                        self.stars.append(node)
                    else:
                        self.bindings[alias.asname or alias.name.split(".")[0]] = [node]
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                            self._rebind(name.id, node)
            elif isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
                self._rebind(node.target.id, node)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self.bindings.setdefault(node.target.id, []).append(node)

    def _rebind(self, name, node):
        # A class that is replaced by a call on itself (`ServerArgs = defstruct("ServerArgs", …)`) keeps its methods.
        bound = self.bindings.get(name, [])
        if bound and isinstance(bound[0], ast.ClassDef):
            return
        self.bindings[name] = [node]

    def _collect_missing(self, body):
        known = dict(self.bindings)
        self._collect(body)
        self.bindings.update(known)
