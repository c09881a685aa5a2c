"""Each package, on a wheel with the shapes that its sources have."""

import json
import os
import subprocess
import sys
from pathlib import Path

from engine_flags import dynamo, ray, sglang, vllm

from .wheels import WheelTest, brief

VLLM_CONFIG = """
    from dataclasses import dataclass
    from typing import Annotated, Any, Literal, TYPE_CHECKING
    from pydantic import Field

    if TYPE_CHECKING:
        from transformers import PretrainedConfig
    else:
        PretrainedConfig = Any

    Dtype = Literal["auto", "half"]

    def config(cls):
        return cls

    @config
    class PoolerConfig:
        kind: str = ""

    class Options(dict[str, int]):
        pass

    @config
    class ModelConfig:
        model: str = "x"
        dtype: Dtype = "auto"
        quantization: Literal["fp8"] | str | None = None
        max_model_len: int | None = None
        max_num_tokens: Annotated[int, Field(ge=1)] = 1
        seed: int = 0
        share: float = 0.9
        eager: bool = False
        enable_x: bool = False
        token: bool | str | None = None
        pooler: "PoolerConfig | None" = None
        overrides: dict[str, Any] | PretrainedConfig | None = None
        loader: dict | str = ""
        limits: Options = Field(default_factory=Options)
        extra: dict[str, int] | None = None
        sizes: list[int] | None = None
        traces: list[Literal["all", "model"]] | None = None
        load: dict[str, Any] | None = None
"""

VLLM_ARGUMENTS = """
    import argparse
    import json
    from vllm.config import ModelConfig

    def _compute_kwargs(cls):
        suffixed = {"max_num_tokens"}
        for field in fields(cls):
            name = field.name
            if contains_type(hints, int):
                if name == "max_model_len":
                    kwargs[name]["type"] = human_readable_int_or_auto
                elif name in suffixed:
                    kwargs[name]["type"] = human_readable_int

    def human_readable_int(value): ...
    def human_readable_int_or_auto(value): ...
    def get_kwargs(cls): return _compute_kwargs(cls)
    def optional_type(reader): ...
    def load_general_plugins(): raise RuntimeError

    class EngineArgs:
        @staticmethod
        def add_cli_args(parser):
            kwargs = get_kwargs(ModelConfig)
            group = parser.add_argument_group("model")
            group.add_argument("--model", **kwargs["model"])
            group.add_argument("--dtype", **kwargs["dtype"])
            group.add_argument("--quantization", "-q", **kwargs["quantization"])
            for name in ("max_model_len", "max_num_tokens", "seed", "share", "eager", "enable_x", "token", "pooler",
                         "overrides", "loader", "limits", "extra", "sizes", "traces"):
                group.add_argument("--" + name.replace("_", "-"), **kwargs[name])
            kwargs["load"]["type"] = optional_type(json.loads)
            group.add_argument("--load", **{**kwargs["load"], "help": "Deprecated."})
            return parser

    class AsyncEngineArgs(EngineArgs):
        @staticmethod
        def add_cli_args(parser, async_args_only=False):
            load_general_plugins()
            if not async_args_only:
                parser = EngineArgs.add_cli_args(parser)
            parser.add_argument("--log-requests", action=argparse.BooleanOptionalAction)
            return parser
"""

VLLM_SERVER = """
    from vllm.config import config
    from vllm.engine.arg_utils import AsyncEngineArgs

    @config
    class FrontendArgs:
        host: str | None = None
        middleware: list[str] = None

        @classmethod
        def add_cli_args(cls, parser):
            from vllm.engine.arg_utils import get_kwargs
            options = get_kwargs(cls)
            options["middleware"]["action"] = "append"
            if "nargs" in options["middleware"]:
                del options["middleware"]["nargs"]
            for key, value in options.items():
                extra = value.pop("flags", [])
                parser.add_argument(*extra, f"--{key.replace('_', '-')}", **value)
            return parser

    def make_arg_parser(parser):
        parser.add_argument("model_tag", nargs="?")
        parser.add_argument("--headless", action="store_true")
        parser = FrontendArgs.add_cli_args(parser)
        parser = AsyncEngineArgs.add_cli_args(parser)
        return parser
"""


