"""Runs kubefoundry on repositories with kustomizations, built by the real kustomize and by kubectl: what is judged is what
kustomize builds, findings point to the file that wrote the value, and nothing runs or reaches the network unasked."""

import http.server
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading

import yaml
from clients import BUILD, EXAMPLES, Report, run

report = Report()
MODEL = """apiVersion: kubefoundry.ai/v1alpha1
kind: ModelDeployment
metadata: {name: m, namespace: ml}
spec:
  model: {id: Qwen/Qwen3-8B}
  engine: {type: vllm}
  resources: {gpu: {count: 1}}
"""
PINNED = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nruntimes: {dynamo: 1.4.0, kuberay: 2.56.0}\n"
HEAD = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: m, namespace: ml}\n"


class Repository:
    """A git repository in a temporary directory."""

    def __init__(self, files):
        self.path = pathlib.Path(tempfile.mkdtemp())
        self.git("init", "-q", "-b", "main")
        self.commit({"kubefoundry.yaml": PINNED, **files})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def write(self, files):
        for name, text in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text)

    def commit(self, files):
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")

    def git(self, *arguments):
        identity = ["-c", "user.name=n", "-c", "user.email=n@example.com"]
        subprocess.run(["git", *identity, *arguments], cwd=self.path, check=True)

    def run(self, *arguments, **environment):
        done = subprocess.run(
            ["kubefoundry", *arguments], cwd=self.path, capture_output=True, text=True, env={**os.environ, **environment}
        )
        return done.returncode, done.stdout, done.stderr


OVERLAY = {
    "base/m.yaml": MODEL,
    "base/kustomization.yaml": "resources: [m.yaml]\n",
    "prod/kustomization.yaml": "resources: [../base]\npatches: [{path: replicas.yaml}]\n",
    "prod/replicas.yaml": HEAD + "spec: {scaling: {replicas: 3}}\n",
}


def what_is_built_is_judged():
    with Repository(OVERLAY) as repository:
        repository.git("checkout", "-q", "-b", "pr")
        repository.commit({"prod/replicas.yaml": HEAD + "spec: {scaling: {replicas: 30}}\n"})
        for path in [".", "prod"]:
            status, out, err = repository.run("plan", "--git", "main...HEAD", path)
            report.check(f"plan {path}", status == 0 and out.endswith("1 in place; GPUs 3 → 30\n"), out + err)
        status, out, err = repository.run("render", ".")
        report.check("render", status == 0 and "replicas: 30" in out, out + err)
        (repository.path / "live.yaml").write_text(out)
        status, out, err = repository.run("drift", "prod", "live.yaml")
        report.check("drift: what the overlay renders is not drift", status == 0, out + err)
        (repository.path / "live.yaml").unlink()
        status, out, err = repository.run("lint", ".", "--strict")
        report.check("lint", status == 0, out + err)
        status, out, err = repository.run("explain", ".", "-o", "json")
        report.check("explain names the file of the model", '"file": "base/m.yaml"' in out, out + err)
        status, out, err = repository.run("images", ".")
        report.check("images", out == "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.4.0\n", out + err)
        built = run(["kustomize", "build", str(repository.path / "prod")])[1]
        direct = subprocess.run(["kubefoundry", "render", "-"], input=built, cwd=repository.path, capture_output=True, text=True)
        report.check("render of the build", direct.stdout == repository.run("render", "prod")[1], direct.stdout)


def places():
    """Checks that findings point to the place that wrote the value last."""
    cases = {
        "a patch file": (
            {"prod/replicas.yaml": HEAD + "spec:\n  scaling:\n    replicas: -1\n"},
            "prod/replicas.yaml:6:15: error",
        ),
        "an inline patch": (
            {"prod/kustomization.yaml": "resources: [../base]\npatches:\n- patch: |-\n    apiVersion: kubefoundry.ai/v1alpha1\n    kind: ModelDeployment\n    metadata: {name: m, namespace: ml}\n    spec:\n      scaling:\n        replicas: -1\n"},
            "prod/kustomization.yaml:9:19: error",
        ),
        "an operation": (
            {"prod/kustomization.yaml": "resources: [../base]\npatches:\n- target: {kind: ModelDeployment}\n  patch: |-\n    - op: add\n      path: /spec/scaling\n      value: {replicas: -1}\n"},
            "prod/kustomization.yaml:7:25: error",
        ),
        "the patch whose pattern selects the model": (
            {"prod/kustomization.yaml": "resources: [../base]\npatches:\n- target: {name: m.*}\n  patch: |-\n    - op: add\n      path: /spec/scaling\n      value: {replicas: -1}\n- target: {name: x.*}\n  patch: |-\n    - op: add\n      path: /spec/scaling\n      value: {replicas: 3}\n"},
            "prod/kustomization.yaml:7:25: error",
        ),
        "the base": ({"base/m.yaml": MODEL.replace("count: 1", "count: -1")}, "base/m.yaml:7:28: error"),
        "what is missing in the base": ({"base/m.yaml": MODEL.replace("{type: vllm}", "{}")}, "base/m.yaml:6:11: error"),
        "a namespace": ({"prod/kustomization.yaml": "resources: [../base]\nnamespace: Not_A_Name\n"}, "prod/kustomization.yaml:2:12: error"),
        "a prefix": ({"prod/kustomization.yaml": "resources: [../base]\nnamePrefix: Bad_\n"}, "prod/kustomization.yaml:2:13: error"),
    }
    for name, (files, expected) in cases.items():
        with Repository({**OVERLAY, **files}) as repository:
            status, out, err = repository.run("lint", ".", "-o", "concise")
            report.check(f"place: {name}", status == 1 and out.startswith(expected), out + err)
    # A mistake of a base that two overlays share is one finding.
    shared = {**OVERLAY, "base/m.yaml": MODEL.replace("count: 1", "count: -1"), "dev/kustomization.yaml": "resources: [../base]\nnamePrefix: dev-\n"}
    with Repository(shared) as repository:
        status, out, err = repository.run("lint", ".", "-o", "concise")
        report.check("a shared mistake is reported once", status == 1 and out.count("error") == 1, out + err)
        status, out, err = repository.run("lint", ".")
        report.check("and names both kustomizations", "from dev, prod" in out, out + err)


