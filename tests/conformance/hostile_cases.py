"""Repositories that a stranger could send in a pull request, each made from a seed and a number alone.

What differs between runs stands in the text as @NAME@: @URL@ and @URL6@ (listeners on the loopback), @HOST@ (the first one
without its scheme), @OUTSIDE@ (a directory beside the repository), @HOME@, and @UP@ (enough `../` to lead to `/`).
"""

import base64
import dataclasses
import json
import random

SEED = 35
MODEL = """apiVersion: kubefoundry.ai/v1alpha1
kind: ModelDeployment
metadata: {name: m, namespace: ml}
spec:
  model: {id: Qwen/Qwen3-8B}
  engine: {type: vllm}
  resources: {gpu: {count: 1}}
"""
HEAD = MODEL.split("spec:")[0]
# What the policy for pods forbids: a judge that is blind to it accepts it.
FORBIDDEN = MODEL + "  securityContext: {privileged: true}\n"
FORBIDDING_PATCH = {"patches": [{"patch": HEAD + "spec: {securityContext: {privileged: true}}\n"}]}
# Every root has this prefix, so a name tells whether the root was built.
PREFIX = "built-"
OPTIONS = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\n"


@dataclasses.dataclass(frozen=True)
class Link:
    """A symbolic link in the place of a file."""

    target: str


class Pipe:
    """A FIFO in the place of a file. Git does not carry it, but a directory can have it."""


@dataclasses.dataclass
class Case:
    number: int
    kind: str
    files: dict
    # What a judge must make of it: "any" verdict; "error"; or "unjudged": an error, or a warning, which --strict makes one.
    expected: str = "any"
    # Whether paths or URLs are tried, so that system calls are traced.
    reaches: bool = True
    note: str = ""


# Spelling ------------------------------------------------------------------------------------------------------------


