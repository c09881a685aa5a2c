"""What the interpreter follows, and what it leaves alone, on parsers of a few lines."""

from engine_flags.arguments import Converter
from engine_flags.interpreter import Interpreter
from engine_flags.values import Parser

from .wheels import WheelTest, brief


class InterpreterTest(WheelTest):
    def flags(self, body, files=None, **options):
        """The flags that `fill` of the module `demo` registers, and the notes."""
        wheel = self.wheel({"demo/__init__.py": body} | (files or {}))
        interpreter = Interpreter(wheel)
        interpreter.run(interpreter.member("demo", "fill"), [Parser()])
        converter = Converter(interpreter, **options)
        facts = converter.facts([(positional, keywords) for positional, keywords, _ in interpreter.registered])
        return brief(facts.values()), interpreter.notes + converter.notes

    def test_nothing_is_imported_or_run(self):
        found, notes = self.flags(
            """
            import absent_package
            raise SystemExit("imported")

            def fill(parser):
                open("/nonexistent/file", "w")
                absent_package.start()
                parser.add_argument("--port", type=int)
            """
        )
        self.assertEqual(found, {"port": "int"})
        self.assertEqual(notes, [])

    def test_a_loop_over_known_names_registers_each(self):
        found, _ = self.flags(
            """
            OLD = (("--old-size", "--size"), ("--old-count", "--count"))

            def fill(parser):
                group = parser.add_argument_group("sizes")
                for old, new in OLD:
                    group.add_argument(old, type=int, help=f"Deprecated; use {new}.")
            """
        )
        self.assertEqual(found, {"old-size": "int deprecated", "old-count": "int deprecated"})

    def test_helpers_and_other_modules_are_followed(self):
        found, notes = self.flags(
            """
            from demo.names import NAMES as names, Mode
            from .more import add_common

            def fill(parser):
                add_common(parser, prefix="x")
                parser.add_argument("--name", choices=sorted(names))
                parser.add_argument("--mode", choices=["none"] + [m.value for m in Mode])
                parser.add_argument("--level", choices=[m.name.lower() for m in Mode])
            """,
            {
                "demo/names.py": """
                    from enum import Enum
                    _BASE = ["b", "a"]
                    NAMES = _BASE + ["c"]
                    class Mode(str, Enum):
                        FAST = "quick"
                        SAFE = "slow"
                """,
                "demo/more.py": """
                    def add_common(parser, *, prefix, kind=float):
                        options = {"type": kind}
                        parser.add_argument(f"--{prefix}-ratio", "-r", **options)
                """,
            },
        )
        self.assertEqual(
            found,
            {
                "x-ratio": "float aliases=r",
                "name": "str choices=a|b|c",
                "mode": "str choices=none|quick|slow",
                "level": "str choices=fast|safe",
            },
        )
        self.assertEqual(notes, [])

    def test_an_unknown_condition_registers_but_adds_no_value(self):
        found, _ = self.flags(
            """
            import os

            def fill(parser):
                modes = {"a", "b"}
                if os.environ.get("TEST"):
                    modes.add("c")
                    parser.add_argument("--extra", action="store_true")
                else:
                    parser.add_argument("--usual", action="store_false")
                parser.add_argument("--mode", choices=modes)
            """
        )
        self.assertEqual(found, {"extra": "switch", "usual": "switch", "mode": "str choices=a|b"})

    def test_a_known_condition_is_decided(self):
        found, _ = self.flags(
            """
            def fill(parser, only_some=False):
                if not only_some:
                    parser.add_argument("--all")
                if "x" in ("y", "z") or only_some:
                    parser.add_argument("--some")
            """
        )
        self.assertEqual(found, {"all": "str"})

    def test_what_is_unknown_costs_one_fact_and_leaves_a_note(self):
        found, notes = self.flags(
            """
            import elsewhere

            def fill(parser):
                parser.add_argument("--name", choices=elsewhere.names())
                parser.add_argument("--some", choices=["a"] + elsewhere.NAMES)
                parser.add_argument("--kind", type=elsewhere.parse, choices=["a", "b"])
                for name in elsewhere.NAMES:
                    parser.add_argument("--" + name)
                parser.add_argument("--more", **elsewhere.options())
                parser.add_argument(elsewhere.NAME)
            """
        )
        self.assertEqual(found, {"name": "str", "some": "str", "kind": "str", "more": "str"})
        self.assertEqual(len(notes), 6, notes)

    def test_values_are_read_as_argparse_would(self):
        found, _ = self.flags(
            """
            import argparse, json, pathlib

            def fill(parser):
                parser.add_argument("model", help="positional")
                parser.add_argument("--list", nargs="+", type=int)
                parser.add_argument("--any", nargs="*")
                parser.add_argument("--two", nargs=2)
                parser.add_argument("--maybe", nargs="?")
                parser.add_argument("--again", action="append")
                parser.add_argument("--pair", "-p", action=argparse.BooleanOptionalAction)
                parser.add_argument("--map", type=json.loads)
                parser.add_argument("--file", type=pathlib.Path)
                parser.add_argument("--rank", type=int, choices=[16, 8, 128])
                parser.add_argument("-s", "--snake_case")
                parser.add_argument("--bye", deprecated=True)
            """
        )
        self.assertEqual(
            found,
            {
                "list": "int+",
                "any": "str+",
                "two": "str+",
                "maybe": "str?",
                "again": "str&",
                "pair": "pair aliases=p off=no-pair",
                "map": "json",
                "file": "path",
                "rank": "int choices=8|16|128",
                "snake-case": "str aliases=s",
                "bye": "str deprecated",
            },
        )

    def test_custom_actions_take_values_as_their_constructor_says(self):
        found, notes = self.flags(
            """
            import argparse

            class Retired(argparse.Action):
                def __init__(self, option_strings, dest, new_flag=None, nargs=0, **kwargs):
                    super().__init__(option_strings, dest, nargs=nargs, **kwargs)

            class Kept(Retired):
                pass

            class Collect(argparse.Action):
                pass

            class Both(argparse.BooleanOptionalAction):
                pass

            def fill(parser):
                parser.add_argument("--gone", action=Retired)
                parser.add_argument("--kept", action=Kept, nargs=None, choices=["a"])
                parser.add_argument("--renamed", action=Collect, new_flag="--name", nargs="*")
                parser.add_argument("--both", action=Both)
            """
        )
        self.assertEqual(
            found,
            {
                "gone": "switch",
                "kept": "str choices=a",
                "renamed": "str+ deprecated",
                "both": "pair off=no-both",
            },
        )
        self.assertEqual(notes, ["--renamed: says to use --name instead"])

    def test_pairs_may_have_an_inverse(self):
        found, _ = self.flags(
            """
            from argparse import BooleanOptionalAction

            def fill(parser):
                for name in ("enable-x", "disable-y", "z"):
                    parser.add_argument(f"--{name}", action=BooleanOptionalAction)
            """,
            inverses=True,
        )
        self.assertEqual(
            found,
            {
                "enable-x": "pair off=no-enable-x inverse=disable-x",
                "disable-y": "pair off=no-disable-y inverse=enable-y",
                "z": "pair off=no-z",
            },
        )

    def test_methods_classes_and_super_are_followed(self):
        found, _ = self.flags(
            """
            class Base:
                SIZES = (1, 2)
                ALL = SIZES + (4,)

                @classmethod
                def tune(cls, options):
                    options["size"]["type"] = int
                    return options

                @classmethod
                def add(cls, parser):
                    for name, options in cls.tune({"size": {"choices": Base.ALL}, "rest": {"nargs": "+"}}).items():
                        parser.add_argument(f"--{name}", **options)
                    return parser

            class Derived(Base):
                @classmethod
                def tune(cls, options):
                    options = super().tune(options)
                    del options["rest"]["nargs"]
                    return options

            def fill(parser):
                parser = Derived.add(parser)
            """
        )
        self.assertEqual(found, {"size": "int choices=1|2|4", "rest": "str"})

    def test_a_function_that_calls_itself_ends(self):
        found, _ = self.flags(
            """
            A = B
            B = A

            def fill(parser):
                parser.add_argument("--a", choices=A)
                fill(parser)
            """
        )
        self.assertEqual(found, {"a": "str"})

    def test_a_module_that_cannot_be_parsed_is_noted(self):
        wheel = self.wheel({"demo/__init__.py": "def fill(parser:\n"})
        interpreter = Interpreter(wheel)
        self.assertIsNone(interpreter.module("demo"))
        self.assertIn("demo/__init__.py", interpreter.notes[0])
