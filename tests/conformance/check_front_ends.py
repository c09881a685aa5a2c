"""The same input through every front end gives the same generated objects.

The command line, the KRM function and the Argo CD plugin are given each example; what they generate must be equal, but
for the annotations by which a KRM client keeps track of files.

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
    """YAML as the others read it: a date is text."""


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


def from_command_line(binaries, example):
    answer = json.loads(run([binaries / "kubefoundry", "render", example, "--output", "json"]))
    return by_identity(answer["items"] if answer["kind"] == "List" else [answer])


def from_function(binaries, example):
    items, config = [], None
    for path in sorted(example.rglob("*.yaml")):
        for index, document in enumerate(documents(path.read_text())):
            if path.name == "kubefoundry.yaml":
                config = dict(document, metadata={"name": "options"})
                continue
            if "apiVersion" not in document:
                # A server's configuration, not an object: kpt has it in .krmignore.
                continue
            annotations = document.setdefault("metadata", {}).setdefault("annotations", {})
            annotations["config.kubernetes.io/path"] = str(path.relative_to(example))
            annotations["config.kubernetes.io/index"] = str(index)
            items.append(document)
    envelope = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items}
    if config:
        envelope["functionConfig"] = config
    answer = yaml.load(run([binaries / "kubefoundry-fn"], input=yaml.safe_dump(envelope, sort_keys=False)), Loader)
    # A ModelDeployment for a third-party provider is passed on, and the workload that an actor binds to is changed.
    made = [item for item in answer["items"] if item not in items]
    for item in made:
        annotations = item["metadata"]["annotations"]
        for key in [key for key in annotations if key.startswith(PLACES)]:
            del annotations[key]
    return by_identity(made)


def from_argo_cd(binaries, example):
    with tempfile.TemporaryDirectory() as copy:
        directory = pathlib.Path(copy, "app")
        shutil.copytree(example, directory)
        environment = {"PATH": os.environ["PATH"], "ARGOCD_APP_PARAMETERS": "null"}
        command = [binaries / "kubefoundry", "argocd", "generate"]
        return by_identity(documents(run(command, cwd=directory, env=environment)))


def main(binaries):
    binaries = pathlib.Path(binaries).resolve()
    examples = sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir())
    compared = 0
    for example in examples:
        expected = from_command_line(binaries, example)
        for front_end in (from_function, from_argo_cd):
            made = front_end(binaries, example)
            assert made == expected, f"{example.name}: {front_end.__name__} differs from the command line"
        compared += len(expected)
    assert len(examples) >= 10 and compared >= 20, "too little was compared to mean anything"
    print(f"front ends: {compared} objects of {len(examples)} examples are the same from all three")


if __name__ == "__main__":
    main(*sys.argv[1:])
