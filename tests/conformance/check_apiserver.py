"""Checks our output and our CRDs with a real kube-apiserver.

usage: check_apiserver.py KUBEFOUNDRY CONTROLPLANE CRDS

CONTROLPLANE is the program of tests/controlplane, and CRDS the folder to which `cargo xtask upstream --export` wrote
CRDs. Starts the server, installs the CRDs, and checks: our own CRDs are Established; a strict server-side dry run accepts
every rendered object of the examples and goldens; the server accepts the ModelDeployments and refuses the objects of
tests/it/schemas/broken with the messages of lint; and deploy/llamastack applies to the CRD that it patches.
"""

import json
import pathlib
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The checks install two CRDs of this kind in turn: the newest one, and one that stores the old version.
DYNAMO = "dynamographdeployments.nvidia.com"


class Server:
    """Runs the control plane inside a `with` block."""

    def __init__(self, program):
        self.program = program

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="controlplane-")
        log = pathlib.Path(self.directory.name, "log")
        self.process = subprocess.Popen([self.program, "-dir", self.directory.name], stdout=log.open("wb"), stderr=subprocess.STDOUT)
        config = pathlib.Path(self.directory.name, "kubeconfig")
        deadline = time.monotonic() + 90
        while not config.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the control plane did not start:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
        self.client = Client(yaml.safe_load(config.read_text()), self.directory.name)
        return self.client

    def __exit__(self, *_):
        # The data is discarded, and a graceful shutdown would wait a minute.
        self.process.kill()
        self.process.wait()
        self.directory.cleanup()


