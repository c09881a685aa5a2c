"""Checks that every format of `kubefoundry lint` has the findings of `--output json` in a form that its reader accepts.

SARIF is validated with its schema and by Microsoft's multitool, JUnit XML is read by junitparser, GitHub's commands are
parsed as the runner parses them, and GitLab's report is checked against its documentation.

Usage: check_lint_formats.py KUBEFOUNDRY MULTITOOL_DIRECTORY
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

import jsonschema
import junitparser

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The product has no public address yet, so the report must not contain one.
EXPECTED_ADVICE = {"SARIF2005"}
# The options of some cases name files that do not exist at their paths: a test of the library passes the files of this
# folder. The command line reads the files itself, and stops before it has findings.
MODEL_CONFIGS = "model-configs"


def lint(binary, directory, output, *more):
    run = subprocess.run([binary, "lint", directory, "--output", output, *more], capture_output=True, text=True, cwd=ROOT)
    # Exit status 2 means that the options are invalid, which is reported like any other finding.
    assert run.returncode in (0, 1, 2) and run.stderr == "", run.stderr
    return run.stdout


def unescape(text):
    for code, character in (("%0A", "\n"), ("%0D", "\r"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def place(finding):
    return (finding["code"], finding.get("file"), finding.get("line"), finding.get("column"))


def from_github(text):
    for line in text.splitlines():
        command = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line)
        assert command, f"not a workflow command: {line}"
        properties = dict(part.split("=", 1) for part in command[2].split(","))
        values = {key: unescape(value) for key, value in properties.items()}
        line_number, column = values.get("line"), values.get("col")
        yield (values["title"].split(" ")[0], values.get("file"), line_number and int(line_number), column and int(column))


def from_gitlab(text):
    for issue in json.loads(text):
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker"), issue
        assert re.fullmatch(r"[0-9a-f]{16}", issue["fingerprint"]) and issue["check_name"], issue
        begin = issue["location"]["positions"]["begin"]
        path = issue["location"]["path"]
        code = issue["description"].split(":")[0]
        yield (code, None, None, None) if path == "." else (code, path, begin["line"], begin["column"])


def from_sarif(log):
    # Only the log contains suppressed findings, and marks them.
    for result in (result for result in log["runs"][0]["results"] if "suppressions" not in result):
        physical = next((place["physicalLocation"] for place in result["locations"] if "physicalLocation" in place), None)
        if physical is None:
            yield (result["ruleId"], None, None, None)
        else:
            uri, region = physical["artifactLocation"]["uri"], physical["region"]
            yield (result["ruleId"], urllib.parse.unquote(uri), region["startLine"], region["startColumn"])


def multitool_accepts(multitool, text):
    with tempfile.TemporaryDirectory() as directory:
        log = pathlib.Path(directory, "lint.sarif")
        log.write_text(text)
        environment = dict(os.environ, DOTNET_SYSTEM_GLOBALIZATION_INVARIANT="1")
        command = [multitool / "Sarif.Multitool", "validate", log]
        run = subprocess.run(command, capture_output=True, text=True, env=environment)
        found = set(re.findall(r"(?:error|warning) (SARIF\d+|JSON\d+)", run.stdout))
        assert run.returncode == 0 and found <= EXPECTED_ADVICE, run.stdout
        assert "Analysis completed successfully" in run.stdout, run.stdout


def main(binary, multitool):
    binary, multitool = pathlib.Path(binary).resolve(), pathlib.Path(multitool).resolve()
    schema = json.loads((multitool / "sarif-2.1.0.json").read_text())
    validator = jsonschema.validators.validator_for(schema)(schema)
    checked = findings = counted = 0
    fingerprints = set()
    inputs = (path.parent for path in (ROOT / "testdata/golden").glob("*/*/input.yaml"))
    cases = sorted(case for case in inputs if not (case / MODEL_CONFIGS).exists())
    for case in cases:
        directory = str(case.relative_to(ROOT))
        report = json.loads(lint(binary, directory, "json"))
        expected = [place(finding) for finding in report["diagnostics"]]
        not_judged = report.get("notJudged", 0)
        github = lint(binary, directory, "github")
        if not_judged:
            # The last command is about no finding.
            github, _, command = github.rstrip("\n").rpartition("\n")
            assert re.fullmatch(rf"::notice title=kubefoundry::{not_judged} parts? of the input not judged", command), command
        assert list(from_github(github)) == expected, directory
        gitlab = lint(binary, directory, "gitlab")
        assert list(from_gitlab(gitlab)) == expected, directory
        assert len({issue["fingerprint"] for issue in json.loads(gitlab)}) == len(expected), directory
        sarif = lint(binary, directory, "sarif")
        log = json.loads(sarif)
        assert list(from_sarif(log)) == expected, directory
        assert log["runs"][0]["properties"]["notJudged"] == not_judged, directory
        validator.validate(log)
        suites = junitparser.JUnitXml.fromstring(lint(binary, directory, "junit").encode())
        failed = sum(isinstance(result, junitparser.Failure) for suite in suites for test in suite for result in test.result)
        skipped = sum(isinstance(result, junitparser.Skipped) for suite in suites for test in suite for result in test.result)
        errors = [finding for finding in report["diagnostics"] if finding["severity"] == "error"]
        assert suites.failures == failed and (failed > 0) == bool(errors), directory
        assert suites.skipped == skipped <= not_judged, directory
        counted += not_judged
        fingerprints.update(result["partialFingerprints"]["kubefoundry/v1"] for result in log["runs"][0]["results"])
        checked, findings = checked + 1, findings + len(expected)
    assert checked > 50 and findings > 100 and counted > 0, "too little was looked at to mean anything"
    multitool_accepts(multitool, lint(binary, "testdata/golden", "sarif", "--isolated"))
    multitool_accepts(multitool, lint(binary, "examples/llama-8b", "sarif"))
    print(f"lint formats: {findings} findings of {checked} inputs read back from four formats")


if __name__ == "__main__":
    main(*sys.argv[1:])
