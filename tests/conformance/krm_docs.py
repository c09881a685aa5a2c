"""Runs every `shell-session` block of docs/kustomize.md, docs/kpt.md and docs/troubleshooting.md in a copy of
krm/examples. The output must match the page, where a line `...` stands for any lines. `--update` rewrites the page.
"""

import re
import shutil
import sys

from clients import EXAMPLES, ROOT, Package, Report, run

PAGES = ["kustomize.md", "kpt.md", "troubleshooting.md"]
BLOCK = re.compile(r"```shell-session\n(.*?)```", re.S)


def commands(block):
    """Returns the commands of a block, each with the lines of its expected output."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found


def matches(expected, printed):
    parts = [re.escape(line) if line != "..." else None for line in expected]
    pattern = "".join("(?:.*\n)*?" if part is None else part + "\n" for part in parts)
    return re.fullmatch(pattern, printed) is not None


def main():
    update = "--update" in sys.argv
    report = Report()
    for page in PAGES:
        text = (ROOT / "docs" / page).read_text()
        blocks = BLOCK.findall(text)
        report.check(f"{page} has commands", len(blocks) >= 2)
        with Package(EXAMPLES) as package:
            for block in blocks:
                shown = []
                for command, expected in commands(block):
                    if command.startswith("kubectl ") and not shutil.which("kubectl"):
                        print(f"skipped: kubectl is not installed: {command}")
                        shown += [f"$ {command}", *expected]
                        continue
                    status, out, err = run(f"({command}) 2>&1", package.path)
                    printed = re.sub(r" in \d+(\.\d+)?m?s$", " in 0s", out, flags=re.M).replace(str(package.path), "EXAMPLES")
                    report.check(f"{page}: {command}", update or matches(expected, printed), printed)
                    shown += [f"$ {command}", *(expected if "..." in expected and matches(expected, printed) else printed.splitlines())]
                if update:
                    text = text.replace(block, "\n".join(shown) + "\n", 1)
        if update:
            (ROOT / "docs" / page).write_text(text)
    report.end("documentation")


main()