class VllmTest(WheelTest):
    def files(self, **more):
        return {
            "vllm/__init__.py": "",
            "vllm/config/__init__.py": VLLM_CONFIG,
            "vllm/engine/arg_utils.py": VLLM_ARGUMENTS,
            "vllm/entrypoints/openai/cli_args.py": VLLM_SERVER,
            "vllm/model_executor/layers/quantization/__init__.py": """
                from typing import Literal
                QuantizationMethods = Literal["gptq", "awq"]
            """,
            "vllm/model_executor/model_loader/__init__.py": """
                from typing import Literal
                LoadFormats = Literal["auto"]
            """,
            "vllm/tool_parsers/__init__.py": """
                _TOOL_PARSERS_TO_REGISTER = {"hermes": ("file", "Class")}
            """,
            "vllm/reasoning/__init__.py": "",
            "vllm/reasoning/parsers.py": """
                @ReasoningParserManager.register_module("one")
                class One: ...
                @ReasoningParserManager.register_module(["two", "three"])
                class Two: ...
            """,
        } | more

    def test_fields_become_flags_as_get_kwargs_makes_them(self):
        tables, notes = vllm.extract(self.wheel(self.files()))
        self.assertEqual(
            brief(tables["vllm"]),
            {
                "headless": "switch frontend",
                "host": "str frontend",
                "middleware": "str& frontend",
                "model": "str",
                "dtype": "str choices=auto|half",
                "quantization": "str aliases=q known=awq|gptq",
                "max-model-len": "human-int",
                "max-num-tokens": "human-int",
                "seed": "int",
                "share": "float",
                "eager": "pair off=no-eager",
                "enable-x": "pair off=no-enable-x",
                "token": "str?",
                "pooler": "json-object",
                "overrides": "json-or-str",
                "loader": "json-or-str",
                "limits": "json",
                "extra": "json",
                "sizes": "int+",
                "traces": "str+ choices=all|model",
                "load": "json deprecated",
                "log-requests": "pair off=no-log-requests",
            },
        )
        self.assertEqual(notes, [])

    def test_names_of_parsers_are_those_that_modules_register(self):
        wheel = self.wheel(self.files())
        self.assertEqual(
            vllm.known_values(vllm.Interpreter(wheel), wheel),
            {
                "quantization": ["gptq", "awq"],
                "load-format": ["auto"],
                "tool-call-parser": ["hermes"],
                "reasoning-parser": ["one", "two", "three"],
            },
        )

    def test_a_registry_that_has_moved_is_told(self):
        for file, what in [("vllm/reasoning/parsers.py", "vllm.reasoning: where are its parsers"),
                           ("vllm/model_executor/model_loader/__init__.py", "LoadFormats: where is it now")]:
            files = self.files()
            del files[file]
            with self.subTest(file), self.assertRaisesRegex(LookupError, what):
                vllm.extract(self.wheel(files))

    def test_pairs_have_an_inverse_where_the_parser_registers_one(self):
        utilities = "class EnableDisableAction: pass\n"
        tables, _ = vllm.extract(self.wheel(self.files(**{"vllm/utils/argparse_utils.py": utilities})))
        self.assertEqual(brief(tables["vllm"])["enable-x"], "pair off=no-enable-x inverse=disable-x")

    def test_a_parser_that_has_moved_is_told(self):
        files = self.files()
        files["vllm/entrypoints/new/cli_args.py"] = files.pop("vllm/entrypoints/openai/cli_args.py")
        with self.assertRaisesRegex(LookupError, "where is it now"):
            vllm.extract(self.wheel(files))


