"""Runs the files that CI systems read as those systems run them.

pre-commit (from PyPI) runs our hooks in a repository. The scripts of action.yml and of the GitLab job are extracted from
their files and run in the environment of the runner, also with hostile inputs.

Usage: check_ci.py KUBEFOUNDRY
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = """\
apiVersion: kubefoundry.ai/v1alpha1
kind: ModelDeployment
metadata:
  name: phi # kept
spec:
  model: {id: org/phi}
  engine: {type: vllm}
  resources: {gpu: {count: 1}}
"""
BROKEN = MODEL.replace("count: 1", "count: two")
MISSPELT = MODEL.replace("engine:", "engin:")
FOREIGN = "kind: Service # ours? no\nmetadata: {name: web}\n"


def run(command, cwd, **environment):
    path = f"{BINARY.parent}:{os.environ['PATH']}"
    env = dict(os.environ, PATH=path, **environment)
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)


def repository(directory, files):
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=directory, check=True)


def in_directory(check):
    with tempfile.TemporaryDirectory() as directory:
        check(pathlib.Path(directory))


def pre_commit(directory):
    """Runs our hooks as local ones with the program on the PATH. check_packages.py installs them as pre-commit does."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    hooks = [{**hook, "language": "system"} for hook in hooks]
    config = {"repos": [{"repo": "local", "hooks": hooks}]}
    models = {"a/good.yaml": MODEL, "web.yaml": FOREIGN, "notes.txt": "no YAML: {", "a/kubefoundry.yaml": "no: options\n"}
    repository(directory, {".pre-commit-config.yaml": yaml.safe_dump(config), **models})
    home = {"PRE_COMMIT_HOME": str(directory / ".cache")}

    def hook(name, *files):
        return run([PYTHON, "-m", "pre_commit", "run", name, "--files", *files], directory, **home)

    good = hook("kubefoundry-lint", "a/good.yaml", "web.yaml", "notes.txt", "a/kubefoundry.yaml")
    assert good.returncode == 0 and "Passed" in good.stdout, good
    (directory / "a/bad.yaml").write_text(BROKEN.replace("phi", "bad"))
    bad = hook("kubefoundry-lint", "a/bad.yaml", "web.yaml")
    assert bad.returncode == 1 and "a/bad.yaml:8:28" in bad.stdout and "KF0112" in bad.stdout, bad
    (directory / "a/bad.yaml").write_text(MODEL)
    twice = hook("kubefoundry-lint-all", "a/good.yaml")
    assert twice.returncode == 1 and "KF0523" in twice.stdout, twice
    (directory / "a/bad.yaml").write_text(MISSPELT.replace("phi", "bad"))
    subprocess.run(["git", "add", "-A", "a"], cwd=directory, check=True)
    fixed = hook("kubefoundry-fix", "a/bad.yaml")
    assert fixed.returncode == 1 and "files were modified by this hook" in fixed.stdout, fixed
    assert (directory / "a/bad.yaml").read_text() == MODEL.replace("phi", "bad")
    manifest = run([PYTHON, "-m", "pre_commit", "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")], directory, **home)
    assert manifest.returncode == 0, manifest


def steps():
    return {step["name"]: step for step in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]}


def github_lint(directory, **inputs):
    step = steps()["Lint"]
    assert "${{" not in step["run"], "an input in a script is an injection"
    given = {"PATHS": ".", "CONFIG": "", "REVISIONS": "", "FAIL_ON": "error", "OUTPUT": "github", "STRICT": "false", "SARIF_FILE": "k.sarif", **inputs}
    assert set(given) == set(step["env"]), "the step takes other variables than this test gives"
    summary = directory / "summary.md"
    script = directory.parent / f"{directory.name}.sh"
    script.write_text(step["run"])
    ran = run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        directory,
        GITHUB_STEP_SUMMARY=str(summary),
        GITHUB_WORKSPACE=str(directory),
        **given,
    )
    script.unlink()
    return ran, summary.read_text() if summary.exists() else ""


