"""Checks that the function adds at most 10 ms to `kustomize build`, compared with `cat` as the function.

On an idle machine it compares elapsed time. On a busy one it compares processor time, which other processes do not change.
"""

import os
import resource
import shutil
import statistics
import time

from clients import BUILD, EXAMPLES, Package, Report, run

ROUNDS = 30
MAX_ADDED_MS = 10.0
report = Report()


def processor():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def milliseconds(path):
    """Returns the elapsed time and the processor time of one build, in milliseconds, for all its processes."""
    start, before = time.perf_counter(), processor()
    status, out, err = run([*BUILD, str(path)])
    took = ((time.perf_counter() - start) * 1000, (processor() - before) * 1000)
    report.check(f"{path.name} builds", status == 0 and out, err)
    return took


with Package(EXAMPLES / "kustomize") as package:
    render = (package.path / "base/render.yaml").read_text()
    shutil.copytree(package.path / "base", package.path / "cat")
    package.write("cat/render.yaml", render.replace("path: kubefoundry-fn", "path: cat"))
    # Without the annotation local-config, the build with `cat` prints the ModelDeployment instead of nothing.
    kept = (package.path / "base/llama.yaml").read_text().replace("local-config", "not-local")
    for name in ["base", "cat"]:
        package.write(f"{name}/llama.yaml", kept)
        milliseconds(package.path / name)
    # The two builds alternate, so that other load on the machine affects both.
    busy = os.getloadavg()[0] > os.cpu_count() / 2
    pairs = [(milliseconds(package.path / "base"), milliseconds(package.path / "cat")) for _ in range(ROUNDS)]
    added = []
    for kind, name in enumerate(["clock", "processor"]):
        ours, cat = ([side[kind] for side in column] for column in zip(*pairs))
        added.append(statistics.median(ours) - statistics.median(cat))
        print(f"kustomize build, {name} time: {statistics.median(ours):.1f} ms with kubefoundry-fn, {statistics.median(cat):.1f} ms with cat, {added[kind]:+.1f} ms")
    report.check(f"at most {MAX_ADDED_MS} ms more than cat", added[busy] <= MAX_ADDED_MS, added)
report.end("cost")
