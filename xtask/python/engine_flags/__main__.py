"""`python3 -m engine_flags --package PACKAGE WHEEL`: prints the facts of one wheel as JSON."""

import sys

if sys.version_info < (3, 11):
    sys.exit("engine_flags needs Python 3.11 or later")

import argparse
import datetime
import json

from . import dynamo, ray, sglang, vllm
from .wheel import Wheel

PACKAGES = {"vllm": vllm, "sglang": sglang, "ai-dynamo": dynamo, "ray": ray}


def main():
    parser = argparse.ArgumentParser(prog="engine_flags", description=__doc__)
    parser.add_argument("--package", required=True, choices=PACKAGES)
    parser.add_argument("wheel")
    options = parser.parse_args()
    wheel = Wheel(options.wheel)
    tables, notes = PACKAGES[options.package].extract(wheel)
    json.dump({
        "file": wheel.path.name,
        "sha256": wheel.sha256(),
        "read": datetime.date.today().isoformat(),
        "requires": wheel.requirements(),
        "tables": tables,
        "notes": sorted(set(notes)),
    }, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
