"""Repeats what new users ran into, from the shell and with the real clients, and checks the behavior that they expected.

Kustomizations are in kustomize_roots.py and large_repository.py, pruning of rendered manifests and charts with helm in
tutorial.py, and completion in an empty file of an editor in check_editor.py.

Usage: journeys.py KUBEFOUNDRY
"""

import json
import os
import pathlib
import re
import shutil
import sys

import jsonschema
import yaml
from clients import ROOT, Report, run
from kustomize_roots import MODEL, Repository

report = Report()
IMPORTS = ROOT / "testdata/import"


def changed(*edits, text=MODEL):
    """Returns the model with pieces of its text replaced. A piece that is absent is a mistake in the check."""
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text


def documents(text):
    return [document for document in yaml.safe_load_all(text) if document]


def codes(text):
    """Returns the codes of errors and warnings in a report of the format `concise`, in order."""
    return re.findall(r"(?:error|warning)\[(KF\d+)\]", text)


def one_configuration():
    """A file has the same options however its path is written: those of the directories above it."""
    options = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nruntimes: {dynamo: 1.6.1}\nkaito: {nodeAutoProvisioning: false}\n"
    preset = changed(("name: m,", "name: k,"), ("Qwen/Qwen3-8B", "microsoft/Phi-4-mini-instruct"), ("  engine:", "  provider: {name: kaito}\n  nodeSelector: {apps: llm}\n  engine:"))
    with Repository({"kubefoundry.yaml": options, "models/m.yaml": MODEL, "models/k.yaml": preset}) as repository:
        for paths in [["."], ["models"], ["models/m.yaml", "models/k.yaml"]]:
            status, out, err = repository.run("render", *paths)
            report.check(f"render {paths}", status == 0 and "vllm-runtime:1.6.1" in out, out + err)
            status, out, err = repository.run("lint", "--fail-on", "warning", *paths)
            report.check(f"lint {paths}", status == 0, out + err)
        status, out, err = repository.run("render", "--isolated", "models/m.yaml")
        report.check("--isolated", "vllm-runtime:1.6.1" not in out, out)
        status, out, err = repository.run("config", "models/m.yaml")
        report.check("config names the file and the value", status == 0 and "kubefoundry.yaml" in out and "1.6.1" in out, out + err)


def several_clusters():
    """The same model in two clusters is not an error once the options name the environments."""
    files = {f"clusters/{cluster}/inference/m.yaml": MODEL for cluster in ["dev", "prod"]}
    with Repository(files) as repository:
        status, out, err = repository.run("lint", ".", "-o", "concise")
        report.check("without environments", status == 1 and codes(out) == ["KF0523"], out + err)
        repository.write({"kubefoundry.yaml": (repository.path / "kubefoundry.yaml").read_text() + 'environments: ["clusters/*"]\n'})
        report.check("with environments", repository.run("lint", ".", "--strict", "-o", "concise")[:2] == (0, ""))
        status, out, err = repository.run("render", ".", "--out-dir", "manifests")
        report.check("each cluster has its manifests", status == 0 and (repository.path / "manifests/clusters/prod/ml/dynamographdeployment_m.yaml").is_file(), err)


def templates():
    """Templates are skipped with an info, whatever the tool that fills them in, and can be excluded."""
    files = {
        "m.yaml": MODEL,
        "chart/Chart.yaml": "apiVersion: v2\nname: chart\nversion: 0.1.0\n",
        "chart/templates/md.yaml": "{{- if .Values.enabled }}\n" + MODEL + "{{- end }}\n",
        "chart/templates/web.yaml": "# see kubefoundry.ai/docs\n{{- if .Values.web }}\nkind: Service\n{{- end }}\n",
        "flux/m.yaml": MODEL.replace("namespace: ml", "namespace: ${NS}"),
    }
    with Repository(files) as repository:
        status, out, err = repository.run("lint", ".", "-o", "concise")
        found = re.findall(r"^(\S+?):\d+:\d+: info\[(KF\d+)\]", out, re.M)
        report.check("templates are infos", status == 0 and sorted(found) == [("chart/Chart.yaml", "KF0110"), ("flux/m.yaml", "KF0110")] and out.count("\n") == 2, out + err)
        status, out, err = repository.run("argocd", "generate")
        report.check("Argo CD gets the models", status == 0 and out == repository.run("render", ".")[1] and err.count("KF0110") == 2, out + err)
        report.check("--exclude", repository.run("lint", ".", "-o", "concise", "--exclude", "chart", "--exclude", "flux")[:2] == (0, ""))
        repository.write({"kubefoundry.yaml": (repository.path / "kubefoundry.yaml").read_text() + "exclude: [chart, flux]\n"})
        status, out, err = repository.run("lint", ".", "-o", "concise")
        counted = [line for line in out.splitlines() if "info[KF0111]" in line]
        report.check("exclude in the options is counted", status == 0 and len(counted) == len(out.splitlines()) == 1, out + err)


