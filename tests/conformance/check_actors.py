"""Runs rendered actors against KEDA's own code and against a RabbitMQ server.

1. KEDA reads every ScaledObject of the examples and of the golden cases as it does in a cluster: its webhook, the
   TriggerAuthentication, and the configuration of the scaler.
2. Lint refuses no scaling modifiers and names that KEDA takes, and of those that KEDA refuses all but some formulas.
3. The server gets what the rendered queue objects describe, by the API that the messaging topology operator uses. Then the
   contract of Asya's sidecar holds: it declares its queue passively as durable, and a message that it publishes for an
   actor arrives in the queue of that actor, where KEDA counts it. Before that, it does not hold.
4. The command in the help of KF2119 creates a queue for which the same holds.

The sidecar itself cannot be built here, so its calls are made by pika. The server is Debian's, 3.10, which has classic and
quorum queues.

Usage: check_actors.py KUBEFOUNDRY KEDA RABBITMQ_ROOT
"""

import base64
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import pika
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
USER, PASSWORD = "asya", "a word: with/odd@characters"
OPTIONS = """\
apiVersion: config.kubefoundry.ai/v1alpha1
kind: Render
actor:
  sidecarImage: registry.example.com/asya-sidecar:0.1.1
  runtimeScript: print(1)
  queues: {queues}
  transports:
    rabbitmq:
      type: rabbitmq
      enabled: true
      config:
        host: rabbitmq
        port: 5672
        username: asya
        passwordSecretRef: {{name: rabbitmq-login, key: password}}
        queues: {{autoCreate: true, dlq: {{enabled: {dlq}{count}}}}}
"""
ACTOR = """\
apiVersion: v1
kind: Secret
metadata: {{name: rabbitmq-login, namespace: default}}
stringData: {{username: asya, password: the server's}}
---
apiVersion: asya.sh/v1alpha1
kind: AsyncActor
metadata: {{name: {name}, namespace: default}}
spec:
  transport: rabbitmq
  workload:
    template:
      spec:
        containers: [{{name: asya-runtime, image: "i:1", env: [{{name: ASYA_HANDLER, value: h.f}}]}}]
  scaling: {scaling}
"""
CLUSTER = "{provider: rabbitmq-topology, type: %s, rabbitmqClusterReference: {name: rabbitmq}}"
# Modifiers, and whether KEDA and lint take them.
MODIFIERS = [
    ("queueLength", "5", True),
    ("queueLength / 2", "0.5", True),
    ("max(queueLength, 4)", "5", True),
    ("queueLength > 10 ? 5 : queueLength", "5", True),
    ("let half = queueLength / 2; half", "5", True),
    ("sum(map([1, 2], {# * queueLength}))", "5", True),
    ("count(1..3, # > 1) + queueLength", "5", True),
    ("queueLength not in [1] ? 1 : 2", "5", True),
    ("min([queueLength, 1e3])", "5", True),
    ("queueLength ** 2", "5", True),
    ("queueLength / 2 // half of it\n", "5", True),
    ("let many = queueLength > 2; many ? 1 : 2", "5", True),
    ("max(queueLength, len([1 > 2]))", "5", True),
    ("queueLength / 2 // half of it", "5", False),
    ("queueLength /* half", "5", False),
    ("queueLength /* all */ + .5", "5", True),
    ("sum(map([1, 2], # + #index))", "5", True),
    ("$env[\"queueLength\"] / 2", "5", True),
    ("if queueLength > 2 { 1 } else { queueLength }", "5", True),
    ("{a: {b: queueLength}}?.a.b", "5", True),
    ("foo / 2", "5", False),
    ("queuelength / 2", "5", False),
    ("(queueLength", "5", False),
    ("queueLength)", "5", False),
    ("queueLength + \"a", "5", False),
    ("queueLength", "0", False),
    ("queueLength", "-5", False),
    ("queueLength", "five", False),
]
# Formulas that KEDA refuses, for reasons that lint does not look for: grammar, types and functions of expr-lang.
LEFT_TO_KEDA = [
    "queueLength; 2",
    "queueLength > 2",
    "queueLength in [1]",
    "true",
    "queueLength { 2 }",
    "biggest(queueLength)",
    "queueLength /",
    "queueLength 2",
]


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, **options)


