"""Runs the health checks of deploy/argocd with Lua 5.1 on statuses that the controllers write.

The scripts are extracted from the patch as Argo CD reads them. `CASES` has the rows of docs/argocd.md. Every script must
also give an answer for objects that no controller would write.

Usage: check_health.py
"""

import itertools
import pathlib
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATCH = ROOT / "deploy/argocd/argocd-cm-patch.yaml"
PREFIX = "resource.customizations.health."
# The statuses that Argo CD accepts from a script. Missing is only for objects that do not exist.
STATUSES = {"Healthy", "Progressing", "Degraded", "Suspended", "Unknown"}
WORKSPACE, INFERENCE_SET = "kaito.sh_Workspace", "kaito.sh_InferenceSet"
DYNAMO, RAY = "nvidia.com_DynamoGraphDeployment", "ray.io_RayService"


def conditions(*given):
    """Builds conditions from tuples (type, status, reason, message), of which the last two are optional."""
    fields = ("type", "status", "reason", "message")
    return {"conditions": [dict(zip(fields, one)) for one in given]}


def ray(ready=None, active=None, pending=None, more=(), **status):
    """Builds a RayService's status from the Ready condition, the applications of both clusters and other conditions."""
    found = ([("Ready", *ready)] if ready else []) + list(more)
    if found:
        status |= conditions(*found)
    for name, applications in (("activeServiceStatus", active), ("pendingServiceStatus", pending)):
        if applications:
            states = {app: dict(zip(("status", "message"), said)) for app, said in applications.items()}
            status[name] = {"rayClusterName": "c", "applicationStatuses": states}
    return status


def newer(kind, status, expected, message):
    """Builds a case whose spec is newer than the generation that the controller observed."""
    return kind, status | {"observedGeneration": 6}, expected, message


RUNNING, FAILED = {"llm": ("RUNNING", "")}, {"llm": ("DEPLOY_FAILED", "no GPU")}
READY_DGD = conditions(("Ready", "True", "all_resources_are_ready", "All resources are ready"))
SLOW_DGD = conditions(("Ready", "False", "some_resources_are_not_ready", "worker: 0/1 ready"))
SERVES = ("True", "NonZeroServeEndpoints", "Number of serve endpoints is greater than 0")
STARTS = ("False", "Initializing", "RayService is initializing")