def partial_imports():
    """One object that cannot be imported, or migrated, does not hold back the others; the exit status tells."""
    dump = "---\n".join((IMPORTS / name / "input.yaml").read_text() for name in ["kaito-preset", "kuberay-other-application"])
    with Repository({"dump.yaml": dump}) as repository:
        status, out, err = repository.run("import", "dump.yaml")
        report.check("import prints what can be imported", status == 1 and [one["metadata"]["name"] for one in documents(out)] == ["phi"], out + err)
        report.check("import says what was refused", "refused: RayService app: " in err and "1 imported" in err and "1 refused" in err, err)
        status, out, err = repository.run("import", "dump.yaml", "-o", "json")
        report.check("the JSON report has both", len(json.loads(out)["imported"]) == 1, out)
        status, out, err = repository.run("import", "dump.yaml", "--out-dir", "models")
        report.check("import --out-dir", (repository.path / "models/models/modeldeployment_phi.yaml").is_file(), out + err)
    fleet = {
        "models/v.yaml": changed(("name: m,", "name: v,")),
        "models/s.yaml": changed(("name: m,", "name: s,"), ("type: vllm", "type: sglang")),
        "models/r.yaml": changed(("name: m,", "name: r,"), ("  engine:", "  provider: {name: kuberay}\n  engine:")),
    }
    with Repository(fleet) as repository:
        status, out, err = repository.run("migrate", "--to", "kuberay", "models", "-o", "yaml")
        report.check("migrate prints what can be migrated", status == 1 and [one["metadata"]["name"] for one in documents(out)] == ["v-kuberay"], out + err)
        report.check("what runs there already is an info", "info[KF0716]: ModelDeployment ml/r" in err and err.count("error[") == 1, err)
        status, out, err = repository.run("migrate", "--to", "kuberay", "models/v.yaml")
        report.check("engines that are not in use are not listed", status == 0 and "sglang" not in out + err, out + err)
        status, out, err = repository.run("migrate", "models/v.yaml")
        report.check("both destinations are named", status == 2 and "--to-group" in err, err)


def advice_runs():
    """What `explain --why-not` advises renders without an error, and an image of another engine is one."""
    model = changed(("Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B-Instruct-2507"), ("{type: vllm}", "{type: vllm, args: {enable-expert-parallel: \"true\"}}"), ("count: 1", "count: 4"))
    with Repository({"q.yaml": model}) as repository:
        status, out, err = repository.run("explain", "q.yaml", "--why-not", "kaito")
        report.check("the advice names GGUF", status == 0 and "GGUF" in out, out + err)
        by_name = out.split("kaito is selected by name with\n")[1].split("\n\n")[0]
        advice = [line.strip().split(": ", 1) for line in by_name.splitlines()]
        report.check("no image of another engine", ("spec.image" in dict(advice)) <= ("spec.engine.type" in dict(advice)), out)
        advised = yaml.safe_load(model)
        # The engine's arguments belong to the engine that the advice replaces.
        del advised["spec"]["engine"]["args"]
        for path, value in advice:
            *parents, key = path.split(".")
            place = advised
            for parent in parents:
                place = place.setdefault(parent, {})
            place[key] = yaml.safe_load(value)
        repository.write({"advised.yaml": yaml.safe_dump(advised)})
        status, out, err = repository.run("lint", "advised.yaml", "-o", "concise")
        report.check("the advice has no errors", status == 0, out + err)
        wrong = changed(("  engine:", "  provider: {name: kaito}\n  image: example.com/ggml-org/llama.cpp:server-cuda\n  engine:"), text=model)
        repository.write({"wrong.yaml": wrong})
        status, out, err = repository.run("lint", "wrong.yaml", "-o", "concise")
        report.check("vLLM in an image of llama.cpp is an error", status == 1 and "KF0507" in codes(out), out + err)


