"""Checks our schemas in an editor: the real yaml-language-server, over LSP.

usage: check_editor.py KUBEFOUNDRY YAML_LANGUAGE_SERVER

In tests/conformance/editor/broken.yaml the server must mark exactly the lines that `kubefoundry lint` reports, which have
the comment `# mistake`. It must mark nothing in the examples, and it must complete and explain fields. The schema is
named in the settings (`yaml.schemas`), and once in the document itself. An empty document and empty objects complete to
what `lint` accepts.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BROKEN = ROOT / "tests/conformance/editor/broken.yaml"
SCHEMA = ROOT / "schemas/kubefoundry.json"


# Kubernetes reads YAML 1.1.
SETTINGS = {
    "validate": True,
    "hover": True,
    "completion": True,
    "yamlVersion": "1.1",
    "schemas": {SCHEMA.as_uri(): "*.yaml"},
}


class Server:
    """Talks to a language server over its standard input and output."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last = 0

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def read(self):
        length = 0
        while (line := self.process.stdout.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the server ended"
        return json.loads(self.process.stdout.read(length))

    def wait(self, wanted):
        """Returns the first message that `wanted` accepts, and answers the requests of the server until then."""
        while True:
            message = self.read()
            if "method" in message and "id" in message:
                items = message.get("params", {}).get("items", [])
                settings = {"yaml": SETTINGS}
                result = [settings.get(item.get("section")) for item in items] or None
                self.send({"id": message["id"], "result": result})
            elif wanted(message):
                return message

    def request(self, method, params):
        self.last += 1
        number = self.last
        self.send({"id": number, "method": method, "params": params})
        answer = self.wait(lambda message: message.get("id") == number)
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, path):
        """Opens a document and returns the diagnostics of the server."""
        uri = path.as_uri()
        item = {"uri": uri, "languageId": "yaml", "version": 1, "text": path.read_text()}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": item}})

        def published(message):
            about = message.get("method") == "textDocument/publishDiagnostics"
            return about and message["params"]["uri"] == uri

        return self.wait(published)["params"]["diagnostics"]


def start(command):
    server = Server(command)
    workspace = {"configuration": True, "didChangeConfiguration": {"dynamicRegistration": True}}
    text = {"hover": {}, "completion": {"completionItem": {"snippetSupport": False}}}
    capabilities = {"workspace": workspace, "textDocument": text}
    server.request("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities})
    server.send({"method": "initialized", "params": {}})
    server.send({"method": "workspace/didChangeConfiguration", "params": {"settings": None}})
    return server


def lines_of(diagnostics):
    return {diagnostic["range"]["start"]["line"] + 1 for diagnostic in diagnostics}


def lines_that(text, wanted):
    return [number for number, line in enumerate(text.splitlines(), 1) if wanted in line]


def completions(server, path, text):
    """Opens a text with `|` at the cursor, and returns what the server offers there, by label."""
    before, after = text.split("|")
    path.write_text(before + after)
    server.open(path)
    place = {"line": before.count("\n"), "character": len(before.split("\n")[-1])}
    answer = server.request("textDocument/completion", {"textDocument": {"uri": path.as_uri()}, "position": place})
    return {item["label"]: item.get("insertText", item["label"]) for item in answer["items"]}


def without_stops(snippet):
    """Returns a snippet with the defaults of its places, as an editor inserts it."""
    return re.sub(r"\$\{\d+(?:\|([^,|]+)[^|]*\||:([^}]*))\}", lambda place: place[1] or place[2], snippet)


def check_snippets(server, binary, folder):
    """An empty document completes to documents that `lint` accepts, and empty objects of a model to their fields."""
    offered = completions(server, folder / "empty.yaml", "|")
    kinds = ["ModelDeployment", "ModelDeployment, disaggregated", "InferenceProviderConfig", "Render", "AsyncActor"]
    assert sorted(offered) == sorted(kinds), sorted(offered)
    for label, snippet in offered.items():
        document = folder / f"{label.split(',')[0]}-{len(label)}.yaml"
        document.write_text(without_stops(snippet) + "\n")
        marked = server.open(document)
        assert not marked, f"{label}: {marked}"
        if label.startswith("ModelDeployment"):
            lint = subprocess.run([binary, "lint", str(document)], capture_output=True, text=True, check=False)
            assert lint.returncode == 0, f"{label}: {lint.stdout}"
    model = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: a}\nspec:\n  "
    offered = completions(server, folder / "gpu.yaml", f"{model}resources:\n    gpu:\n      |\n")
    assert offered["GPUs"] == "count: ${1:1}", offered
    for role in ["prefill", "decode"]:
        offered = completions(server, folder / f"{role}.yaml", f"{model}scaling:\n    {role}:\n      |\n")
        assert offered["workers"].startswith("replicas: ${1:1}\ngpu:\n  count: "), offered
    # A document with a kind is not offered the others.
    offered = completions(server, folder / "kind.yaml", "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\n|\n")
    assert "Render" not in offered and "ModelDeployment" in offered, sorted(offered)
    return len(kinds)


