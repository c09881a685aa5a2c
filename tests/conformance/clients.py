"""Shared helpers of the checks with real clients: copies of packages, runs of commands and pages, and a report."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "krm" / "examples"
BUILD = ["kustomize", "build", "--enable-alpha-plugins", "--enable-exec"]


class Report:
    """Counts checks that passed and failed, and prints each failure with the actual output."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, holds, seen=""):
        if holds:
            self.passed += 1
            return
        self.failed += 1
        print(f"FAIL {name}")
        print("".join(f"     {line}\n" for line in str(seen).splitlines()[:40]), end="")

    def end(self, what):
        print(f"{what}: {self.passed} checks hold, {self.failed} do not")
        sys.exit(1 if self.failed else 0)


def run(command, cwd=None, stdin=None, extra_path=()):
    """Runs a command and returns (status, standard output, standard error)."""
    path = os.pathsep.join([*map(str, extra_path), os.environ["PATH"]])
    done = subprocess.run(
        command, cwd=cwd, input=stdin, capture_output=True, text=True, env={**os.environ, "PATH": path}, shell=isinstance(command, str),
        executable="/bin/bash" if isinstance(command, str) else None,
    )
    return done.returncode, done.stdout, done.stderr


class Package:
    """A fresh copy of a directory in its own Git repository, so that `git diff` shows the changes of a client."""

    def __init__(self, source):
        self.temporary = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.temporary.name) / pathlib.Path(source).name
        shutil.copytree(source, self.path)
        self.git("init", "-q")
        self.commit()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.temporary.cleanup()

    def git(self, *arguments):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "core.autocrlf=false"]
        status, out, err = run(["git", *identity, *arguments], self.path)
        if status:
            raise RuntimeError(f"git {arguments}: {err}")
        return out

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "state")

    def diff(self):
        """Returns the changes since the last commit, with new files."""
        self.git("add", "-A")
        return self.git("diff", "--cached", "--no-color")

    def write(self, name, text):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def files(self):
        return sorted(str(p.relative_to(self.path)) for p in self.path.rglob("*") if p.is_file() and ".git/" not in str(p))


# A block of a page: commands with their output, or a file to write before the next command.
BLOCK = re.compile(r"```(?:shell-session|\w+ file=(\S+)[^\n]*)\n(.*?)```", re.S)


def commands(block):
    """Returns the commands of a block, each with the lines of its expected output. After a line that ends in a backslash or
    a pipe, a line `> …` continues the command."""
    found = []
    for line in block.splitlines():
        if line.startswith("> ") and found and not found[-1][1] and found[-1][0].endswith(("\\", "|")):
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
        elif line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found


def matches(expected, printed):
    """Whether the output is the expected one, in which a line `...` stands for any lines."""
    parts = [re.escape(line) if line != "..." else None for line in expected]
    pattern = "".join("(?:.*\n)*?" if part is None else part + "\n" for part in parts)
    return re.fullmatch(pattern, printed) is not None


def run_page(report, page, execute, write=None, update=False):
    """Runs the commands of a page in docs/ in order, and compares what they print with the page.

    `execute` returns the output of a command, or None if the command is skipped; `write` gets the name and the text of a
    file. `update` rewrites the page instead.
    """
    text = (ROOT / "docs" / page).read_text()
    blocks = list(BLOCK.finditer(text))
    report.check(f"{page} has commands", sum(match[1] is None for match in blocks) >= 2)
    for match in blocks:
        name, block = match.groups()
        if name is not None:
            write(name, block)
            continue
        shown = []
        for command, expected in commands(block):
            shown += f"$ {command}".replace("\n", "\n> ").splitlines()
            printed = execute(command)
            if printed is None:
                shown += expected
                continue
            report.check(f"{page}: {command}", update or matches(expected, printed), printed)
            is_shortened = "..." in expected and matches(expected, printed)
            shown += expected if is_shortened else printed.splitlines()
        if update:
            text = text.replace(match[0], "```shell-session\n" + "\n".join(shown) + "\n```", 1)
    if update:
        (ROOT / "docs" / page).write_text(text)
