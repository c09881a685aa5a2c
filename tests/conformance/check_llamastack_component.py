"""Checks that kustomize applies deploy/llamastack to the CRD of llama-stack's operator (docs/llama-stack-packages.md).

usage: check_llamastack_component.py CRD
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


def build(crd, components):
    """Builds the CRD and the components with kustomize and returns the resulting CRD."""
    with tempfile.TemporaryDirectory() as directory:
        here = pathlib.Path(directory).resolve()
        (here / "operator.yaml").write_text(crd.read_text())
        # kustomize accepts only relative paths of components.
        paths = [os.path.relpath(component, here) for component in components]
        (here / "kustomization.yaml").write_text(yaml.safe_dump({"resources": ["operator.yaml"], "components": paths}))
        run = subprocess.run(["kustomize", "build", str(here)], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        return yaml.safe_load(run.stdout)


def main(crd):
    plain = build(pathlib.Path(crd), [])
    patched = build(pathlib.Path(crd), [ROOT / "deploy/llamastack"])
    schemas = [it["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] for it in (plain, patched)]
    added = [schemas[1]["spec"]["properties"]["server"]["properties"].pop("externalProviders"), schemas[1]["status"]["properties"].pop("externalProviders")]
    assert len(added[0]["properties"]) == 9 and "vectorIo" in added[0]["properties"], added[0]
    assert added[1]["x-kubernetes-list-map-keys"] == ["providerId"], added[1]
    assert plain == patched, "the component changes more than it adds"
    print("ok   the component adds external providers to the CRD, and nothing else")


if __name__ == "__main__":
    main(*sys.argv[1:])
