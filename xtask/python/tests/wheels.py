"""Small wheels, made from texts."""

import tempfile
import textwrap
import unittest
import zipfile
from pathlib import Path

from engine_flags.wheel import Wheel


class WheelTest(unittest.TestCase):
    """A test case that makes wheels; they go when the test ends."""

    def wheel(self, files, name="demo-1.0-py3-none-any.whl"):
        """A wheel with these files: path -> text, indented as it is convenient."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / name
        with zipfile.ZipFile(path, "w") as archive:
            for file, text in files.items():
                archive.writestr(file, textwrap.dedent(text))
        wheel = Wheel(path)
        self.addCleanup(wheel.close)
        return wheel


def brief(facts):
    """Facts as short texts by name, to compare with."""
    def text(fact):
        words = [fact["type"] + fact.get("repeat", "")]
        words += [f"{key}={'|'.join(fact[key])}" for key in ("choices", "aliases", "known") if fact.get(key)]
        words += [f"{key}={fact[key]}" for key in ("off", "inverse") if fact.get(key)]
        words += [word for word in ("frontend", "deprecated") if fact.get(word)]
        return " ".join(words)

    return {fact["name"]: text(fact) for fact in facts}
