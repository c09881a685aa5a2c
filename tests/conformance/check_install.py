"""Runs the commands of docs/install.md: from source in this checkout, and from an archive like that of .ci/package.

The installed programs must run. They are installed in a temporary folder. The commands for Homebrew do not run here,
because they need Homebrew; .ci/package reads its formula.

Usage: check_install.py FOLDER-OF-THE-PROGRAMS
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(script, cwd, **environment):
    ran = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True)
    assert ran.returncode == 0, f"{script}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def runs(folder, expected):
    said = run(f"{folder / 'kubefoundry'} --version", folder)
    assert said == f"kubefoundry {expected}\n", said
    assert "complete" in run(f"{folder / 'kubefoundry'} completions bash", folder)


def from_source(commands, version, temporary):
    # The profile of `cargo test`, whose dependencies are built already. The release build is that of .ci/package.
    commands = commands.replace("cargo install", "cargo install --profile test")
    run(commands, ROOT, CARGO_INSTALL_ROOT=str(temporary / "cargo"))
    runs(temporary / "cargo/bin", version)


def as_function(commands, version, temporary):
    """Adds the other name to the program that cargo has installed, which is the first with this name on the PATH."""
    home = temporary / "home-of-the-function"
    (home / ".local/bin").mkdir(parents=True)
    said = run(commands, temporary, HOME=str(home), PATH=f"{home / '.local/bin'}:{temporary / 'cargo/bin'}:/usr/bin:/bin")
    assert said == f"kubefoundry-fn {version}\n", said


def from_archive(commands, binaries, version, temporary):
    name = f"kubefoundry-{version}-x86_64-unknown-linux-gnu"
    run(f"{binaries / 'kubefoundry'} man --out-dir {temporary / 'man'}", temporary)
    archive = temporary / "downloads" / f"{name}.tar.gz"
    archive.parent.mkdir()
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(binaries / "kubefoundry", f"{name}/kubefoundry")
        tar.add(temporary / "man", f"{name}/man")
    sums = {archive.name: hashlib.sha256(archive.read_bytes()).hexdigest(), f"kubefoundry-{version}.cdx.json": "0" * 64}
    (archive.parent / "SHA256SUMS").write_text("".join(f"{digest}  {file}\n" for file, digest in sums.items()))
    run(commands, archive.parent, HOME=str(temporary / "home"))
    runs(temporary / "home/.local/bin", version)
    assert (temporary / "home/.local/share/man/man1/kubefoundry-lint.1").exists()


def as_plugin(commands, temporary):
    """Runs the plugin through kubectl where there is one, or else by its name, as kubectl does."""
    home = temporary / "home"
    model = (ROOT / "examples/llama-8b/model.yaml").read_text()
    (temporary / "llama.yaml").write_text(model)
    if shutil.which("kubectl") is None:
        commands = commands.replace("kubectl kubefoundry", "kubectl-kubefoundry")
    rendered = run(commands, temporary, HOME=str(home), PATH=f"{home / '.local/bin'}:{os.environ['PATH']}")
    assert "kind: DynamoGraphDeployment" in rendered, rendered


def commands_below(page, heading):
    """The only shell commands between this heading and the next of its level."""
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page, re.S | re.M)
    assert section, f"docs/install.md has no heading {heading!r}"
    (commands,) = re.findall(r"^```sh\n(.*?)^```", section[1], re.S | re.M)
    return commands


def main(binaries):
    binaries = pathlib.Path(binaries).resolve()
    version = run(f"{binaries / 'kubefoundry'} --version", ROOT).split()[1]
    page = (ROOT / "docs/install.md").read_text()
    with tempfile.TemporaryDirectory() as temporary:
        temporary = pathlib.Path(temporary)
        from_source(commands_below(page, "From source"), version, temporary)
        as_function(commands_below(page, "As a KRM function"), version, temporary)
        from_archive(commands_below(page, "Release archives"), binaries, version, temporary)
        as_plugin(commands_below(page, "As a kubectl plugin"), temporary)
    print("docs/install.md: its commands install programs that run, from source, as a function, from an archive and as a plugin of kubectl")


if __name__ == "__main__":
    main(*sys.argv[1:])