def flow(value, key=None, how="plain"):
    """Writes a value as YAML in flow style, in which every key `key` is spelled in some way."""
    if isinstance(value, dict):
        return "{" + ", ".join(spell(name, flow(item, key, how), how if name == key else "plain") for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(item, key, how) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def fold(key):
    """Returns a key with a letter that Unicode folds to an ASCII one."""
    return key.replace("s", "ſ", 1) if "s" in key else key.replace("k", "\u212a", 1) if "k" in key else key.capitalize()


SPELLINGS = {
    "plain": lambda key, value: f"{key}: {value}",
    "capital": lambda key, value: f"{key[0].upper() + key[1:]}: {value}",
    "upper": lambda key, value: f"{key.upper()}: {value}",
    "folded": lambda key, value: f"{fold(key)}: {value}",
    "twice": lambda key, value: f"{key}: null, {key}: {value}",
    "twice, capital": lambda key, value: f"{key}: null, {key[0].upper() + key[1:]}: {value}",
    "twice, folded": lambda key, value: f"{key}: null, {fold(key)}: {value}",
    "twice, escaped": lambda key, value: f'{key}: null, "\\x{ord(key[0]):02x}{key[1:]}": {value}',
    "quoted": lambda key, value: f"'{key}': {value}",
    "escaped": lambda key, value: f'"\\u{ord(key[0]):04x}{key[1:]}": {value}',
    "complex": lambda key, value: f"? {key} : {value}",
    "complex, quoted": lambda key, value: f'? "{key}"\n  : {value}',
    "merged": lambda key, value: f"<<: {{{key}: {value}}}",
    "merged, anchored": lambda key, value: f"<<: [&x {{{key}: {value}}}]",
    "merged, capital": lambda key, value: f"<<: {{{key[0].upper() + key[1:]}: {value}}}",
    "anchored key": lambda key, value: f"&k {key}: {value}",
    "anchored value": lambda key, value: f"{key}: &v {value}",
    "tagged": lambda key, value: f"!!str {key}: {value}",
    "own tag": lambda key, value: f'!x "{key}": {value}',
    "binary": lambda key, value: f"!!binary {base64.b64encode(key.encode()).decode()}: {value}",
    "blank": lambda key, value: f'"{key} ": {value}',
    "nested": lambda key, value: f"x: {{{key}: {value}}}",
}
# What kustomize reads as another key than the text has, or as one of two.
WRONG_SPELLINGS = {"capital", "upper", "folded", "twice", "twice, capital", "twice, folded", "twice, escaped", "merged, capital", "blank", "nested"}


def spell(key, value, how):
    return SPELLINGS[how](key, value)


ENCODINGS = {
    "utf-8": lambda text: text.encode(),
    "bom": lambda text: text.encode("utf-8-sig"),
    "utf-16": lambda text: text.encode("utf-16"),
    "utf-16-be": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "directive": lambda text: b"%YAML 1.1\n---\n" + text.encode(),
    "comment first": lambda text: b"# a\n---\n" + text.encode(),
    "document before": lambda text: b"{}\n---\n" + text.encode(),
    "document after": lambda text: text.encode() + b"---\nresources: [m.yaml]\n",
    "not utf-8": lambda text: text.encode() + b"# \xff\n",
}


def kustomization(fields, key=None, how="plain"):
    """Writes a kustomization, one field a line unless the spelling needs a flow collection."""
    lines = [spell(name, flow(value, key, how), how if name == key else "plain") for name, value in fields.items()]
    return "{" + ",\n".join(lines) + "}\n" if how != "plain" else "".join(f"{line}\n" for line in lines)


# Reaching out ---------------------------------------------------------------------------------------------------------

# What reads a path or a URL: the kind of file that it expects, and the fields of a kustomization, or of a plugin in it.
FIELDS = {
    "resources": ("base", lambda t: {"resources": ["m.yaml", t]}),
    "bases": ("base", lambda t: {"bases": [t]}),
    "components": ("base", lambda t: {"components": [t]}),
    "crds": ("secret.yaml", lambda t: {"crds": [t]}),
    "openapi": ("secret.yaml", lambda t: {"openapi": {"path": t}}),
    "configurations": ("secret.yaml", lambda t: {"configurations": [t]}),
    "patches": ("patch.yaml", lambda t: {"patches": [{"path": t}]}),
    "patches with target": ("patch.yaml", lambda t: {"patches": [{"target": {"kind": "ModelDeployment"}, "path": t}]}),
    "patchesStrategicMerge": ("patch.yaml", lambda t: {"patchesStrategicMerge": [t]}),
    "patchesJson6902": ("operations.yaml", lambda t: {"patchesJson6902": [{"target": {"group": "kubefoundry.ai", "version": "v1alpha1", "kind": "ModelDeployment", "name": "m"}, "path": t}]}),
    "replacements": ("secret.yaml", lambda t: {"replacements": [{"path": t}]}),
    "files": ("env", lambda t: {"configMapGenerator": [{"name": "c", "files": [t]}]}),
    "files with key": ("env", lambda t: {"configMapGenerator": [{"name": "c", "files": [f"k={t}"]}]}),
    "envs": ("env", lambda t: {"configMapGenerator": [{"name": "c", "envs": [t]}]}),
    "env": ("env", lambda t: {"configMapGenerator": [{"name": "c", "env": t}]}),
    "secret files": ("env", lambda t: {"secretGenerator": [{"name": "c", "files": [f"k={t}"]}]}),
    "secret env": ("env", lambda t: {"secretGenerator": [{"name": "c", "envs": [t]}]}),
    "generators": ("secret.yaml", lambda t: {"generators": [t]}),
    "transformers": ("labels.yaml", lambda t: {"transformers": [t]}),
    "validators": ("labels.yaml", lambda t: {"validators": [t]}),
    "helm values": ("env", lambda t: {"helmCharts": [{"name": "c", "repo": "@URL@/charts", "valuesFile": t}]}),
    "helm home": ("base", lambda t: {"helmGlobals": {"chartHome": t}, "helmCharts": [{"name": "c"}]}),
    "helm generator": ("env", lambda t: {"helmChartInflationGenerator": [{"chartName": "c", "chartRepoUrl": "@URL@/charts", "values": t}]}),
    "plugin files": ("env", lambda t: plugin("generators", "ConfigMapGenerator", {"files": [f"k={t}"]})),
    "plugin envs": ("env", lambda t: plugin("generators", "SecretGenerator", {"envs": [t]})),
    "plugin patch": ("patch.yaml", lambda t: plugin("transformers", "PatchTransformer", {"path": t})),
    "plugin merge": ("patch.yaml", lambda t: plugin("transformers", "PatchStrategicMergeTransformer", {"paths": [t]})),
    "plugin operations": ("operations.yaml", lambda t: plugin("transformers", "PatchJson6902Transformer", {"target": {"kind": "ModelDeployment", "name": "m"}, "path": t})),
    "plugin replacement": ("secret.yaml", lambda t: plugin("transformers", "ReplacementTransformer", {"replacements": [{"path": t}]})),
    "plugin helm": ("env", lambda t: plugin("generators", "HelmChartInflationGenerator", {"name": "c", "repo": t})),
    "plugin program": ("env", lambda t: plugin("transformers", "Run", {}, "example.com/v1", {"config.kubernetes.io/function": f"exec: {{path: '{t}'}}"})),
    "plugin image": ("env", lambda t: plugin("generators", "Run", {}, "example.com/v1", {"config.kubernetes.io/function": f"container: {{image: '{t}', network: true}}"})),
    "several": ("env", lambda t: {"configMapGenerator": [{"name": "a", "files": [t]}, {"name": "b", "envs": [t]}], "vars": [{"name": "V", "objref": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}}]}),
}


