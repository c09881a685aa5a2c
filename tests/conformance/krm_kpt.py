"""Runs the function in kpt: `fn eval`, `fn render` with sub-packages, and `source | fn | sink`."""

import json
import os
import pathlib
import shutil
import sys
import tempfile

import yaml
from clients import EXAMPLES, Package, Report, run
from krm_foreign import FOREIGN, UGLY

report = Report()
RENDER = ["kpt", "fn", "render", ".", "--allow-exec"]
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\npipeline:\n  mutators:\n"
MODEL = (EXAMPLES / "kpt-eval/llama.yaml").read_text()
STALE = (EXAMPLES / "kpt-prune/rayservice_llama-8b.yaml").read_text()
OURS = "  - exec: kubefoundry-fn\n    configMap: {runtimes.dynamo: 1.4.0, prune: 'true'}\n"


def package(files):
    """Returns a package with only these files, committed."""
    made = Package(EXAMPLES / "kpt-eval")
    for path in made.path.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, text in files.items():
        made.write(name, text)
    made.commit()
    return made


def deleted(diff):
    # Git reports a deleted file as renamed if a similar one is new.
    return [line for line in diff.splitlines() if line.startswith(("deleted file", "rename from"))]


def untouched():
    """Checks that files without a ModelDeployment keep their comments, flow style and quotes."""
    with package({"Kptfile": KPTFILE + OURS, "foreign.yaml": FOREIGN, "sub/foreign.yaml": FOREIGN}) as it:
        for name, command in {
            "render": RENDER,
            "eval": ["kpt", "fn", "eval", ".", "--exec", "kubefoundry-fn"],
            "eval with options": ["kpt", "fn", "eval", ".", "--exec", "kubefoundry fn", "--", "prune=true"],
        }.items():
            status, out, err = run(command, it.path)
            report.check(f"{name} without a ModelDeployment: no byte changes", status == 0 and it.diff() == "", it.diff() + out + err)
    with package({"ugly.yaml": UGLY}) as by_cat, package({"ugly.yaml": UGLY}) as it:
        for made, function in [(by_cat, "cat"), (it, "kubefoundry-fn")]:
            run(["kpt", "fn", "eval", ".", "--exec", function], made.path)
        report.check("what kpt rewrites itself: as with cat", by_cat.diff() == it.diff(), it.diff())


def evaluated():
    with package({"models/llama.yaml": MODEL, "foreign.yaml": FOREIGN}) as it:
        command = ["kpt", "fn", "eval", str(it.path), "--exec", "kubefoundry-fn"]
        status, out, err = run([*command, "-o", "unwrap", "--", "runtimes.dynamo=1.4.0"], cwd="/")
        report.check("eval -o unwrap: the object is printed", status == 0 and "kind: DynamoGraphDeployment" in out, out + err)
        _, rendered, _ = run(["kubefoundry", "render", str(it.path / "models"), "--runtime", "dynamo=1.4.0"])
        evaluated = [each for each in yaml.safe_load_all(out) if each["kind"] == "DynamoGraphDeployment"]
        report.check("eval: the objects that render prints", evaluated == list(yaml.safe_load_all(rendered)), out)
        report.check("eval -o unwrap: no file", it.diff() == "", it.diff())
        status, out, err = run([*command, "--", "output=replace"], cwd="/")
        report.check("output: replace is refused", status == 1 and "would make the client delete models/llama.yaml" in err + out and it.diff() == "", out + err + it.diff())
        status, out, err = run([*command, "--", "output=generated"], cwd="/")
        report.check("output: generated is refused", status == 1 and it.diff() == "", out + err + it.diff())
        status, out, err = run([*command, "--", "runtime=1"], cwd="/")
        report.check("an unknown option names the known", status == 1 and "runtimes.PROVIDER" in out + err, out + err)
        config = it.temporary.name + "/render.yaml"
        shutil.copy(EXAMPLES / "kpt-render/render.yaml", config)
        status, out, err = run([*command, "--fn-config", config], cwd="/")
        report.check("eval --fn-config: a new file", status == 0 and "+++ b/models/dynamographdeployment_llama-8b.yaml" in it.diff(), it.diff() + out + err)
        it.commit()
        run([*command, "--fn-config", config], cwd="/")
        report.check("eval: a second run changes nothing", it.diff() == "", it.diff())
    with package({"foreign.yaml": FOREIGN}) as it:
        config = it.temporary.name + "/model.yaml"
        open(config, "w").write(MODEL)
        status, out, err = run(["kpt", "fn", "eval", ".", "--exec", "kubefoundry-fn", "--fn-config", config], it.path)
        report.check("eval with a ModelDeployment as configuration", "+++ b/dynamographdeployment_llama-8b.yaml" in it.diff(), it.diff() + out + err)