class Client:
    """A minimal Kubernetes client with the requests of the checks."""

    def __init__(self, config, directory):
        import base64

        cluster, user = config["clusters"][0]["cluster"], next(u["user"] for u in config["users"] if u["name"] == "admin")
        files = {}
        for name, data in [
            ("ca", cluster["certificate-authority-data"]),
            ("cert", user["client-certificate-data"]),
            ("key", user["client-key-data"]),
        ]:
            files[name] = pathlib.Path(directory, f"client.{name}")
            files[name].write_bytes(base64.b64decode(data))
        self.context = ssl.create_default_context(cafile=files["ca"])
        self.context.load_cert_chain(files["cert"], files["key"])
        self.server = cluster["server"]
        self.resources = {}

    def request(self, method, path, body=None, content_type="application/json"):
        """Sends a request and returns the HTTP status and the parsed answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server + path, data=data, method=method, headers={"Content-Type": content_type})
        try:
            with urllib.request.urlopen(request, context=self.context) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            # The server answers in plain text for an unknown API group.
            return error.code, json.loads(text) if text.startswith("{") else {"message": text.strip()}

    def path_of(self, api_version, kind, namespace):
        """Returns the URL path of the collection of a kind, or None if the server does not serve the kind."""
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        if api_version not in self.resources:
            status, answer = self.request("GET", root)
            self.resources[api_version] = {r["kind"]: r for r in answer.get("resources", []) if "/" not in r["name"]} if status == 200 else {}
        resource = self.resources[api_version].get(kind)
        if resource is None:
            return None
        middle = f"/namespaces/{namespace}" if resource["namespaced"] else ""
        return f"{root}{middle}/{resource['name']}"

    def apply(self, thing, dry_run):
        """Applies an object with strict validation. Returns None, or the reason for its refusal."""
        metadata = thing["metadata"]
        path = self.path_of(thing["apiVersion"], thing["kind"], metadata.get("namespace", "default"))
        if path is None:
            return f"the server has no {thing['kind']} of {thing['apiVersion']}"
        query = "fieldManager=check&force=true&fieldValidation=Strict" + ("&dryRun=All" if dry_run else "")
        status, answer = self.request("PATCH", f"{path}/{metadata['name']}?{query}", thing, "application/apply-patch+yaml")
        return None if status in (200, 201) else answer.get("message", str(answer))

    def install(self, definition):
        """Applies a CRD and waits until it is served."""
        # No conversion webhook runs here.
        definition["spec"].pop("conversion", None)
        definition.pop("status", None)
        name = definition["metadata"]["name"]
        refused = self.apply(definition, dry_run=False)
        assert refused is None, f"{name}: {refused}"
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            _, answer = self.request("GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
            conditions = {c["type"]: c["status"] for c in (answer.get("status") or {}).get("conditions") or []}
            if conditions.get("Established") == "True":
                assert conditions.get("NonStructuralSchema") != "True", f"{name} is not structural"
                self.resources.clear()
                return
            time.sleep(0.05)
        sys.exit(f"{name} is not established: {conditions}")

    def remove(self, name):
        """Deletes a CRD and waits until the server no longer has it."""
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
        self.request("DELETE", path)
        deadline = time.monotonic() + 90
        while self.request("GET", path)[0] != 404:
            assert time.monotonic() < deadline, f"{name} is still there"
            time.sleep(0.05)
        self.resources.clear()


def newest_with_v1alpha1_stored(folder):
    """Returns the file of the newest Dynamo CRD, by name, that stores v1alpha1."""
    for path in sorted(folder.glob("*dynamographdeployments*"), reverse=True):
        for definition in documents(path.read_text()):
            if any(version["name"] == "v1alpha1" and version["storage"] for version in definition["spec"]["versions"]):
                return path
    sys.exit(f"no CRD in {folder} stores v1alpha1")


def documents(text):
    return [document for document in yaml.safe_load_all(text) if document]


def render(binary, folder, *flags):
    """Returns the rendered objects of a folder, or an empty list if it does not render."""
    command = [binary, "render", str(folder), "--output", "json", *flags]
    # A policy for pods counts only in a file that is named.
    if (folder / "kubefoundry.yaml").exists():
        command += ["--config", str(folder / "kubefoundry.yaml")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return []
    answer = json.loads(run.stdout)
    return answer["items"] if answer["kind"] == "List" else [answer]


def folders():
    """Returns the examples and goldens, except those with their own CRDs (crds/) instead of the installed ones."""
    cases = [folder for folder in (ROOT / "examples").iterdir() if folder.is_dir()]
    cases += [path.parent for path in (ROOT / "testdata/golden").glob("*/*/input.yaml")]
    return sorted(folder for folder in cases if not (folder / "crds").is_dir())


def namespaces_of(objects):
    return {thing["metadata"]["namespace"] for thing in objects if "namespace" in thing["metadata"]}


def check_stored_as_v1alpha1(client, binary, older):
    """Checks objects of v1alpha1 with a CRD that stores it. A conversion could drop a wrong field and hide the error.
    Objects that this CRD cannot express do not render, so they are not sent."""
    client.remove(DYNAMO)
    for definition in documents(older.read_text()):
        client.install(definition)
    rendered = [(folder, thing) for folder in folders() for thing in render(binary, folder, "--crds", str(older))]
    graphs = [(folder, thing) for folder, thing in rendered if thing["apiVersion"] == "nvidia.com/v1alpha1"]
    refused = []
    for folder, thing in graphs:
        reason = client.apply(thing, dry_run=True)
        if reason is not None:
            refused.append(f"{folder.relative_to(ROOT)}: {thing['metadata']['name']}: {reason}")
    assert not refused, "\n".join(refused)
    assert len(graphs) > 30, f"only {len(graphs)} objects of v1alpha1"
    print(f"ok   {len(graphs)} objects of nvidia.com/v1alpha1 are accepted by {older.name}")


def check_accepted(client):
    """Checks that the server accepts testdata/upstream/accepted.yaml, as the strict check in tests/it/crds.rs does."""
    things = documents((ROOT / "testdata/upstream/accepted.yaml").read_text())
    assert len(things) >= 7, len(things)
    for thing in things:
        reason = client.apply(thing, dry_run=True)
        assert reason is None, f"{thing['kind']} {thing['metadata']['name']}: {reason}"
    print(f"ok   {len(things)} hand-written objects of upstream's kinds are accepted")


def check_output(client, binary):
    """Checks that the server accepts every rendered object, in every version of its kind."""
    rendered = [(folder, thing) for folder in folders() for thing in render(binary, folder)]
    assert len(rendered) > 150, f"only {len(rendered)} objects"
    for namespace in sorted(namespaces_of(thing for _, thing in rendered)):
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, dry_run=False)
    accepted, refused, foreign = 0, [], 0
    for folder, thing in rendered:
        if client.path_of(thing["apiVersion"], thing["kind"], "default") is None:
            # The object was passed on from the input, for a third-party controller.
            foreign += 1
            continue
        reason = client.apply(thing, dry_run=True)
        if reason is None:
            accepted += 1
        else:
            refused.append(f"{folder.relative_to(ROOT)}: {thing['kind']} {thing['metadata']['name']}: {reason}")
    assert not refused, "\n".join(refused)
    assert foreign <= accepted / 20, f"{foreign} objects of kinds that the server does not have"
    print(f"ok   {accepted} rendered objects are accepted ({foreign} of kinds that are not installed)")


def check_inputs(client, binary):
    """Checks that the server accepts every input without a lint finding."""
    accepted, refused = 0, []
    for folder in folders():
        clean = subprocess.run([binary, "lint", str(folder)], capture_output=True, check=False).returncode == 0
        if not clean or (folder / "kustomization.yaml").exists():
            continue
        for path in sorted(folder.glob("*.yaml")):
            for thing in documents(path.read_text()):
                group = str(thing.get("apiVersion", "")).split("/")[0]
                if group not in ("kubefoundry.ai", "kubeairunway.ai") or "name" not in thing.get("metadata", {}):
                    continue
                if any(key.endswith("/lint-ignore") for key in thing["metadata"].get("annotations") or {}):
                    # An annotation suppresses the findings of lint, but not the errors of the server.
                    continue
                # The server refuses a uid that comes from another cluster.
                thing["metadata"].pop("uid", None)
                namespace = thing["metadata"].get("namespace")
                if namespace:
                    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, dry_run=False)
                reason = client.apply(thing, dry_run=True)
                if reason is None:
                    accepted += 1
                else:
                    refused.append(f"{path.relative_to(ROOT)}: {thing['metadata']['name']}: {reason}")
    assert not refused, "\n".join(refused)
    assert accepted > 100, f"only {accepted} ModelDeployments"
    print(f"ok   {accepted} objects of our kinds that lint passes are accepted")


def check_refusals(client, binary):
    """Checks that the server refuses every broken object with a message that lint also reports."""
    refused = 0
    for path in sorted((ROOT / "tests/it/schemas/broken").glob("*.yaml")):
        for position, thing in enumerate(documents(path.read_text())):
            reason = client.apply(thing, dry_run=True)
            assert reason is not None, f"{path.name}, document {position}: accepted"
            lint = subprocess.run(
                [binary, "lint", "-", "--output", "json"], input=json.dumps(thing), capture_output=True, text=True, check=False
            )
            found = [one["message"] for one in json.loads(lint.stdout)["diagnostics"] if one["severity"] == "error"]
            # The server writes "Invalid value" between the field and the message, where lint writes nothing.
            messages = [message if message in reason else message.split(" ", 1)[1] for message in found]
            assert any(message in reason for message in messages), f"{path.name}, document {position}: {reason}\nlint: {found}"
            refused += 1
    # Rules about providers are those of lint and admission alone.
    assert refused > 30, refused
    print(f"ok   {refused} broken objects are refused in the words of lint")


# Schemas with an enum, the values that the API server accepts, and those that it refuses. `is_option` of crates/crd
# agrees except for the last two rows.
OPTIONS = [
    ({"type": "number", "enum": [1]}, [1, 1.0], [2]),
    ({"type": "number", "enum": [1.5]}, [1.5], [1, 1.0]),
    ({"type": "integer", "enum": [1]}, [1, 1.0], [1.5, 2]),
    ({"x-kubernetes-int-or-string": True, "enum": [1]}, [1, 1.0], ["1"]),
    ({"x-kubernetes-preserve-unknown-fields": True, "enum": [[1], {"a": 1}]}, [[1], {"a": 1}], [[1.0], {"a": 1.0}, [1, 1]]),
    # Go converts the value to the type of the enum value.
    ({"type": "number", "enum": [1]}, [1.5], []),
    ({"x-kubernetes-int-or-string": True, "enum": ["a"]}, [97], []),
]


def check_options(client):
    """Checks how the server compares numbers with the values of an enum."""
    group = "options.example.com"
    for number, (schema, taken, refused) in enumerate(OPTIONS):
        kind, plural = f"Option{number}", f"option{number}s"
        client.install({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural},
                "versions": [{
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": schema}}},
                }],
            },
        })
        path = f"/apis/{group}/v1/namespaces/default/{plural}?dryRun=All&fieldValidation=Strict"
        for value, expected in [(value, 201) for value in taken] + [(value, 422) for value in refused]:
            # The object is sent as JSON, because a YAML reader would turn 1.0 into 1.
            thing = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "it"}, "a": value}
            deadline = time.monotonic() + 90
            while (answer := client.request("POST", path, thing))[0] == 404 and time.monotonic() < deadline:
                time.sleep(0.1)
            assert answer[0] == expected, f"{schema} {value!r}: {answer}"
    print(f"ok   {len(OPTIONS)} enums take and refuse numbers as crates/crd has it")


def patched(definition, patch):
    """Applies a JSON patch to a CRD. Only the operations of our patch are implemented."""
    for operation in patch:
        *parents, key = operation["path"].strip("/").split("/")
        place = definition
        for parent in parents:
            place = place[int(parent)] if isinstance(place, list) else place[parent]
        if operation["op"] == "test":
            assert place[key] == operation["value"], operation
        else:
            assert operation["op"] == "add" and key not in place, operation
            place[key] = operation["value"]
    return definition


def check_external_providers(client, crds):
    """Checks that the patched CRD of llama-stack's operator is established, accepts every example, and refuses an id
    that two APIs share."""
    patch = yaml.safe_load((ROOT / "deploy/llamastack/external-providers.yaml").read_text())
    for definition in documents((crds / "llamastack.io_llamastackdistributions.yaml").read_text()):
        client.install(patched(definition, patch))
    things = []
    for path in sorted((ROOT / "examples").glob("llama-stack-*/*.yaml")):
        things += [thing for thing in documents(path.read_text()) if thing.get("kind") == "LlamaStackDistribution"]
    assert len(things) >= 6, len(things)
    for namespace in sorted(namespaces_of(things)):
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, dry_run=False)
    for thing in things:
        reason = client.apply(thing, dry_run=True)
        assert reason is None, f"{thing['metadata']['name']}: {reason}"
    providers = things[0]["spec"]["server"]["externalProviders"]
    providers["inference"] = [{"providerId": "a", "image": "acme/a:1"}]
    for section, provider, expected in [
        ("postTraining", {"providerId": "a"}, "duplicate provider_id 'a' in externalProviders: found in both inference and postTraining API sections (images: acme/a:1 and acme/b:1); give each provider its own id"),
        ("postTraining", {"providerId": "A"}, "expected a DNS-1123 label"),
        ("postTraining", {"providerId": "b", "providerType": "remote::b"}, "providerType"),
        ("vector_io", {"providerId": "b"}, "vector_io"),
    ]:
        thing = json.loads(json.dumps(things[0]))
        thing["spec"]["server"]["externalProviders"][section] = [{"image": "acme/b:1", **provider}]
        reason = client.apply(thing, dry_run=True)
        assert reason is not None and expected in reason, f"{section}: {provider}: {reason}"
    print(f"ok   the CRD with external providers takes {len(things)} LlamaStackDistributions, and refuses what is wrong")


def main(binary, program, crds):
    crds = pathlib.Path(crds)
    with Server(program) as client:
        ours = [path for path in sorted((ROOT / "schemas").glob("*.yaml"))]
        assert len(ours) >= 4, ours
        for path in ours:
            for definition in documents(path.read_text()):
                client.install(definition)
        print(f"ok   {len(ours)} of our CRDs are established")
        upstream = sorted(path for path in crds.glob("*.yaml"))
        for path in upstream:
            for definition in documents(path.read_text()):
                if definition.get("kind") == "CustomResourceDefinition":
                    client.install(definition)
        print(f"ok   {len(upstream)} upstream CRDs are established")
        for definition in documents((ROOT / "tests/conformance/queue_crds.yaml").read_text()):
            client.install(definition)
        check_accepted(client)
        check_options(client)
        check_output(client, binary)
        check_inputs(client, binary)
        check_refusals(client, binary)
        check_external_providers(client, crds)
        check_stored_as_v1alpha1(client, binary, newest_with_v1alpha1_stored(crds / "older"))


if __name__ == "__main__":
    main(*sys.argv[1:])