def documents(text):
    return [document for document in yaml.safe_load_all(text) if isinstance(document, dict)]


def free_ports(count):
    """Returns ports that are free now: nothing else here opens any."""
    sockets = [socket.socket() for _ in range(count)]
    for it in sockets:
        it.bind(("127.0.0.1", 0))
    ports = [it.getsockname()[1] for it in sockets]
    for it in sockets:
        it.close()
    return ports


class Checks:
    def __init__(self, kubefoundry, keda):
        self.kubefoundry, self.keda = kubefoundry, keda
        self.passed = 0

    def expect(self, holds, message):
        if not holds:
            sys.exit(f"FAIL {message}")
        self.passed += 1

    def render(self, *arguments):
        result = run(self.kubefoundry, "render", *arguments)
        return documents(result.stdout) if result.returncode == 0 else None, result.stderr

    def judge(self, cases, broker=""):
        """Returns the verdicts of KEDA, as {(case, name): verdict}."""
        given = {"broker": broker, "cases": [{"name": name, "objects": with_secrets(it)} for name, it in cases]}
        result = run(self.keda, input=json.dumps(given))
        self.expect(result.returncode == 0, f"KEDA's code ended with {result.returncode}: {result.stderr[-2000:]}")
        verdicts = [json.loads(line) for line in result.stdout.splitlines()]
        return {(verdict["case"], verdict["name"]): verdict for verdict in verdicts}


def with_secrets(objects):
    """Adds the Secrets that the triggers need, unless they are among the objects."""
    objects = list(objects)
    present = {(it["metadata"].get("namespace"), it["metadata"]["name"]): it for it in objects if it["kind"] == "Secret"}
    for it in [it for it in objects if it["kind"] == "TriggerAuthentication"]:
        namespace = it["metadata"].get("namespace")
        for target in it["spec"].get("secretTargetRef", []):
            key = (namespace, target["name"])
            if key not in present:
                metadata = {"name": target["name"], "namespace": namespace or "default"}
                present[key] = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {}}
                objects.append(present[key])
                present[key]["made"] = True
            if present[key].get("made"):
                present[key]["stringData"][target["key"]] = USER if target["parameter"] == "username" else PASSWORD
    for secret in present.values():
        secret.pop("made", None)
    return objects


def check_scaled_objects(checks):
    """KEDA accepts every ScaledObject that is rendered from an example or a golden case."""
    cases = []
    folders = sorted(ROOT.glob("examples/actor-*")) + sorted(ROOT.glob("testdata/golden/actor/*"))
    for folder in folders:
        options = folder / "kubefoundry.yaml"
        inputs = [path for path in folder.glob("*.yaml") if path != options]
        rendered, _ = checks.render("--all", *(["--config", options] if options.exists() else []), *inputs)
        if rendered and any(it.get("kind") == "ScaledObject" for it in rendered):
            # Secrets of the input are in the cluster, too.
            given = [it for path in inputs for it in documents(path.read_text()) if it.get("kind") == "Secret"]
            names = {it["metadata"]["name"] for it in rendered if it["kind"] == "Secret"}
            cases.append((folder.name, rendered + [it for it in given if it["metadata"]["name"] not in names]))
    verdicts = checks.judge(cases)
    expected = sum(it["kind"] == "ScaledObject" for _, objects in cases for it in objects)
    checks.expect(len(verdicts) == expected and len(cases) > 10, f"{len(verdicts)} verdicts on {len(cases)} cases")
    for (case, name), verdict in verdicts.items():
        checks.expect("error" not in verdict, f"{case}: ScaledObject {name}: {verdict.get('error')}")
    print(f"KEDA accepts {len(verdicts)} ScaledObjects of {len(cases)} cases")