def action(directory):
    repository(directory, {"models/bad.yaml": BROKEN, "models/good.yaml": MODEL.replace("phi", "good")})
    bad, summary = github_lint(directory, PATHS="models")
    assert bad.returncode == 1, bad
    assert "::error file=models/bad.yaml,line=8,col=28," in bad.stdout, bad
    assert "error[KF0112]" in summary and summary.count("````") == 2, summary
    log = json.loads((directory / "k.sarif").read_text())
    assert log["runs"][0]["results"][0]["ruleId"] == "KF0112", log
    good, summary = github_lint(directory, PATHS="models/good.yaml\n\n")
    assert good.returncode == 0 and "no findings" in summary or "KF0503" in summary, (good, summary)
    hostile = "models/good.yaml\n$(touch pwned)\n`touch pwned`\n; touch pwned\n--config=/etc/passwd"
    injected, _ = github_lint(directory, PATHS=hostile)
    assert injected.returncode == 2 and not (directory / "pwned").exists(), injected
    empty, _ = github_lint(directory, PATHS="\n")
    assert empty.returncode == 2 and "path is empty" in empty.stdout, empty
    concise, _ = github_lint(directory, PATHS="models", OUTPUT="concise")
    assert concise.returncode == 1 and "models/bad.yaml:8:28: error[KF0112]" in concise.stdout and "::" not in concise.stdout, concise
    unknown, _ = github_lint(directory, PATHS="models/good.yaml", OUTPUT="pretty")
    assert unknown.returncode == 2 and "pretty" in unknown.stderr, unknown
    for revisions in ["--strict", "no-such-revision"]:
        refused, _ = github_lint(directory, PATHS="models", REVISIONS=revisions)
        assert refused.returncode == 2 and "--git" in refused.stderr, refused
    missing, _ = github_lint(directory, PATHS="nope")
    assert missing.returncode == 2 and not (directory / "k.sarif").exists(), missing


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def action_install(directory):
    """Checks that a binary is installed only if its checksum and its version match the inputs."""
    step = steps()["Install kubefoundry"]
    script = directory / "install.sh"
    script.write_text(step["run"])
    version = run([str(BINARY), "--version"], directory).stdout.split()[1]
    archive = directory / f"kubefoundry-{version}-any.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(BINARY, f"kubefoundry-{version}-any/kubefoundry")
    empty = directory / "empty.tar.gz"
    with tarfile.open(empty, "w:gz") as tar:
        tar.add(script, "kubefoundry/README.md")
    alone, packed = f"file://{BINARY}", f"file://{directory}/kubefoundry-{{version}}-any.tar.gz"
    cases = [
        (0, "", dict(BINARY_URL=alone, BINARY_SHA256=sha256(BINARY))),
        (0, "", dict(BINARY_URL=alone, BINARY_SHA256=sha256(BINARY), VERSION=f"v{version}")),
        (0, "", dict(BINARY_URL=packed, BINARY_SHA256=sha256(archive), VERSION=version)),
        (1, "", dict(BINARY_URL=alone, BINARY_SHA256="0" * 64)),
        (1, "", dict(BINARY_URL=packed, BINARY_SHA256=sha256(BINARY), VERSION=version)),
        (2, "needs binary-sha256", dict(BINARY_URL=alone)),
        (2, "version is empty", dict(BINARY_URL=packed, BINARY_SHA256=sha256(archive))),
        (2, f"this is kubefoundry {version}, expected version 9.9.9", dict(BINARY_URL=alone, BINARY_SHA256=sha256(BINARY), VERSION="9.9.9")),
        (2, "no kubefoundry in the archive", dict(BINARY_URL=f"file://{empty}", BINARY_SHA256=sha256(empty))),
        (2, "$(touch pwned)", dict(BINARY_URL=alone, BINARY_SHA256=sha256(BINARY), VERSION="$(touch pwned)")),
    ]
    for number, (expected, says, given) in enumerate(cases):
        path_file, temporary = directory / f"path-{number}", directory / f"temp-{number}"
        given = {"BINARY_URL": "", "BINARY_SHA256": "", "VERSION": "", "SOURCE": str(ROOT), **given}
        assert set(given) == set(step["env"]), "the step takes other variables than this test gives"
        ran = run(["bash", "-eo", "pipefail", str(script)], directory, RUNNER_TEMP=str(temporary), GITHUB_PATH=str(path_file), **given)
        assert ran.returncode == expected and says in ran.stdout and path_file.exists() == (expected == 0), (given, ran)
        if expected == 0:
            installed = run([str(pathlib.Path(path_file.read_text().strip(), "kubefoundry")), "--version"], directory)
            assert installed.stdout == f"kubefoundry {version}\n", installed
    assert not (directory / "pwned").exists()


