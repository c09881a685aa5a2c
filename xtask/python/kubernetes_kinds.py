"""Prints crates/compiler/src/pipeline/kubernetes_kinds.json: the fields of kinds of Kubernetes, with their types.

They are read from the source of the crate k8s-openapi, which is generated from the OpenAPI document of Kubernetes:

    python3 xtask/python/kubernetes_kinds.py ~/.cargo/registry/src/*/k8s-openapi-0.29.0

The pod is not repeated: the program has its schema already, as a part of a CRD, and "PodSpec" stands for it.
"""

import json
import pathlib
import re
import sys

RELEASE = "v1_34"
KINDS = {
    "v1": ["ConfigMap", "PersistentVolumeClaim", "Secret", "Service", "ServiceAccount"],
    "apps/v1": ["DaemonSet", "Deployment", "StatefulSet"],
    "autoscaling/v2": ["HorizontalPodAutoscaler"],
    "networking.k8s.io/v1": ["Ingress", "NetworkPolicy"],
    "policy/v1": ["PodDisruptionBudget"],
    "rbac.authorization.k8s.io/v1": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
}
PRIMITIVES = {
    "bool": {"type": "boolean"},
    "i32": {"type": "integer"},
    "i64": {"type": "integer"},
    "f64": {"type": "number"},
    "std::string::String": {"type": "string"},
    "crate::ByteString": {"type": "string"},
    "crate::apimachinery::pkg::api::resource::Quantity": {"x-kubernetes-int-or-string": True},
    "crate::apimachinery::pkg::util::intstr::IntOrString": {"x-kubernetes-int-or-string": True},
    "crate::apimachinery::pkg::apis::meta::v1::Time": {"type": "string"},
    "crate::apimachinery::pkg::apis::meta::v1::ObjectMeta": {
        "type": "object",
        "properties": {
            "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "x-kubernetes-preserve-unknown-fields": True,
    },
    "crate::api::core::v1::PodSpec": "PodSpec",
}


def source(crate, path):
    *modules, name = path.removeprefix("crate::").split("::")
    file = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    root = crate / "src" / RELEASE
    return root.joinpath(*modules, f"{file}.rs").read_text()


def fields(crate, path):
    text = source(crate, path)
    declared = re.search(r"pub struct \w+ \{\n(.*?)\n\}", text, re.S)[1]
    names = dict((rust, json_name) for json_name, rust in re.findall(r'"(\S+)" => Field::Key_(\w+)', text))
    for rust, kind in re.findall(r"^    pub (?:r#)?(\w+): (.*),$", declared, re.M):
        yield names[rust], kind


def schema(crate, kind):
    optional = re.fullmatch(r"Option<(.*)>", kind)
    if optional:
        return schema(crate, optional[1])
    if kind in PRIMITIVES:
        return PRIMITIVES[kind]
    items = re.fullmatch(r"std::vec::Vec<(.*)>", kind)
    if items:
        return {"type": "array", "items": schema(crate, items[1])}
    values = re.fullmatch(r"std::collections::BTreeMap<std::string::String, (.*)>", kind)
    if values:
        return {"type": "object", "additionalProperties": schema(crate, values[1])}
    members = sorted(fields(crate, kind))
    required = [name for name, member in members if not member.startswith("Option<")]
    found = {"type": "object", "properties": {name: schema(crate, member) for name, member in members}}
    return {**found, "required": required} if required else found


def layout(value, indent=""):
    """Returns a value as JSON, on one line if it fits into 120 characters."""
    line = json.dumps(value)
    if len(indent) + len(line) <= 120 or not isinstance(value, dict):
        return line
    inner = indent + "  "
    rows = [f"{inner}{json.dumps(key)}: {layout(below, inner)}" for key, below in value.items()]
    return "{\n" + ",\n".join(rows) + f"\n{indent}}}"


def main():
    crate = pathlib.Path(sys.argv[1])
    kinds = {}
    for version, names in KINDS.items():
        group = version.split(".")[0].split("/")[0] if "/" in version else "core"
        for name in names:
            own = fields(crate, f"crate::api::{group}::{version.split('/')[-1]}::{name}")
            skipped = ("metadata", "status")
            kinds.setdefault(version, {})[name] = {
                field: schema(crate, kind) for field, kind in sorted(own) if field not in skipped
            }
    print(layout(kinds))


main()