def of_json():
    """Checks an object of a JSON file, to which kpt adds annotations without quotes."""
    with package({"Kptfile": KPTFILE + OURS, "models/llama.json": json.dumps(yaml.safe_load(MODEL)), "foreign.yaml": FOREIGN}) as it:
        for name, command in {
            "render": RENDER,
            "eval": ["kpt", "fn", "eval", ".", "--exec", "kubefoundry-fn", "--", "runtimes.dynamo=1.4.0"],
            "kustomize fn run": ["kustomize", "fn", "run", ".", "--enable-exec", "--exec-path", shutil.which("kubefoundry-fn"), "--", "runtimes.dynamo=1.4.0"],
        }.items():
            status, out, err = run(command, it.path)
            added = [line for line in it.diff().splitlines() if line[:3] == "+++"]
            report.check(f"{name}: a JSON file", status == 0 and "+++ b/models/dynamographdeployment_llama-8b.yaml" in added, it.diff() + out + err)
            it.git("reset", "-q", "--hard")


def piped():
    with package({"models/llama.yaml": MODEL, "foreign.yaml": FOREIGN}) as it:
        for function in ["kubefoundry-fn", "kubefoundry fn"]:
            status, out, err = run(f"set -o pipefail; kpt fn source . | {function} | kpt fn sink ../out", it.path)
            report.check(f"source | {function} | sink", status == 0, out + err)
            run("rm -rf models foreign.yaml && cp -r ../out/. . && rm -rf ../out", it.path)
            diff = it.diff()
            expected = ["+++ b/models/dynamographdeployment_llama-8b.yaml"] if function == "kubefoundry-fn" else []
            report.check(f"source | {function} | sink: what is new", [line for line in diff.splitlines() if line[:3] == "+++"] == expected, diff)
            it.commit()
        status, out, err = run("set -o pipefail; sed -i s/vllm/vlm/ models/llama.yaml; kpt fn source . | kubefoundry-fn >../list.yaml", it.path)
        listed = open(it.temporary.name + "/list.yaml").read()
        report.check("a failure gives the whole list", status == 1 and listed.count("\n- ") >= 3 and "engine.type is" in listed, listed + err)


def pipelines():
    """Checks that other functions of a pipeline never make ours delete anything, and that repeated runs converge."""
    # The other functions are short sed scripts, which work because kyaml writes each field on its own line.
    rename = '  - exec: "sed \'s/^    name: llama-8b$/    name: prod-llama-8b/\'"\n'
    namespace = '  - exec: "sed -e /namespace:/d -e \'s/^    name: llama-8b$/&\\\\n    namespace: prod/\'"\n'
    second = "  - exec: kubefoundry fn\n    configMap: {runtimes.dynamo: 1.4.0, crdVersions.dynamo: nvidia.com/v1beta1, prune: 'true'}\n"
    selected = OURS + "    selectors: [{kind: RayService}]\n"
    excluded = OURS + "    exclude: [{kind: ModelDeployment}]\n"
    for name, pipeline in {"a second function": OURS + second, "a name prefix": OURS + rename, "selectors": selected, "exclude": excluded}.items():
        # With the prefix there is no stale object at first, and a renamed object must not become one.
        stale = {} if name == "a name prefix" else {"rayservice_llama-8b.yaml": STALE}
        with package({"Kptfile": KPTFILE + pipeline, "llama.yaml": MODEL, "foreign.yaml": FOREIGN, **stale}) as it:
            for _ in range(3):
                status, out, err = run(RENDER, it.path)
                report.check(f"{name}: renders, deletes nothing", status == 0 and not deleted(it.diff()), it.diff() + out + err)
                last = it.diff()
                it.commit()
            report.check(f"{name}: settles", last == "" or name == "a second function", last)
    for name, pipeline in {"a namespace set before": namespace + OURS, "a namespace set after": OURS + namespace}.items():
        with package({"Kptfile": KPTFILE + pipeline, "llama.yaml": MODEL}) as it:
            run(RENDER, it.path)
            it.commit()
            run(RENDER, it.path)
            second_diff = it.diff()
            it.commit()
            report.check(f"{name}: deletes nothing", not deleted(second_diff), second_diff)