def several_nodes():
    """A pod with more GPUs than a node has is reported with the field for several nodes, which renders."""
    large = changed(("Qwen/Qwen3-8B", "org/large"), ("type: vllm", "type: sglang"))
    files = {
        "one.yaml": changed(("count: 1", "count: 64"), text=large),
        "split.yaml": changed(("{type: sglang}", "{type: sglang, args: {tp-size: \"16\"}}"), ("count: 1", "count: 8"), text=large),
        "two.yaml": changed(("{type: sglang}", "{type: sglang, args: {tp-size: \"16\"}}"), ("{gpu: {count: 1}}", "{gpu: {count: 8}, nodes: 2}"), text=large),
    }
    with Repository(files) as repository:
        status, out, err = repository.run("lint", "one.yaml")
        report.check("64 GPUs in one pod", "warning[KF0220]" in out and "spec.resources.nodes" in out, out + err)
        status, out, err = repository.run("lint", "split.yaml")
        report.check("16 parts on 8 GPUs", status == 1 and "error[KF0307]" in out and "spec.resources.nodes" in out, out + err)
        status, out, err = repository.run("lint", "two.yaml", "--strict")
        report.check("two nodes of 8", status == 0, out + err)
        graph = documents(repository.run("render", "two.yaml")[1])[0]
        worker = next(one for one in graph["spec"]["services"].values() if one.get("componentType") == "worker")
        report.check("two nodes are rendered", worker["multinode"] == {"nodeCount": 2} and "--tp-size=16" in worker["extraPodSpec"]["mainContainer"]["args"], worker)


def misspelled_flags():
    """A flag that the runtime does not know fails CI, with the flag that was meant."""
    for written, meant in [
        ("tensor-parrallel-size", "tensor-parallel-size"),
        ("max-nm-seqs", "max-num-seqs"),
        ("gpu-memory-utilisation", "gpu-memory-utilization"),
        ("quantisation", "quantization"),
    ]:
        with Repository({"m.yaml": changed(("{type: vllm}", f"{{type: vllm, args: {{{written}: \"2\"}}}}"))}) as repository:
            status, out, err = repository.run("lint", "m.yaml", "-o", "concise")
            report.check(f"--{written} of a known runtime", status == 1 and codes(out) == ["KF0304"] and f'did you mean "{meant}"?' in out, out + err)
            status, out, err = repository.run("lint", "m.yaml", "-o", "concise", "--fail-on", "warning", "--runtime", "dynamo=9.9.9")
            report.check(f"--{written} of an unknown runtime", status == 1 and "KF0315" in codes(out) and f'did you mean "{meant}"?' in out, out + err)


def fixes():
    """`lint --fix` writes only what is right: a second run finds nothing, and the rendered flags have the same values."""
    arguments = "{enforce-eager: True, max-num-seqs: 0x10, max-num-batched-tokens: 1e4, seed: 010}"
    with Repository({"m.yaml": changed(("{type: vllm}", f"{{type: vllm, args: {arguments}}}"), ("count: 1", 'count: "1"'))}) as repository:
        status, out, err = repository.run("lint", "m.yaml")
        report.check("what can be fixed is counted", status == 1 and "[*] 5 fixable with the `--fix` option." in out, out + err)
        status, out, err = repository.run("lint", "m.yaml", "--fix")
        report.check("fixed", status == 0 and "fixed 5 findings" in err, out + err)
        status, out, err = repository.run("lint", "m.yaml", "--strict", "-o", "concise")
        report.check("nothing is left to fix", (status, out) == (0, ""), out + err)
        spec = yaml.safe_load((repository.path / "m.yaml").read_text())["spec"]
        expected = {"enforce-eager": "true", "max-num-seqs": "16", "max-num-batched-tokens": "10000", "seed": "8"}
        report.check("the values of YAML", spec["engine"]["args"] == expected and spec["resources"]["gpu"]["count"] == 1, spec)
    with Repository({"m.yaml": changed(("type: vllm", "type: llama.cpp"), ("{gpu: {count: 1}}", "{}"))}) as repository:
        repository.run("lint", "m.yaml", "--fix")
        report.check("llama.cpp is fixed", "{type: llamacpp}" in (repository.path / "m.yaml").read_text())