def check_refusals(checks, folder):
    """KEDA refuses what lint refuses, and the formulas that lint leaves to it."""
    options = folder / "options.yaml"
    options.write_text(OPTIONS.format(queues=CLUSTER % "quorum", dlq="false", count=""))
    file = folder / "actor.yaml"
    file.write_text(ACTOR.format(name="a", scaling='{enabled: true, advanced: {formula: queueLength, target: "5"}}'))
    template, said = checks.render("--config", options, file)
    checks.expect(template is not None, f"the actor is refused: {said}")
    cases, expected = [], {}
    rows = [(f"{formula} {target}", "a", formula, target, taken, taken) for formula, target, taken in MODIFIERS]
    rows += [(formula, "a", formula, "5", False, True) for formula in LEFT_TO_KEDA]
    for length in (54, 55, 63):
        rows.append((f"{length} characters", "a" * length, "queueLength", "5", length <= 54, length <= 54))
    for name, actor, formula, target, taken, renders in rows:
        objects = json.loads(json.dumps(template))
        for it in objects:
            if it["kind"] == "ScaledObject":
                it["metadata"]["name"] = actor
                it["spec"]["advanced"]["scalingModifiers"] = {"formula": formula, "target": target}
        cases.append((name, objects))
        scaling = {"enabled": True, "advanced": {"formula": formula, "target": target}}
        file.write_text(ACTOR.format(name=actor, scaling=json.dumps(scaling)))
        rendered, said = checks.render("--config", options, file)
        checks.expect((rendered is not None) == renders, f"{name}: {'refused' if renders else 'rendered'} here: {said}")
        expected[name, actor] = taken
    for key, verdict in checks.judge(cases).items():
        accepted = "error" not in verdict
        checks.expect(accepted == expected.pop(key), f"{key[0]}: KEDA says {verdict.get('error', 'yes')}")
    checks.expect(not expected, f"no verdict on {list(expected)}")
    agreed = len(rows) - len(LEFT_TO_KEDA)
    print(f"KEDA and lint agree on {agreed} formulas, targets and names, and KEDA alone refuses {len(LEFT_TO_KEDA)} formulas")


