"""Runs the steps of .ci/steps.toml, which describes them, as a graph: a step begins when those that it needs have passed, and
when its lane is free. The arguments are those of .ci/run."""

import fcntl
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
DESCRIPTION = ROOT / ".ci/steps.toml"
PACKAGED = ROOT / ".ci/packaged"
RECORD = ROOT / "target/ci"
CACHE = pathlib.Path(os.environ.get("KUBEFOUNDRY_CACHE") or pathlib.Path.home() / ".cache/kubefoundry") / "passed"
# How many steps of a lane run at a time, and their priority: who waits must be served at once when an answer arrives.
LANES = {"build": (1, 10), "run": (1, 5), "wait": (2, 0), "alone": (1, 0)}
KEYS = {"about", "run", "needs", "lane", "quick", "files", "crates", "packaged", "units", "cpu"}
# Cargo gives every unit a suffix for its files; the probes of build scripts have none.
WRAPPER = """#!/usr/bin/env bash
# Notes each unit that cargo compiles. Not every shell passes on variables with a hyphen, as cargo names those of programs.
case " $* " in *" extra-filename="* | *" -Cextra-filename="*) echo "${CARGO_PKG_NAME-}" >>"$KUBEFOUNDRY_UNITS" ;; esac
exec "$@"
"""


class Step:
    def __init__(self, name, table):
        self.name = name
        self.run = table["run"]
        self.about = table["about"]
        self.needs = table.get("needs", [])
        self.lane = table.get("lane", "build")
        self.quick = table.get("quick", False)
        self.files = table.get("files", [])
        self.crates = table.get("crates", [])
        self.packaged = table.get("packaged", False)
        self.expected_units = table.get("units")
        self.expected_cpu = table.get("cpu")
        self.process = self.stamp = None
        # A step that runs alone is seen while it runs.
        self.is_logged = True
        # What became of it: "passed", "failed", "reused", "left out", or "skipped" after a failure; empty while it has not ended.
        self.end = ""
        self.seconds = self.cpu = self.units = 0


def read_steps():
    tables = tomllib.loads(DESCRIPTION.read_text())
    steps = {}
    for name, table in tables.items():
        problems = [f"unknown key {key}" for key in table.keys() - KEYS]
        problems += [f"it needs {need}, which is not a step above" for need in table.get("needs", []) if need not in steps]
        if table.get("lane", "build") not in LANES:
            problems.append(f"unknown lane {table['lane']}")
        if problems:
            sys.exit(f".ci/steps.toml: {name}: {problems[0]}")
        steps[name] = Step(name, table)
    return steps