def function():
    """Checks that `kustomize build` with the function and `render` of the root without it give the same objects."""
    render = (EXAMPLES / "kustomize/base/render.yaml").read_text()
    files = {"app/m.yaml": MODEL, "app/render.yaml": render + "output: replace\nimages: {nvcr.io: mirror.example.com}\n",
             "app/kustomization.yaml": "resources: [m.yaml]\ntransformers: [render.yaml]\n"}
    with Repository(files) as repository:
        built = subprocess.run([*BUILD, str(repository.path / "app")], capture_output=True, text=True)
        status, out, err = repository.run("render", "app")
        objects = lambda text: [document for document in yaml.safe_load_all(text) if document]
        report.check("the function and render agree", status == 0 and objects(built.stdout) == objects(out), out + err + built.stderr)
        report.check("with the function's options", "mirror.example.com/nvidia" in out, out)


def refusals():
    """Checks that nothing runs and nothing is fetched, and that --enable-exec and --allow-remote allow it."""
    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: remote}\n")

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/x.yaml"
    remote = {"a/m.yaml": MODEL, "a/kustomization.yaml": f"resources: [m.yaml, '{url}']\n"}
    with Repository(remote) as repository:
        status, out, err = repository.run("lint", ".", "-o", "concise")
        report.check("a remote resource is not fetched", status == 0 and "KF0108" in out and not requests, out + err)
        status, out, err = repository.run("lint", ".", "-o", "concise", "--allow-remote")
        report.check("--allow-remote builds it", status == 0 and "KF0108" not in out and requests == ["/x.yaml"], out + err)
    del requests[:]
    disguised = {"a/m.yaml": MODEL, "a/kustomization.yaml": f"resources: [m.yaml]\npatches: [{{path: '{url}'}}]\n", f"a/{url.replace('//', '/')}": HEAD}
    with Repository(disguised) as repository:
        out = repository.run("lint", ".", "-o", "concise")[1]
        report.check("a file that looks like a URL is not fetched", "KF0109" in out and not requests, out)
    server.shutdown()
    plugin = "apiVersion: example.com/v1\nkind: Touch\nmetadata:\n  name: t\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: ./touch.sh}\n"
    with Repository({"a/m.yaml": MODEL, "a/kustomization.yaml": "resources: [m.yaml]\ntransformers: [t.yaml]\n", "a/t.yaml": plugin}) as repository:
        marker = repository.path.with_suffix(".ran")
        repository.write({"a/touch.sh": f"#!/bin/sh\ntouch {marker} 2>/dev/null\ncat\n"})
        (repository.path / "a/touch.sh").chmod(0o755)
        status, out, err = repository.run("lint", ".", "-o", "concise")
        report.check("a program is not run", status == 0 and "KF0108" in out and not marker.exists(), out + err)
        status, out, err = repository.run("lint", ".", "-o", "concise", "--enable-exec")
        ran = status == 0 and "KF0108" not in out
        report.check("--enable-exec runs it, and it writes nothing elsewhere", ran and not marker.exists(), out + err)
        status, out, err = repository.run("lint", ".", "-o", "concise", "--enable-exec", "--no-isolation")
        report.check("--no-isolation lets it", status == 0 and "KF0108" not in out and marker.exists(), out + err)
        marker.unlink(missing_ok=True)
    secret = {"a/m.yaml": MODEL, "a/kustomization.yaml": "resources: [m.yaml]\nconfigMapGenerator: [{name: c, files: [link]}]\n"}
    with Repository(secret) as repository:
        (repository.path / "a/link").symlink_to("/etc/passwd")
        out = repository.run("render", "a", "--all")[1]
        report.check("no link leads out of the repository", "root:" not in out, out)


def failures():
    page = pathlib.Path("docs/codes/KF0109.md").read_text()
    example, corrected = page.split("\n## Corrected\n")
    for section, code in [(example, 1), (corrected, 0)]:
        blocks = [block.split("\n", 1) for block in section.split("```yaml file=")[1:]]
        with Repository({name: text.split("```")[0] for name, text in blocks}) as repository:
            status, out, err = repository.run("lint", ".", "-o", "concise")
            found = "prod/kustomization.yaml:1:1: error[KF0109] kustomize cannot build prod: " in out
            report.check(f"KF0109: exit {code}", status == code and found == (code == 1), out + err)


def kubectl():
    """Checks that `kubectl kustomize` builds where there is no kustomize."""
    program = shutil.which("kubectl")
    if program is None:
        print("skipped: kubectl is not installed")
        return
    tools = pathlib.Path(tempfile.mkdtemp())
    for name in ["kubectl", "kubefoundry", "git"]:
        (tools / name).symlink_to(shutil.which(name))
    with Repository(OVERLAY) as repository:
        status, out, err = repository.run("render", "prod", PATH=str(tools))
        report.check("kubectl kustomize", status == 0 and "replicas: 3" in out, out + err)
    shutil.rmtree(tools)


if __name__ == "__main__":
    what_is_built_is_judged()
    places()
    function()
    refusals()
    failures()
    kubectl()
    report.end("kustomizations")