def plugin(field, kind, fields, version="builtin", annotations=None):
    """Returns a field with a plugin that is configured in the kustomization. `place_plugin` may move it to a file."""
    metadata = {"name": "p", "annotations": annotations or {}}
    return {field: [{"apiVersion": version, "kind": kind, "metadata": metadata, **fields}]}


URLS = [
    "@URL@/x.yaml", "@URL6@/x.yaml", "HTTP://@HOST@/x.yaml", "@URL@/r.git//a?ref=main", "git::@URL@/r", "https://@HOST@/x.yaml",
    "http://user:word@@HOST@/x", "ssh://git@@HOST@/r.git", "git@127.0.0.1:o/r.git", "@HOST@/o/r", "http:/@HOST@/x.yaml", "//@HOST@/x",
    "git://@HOST@/r.git", "@URL@/a%0Ab", "file://@OUTSIDE@/base", "github.com/o/r?ref=v1", "oci://@HOST@/r",
]
PATHS = [
    "../outside/FILE", "../../../outside/FILE", "@OUTSIDE@/FILE", "@UP@@OUTSIDE@/FILE", "folder/../../outside/FILE", "link", "links/FILE",
    "chain", "/proc/self/environ", "/etc/passwd", "zero", "pipe", "@HOME@/env", "~/env", "../tmp", "./../outside/./FILE", "/proc/self/cwd/../../outside/FILE",
]
INSIDE = [".git/config", "", ".", "..", "C:\\env", "folder", "a\nb", "x" * 5000, "missing.yaml", "m.yaml", "\u202e.yaml", "folder/\u0000"]


def local_files(name):
    return {
        "m.yaml": MODEL, "folder/x": "x", "link": Link(f"@OUTSIDE@/{name}"), "links": Link("@OUTSIDE@"), "chain": Link("links/" + name),
        "zero": Link("/dev/zero"), "pipe": Pipe(),
    }


def needed(files, text):
    """Leaves out the links and pipes that a text does not name, because each has findings of its own."""
    return {name: content for name, content in files.items() if isinstance(content, str) or name in text or (name, text) == ("links", "chain")}


def reach(index, choice):
    """A path or a URL in a field of a kustomization."""
    field = list(FIELDS)[index % len(FIELDS)]
    name, fields_of = FIELDS[field]
    round_ = index // len(FIELDS)
    is_url, is_simple = round_ % 2 == 0, round_ < 2
    pool = URLS if is_url else PATHS if round_ % 4 == 1 else PATHS + INSIDE
    # The first two rounds have every field in its simplest form.
    target = (pool[0] if is_simple else choice.choice(pool)).replace("FILE", name)
    how = "plain" if is_simple else choice.choice(list(SPELLINGS))
    fields = fields_of(target)
    keys = list(keys_to(fields, json.dumps(target, ensure_ascii=False)[1:-1]))
    key = choice.choice(keys)
    encoding = choice.choice(list(ENCODINGS)) if not is_simple and choice.random() < 0.2 else "utf-8"
    place = "root" if is_simple else choice.choice(["root", "root", "base", "component"])
    files = needed(local_files(name), target)
    plugin_place = "inline" if is_simple else choice.choice(["inline", "file", "directory"])
    fields, added = place_plugin(fields, plugin_place, key, how)
    fields = {"namePrefix": PREFIX, "resources": ["m.yaml"], **fields}
    text = kustomization(fields, key, how)
    if place == "root":
        files |= {"kustomization.yaml": ENCODINGS[encoding](text), **added}
    else:
        is_component = place == "component"
        head = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" if is_component and how == "plain" else ""
        files = {f"part/{path}": content for path, content in files.items()} | {f"part/{path}": content for path, content in added.items()}
        files["part/kustomization.yaml"] = ENCODINGS[encoding](head + text.replace("../outside", "../../outside"))
        files["kustomization.yaml"] = kustomization({"components" if is_component else "resources": ["./part"]})
    # What needs a permission is a warning without it, so no front end looks closer at programs, charts, and what a directory of
    # plugins may hold.
    needs_permission = any(word in field for word in ["helm", "program", "image"]) or ("plugin" in field and plugin_place == "directory")
    is_wrong = not needs_permission and (how in WRONG_SPELLINGS or target in leading_out(name))
    expected = "error" if is_wrong else "unjudged" if needs_permission or is_url else "any"
    note = f"{field} -> {target[:60]!r}, {key!r} {how}, {encoding}, {place}"
    return Case(0, "reach: URL" if is_url else "reach: path", files, expected, note=note)


