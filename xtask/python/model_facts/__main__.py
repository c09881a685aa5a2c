"""`python3 -m model_facts WHEEL`: prints the facts of all models in a wheel as JSON."""

import sys

if sys.version_info < (3, 11):
    sys.exit("model_facts needs Python 3.11 or later")

import argparse
import datetime
import json

from engine_flags.wheel import Wheel

from .config import facts_of
from .line import line_of

FOLDER = "model_configs/"
CONFIG = "_config.json"
QUANTIZATION = "_hf_quant_config.json"


def main():
    parser = argparse.ArgumentParser(prog="model_facts", description=__doc__)
    parser.add_argument("wheel")
    wheel = Wheel(parser.parse_args().wheel)
    json.dump({
        "file": wheel.path.name,
        "sha256": wheel.sha256(),
        "read": datetime.date.today().isoformat(),
        "lines": lines(wheel),
    }, sys.stdout, indent=1)
    print()


def lines(wheel):
    """One line for each model, in the order of their names in lower case."""
    files = {file.rpartition("/")[2]: file for file in wheel.files() if FOLDER in file and file.endswith(CONFIG)}
    models = []
    for name, file in files.items():
        if name.endswith(QUANTIZATION):
            continue
        identifier = name.removesuffix(CONFIG)
        quantization = files.get(identifier + QUANTIZATION)
        facts = facts_of(
            json.loads(wheel.read(file)),
            json.loads(wheel.read(quantization)) if quantization else {},
        )
        # The file names write the slash of an id as two dashes.
        models.append((identifier.replace("--", "/", 1), facts))
    if not models:
        sys.exit(f"{wheel.path.name} has no {FOLDER}*{CONFIG}: where are they now?")
    return [line_of(name, facts) for name, facts in sorted(models, key=lambda model: model[0].lower())]


if __name__ == "__main__":
    main()
