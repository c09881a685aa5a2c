"""Runs the function in kustomize: generator, transformer, overlays, inline configuration and `fn run`."""

import shutil

import yaml
from clients import BUILD, EXAMPLES, Package, Report, run
from krm_foreign import FOREIGN

report = Report()
KUSTOMIZE = EXAMPLES / "kustomize"


def objects(text):
    return [document for document in yaml.safe_load_all(text) if document]


def build(path, *flags):
    return run([*(flags or BUILD), str(path)])


def kinds(text):
    return sorted((each["kind"], each["metadata"]["name"]) for each in objects(text))


def examples():
    for name, model in [("base", "llama.yaml"), ("generator", "qwen.yaml")]:
        command = ["kubefoundry", "render", str(KUSTOMIZE / name / model), "--runtime", "dynamo=1.4.0"]
        status, rendered, err = run(command)
        report.check("render", status == 0, err)
        status, out, err = build(KUSTOMIZE / name)
        report.check(f"{name}: exit status", status == 0, err)
        report.check(f"{name}: the objects that render prints", objects(out) == objects(rendered), out)
        report.check(f"{name}: the same twice", build(KUSTOMIZE / name)[1] == out)
    status, out, err = run(["kubefoundry", "lint", str(KUSTOMIZE), "--no-kustomize", "--fail-on", "warning"])
    report.check("lint finds nothing in the examples", status == 0, out + err)
    _, out, err = build(KUSTOMIZE / "overlays/staging")
    report.check("staging: prefix and namespace", kinds(out) == [("DynamoGraphDeployment", "staging-llama-8b")], out + err)
    report.check("staging: namespace", objects(out)[0]["metadata"].get("namespace") == "models-staging", out)
    _, out, err = build(KUSTOMIZE / "overlays/production")
    found = objects(out)[0]
    report.check("production: patched", found["spec"]["services"]["Frontend"]["replicas"] == 2, out)
    report.check("production: labeled", found["metadata"]["labels"]["team"] == "search", out)
    _, out, err = build(KUSTOMIZE / "inline")
    names = [kind for kind, _ in kinds(out)]
    report.check("inline: no ModelDeployment is left", names == ["ConfigMap", "Workspace"], out + err)
    for name in ["inline", "renamed"]:
        workspace, config = objects(build(KUSTOMIZE / name)[1])[::-1][:2]
        report.check(f"{name}: the reference follows the name", workspace["inference"]["config"] == config["metadata"]["name"], (workspace, config))


def overlays():
    """Checks that an overlay can render a base again without deleting or overwriting other objects."""
    with Package(KUSTOMIZE) as package:
        package.write("foreign.yaml", FOREIGN)
        render = (KUSTOMIZE / "base/render.yaml").read_text()
        package.write("both/render.yaml", render + "prune: true\n")
        package.write("both/kustomization.yaml", "resources: [../base, foreign.yaml]\nnamePrefix: prod-\ntransformers: [render.yaml]\n")
        package.write("both/foreign.yaml", FOREIGN)
        status, out, err = build(package.path / "both")
        expected = [("ConfigMap", "prod-foreign"), ("DynamoGraphDeployment", "prod-llama-8b")]
        report.check("rendered in base and overlay: once", status == 0 and kinds(out) == expected, out + err)
        mine = "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: llama-8b}\nspec: {mine: true}\n"
        package.write("collision/mine.yaml", mine)
        package.write("collision/render.yaml", render)
        shutil.copy(package.path / "base/llama.yaml", package.path / "collision/llama.yaml")
        package.write("collision/kustomization.yaml", "resources: [mine.yaml, llama.yaml]\ntransformers: [render.yaml]\n")
        status, out, err = build(package.path / "collision")
        report.check("a foreign object of that name is an error", status == 1 and out == "" and "KF0524" in err, out + err)
        package.write("kept/llama.yaml", (KUSTOMIZE / "base/llama.yaml").read_text().replace("local-config", "other"))
        package.write("kept/render.yaml", render)
        package.write("kept/kustomization.yaml", "resources: [llama.yaml]\ntransformers: [render.yaml]\n")
        _, out, _ = build(package.path / "kept")
        report.check("without local-config the ModelDeployment is in the output", len(kinds(out)) == 2, out)
        package.write("badgen/render.yaml", render)
        package.write("badgen/kustomization.yaml", "generators: [render.yaml]\n")
        status, out, err = build(package.path / "badgen")
        report.check("options as a generator: an error", status == 1 and "KF0107" in err and out == "", out + err)
        package.write("broken/llama.yaml", (KUSTOMIZE / "base/llama.yaml").read_text().replace("vllm", "vlm"))
        package.write("broken/render.yaml", render)
        package.write("broken/kustomization.yaml", "resources: [llama.yaml]\ntransformers: [render.yaml]\n")
        status, out, err = build(package.path / "broken")
        report.check("a mistake: its line on standard error, no output", status == 1 and out == "" and "error: KF0114 ModelDeployment llama-8b: spec.engine.type" in err, out + err)


