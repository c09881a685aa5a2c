"""Checks the contract between Argo CD and its plugins with deploy/argocd/plugin.yaml.

Every command comes from plugin.yaml and starts as argocd-cmp-server starts it: in a fresh read-only copy of the
repository, with only the variables that Argo CD sets (no HOME), as user 999 if the check runs as root, and without a
network if that is possible. kustomize is the real program. The check also builds an installation with the component and
runs the commands of docs/argocd.md.

Usage: check_argocd.py KUBEFOUNDRY KUSTOMIZE
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY, PAGE = ROOT / "deploy/argocd", ROOT / "docs/argocd.md"
MODEL = """\
apiVersion: kubefoundry.ai/v1alpha1
kind: ModelDeployment
metadata: {name: phi}
spec:
  model: {id: org/phi}
  engine: {type: vllm}
  resources: {gpu: {count: 1}}
"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n"
CHART = "{{ if .Values.on }}\nkind: {{ .Values.kind }}\n"
# Every call gets its own application directory.
REPOSITORY = {
    "plain/models/phi.yaml": MODEL,
    "plain/web.yaml": SERVICE,
    "overlay/kustomization.yaml": "namePrefix: team-\nresources: [phi.yaml, web.yaml]\n",
    "overlay/phi.yaml": MODEL,
    "overlay/web.yaml": SERVICE,
    "broken/phi.yaml": MODEL.replace("count: 1", "count: one"),
    "broken/kimi.yaml": MODEL.replace("name: phi", "name: kimi"),
    "foreign/web.yaml": SERVICE,
    "foreign/chart/templates/x.yaml": CHART,
    "foreign/bad.yaml": ": : [",
    "foreign/README.md": "A ModelDeployment of kubefoundry.ai is not here.\n",
}
SERVED = "v1,apps/v1,apps/v1/Deployment,nvidia.com/v1alpha1,nvidia.com/v1alpha1/DynamoGraphDeployment"
REVISION = "0123456789abcdef0123456789abcdef01234567"


def variable(name):
    """Returns the name of the variable in which Argo CD passes a parameter."""
    return re.sub(r"[^A-Z0-9_]", "_", name.upper())


def environment(app, parameters, env, served, path):
    """Returns the environment of a command: the sidecar's own variables and those of the application."""
    given = {
        "PATH": path,
        "ARGOCD_APP_NAME": "models",
        "ARGOCD_APP_NAMESPACE": "prod",
        "ARGOCD_APP_PROJECT_NAME": "default",
        "ARGOCD_APP_REVISION": REVISION,
        "ARGOCD_APP_REVISION_SHORT": REVISION[:7],
        "ARGOCD_APP_REVISION_SHORT_8": REVISION[:8],
        "ARGOCD_APP_SOURCE_REPO_URL": "https://git.example.com/platform/models.git",
        "ARGOCD_APP_SOURCE_PATH": app,
        "ARGOCD_APP_SOURCE_TARGET_REVISION": "main",
        "KUBE_VERSION": "1.33",
        "KUBE_API_VERSIONS": served,
        "ARGOCD_APP_PARAMETERS": json.dumps(parameters),
    }
    for name, value in (env or {}).items():
        given[f"ARGOCD_ENV_{name}"] = value
    for parameter in parameters or []:
        prefix = f"PARAM_{variable(parameter['name'])}"
        if "string" in parameter:
            given[prefix] = parameter["string"]
        for index, value in enumerate(parameter.get("array", [])):
            given[f"{prefix}_{index}"] = value
        for key, value in parameter.get("map", {}).items():
            given[f"{prefix}_{variable(key)}"] = value
    return given