def leading_out(name):
    return {path.replace("FILE", name) for path in PATHS} - {"~/env"}


def keys_to(value, target):
    """Returns the keys that lead to the text with a target, from the outside in."""
    if isinstance(value, dict):
        for name, item in value.items():
            if target in json.dumps(item, ensure_ascii=False):
                yield name
                yield from keys_to(item, target)
    elif isinstance(value, list):
        for item in value:
            yield from keys_to(item, target)


def place_plugin(fields, place, key, how):
    """Writes the configurations of plugins into the kustomization, a file of their own, or a directory of such files."""
    added = {}
    for field in ["generators", "transformers", "validators"]:
        for entry in (entry for entry in fields.get(field, []) if isinstance(entry, dict)):
            text = flow(entry, key, how) + "\n"
            if place != "inline":
                added["plugin/p.yaml"] = text
            if place == "directory":
                added["plugin/kustomization.yaml"] = "resources: [p.yaml]\n"
            fields = {**fields, field: [{"inline": text, "file": "plugin/p.yaml", "directory": "plugin"}[place]]}
    return fields, added


# Structure -----------------------------------------------------------------------------------------------------------

GOOD = kustomization({"namePrefix": PREFIX, "resources": ["m.yaml"]})
BASE = {"m.yaml": MODEL, "kustomization.yaml": GOOD}


def root_of(text, **more):
    return {"m.yaml": MODEL, "kustomization.yaml": text, **more}


def cycle(*names, field="resources"):
    """Kustomizations that include each other in a circle; the first one is the root."""
    pairs = zip(names, names[1:] + names[:1])
    up = lambda name: "../" if name else "./"
    files = {f"{name}kustomization.yaml": GOOD + f"{field if field != 'resources' else 'bases'}: ['{up(name)}{following or '.'}']\n" for name, following in pairs}
    return {**files, **{f"{name}m.yaml": MODEL for name in names}}


