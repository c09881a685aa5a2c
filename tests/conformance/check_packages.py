"""Installs each package of a release where nothing else is, and runs it.

Every program must render examples/llama-8b to the bytes of the program for this machine. Programs for another architecture
run in QEMU. Needs root, and the tools that .ci/packages/tools installs.

Usage: check_packages.py FOLDER [ARCHITECTURE…]

The operator is not expected for these architectures (`.ci/package --cross-profile`).
"""

import contextlib
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/llama-8b"
NATIVE = platform.machine()
# Architectures as rustc names them, and as Debian, Go and OCI do.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# Completions below a folder such as /usr/share.
COMPLETIONS = ["bash-completion/completions/kubefoundry", "zsh/site-functions/_kubefoundry", "fish/vendor_completions.d/kubefoundry.fish"]


def run(command, **options):
    ran = subprocess.run([str(word) for word in command], capture_output=True, **options)
    assert ran.returncode == 0, (command, ran.returncode, ran.stdout[-2000:], ran.stderr.decode(errors="replace")[-4000:])
    return ran.stdout


def emulator(architecture):
    """Returns the command that runs a program of an architecture: none on this machine."""
    if architecture == NATIVE:
        return []
    program = shutil.which(f"qemu-{architecture}-static")
    assert program, f"qemu-{architecture}-static is needed to run programs for {architecture}"
    return [os.path.realpath(program)]


class Root:
    """An empty root directory, whose programs run as a user without rights."""

    def __init__(self, directory, architecture):
        self.directory, self.emulator = pathlib.Path(directory), []
        self.directory.chmod(0o755)
        for program in emulator(architecture):
            shutil.copy(program, self.directory / ".emulator")
            self.emulator = ["/.emulator"]
        # The image of the command line has a working directory.
        shutil.copytree(EXAMPLE, self.directory / "example", copy_function=shutil.copyfile)

    def run(self, *command, user="999:999", **options):
        chroot = [shutil.which("chroot"), f"--userspec={user}", self.directory]
        return run([*chroot, *self.emulator, *command], env={}, **options)

    def contents(self):
        return {path: path.stat(follow_symlinks=False).st_mtime_ns for path in self.directory.rglob("*")}


@contextlib.contextmanager
def empty_root(architecture):
    with tempfile.TemporaryDirectory(prefix="package-") as directory:
        yield Root(directory, architecture)


def has_documents(folder, completions):
    """Checks the man pages and completions below a folder such as /usr/share."""
    pages = {page.name for page in (folder / "man/man1").iterdir()}
    assert {"kubefoundry.1", "kubefoundry-render.1"} <= pages, pages
    for file in completions:
        assert "kubefoundry" in (folder / file).read_text(), file


class Release:
    """The files of a release, and what the program for this machine renders."""

    def __init__(self, folder, without_operator):
        self.folder, self.without_operator = folder, without_operator
        archives = [path.name for path in folder.glob("kubefoundry-*-unknown-linux-gnu.tar.gz")]
        self.version = re.match(r"kubefoundry-(.+)-[^-]+-unknown-linux-gnu\.tar\.gz$", archives[0])[1]
        self.architectures = [it for it in ARCHITECTURES if self.archive(it).name in archives]
        assert NATIVE in self.architectures and len(archives) == len(self.architectures), archives
        with tempfile.TemporaryDirectory() as directory:
            run(["tar", "-xzf", self.archive(NATIVE), "-C", directory, "--strip-components=1"])
            self.rendered = run([f"{directory}/kubefoundry", "render", EXAMPLE])
        assert b"kind: DynamoGraphDeployment" in self.rendered

    def archive(self, architecture):
        return self.folder / f"kubefoundry-{self.version}-{architecture}-unknown-linux-gnu.tar.gz"

    def one(self, pattern):
        found = list(self.folder.glob(pattern))
        assert len(found) == 1, (pattern, found)
        return found[0]

    def built_for(self, program):
        """Returns the architectures that have a program."""
        return [it for it in self.architectures if program != "kubefoundry-operator" or it not in self.without_operator]

    def renders(self, output):
        assert output == self.rendered, output[:500]

    def functions(self, output):
        """Checks what the KRM function returns for an empty list."""
        assert b"kind: ResourceList" in output, output


RESOURCE_LIST = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"


