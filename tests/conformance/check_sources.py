"""Checks what the workflows, images and scripts of the repository bring in from elsewhere.

    check_sources.py              lists the actions and images that are not pinned by a digest
    check_sources.py --release    fails on them

The rest of the rules always holds: `judge` has them, and `WRONG` a mistake against each, which must be found first.
"""

import pathlib
import re
import subprocess
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Users who copy our manifests and workflows have the action and the images in a place of their own, with other digests.
OWN = re.compile(r"(platform/kubefoundry@|kubefoundry(-[a-z]+)?(:|$))")
DIGEST = re.compile(r"[^@]+@([0-9a-f]{40}|sha256:[0-9a-f]{64})")
WORKFLOWS = re.compile(r"(\.github/workflows|deploy/github)/.*\.ya?ml")
ACTIONS = re.compile(r"(\.github/actions/.*/)?action\.ya?ml")
IMAGE_FILES = re.compile(r"(.*/)?([^/]*\.)?(Dockerfile|Containerfile)(\.[^/]*)?")
# A run for a tag makes a release, or publishes one.
COLD = "github.ref_type != 'tag'"


def read_files():
    """Returns the texts of the tracked files that bring something in, by their paths."""
    paths = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    wanted = re.compile(r"(\.ci|\.github|deploy)/.*|action\.yml|(.*/)?(Cargo\.lock|go\.mod|package\.json|pyproject\.toml)")
    paths = [path for path in paths if wanted.fullmatch(path) or IMAGE_FILES.fullmatch(path) or is_requirements(path)]
    return {path: (ROOT / path).read_text() for path in paths if (ROOT / path).is_file()}


def is_requirements(path):
    return re.fullmatch(r"(.*/)?requirements[^/]*\.txt", path) is not None


