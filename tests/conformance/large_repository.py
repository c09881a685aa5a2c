"""Runs kubefoundry on a generated repository of three clusters: two overlays each, 50 models, a Helm chart and 2,000 foreign
files. The answers are right and quiet, and take less than a second besides kustomize."""

import concurrent.futures
import os
import subprocess
import time

from clients import Report
from kustomize_roots import PINNED, Repository

report = Report()
CLUSTERS, OVERLAYS, MODELS, FOREIGN = ["dev", "qa", "prod"], ["blue", "green"], 50, 2000

# What kubefoundry may take besides kustomize, in seconds, on the machine of docs/performance.md. A debug build takes several
# times as long.
MAX_SECONDS = float(os.environ.get("KUBEFOUNDRY_MAX_SECONDS", "1"))

# What kustomize takes there for all roots. A machine that needs more for them, or is busy, allows more in proportion.
KUSTOMIZE_SECONDS = 0.32


def model(number):
    return f"""apiVersion: kubefoundry.ai/v1alpha1
kind: ModelDeployment
metadata: {{name: m{number}, namespace: ml}}
spec:
  model: {{id: Qwen/Qwen3-8B, servedName: m{number}}}
  engine: {{type: vllm}}
  resources: {{gpu: {{count: 1}}}}
"""


def files():
    all_files = {}
    names = "".join(f"- m{number}.yaml\n" for number in range(MODELS))
    for cluster in CLUSTERS:
        for number in range(MODELS):
            all_files[f"clusters/{cluster}/base/m{number}.yaml"] = model(number)
        all_files[f"clusters/{cluster}/base/kustomization.yaml"] = f"resources:\n{names}"
        for overlay in OVERLAYS:
            patch = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: m0, namespace: ml}\nspec: {scaling: {replicas: 2}}\n"
            all_files[f"clusters/{cluster}/{overlay}/replicas.yaml"] = patch
            all_files[f"clusters/{cluster}/{overlay}/kustomization.yaml"] = "resources: [../base]\npatches: [{path: replicas.yaml}]\n"
    all_files["charts/models/Chart.yaml"] = "apiVersion: v2\nname: models\nversion: 0.1.0\n"
    all_files["charts/models/templates/m.yaml"] = "{{- range .Values.models }}\n" + model(0) + "{{- end }}\n"
    for number in range(FOREIGN):
        all_files[f"apps/a{number % 40}/web{number}.yaml"] = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web{number}}}\ndata: {{a: b}}\n"
    return all_files


def seconds(action):
    """Returns the best of three times: the others were disturbed."""
    best = float("inf")
    for _ in range(3):
        start = time.monotonic()
        result = action()
        best = min(best, time.monotonic() - start)
    return best, result


def build_all(repository):
    roots = [f"clusters/{cluster}/{overlay}" for cluster in CLUSTERS for overlay in OVERLAYS]
    build = lambda root: subprocess.run(["kustomize", "build", root], cwd=repository.path, capture_output=True, check=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(build, roots))


with Repository(files()) as repository:

    def check(name, builds, command, holds):
        kustomize, _ = seconds(lambda: build_all(repository))
        took, (status, out, err) = seconds(lambda: repository.run(*command))
        report.check(f"{name}: the answer", holds(status, out, err), f"exit {status}\n{out}\n{err}")
        own = took - builds * kustomize
        limit = MAX_SECONDS * max(1, kustomize / KUSTOMIZE_SECONDS)
        report.check(f"{name}: {own:.2f} s besides {builds * kustomize:.2f} s of kustomize", own < limit, f"expected less than {limit:.2f} s")
        print(f"{name}: {own:.2f} s besides {builds * kustomize:.2f} s of kustomize")

    count = len(CLUSTERS) * len(OVERLAYS) * MODELS
    check("lint .", 1, ["lint", ".", "-o", "concise"], lambda status, out, err: status == 0 and out.count("\n") == 1 and "info[KF0110]" in out and err == "")
    repository.git("checkout", "-q", "-b", "pr")
    patch = repository.path / "clusters/prod/blue/replicas.yaml"
    repository.commit({"clusters/prod/blue/replicas.yaml": patch.read_text().replace("replicas: 2", "replicas: 4")})
    check("plan --git", 2, ["plan", "--git", "main...HEAD", "."], lambda status, out, err: status == 0 and "ml/m0 (clusters/prod/blue)" in out and out.endswith(f"1 in place, {count - 1} unchanged; GPUs {count + 6} → {count + 8}\n"))
    status, out, err = repository.run("render", ".", "--out-dir", "rendered", "--exclude", "rendered")
    report.check("render --out-dir", status == 0, err)
    written = sum(1 for _ in (repository.path / "rendered").rglob("*.yaml"))
    report.check("each environment has its own files", written == count, written)
    check("render --check", 1, ["render", ".", "--out-dir", "rendered", "--check", "--exclude", "rendered"], lambda status, out, err: status == 0 and out == "")

report.end("large repository")