def archives(release):
    for architecture in release.architectures:
        with empty_root(architecture) as root:
            run(["tar", "-xzf", release.archive(architecture), "-C", root.directory, "--strip-components=1"])
            before = root.contents()
            release.renders(root.run("/kubefoundry", "render", "/example"))
            # The plugin of Argo CD reads the directory in which it is started.
            release.renders(root.run("/kubefoundry", "argocd", "generate"))
            release.functions(root.run("/kubefoundry", "fn", input=RESOURCE_LIST))
            has_operator = architecture in release.built_for("kubefoundry-operator")
            assert (root.directory / "kubefoundry-operator").exists() == has_operator
            if has_operator:
                assert b"\nkind: Deployment\n" in root.run("/kubefoundry-operator", "manifests")
            assert root.contents() == before, "a program wrote into its root"
            for name in ("kubefoundry.bash", "_kubefoundry", "kubefoundry.fish"):
                assert (root.directory / "completions" / name).stat().st_size > 0
            assert (root.directory / "man/kubefoundry-render.1").exists()
            run(["bash", "-n", root.directory / "completions/kubefoundry.bash"])


def bills_of_materials(release):
    for name, component in (("kubefoundry", "granit-parser"), ("kubefoundry-operator", "kube")):
        for architecture in release.built_for(name):
            text = (release.folder / f"{name}-{release.version}-{architecture}-unknown-linux-gnu.cdx.json").read_text()
            bill = json.loads(text)
            invalid = JsonStrictValidator(SchemaVersion.from_version(bill["specVersion"])).validate_str(text)
            assert invalid is None, invalid
            assert component in {it["name"] for it in bill["components"]}, name
            assert str(ROOT) not in text, "a path of this machine"


def system_packages(release):
    """Installs the packages of Debian and RPM, and removes them again."""
    for architecture in release.architectures:
        debian = {"install": ["--force-architecture", "--install"], "remove": ["--purge", "kubefoundry"]}
        rpm = {"install": ["--install", "--nodeps", "--ignorearch"], "remove": ["--erase", "kubefoundry"]}
        for file, manager, zsh in (
            (release.one(f"*_{ARCHITECTURES[architecture]}.deb"), debian, "vendor-completions"),
            (release.one(f"*.{architecture}.rpm"), rpm, "site-functions"),
        ):
            with empty_root(architecture) as root:
                if manager is debian:
                    (root.directory / "var/lib/dpkg/updates").mkdir(parents=True)
                    (root.directory / "var/lib/dpkg/info").mkdir()
                    (root.directory / "var/lib/dpkg/status").touch()
                    program = ["dpkg", "--root", root.directory, "--log", "/dev/null", "--force-not-root"]
                else:
                    program = ["rpm", "--root", root.directory, "--dbpath", "/var/lib/rpm"]
                    run([*program, "--initdb"])
                run([*program, *manager["install"], file])
                release.renders(root.run("/usr/bin/kubefoundry", "render", "/example"))
                release.renders(root.run("/usr/bin/kubectl-kubefoundry", "render", "/example"))
                release.functions(root.run("/usr/bin/kubefoundry-fn", input=RESOURCE_LIST))
                share = root.directory / "usr/share"
                has_documents(share, [file.replace("site-functions", zsh) for file in COMPLETIONS])
                assert (share / "doc/kubefoundry/sbom/kubefoundry.cdx.json").exists()
                run([*program, *manager["remove"]])
                left = [path for path in root.directory.rglob("*kubefoundry*") if "/var/lib/" not in str(path)]
                assert left == [], left


def wheels(release):
    for architecture in release.architectures:
        wheel = release.one(f"*manylinux*_{architecture}*.whl")
        assert wheel.name.startswith(f"kubefoundry-{release.version}-py3-none-"), wheel
        with tempfile.TemporaryDirectory(prefix="package-") as directory:
            directory = pathlib.Path(directory)
            run([sys.executable, "-m", "venv", directory])
            options = ["--quiet", "--disable-pip-version-check", "--no-index", "--find-links", release.folder]
            installed = directory
            if architecture != NATIVE:
                # For another machine, pip installs only into the folder of --target, and replaces no folder in it.
                installed = directory / "installed"
                options += ["--target", installed, "--platform", f"manylinux2014_{architecture}", "--only-binary=:all:"]
            run([directory / "bin/pip", "install", *options, "kubefoundry"])
            release.renders(run([*emulator(architecture), installed / "bin/kubefoundry", "render", EXAMPLE]))
            has_documents(installed / "share", COMPLETIONS)
            if architecture == NATIVE:
                shown = run([directory / "bin/pip", "--disable-pip-version-check", "show", "kubefoundry"]).decode()
                assert f"Version: {release.version}\n" in shown and "License" in shown, shown


def git(directory, *arguments):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
    run(["git", *identity, *arguments], cwd=directory)


