"""A wheel as a set of source texts and requirements; it is never installed or unpacked."""

import ast
import hashlib
import re
import zipfile
from pathlib import Path


class Wheel:
    """The Python sources of one wheel file."""

    def __init__(self, path):
        self.path = Path(path)
        self._archive = zipfile.ZipFile(self.path)
        self._files = set(self._archive.namelist())

    def close(self):
        self._archive.close()

    def sha256(self):
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def file_of(self, module):
        """The file of a module and whether it is a package; None for a module that is not in the wheel."""
        path = module.replace(".", "/")
        if f"{path}/__init__.py" in self._files:
            return f"{path}/__init__.py", True
        if f"{path}.py" in self._files:
            return f"{path}.py", False
        return None

    def has_folder(self, module):
        """Whether modules lie below this name: true for a namespace package, which has no file of its own."""
        prefix = module.replace(".", "/") + "/"
        return any(name.startswith(prefix) and name.endswith(".py") for name in self._files)

    def trees_below(self, module):
        """The syntax trees of the modules below this name, in the order of their names."""
        prefix = module.replace(".", "/") + "/"
        files = sorted(name for name in self._files if name.startswith(prefix) and name.endswith(".py"))
        return [ast.parse(self.read(file)) for file in files]

    def files(self):
        """The names of all files, sorted."""
        return sorted(self._files)

    def read(self, file):
        # Some sources start with a byte order mark, which is not part of the text.
        return self._archive.read(file).decode("utf-8-sig")

    def requirements(self):
        """The versions that the wheel pins exactly, by package, extras included: `vllm[audio]==0.29.0`.

        A lower bound keeps its operator: `>=0.18.0`.
        """
        # A wheel may carry other packages in its folders, with metadata of their own.
        metadata = next((name for name in self._files if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)), None)
        if metadata is None:
            return {}
        pins = {}
        for line in self.read(metadata).splitlines():
            if not line:  # The description follows the headers.
                break
            pin = re.match(r"Requires-Dist: ([A-Za-z0-9._-]+)(?:\[[^]]*\])? ?\(?(==|>=)([^\s;,)*]+)\)?\s*(?:;|$)", line)
            if pin:
                version = pin[3] if pin[2] == "==" else f">={pin[3]}"
                pins.setdefault(pin[1].lower().replace("_", "-"), version)
        return pins
