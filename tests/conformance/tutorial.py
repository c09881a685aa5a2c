"""Runs the commands of docs/tutorial.md and docs/helm.md in order, each page in a shell in an empty directory, and compares
what they print with the page. kustomize, flux, helm and kubectl are the real programs; the API server is that of
tests/controlplane, and the registry that of go-containerregistry.

Usage: tutorial.py KUBEFOUNDRY CONTROLPLANE CRDS [--update]

CONTROLPLANE is the program of tests/controlplane, and CRDS the folder to which `cargo xtask upstream --export` wrote CRDs.
`--update` rewrites the output in the pages.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import urllib.request

import yaml
from check_apiserver import DYNAMO, Server, documents
from check_argocd import Sidecar
from clients import Report, run_page

# A command that waits for input or for the network would hang.
MAX_COMMAND_SECONDS = 120
MARK = "end-of-command"


class Shell:
    """A shell whose working directory and variables last from one command to the next."""

    def __init__(self, directory, environment):
        self.process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"], cwd=directory, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def run(self, command):
        """Returns the exit status of a command, and what it printed."""
        watch = threading.Timer(MAX_COMMAND_SECONDS, self.process.kill)
        watch.start()
        # A group keeps `cd`, and does not read the next command as its input.
        self.process.stdin.write(f'{{ {command}\n}} </dev/null; printf "\\n{MARK} %d\\n" $?\n')
        self.process.stdin.flush()
        printed = ""
        for line in self.process.stdout:
            if line.startswith(f"{MARK} "):
                watch.cancel()
                return int(line.split()[1]), printed[:-1]
            printed += line
        sys.exit(f"the shell ended in, or after {MAX_COMMAND_SECONDS} s of: {command}\n{printed}")


class Registry:
    """Runs the registry inside a `with` block, and returns its address."""

    def __enter__(self):
        self.process = subprocess.Popen(["registry", "-port", "0"], stderr=subprocess.PIPE, text=True)
        port = re.search(r"serving on port (\d+)", self.process.stderr.readline())[1]
        # What it logs for each request is read, so that it never waits for a reader.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        return f"localhost:{port}"

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def check_page(report, page, kubefoundry, variables, update, verify=lambda directory: None):
    """Runs a page in an empty directory, and then `verify` there."""
    with tempfile.TemporaryDirectory() as temporary:
        home, directory = pathlib.Path(temporary, "home"), pathlib.Path(temporary, "work")
        home.mkdir()
        directory.mkdir()
        identity = {f"GIT_{role}_{part}": value for role in ["AUTHOR", "COMMITTER"] for part, value in [("NAME", "n"), ("EMAIL", "n@example.com")]}
        path = os.pathsep.join([str(kubefoundry.parent), os.environ["PATH"]])
        environment = {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "NO_PROXY": "localhost,127.0.0.1", **identity, **variables}
        with Shell(directory, environment) as shell:

            def execute(command):
                status, printed = shell.run(command)
                report.check(f"{page}: exit status of {command}", status == 0, printed)
                return printed.replace(variables["REGISTRY"], "registry.example.com")

            def write(name, text):
                _, current = shell.run("pwd")
                path = pathlib.Path(current.strip(), name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)

            run_page(report, page, execute, write, update)
        verify(directory)


def check_plugin(report, repository, kubefoundry, kustomize):
    """Argo CD's plugin server gets the manifests that `render` wrote, from the Application in the repository."""
    files = {str(path.relative_to(repository)): path.read_text() for path in repository.rglob("*.yaml") if ".git" not in path.parts}
    # Argo CD sends the repository with its metadata, which mark the root.
    files[".git/HEAD"] = (repository / ".git/HEAD").read_text()
    source = yaml.safe_load(files["argocd/prod.yaml"])["spec"]["source"]
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        directory.chmod(0o755)
        sidecar = Sidecar(directory / "sidecar", kubefoundry, kustomize, files)
        ran = sidecar.generate(source["path"], source["plugin"]["parameters"])
    rendered = documents(files["manifests/clusters/prod/chat/dynamographdeployment_chat.yaml"])
    report.check("Argo CD gets the rendered manifests", ran.returncode == 0 and documents(ran.stdout) == rendered, ran)
    report.check("with the options at the root of the repository", "KF0503" not in ran.stderr, ran.stderr)


def check_artifact(report, registry):
    """The artifact in the registry has the media types that Flux's source-controller looks for."""
    accept = {"Accept": "application/vnd.oci.image.manifest.v1+json"}
    with urllib.request.urlopen(urllib.request.Request(f"http://{registry}/v2/models/manifests/prod", headers=accept)) as answer:
        manifest = json.load(answer)
    types = [manifest["config"]["mediaType"], *(layer["mediaType"] for layer in manifest["layers"])]
    expected = ["application/vnd.cncf.flux.config.v1+json", "application/vnd.cncf.flux.content.v1.tar+gzip"]
    report.check("media types of the artifact", types == expected, manifest)


def main(kubefoundry, controlplane, crds, *options):
    report = Report()
    kubefoundry, crds = pathlib.Path(kubefoundry).resolve(), pathlib.Path(crds)
    (kustomize,) = subprocess.run(["which", "kustomize"], capture_output=True, text=True, check=True).stdout.split()
    server = Server(controlplane)
    with server as client, Registry() as registry:
        for definition in documents((crds / "nvidia.com_dynamographdeployments.yaml").read_text()):
            if definition["metadata"]["name"] == DYNAMO:
                client.install(definition)
        variables = {"KUBECONFIG": f"{server.directory.name}/kubeconfig", "REGISTRY": registry}

        def verify(directory):
            check_plugin(report, directory / "platform", kubefoundry, kustomize)
            check_artifact(report, registry)

        check_page(report, "tutorial.md", kubefoundry, variables, "--update" in options, verify)
        check_page(report, "helm.md", kubefoundry, variables, "--update" in options)
    report.end("tutorial")


if __name__ == "__main__":
    main(*sys.argv[1:])