TAKING = """import sys, yaml
given = yaml.safe_load(sys.stdin)
given["items"] = [item for item in given["items"] if item["kind"] != "ModelDeployment"]
yaml.safe_dump(given, sys.stdout)
"""
KAITO = {"kaito.nodeAutoProvisioning": "true", "prune": "true"}


def pipeline(*commands):
    functions = [{"exec": command, "configMap": KAITO} for command in commands]
    return KPTFILE + "".join(f"  - {json.dumps(function)}\n" for function in functions)


def pruned():
    phi = (EXAMPLES / "kustomize/kaito/phi.yaml").read_text()
    changed = phi.replace("8192", "4096")
    with package({"Kptfile": pipeline("kubefoundry-fn"), "phi.yaml": phi, "llama.yaml": MODEL, "foreign.yaml": FOREIGN}) as it:
        run(RENDER, it.path)
        it.commit()
        [old] = it.path.glob("configmap_*.yaml")
        it.write("phi.yaml", changed)
        it.commit()
        options = ["--", *(f"{key}={value}" for key, value in KAITO.items())]
        command = ["kpt", "fn", "eval", ".", "--exec", "kubefoundry-fn"]
        for selected in [["--exclude-name", "phi"], ["--match-kind", "ConfigMap"], ["--match-annotations", "kubefoundry.ai/model-deployment=phi"]]:
            status, out, err = run([*command, *selected, *options], it.path)
            report.check(f"prune: not in eval {selected[0]}, which hides objects", status == 0 and not deleted(it.diff()), it.diff() + out + err)
            it.git("reset", "-q", "--hard")
        it.write("Kptfile", KPTFILE.split("pipeline:")[0])
        it.commit()
        _, out, err = run([*command, *options], it.path)
        report.check("prune: in eval that shows everything", deleted(it.diff()) and old.name not in it.files(), it.diff() + out + err)
        it.git("reset", "-q", "--hard", "HEAD~1")
        _, out, err = run(RENDER, it.path)
        report.check("prune: what a ModelDeployment generates no more goes", deleted(it.diff()) and old.name not in it.files(), it.diff() + out)
        report.check("prune: and says so", f"{old.name}: removed ConfigMap" in out + err, out + err)
        report.check("prune: nothing else goes", len(list(it.path.glob("configmap_*.yaml"))) == 1 and len(list(it.path.glob("*_llama*"))) == 1, it.files())
        it.commit()
        # This is a documented limitation: to a function, a hidden object looks removed.
        for name, hide in {"hidden by .krmignore": lambda: it.write(".krmignore", "phi.yaml\n"), "removed": (it.path / "phi.yaml").unlink}.items():
            hide()
            it.commit()
            status, out, err = run(RENDER, it.path)
            gone = sorted(line.split(" b/")[-1] for line in it.diff().splitlines() if line.startswith("diff "))
            report.check(f"prune: of a ModelDeployment that is {name}, everything goes", status == 0 and len(gone) == 2 and all("phi" in each for each in gone), it.diff() + out + err)
            report.check(f"prune: of a ModelDeployment that is {name}: says why", "whose ModelDeployment phi no longer exists" in out + err, out + err)
            it.git("reset", "-q", "--hard")
            it.git("rm", "-q", "-f", "--ignore-unmatch", ".krmignore")
        _, out, err = run(RENDER, it.path)
        it.commit()
        _, out, err = run(RENDER, it.path)
        report.check("prune: a second run changes nothing", it.diff() == "", it.diff() + out + err)
        (it.path / "llama.yaml").unlink()
        it.commit()
        _, out, err = run(RENDER, it.path)
        report.check("prune: of the last ModelDeployment, too", it.files() == sorted({"Kptfile", "foreign.yaml", "phi.yaml"} & set(it.files())), str(it.files()) + out + err)
    # An earlier function removes ModelDeployments, so that they are not applied to a cluster.
    with package({"Kptfile": pipeline("kubefoundry-fn"), "phi.yaml": phi}) as it:
        run(RENDER, it.path)
        taking = it.temporary.name + "/take.py"
        open(taking, "w").write(TAKING)
        taker = json.dumps({"exec": f"{sys.executable} {taking}", "configMap": {"take": "ModelDeployment"}})
        it.write("Kptfile", pipeline("kubefoundry-fn").replace("mutators:\n", f"mutators:\n  - {taker}\n"))
        it.commit()
        status, out, err = run(RENDER, it.path)
        gone = it.git("diff", "--cached", "--name-only", "--diff-filter=D").split() if it.diff() else []
        report.check("prune: beside a function that takes ModelDeployments away nothing else goes", status == 0 and gone == ["phi.yaml"], it.diff() + out + err)
    # Two functions with different names and options generate different objects.
    second = json.dumps({"exec": "render-models", "configMap": {**KAITO, "crdVersions.dynamo": "nvidia.com/v1beta1"}})
    with package({"Kptfile": pipeline("render-models") + f"  - {second}\n", "phi.yaml": phi}) as it, tempfile.TemporaryDirectory() as binaries:
        renamed = pathlib.Path(binaries, "render-models")
        renamed.write_text(f"#!/bin/sh\nexec {shutil.which('kubefoundry-fn')}\n")
        renamed.chmod(0o755)
        environment = ["env", f"PATH={binaries}:{os.environ['PATH']}"]
        for text in [phi, changed]:
            it.write("phi.yaml", text)
            it.commit()
            status, out, err = run([*environment, *RENDER], it.path)
            report.check("prune: two functions of another name: nothing goes", status == 0 and not deleted(it.diff()), it.diff() + out + err)
            it.commit()
        report.check("prune: two functions of another name: both are there", len(list(it.path.glob("configmap_*.yaml"))) == 2 and "may be kubefoundry" in out + err, out + err)
        it.write("Kptfile", pipeline("render-models"))
        it.commit()
        _, out, err = run([*environment, *RENDER], it.path)
        report.check("prune: one function of another name removes", len(deleted(it.diff())) == 1, it.diff() + out + err)


def failing():
    strict = KPTFILE + OURS + "  validators:\n  - exec: kubefoundry-fn\n    configMap: {strict: 'true', runtimes.dynamo: 1.4.0}\n"
    warned = MODEL.replace("spec:\n", "spec:\n  provider: {name: dynamo, overrides: {routerMod: kv}}\n")
    with package({"Kptfile": strict, "llama.yaml": warned}) as it:
        status, out, err = run(RENDER, it.path)
        report.check("a validator that fails: nothing is written", status == 1 and it.diff() == "" and "KF0601 llama.yaml:6" in out + err, it.diff() + out + err)
    with package({"Kptfile": KPTFILE + OURS, "llama.yaml": MODEL}) as it:
        status, out, err = run(RENDER[:-1], it.path)
        report.check("without --allow-exec: an error", status == 1 and "--allow-exec" in out + err, out + err)


untouched()
evaluated()
of_json()
piped()
pipelines()
pruned()
failing()
report.end("kpt")
