"""Checks that the function adds at most a quarter to the processor time of `kustomize build`, compared with `cat` as the function:
about 5 ms on the machine of docs/performance.md.

Both take turns, so a slow or busy machine slows both. Elapsed time is printed beside it.
"""

import resource
import shutil
import statistics
import time

from clients import BUILD, EXAMPLES, Package, Report, run

ROUNDS = 30
# How much the function may add, as a share of the build with `cat`.
MAX_SHARE = 0.25
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
    pairs = [(milliseconds(package.path / "base"), milliseconds(package.path / "cat")) for _ in range(ROUNDS)]
    for kind, name in enumerate(["clock", "processor"]):
        ours, cat = (statistics.median(side[kind] for side in column) for column in zip(*pairs))
        print(f"kustomize build, {name} time: {ours:.1f} ms with kubefoundry-fn, {cat:.1f} ms with cat, {ours - cat:+.1f} ms")
    report.check(f"at most {MAX_SHARE:.0%} more processor time than with cat", ours <= cat * (1 + MAX_SHARE), (ours, cat))
report.end("cost")
