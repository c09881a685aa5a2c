"""`python3 -m engine_facts --package PACKAGE WHEEL`: prints the facts of one wheel as JSON."""

import sys

if sys.version_info < (3, 11):
    sys.exit("engine_facts needs Python 3.11 or later")

import argparse
import datetime
import json

from engine_flags.wheel import Wheel

from . import sglang, vllm

PACKAGES = {"vllm": vllm, "sglang": sglang}


def main():
    parser = argparse.ArgumentParser(prog="engine_facts", description=__doc__)
    parser.add_argument("--package", required=True, choices=PACKAGES)
    parser.add_argument("wheel")
    options = parser.parse_args()
    wheel = Wheel(options.wheel)
    json.dump({
        "file": wheel.path.name,
        "sha256": wheel.sha256(),
        "read": datetime.date.today().isoformat(),
        "facts": PACKAGES[options.package].extract(wheel),
    }, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
