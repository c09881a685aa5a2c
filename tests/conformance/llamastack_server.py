"""Starts real llama-stack servers with external providers, from rendered Deployments.

usage: llamastack_server.py KUBEFOUNDRY CACHE

Every container of a rendered pod runs as the kubelet would run it: in a mount namespace with a root of its own, with the
volumes, the variables and the command of the manifest. The servers are llama-stack from PyPI. Images cannot be pulled
here, so their layouts are rebuilt: where their Containerfiles put the configuration, and which variables they set.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "tests/conformance/llamastack"
EXAMPLE = ROOT / "examples/llama-stack-packages"
# llama-stack, the Python that its list of packages was made with, and the first that is too new for the list.
OLD, NEW = ("0.2.12", (3, 11), (3, 12)), ("0.7.3", (3, 12), (3, 15))


def find_python(least, below):
    """Returns the first installed interpreter of a range."""
    names = [f"python3.{minor}" for minor in range(least[1], below[1])]
    home = Path.home()
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)] + [Path("/usr/bin"), Path("/usr/local/bin")]
    for pattern in (".pyenv/versions/*/bin", ".local/share/uv/python/*/bin"):
        folders += sorted(home.glob(pattern), reverse=True)
    for name in names:
        for folder in folders:
            program = folder / name
            if program.is_file() and subprocess.run([program, "-c", "import venv, ensurepip"], capture_output=True).returncode == 0:
                return program
    newest = below[1] - 1
    needed = f"Python 3.{least[1]}" if newest == least[1] else f"Python 3.{least[1]} to 3.{newest}"
    message = (
        f"{needed} with venv is not installed: install it, for example with `apt-get install python3.{least[1]}-venv`, "
        f"`pyenv install 3.{least[1]}` or `uv python install 3.{least[1]}`"
    )
    if os.environ.get("CI"):
        sys.exit(message)
    print(f"skipped: {message}")
    sys.exit(0)


def environment(cache, server):
    """Installs a server, once for each list of packages, and returns the directory of its environment."""
    version, least, below = server
    packages = FILES / f"server-{version}.txt"
    python = find_python(least, below)
    key = hashlib.sha256(packages.read_bytes() + str(python.resolve()).encode()).hexdigest()[:12]
    venv = cache / f"llamastack-{version}-{key}"
    if not (venv / "complete").exists():
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([python, "-m", "venv", venv], check=True)
        install = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement", packages]
        subprocess.run([venv / "bin/pip", *install], check=True)
        (venv / "complete").touch()
    return venv


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Image:
    """What is in an image apart from the system: an environment of Python, files, and variables."""

    def __init__(self, venv, files=(), variables=()):
        self.venv, self.files, self.variables = venv, dict(files), dict(variables)


def expand(text, variables):
    """Expands $(NAME) as the kubelet does: an unknown name stays, and $$ is a dollar sign."""
    return re.sub(r"\$\$|\$\(([^()$]+)\)", lambda it: "$" if it[0] == "$$" else variables.get(it[1], it[0]), text)


class Pod:
    """A pod of a rendered Deployment, with its volumes as directories."""

    def __init__(self, binary, objects, images, port):
        deployment = next(it for it in objects if it["kind"] == "Deployment")
        self.binary, self.images, self.port = binary, images, port
        self.spec = deployment["spec"]["template"]["spec"]
        self.directory = Path(tempfile.mkdtemp(prefix="llamastack-pod-"))
        config_maps = {it["metadata"]["name"]: it["data"] for it in objects if it["kind"] == "ConfigMap"}
        for volume in self.spec["volumes"]:
            directory = self.directory / volume["name"]
            directory.mkdir()
            # What fsGroup gives: the group of the volume, and its inheritance.
            directory.chmod(0o2777)
            for key, text in config_maps.get(volume.get("configMap", {}).get("name"), {}).items():
                (directory / key).write_text(text)

    def command(self, container, changes=()):
        """Returns the command that runs a container in its namespaces."""
        image = self.images(container)
        variables = {}
        for variable in container.get("env", []):
            variables[variable["name"]] = expand(variable.get("value", ""), variables)
        words = [expand(word, variables) for word in container.get("command", []) + container.get("args", [])]
        system = {"PATH": f"{image.venv}/bin:/usr/local/bin:/usr/bin:/bin", "HOME": "/", "HOSTNAME": "chat-0", "HF_HUB_OFFLINE": "1"}
        variables = {**system, **image.variables, **variables, **dict(changes)}
        root = self.directory / "root"
        root.mkdir(exist_ok=True)
        lines = ["set -e", "mount --make-rprivate /", f"mount -t tmpfs -o mode=0755 tmpfs {root}"]
        for entry in sorted(Path("/").iterdir()):
            if entry.is_symlink():
                lines.append(f"ln -s {shlex.quote(os.readlink(entry))} {root}{entry}")
            elif entry.is_dir() and entry.name not in ("opt", "app", "lls-provider", "workspace", ".llama", "old_root", "lost+found", "tmp"):
                lines.append(f"mkdir {root}{entry}; mount --rbind {entry} {root}{entry}")
        # A container has a /tmp of its own: the server of llama-stack 0.2.12 leaves its configuration there.
        lines.append(f"mkdir -m 1777 {root}/tmp")
        mounts = [(Path(source), target, False) for target, source in image.files.items()]
        for mount in container.get("volumeMounts", []):
            mounts.append((self.directory / mount["name"], mount["mountPath"], mount.get("readOnly", False)))
        for source, target, read_only in mounts:
            place = shlex.quote(f"{root}{target}")
            made = f"mkdir -p {place}" if source.is_dir() else f"mkdir -p \"$(dirname {place})\"; test -e {place} || touch {place}"
            lines.append(f"{made}; mount --bind {shlex.quote(str(source))} {place}")
            if read_only:
                lines.append(f"mount -o remount,bind,ro {place}")
        working = container.get("workingDir") or ("/app" if container["image"] == self.spec["containers"][0]["image"] else "/")
        lines.append(f"mkdir -p {root}{working}")
        # `env --chdir` runs inside of the root.
        assignments = " ".join(shlex.quote(f"{name}={value}") for name, value in variables.items())
        lines.append(f"exec chroot {root} /usr/bin/env -i --chdir={working} {assignments} {shlex.join(words)}")
        return ["unshare", "--mount", "sh", "-c", "\n".join(lines)]

    def initialize(self):
        """Runs the init containers. Returns the one that failed, if any, and its result."""
        for container in self.spec["initContainers"]:
            ran = subprocess.run(self.command(container), capture_output=True, text=True, timeout=120)
            if ran.returncode != 0:
                return container["name"], ran
        return None, None

    def read(self, path):
        return (self.directory / path).read_text()

    def start(self):
        return Server(self)

    def remove(self):
        shutil.rmtree(self.directory)


class Server:
    """The main container of a pod, with its log, as a context."""

    def __init__(self, pod):
        self.pod, self.url = pod, f"http://127.0.0.1:{pod.port}"
        self.log = pod.directory / "server.log"

    def __enter__(self):
        with open(self.log, "w") as log:
            command = self.pod.command(self.pod.spec["containers"][0], {"LLS_PORT": str(self.pod.port)})
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        limit = time.monotonic() + 120
        while time.monotonic() < limit and self.process.poll() is None:
            try:
                if self.ask("/v1/health"):
                    return self
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.5)
        self.stop()
        sys.exit(f"the server did not start (exit status {self.process.returncode}):\n{self.log.read_text()[-6000:]}")

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(timeout=10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def shield(self, text):
        body = {"shield_id": "acme", "messages": [{"role": "user", "content": text}], "params": {}}
        return self.ask("/v1/safety/run-shield", body)["violation"]


def check(condition, *details):
    if not condition:
        sys.exit("check failed: " + "\n".join(str(detail) for detail in details))


def initialized(pod):
    name, ran = pod.initialize()
    check(name is None, name, ran and ran.stdout, ran and ran.stderr)
    return pod


def render(binary, folder):
    ran = subprocess.run([binary, "render", folder], capture_output=True, text=True)
    check(ran.returncode == 0, ran.stdout, ran.stderr)
    objects = list(yaml.safe_load_all(ran.stdout))
    # A ConfigMap of the input is in the cluster.
    for file in sorted(Path(folder).glob("*.yaml")):
        objects += [it for it in yaml.safe_load_all(file.read_text()) if it and it["kind"] == "ConfigMap"]
    return objects


def images(distribution, binary, packages, provider_venv=None):
    """Returns the image of a container: that of the distribution, of kubefoundry, or of a provider."""
    tools = Path(tempfile.mkdtemp(prefix="llamastack-tools-"))
    shutil.copy(binary, tools / "kubefoundry")

    def image(container):
        name = container["name"]
        if name == "merge-config":
            return Image(distribution.venv, {"/usr/local/bin": tools})
        if name.startswith("external-provider-"):
            return Image(provider_venv or distribution.venv, {"/lls-provider": packages[name.removeprefix("external-provider-")]})
        return distribution

    return image


def official_image(venv, version):
    """The layout of an official image: containers/Containerfile of 0.3 and later, build_container.sh of 0.2."""
    base = FILES / f"base-{version}.yaml"
    if version.startswith("0.2."):
        return Image(venv, {"/app/run.yaml": base})
    package = next(venv.glob("lib/python3.*/site-packages/llama_stack"))
    return Image(venv, {str(package / "distributions/starter/config.yaml"): base}, {"DISTRO_NAME": "starter", "RUN_CONFIG_PATH": ""})


def example_starts(binary, venv, version):
    """The shipped example, on an official image: its providers are served, and one of them answers."""
    packages = {"vllm": EXAMPLE / "acme-vllm", "acme-guard": EXAMPLE / "acme-guard"}
    pod = Pod(binary, render(binary, EXAMPLE), images(official_image(venv, version), binary, packages), free_port())
    initialized(pod)
    check("Added 'safety' to apis" in pod.read("config/merge-log.txt"), pod.read("config/merge-log.txt"))
    with pod.start() as server:
        providers = {it["provider_id"]: it for it in server.ask("/v1/providers")["data"]}
        check(providers["acme-guard"]["provider_type"] == "inline::acme-guard", providers)
        check(providers["vllm"]["provider_type"] == "remote::acme-vllm", providers)
        check(providers["vllm"]["config"]["url"] == "http://vllm.models.svc:8000/v1", providers)
        check(server.shield("hello") is None)
        violation = server.shield("a bomb")
        check(violation["metadata"]["words"] == ["bomb"], violation)
    pod.remove()


def variant(change, base=None):
    """Returns a copy of the example with changes to its distribution, and optionally to the configuration in the image."""
    folder = Path(tempfile.mkdtemp(prefix="llamastack-variant-"))
    distribution = yaml.safe_load((EXAMPLE / "distribution.yaml").read_text())
    change(distribution["spec"]["server"])
    (folder / "distribution.yaml").write_text(yaml.safe_dump(distribution))
    shutil.copy(EXAMPLE / "kubefoundry.yaml", folder)
    return folder


def settings_arrive(binary, venv, version):
    """Processes, settings that look like variables, and a provider of the base that exists under a condition only."""
    note = "$(HOSTNAME) ${env.NOPE:=x}"

    def change(server):
        server["workers"] = 2
        server["containerSpec"]["env"] = [{"name": "SAFETY_MODEL", "value": "guard"}]
        server["externalProviders"]["safety"][0]["config"] = {"words": ["dynamite"], "note": note, "threshold": 1.0e-8}

    image = official_image(venv, version)
    base = yaml.safe_load((FILES / f"base-{version}.yaml").read_text())
    base["providers"]["safety"] = [{"provider_id": "${env.SAFETY_MODEL:+acme-guard}", "provider_type": "inline::llama-guard"}]
    place = Path(tempfile.mkdtemp()) / "config.yaml"
    place.write_text(yaml.safe_dump(base))
    image.files = dict.fromkeys(image.files, place)
    packages = {"vllm": EXAMPLE / "acme-vllm", "acme-guard": EXAMPLE / "acme-guard"}
    pod = initialized(Pod(binary, render(binary, variant(change)), images(image, binary, packages), free_port()))
    with pod.start() as server:
        found = [it for it in server.ask("/v1/providers")["data"] if it["provider_id"] == "acme-guard"]
        check([it["provider_type"] for it in found] == ["inline::acme-guard"], found)
        config = found[0]["config"]
        check(config["note"] == "$(HOSTNAME) x" and config["threshold"] == 1.0e-8, config)
        check(server.shield("a bomb") is None and server.shield("dynamite")["metadata"]["note"] == "$(HOSTNAME) x")
    pod.remove()


def the_starter_is_merged(binary, venv):
    """The configuration of the real starter, found as in its image, is one that llama-stack reads after the merge."""
    image = Image(venv, variables={"DISTRO_NAME": "starter", "RUN_CONFIG_PATH": ""})
    packages = {"vllm": EXAMPLE / "acme-vllm", "acme-guard": EXAMPLE / "acme-guard"}
    pod = initialized(Pod(binary, render(binary, EXAMPLE), images(image, binary, packages), free_port()))
    base, merged = yaml.safe_load(pod.read("base-config/run.yaml")), yaml.safe_load(pod.read("config/run.yaml"))
    check("overrides base provider in API 'inference'" in pod.read("config/merge-log.txt"), pod.read("config/merge-log.txt"))
    kept = [it for it in base["providers"]["inference"] if it["provider_id"] != "${env.VLLM_URL:+vllm}"]
    check(merged["providers"]["inference"][:-1] == kept, merged["providers"]["inference"])
    for section in ("inference", "safety"):
        base["providers"].pop(section, None)
        merged["providers"].pop(section)
    check(base == merged or {**base, "apis": merged["apis"]} == merged, "more than the providers changed")
    code = "import sys, yaml; from llama_stack.core.datatypes import StackConfig; from llama_stack.core.stack import replace_env_vars; "
    code += "StackConfig(**replace_env_vars(yaml.safe_load(open(sys.argv[1]))))"
    ran = subprocess.run([venv / "bin/python", "-c", code, pod.directory / "config/run.yaml"], capture_output=True, text=True)
    check(ran.returncode == 0, ran.stderr)
    pod.remove()


def write_package(api, module, wheels):
    """Writes the directory of a provider package with wheels that have these members and requirements."""
    directory = Path(tempfile.mkdtemp(prefix="llamastack-package-"))
    (directory / "packages").mkdir()
    names = []
    for file, members, requirements in wheels:
        name, version = file.split("-")[:2]
        info = f"{name}-{version}.dist-info"
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {it}\n" for it in requirements)
        tag = "-".join(file.removesuffix(".whl").split("-")[-3:])
        members = {**members, f"{info}/METADATA": metadata, f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n"}
        members[f"{info}/RECORD"] = "".join(f"{member},,\n" for member in [*members, f"{info}/RECORD"])
        with zipfile.ZipFile(directory / "packages" / file, "w") as wheel:
            for member, text in members.items():
                wheel.writestr(member, text)
        names.append(file)
    metadata = {
        "apiVersion": "llamastack.io/v1alpha1",
        "kind": "ProviderPackage",
        "metadata": {"name": module, "version": "1.0.0", "vendor": "Test"},
        "spec": {"packageName": module, "providerType": f"inline::{module}", "api": api, "wheelPath": f"packages/{names[0]}"},
    }
    (directory / "lls-provider-spec.yaml").write_text(yaml.safe_dump(metadata))
    return directory


def spec_of(module, provider_type):
    return {
        f"{module}/__init__.py": "async def get_provider_impl(config, deps): raise NotImplementedError\n",
        f"{module}/provider.py": "from llama_stack_api import Api, InlineProviderSpec\n"
        "def get_provider_spec():\n"
        f"    return InlineProviderSpec(api=Api.safety, provider_type={provider_type!r}, module={module!r}, config_class='builtins.dict', pip_packages=[])\n",
    }


def pod_of(binary, venv, version, packages, provider_venv=None):
    """Returns a pod whose safety providers have these packages, in this order."""
    digest = "sha256:" + "0" * 64

    def change(server):
        providers = [{"providerId": name, "image": f"registry.example.com/{name}@{digest}"} for name in packages]
        server["externalProviders"] = {"safety": providers}

    image = images(official_image(venv, version), binary, packages, provider_venv)
    return Pod(binary, render(binary, variant(change)), image, free_port())


def refuses_to_start(pod, *expected):
    """The server of a pod does not start, and its message names what is needed to fix it."""
    initialized(pod)
    command = pod.command(pod.spec["containers"][0], {"LLS_PORT": str(pod.port)})
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    check(ran.returncode == 1, ran.returncode, ran.stderr)
    for text in expected:
        check(text in ran.stderr, text, "is not in", ran.stderr)
    pod.remove()


def mistakes_are_named(binary, new, old, version):
    """What stops a server names the provider, its image and the remedy, before llama-stack is started."""
    image = "registry.example.com/one@sha256:" + "0" * 64
    who = f"Provider: one\nImage: {image}\n"
    plain = write_package("safety", "one", [("one-1-py3-none-any.whl", {"one.py": "x = 1\n"}, [])])
    pod = pod_of(binary, new, version, {"one": plain})
    refuses_to_start(pod, "from get_provider_spec() of one.provider", who, "one/provider.py with get_provider_spec()")
    lacking = write_package("safety", "one", [("one-1-py3-none-any.whl", {"one/provider.py": "import left_out\n"}, [])])
    refuses_to_start(pod_of(binary, new, version, {"one": lacking}), "ModuleNotFoundError: No module named 'left_out'", who)
    # The provider's image has the Python of the old server.
    minor = subprocess.run([old / "bin/python", "-c", "import sys; print(sys.version_info[1])"], capture_output=True, text=True).stdout.strip()
    machine = os.uname().machine
    native = ("fast-1-cp3{0}-cp3{0}-linux_{1}.whl".format(minor, machine), {"fast.py": ""}, [])
    other = write_package("safety", "one", [("one-1-py3-none-any.whl", spec_of("one", "inline::one"), ["fast"]), native])
    pod = pod_of(binary, new, version, {"one": other}, provider_venv=old)
    refuses_to_start(pod, "native code for another Python", who, f"Found: {native[0]}", "Build the provider image on Python 3.")
    # The metadata has another type than the code: a warning, and the server goes on.
    differing = write_package("safety", "one", [("one-1-py3-none-any.whl", spec_of("one", "inline::other"), [])])
    pod = pod_of(binary, new, version, {"one": differing})
    initialized(pod)
    script = pod.command(pod.spec["containers"][0], {"LLS_PORT": "-1"})
    log = subprocess.run(script, capture_output=True, text=True, timeout=120).stderr
    check("WARNING: Provider metadata mismatch (non-blocking)\n\nProvider: one\n\nField: provider_type\n" in log, log)
    check("  Using: inline::other (runtime value)\n" in log and "  Match \u2713" in log, log)
    pod.remove()


def providers_share_packages(binary, venv, version):
    """Two providers bring one package in two versions: they share one where both accept it, and exclude each other otherwise."""

    def provider(name, requirement, lib):
        main = (f"{name}-1-py3-none-any.whl", spec_of(name, f"inline::{name}"), [requirement])
        return write_package("safety", name, [main, (f"lib-{lib}-py3-none-any.whl", {"lib.py": f"version = {lib!r}\n"}, [])])

    one = provider("one", "lib>=1", "1.0")
    pod = pod_of(binary, venv, version, {"one": one, "two": provider("two", "lib>=1", "1.0.1")})
    initialized(pod)
    check(pod.read("external-providers/python-packages/lib.py") == "version = '1.0'\n")
    check("# kept lib==1.0 instead of 1.0.1" in pod.read("external-providers/installed-packages.txt"))
    pod.remove()
    pod = pod_of(binary, venv, version, {"one": one, "two": provider("two", "lib>=2", "2.0")})
    name, ran = pod.initialize()
    check(name == "external-provider-two" and ran.returncode == 1, name, ran and ran.stderr)
    for text in ("Cannot install lib==2.0 of provider 'two'", "because provider 'one' (image: registry.example.com/one@", "installed lib==1.0", "two==1 requires lib>=2", "installed-packages.txt"):
        check(text in ran.stderr, text, "is not in", ran.stderr)
    pod.remove()


def wheels_are_of_their_sources(venv):
    """The wheels of the example are built from its sources."""
    for name in ("acme-guard", "acme-vllm"):
        with tempfile.TemporaryDirectory() as folder:
            sources = Path(folder) / "src"
            shutil.copytree(EXAMPLE / "src", sources)
            projects = [sources / name, sources / "acme-client"]
            subprocess.run([venv / "bin/pip", "wheel", "--quiet", "--disable-pip-version-check", "--wheel-dir", f"{folder}/packages", *projects], check=True)
            for wheel in Path(folder, "packages").iterdir():
                with zipfile.ZipFile(wheel) as built, zipfile.ZipFile(EXAMPLE / name / "packages" / wheel.name) as shipped:
                    modules = [member for member in built.namelist() if member.endswith(".py")]
                    check(modules == [member for member in shipped.namelist() if member.endswith(".py")], wheel.name, modules)
                    for member in modules:
                        check(built.read(member) == shipped.read(member), f"{wheel.name}: {member} is not that of src/")


def the_guide_works(binary, venv, version):
    """docs/llama-stack-provider.md, from an empty folder to an answer of its provider."""
    page = (ROOT / "docs/llama-stack-provider.md").read_text()
    folder = Path(tempfile.mkdtemp(prefix="llamastack-guide-"))
    files = re.findall(r"^`([^`\n]+)`:\n\n```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    check({"demo_words/provider.py", "pyproject.toml", "image/lls-provider-spec.yaml", "server/distribution.yaml"} <= {name for name, _ in files}, files)
    for name, text in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    commands = re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    tools = Path(tempfile.mkdtemp(prefix="llamastack-tools-"))
    shutil.copy(binary, tools / "kubefoundry")
    path = os.pathsep.join([f"{venv}/bin", str(tools), os.environ["PATH"]])
    ran = subprocess.run(["sh", "-e", "-c", commands[0]], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    promised = re.search(r"It prints `(image: ok: .*)`", page)[1]
    check(ran.returncode == 0 and promised in ran.stdout.splitlines(), ran.stdout, ran.stderr)
    image = images(official_image(venv, version), binary, {"words": folder / "image"})
    base = yaml.safe_load((FILES / f"base-{version}.yaml").read_text())
    base["registered_resources"]["shields"] = []
    place = folder / "config.yaml"
    place.write_text(yaml.safe_dump(base))
    original = image

    def without_shields(container):
        made = original(container)
        return Image(made.venv, {name: place if name.endswith("config.yaml") else file for name, file in made.files.items()}, made.variables)

    pod = initialized(Pod(binary, render(binary, folder / "server"), without_shields, free_port()))
    with pod.start() as server:
        # What curl sends: the words of each command after the address.
        answers = []
        for line in commands[1].splitlines():
            words = shlex.split(line)
            answers.append(server.ask(words[1].removeprefix("localhost:8321"), json.loads(words[3])))
        check(answers[1]["violation"]["metadata"] == {"words": ["dynamite"]}, answers)
    pod.remove()


def main():
    binary, cache = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    if os.geteuid() != 0:
        sys.exit("the containers of a pod need mount namespaces: run this as root, or in `unshare --map-root-user --mount`")
    # Checks leave pods, packages and copies of the example behind, also when one fails: all of them are removed at the end.
    with tempfile.TemporaryDirectory(prefix="llamastack-") as scratch:
        tempfile.tempdir = scratch
        run_checks(binary, cache)


def run_checks(binary, cache):
    began = time.monotonic()

    def done(text):
        print(f"{time.monotonic() - began:6.1f} s  {text}", flush=True)

    new, old = environment(cache, NEW), environment(cache, OLD)
    done("environments of the servers are installed")
    wheels_are_of_their_sources(new)
    done("the wheels of the example are those of its sources")
    for venv, (version, *_) in ((new, NEW), (old, OLD)):
        example_starts(binary, venv, version)
        done(f"llama-stack {version} serves the example, and its shield answers")
    the_guide_works(binary, new, NEW[0])
    done("a provider is developed as the guide says")
    settings_arrive(binary, new, NEW[0])
    done("settings arrive, and a conditional provider is replaced")
    the_starter_is_merged(binary, new)
    done("the configuration of the real starter is found and merged")
    mistakes_are_named(binary, new, old, NEW[0])
    done("mistakes of packages are named")
    providers_share_packages(binary, new, NEW[0])
    done("providers share packages")


if __name__ == "__main__":
    main()
