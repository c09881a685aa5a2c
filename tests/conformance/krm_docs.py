"""Runs every `shell-session` block of docs/kustomize.md, docs/kpt.md and docs/troubleshooting.md in a copy of
krm/examples. The output must match the page, where a line `...` stands for any lines. `--update` rewrites the page.
"""

import re
import shutil
import sys

from clients import EXAMPLES, Package, Report, run, run_page

PAGES = ["kustomize.md", "kpt.md", "troubleshooting.md"]


def main():
    report = Report()
    for page in PAGES:
        with Package(EXAMPLES) as package:

            def execute(command):
                if command.startswith("kubectl ") and not shutil.which("kubectl"):
                    print(f"skipped: kubectl is not installed: {command}")
                    return None
                printed = run(f"({command}) 2>&1", package.path)[1]
                return re.sub(r" in \d+(\.\d+)?m?s$", " in 0s", printed, flags=re.M).replace(str(package.path), "EXAMPLES")

            run_page(report, page, execute, update="--update" in sys.argv)
    report.end("documentation")


main()