class SglangTest(WheelTest):
    FIELDS = """
        from typing import Annotated as A, List, Literal, Optional
        import msgspec
        from sglang.srt.arg_utils import Arg
        from sglang.srt.choices import FORMATS, Backend, human_readable_int

        class Model(msgspec.Struct):
            model_path: A[str, Arg(help="The path.", aliases=["--model"])]
            tp_size: A[int, Arg(help="Ranks.", cli_name="--tensor-parallel-size", aliases=["--tp-size"])] = 1
            load_format: A[str, Arg(help="Format.", choices=FORMATS)] = "auto"
            context_length: A[Optional[int], Arg(help="Length.", type_parser=human_readable_int)] = None
            trust: A[bool, "Whether to trust."] = False
            names: A[Optional[List[str]], "Names."] = None
            sizes: A[List[int], Arg(help="Sizes.", nargs="*")] = None
            mode: A[Literal["null", "decode"], "The mode."] = "null"
            backend: A[Optional[str], Arg(help="Backend.", choices=Backend.ALL)] = None
            checksum: A[Optional[str], Arg(help="Sum.", nargs="?", const="")] = None
            share: A[Optional[float], "Deprecated share."] = None
            hidden: A[int, Arg(no_cli=True)] = 0
            internal: int = 0
    """
    FILES = {
        "sglang/srt/arg_utils.py": """
            import msgspec
            class Arg(msgspec.Struct):
                help: str = ""
            def add_cli_args_from_dataclass(parser, cls, *, fields=None): ...
        """,
        "sglang/srt/choices.py": """
            FORMATS = ["auto", "pt"]
            FORMATS += ["dummy"]
            class Backend:
                FULL = "full"
                ALL = (FULL, "off")
            def human_readable_int(value): ...
        """,
        "sglang/srt/fields.py": FIELDS,
    }
    EXPECTED = {
        "model-path": "str aliases=model",
        "tensor-parallel-size": "int aliases=tp-size",
        "load-format": "str choices=auto|dummy|pt",
        "context-length": "si-int",
        "trust": "switch",
        "names": "str+",
        "sizes": "int+",
        "mode": "str choices=decode|null",
        "backend": "str choices=full|off",
        "checksum": "str?",
        "share": "float deprecated",
        "config": "str",
    }

    def test_fields_of_namespaces_become_flags(self):
        server = """
            import msgspec
            from sglang.srt.arg_utils import add_cli_args_from_dataclass
            from sglang.srt.fields import Model

            class ServerArgs:
                @staticmethod
                def add_cli_args(parser):
                    add_cli_args_from_dataclass(parser, ServerArgs)
                    parser.add_argument("--config", type=str)

            _INPUT_NAMESPACES = [Model]
            ServerArgs = msgspec.defstruct("ServerArgs", [])
        """
        tables, notes = sglang.extract(self.wheel(self.FILES | {"sglang/srt/server_args.py": server}))
        self.assertEqual(brief(tables["sglang"]), self.EXPECTED)
        self.assertEqual(notes, [])

    def test_fields_of_the_class_itself_become_flags(self):
        server = """
            from sglang.srt.arg_utils import add_cli_args_from_dataclass
            from sglang.srt.fields import Model

            class ServerArgs(Model):
                @staticmethod
                def add_cli_args(parser):
                    add_cli_args_from_dataclass(parser, ServerArgs)
                    parser.add_argument("--config", type=str)
        """
        tables, _ = sglang.extract(self.wheel(self.FILES | {"sglang/srt/server_args.py": server}))
        self.assertEqual(brief(tables["sglang"]), self.EXPECTED)

    def test_flags_that_are_registered_one_by_one_are_read(self):
        server = """
            class ServerArgs:
                @staticmethod
                def add_cli_args(parser):
                    parser.add_argument("--tp-size", "--tensor-parallel-size", type=int, default=ServerArgs.tp)
                    parser.add_argument("--trust", action="store_true")
        """
        tables, _ = sglang.extract(self.wheel({"sglang/srt/server_args.py": server}))
        self.assertEqual(brief(tables["sglang"]), {"tp-size": "int aliases=tensor-parallel-size", "trust": "switch"})