def quiet_terminals():
    """Infos do not drown the one error, can be hidden, and a plan reports only what the change brings."""
    preset = changed(("Qwen/Qwen3-8B", "microsoft/Phi-4-mini-instruct"), ("  engine:", "  provider: {name: kaito}\n  nodeSelector: {apps: llm}\n  engine:"))
    unpinned = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nkaito: {nodeAutoProvisioning: false}\n"
    files = {"kubefoundry.yaml": unpinned}
    for number in range(200):
        model = preset if number < 50 else MODEL.replace("{id: Qwen/Qwen3-8B}", f"{{id: Qwen/Qwen3-8B, servedName: m{number}}}")
        files[f"models/m{number}.yaml"] = changed(("name: m,", f"name: m{number},"), text=model)
    with Repository(files) as repository:
        status, out, err = repository.run("lint", ".")
        report.check("200 models are quiet", status == 0 and out.count("\n") < 20 and "KF1007" not in out, out + err)
        repository.git("checkout", "-q", "-b", "pr")
        broken = changed(("type: vllm", "type: vlm"), text=files["models/m99.yaml"])
        repository.write({"models/m99.yaml": broken})
        status, out, err = repository.run("lint", ".")
        report.check("the error is on the last screen", status == 1 and "error[KF0114]" in "".join(out.splitlines(True)[-12:]), out + err)
        status, out, err = repository.run("lint", ".", "-q")
        report.check("--quiet has the error alone", status == 1 and out.startswith("error[KF0114]") and "info" not in out, out + err)
        repository.commit({"models/m99.yaml": files["models/m99.yaml"].replace("count: 1", "count: 2")})
        status, out, err = repository.run("plan", "--git", "main...HEAD", ".")
        report.check("plan has no finding of unchanged models", status == 0 and "info[" not in err and out.endswith("GPUs 200 → 201\n"), out + err)
        report.check("--fail-on info", repository.run("lint", ".", "--fail-on", "info")[0] == 1)
        status, out, err = repository.run("lint", ".", "--fail-on", "info", "--ignore", "unpinned-runtime")
        report.check("an info that is ignored", (status, "info[" in out) == (0, False), out + err)


def fields_are_described():
    """`explain FIELD` describes a field as `kubectl explain` does, and the reference has every field of a model."""
    with Repository({}) as repository:
        status, out, err = repository.run("explain", "spec.engine.contextLength")
        report.check("explain FIELD", status == 0 and "<integer>" in out and "--max-model-len" in out and "EXAMPLE:" in out, out + err)
        status, out, err = repository.run("explain", "spec.engine.contextLenght")
        report.check("a misspelled field", status == 2 and "contextLength" in err, out + err)
    reference = (ROOT / "docs/reference/model-deployment.md").read_text()
    report.check("the reference", "spec.engine.contextLength" in reference or "contextLength" in reference)


def first_repository():
    """`init` writes a repository without findings that renders, and never overwrites a file."""
    with Repository({}) as repository:
        status, out, err = repository.run("init", "app", "--model", "Qwen/Qwen3-8B", "--namespace", "chat", "--ci", "github")
        report.check("init", status == 0 and (repository.path / "app/.github/workflows/kubefoundry.yml").is_file(), out + err)
        report.check("no findings", repository.run("lint", "app", "--strict", "-o", "concise")[:2] == (0, ""))
        report.check("it renders", len(documents(repository.run("render", "app")[1])) == 1)
        report.check("nothing is overwritten", repository.run("init", "app", "--model", "Qwen/Qwen3-8B")[0] == 2)


def imports_without_false_residue():
    """Defaults of CRDs, numbers and their text are not residue, and a role without memory is imported."""
    workspace = """apiVersion: kaito.sh/v1beta1
kind: Workspace
metadata: {name: phi}
resource: {instanceType: Standard_NC24ads_A100_v4, labelSelector: {matchLabels: {apps: phi}}}
inference: {preset: {name: microsoft/Phi-4-mini-instruct}, config: settings}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {inference_config.yaml: "vllm: {swap-space: 4}"}
"""
    with Repository({"w.yaml": workspace}) as repository:
        status, out, err = repository.run("import", "w.yaml", "--strict")
        report.check("a preset has no residue", status == 0 and "warning[" not in err, err)
        report.check("the report ends with numbers", "1 imported (Workspace of kaito.sh/v1beta1)" in err and "\n\n\n" not in err, err)
        status, out, err = repository.run("import", str(IMPORTS / "dynamo-roles-without-memory/input.yaml"))
        report.check("roles without memory", status == 0 and len(documents(out)) == 1, err)


