"""Checks .ci/graph.py with steps of its own: order, lanes, failures, what is reused, and the table; and that the jobs of the
workflow name every step of .ci/steps.toml once.

Usage: check_steps.py
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
# `wait` begins first and ends last, `last` measures, and `proof` is about one file.
STEPS = """
[wait]
about = "It waits for another step."
run = "until [ -e target/done ]; do sleep 0.05; done; echo wait >>target/order"
lane = "wait"

[first]
about = "It builds."
run = "echo first >>target/order; mkdir -p target/debug; touch target/done"

[second]
about = "It needs what waits."
run = "echo second >>target/order"
needs = ["wait"]

[proof]
about = "It is about one file."
run = "echo proof >>target/order; cat file"
files = ["file"]
needs = ["second"]

[packed]
about = "It is about another file."
run = "echo packed >>target/order"
files = ["other", "Cargo.lock"]
packaged = true
needs = ["proof"]

[last]
about = "It measures."
run = "echo last >>target/order"
lane = "alone"
units = 1
"""

LOCK = """version = 4

[[package]]
name = "ours"
version = "0.1.0"

[[package]]
name = "theirs"
version = "1.0.0"
source = "registry"
"""


class Repository:
    def __init__(self, folder, steps):
        self.folder = pathlib.Path(folder)
        (self.folder / ".ci").mkdir()
        for name in ("run", "graph.py"):
            shutil.copy(ROOT / ".ci" / name, self.folder / ".ci")
        # The environment of the tests' programs is not needed here.
        (self.folder / ".ci/venv").write_text("echo target/venv\n")
        (self.folder / ".ci/steps.toml").write_text(steps)
        (self.folder / ".gitignore").write_text("target\n")
        (self.folder / "file").write_text("one")
        (self.folder / "other").write_text("one")
        (self.folder / "Cargo.lock").write_text(LOCK)
        self.run("git", "init", "--quiet")
        self.run("git", "add", ".")
        self.run("git", "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--quiet", "--message", "test")

    def run(self, *command):
        environment = {**os.environ, "KUBEFOUNDRY_CACHE": str(self.folder / "target/cache")}
        # This test is a step itself, whose compiler is counted.
        for name in ("CARGO_TARGET_DIR", "RUSTC_WRAPPER"):
            environment.pop(name, None)
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def steps(self, *arguments, status=0):
        """Runs steps; returns their names in the order in which they did something, and what was printed."""
        (self.folder / "target/order").unlink(missing_ok=True)
        (self.folder / "target/done").unlink(missing_ok=True)
        ran = self.run("bash", ".ci/run", *arguments)
        assert ran.returncode == status, ran.stdout + ran.stderr
        order = self.folder / "target/order"
        return order.read_text().split() if order.exists() else [], ran.stdout + ran.stderr


def check_order_and_reuse(folder):
    repository = Repository(folder, STEPS)
    whole = ["first", "wait", "second", "proof", "packed", "last"]
    # From an empty target folder, the units are held.
    order, says = repository.steps(status=1)
    assert order == whole and "last compiled 0 units, and .ci/steps.toml says 1" in says, says
    green = (repository.folder / "target/ci/green").read_text().split("\n")
    commit = repository.run("git", "rev-parse", "HEAD").stdout.strip()
    assert green == [*(f"{commit} {step}" for step in whole), ""], green
    order, says = repository.steps()
    assert order == ["first", "wait", "second", "last"], says
    # The hash of what was packed is not committed.
    assert (repository.folder / "target/ci/green").read_text().endswith(f"{commit}-with-changes last\n")
    assert re.search(r"^proof +0 +0 +0  reused$", says, re.M) and re.search(r"^packed .* left out$", says, re.M), says
    (repository.folder / "file").write_text("two")
    assert repository.steps()[0] == ["first", "wait", "second", "proof", "last"]
    (repository.folder / "Cargo.lock").write_text(LOCK.replace("0.1.0", "0.2.0"))
    assert "packed" not in repository.steps()[0]
    (repository.folder / "Cargo.lock").write_text(LOCK.replace("1.0.0", "1.0.1"))
    assert "packed" in repository.steps()[0]
    (repository.folder / "other").write_text("two")
    # What it needs is not repeated, so it waits for nothing.
    assert sorted(repository.steps()[0]) == sorted(["first", "packed", "wait", "second", "last"])
    assert repository.steps("--all")[0] == whole
    assert repository.steps("packed", "proof")[0] == ["proof", "packed"]
    assert repository.steps("none", status=2)[0] == []
    assert repository.steps("--record")[0] == whole
    assert tomllib.loads((repository.folder / ".ci/steps.toml").read_text())["last"]["units"] == 0


def check_signals(folder):
    """A step takes SIGINT, also in a run that ignores it."""
    repository = Repository(folder, STEPS.replace("echo second >>target/order", "echo second >>target/order; kill -INT $$"))
    (repository.folder / "target").mkdir()
    ran = repository.run("bash", "-c", "trap '' INT; exec bash .ci/run second")
    assert ran.returncode == 1 and "failed: second" in ran.stderr, ran.stdout + ran.stderr


def check_failures(folder):
    # What needs the step that failed is skipped, and the rest runs.
    repository = Repository(folder, STEPS.replace("echo second >>target/order", "echo second >>target/order; exit 3"))
    order, says = repository.steps(status=1)
    assert order == ["first", "wait", "second", "last"] and "\nfailed: second\n" in says, says
    ends = [re.search(rf"^{name} .* (\w+)$", says, re.M)[1] for name in ("second", "proof", "packed")]
    assert ends == ["failed", "skipped", "skipped"] and "first failed" not in says, says
    for wrong, problem in [("nedes = []", "unknown key nedes"), ('needs = ["last"]', "which is not a step above"), ('lane = "x"', "unknown lane x")]:
        (repository.folder / ".ci/steps.toml").write_text(STEPS.replace('about = "It builds."', f'about = "It builds."\n{wrong}'))
        assert problem in repository.steps(status=1)[1], problem


def check_workflow():
    steps = list(tomllib.loads((ROOT / ".ci/steps.toml").read_text()))
    named = re.findall(r"bash \.ci/run (.*(?:\n {8}\S.*)*)", (ROOT / ".github/workflows/ci.yml").read_text().replace(">-\n        ", ""))
    named = [step for line in named for step in line.split()]
    twice = {"tools", "wasm"}
    assert sorted(set(named)) == sorted(steps), set(named) ^ set(steps)
    assert {step for step in named if named.count(step) > 1} <= twice, named


def main():
    for check in (check_order_and_reuse, check_failures, check_signals):
        with tempfile.TemporaryDirectory() as folder:
            check(folder)
    check_workflow()
    print(".ci/graph.py keeps order and lanes, skips what needs a failed step, and repeats what changed; the workflow names every step")


if __name__ == "__main__":
    sys.exit(main())
