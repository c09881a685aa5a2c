"""Finds dictionaries, classes and constants in syntax trees."""

import ast
import sys


def tree_of(wheel, *files):
    """The syntax tree of the first of these files that the wheel has: modules move between versions."""
    for file in files:
        if file in wheel.files():
            return ast.parse(wheel.read(file))
    sys.exit(f"{wheel.path.name} has none of {', '.join(files)}: where is it now?")


def trees_below(wheel, *folders):
    return [
        ast.parse(wheel.read(file)) for file in wheel.files()
        if file.endswith(".py") and any(file.startswith(folder) for folder in folders)
    ]


def assigned(tree, name):
    """The value that is assigned to a name, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        else:
            continue
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return node.value
    return None


def dictionary(tree, name):
    """The entries of the dictionary that is assigned to a name, as text -> expression; others unpacked into it, too."""
    value = assigned(tree, name)
    if not isinstance(value, ast.Dict):
        return {}
    entries = {}
    for key, item in zip(value.keys, value.values):
        if key is None and isinstance(item, ast.Name):
            entries |= dictionary(tree, item.id)
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            entries[key.value] = item
    return entries


def updates(tree, name):
    """The entries that `NAME.update({...})` adds to a dictionary, whatever the condition."""
    entries = {}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr="update"), args=[ast.Dict() as value]):
                if found == name:
                    for key, item in zip(value.keys, value.values):
                        if isinstance(key, ast.Constant):
                            entries[key.value] = item
    return entries


def strings(node):
    """All string constants in an expression."""
    return [
        part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]


def registered(trees, manager):
    """The names of `@MANAGER.register_module("name")`, or of its list of names, on any class."""
    names = []
    for tree in trees:
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr="register_module"), args=args):
                    if found == manager:
                        keywords = [word.value for word in node.keywords if word.arg == "name"]
                        names += [name for part in [*args[:1], *keywords] for name in strings(part)]
    return names


def min_capabilities(trees):
    """The result of `get_min_capability` of each class, inherited ones as well: class -> 75."""
    own, bases = {}, {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = [base.id for base in node.bases if isinstance(base, ast.Name)]
                if (value := min_capability(node)) is not None:
                    own[node.name] = value

    def resolve(name, seen=()):
        if name in own or name in seen:
            return own.get(name)
        found = (resolve(base, (*seen, name)) for base in bases.get(name, []))
        return next((value for value in found if value is not None), None)

    return {name: value for name in bases if (value := resolve(name)) is not None}


def min_capability(class_definition):
    """The constant that the method returns; None if it decides by a condition."""
    for method in class_definition.body:
        if isinstance(method, ast.FunctionDef) and method.name == "get_min_capability":
            returned = [node.value for node in ast.walk(method) if isinstance(node, ast.Return)]
            if len(returned) == 1 and isinstance(returned[0], ast.Constant) and isinstance(returned[0].value, int):
                return returned[0].value
    return None


def methods(entries, capabilities):
    """Quantization methods with the capability of their class: `method -> "7.5"`, or None."""
    result = {}
    for name, item in entries.items():
        value = capabilities.get(item.id) if isinstance(item, ast.Name) else None
        # Classes without a bound return 0, 1 or -1.
        result[name] = f"{value // 10}.{value % 10}" if value and value >= 10 else None
    return result


def config_files(trees):
    """Whether `get_config_filenames` of each class returns names, inherited ones as well: class -> True."""
    own, bases = {}, {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = [base.id for base in node.bases if isinstance(base, ast.Name)]
                for method in node.body:
                    if isinstance(method, ast.FunctionDef) and method.name == "get_config_filenames":
                        own[node.name] = any(strings(part) for part in ast.walk(method) if isinstance(part, ast.List))

    def resolve(name, seen=()):
        if name in own or name in seen:
            return own.get(name)
        found = (resolve(base, (*seen, name)) for base in bases.get(name, []))
        return next((value for value in found if value is not None), None)

    return {name for name in bases if resolve(name)}


def quantized_methods(entries, classes):
    """The methods of these classes."""
    return sorted(name for name, item in entries.items() if isinstance(item, ast.Name) and item.id in classes)


def assertions(trees, messages):
    """The names of the messages that some string of the modules contains."""
    texts = {text for tree in trees for text in strings(tree)}
    return sorted(name for name, message in messages.items() if any(message in text for text in texts))
