"""Checks merged configurations with PyYAML, with which llama-stack reads run.yaml.

usage: check_merge.py KUBEFOUNDRY

Merges every case of testdata/merge, and repeats the merge on the values that PyYAML reads. The results must be equal.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
APIS = ["inference", "safety", "agents", "vector_io", "datasetio", "scoring", "eval", "tool_runtime", "post_training"]


def providers(folder):
    """Returns the providers of a case as pairs (crd-config, metadata), as init containers install them."""
    installed = []
    for order, short in enumerate(yaml.safe_load((folder / "providers.yaml").read_text())):
        name = short["id"]
        config = {"providerId": name, "api": short["api"], "order": short.get("order", order), "image": short.get("image", "acme/a:1")}
        if "config" in short:
            # The configuration arrives as JSON, so keys are strings.
            config["config"] = json.loads(json.dumps(short["config"]))
        metadata = {
            "apiVersion": "llamastack.io/v1alpha1",
            "kind": "ProviderPackage",
            "metadata": {"name": name, "version": "1.0.0", "vendor": "acme"},
            "spec": {
                "packageName": short.get("module", "acme.provider"),
                "providerType": short.get("type", f"remote::{name}"),
                "api": short.get("declares", short["api"]),
                "wheelPath": "packages/a-1.0.0-py3-none-any.whl",
            },
        }
        installed.append((config, metadata))
    return installed


def expected(base, installed):
    """Merges the providers into the parsed base. A simple second implementation of the merge."""
    tree = base or {}
    tree["providers"] = tree.get("providers") or {}
    served = list(tree.get("apis") or [])
    for config, metadata in sorted(installed, key=lambda it: (it[0]["order"], it[0]["providerId"])):
        api = config["api"]
        kept = [it for it in tree["providers"].get(api) or [] if it.get("provider_id") != config["providerId"]]
        new = {"provider_id": config["providerId"], "provider_type": metadata["spec"]["providerType"], "module": metadata["spec"]["packageName"]}
        if "config" in config:
            new["config"] = config["config"]
        tree["providers"][api] = [*kept, new]
    if served:
        used = [api for api in APIS if any(config["api"] == api for config, _ in installed)]
        tree["apis"] = served + [api for api in used if api not in served]
    return tree


def main(binary):
    merged = refused = 0
    for folder in sorted((ROOT / "testdata/merge").iterdir()):
        base = folder / "run.yaml"
        if not base.exists():
            continue
        with tempfile.TemporaryDirectory() as directory:
            here = pathlib.Path(directory)
            installed = providers(folder)
            for config, metadata in installed:
                place = here / "metadata" / config["providerId"]
                place.mkdir(parents=True, exist_ok=True)
                (place / "crd-config.yaml").write_text(json.dumps(config))
                (place / "lls-provider-spec.yaml").write_text(json.dumps(metadata))
            files = ["--metadata-dir", here / "metadata", "--base", base, "--output", here / "run.yaml"]
            files += ["--extra-providers-output", here / "extra.yaml", "--log", here / "log.txt"]
            run = subprocess.run([binary, "llamastack", "merge-config", *map(str, files)], capture_output=True, text=True, check=False)
            if (folder / "errors.snap").exists():
                if folder.name != "duplicate":
                    # The case `duplicate` cannot be set up here: a folder has no two entries with one name.
                    assert run.returncode == 1 and run.stderr.startswith("ERROR: "), f"{folder.name}: {run}"
                refused += 1
                continue
            assert run.returncode == 0, f"{folder.name}: {run.stderr}"
            read = yaml.safe_load((here / "run.yaml").read_bytes())
            wanted = expected(yaml.safe_load(base.read_bytes()), installed)
            assert read == wanted, f"{folder.name}:\n{read}\n{wanted}"
            assert list(read) == list(wanted), f"{folder.name}: another order of keys"
            extra = yaml.safe_load((here / "extra.yaml").read_bytes())
            assert extra["kind"] == "ExternalProviders" and len(extra["providers"]) >= 1, folder.name
            merged += 1
    assert merged >= 20 and refused >= 5, (merged, refused)
    print(f"ok   PyYAML reads {merged} merged configurations as intended; {refused} are refused")


if __name__ == "__main__":
    main(*sys.argv[1:])