def walks():
    """A link that leads nowhere, or to another file, and files that git ignores do not surprise."""
    with Repository({"real/m.yaml": changed(("count: 1", "count: -1"))}) as repository:
        (repository.path / "x.yaml").symlink_to("nowhere.yaml")
        (repository.path / "a-link.yaml").symlink_to("real/m.yaml")
        status, out, err = repository.run("lint", ".", "-o", "concise")
        report.check("the finding has the name of the file", status == 1 and out.startswith("real/m.yaml:") and out.count("\n") == 1, out)
        report.check("a link that leads nowhere is noted", "x.yaml: the link leads nowhere; skipped" in err, err)
        repository.write({"real/m.yaml": MODEL})
        report.check("and stops nothing", repository.run("images", ".")[0] == 0)
        repository.write({"sub/m.yaml": MODEL, ".gitignore": "sub/m.yaml\n"})
        status, out, err = repository.run("lint", "sub")
        report.check("ignored files are counted", "its only file" in err and "is ignored by git" in err, err)
        report.check("and read if they are named", "1 file" in repository.run("lint", "sub/m.yaml")[1])


def reports_are_plain():
    """One slip is one finding, options that flags set are shown as flags, and errors come first for Argo CD."""
    slips = changed(("model:", "modle:"), ("engine:", "enigne:"), ("count:", "cuont:"))
    with Repository({"m.yaml": slips, "a.yaml": changed(("name: m,", "name: a,"))}) as repository:
        status, out, err = repository.run("lint", "m.yaml", "-o", "concise")
        report.check("three slips are three findings", status == 1 and codes(out) == ["KF0113"] * 3 and out.count("did you mean") == 3, out)
        status, out, err = repository.run("lint", "a.yaml", "--runtime", "dynamo=9.9.9")
        report.check("a flag is named as such", "--runtime dynamo=9.9.9" in out and '"9.9.9"' not in out, out)
        status, out, err = repository.run("argocd", "generate", "--help")
        report.check("help of nested commands", status == 0 and "Examples:" in out)
        done = run(["kubefoundry", "argocd", "generate"], cwd=repository.path)
        report.check("Argo CD shows the errors first", done[0] == 1 and done[1] == "" and done[2].startswith("m.yaml:") and "did you mean" in done[2].splitlines()[0], done[2])
        repository.write({"m.yaml": "```yaml\n" + MODEL})
        status, out, err = repository.run("lint", "m.yaml")
        report.check("what is not YAML is one plain sentence", status == 1 and "KF0101" in out and "the character ``` " not in out, out)
        status, out, err = repository.run("lint", "m.yaml", FORCE_COLOR="1")
        report.check("FORCE_COLOR", "\033[" in out, repr(out))


def shells():
    """Bash completes codes, commands of `man` and providers; man pages exist for nested commands, and name the values."""
    script = """source <(kubefoundry completions bash)
function=$(complete -p kubefoundry | sed 's/.* -F \\([^ ]*\\) .*/\\1/')
complete_last() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); "$function" "$1" "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}"; echo "${COMPREPLY[*]}"; }
complete_last kubefoundry explain KF0113
complete_last kubefoundry man arg
complete_last kubefoundry explain a.yaml --why-not ka
"""
    status, out, err = run(["bash", "-c", script])
    report.check("completion", out.splitlines() == ["KF0113", "argocd", "kaito"], out + err)
    status, out, err = run(["kubefoundry", "man", "argocd", "generate"])
    report.check("man pages of nested commands", status == 0 and ".TH KUBEFOUNDRY-ARGOCD-GENERATE 1" in out, out + err)
    status, out, err = run(["kubefoundry", "man", "render"])
    report.check("values in a synopsis", status == 0 and r"\fB\-\-config\fR \fIFILE\fR" in out, out)


def schema_of_options():
    """The schema for editors refuses a misspelled rule of the options, as `lint` does."""
    schema = json.loads(run(["kubefoundry", "schema", "render"])[1])
    for rule, is_valid in [("unpinned-runtime", True), ("KF0503", True), ("unpinned-runtimes", False)]:
        options = {"apiVersion": "config.kubefoundry.ai/v1alpha1", "kind": "Render", "severities": {rule: "off"}}
        report.check(f"the schema on {rule}", jsonschema.Draft7Validator(schema).is_valid(options) == is_valid)
        with Repository({"m.yaml": MODEL, "kubefoundry.yaml": yaml.safe_dump(options)}) as repository:
            status, out, err = repository.run("lint", ".", "-o", "concise")
            report.check(f"lint on {rule}", (status == 0) == is_valid, out + err)