class DynamoTest(WheelTest):
    FILES = {
        "dynamo/common/configuration/utils.py": """
            def add_argument(parser, *, flag_name, env_var, default, help, **kwargs): ...
            def add_negatable_bool_argument(parser, *, flag_name, env_var, default, help): ...
        """,
        "dynamo/common/configuration/arg_group.py": "class ArgGroup: pass\n",
        "dynamo/common/configuration/groups/runtime_args.py": """
            from dynamo._core import names
            from dynamo.common.configuration.arg_group import ArgGroup
            from dynamo.common.configuration.utils import add_argument
            class DynamoRuntimeArgGroup(ArgGroup):
                def add_arguments(self, parser):
                    g = parser.add_argument_group("runtime")
                    add_argument(g, flag_name="--namespace", env_var="N", default="x", help="", choices=names())
        """,
    }
    GROUP = """
        from dynamo.common.configuration.arg_group import ArgGroup
        from dynamo.common.configuration.utils import add_argument, add_negatable_bool_argument
        class DynamoArgGroup(ArgGroup):
            def add_arguments(self, parser):
                g = parser.add_argument_group("own")
                parser.add_argument("--version", action="version")
                add_negatable_bool_argument(g, flag_name="--rl", env_var="DYN_RL", default=False, help="")
                add_argument(g, flag_name="--size", obsolete_flag="--old-size", env_var="S", default=1, arg_type=int)
                add_argument(g, flag_name="--route", env_var="R", default=[], action="append", help="")
    """

    def test_a_wrapper_has_the_shared_flags_and_its_own(self):
        files = self.FILES | {f"dynamo/{engine}/backend_args.py": self.GROUP for engine in dynamo.ENGINES}
        tables, notes = dynamo.extract(self.wheel(files))
        self.assertEqual(list(tables), ["dynamo-vllm", "dynamo-sglang", "dynamo-trtllm"])
        self.assertEqual(
            brief(tables["dynamo-vllm"]),
            {
                "namespace": "str",
                "version": "switch",
                "rl": "pair off=no-rl",
                "size": "int aliases=old-size",
                "route": "str&",
            },
        )
        self.assertEqual(len(notes), 3, notes)

    def test_flags_of_the_second_parser_belong_to_the_wrapper(self):
        router = """
            from dynamo.common.configuration.arg_group import ArgGroup
            from dynamo.common.configuration.utils import add_argument
            class RouterArgGroup(ArgGroup):
                def add_arguments(self, parser):
                    add_argument(parser, flag_name="--router-mode", env_var="M", default=None, help="")
            def add_worker_router_arguments(parser):
                RouterArgGroup().add_arguments(parser)
        """
        files = self.FILES | {f"dynamo/{engine}/backend_args.py": self.GROUP for engine in dynamo.ENGINES}
        files["dynamo/common/configuration/groups/router_args.py"] = router
        tables, _ = dynamo.extract(self.wheel(files))
        self.assertEqual(brief(tables["dynamo-sglang"])["router-mode"], "str")

    def test_a_wrapper_that_is_not_there_is_told(self):
        with self.assertRaisesRegex(LookupError, "dynamo.vllm.backend_args: where is it now"):
            dynamo.extract(self.wheel(self.FILES))


class PinsTest(WheelTest):
    METADATA = """\
        Metadata-Version: 2.4
        Name: ray
        Requires-Dist: numpy>=1.20
        Requires-Dist: vllm[audio]==0.29.0; extra == "llm"
        Requires-Dist: tensorrt-llm==1.3.0rc29; extra == 'trtllm'
        Requires-Dist: nixl[cu13]==1.5.0,!=1.5.1; extra == 'x'

        Requires-Dist: torch==1.0
    """

    def test_exact_versions_and_lower_bounds_are_pins(self):
        wheel = self.wheel({"ray/vendored/other-1.dist-info/METADATA": "Requires-Dist: vllm==0.1\n",
                            "ray-2.60.0.dist-info/METADATA": self.METADATA})
        self.assertEqual(wheel.requirements(), {"numpy": ">=1.20", "vllm": "0.29.0", "tensorrt-llm": "1.3.0rc29"})
        self.assertEqual(ray.extract(wheel), ({}, []))

    def test_a_ray_without_its_pin_is_told(self):
        with self.assertRaisesRegex(LookupError, "pins no vllm"):
            ray.extract(self.wheel({"ray-2.60.0.dist-info/METADATA": "Name: ray\n"}))


class CommandTest(WheelTest):
    def test_the_command_prints_what_a_wheel_says(self):
        server = """
            class ServerArgs:
                @staticmethod
                def add_cli_args(parser):
                    parser.add_argument("--tp-size", type=int)
        """
        wheel = self.wheel({"sglang/srt/server_args.py": server}, name="sglang-1.0-py3-none-any.whl")
        command = [sys.executable, "-m", "engine_flags", "--package", "sglang", str(wheel.path)]
        scripts = Path(__file__).parents[1]
        output = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(scripts)}, capture_output=True, check=True)
        told = json.loads(output.stdout)
        self.assertEqual(told["file"], "sglang-1.0-py3-none-any.whl")
        self.assertEqual(told["sha256"], wheel.sha256())
        self.assertRegex(told["read"], r"^\d{4}-\d\d-\d\d$")
        self.assertEqual(brief(told["tables"]["sglang"]), {"tp-size": "int"})