def output_of(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


@functools.cache
def read_packages():
    """Returns the packages of the workspace by their names, as cargo describes them."""
    packages = json.loads(output_of("cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"))["packages"]
    return {package["name"]: package for package in packages}


def closure_of(crates):
    """Returns the folders of these packages of the workspace, and of those that they depend on, without what only tests use."""
    packages = read_packages()
    found, rest = set(), list(crates)
    while rest:
        name = rest.pop()
        if name not in found and name in packages:
            found.add(name)
            rest += [each["name"] for each in packages[name]["dependencies"] if each["kind"] != "dev"]
    folders = [pathlib.Path(packages[name]["manifest_path"]).parent.relative_to(ROOT) for name in sorted(found)]
    return [str(folder / "**") if folder.parts else "src/**" for folder in folders]


def hash_files(step):
    """Returns a hash of the contents of all files that the step declares, and of what the step does."""
    patterns = [*step.files, ".ci/" + step.name]
    if step.crates:
        patterns += [*closure_of(step.crates), "Cargo.toml", "Cargo.lock", "rust-toolchain.toml", ".cargo/**"]
    listed = output_of("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *(f":(glob){each}" for each in patterns))
    hashed = hashlib.sha256(repr((step.run, bool(os.environ.get("CI")))).encode())
    for path in sorted(set(filter(None, listed.split("\0")))):
        if (ROOT / path).is_file():
            hashed.update(f"{path}\0{os.stat(ROOT / path).st_mode & 0o111}\0".encode())
            hashed.update(hashlib.sha256(content_of(path)).digest())
    return hashed.hexdigest()


def content_of(path):
    """Returns what counts of a file. Of Cargo.lock, these are the packages of others: what ours depend on is known from the
    files of each, and an edge between two of them changes the lock file and nothing of what is built for a step."""
    content = (ROOT / path).read_bytes()
    if path == "Cargo.lock":
        content = b"\n\n".join(package for package in content.split(b"\n\n") if b"\nsource = " in package)
    return content


def begin(step, environment):
    path = RECORD / f"{step.name}.units"
    path.write_text("")
    log = open(RECORD / f"{step.name}.log", "wb") if step.is_logged else None
    step.began = time.monotonic()
    step.process = subprocess.Popen(
        ["nice", "-n", str(LANES[step.lane][1]), "bash", "-euo", "pipefail", "-c", step.run],
        cwd=ROOT, env={**environment, "KUBEFOUNDRY_UNITS": str(path)}, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        start_new_session=True, preexec_fn=heed_signals,
    )


def heed_signals():
    """Gives a step the usual disposition of signals, which its tests send: `nohup` starts a run with SIGHUP ignored, a shell a
    run in the background with the others."""
    for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(ignored, signal.SIG_DFL)


def collect(step, status, usage):
    step.process.returncode = os.waitstatus_to_exitcode(status)
    step.seconds = time.monotonic() - step.began
    step.cpu = usage.ru_utime + usage.ru_stime
    step.units = len((RECORD / f"{step.name}.units").read_text().splitlines())
    if step.is_logged:
        print(f"\n== {step.name}", flush=True)
        with open(RECORD / f"{step.name}.log", "rb") as log:
            shutil.copyfileobj(log, sys.stdout.buffer)
    print(f"== {step.name}: {step.seconds:.0f} s", flush=True)


def stop(steps):
    for step in steps:
        os.killpg(step.process.pid, signal.SIGTERM)
    for step in steps:
        os.waitpid(step.process.pid, 0)


def may_begin(step, waiting, running):
    if any(other.name in step.needs for other in [*waiting, *running]):
        return False
    if "alone" in [step.lane, *(other.lane for other in running)]:
        return not running
    return sum(other.lane == step.lane for other in running) < LANES[step.lane][0]


def run_graph(chosen, environment):
    """Runs the steps, except those that need one that failed, so that one run shows all failures."""
    waiting, running = [step for step in chosen if not step.end], []
    while waiting or running:
        for step in list(waiting):
            # What measures comes when nothing else is left, so that it never keeps others waiting.
            if step.lane == "alone" and any(other.lane != "alone" for other in waiting):
                continue
            if may_begin(step, waiting[: waiting.index(step)] if step.lane == "alone" else waiting, running):
                waiting.remove(step)
                running.append(step)
                begin(step, environment)
        pid, status, usage = os.wait4(-1, 0)
        for step in [step for step in running if step.process.pid == pid]:
            running.remove(step)
            collect(step, status, usage)
            if step.process.returncode == 0:
                pass_step(step)
            else:
                print(f"\n{step.name} failed", file=sys.stderr)
                step.end = "failed"
                waiting = skip_what_needs(step, waiting)


def skip_what_needs(failed, waiting):
    """Marks the steps that need a failed one, or one that is skipped for it; returns those that remain."""
    without = {failed.name}
    for step in waiting:
        # A step needs only steps above it.
        if without & set(step.needs):
            without.add(step.name)
            step.end = "skipped"
    return [step for step in waiting if not step.end]


def pass_step(step):
    step.end = "passed"
    with open(RECORD / "green", "a") as green:
        green.write(f"{COMMIT} {step.name}\n")
    if step.stamp:
        CACHE.mkdir(parents=True, exist_ok=True)
        (CACHE / f"{step.name}-{step.stamp}").touch()
    if step.packaged:
        PACKAGED.write_text(f"{step.stamp}\n")


def print_table(chosen, seconds):
    print(f"\n{'step':<17} {'s':>6} {'CPU s':>6} {'units':>6}")
    for step in chosen:
        note = "" if step.end == "passed" else f"  {step.end}"
        print(f"{step.name:<17} {step.seconds:>6.0f} {step.cpu:>6.0f} {step.units:>6}{note}")
    print(f"{'all':<17} {seconds:>6.0f} {sum(step.cpu for step in chosen):>6.0f} {sum(step.units for step in chosen):>6}\n", flush=True)


def judge(chosen):
    """Compares what cargo compiled with what .ci/steps.toml says; returns the problems."""
    problems = [
        f"{step.name} compiled {step.units} units, and .ci/steps.toml says {step.expected_units}: see target/ci/{step.name}.units"
        for step in chosen if step.end == "passed" and step.expected_units is not None and step.units != step.expected_units
    ]
    for step in chosen:
        if step.expected_cpu and step.cpu > 2 * step.expected_cpu:
            print(f"warning: {step.name} took {step.cpu:.0f} CPU seconds, and .ci/steps.toml says {step.expected_cpu}")
    return problems


def record(chosen):
    text = DESCRIPTION.read_text()
    for step in chosen:
        if step.end == "passed":
            before, heading, after = text.partition(f"\n[{step.name}]\n")
            table, divider, rest = after.partition("\n[")
            table = re.sub(r"^(units|cpu) = \d+\n", "", table, flags=re.MULTILINE).rstrip("\n")
            # What the program of another project compiles differs between machines.
            units = f"\nunits = {step.units}" if step.lane == "build" or not step.units else ""
            table += f"{units}\ncpu = {max(1, round(step.cpu))}\n"
            text = before + heading + table + divider + rest
    DESCRIPTION.write_text(text)


def main():
    global COMMIT
    steps = read_steps()
    arguments = sys.argv[1:]
    if arguments == ["--list"]:
        for step in steps.values():
            print(f"{step.name:<17} {step.about}")
        return 0
    whole = arguments in ([], ["--all"], ["--record"])
    names = list(steps) if whole else [step.name for step in steps.values() if step.quick] if arguments == ["--quick"] else arguments
    for name in names:
        if name not in steps:
            print(f"there is no step {name}, expected one of: {', '.join(steps)}", file=sys.stderr)
            return 2
    chosen = [step for step in steps.values() if step.name in names]

    RECORD.mkdir(parents=True, exist_ok=True)
    lock = open(RECORD / "lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        print("another run of .ci/run is under way in this folder", file=sys.stderr)
        return 2
    # With changes that are not committed, what passed is not what the commit has.
    COMMIT = output_of("git", "rev-parse", "HEAD").strip() + ("-with-changes" if output_of("git", "status", "--porcelain") else "")
    cold = not (ROOT / "target/debug").exists() and not (ROOT / "target/release").exists()
    # Where another program starts the compiler, or code is compiled elsewhere, units cannot be counted.
    is_counted = not {"CARGO_TARGET_DIR", "RUSTC_WRAPPER"} & os.environ.keys()

    environment = {**os.environ, "RUSTDOCFLAGS": "-D warnings", "RUSTFLAGS": f"{os.environ.get('RUSTFLAGS', '')} -D warnings".strip()}
    # CI never writes a snapshot: a missing or changed one is a failure.
    environment["INSTA_UPDATE"] = "no"
    if "RUSTC_WRAPPER" not in environment:
        wrapper = RECORD / "rustc-wrapper"
        wrapper.write_text(WRAPPER)
        wrapper.chmod(0o755)
        environment["RUSTC_WRAPPER"] = str(wrapper)
    # Tests install packages of llama-stack providers with the system's pip, or else with the one of this environment.
    environment["PATH"] += f":{ROOT / output_of('bash', '.ci/venv').strip()}/bin"

    for step in chosen:
        step.is_logged = len(chosen) > 1
        if step.files or step.crates:
            step.stamp = hash_files(step)
            if arguments == [] and step.packaged and PACKAGED.exists() and PACKAGED.read_text().strip() == step.stamp:
                step.end = "left out"
            elif arguments == [] and (CACHE / f"{step.name}-{step.stamp}").exists():
                step.end = "reused"

    began = time.monotonic()
    try:
        run_graph(chosen, environment)
    except KeyboardInterrupt:
        stop([step for step in chosen if step.process and step.process.returncode is None])
        return 130
    print_table(chosen, time.monotonic() - began)
    failed = [step.name for step in chosen if step.end == "failed"]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
        return 1
    if arguments == ["--record"]:
        record(chosen)
    elif whole and cold and is_counted:
        problems = judge(chosen)
        print("\n".join(problems), file=sys.stderr)
        if problems:
            return 1
    print("all checks passed")
    return 0


COMMIT = ""
sys.exit(main())