class Server:
    """A RabbitMQ server of Debian's packages, with its HTTP API."""

    def __init__(self, root, folder):
        self.amqp, self.http, distribution, epmd = free_ports(4)
        self.root, self.folder = root, folder
        installed = next(root.glob("usr/lib/rabbitmq/lib/rabbitmq_server-*"))
        (folder / "enabled_plugins").write_text("[rabbitmq_management].\n")
        (folder / "rabbitmq.conf").write_text(
            f"management.tcp.port = {self.http}\nmanagement.tcp.ip = 127.0.0.1\n"
            f"default_user = {USER}\ndefault_pass = {PASSWORD}\nloopback_users = none\n"
        )
        self.environment = {
            "PATH": f"{root}/usr/lib/erlang/bin:{os.environ['PATH']}",
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "ERL_EPMD_PORT": str(epmd),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": "kubefoundry@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.amqp),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
        }
        with open(folder / "output", "wb") as output:
            self.process = subprocess.Popen(
                [installed / "sbin/rabbitmq-server"], env=self.environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, start_new_session=True,
            )

    def wait(self):
        for _ in range(240):
            with contextlib.suppress(OSError, urllib.error.URLError):
                if self.call("GET", "/api/overview"):
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.5)
        sys.exit(f"FAIL RabbitMQ does not start: {(self.folder / 'output').read_text()[-3000:]}")

    def stop(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        # The port mapper of Erlang is a daemon, which stays.
        run(self.root / "usr/lib/erlang/bin/epmd", "-kill", env=self.environment)

    def call(self, method, path, body=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.http}{path}", method=method)
        login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        request.add_header("Authorization", f"Basic {login}")
        request.add_header("Content-Type", "application/json")
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(request, data, timeout=20) as response:
            return json.loads(response.read() or b"true")

    def apply(self, objects):
        """Does what the messaging topology operator does with each object, in their order."""
        for it in objects:
            if it["apiVersion"] != "rabbitmq.com/v1beta1":
                continue
            spec = it["spec"]
            name = urllib.parse.quote(spec.get("name", ""), safe="")
            if it["kind"] == "Exchange":
                body = {"type": spec["type"], "durable": spec["durable"], "auto_delete": False, "arguments": {}}
                self.call("PUT", f"/api/exchanges/%2F/{name}", body)
            elif it["kind"] == "Queue":
                arguments = {"x-queue-type": spec["type"]}
                body = {"durable": spec["durable"], "auto_delete": False, "arguments": arguments}
                self.call("PUT", f"/api/queues/%2F/{name}", body)
            elif it["kind"] == "Policy":
                body = {"pattern": spec["pattern"], "definition": spec["definition"], "apply-to": spec["applyTo"]}
                self.call("PUT", f"/api/policies/%2F/{name}", body)
            elif it["kind"] == "Binding":
                source, destination = (urllib.parse.quote(spec[end], safe="") for end in ("source", "destination"))
                body = {"routing_key": spec["routingKey"], "arguments": {}}
                self.call("POST", f"/api/bindings/%2F/e/{source}/q/{destination}", body)
            else:
                sys.exit(f"FAIL this check does not know {it['kind']}")

    @contextlib.contextmanager
    def channel(self):
        login = pika.PlainCredentials(USER, PASSWORD)
        connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", self.amqp, credentials=login))
        try:
            yield connection.channel()
        finally:
            with contextlib.suppress(pika.exceptions.AMQPError):
                connection.close()


def sidecar_starts(server, queue):
    """Makes the calls with which a sidecar of Asya v0.1.1 starts, and returns whether the broker accepts them."""
    with server.channel() as channel:
        channel.basic_qos(prefetch_count=1)
        channel.exchange_declare("asya", "topic", durable=True)
        try:
            channel.queue_declare(queue, passive=True, durable=True)
        except pika.exceptions.ChannelClosedByBroker as error:
            return error.reply_code != 404
    return True


def publish(server, actor):
    """Publishes a message as a sidecar does for the next actor of a route."""
    with server.channel() as channel:
        properties = pika.BasicProperties(delivery_mode=2, content_type="application/json")
        channel.confirm_delivery()
        channel.basic_publish("asya", actor, b'{"payload": 1}', properties)


def length(server, queue, expected):
    """Returns the number of messages of a queue, once it is the expected one or does not become so."""
    for _ in range(300):
        with server.channel() as channel:
            found = channel.queue_declare(queue, passive=True).method.message_count
        if found == expected:
            break
        time.sleep(0.1)
    return found


def check_queues(checks, server, folder, queue_type):
    """The rendered objects create a queue that a sidecar can use, and whose length KEDA reads."""
    actor = f"text-splitter.{queue_type}"
    queue = f"asya-{actor}"
    options, file = folder / f"{queue_type}.yaml", folder / f"{queue_type}-actor.yaml"
    count = ", maxRetryCount: 2" if queue_type == "quorum" else ""
    options.write_text(OPTIONS.format(queues=CLUSTER % queue_type, dlq="true", count=count))
    file.write_text(ACTOR.format(name=actor, scaling="{enabled: true}"))
    objects, said = checks.render("--config", options, file)
    checks.expect(objects is not None and not said, f"the actor is not rendered without findings: {said}")
    checks.expect(not sidecar_starts(server, queue), f"{queue} exists before it is created")
    server.apply(objects)
    checks.expect(sidecar_starts(server, queue), f"{queue} does not exist, or is not as the sidecar declares it")
    # Applying the same again changes nothing, and the queue outlives its server.
    server.apply(objects)
    details = server.call("GET", f"/api/queues/%2F/{queue}")
    checks.expect(details["durable"] and details["type"] == queue_type, f"{queue} is {details['type']}")
    for number in (1, 2, 3):
        publish(server, actor)
        checks.expect(length(server, queue, number) == number, f"message {number} for {actor} is not in {queue}")
    verdict = checks.judge([(queue_type, objects)], f"127.0.0.1:{server.amqp}")[queue_type, actor]
    checks.expect("error" not in verdict, f"KEDA cannot read {queue}: {verdict.get('error')}")
    checks.expect(verdict["length"] == 3, f"KEDA counts {verdict['length']} messages in {queue}, expected 3")
    with server.channel() as channel:
        if queue_type == "quorum":
            # Each delivery that the sidecar gives back counts.
            deadline = time.monotonic() + 60
            failed = lambda: channel.queue_declare(f"{queue}-dlq", passive=True).method.message_count
            while failed() < 3 and time.monotonic() < deadline:
                method, _, _ = channel.basic_get(queue)
                if method is None:
                    time.sleep(0.1)
                else:
                    channel.basic_nack(method.delivery_tag, requeue=True)
        else:
            for _ in range(3):
                method, _, _ = channel.basic_get(queue)
                channel.basic_nack(method.delivery_tag, requeue=False)
    dead = length(server, f"{queue}-dlq", 3)
    checks.expect(dead == 3, f"{queue}-dlq has {dead} failed messages, expected 3")
    print(f"{queue_type}: the sidecar's contract holds, KEDA counts the messages, and failed ones are kept")


def check_command(checks, server, folder):
    """Without a provider of queues, the warning names the queue, and its command creates it."""
    actor = "by-hand"
    options, file = folder / "none.yaml", folder / "none-actor.yaml"
    options.write_text(OPTIONS.format(queues="{provider: none}", dlq="false", count=""))
    file.write_text(ACTOR.format(name=actor, scaling="{enabled: true}"))
    objects, said = checks.render("--config", options, file)
    checks.expect(objects is not None, f"the actor is refused: {said}")
    checks.expect(f"durable queue asya-{actor} must exist" in said, f"no warning names the queue: {said}")
    command = re.search(r"(rabbitmqadmin declare .*)$", said, re.MULTILINE).group(1)
    checks.expect(not sidecar_starts(server, f"asya-{actor}"), f"asya-{actor} exists before it is created")
    program = next(server.root.glob("usr/lib/rabbitmq/lib/*/plugins/rabbitmq_management-*/priv/www/cli/rabbitmqadmin"))
    for part in command.split(";"):
        words = part.split()
        checks.expect(words[:2] == ["rabbitmqadmin", "declare"], f"unexpected command {part}")
        login = ["--host=127.0.0.1", f"--port={server.http}", f"--username={USER}", f"--password={PASSWORD}"]
        result = run(sys.executable, program, *login, *words[1:])
        checks.expect(result.returncode == 0, f"{part}: {result.stdout}{result.stderr}")
    checks.expect(sidecar_starts(server, f"asya-{actor}"), f"the command does not create asya-{actor}")
    publish(server, actor)
    verdict = checks.judge([("none", objects)], f"127.0.0.1:{server.amqp}")["none", actor]
    checks.expect(verdict.get("length") == 1, f"KEDA says {verdict}")
    print("the command of KF2119 creates a queue for which the same holds")


def main():
    kubefoundry, keda, root = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    checks = Checks(kubefoundry, keda)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kubefoundry-actors-"))
    try:
        data = folder / "server"
        data.mkdir()
        server = Server(root, data)
        try:
            check_scaled_objects(checks)
            check_refusals(checks, folder)
            server.wait()
            for queue_type in ("quorum", "classic"):
                check_queues(checks, server, folder, queue_type)
            check_command(checks, server, folder)
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{checks.passed} passed, 0 failed")


if __name__ == "__main__":
    main()