# Each case is (kind, status, expected health, a part of the message).
CASES = [
    # Running
    (WORKSPACE, {"state": "Ready"} | conditions(("InferenceReady", "True", "", "it runs")), "Healthy", "it runs"),
    (WORKSPACE, conditions(("WorkspaceSucceeded", "True", "workspaceSucceeded", "done")), "Healthy", "ready"),
    (WORKSPACE, {"state": "Succeeded"}, "Healthy", "Succeeded"),
    (INFERENCE_SET, conditions(("InferenceSetReady", "True", "inferencesetReady", "inferenceset is ready")), "Healthy", "is ready"),
    (INFERENCE_SET, {"replicas": 2, "readyReplicas": 2}, "Healthy", "2 of 2 replicas are ready"),
    (DYNAMO, {"state": "successful", "observedGeneration": 7} | READY_DGD, "Healthy", "All resources are ready"),
    (DYNAMO, {"state": "successful", "observedGeneration": 7, "services": {"Frontend": {"replicas": 1}}}, "Healthy", "successful"),
    (DYNAMO, {"state": "successful", "observedGeneration": 7, "components": {"Frontend": {"replicas": 1}}}, "Healthy", "successful"),
    (DYNAMO, {"state": "successful"}, "Healthy", "successful"),
    (RAY, ray(SERVES, active=RUNNING, observedGeneration=7), "Healthy", "endpoints"),
    (RAY, ray(SERVES, RUNNING, {"llm": ("DEPLOYING", "")}, [("UpgradeInProgress", "True")]), "Healthy", "llm: DEPLOYING"),
    (RAY, ray(SERVES, active={"llm": ("UNHEALTHY", "one replica is gone")}), "Healthy", "llm: UNHEALTHY: one replica"),
    # Deploying
    (WORKSPACE, conditions(("ResourceReady", "True", "", "nodes are ready")), "Progressing", "nodes are ready"),
    (WORKSPACE, conditions(("ResourceReady", "True"), ("InferenceReady", "False", "", "loading weights")), "Progressing", "loading weights"),
    (WORKSPACE, {"state": "NotReady"} | conditions(("WorkspaceSucceeded", "False", "BenchmarkFailed")), "Progressing", "NotReady"),
    (WORKSPACE, {"state": "NotReady"} | conditions(("WorkspaceSucceeded", "True")), "Progressing", "NotReady"),
    (WORKSPACE, {"state": "Running"} | conditions(("JobStarted", "True")), "Progressing", "Running"),
    (INFERENCE_SET, conditions(("InferenceSetReady", "False", "inferencesetNotReady", "1/2 replicas are ready")), "Progressing", "1/2"),
    (INFERENCE_SET, {"replicas": 2, "readyReplicas": 1}, "Progressing", "1 of 2 replicas are ready"),
    (INFERENCE_SET, {"replicas": 1, "readyReplicas": 1}, "Progressing", "1 of 1 replicas are ready"),
    (DYNAMO, {"state": "initializing"}, "Progressing", "initializing"),
    (DYNAMO, {"state": "pending", "observedGeneration": 7} | SLOW_DGD, "Progressing", "worker: 0/1 ready"),
    newer(DYNAMO, {"state": "successful"} | READY_DGD, "Progressing", "to see the change"),
    newer(DYNAMO, {"state": "failed"}, "Progressing", "to see the change"),
    newer(RAY, ray(SERVES, active=RUNNING), "Progressing", "to see the change"),
    (RAY, ray(STARTS), "Progressing", "RayService is initializing"),
    (RAY, ray(("False", "ZeroServeEndpoints", "no endpoint"), active=RUNNING), "Progressing", "no endpoint"),
    (RAY, ray(STARTS, pending={"llm": ("DEPLOYING", "1 of 2 replicas")}), "Progressing", "llm: DEPLOYING: 1 of 2 replicas"),
    (RAY, ray(STARTS, pending={"b": ("UNHEALTHY", ""), "a": ("DEPLOYING", "")}), "Progressing", "b: UNHEALTHY"),
    (RAY, ray(("False", "SuspendInProgress", "deleting"), more=[("Suspending", "True")]), "Progressing", "deleting"),
    (RAY, ray(("False", "SomethingNew", "")), "Progressing", "SomethingNew"),
    # Pending
    (WORKSPACE, None, "Progressing", "waiting for KAITO"),
    (WORKSPACE, {"state": "Pending"}, "Progressing", "Pending"),
    (WORKSPACE, conditions(("WorkspaceSucceeded", "False", "workspacePending", "")), "Progressing", "waiting for KAITO"),
    (INFERENCE_SET, None, "Progressing", "0 of 2 replicas are ready"),
    (DYNAMO, None, "Progressing", "waiting for Dynamo"),
    (RAY, None, "Progressing", "waiting for KubeRay"),
    (RAY, {"serviceStatus": ""}, "Progressing", "waiting for KubeRay"),
    (RAY, ray(("False", "SuspendComplete", "it is suspended")), "Suspended", "it is suspended"),
    (RAY, ray(("False", "Initializing", ""), more=[("Suspended", "True")]), "Suspended", ""),
    # Failed
    (WORKSPACE, {"state": "Failed"} | conditions(("ResourceReady", "False", "", "no quota")), "Degraded", "no quota"),
    (WORKSPACE, conditions(("WorkspaceSucceeded", "False", "workspaceFailed", "the job failed")), "Degraded", "the job failed"),
    (INFERENCE_SET, conditions(("InferenceSetReady", "False", "inferencesetFailed", "no gateway")), "Degraded", "no gateway"),
    (DYNAMO, {"state": "failed", "observedGeneration": 7} | conditions(("Ready", "False", "failed", "mismatch")), "Degraded", "mismatch"),
    (RAY, ray(STARTS, pending=FAILED), "Degraded", "llm: DEPLOY_FAILED: no GPU"),
    (RAY, ray(SERVES, RUNNING, FAILED, [("UpgradeInProgress", "True")]), "Degraded", "llm: DEPLOY_FAILED: no GPU"),
    (RAY, ray(("False", "ValidationFailed", "the name is too long")), "Degraded", "ValidationFailed: the name is too long"),
    (RAY, ray(("False", "InitializingTimeout", "after 1h")), "Degraded", "InitializingTimeout: after 1h"),
    # States that no controller writes today
    (WORKSPACE, {"state": "Dreaming"}, "Unknown", "state is Dreaming"),
    (WORKSPACE, conditions(("WorkspaceSucceeded", "Maybe")), "Unknown", "WorkspaceSucceeded is Maybe"),
    (INFERENCE_SET, conditions(("InferenceSetReady", "Maybe")), "Unknown", "InferenceSetReady is Maybe"),
    (DYNAMO, {"state": "deploying"}, "Unknown", "state is deploying"),
    (RAY, ray(("Unknown", "", "")), "Unknown", "Ready is Unknown"),
]