def find_values(node, keys):
    """Yields the scalars below any of these keys of a YAML tree, with their lines from 1."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value in keys and isinstance(value, yaml.ScalarNode):
                yield key.value, value.value, value.start_mark.line + 1
            else:
                yield from find_values(value, keys)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from find_values(item, keys)


def find_references(path, text):
    """Yields the actions and images that a file names, with their lines."""
    if IMAGE_FILES.fullmatch(path):
        stages = {"scratch"}
        for line, content in enumerate(text.splitlines(), 1):
            found = re.match(r"FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?", content, re.IGNORECASE)
            if found:
                if found[1] not in stages:
                    yield found[1], line
                stages.add(found[2])
    elif path.endswith((".yml", ".yaml")) and not path.startswith(".ci/"):
        for document in yaml.compose_all(text, yaml.CSafeLoader):
            for key, value, line in find_values(document, {"uses", "image", "container"}):
                if value and not value.startswith("./"):
                    yield value, line


def find_steps(workflow):
    """Yields the steps of a workflow or an action, each with the name of its job."""
    for name, job in (workflow.get("jobs") or {"": workflow.get("runs", {})}).items():
        for step in job.get("steps", []):
            yield name, step


def judge_steps(path, text):
    """Yields what is wrong with the steps of a workflow or an action."""
    for name, step in find_steps(yaml.safe_load(text)):
        uses, settings = step.get("uses", ""), step.get("with", {})
        if uses.startswith("actions/checkout@") and settings.get("persist-credentials") is not False:
            yield f"{path}: job {name}: a checkout without `persist-credentials: false` leaves a token on the disk"
        if "cache" in uses.split("@")[0] and step.get("if") != COLD:
            yield f"{path}: job {name}: {uses} without `if: {COLD}`: a release is built from nothing that another run compiled"
        # By default, it restores a cache.
        if "/setup-" in uses and settings.get("cache", "/setup-go@" in uses) is not False:
            yield f"{path}: job {name}: {uses.split('@')[0]} without `cache: false` restores what another run compiled"


def judge_release(files):
    """Yields what is wrong with the workflows that must not pass what pull requests may."""
    release = yaml.safe_load(files[".github/workflows/release.yml"])
    for command in ["bash .ci/deny --strict", "bash .ci/workflows --release"]:
        gates = {name for name, step in find_steps(release) if step.get("run", "").strip() == command}
        needed, open_jobs = set(), ["publish"]
        while open_jobs:
            needs = release["jobs"][open_jobs.pop()].get("needs", [])
            open_jobs += [name for name in needs if name not in needed]
            needed.update(needs)
        if not gates & needed:
            yield f".github/workflows/release.yml: the job publish does not need `{command}`"
    scheduled = [
        path
        for path, text in files.items()
        if WORKFLOWS.fullmatch(path) and "bash .ci/deny --strict" in text and re.search(r"^  schedule:$", text, re.MULTILINE)
    ]
    if not scheduled:
        yield ".github/workflows: no scheduled workflow runs `bash .ci/deny --strict`"


def judge_installs(path, text):
    """Yields each `cargo install` that can bring another program tomorrow."""
    for command in re.findall(r"^(?! *#).*\bcargo install\b.*", text.replace("\\\n", " "), re.MULTILINE):
        if path == ".ci/cargo-tool":
            # It retries without the lock file where a mirror lacks a version, except for a release.
            packages = re.findall(r"\bpackage=(\S+)", text)
            is_fixed = "if ! install --locked" in text and all(re.search(r"\w@[$\d]", package) for package in packages)
        else:
            is_fixed = "--locked" in command and re.search(r"--path|--version|\w@[$\d]", command)
        if not is_fixed:
            yield f"{path}: `cargo install` without a version and `--locked`: {command.strip()}"


def find_updates(files):
    """Yields the folders that Dependabot must watch: pairs of an ecosystem and a folder."""
    for path, text in files.items():
        folder = "/" + path.rpartition("/")[0]
        name = path.rpartition("/")[2]
        if path.startswith(".github/workflows/") or path == "action.yml":
            yield "github-actions", "/"
        elif ACTIONS.fullmatch(path) or WORKFLOWS.fullmatch(path):
            yield "github-actions", folder
        elif IMAGE_FILES.fullmatch(path) and list(find_references(path, text)):
            yield "docker", folder
        elif name == "Cargo.lock":
            yield "cargo", folder
        elif name == "go.mod":
            yield "gomod", folder
        elif name == "package.json":
            yield "npm", folder
        # The packages of an example are parts of it, and the package for pre-commit requires only setuptools.
        elif is_requirements(path) or (name == "pyproject.toml" and "\n[project]\n" in text and not path.startswith("examples/")):
            yield "pip", folder


def judge_updates(files):
    """Yields the folders that Dependabot misses, or watches for nothing."""
    watched = {
        (update["package-ecosystem"], folder)
        for update in yaml.safe_load(files[".github/dependabot.yml"])["updates"]
        for folder in update.get("directories", [update.get("directory")])
    }
    for ecosystem, folder in sorted(set(find_updates(files)) ^ watched):
        missing = "has nothing of" if (ecosystem, folder) in watched else "is not watched for"
        yield f".github/dependabot.yml: {folder} {missing} {ecosystem}"


def judge(files):
    """Returns what is wrong, and what is not pinned by a digest."""
    wrong, unpinned = [*judge_release(files), *judge_updates(files)], []
    for path, text in files.items():
        if WORKFLOWS.fullmatch(path) or ACTIONS.fullmatch(path):
            wrong += judge_steps(path, text)
        wrong += judge_installs(path, text)
        lines = text.splitlines()
        for reference, line in find_references(path, text):
            if OWN.match(reference):
                continue
            if not DIGEST.fullmatch(reference):
                unpinned.append(f"{path}:{line}: {reference}")
            elif "@sha256:" not in reference and not re.search(r"# v\d+\.\d+\.\d+$", lines[line - 1]):
                wrong.append(f"{path}:{line}: {reference} has no comment `# vX.Y.Z`, so a reader cannot see what it is")
    return wrong, unpinned


CI, RELEASE, PLAN = ".github/workflows/ci.yml", ".github/workflows/release.yml", "deploy/github/plan.yml"
# A mistake against each rule: the file, a text in it, its replacement, and what must be found.
WRONG = [
    (CI, "@fbc6f3992d24b796d5a048ff273f7fcc4a7b6c09 # v5.1.0", "@v5", ": actions/checkout@v5"),
    (CI, "# v5.1.0", "", "has no comment"),
    (CI, "persist-credentials: false", "fetch-depth: 1", "job release: a checkout without"),
    (PLAN, "persist-credentials: false", "persist-credentials: true", "job plan: a checkout without"),
    (CI, "cache: false", "check-latest: false", "job release: actions/setup-go without"),
    (CI, "actions/setup-go@", "acme/rust-cache@", "job release: acme/rust-cache@"),
    (".github/actions/prepare/action.yml", f"if: {COLD}", "if: always()", "actions/cache@"),
    (RELEASE, "bash .ci/deny --strict", "bash .ci/deny", "does not need `bash .ci/deny --strict`"),
    (RELEASE, "[ci, version, sources]", "[ci, version]", "does not need `bash .ci/workflows --release`"),
    (".github/workflows/advisories.yml", "schedule:", "push:", "no scheduled workflow"),
    (".ci/cargo-tool", "mdbook@0", "mdbook", ".ci/cargo-tool: `cargo install` without"),
    (".ci/cargo-tool", "if ! install --locked", "if ! install", ".ci/cargo-tool: `cargo install` without"),
    (".github/dependabot.yml", "/web]", "/site]", "/web is not watched for npm"),
    (".github/dependabot.yml", "/cli, ", "/krm, ", "/krm has nothing of pip"),
    ("deploy/docker/fn.Dockerfile", "FROM scratch", "FROM debian:13", "deploy/docker/fn.Dockerfile:8: debian:13"),
    ("deploy/docker/fn.Dockerfile", "FROM scratch", "FROM debian:13", "/deploy/docker is not watched for docker"),
    ("deploy/argocd/repo-server-patch.yaml", "image: kubefoundry-argocd", "image: redis:8", "redis:8"),
]


def main():
    files = read_files()
    for path, right, mistake, expected in WRONG:
        assert right in files[path], f"{path} no longer has {right!r}"
        # All places, as the rule must not depend on which of them is read.
        found = [line for lines in judge(files | {path: files[path].replace(right, mistake)}) for line in lines]
        assert any(expected in line for line in found), f"{mistake!r} in {path} is not found: {found}"
    wrong, unpinned = judge(files)
    for line in wrong:
        print(f"FAIL {line}")
    for line in unpinned:
        print(f"not pinned by a digest: {line}")
    print(f"sources: {len(files)} files, {len(unpinned)} references without a digest, {len(WRONG)} mistakes found")
    sys.exit(bool(wrong or (unpinned and "--release" in sys.argv[1:])))


main()