def pre_commit(release):
    """Runs the hooks from a repository, as in docs/ci.md: pre-commit installs the wheel."""
    with tempfile.TemporaryDirectory(prefix="package-") as directory:
        directory = pathlib.Path(directory)
        ours, theirs = directory / "kubefoundry", directory / "models"
        ours.mkdir()
        for name in (".pre-commit-hooks.yaml", "Cargo.toml", "pyproject.toml", "setup.py"):
            shutil.copy(ROOT / name, ours)
        shutil.copytree(EXAMPLE, theirs)
        config = {"repos": [{"repo": str(ours), "rev": f"v{release.version}", "hooks": [{"id": "kubefoundry-lint"}]}]}
        (theirs / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
        for repository in (ours, theirs):
            git(repository, "init", "--quiet")
            git(repository, "add", "--all")
            git(repository, "commit", "--quiet", "--message", "state")
        git(ours, "tag", f"v{release.version}")
        # The package that the hook is installed with is built by setuptools. Everything else has to be in the release.
        backend = directory / "backend"
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        run([*pip, "download", "--no-deps", "--dest", backend, "setuptools"])
        environment = {
            **os.environ,
            "PRE_COMMIT_HOME": str(directory / "cache"),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": f"{release.folder} {backend}",
            # No other kubefoundry than the one of the environment.
            "PATH": "/usr/local/bin:/usr/bin:/bin",
        }
        hook = [sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose"]
        passed = run(hook, cwd=theirs, env=environment)
        assert b"Passed" in passed, passed
        programs = list((directory / "cache").glob("repo*/py_env-*/bin/kubefoundry"))
        assert len(programs) == 1, programs
        release.renders(run([programs[0], "render", EXAMPLE]))
        model = theirs / "model.yaml"
        model.write_text(model.read_text().replace("engine:", "engin:"))
        git(theirs, "add", "--all")
        failed = subprocess.run(hook, cwd=theirs, env=environment, capture_output=True, text=True)
        assert failed.returncode == 1 and "KF0113" in failed.stdout, failed


def images(release):
    runs = {
        "kubefoundry": lambda start: release.renders(start("render", "/example")),
        "kubefoundry-argocd": lambda start: release.renders(start("argocd", "generate")),
        "kubefoundry-fn": lambda start: release.functions(start(input=RESOURCE_LIST)),
        "kubefoundry-operator": lambda start: expect(b"\nkind: Deployment\n" in start("manifests")),
    }
    assert {path.name for path in (release.folder / "images").iterdir()} == set(runs)
    for name, check in runs.items():
        reference = f"oci:{release.folder / 'images' / name}:{release.version}"
        index = json.loads(run(["skopeo", "inspect", "--raw", reference]))
        built = {(it["platform"]["os"], it["platform"]["architecture"]) for it in index["manifests"]}
        assert built == {("linux", ARCHITECTURES[it]) for it in release.built_for(name)}, built
        for architecture in release.built_for(name):
            skopeo = ["skopeo", "--override-arch", ARCHITECTURES[architecture]]
            config = json.loads(run([*skopeo, "inspect", "--config", reference]))
            assert config["architecture"] == ARCHITECTURES[architecture], config
            user, labels = config["config"]["User"], config["config"]["Labels"]
            assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user), user
            assert labels["org.opencontainers.image.version"] == release.version, labels
            assert {"title", "licenses", "source", "revision"} <= {it.removeprefix("org.opencontainers.image.") for it in labels}, labels
            with empty_root(architecture) as root, tempfile.TemporaryDirectory(prefix="package-") as layers:
                run([*skopeo, "copy", "--quiet", reference, f"dir:{layers}"])
                manifest = json.loads(pathlib.Path(layers, "manifest.json").read_text())
                for layer in manifest["layers"]:
                    run(["tar", "-xzf", pathlib.Path(layers, layer["digest"].removeprefix("sha256:")), "-C", root.directory])
                entry = config["config"]["Entrypoint"]
                check(lambda *arguments, **options: root.run(*entry, *arguments, user=user, **options))
                local = root.directory / "usr/local"
                assert list((local / "share/sbom").glob("*.cdx.json")), name
                if name == "kubefoundry":
                    has_documents(local / "share", COMPLETIONS)


def expect(condition):
    assert condition


def krew(release):
    """Installs the plugin with krew, from the archive instead of its address, and runs it as kubectl does."""
    manifest = release.folder / "kubefoundry.krew.yaml"
    with tempfile.TemporaryDirectory(prefix="package-") as directory:
        # In krew's index, a manifest has the name of its plugin.
        copy = shutil.copy(manifest, f"{directory}/kubefoundry.yaml")
        run(["validate-krew-manifest", "-manifest", copy, "-skip-install"])
    for architecture in release.architectures:
        with tempfile.TemporaryDirectory(prefix="package-") as directory:
            directory = pathlib.Path(directory)
            bin_folder = directory / "krew/bin"
            environment = {
                **os.environ,
                "HOME": str(directory),
                "KREW_ROOT": str(directory / "krew"),
                "KREW_OS": "linux",
                "KREW_ARCH": ARCHITECTURES[architecture],
                "KREW_NO_UPGRADE_CHECK": "1",
                "PATH": f"{bin_folder}:{os.environ['PATH']}",
            }
            run(["krew", "install", f"--manifest={manifest}", f"--archive={release.archive(architecture)}"], env=environment)
            plugin = bin_folder / "kubectl-kubefoundry"
            if architecture == NATIVE and shutil.which("kubectl"):
                release.renders(run(["kubectl", "kubefoundry", "render", EXAMPLE], env=environment))
            release.renders(run([*emulator(architecture), plugin, "render", EXAMPLE]))
            store = directory / "krew/store/kubefoundry" / f"v{release.version}"
            assert (store / "man/kubefoundry-render.1").exists() and (store / "completions/_kubefoundry").exists()


def homebrew(release):
    """Follows the formula with the methods of Homebrew that it calls: Homebrew itself cannot be installed from here."""
    formula = release.folder / "kubefoundry.rb"
    run(["ruby", "-wc", formula])
    for architecture in release.architectures:
        with tempfile.TemporaryDirectory(prefix="package-") as directory:
            directory = pathlib.Path(directory)
            processor = {"x86_64": "intel", "aarch64": "arm"}[architecture]
            run(["ruby", ROOT / "tests/conformance/homebrew.rb", formula, release.folder, processor, directory])
            release.renders(run([*emulator(architecture), directory / "bin/kubefoundry", "render", EXAMPLE]))
            has_documents(directory / "share", COMPLETIONS)


def npm(release):
    """Installs the engine into an empty folder, and renders from Node."""
    packages = list(release.folder.glob("*.tgz"))
    if not packages and not os.environ.get("CI"):
        print("skipped: the package for npm was not built")
        return
    assert len(packages) == 1, packages
    with tempfile.TemporaryDirectory(prefix="package-") as directory:
        directory = pathlib.Path(directory)
        (directory / "package.json").write_text('{"private": true, "type": "module"}')
        run(["npm", "install", "--offline", "--no-audit", "--no-fund", "--silent", packages[0]], cwd=directory)
        shutil.copy(ROOT / "tests/conformance/npm_render.mjs", directory)
        release.renders(run(["node", "npm_render.mjs", EXAMPLE], cwd=directory))


def provenance(release):
    """Checks that the sums and the provenance have every file and every image."""
    run(["sha256sum", "--strict", "--check", "SHA256SUMS"], cwd=release.folder)
    sums = dict(reversed(line.split("  ")) for line in (release.folder / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {path.name for path in release.folder.iterdir() if path.is_file()} - {"SHA256SUMS"}, sums
    own = f"kubefoundry-{release.version}.intoto.json"
    statement = json.loads((release.folder / own).read_text())
    assert statement["_type"] == "https://in-toto.io/Statement/v1", statement
    subjects = {it["name"]: it["digest"]["sha256"] for it in statement["subject"]}
    files = {name: digest for name, digest in subjects.items() if not name.startswith("images/")}
    assert files == {name: digest for name, digest in sums.items() if name != own}, files
    for name, digest in subjects.items():
        if name.startswith("images/"):
            blob = release.folder / name / "blobs/sha256" / digest
            assert hashlib.sha256(blob.read_bytes()).hexdigest() == digest, name
    assert len(subjects) - len(files) == len(list((release.folder / "images").iterdir())), subjects
    dependencies = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    head = run(["git", "rev-parse", "HEAD"], cwd=ROOT).decode().strip()
    assert dependencies[0]["digest"]["gitCommit"] == head, dependencies


def documented(release):
    """Checks that docs/install.md lists every file."""
    page = (ROOT / "docs/install.md").read_text()
    for path in release.folder.iterdir():
        name = path.name.replace(release.version, "VERSION")
        name = re.sub(r"(x86_64|aarch64)-unknown-linux-gnu", "TARGET", name)
        name = re.sub(r"py3-none-.*\.whl$", "py3-none-PLATFORM.whl", name)
        assert f"`{name}`" in page or name == "images", name


def main(folder, *without_operator):
    assert os.geteuid() == 0, "empty roots need root (chroot)"
    release = Release(pathlib.Path(folder).resolve(), without_operator)
    for check in (archives, bills_of_materials, system_packages, wheels, pre_commit, images, krew, homebrew, npm, provenance, documented):
        began = time.monotonic()
        check(release)
        print(f"{check.__name__.replace('_', ' ')}: {time.monotonic() - began:.1f} s", flush=True)
    print(f"packages: installed and run for {' and '.join(release.architectures)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