STRUCTURES = [
    ("itself", "error", cycle("")), ("circle of 2", "error", cycle("", "a/")), ("circle of 3", "error", cycle("", "a/", "b/")),
    ("circle of components", "error", cycle("", "a/", field="components")), ("circle of plugins", "error", cycle("", "a/", field="transformers")),
    ("circle without a root", "unjudged", {**cycle("a/", "b/"), "kustomization.yaml": "resources: []\n"}),
    ("circle by a link", "error", {**root_of(GOOD + "bases: [a]\n"), "a": Link(".")}),
    ("link to a kustomization outside", "unjudged", {"m.yaml": MODEL, "kustomization.yaml": Link("@OUTSIDE@/base/kustomization.yaml")}),
    ("base that is a link outside", "error", {**root_of(GOOD + "bases: [a]\n"), "a": Link("@OUTSIDE@/base")}),
    ("base with a link outside", "error", {**root_of(GOOD + "bases: [a]\n"), "a/kustomization.yaml": Link("@OUTSIDE@/base/kustomization.yaml")}),
    ("kustomization is a pipe", "unjudged", {"m.yaml": MODEL, "kustomization.yaml": Pipe()}),
    ("kustomization is a directory", "any", {"m.yaml": MODEL, "kustomization.yaml/m.txt": "a"}),
    ("two files", "error", root_of(GOOD, **{"kustomization.yml": GOOD})), ("three files", "error", root_of(GOOD, **{"kustomization.yml": GOOD, "Kustomization": GOOD})),
    ("name in capitals", "any", {"m.yaml": MODEL, "Kustomization": GOOD}), ("name in other letters", "any", {"m.yaml": MODEL, "KUSTOMIZATION.YAML": GOOD}),
    ("unknown key", "error", root_of(GOOD + "resource: [x.yaml]\n")), ("unknown nested key", "error", root_of(GOOD + "patches: [{paths: x.yaml}]\n")),
    ("text for a list", "error", root_of(GOOD + "components: x\n")), ("list for a root", "error", root_of("[resources]\n")), ("scalar for a root", "error", root_of("resources\n")),
    ("list in a list", "error", root_of("namePrefix: built-\nresources: [[m.yaml]]\n")), ("null entries", "any", root_of(GOOD + "patches: [null]\nvars: null\n")),
    ("number for a path", "error", root_of("namePrefix: built-\nresources: [m.yaml, 1]\n")),
    ("other kind", "error", root_of(GOOD + "kind: Secret\n")), ("other version", "error", root_of(GOOD + "apiVersion: v1\nkind: Kustomization\n")),
    ("twice the same base", "any", {**root_of(GOOD + "bases: [a, ./a, a/.]\n"), "a/kustomization.yaml": "resources: [n.yaml]\n", "a/n.yaml": MODEL.replace("name: m", "name: n")}),
    ("binary value", "any", root_of(f"namePrefix: built-\nresources: [!!binary {base64.b64encode(b'm.yaml').decode()}]\n")),
    ("binary way out", "error", root_of(GOOD + f"bases: [!!binary {base64.b64encode(b'../outside/base').decode()}]\n")),
    ("folded way out", "error", root_of(GOOD + "bases:\n- >-\n  ../outside/base\n")), ("escaped way out", "error", root_of(GOOD + 'bases: ["\\x2e\\x2e/outside\\u002fbase"]\n')),
    ("alias of the way out", "error", root_of("metadata: {annotations: {a: &x ../outside/base}}\n" + GOOD + "bases: [*x]\n")),
    ("token of the checkout", "any", root_of(GOOD + "configMapGenerator: [{name: c, files: [.git/config]}]\n")),
    ("token of the checkout by a link", "any", root_of(GOOD + "configMapGenerator: [{name: c, files: [config]}]\n", config=Link(".git/config"))),
    ("token of the checkout by a way back", "any", {**root_of(GOOD + "bases: [a]\n"), "a/kustomization.yaml": "secretGenerator: [{name: c, envs: [../.git/config]}]\n"}),
    ("link to a model outside", "any", {**BASE, "x.yaml": Link("@OUTSIDE@/patch.yaml")}), ("link to a folder outside", "any", {**BASE, "x": Link("@OUTSIDE@")}),
    ("link to options outside", "any", {**BASE, "kubefoundry.yaml": Link("@OUTSIDE@/env")}), ("link to a device", "any", {**BASE, "x.yaml": Link("/dev/zero")}),
    ("hidden base", "any", {**root_of(GOOD + "bases: [.a]\n"), ".a/kustomization.yaml": "resources: [n.yaml]\n", ".a/n.yaml": MODEL.replace("name: m", "name: n")}),
]


def structure(index, choice):
    note, expected, files = STRUCTURES[index % len(STRUCTURES)]
    return Case(0, "structure", dict(files), expected, note=note)


# Hiding --------------------------------------------------------------------------------------------------------------