class Sidecar:
    """Simulates the plugin's container for a command."""

    def __init__(self, directory, kubefoundry, kustomize, repository=REPOSITORY):
        self.directory, self.repository, self.calls = directory, repository, 0
        self.bin = directory / "bin"
        self.bin.mkdir(parents=True)
        for name, program in (("kubefoundry", kubefoundry), ("kustomize", kustomize)):
            shutil.copy(program, self.bin / name)
            (self.bin / name).chmod(0o755)
        self.plugin = yaml.safe_load((DEPLOY / "plugin.yaml").read_text())["spec"]
        # The wrapping programs are named by their paths, and the plugin's program is found in the sidecar's PATH.
        self.prefix = []
        if os.geteuid() == 0:
            user = ["--reuid=999", "--regid=999", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"]
            self.prefix = [shutil.which("setpriv"), *user, "--"]
            if subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode == 0:
                self.prefix = [shutil.which("unshare"), "--net", *self.prefix]

    def run(self, command, app, parameters=None, env=None, served=SERVED):
        self.calls += 1
        copy = self.directory / "_cmp_server" / str(self.calls)
        for name, text in self.repository.items():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_text(text)
            (copy / name).chmod(0o644)
        for folder, _, _ in os.walk(copy):
            os.chmod(folder, 0o555)
        variables = environment(app, parameters, env, served, str(self.bin))
        words = [*self.prefix, *command] if self.prefix else [str(self.bin / command[0]), *command[1:]]
        ran = subprocess.run(words, cwd=copy / app, env=variables, capture_output=True, text=True, timeout=60)
        files = {str(path.relative_to(copy)): path.read_text() for path in copy.rglob("*") if path.is_file()}
        assert files == self.repository, f"{command} changed the directory"
        return ran

    def generate(self, app, parameters=None, **given):
        return self.run(self.plugin["generate"]["command"], app, parameters, **given)


def objects(ran):
    """Parses an answer as Argo CD does: YAML documents, each with a kind, and no lists."""
    assert ran.returncode == 0, ran
    documents = [document for document in yaml.safe_load_all(ran.stdout) if document]
    assert all(document["kind"] and document["apiVersion"] and "items" not in document for document in documents), ran
    return documents


def named(ran):
    return [(one["kind"], one["metadata"]["name"]) for one in objects(ran)]


def refused(ran, *said):
    """Checks a refusal: standard output is empty, and standard error has the message that the UI shows."""
    assert ran.returncode != 0 and ran.stdout == "", ran
    assert all(words in ran.stderr for words in said), (said, ran.stderr)
    secrets = (REVISION, "git.example.com", "PATH=")
    assert not any(secret in ran.stderr for secret in secrets), ran.stderr


def generate(sidecar):
    plain = sidecar.generate("plain")
    assert named(plain) == [("DynamoGraphDeployment", "phi")], plain
    assert "namespace" not in objects(plain)[0]["metadata"], "the namespace is Argo CD's to set"
    both = sidecar.generate("plain", [{"name": "output", "string": "replace"}])
    assert sorted(named(both)) == [("DynamoGraphDeployment", "phi"), ("Service", "web")], both

    as_it_lies = sidecar.generate("overlay")
    assert named(as_it_lies) == [("DynamoGraphDeployment", "phi")] and "kustomization.yaml is ignored" in as_it_lies.stderr
    on = {"name": "kustomize", "string": "true"}
    assert named(sidecar.generate("overlay", [on])) == [("DynamoGraphDeployment", "team-phi")]
    built = sidecar.generate("overlay", [on, {"name": "output", "string": "replace"}])
    assert sorted(named(built)) == [("DynamoGraphDeployment", "team-phi"), ("Service", "team-web")], built
    refused(sidecar.generate("plain", [on]), "no kustomization.yaml")

    broken = sidecar.generate("broken")
    refused(broken, "phi.yaml:7:28: error[KF0112]")
    assert not any("kimi" in line for line in broken.stderr.splitlines() if "error" in line), broken.stderr
    refused(sidecar.generate("foreign"), "KF0107")
    empty = sidecar.generate("foreign", [{"name": "allowEmpty", "string": "true"}])
    assert objects(empty) == [], empty


def parameters(sidecar):
    announced = json.loads(sidecar.run(sidecar.plugin["parameters"]["dynamic"]["command"], "plain").stdout)
    fields = {"name", "title", "tooltip", "required", "itemType", "collectionType", "string", "array", "map"}
    assert isinstance(announced, list) and all(set(one) <= fields for one in announced), announced
    # The plugin accepts each announced parameter in the form in which the UI sends it back.
    for one in announced:
        value = {"map": {"dynamo": "1.4.0"}} if one["collectionType"] == "map" else {"string": "true"}
        ran = sidecar.generate("plain", [{"name": one["name"], **value}])
        assert "there is no parameter" not in ran.stderr and f"ARGOCD_APP_PARAMETERS: parameter {one['name']} is " not in ran.stderr, (one, ran)

    def image(given, **env):
        ran = sidecar.generate("plain", given, env=env)
        return re.search(r"image: (\S+)", ran.stdout).group(1)

    mirror = [{"name": "images", "map": {"nvcr.io": "mirror.example.com/nvcr"}}]
    assert image(mirror).startswith("mirror.example.com/nvcr/")
    assert image(None, IMAGES="nvcr.io=other.example.com").startswith("other.example.com/")
    assert image(mirror, IMAGES="nvcr.io=other.example.com").startswith("mirror.example.com/"), "the Application wins"
    refused(sidecar.generate("plain", [{"name": "strikt", "string": "true"}]), "strikt", "expected one of config, kustomize")
    refused(sidecar.generate("plain", env={"STRIKT": "true"}), "STRIKT", "expected one of config, kustomize")

    application = yaml.safe_load((DEPLOY / "application.yaml").read_text())["spec"]["source"]["plugin"]
    assert application["name"] == yaml.safe_load((DEPLOY / "plugin.yaml").read_text())["metadata"]["name"]
    newer = "v1,nvidia.com/v1beta1,nvidia.com/v1beta1/DynamoGraphDeployment"
    ran = sidecar.generate("plain", application["parameters"], served=newer)
    assert objects(ran)[0]["apiVersion"] == "nvidia.com/v1beta1" and "KF0503" not in ran.stderr, ran
    refused(sidecar.generate("plain", application["parameters"], served="v1"), "Provider 'dynamo' CRD not installed in cluster")
    assert "does not serve" in sidecar.generate("plain", served="v1").stderr


def discover(sidecar):
    block = re.search(r"```yaml\n(discover:.*?)```", PAGE.read_text(), re.S).group(1)
    command = yaml.safe_load(block)["discover"]["find"]["command"]
    answers = {app: sidecar.run(command, app) for app in ("plain", "overlay", "broken", "foreign")}
    assert all(ran.returncode == 0 for ran in answers.values()), answers
    assert {app: ran.stdout.split() for app, ran in answers.items()} == {
        "plain": ["models/phi.yaml"],
        "overlay": ["phi.yaml"],
        "broken": ["kimi.yaml", "phi.yaml"],
        "foreign": [],
    }, answers


INSTALL = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, labels: {app.kubernetes.io/part-of: argocd}}
data: {url: https://argocd.example.com}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-repo-server}
spec:
  template:
    spec:
      containers:
      - {name: argocd-repo-server, image: argocd, volumeMounts: [{name: plugins, mountPath: /home/argocd/cmp-server/plugins}]}
      volumes:
      - {name: var-files, emptyDir: {}}
      - {name: plugins, emptyDir: {}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-server}
spec: {template: {spec: {containers: [{name: argocd-server, image: argocd}]}}}
"""


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.S)


def installed(directory, sidecar):
    """Builds the kustomization of docs/argocd.md on top of an installation like Argo CD's and checks the result."""
    (kustomization,) = [block for block in blocks("yaml") if "components:" in block]
    argocd = directory / "argocd"
    shutil.copytree(DEPLOY, argocd / "kubefoundry/deploy/argocd")
    (argocd / "install.yaml").write_text(INSTALL)
    (argocd / "kustomization.yaml").write_text(kustomization)
    (command,) = [block for block in blocks("sh") if "kustomize" in block]
    ran = subprocess.run(["bash", "-eu", "-c", command], cwd=directory, env={"PATH": f"{sidecar.bin}:/usr/bin:/bin"}, capture_output=True, text=True)
    assert ran.returncode == 0, ran
    found = {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(ran.stdout)}
    (plugin,) = [name for kind, name in found if name.startswith("kubefoundry-plugin-")]
    assert found["ConfigMap", plugin]["data"] == {"plugin.yaml": (DEPLOY / "plugin.yaml").read_text()}
    settings = found["ConfigMap", "argocd-cm"]["data"]
    assert settings.pop("url") == "https://argocd.example.com", "the existing settings are lost"
    assert set(settings) == set(yaml.safe_load((DEPLOY / "argocd-cm-patch.yaml").read_text())["data"])
    assert len(found["Deployment", "argocd-server"]["spec"]["template"]["spec"]["containers"]) == 1
    pod = found["Deployment", "argocd-repo-server"]["spec"]["template"]["spec"]
    (container,) = [one for one in pod["containers"] if one["name"] == "kubefoundry"]
    assert len(pod["containers"]) == 2, pod
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    assert set(mounts) <= set(volumes), (mounts, volumes)
    assert volumes["kubefoundry-plugin"]["configMap"]["name"] == plugin, "the name of the ConfigMap is not followed"
    assert mounts["kubefoundry-plugin"]["mountPath"] == "/home/argocd/cmp-server/config/plugin.yaml"
    assert mounts["var-files"]["mountPath"] == "/var/run/argocd" and container["command"] == ["/var/run/argocd/argocd-cmp-server"]
    assert mounts["kubefoundry-tmp"]["mountPath"] == "/tmp" and "emptyDir" in volumes["kubefoundry-tmp"]
    security = container["securityContext"]
    assert security["runAsUser"] == 999 and security["readOnlyRootFilesystem"] and security["capabilities"] == {"drop": ["ALL"]}
    assert container["image"].startswith("registry.example.com/") and "env" not in container, container


def commands(directory, sidecar):
    """Runs the other commands of docs/argocd.md in an application's directory."""
    run = [block for block in blocks("sh") if "kustomize" not in block]
    assert run, "the page shows no command"
    app = directory / "models"
    app.mkdir()
    (app / "phi.yaml").write_text(MODEL)
    for block in run:
        ran = subprocess.run(["bash", "-eu", "-c", block], cwd=directory, env={"PATH": f"{sidecar.bin}:/usr/bin:/bin"}, capture_output=True, text=True)
        assert ran.returncode == 0 and ran.stdout, (block, ran)


def main():
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        directory.chmod(0o755)
        sidecar = Sidecar(directory / "sidecar", *map(pathlib.Path, sys.argv[1:3]))
        generate(sidecar)
        parameters(sidecar)
        discover(sidecar)
        installed(directory, sidecar)
        commands(directory, sidecar)
        user = "user 999" if sidecar.prefix else "this user (not root)"
        network = ", no network" if "--net" in sidecar.prefix else ""
        print(f"Argo CD: {sidecar.calls} calls of the plugin answered as {user}{network}; component and page hold")


if __name__ == "__main__":
    main()