# Values that a script can meet where it expects another type.
HOSTILE = [None, {}, [], "", "text", 0, -1.5, True, False, [[]], [None, {"type": "Ready"}], {"type": {}}, [{"status": 1}], "\"]]\n\\"]
FIELDS = [
    ("state",), ("conditions",), ("observedGeneration",), ("replicas",), ("readyReplicas",), ("serviceStatus",),
    ("activeServiceStatus",), ("pendingServiceStatus",), ("pendingServiceStatus", "applicationStatuses"),
    ("pendingServiceStatus", "applicationStatuses", "llm"), ("activeServiceStatus", "applicationStatuses", "llm", "status"),
    ("activeServiceStatus", "applicationStatuses", "llm", "message"),
]
CONDITIONS = ["Ready", "Suspended", "InferenceReady", "ResourceReady", "WorkspaceSucceeded", "InferenceSetReady"]


def lua(value):
    """Writes a value as a Lua expression. As in Argo CD, null is nil."""
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return '"' + "".join(f"\\{byte:03d}" for byte in value.encode()) + '"'
    if isinstance(value, list):
        return "{" + ", ".join(map(lua, value)) + "}"
    return "{" + ", ".join(f"[{lua(key)}] = {lua(one)}" for key, one in value.items()) + "}"


def live(kind, status, **metadata):
    spec = {"spec": {"replicas": 2}} if kind == INFERENCE_SET else {}
    status = {} if status is None else {"status": status}
    return {"metadata": {"name": "m", "generation": 7, **metadata}, **spec, **status}


def hostile():
    """Yields objects in which one value has an unexpected type."""
    for value in HOSTILE:
        yield value if isinstance(value, dict) else {}
        yield {"metadata": value, "status": value, "spec": value}
        yield {"metadata": {"generation": value, "deletionTimestamp": None}, "status": {"observedGeneration": 1}}
        yield {"metadata": {"generation": 2}, "status": value}
        for path in FIELDS:
            status = value
            for name in reversed(path):
                status = {name: status}
            yield {"metadata": {"generation": 2}, "status": status}
        for name, field in itertools.product(CONDITIONS, ("status", "reason", "message")):
            one = {"type": name, "status": "False", field: value}
            yield {"metadata": {"generation": 2}, "status": {"conditions": [value, one]}}


class Checks:
    def __init__(self, directory):
        self.objects = directory / "objects.lua"
        data = yaml.safe_load(PATCH.read_text())["data"]
        self.scripts = {}
        for key, script in data.items():
            assert key.startswith(PREFIX), key
            self.scripts[key.removeprefix(PREFIX)] = directory / f"{key}.lua"
            (directory / f"{key}.lua").write_text(script)

    def run(self, kind, objects):
        """Returns (status, message) for each object."""
        listed = ",\n".join(f"{{object = {lua(one)}}}" for one in objects)
        self.objects.write_text(f"return {{{listed}}}")
        here = ROOT / "tests/conformance"
        command = [sys.executable, here / "lua51.py", here / "health.lua", self.scripts[kind], self.objects]
        ran = subprocess.run(command, capture_output=True)
        assert ran.returncode == 0, (kind, ran.stderr.decode(errors="replace"))
        texts = ran.stdout.decode(errors="replace").split("\0")
        assert len(texts) == 2 * len(objects) + 1, (kind, ran.stdout)
        return list(zip(texts[::2], texts[1::2]))


def main():
    with tempfile.TemporaryDirectory() as directory:
        checks = Checks(pathlib.Path(directory))
        assert set(checks.scripts) == {WORKSPACE, INFERENCE_SET, DYNAMO, RAY}, set(checks.scripts)
        count = 0
        for kind in checks.scripts:
            cases = [case for case in CASES if case[0] == kind]
            answers = checks.run(kind, [live(kind, status) for _, status, _, _ in cases])
            for (_, status, expected, said), (found, message) in zip(cases, answers, strict=True):
                assert found == expected and said in message, (kind, status, expected, said, found, message)
            assert {"Healthy", "Progressing", "Degraded", "Unknown"} <= {found for found, _ in answers}, kind
            gone = [live(kind, status, deletionTimestamp="2026-01-01T00:00:00Z") for _, status, _, _ in cases]
            assert set(checks.run(kind, gone)) == {("Progressing", "is being deleted")}, kind
            odd = list(hostile())
            for live_object, (found, message) in zip(odd, checks.run(kind, odd), strict=True):
                assert found in STATUSES - {"Healthy"}, (kind, live_object, found, message)
                assert "table: 0x" not in message and "function" not in message, (kind, live_object, message)
            count += len(odd)
    print(f"health checks: {len(CASES)} states, {count} malformed objects")


if __name__ == "__main__":
    main()