HIDING_OPTIONS = [
    "kustomize: {build: false}", "kustomize: {build: no}", "'kustomize': {\"b\\x75ild\": false}", "<<: {kustomize: {build: false}}", "exclude: ['*']", "exclude: ['**/*', '!x']",
    "exclude: [m.yaml, kustomization.yaml]", "exclude: ['/']\nallowEmpty: true", "include: ['*.none']", "allowEmpty: true\nexclude: ['*']\nstrict: false",
    "severities: {KF0612: off}", "severities: {KF0804: off, KF0108: off, KF0109: off}\nkustomize: {build: false}", "policy: {podSecurity: privileged}",
    "kustomize: {build: false, allowRemote: true}", "limits: {nodes: 1}", "limits: {documents: 1}", "limits: {depth: 1, documentBytes: 10}",
    "root: true\nexclude: ['*']", "environments: ['/*']\nexclude: ['*']", "providers: []\nexclude: [\"\\u002a\"]", "models: {Qwen/Qwen3-8B: {config: pipe}}", "models: {a/b: {config: ../outside/env}}",
    "models: {a/b: {config: /dev/zero}}", "output: none", "gpus: {products: {H100: {memory: 1Ti}}}",
]
IGNORING = [
    {".gitignore": "*\n"}, {".gitignore": "m.yaml\nkustomization.yaml\n"}, {".gitignore": "/**\n"}, {".ignore": "*\n"}, {".kubefoundryignore": "*\n"},
    {".gitignore": b"\xff\xfe*\n"}, {".gitignore": Link("@OUTSIDE@/all")}, {".gitignore": Pipe()}, {".gitattributes": "* export-ignore binary\n"},
]
PLACES = [".hidden/m.yaml", ".github/m.yaml", "a/.b/c/m.yaml", "chart/templates/m.yaml", "node_modules/m.yaml", "target/m.yaml", "\u202em.yaml", "m.YAML", "a b/m.yml", "-m.yaml"]