def main(binary, *command):
    text = BROKEN.read_text()
    expected = set(lines_that(text, "# mistake"))
    # Exit status 1 means that lint found errors.
    lint = subprocess.run([binary, "lint", str(BROKEN), "--output", "json"], capture_output=True, text=True, check=False)
    assert lint.returncode == 1, lint.stderr
    reported = [found for found in json.loads(lint.stdout)["diagnostics"] if found["severity"] != "info"]
    # A schema cannot know the runtime, which decides the flags that exist.
    of_lint = expected | set(lines_that(text, "# The runtime decides"))
    assert {found["line"] for found in reported} == of_lint, sorted(found["line"] for found in reported)

    server = start(list(command))
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        marked = server.open(BROKEN)
        listing = "\n".join(f"  {found['range']['start']['line'] + 1}: {found['message']}" for found in marked)
        print(f"yaml-language-server on broken.yaml:\n{listing}")
        assert lines_of(marked) == expected, f"marked {sorted(lines_of(marked))}, expected {sorted(expected)}"

        document = {"uri": BROKEN.as_uri()}
        place = {"line": lines_that(text, "contextLength")[0] - 1, "character": 6}
        hover = server.request("textDocument/hover", {"textDocument": document, "position": place})
        shown = json.dumps(hover)
        assert "--max-model-len" in shown, hover
        # The heading is the kind.
        assert hover["contents"]["value"].startswith("#### ModelDeployment\n"), hover
        # The text is shown as Markdown: `code` keeps its back-quotes, and none is escaped.
        assert "`" in shown and "\\\\`" not in shown, hover
        place = {"line": lines_that(text, "gpu-memory-utilization")[0] - 1, "character": 6}
        answer = server.request("textDocument/completion", {"textDocument": document, "position": place})
        labels = {item["label"] for item in answer["items"]}
        assert {"max-model-len", "enable-prefix-caching"} <= labels, sorted(labels)[:20]

        # The settings do not cover this file, so a comment names the schema of its first document.
        first = text.split("---\n")[0]
        modeline = folder / "modeline.yml"
        modeline.write_text(f"# yaml-language-server: $schema={SCHEMA.as_uri()}\n{first}")
        assert lines_of(server.open(modeline)) == {number + 1 for number in lines_that(first, "# mistake")}

        snippets = check_snippets(server, binary, folder)

        examples = sorted(ROOT.glob("examples/*/*.yaml"))
        for example in examples:
            marked = server.open(example)
            assert not marked, f"{example}: {marked}"
    server.process.kill()
    print(
        f"{len(expected)} mistakes are marked as by lint, {len(examples)} examples have no mark, and {snippets} snippets are"
        " right"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