def traps():
    """Checks that the problems described in docs/troubleshooting.md still occur."""
    base = KUSTOMIZE / "base"
    status, out, err = build(base, "kustomize", "build", "--enable-alpha-plugins")
    report.check("without --enable-exec: skipped silently", (status, out.strip(), err) == (0, "", ""), out + err)
    status, _, err = build(base, "kustomize", "build")
    report.check("without any flag: an error", status == 1 and "plugins disabled" in err, err)
    if shutil.which("kubectl"):
        status, _, err = build(base, "kubectl", "kustomize", "--enable-exec")
        report.check("kubectl has no --enable-exec", status != 0 and "unknown flag" in err, err)
    with Package(KUSTOMIZE) as package:
        package.write("v/llama.yaml", (KUSTOMIZE / "base/llama.yaml").read_text())
        package.write("v/render.yaml", (KUSTOMIZE / "base/render.yaml").read_text())
        package.write("v/kustomization.yaml", "resources: [llama.yaml]\nvalidators: [render.yaml]\n")
        status, _, err = build(package.path / "v")
        report.check("validators fail whatever they say", status == 1 and "validator shouldn't modify" in err, err)


def fn_run():
    with Package(KUSTOMIZE / "base") as package:
        package.write("models/llama.yaml", (package.path / "llama.yaml").read_text())
        (package.path / "llama.yaml").unlink()
        (package.path / "kustomization.yaml").unlink()
        package.write("foreign.yaml", FOREIGN)
        package.commit()
        command = ["kustomize", "fn", "run", ".", "--enable-exec"]
        status, out, err = run(command, package.path)
        diff = package.diff()
        added = [line for line in diff.splitlines() if line.startswith("+++ ")]
        report.check("fn run: one new file, beside its source", status == 0 and added == ["+++ b/models/dynamographdeployment_llama-8b.yaml"], diff + err)
        package.commit()
        run(command, package.path)
        report.check("fn run: a second run changes nothing", package.diff() == "", package.diff())
        package.write("models/llama.yaml", (package.path / "models/llama.yaml").read_text().replace("8192", "4096"))
        package.commit()
        run(command, package.path)
        changed = [line[1:].strip() for line in package.diff().splitlines() if line[:1] == "+" and line[:3] != "+++"]
        report.check("fn run: a change is one line", changed == ["- --max-model-len=4096"], package.diff())
        package.commit()
        package.write("models/llama.yaml", (package.path / "models/llama.yaml").read_text().replace("vllm", "vlm"))
        package.commit()
        status, _, err = run(command, package.path)
        report.check("fn run: a mistake changes no file", status == 1 and package.diff() == "" and "models/llama.yaml:11" in err, package.diff() + err)
    with Package(KUSTOMIZE / "generator") as package:
        for path in list(package.path.glob("*.yaml")):
            path.unlink()
        package.write("foreign.yaml", FOREIGN)
        package.commit()
        status, _, err = run(["kustomize", "fn", "run", ".", "--enable-exec", "--exec-path", shutil.which("kubefoundry-fn"), "--", "runtimes.dynamo=1.4.0"], package.path)
        report.check("fn run without a ModelDeployment: no byte changes", status == 0 and package.diff() == "", package.diff() + err)


examples()
overlays()
traps()
fn_run()
report.end("kustomize")