def hide(index, choice):
    """A model that the policy forbids, and something in the repository that could switch the judge off."""
    if index % 4 == 3:
        round_, number = divmod(index // 4, len(PLACES))
        place = PLACES[number]
        files = {place: FORBIDDEN, "n.yaml": MODEL.replace("name: m", "name: n"), "chart/Chart.yaml": "name: c\n", **(IGNORING[0] if round_ % 2 else {})}
        # A name without an ending of YAML is not a manifest for any of us.
        return Case(0, "hide: place", files, "any" if place.endswith("YAML") else "unjudged", reaches=False, note=f"{place}{', all ignored' if '.gitignore' in files else ''}")
    patched = {"m.yaml": MODEL, "kustomization.yaml": kustomization({"namePrefix": PREFIX, "resources": ["m.yaml"], **FORBIDDING_PATCH})}
    plain = {"m.yaml": FORBIDDEN, "kustomization.yaml": GOOD}
    if index % 4 == 2:
        ignoring = IGNORING[index // 4 % len(IGNORING)]
        return Case(0, "hide: ignore file", choice.choice([patched, plain]) | ignoring, "unjudged", note=f"{ignoring}"[:80])
    text = HIDING_OPTIONS[(index // 4 * 2 + index % 4) % len(HIDING_OPTIONS)]
    files = patched if "build" in text else choice.choice([patched, plain])
    files = {**files, "kubefoundry.yaml": OPTIONS + text + "\n"} | ({"pipe": Pipe()} if "pipe" in text else {})
    return Case(0, "hide: options", files, "unjudged", note=text.replace("\n", "; "))


# Budgets -------------------------------------------------------------------------------------------------------------


def diamond(levels, width=2):
    """Kustomizations that include the next level several times, so that the last one is included width^levels times."""
    files = {}
    for level in range(levels):
        for number in range(width):
            below = [f"../{level + 1}-{other}" for other in range(width)] if level + 1 < levels else ["../leaf"]
            files[f"{level}-{number}/kustomization.yaml"] = kustomization({"nameSuffix": f"-{number}", "resources": below})
    files["leaf/kustomization.yaml"] = "resources: [m.yaml]\n"
    files["leaf/m.yaml"] = MODEL
    files["kustomization.yaml"] = kustomization({"namePrefix": PREFIX, "resources": [f"./0-{number}" for number in range(width)]})
    return files


def chain(length):
    files = {f"{number}/kustomization.yaml": f"resources: [../{number + 1}]\n" for number in range(length)}
    return {**files, f"{length}/kustomization.yaml": "resources: [m.yaml]\n", f"{length}/m.yaml": MODEL, "kustomization.yaml": kustomization({"namePrefix": PREFIX, "resources": ["./0"]})}


def generated(**generator):
    return {**BASE, "kustomization.yaml": kustomization({"namePrefix": PREFIX, "resources": ["m.yaml"], "configMapGenerator": [{"name": "c", **generator}]})}


RAISED = OPTIONS + "limits: {aliasNodes: 9007199254740991, nodes: 9007199254740991, documentBytes: 9007199254740991, depth: 100000000, ruleSteps: 9000000000000000, ruleBytes: 1000000}\n"
ALIASES = "kubefoundry.ai: 1\n" + "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10))
RULES = """apiVersion: kubefoundry.ai/v1alpha1
kind: InferenceProviderConfig
metadata: {name: p}
spec:
  selectionRules:
  - priority: 1
    condition: "%s"
"""
LIST = "[" + ",".join(["1"] * 60) + "]"
NESTED_RULE = LIST + f".all(a, {LIST}.all(b, {LIST}.all(c, {LIST}.all(d, {LIST}.all(e, true)))))"
BIG = "k=" + "x" * (8 << 20) + "\n"
BOUNDS = [
    ("a diamond of 2^4", lambda: diamond(4)), ("a diamond of 2^12", lambda: diamond(12)), ("a diamond of 2^18", lambda: diamond(18)), ("a diamond of 3^9", lambda: diamond(9, 3)),
    ("a chain of 30", lambda: chain(30)), ("a chain of 1200", lambda: chain(1200)),
    ("a file of 8 MiB, 40 times", lambda: {**generated(files=[f"k{n}=big" for n in range(40)]), "big": BIG}),
    ("a file of 8 MiB as env", lambda: {**generated(envs=["big"] * 8), "big": BIG}),
    ("20,000 literals", lambda: generated(literals=[f"k{n}=v" for n in range(20_000)])),
    ("the same resource 20,000 times", lambda: {**BASE, "kustomization.yaml": kustomization({"namePrefix": PREFIX, "resources": ["m.yaml"] * 20_000})}),
    ("20,000 missing resources", lambda: {**BASE, "kustomization.yaml": kustomization({"resources": ["m.yaml", *(f"x{n}.yaml" for n in range(20_000))]})}),
    ("400 patches", lambda: {**BASE, "kustomization.yaml": kustomization({"namePrefix": PREFIX, "resources": ["m.yaml"], "patches": [{"patch": HEAD + f"spec: {{scaling: {{replicas: {n}}}}}"} for n in range(400)]})}),
    ("a pattern of a target", lambda: {**BASE, "kustomization.yaml": kustomization({"namePrefix": PREFIX, "resources": ["m.yaml"], "patches": [{"target": {"name": "(" * 500 + "a*" + ")*" * 500}, "patch": HEAD}]})}),
    ("aliases in a kustomization", lambda: {**BASE, "kustomization.yaml": ALIASES.replace("kubefoundry.ai: 1\n", "") + GOOD}),
    ("brackets in a kustomization", lambda: {**BASE, "kustomization.yaml": GOOD + "vars: " + "[" * 100_000 + "\n"}),
    ("raised limits, aliases", lambda: {**BASE, "a.yaml": ALIASES, "kubefoundry.yaml": RAISED}),
    ("raised limits, brackets", lambda: {**BASE, "a.yaml": "kubefoundry.ai: 1\nx: " + "[" * 1_000_000, "kubefoundry.yaml": RAISED}),
    ("raised limits, a rule", lambda: {**BASE, "p.yaml": RULES % NESTED_RULE, "kubefoundry.yaml": RAISED}),
    ("raised depth", lambda: {**BASE, "a.yaml": "kubefoundry.ai: 1\nx: " + "[" * 900 + "]" * 900, "kubefoundry.yaml": OPTIONS + "limits: {depth: 4000000000}\n"}),
    ("20 ignore files of 900 kB", lambda: {**BASE, **{"a/" * n + ".gitignore": "".join(f"x{i}*y\n" for i in range(100_000)) for n in range(20)}, "a/" * 20 + "m.yaml": MODEL.replace("name: m", "name: n")}),
    ("an ignore file of 2 MiB", lambda: {**BASE, ".gitignore": "x\n" * (1 << 20)}),
    ("100,000 patterns", lambda: {**BASE, "kubefoundry.yaml": OPTIONS + "exclude: " + flow([f"a{n}*b" for n in range(100_000)]) + "\n"}),
    ("a pattern of 2 MB", lambda: {**BASE, "kubefoundry.yaml": OPTIONS + "exclude: ['" + "*a" * 1_000_000 + "']\n"}),
    ("200 roots", lambda: {f"{n}/{name}": text for n in range(200) for name, text in BASE.items()}),
    ("40 roots over a diamond", lambda: {**diamond(6), **{f"root{n}/kustomization.yaml": f"namePrefix: r{n}-\nresources: [../leaf, ../0-0]\n" for n in range(40)}}),
    ("10,000 tiny files", lambda: {**BASE, **{f"d/{n}.yaml": "kind: x\n" for n in range(10_000)}}),
    ("2 deep replacements", lambda: {**BASE, "kustomization.yaml": kustomization({"namePrefix": PREFIX, "resources": ["m.yaml"], "replacements": [{"source": {"kind": "ModelDeployment", "fieldPath": "spec"}, "targets": [{"select": {"kind": "ModelDeployment"}, "fieldPaths": ["spec.engine.args.a"], "options": {"create": True}}]}] * 18})}),
]


def bounds(index, choice):
    note, files = BOUNDS[index % len(BOUNDS)]
    return Case(0, "bounds", files(), reaches=False, note=note)


# Documents -----------------------------------------------------------------------------------------------------------

B64 = lambda text: base64.b64encode(text.encode()).decode()
GROUP, KIND = "kubefoundry.ai/v1alpha1", "ModelDeployment"
BODY = FORBIDDEN.split("\n", 2)[2]
DOCUMENTS = [
    f"apiVersion: !!binary {B64(GROUP)}\nkind: !!binary {B64(KIND)}\n", f"!!binary {B64('apiVersion')}: {GROUP}\nkind: {KIND}\n", f'"api\\x56ersion": "{GROUP}"\nkind: "Model\\u0044eployment"\n',
    f'apiVersion: !x "{GROUP}"\nkind: !x "{KIND}"\n', f"? apiVersion\n: {GROUP}\n? kind\n: {KIND}\n", f"<<: {{apiVersion: {GROUP}, kind: {KIND}}}\n", f"x: &v {GROUP}\napiVersion: *v\nkind: {KIND}\n",
    f"apiVersion: |-\n  {GROUP}\nkind: >-\n  {KIND}\n", f'apiVersion: "kubefoundry\\\n  .ai/v1alpha1"\nkind: {KIND}\n', f"apiVersion: 1\nkind: !x \"{KIND}\"\n", f"? kind\n: {KIND}\n",
    f"apiVersion: {GROUP}\nkind: Secret\nkind: {KIND}\n", f"APIVERSION: {GROUP}\nkind: {KIND}\n", f"apiVersion: !!str {GROUP}\nkind: !<tag:yaml.org,2002:str> {KIND}\n",
    f"apiVersion: v1\nkind: List\nitems:\n- apiVersion: {GROUP}\n  kind: {KIND}\n  ", f"--- # a\n--- !!map\napiVersion: {GROUP}\nkind: {KIND}\n", f"%YAML 1.2\n---\napiVersion: {GROUP}\nkind: {KIND}\n",
    f"apiVersion: kubefoundry.ai/v1alpha1\u0085kind: {KIND}\n", f"\ufeffapiVersion: {GROUP}\nkind: {KIND}\n", f'apiVersion: "kubefoundry.ai\\/v1alpha1"\nkind: {KIND}\n',
]


def document(index, choice):
    """A forbidden model, spelled in a way that the API server accepts (or not: then a judge may refuse it, too)."""
    head = DOCUMENTS[index % len(DOCUMENTS)]
    body = BODY.replace("\n", "\n  ").rstrip() + "\n" if "items:" in head else BODY
    encoding = list(ENCODINGS)[index // len(DOCUMENTS) % 5]
    name = choice.choice(["m.yaml", "m.yml", "a/m.yaml"])
    # `? kind` alone and a group in capitals are not objects for the API server, and 1 is not a group.
    expected = "any" if "1\nkind" in head or "APIVERSION" in head or head.startswith("? kind") else "unjudged"
    return Case(0, "document", {name: ENCODINGS[encoding](head + body)}, expected, reaches=False, note=f"{head!r} {encoding}")


KINDS = [(reach, len(FIELDS) * 6), (structure, len(STRUCTURES)), (hide, 80), (bounds, len(BOUNDS)), (document, 30)]
COUNT = sum(count for _, count in KINDS)


def case_of(number, seed=SEED):
    """Returns the case with a number, which depends on nothing but the number and the seed."""
    index = number
    for make, count in KINDS:
        if index < count:
            case = make(index, random.Random(f"{seed}/{number}"))
            case.number = number
            return case
        index -= count
    raise ValueError(f"there are {COUNT} cases")
