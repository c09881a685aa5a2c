"""Compares what kubefoundry builds of kustomizations that do no harm with what plain kustomize builds of the same files: every
kustomization of this repository, one for each feature of kustomize (FEATURES), and with --corpus those in a directory.

Each root is wrapped in a kustomization that adds a ModelDeployment, because kubefoundry builds only what leads to one, and
`kubefoundry render --all` prints what it built. What plain kustomize builds goes through the same command. kubefoundry writes
what it builds in one style of YAML: order of keys, quotes and folds are normalized on both sides, by another reader of YAML.
Then both texts must be the same, byte for byte.

    legitimate_roots.py KUBEFOUNDRY [--corpus DIR]
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import yaml
from clients import ROOT, Report, run
from hostile_cases import MODEL

FILE_NAMES = ["kustomization.yaml", "kustomization.yml", "Kustomization"]
OBJECT = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, labels: {app: d}}\nspec: {replicas: 1, selector: {matchLabels: {app: d}}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c, image: 'nginx:1', env: [{name: A, value: $(V)}], envFrom: [{configMapRef: {name: c}}]}]}}}\n"
MERGE = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 4}\n"
OPERATIONS = '[{"op": "replace", "path": "/spec/replicas", "value": 5}]'
SOURCE = "{source: {kind: Deployment, name: d, fieldPath: metadata.name}, targets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.a], options: {create: true}}]}"
# What a text says in the kustomization, after `resources: [d.yaml]`, and the files that are named there.
FEATURES = [
    ("namespace: ns\nnamePrefix: p-\nnameSuffix: -s\n", {}), ("commonLabels: {a: b}\ncommonAnnotations: {a: b}\n", {}),
    ("labels: [{pairs: {a: b}, includeSelectors: true, includeTemplates: true, fields: [{path: spec/x, create: true}]}]\n", {}),
    ("images: [{name: nginx, newName: nn, newTag: '2'}, {name: x, digest: 'sha256:1', tagSuffix: -a}]\n", {}), ("imageTags: [{name: nginx, newTag: '2'}]\n", {}),
    ("replicas: [{name: d, count: 3}]\n", {}), ("patches: [{path: p.yaml}]\n", {"p.yaml": MERGE}), 
    (f"patches: [{{patch: '{OPERATIONS}', target: {{kind: Deployment, name: d.*, labelSelector: app=d}}, options: {{allowNameChange: true, allowKindChange: false}}}}]\n", {}),
    ("patches:\n- path: p.json\n  target: &t {kind: Deployment}\n- path: p.yaml\n  target: *t\n", {"p.json": '[{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}]', "p.yaml": OPERATIONS}),
    ("patchesStrategicMerge: [p.yaml, 'apiVersion: apps/v1\n\n    kind: Deployment\n\n    metadata: {name: d}\n\n    spec: {paused: true}']\n", {"p.yaml": MERGE}),
    (f"patchesJson6902: [{{path: p.yaml, target: {{group: apps, version: v1, kind: Deployment, name: d}}}}, {{patch: '{OPERATIONS}', target: {{version: v1, kind: Deployment, name: d}}}}]\n", {"p.yaml": OPERATIONS}),
    (f"replacements: [{SOURCE}, {{path: r.yaml}}]\n", {"r.yaml": SOURCE.replace("annotations.a", "annotations.b")}), ("replacements: [{path: r.yaml}]\n", {"r.yaml": f"[{SOURCE}]"}),
    ("vars: [{name: V, objref: {apiVersion: apps/v1, kind: Deployment, name: d}, fieldref: {fieldpath: metadata.name}}]\n", {}),
    ("configMapGenerator:\n- name: c\n  namespace: ns\n  files: [a.txt, k=a.txt, sub/b.bin]\n  envs: [e.env]\n  env: e2.env\n  literals: [x=y, 'q=\"z\"', l=1=2]\n  options: {labels: {a: b}, annotations: {c: d}, immutable: true, disableNameSuffixHash: true}\n", {"a.txt": "a\n", "sub/b.bin": b"\0\xff\xfe", "e.env": "# c\nA=1\n\nB=2\n", "e2.env": "C=3\n"}),
    ("configMapGenerator: [{name: c, literals: [a=b]}]\nsecretGenerator: [{name: s, type: Opaque, files: [f=a.txt]}]\ngeneratorOptions: {labels: {l: m}, disableNameSuffixHash: false, immutable: true}\n", {"a.txt": "a"}),
    ("bases: [b]\nconfigMapGenerator: [{name: c, behavior: merge, literals: [b=2]}]\n", {"b/kustomization.yaml": "configMapGenerator: [{name: c, literals: [a=1, b=1]}]\n"}),
    ("bases: [b]\nconfigMapGenerator: [{name: c, behavior: replace, literals: [b=2]}]\nnamePrefix: x-\n", {"b/kustomization.yml": "configMapGenerator: [{name: c, literals: [a=1]}]\n"}),
    ("components: [c, ./c2/]\n", {"c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: p.yaml}]\n", "c/p.yaml": MERGE, "c2/Kustomization": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: c2-\n"}),
    ("crds: [crd.json]\nnamePrefix: p-\n", {"crd.json": '{"a.v1.Bee": {"Schema": {"properties": {"metadata": {"$ref": "x"}, "spec": {"properties": {"ref": {"x-kubernetes-object-ref-api-version": "apps/v1", "x-kubernetes-object-ref-kind": "Deployment"}}}}}}}'}),
    ("configurations: [c.yaml]\nnamePrefix: p-\n", {"c.yaml": "namePrefix: [{path: metadata/annotations/a, create: true}]\nnameReference: [{kind: Deployment, fieldSpecs: [{path: spec/x, kind: Bee}]}]\n"}),
    ("openapi: {path: s.json}\n", {"s.json": '{"definitions": {}}'}), ("openapi: {version: v1.21.2}\n", {}),
    ("sortOptions: {order: legacy, legacySortOptions: {orderFirst: [Deployment], orderLast: [Service]}}\n", {}), ("sortOptions: {order: fifo}\n", {}),
    ("buildMetadata: [originAnnotations, transformerAnnotations, managedByLabel]\n", {}), ("metadata: {name: k, labels: {a: b}, annotations: {c: d}}\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n", {}),
    ("generators: [g.yaml, g]\n", {"g.yaml": "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: c}\nfiles: [a.txt]\n---\napiVersion: builtin\nkind: SecretGenerator\nmetadata: {name: s}\nenvs: [a.txt]\n", "a.txt": "A=1\n", "g/kustomization.yaml": "resources: [h.yaml]\n", "g/h.yaml": "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: h}\nliterals: [a=b]\n"}),
    ("transformers:\n- |-\n  apiVersion: builtin\n  kind: PrefixSuffixTransformer\n  metadata: {name: t}\n  prefix: t-\n  fieldSpecs: [{path: metadata/name}]\n- t.yaml\n", {"t.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\npath: p.yaml\ntarget: {kind: Deployment}\n", "p.yaml": OPERATIONS}),
    ("transformers: [t.yaml]\n", {"t.yaml": "".join(f"apiVersion: builtin\nkind: {kind}\nmetadata: {{name: t{number}, namespace: ns}}\n{text}\n---\n" for number, (kind, text) in enumerate([("LabelTransformer", "labels: {a: b}\nfieldSpecs: [{path: metadata/labels, create: true}]"), ("AnnotationsTransformer", "annotations: {a: b}\nfieldSpecs: [{path: metadata/annotations, create: true}]"), ("ImageTagTransformer", "imageTag: {name: nginx, newTag: '3'}\nfieldSpecs: [{path: 'spec/template/spec/containers[]/image'}]"), ("ReplicaCountTransformer", "replica: {name: d, count: 7}\nfieldSpecs: [{path: spec/replicas, create: true, kind: Deployment}]"), ("PatchStrategicMergeTransformer", "paths: [m.yaml]"), ("PatchJson6902Transformer", "path: p.yaml\ntarget: {group: apps, version: v1, kind: Deployment, name: d}"), ("ReplacementTransformer", "replacements: [{path: r.yaml}]"), ("NamespaceTransformer", "fieldSpecs: [{path: metadata/namespace, create: true}]\nunsetOnly: true")])), "m.yaml": MERGE, "p.yaml": OPERATIONS, "r.yaml": SOURCE}),
    ("'namePrefix': \"\\x70-\"\n<<: {nameSuffix: -s}\n? commonLabels\n: {a: b}\n&k commonAnnotations: &v {a: b}\n", {}), ("namespace: !!str ns\nnameSuffix: !!binary LXM=\n", {}), ("# nothing\n", {}),
    # What YAML 1.1 reads otherwise than YAML 1.2, which kustomize refuses or takes as it is.
    ("namespace: n\n", {}), ("commonAnnotations: {a: yes}\n", {}), ("commonAnnotations: {a: 'yes', b: '010', c: '1e3', d: '2020-01-01', e: '~'}\n", {}), ("commonAnnotations: {a: 010}\n", {}),
    ("commonAnnotations: {a: 0o17, b: x}\n", {}), ("nameSuffix: 1_0\n", {}), ("commonAnnotations: {yes: a}\n", {}), ("commonAnnotations: {a: =, b: 2020-01-01}\n", {}), ("commonAnnotations: {1: a, 'on': b}\n", {}),
    ("replicas: [{name: d, count: 0x10}]\n", {}), ("replicas: [{name: d, count: 1e1}]\n", {}), ("configMapGenerator: [{name: c, literals: [a=yes, 'b: c', 'x=\u2028\\n']}]\n", {}),
    ("commonAnnotations:\n  a: |\n    two\n    lines\n  b: >-\n    one\n    line\n  c: \"\\t\\u00e9\\U0001F600\"\n  d: plain # comment\n  e: ''\n", {}),
    ("patches: null\nimages: []\ncommonLabels: {}\nnamePrefix: ''\n", {}), ("helmGlobals: {}\nhelmCharts: []\n", {}), ("bases: ['./b', b2/, \"b3/.\"]\n", {f"{name}/{file}": text for name in ["b", "b2", "b3"] for file, text in [("kustomization.yaml", f"namePrefix: {name}-\nresources: [o.json]\n"), ("o.json", '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}]}')]}),
    ("resources: [d.yaml, \"a b/\u00e9.yaml\", 'x#y.yaml', sub/../e.yaml]\n", {name: OBJECT.replace("name: d,", f"name: x{number},") for number, name in enumerate(["a b/\u00e9.yaml", "x#y.yaml", "e.yaml", "sub/f.yaml"])}),
]

report = Report()


class Loader(yaml.SafeLoader):
    """Reads YAML 1.1, in which `=` is a text."""


Loader.add_constructor("tag:yaml.org,2002:value", yaml.SafeLoader.construct_scalar)


def write(directory, files):
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content.encode() if isinstance(content, str) else content)


def feature_roots(directory):
    for number, (text, files) in enumerate(FEATURES):
        resources = "" if text.startswith("resources:") else "resources: [d.yaml]\n"
        write(directory / f"feature-{number}", {"d.yaml": OBJECT, "kustomization.yaml": resources + text, **files})


def documented_roots(directory):
    """Writes the examples of the pages of codes that have a kustomization."""
    for page in sorted((ROOT / "docs/codes").glob("*.md")):
        for number, section in enumerate(page.read_text().split("\n## ")):
            files = dict(re.findall(r"```\w+ file=(\S+)\n(.*?)```", section, re.S))
            if any(pathlib.Path(name).name in FILE_NAMES for name in files):
                write(directory / f"{page.stem}-{number}", files)


def compare(program, repository, root):
    """Compares the builds of a root, and returns what became of it."""
    text = next(path for name in FILE_NAMES if (path := root / name).is_file()).read_text(errors="replace")
    wrapper = repository / "wrapper"
    field = "components" if re.search(r"^kind: Component", text, re.M) else "resources"
    base = repository / "deploy/operator/base"
    lists = {"resources": ["model.yaml"], "components": []}
    lists["resources"] += [os.path.relpath(base, wrapper)] if field == "components" and base.is_dir() else []
    lists[field].append(os.path.relpath(root, wrapper))
    model = MODEL.replace("name: m,", "name: added-model,")
    write(wrapper, {"model.yaml": model, "kustomization.yaml": "".join(f"{name}: {entries}\n" for name, entries in lists.items() if entries)})
    name = os.path.relpath(root, repository)
    status, plain, message = run(["kustomize", "build", str(wrapper)])
    ours = run([program, "render", "--all", "wrapper"], cwd=repository)
    if status:
        # With our function, or another plugin, the root may be built by kubefoundry: kustomize_roots.py has these.
        is_unbuilt = "[KF0108]" in ours[2]
        is_plugin = "external plugins disabled" in message or "unable to load" in message
        report.check(f"{name} is refused by both", is_plugin or is_unbuilt or ours[0] != 0, ours[1][:500])
        return "with plugins" if is_plugin else "not built by either" if is_unbuilt else "refused by both"
    if "it runs a program: what " in ours[2]:
        # docs/kustomize.md: configurations of plugins that a kustomization builds could be any program.
        return "not permitted"
    theirs = run([program, "render", "--all", "-"], cwd=repository, stdin=plain)
    built, expected = normalized(ours[1]), normalized(theirs[1])
    is_same = ours[0] == theirs[0] and built == expected and "[KF0108]" not in ours[2]
    report.check(name, is_same, difference(expected, built) or ours[2][:2000] or ours)
    return "the same" if theirs[0] == 0 else "findings in both"


def normalized(text):
    """Returns the documents of a text in one style. Types stay: the text "1" and the number 1 differ."""
    return "".join(json.dumps(document, sort_keys=True, indent=1, default=repr) + "\n" for document in yaml.load_all(text, Loader))


def difference(old, new):
    with tempfile.TemporaryDirectory() as directory:
        write(pathlib.Path(directory), {"kustomize": old, "kubefoundry": new})
        return run(["diff", "-u", "kustomize", "kubefoundry"], cwd=directory)[1][:3000]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--corpus", type=pathlib.Path, metavar="DIR", help="also the kustomizations below DIR")
    arguments = parser.parse_args()
    counts = {}
    with tempfile.TemporaryDirectory() as temporary:
        repository = pathlib.Path(temporary)
        # What is on the disk, so that a change is tested before it is committed.
        names = subprocess.run(["git", "ls-files", "-z", "deploy", "examples", "krm", "testdata"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        write(repository, {name: (ROOT / name).read_bytes() for name in filter(None, names.split("\0")) if (ROOT / name).is_file()})
        feature_roots(repository / "features")
        documented_roots(repository / "documented")
        if arguments.corpus:
            shutil.copytree(arguments.corpus, repository / "corpus", symlinks=True)
        run(["git", "init", "-q"], cwd=repository)
        roots = sorted({path.parent for name in FILE_NAMES for path in repository.rglob(name)})
        for root in roots:
            outcome = compare(arguments.program, repository, root)
            counts[outcome] = counts.get(outcome, 0) + 1
        report.check("there are roots to compare", counts.get("the same", 0) > len(FEATURES), counts)
    print("legitimate roots:", ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    report.end("legitimate roots")


if __name__ == "__main__":
    main()
