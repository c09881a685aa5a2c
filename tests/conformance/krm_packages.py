"""Runs the example packages of krm/examples with kpt, each twice on fresh copies, and compares with `.expected`.

The layout is that of kpt's own test packages: `.expected/config.yaml` (testType, exitCode, execPath, args, allowExec),
`diff.patch`, and `results.yaml` if the exit status is not 0. `--update` writes these files from the actual results.
"""

import sys

import yaml
from clients import EXAMPLES, Package, Report, run


def command(config, results):
    words = ["kpt", "fn", config["testType"], ".", "--results-dir", results, "--truncate-output=false"]
    if config.get("allowExec"):
        words.append("--allow-exec")
    if config.get("execPath"):
        words += ["--exec", config["execPath"], "--", *(f"{key}={value}" for key, value in config.get("args", {}).items())]
    return words


def one(source, config, report):
    with Package(source) as package:
        results = package.temporary.name + "/results"
        status, out, err = run(command(config, results), package.path)
        report.check(f"{source.name}: exit status", status == config.get("exitCode", 0), out + err)
        diff = package.diff()
        found = yaml.safe_load(open(f"{results}/results.yaml")) if config.get("exitCode") else None
        package.commit()
        run(command(config, results), package.path)
        report.check(f"{source.name}: a second run changes nothing", package.diff() == "", package.diff())
        return diff, found


def main():
    update = "--update" in sys.argv
    report = Report()
    sources = sorted(path.parent for path in EXAMPLES.glob("*/.expected"))
    report.check("there are packages", len(sources) >= 5, sources)
    for source in sources:
        config = yaml.safe_load((source / ".expected/config.yaml").read_text())
        first, second = one(source, config, report), one(source, config, report)
        report.check(f"{source.name}: the same twice", first == second)
        diff, results = first
        expected = source / ".expected/diff.patch"
        if update:
            expected.write_text(diff)
        report.check(f"{source.name}: diff.patch", expected.read_text() == diff, diff)
        if results is not None:
            expected = source / ".expected/results.yaml"
            if update:
                expected.write_text(yaml.safe_dump(results, sort_keys=False, width=1000))
            report.check(f"{source.name}: results.yaml", yaml.safe_load(expected.read_text()) == results, results)
    report.end("example packages")


main()