def exit_codes():
    """CI can tell a difference from an error: `drift` and `render --check` exit with 1 and 2."""
    with Repository({"m.yaml": MODEL, "broken.yaml": changed(("count: 1", "count: -1"))}) as repository:
        live = repository.run("render", "m.yaml")[1]
        repository.write({"live.yaml": live, "drifted.yaml": live.replace("replicas: 1", "replicas: 3")})
        statuses = [repository.run("drift", spec, snapshot)[0] for spec, snapshot in [("m.yaml", "live.yaml"), ("m.yaml", "drifted.yaml"), ("broken.yaml", "live.yaml")]]
        report.check("drift", statuses == [0, 1, 2], statuses)
        repository.run("render", "m.yaml", "--out-dir", "out")
        statuses = [repository.run("render", "m.yaml", "--out-dir", "out", "--check")[0]]
        repository.write({"m.yaml": MODEL.replace("count: 1", "count: 2")})
        statuses += [repository.run("render", spec, "--out-dir", "out", "--check")[0] for spec in ["m.yaml", "broken.yaml"]]
        report.check("render --check", statuses == [0, 1, 2], statuses)
        status, out, err = repository.run("status", "none.yaml")
        report.check("status names a file that is absent", status == 2 and "none.yaml: No such file" in err, err)


def plan_comments():
    """Equal changes are one row with the file of each model, and a shallow clone is named as the reason."""
    files = {f"m{number}.yaml": changed(("name: m,", f"name: m{number},")) for number in range(200)}
    with Repository(files) as repository:
        repository.git("checkout", "-q", "-b", "pr")
        repository.commit({name: text.replace("count: 1", "count: 2") for name, text in files.items()})
        status, out, err = repository.run("plan", "--git", "main...HEAD", ".", "-o", "markdown")
        rows = [line for line in out.splitlines() if line.startswith("| `ml/m")]
        report.check("200 equal changes are one row", status == 0 and len(rows) == 1 and "`m0.yaml:3`" in rows[0] and "and 197 more" in rows[0], rows or out + err)
        clone = repository.path / "shallow"
        status, out, err = run(["git", "clone", "-q", "--depth", "1", "--branch", "pr", f"file://{repository.path}", str(clone)])
        assert status == 0, err
        status, out, err = run(["kubefoundry", "plan", "--git", "origin/main...HEAD", "."], cwd=clone)
        report.check("a shallow clone", status == 2 and "fetch-depth: 0" in err, err)


def post_rendering():
    """A chart without a model passes through unchanged when asked for, and is an error otherwise."""
    with Repository({}) as repository:
        service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n"
        for flags, expected in [(["--all"], 1), (["--all", "--allow-empty"], 0)]:
            status, out, err = run(["kubefoundry", "render", *flags, "-"], cwd=repository.path, stdin=service)
            report.check(f"render {flags}", status == expected and documents(out) == ([] if expected else documents(service)), out + err)


def two_guides():
    """The Argo CD plugin with `kustomize: true` builds a kustomization without our transformer, and renders the result with its
    options. The guide of kustomize says so."""
    if shutil.which("kustomize") is None:
        print("skipped: kustomize is not installed, so the plugin is not run with it")
        return
    function = (ROOT / "krm/examples/kustomize/base/render.yaml").read_text()
    files = {"m.yaml": MODEL, "render.yaml": function, "kustomization.yaml": "resources: [m.yaml]\ntransformers: [render.yaml]\n"}
    with Repository(files) as repository:
        status, out, err = repository.run("argocd", "generate", ARGOCD_ENV_KUSTOMIZE="true")
        report.check("the plugin takes the transformer out", status == 0 and len(documents(out)) == 1, out + err)
        repository.write({"kustomization.yaml": "resources: [m.yaml]\n"})
        without = repository.run("argocd", "generate", ARGOCD_ENV_KUSTOMIZE="true")
        report.check("and renders as without it", without[:2] == (status, out), without)
    report.check("docs/kustomize.md says so", "the function may stay in the kustomization" in (ROOT / "docs/kustomize.md").read_text())


if __name__ == "__main__":
    os.environ["PATH"] = os.pathsep.join([str(pathlib.Path(sys.argv[1]).resolve().parent), os.environ["PATH"]])
    one_configuration()
    several_clusters()
    templates()
    partial_imports()
    advice_runs()
    several_nodes()
    misspelled_flags()
    fixes()
    quiet_terminals()
    fields_are_described()
    first_repository()
    imports_without_false_residue()
    walks()
    reports_are_plain()
    shells()
    schema_of_options()
    exit_codes()
    plan_comments()
    post_rendering()
    two_guides()
    report.end("journeys of new users")