def documented(directory):
    """Checks that docs/ci.md shows existing hooks and inputs, and commands with the described effect."""
    page = (ROOT / "docs/ci.md").read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", page, re.S | re.M)
    shown = [yaml.safe_load(text) for language, text in blocks if language == "yaml"]
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    used = {hook["id"] for block in shown for repo in block.get("repos", []) for hook in repo["hooks"]}
    assert used and used <= hooks, used
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    steps = [step for block in shown for job in block.get("jobs", {}).values() for step in job["steps"] if "kubefoundry@" in step["uses"]]
    given = {name for step in steps for name in step["with"]}
    assert len(steps) >= 2 and given <= set(inputs), given
    assert all(f"`{name}`" in page for name in inputs), [name for name in inputs if f"`{name}`" not in page]
    repository(directory, {"models/good.yaml": MODEL, "web.yaml": FOREIGN})
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run([*git, "commit", "-q", "-m", "state"], cwd=directory, check=True)
    subprocess.run(["git", "branch", "-q", "-M", "main"], cwd=directory, check=True)
    commands = [text for language, text in blocks if language == "sh"]
    baseline, of_change, changed_files = commands

    def shell(command):
        return run(["bash", "-eo", "pipefail", "-c", command], directory)

    written = shell(baseline)
    assert written.returncode == 0 and (directory / "kubefoundry-baseline.json").exists(), written
    subprocess.run([*git, "add", "kubefoundry-baseline.json"], cwd=directory, check=True)
    subprocess.run([*git, "commit", "-q", "-m", "baseline"], cwd=directory, check=True)
    of_change = of_change.replace("origin/main", "main")
    unchanged = shell(of_change)
    assert unchanged.returncode == 0, unchanged
    # A change cannot leave out what it breaks.
    subprocess.run([*git, "checkout", "-q", "-b", "change"], cwd=directory, check=True)
    (directory / "models/good.yaml").write_text(BROKEN)
    (directory / "kubefoundry.yaml").write_text("apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nexclude: [models]\n")
    subprocess.run([*git, "add", "-A"], cwd=directory, check=True)
    subprocess.run([*git, "commit", "-q", "-m", "change"], cwd=directory, check=True)
    broken = shell(of_change)
    assert broken.returncode == 1 and "error[KF0112]" in broken.stdout, broken
    subprocess.run([*git, "checkout", "-q", "main"], cwd=directory, check=True)

    def change():
        return shell(changed_files)

    nothing = change()
    assert (nothing.returncode, nothing.stdout) == (0, ""), nothing
    (directory / "web.yaml").unlink()
    (directory / "models/good.yaml").write_text(BROKEN)
    broken = change()
    assert broken.returncode != 0 and "models/good.yaml:8:28: error[KF0112]" in broken.stdout, broken


def gitlab(directory):
    job = yaml.safe_load((ROOT / "deploy/gitlab/lint.yml").read_text())["kubefoundry-lint"]
    repository(directory, {"models/bad.yaml": BROKEN})
    script = "set -eo pipefail\n" + "\n".join(job["script"])
    ran = run(["bash", "-c", script], directory / "models", CI_PROJECT_DIR=str(directory), **job["variables"])
    assert ran.returncode == 1 and "error[KF0112]" in ran.stdout, ran
    reports = job["artifacts"]["reports"]
    issue = json.loads((directory / "models" / reports["codequality"]).read_text())[0]
    assert issue["location"]["path"] == "models/bad.yaml", issue
    assert "<failure" in (directory / "models" / reports["junit"]).read_text()


if __name__ == "__main__":
    BINARY, PYTHON = pathlib.Path(sys.argv[1]).resolve(), sys.executable
    checks = (pre_commit, action, action_install, gitlab, documented)
    for check in checks:
        in_directory(check)
    print(f"CI files: {', '.join(check.__name__ for check in checks)} run as their systems run them")
