"""Checks our output with PyYAML and argparse.

usage: check_output.py KUBEFOUNDRY

For every example and golden case that renders, PyYAML (YAML 1.1) must read the values that `--output json` prints, and a
parser built from the flag tables must accept every engine argument.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "crates/engines/src/flags/data"


def render(binary, folder, output):
    """Returns the output of `render`, or None for a case with errors (exit status 1: input, 2: options)."""
    command = [binary, "render", str(folder), "--output", output]
    # A policy for pods counts only in a file that is named.
    if (folder / "kubefoundry.yaml").exists():
        command += ["--config", str(folder / "kubefoundry.yaml")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode in (1, 2):
        assert run.stdout == "", f"{folder}: something on stdout in spite of an error"
        return None
    assert run.returncode == 0, f"{folder}: exit {run.returncode}\n{run.stderr}"
    return run.stdout


def objects(document):
    """Returns the objects of a JSON answer, which is one object or a List."""
    return document["items"] if document.get("kind") == "List" else [document]


def parser_of(*tables):
    """Builds an argparse parser with the flags of all versions in the tables, registered as the engine does."""
    parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    seen = set()
    for table in tables:
        for line in (DATA / f"{table}.txt").read_text().splitlines():
            if line.startswith("#"):
                continue
            name, _, rest = line.split(" ", 2)
            kind = rest.split(" ", 1)[0]
            if name in seen or kind.startswith("!"):
                continue
            seen.add(name)
            flag = f"--{name}"
            if kind.startswith("="):
                parser.add_argument(flag, dest=kind[1:])
            elif kind == "switch":
                parser.add_argument(flag, action="store_true")
            elif kind == "pair":
                parser.add_argument(flag, action=argparse.BooleanOptionalAction)
            elif kind.endswith("+"):
                parser.add_argument(flag, nargs="+")
            else:
                parser.add_argument(flag)
    return parser


ENGINES = {
    "dynamo.vllm": ("dynamo-vllm", "vllm"),
    "dynamo.sglang": ("dynamo-sglang", "sglang"),
    "dynamo.trtllm": ("dynamo-trtllm",),
    "vllm.entrypoints.openai.api_server": ("vllm",),
}


def containers(value):
    """Yields (module, args) for every container in an object that runs a Python module."""
    if isinstance(value, dict):
        command = value.get("command")
        if isinstance(command, list) and command[:2] == ["python3", "-m"]:
            yield command[2], value.get("args", [])
        for inner in value.values():
            yield from containers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from containers(inner)


def kubelet(argument):
    """Expands an element of `args` as the kubelet does: `$$` is a dollar. An unescaped reference is our bug."""
    out, index = [], 0
    while index < len(argument):
        if argument[index] == "$" and index + 1 < len(argument):
            assert argument[index + 1] != "(", f"the kubelet would expand {argument!r}"
            if argument[index + 1] == "$":
                index += 1
        out.append(argument[index])
        index += 1
    return "".join(out)


def check_arguments(folder, document, parsers):
    count = 0
    for module, args in containers(document):
        if module not in ENGINES:
            continue
        parser = parsers.setdefault(module, parser_of(*ENGINES[module]))
        args = [kubelet(argument) for argument in args]
        known, unknown = parser.parse_known_args(args)
        for argument in unknown:
            # A flag outside the tables is passed on with an info finding, as a single element with its value.
            assert argument.startswith("--"), f"{folder}: {module} would read {argument!r} as a positional argument"
        for argument in args:
            name, has_value, value = argument.partition("=")
            if has_value and name.startswith("--") and name not in [a.partition("=")[0] for a in unknown]:
                dest = parser._option_string_actions[name].dest
                read = getattr(known, dest)
                read = read[0] if isinstance(read, list) else read
                assert read == value, f"{folder}: {argument!r} is read as {read!r}"
        count += len(args)
    return count


def main():
    binary = sys.argv[1]
    folders = sorted(p for p in ROOT.glob("examples/*") if p.is_dir())
    folders += sorted(p for p in ROOT.glob("testdata/golden/*/*") if p.is_dir())
    rendered = arguments = 0
    parsers = {}
    for folder in folders:
        text = render(binary, folder, "yaml")
        if text is None:
            continue
        read = [document for document in yaml.safe_load_all(text) if document is not None]
        printed = objects(json.loads(render(binary, folder, "json")))
        assert read == printed, f"{folder}: PyYAML reads other values than --output json prints"
        for document in printed:
            arguments += check_arguments(folder, document, parsers)
            if "serveConfigV2" in document.get("spec", {}):
                yaml.safe_load(document["spec"]["serveConfigV2"])
        rendered += 1
    assert rendered > 20, f"only {rendered} cases rendered"
    print(f"{rendered} cases read back by PyYAML, {arguments} engine arguments read back by argparse")


if __name__ == "__main__":
    main()
