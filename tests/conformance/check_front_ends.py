"""Checks that every front end generates the same objects from the same input.

The command line, the KRM function and the Argo CD plugin render each example. Their objects must be equal except for the
annotations with which a KRM client tracks files.

Usage: check_front_ends.py DIRECTORY-OF-BINARIES
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACES = ("config.kubernetes.io/", "internal.config.kubernetes.io/")


class Loader(yaml.SafeLoader):
    """Reads YAML as Kubernetes tools do: a date is text."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def documents(text):
    return [document for document in yaml.load_all(text, Loader) if document is not None]


def run(command, **options):
    ran = subprocess.run(command, capture_output=True, text=True, **options)
    assert ran.returncode == 0, f"{command}: exit {ran.returncode}\n{ran.stderr}"
    return ran.stdout


def identity(thing):
    metadata = thing["metadata"]
    return (thing["apiVersion"], thing["kind"], metadata.get("namespace"), metadata["name"])


def by_identity(objects):
    found = {identity(thing): thing for thing in objects}
    assert len(found) == len(objects), "an object twice"
    return found


def options_of(example):
    path = example / "kubefoundry.yaml"
    return documents(path.read_text())[0] if path.exists() else {}


def from_command_line(binaries, example):
    command = [binaries / "kubefoundry", "render", example, "--output", "json"]
    # A policy counts only in a file that is named.
    if "policy" in options_of(example):
        command += ["--config", example / "kubefoundry.yaml"]
    answer = json.loads(run(command))
    return by_identity(answer["items"] if answer["kind"] == "List" else [answer])


def from_function(binaries, example):
    items, config = [], None
    for path in sorted(example.rglob("*.yaml")):
        for index, document in enumerate(documents(path.read_text())):
            if path.name == "kubefoundry.yaml":
                config = dict(document, metadata={"name": "options"})
                continue
            if "apiVersion" not in document:
                # This is a server's configuration, not an object: kpt ignores it with .krmignore.
                continue
            annotations = document.setdefault("metadata", {}).setdefault("annotations", {})
            annotations["config.kubernetes.io/path"] = str(path.relative_to(example))
            annotations["config.kubernetes.io/index"] = str(index)
            items.append(document)
    envelope = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items}
    if config:
        envelope["functionConfig"] = config
    answer = yaml.load(run([binaries / "kubefoundry-fn"], input=yaml.safe_dump(envelope, sort_keys=False)), Loader)
    # These include ModelDeployments passed on to third-party providers, and targets that actors changed.
    generated = [item for item in answer["items"] if item not in items]
    for item in generated:
        annotations = item["metadata"]["annotations"]
        for key in [key for key in annotations if key.startswith(PLACES)]:
            del annotations[key]
    return by_identity(generated)


def from_argo_cd(binaries, example):
    with tempfile.TemporaryDirectory() as copy:
        directory = pathlib.Path(copy, "app")
        shutil.copytree(example, directory)
        # The policy is a parameter of the plugin: the files of a repository cannot loosen it.
        options = options_of(example)
        policy = options.pop("policy", {})
        parameters = []
        if policy:
            (directory / "kubefoundry.yaml").write_text(yaml.safe_dump(options, sort_keys=False))
            assert list(policy) == ["allowCapabilities"], "write the other parameters here, too"
            parameters = [{"name": "allowCapabilities", "array": policy["allowCapabilities"]}]
        environment = {"PATH": os.environ["PATH"], "ARGOCD_APP_PARAMETERS": json.dumps(parameters or None)}
        command = [binaries / "kubefoundry", "argocd", "generate"]
        return by_identity(documents(run(command, cwd=directory, env=environment)))


def main(binaries):
    binaries = pathlib.Path(binaries).resolve()
    examples = sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir())
    compared = 0
    for example in examples:
        expected = from_command_line(binaries, example)
        for front_end in (from_function, from_argo_cd):
            generated = front_end(binaries, example)
            assert generated == expected, f"{example.name}: {front_end.__name__} differs from the command line"
        compared += len(expected)
    assert len(examples) >= 10 and compared >= 20, "too little was compared to mean anything"
    print(f"front ends: {compared} objects of {len(examples)} examples are the same from all three")


if __name__ == "__main__":
    main(*sys.argv[1:])
