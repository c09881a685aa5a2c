"""Runs every front end of kubefoundry on hostile repositories (hostile_cases.py), and proves that none of them can reach out,
look out, or switch off what judges it.

Each front end runs on each repository. It must
- open no connection: listeners on the loopback record every connection and datagram,
- open no file but those that ALLOWED lists: its system calls are traced,
- print no canary: secrets in files beside the repository, in its .git, and in the environment,
- agree with the other front ends on the verdict (`disagreements`),
- say under --strict when something was not judged,
- stay within MAX_MEMORY and MAX_CPU_SECONDS, which are counted by the kernel and do not depend on load.

A self-test shows first that plain `kustomize build` on the same repositories trips the detectors.

    hostile_repositories.py KUBEFOUNDRY                             all cases
    hostile_repositories.py KUBEFOUNDRY --case 123 --keep DIR       one of them, whose repository stays in DIR/123/repository
"""

import argparse
import base64
import collections
import ctypes
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import resource
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from clients import Report
from hostile_cases import COUNT, HEAD, MODEL, PREFIX, SEED, Link, Pipe, case_of

MAX_MEMORY = 1 << 30
# A build may take 30 s; no case comes near, because what is counted is refused before.
MAX_CPU_SECONDS = 30
# What ends a run that has hung or would take all of the machine. Either is a failure of its own.
HANGS_AFTER_SECONDS = 120
MAX_ADDRESSES = 6 << 30
WORKERS = 3
CANARY = f"TOPSECRET{secrets.token_hex(12)}"

# The files that a run may open beside the repository and the temporary directory of its builds. A path is the one that the
# kernel opened, so links are followed. Each line needs a reason.
ALLOWED = [
    r"/etc/ld\.so\.(cache|preload)", r"(/usr)?/lib(64|/[^/]+-linux-gnu|exec)?/[^/]+\.so[^/]*",  # The loader and its libraries.
    r"/dev/(null|urandom)",
    r"/proc/\d+/(maps|cgroup|mountinfo|status|uid_map|gid_map|setgroups|fd)", r"/sys/fs/cgroup/.*cpu[^/]*",  # Rust and Go count CPUs.
    r"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", r"/sys/devices/system/cpu/(online|possible)",  # Go's allocator.
    r"/usr/share/zoneinfo/.*", r"/etc/localtime",
    r"/etc/gitconfig", r"/usr/lib/git-core/.*", r"/usr/share/(locale|git-core)/.*", r"/usr/lib/locale/.*", r"HOME/(\.gitconfig|\.config/git/.*)",  # git.
]
LOOPBACK = {"@URL@": ("127.0.0.1", socket.AF_INET), "@URL6@": ("::1", socket.AF_INET6)}
# What an HTTP client gets, so that a build with a remote resource goes on.
ANSWER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: remote}\n"


class Listener:
    """Servers for TCP and UDP on the IPv4 and IPv6 loopback that record what arrives."""

    def __init__(self):
        self.seen, self.selector = [], selectors.DefaultSelector()
        self.addresses, self.fenced = {}, threading.Event()
        for name, (host, family) in LOOPBACK.items():
            server = socket.create_server((host, 0), family=family, backlog=100)
            datagrams = socket.socket(family, socket.SOCK_DGRAM)
            datagrams.bind((host, server.getsockname()[1]))
            self.addresses[name] = server.getsockname()[:2]
            self.selector.register(server, selectors.EVENT_READ, self.accept)
            self.selector.register(datagrams, selectors.EVENT_READ, self.receive)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            for key, _ in self.selector.select():
                key.data(key.fileobj)

    def accept(self, server):
        connection, _ = server.accept()
        connection.settimeout(30)
        try:
            first = connection.recv(1000)
            connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(ANSWER)}\r\nConnection: close\r\n\r\n{ANSWER}".encode())
        except OSError as error:
            first = str(error).encode()
        connection.close()
        self.record(first)

    def receive(self, datagrams):
        self.record(datagrams.recv(1000))

    def record(self, first):
        if first.startswith(b"fence "):
            self.fences.discard(first)
            if not self.fences:
                self.fenced.set()
        else:
            self.seen.append(first.split(b"\r\n")[0].decode(errors="replace"))

    def take(self):
        """Returns what arrived so far. Connections are accepted in order, so ours come after all of a process that ended."""
        self.fenced.clear()
        self.fences = {f"fence {name} {kind}".encode() for name in self.addresses for kind in ["tcp", "udp"]}
        for name, address in self.addresses.items():
            with socket.create_connection(address) as connection:
                connection.sendall(f"fence {name} tcp".encode())
            with socket.socket(LOOPBACK[name][1], socket.SOCK_DGRAM) as datagrams:
                datagrams.sendto(f"fence {name} udp".encode(), address)
        if not self.fenced.wait(HANGS_AFTER_SECONDS):
            raise RuntimeError("the listeners do not answer")
        seen, self.seen = self.seen, []
        return seen


@dataclasses.dataclass
class Outcome:
    """What one run did."""

    name: str
    status: int
    output: str
    problems: list
    memory: int = 0
    cpu: float = 0

    @property
    def is_built(self):
        return f"{PREFIX}m" in self.output


def canary_spellings():
    """The canary as text and as base64 at each of the three offsets, without the ends that depend on what is beside it."""
    encoded = [base64.b64encode(b"x" * offset + CANARY.encode()).decode()[4 if offset else 0:-4] for offset in range(3)]
    return [CANARY, *encoded, "root:x:0:0"]


class Place:
    """The directory of a case: its repository, what is beside it, and a home."""

    def __init__(self, directory, case, listener):
        self.directory, self.listener = pathlib.Path(directory), listener
        self.repository, self.outside, self.home, self.temporary = (self.directory / name for name in ["repository", "outside", "home", "tmp"])
        for path in [self.repository, self.outside / "base", self.home, self.temporary]:
            path.mkdir(parents=True)
        host = ":".join(map(str, listener.addresses["@URL@"]))
        self.values = {
            "@URL@": f"http://{host}", "@URL6@": f"http://[::1]:{listener.addresses['@URL6@'][1]}", "@HOST@": host,
            "@OUTSIDE@": str(self.outside), "@HOME@": str(self.home), "@UP@": "../" * 20,
        }
        secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\nstringData: {{k: {CANARY}}}\n"
        annotated = f"metadata: {{name: m, namespace: ml, annotations: {{a: {CANARY}}}}}\n"
        canaries = {
            self.outside: {"base/kustomization.yaml": "resources: [secret.yaml]\n", "base/secret.yaml": secret, "secret.yaml": secret, "env": f"k={CANARY}\n", "all": "*\n",
                           "patch.yaml": HEAD.splitlines()[0] + "\nkind: ModelDeployment\n" + annotated,
                           "operations.yaml": f"- {{op: add, path: /metadata/annotations, value: {{a: {CANARY}}}}}\n",
                           "labels.yaml": f"apiVersion: builtin\nkind: LabelTransformer\nmetadata: {{name: l}}\nlabels: {{a: {CANARY}}}\nfieldSpecs: [{{path: metadata/labels, create: true}}]\n"},
            self.home: {"env": f"k={CANARY}\n", ".netrc": f"machine 127.0.0.1 login a password {CANARY}\n"},
        }
        for directory, files in canaries.items():
            for name, text in files.items():
                (directory / name).write_text(text)
        self.git("init", "-q", "-b", "main")
        # A token that a job's checkout leaves behind.
        self.git("config", "http.extraheader", f"AUTHORIZATION: basic {CANARY}")
        self.commit({"m.yaml": MODEL, "kustomization.yaml": "resources: [m.yaml]\n"})
        for path in self.repository.iterdir():
            if path.name != ".git":
                path.unlink()
        self.commit(case.files)

    def git(self, *arguments):
        identity = ["-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "gc.auto=0"]
        subprocess.run(["git", *identity, *arguments], cwd=self.repository, check=True, env={"PATH": os.environ["PATH"], "HOME": str(self.home)})

    def commit(self, files):
        for name, content in files.items():
            path = self.repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Link):
                path.symlink_to(self.fill(content.target))
            elif not isinstance(content, Pipe):
                path.write_bytes(content.encode() if isinstance(content, str) else content)
                self.fill_file(path)
        # Also what an ignore file of the repository names: git and what deploys from it use what is tracked.
        self.git("add", "--all", "--force")
        self.git("commit", "-q", "--allow-empty", "-m", "change")
        for name in (name for name, content in files.items() if isinstance(content, Pipe)):
            os.mkfifo(self.repository / name)

    def fill(self, text):
        for name, value in self.values.items():
            text = text.replace(name, value)
        return text

    def fill_file(self, path):
        content = path.read_bytes()
        encodings = [encoding for encoding in ["utf-8", "utf-16-le", "utf-16-be"] if "@".encode(encoding) in content]
        for encoding in encodings if len(content) < 1 << 16 else []:
            for name, value in self.values.items():
                content = content.replace(name.encode(encoding), value.encode(encoding))
        path.write_bytes(content)

    def run(self, name, command, traces, **environment):
        """Runs a command, and returns what it did with the problems that every run can have."""
        trace, output = self.directory / "trace", self.directory / "output"
        limits = ["prlimit", f"--as={MAX_ADDRESSES}:", f"--cpu={MAX_CPU_SECONDS + 5}:", "--core=0", "--"]
        tracer = ["strace", "-f", "--seccomp-bpf", "-qq", "-y", "-s", "300", "-e", "trace=open,openat,openat2,creat,connect,sendto,sendmsg,sendmmsg,execve,execveat", "-e", "signal=none", "-o", str(trace)]
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.home), "TMPDIR": str(self.temporary), "TOKEN": CANARY, **environment}
        with output.open("wb") as stream:
            process = subprocess.Popen([*limits, *(tracer if traces else []), *command], cwd=self.repository, env=variables, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, start_new_session=True)
            timer = threading.Timer(HANGS_AFTER_SECONDS, os.killpg, [process.pid, signal.SIGKILL])
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        problems = [("connection", line) for line in self.listener.take()]
        text = output.read_text(errors="replace")
        problems += [("canary", line) for line in text.splitlines() if any(spelling in line for spelling in canary_spellings())][:3]
        if traces:
            problems += self.violations(trace.read_text(errors="replace"))
        memory, cpu = usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime
        if memory > MAX_MEMORY:
            problems.append(("memory", f"{memory >> 20} MiB"))
        if cpu > MAX_CPU_SECONDS:
            problems.append(("cpu", f"{cpu:.1f} s"))
        if process.returncode not in (0, 1, 2):
            problems.append(("crash", f"status {process.returncode}: {text[-300:]}"))
        if left := list(self.temporary.iterdir()):
            problems.append(("left behind", left[0]))
            shutil.rmtree(self.temporary)
            self.temporary.mkdir()
        return Outcome(name, process.returncode, text, [(kind, f"{name}: {seen}") for kind, seen in problems], memory, cpu)

    def violations(self, trace):
        """Returns the files that a run opened, the programs that it started and the connections that it tried, if they are not allowed."""
        allowed = re.compile("|".join(ALLOWED).replace("HOME", re.escape(str(self.home))))
        programs = {os.path.realpath(path) for name in ["kustomize", "git", "kubefoundry"] if (path := shutil.which(name))} | {os.path.realpath(PROGRAM)}
        inside = tuple(f"{os.path.realpath(path)}" for path in [self.repository, self.temporary])
        unfinished = {}
        for line in trace.splitlines():
            process, _, call = line.partition(" ")
            call = call.lstrip()
            if call.endswith("<unfinished ...>"):
                unfinished[process] = call.removesuffix("<unfinished ...>")
                continue
            if resumed := re.match(r"<\.\.\. \w+ resumed>", call):
                call = unfinished.pop(process, "") + call[resumed.end():]
            # With O_PATH, nothing of a file can be read.
            if (opened := re.match(r"(?:open|openat|openat2|creat)\(.*= \d+<(.*?)>(?:\(deleted\))?$", call)) and "O_PATH" not in call:
                path = opened[1]
                if not (path.startswith(tuple(f"{it}/" for it in inside)) or path in [*inside, *programs] or allowed.fullmatch(path)):
                    yield "foreign file", path
            elif (started := re.match(r'execve(?:at)?\((?:.*?)"([^"]*)".* = 0$', call)) and os.path.realpath(started[1]) not in programs and started[1] != "/proc/self/exe" and not started[1].startswith("/usr/lib/git-core/"):
                yield "foreign program", started[1]
            elif "sa_family=AF_INET" in call and not re.search(r"= -1 (EPERM|EACCES|ENETUNREACH|EADDRNOTAVAIL|EAFNOSUPPORT) ", call):
                yield "connection", call


def front_ends(case):
    """Returns the command of each front end. Without special files, every second case is compared in git's objects alone."""
    is_in_git = not any(isinstance(content, Pipe) for content in case.files.values())
    revisions = "HEAD~1..HEAD" if is_in_git and case.number % 2 else "HEAD~1"
    return {
        "lint --strict": (["lint", "--strict", "."], {}),
        "lint -o github": (["lint", "-o", "github", "."], {}),
        "render": (["render", "--all", "."], {}),
        "plan": (["plan", "--git", revisions, "--diff", "."], {}),
        "argocd": (["argocd", "generate"], {"ARGOCD_ENV_OUTPUT": "append"}),
        "argocd, kustomize": (["argocd", "generate"], {"ARGOCD_ENV_OUTPUT": "append", "ARGOCD_ENV_KUSTOMIZE": "true"}),
    }


def disagreements(case, outcomes):
    """Compares the verdicts. `lint` is the judge: where it exits with 0, every other front end does, and builds the root or not
    as it does; where it does not, no other one exits with 0. What is documented to differ:
    - `render` and the plugin refuse an input without a model (KF0107), in which `lint` finds nothing;
    - `plan` refuses a root that is not built if the base built (KF0108 is an error then), and the plugin with `kustomize` one
      that is not built, because both would else report objects that no cluster gets;
    - the plugin without `kustomize` reads files only, so it is compared where there is no kustomization;
    - the plugin with `kustomize` needs a kustomization in its directory, and reads no ignore file;
    - a link outside to options or a kustomization is an error of a working tree, and not part of a revision, which `plan` reads."""
    strict, judge, others = outcomes["lint --strict"], outcomes["lint -o github"], dict(outcomes)
    has_root = "kustomization.yaml" in case.files
    incomparable = {"lint --strict", "lint -o github"} | ({"argocd, kustomize"} if not has_root else set())
    if any(name.lower().endswith(("kustomization.yaml", "kustomization.yml", "kustomization")) for name in case.files):
        incomparable.add("argocd")
    if "ignore file" in case.note and case.kind == "bounds":
        incomparable.add("argocd, kustomize")
    if case.note in ("link to options outside", "link to a kustomization outside"):
        incomparable.add("plan")
    for name in incomparable:
        del others[name]
    if judge.status != 0 and strict.status == 0:
        yield "strict", f"--strict accepts what lint refuses with {judge.status}"
    if case.expected == "error" and judge.status == 0:
        yield "expected", "lint accepts what must be an error"
    if case.expected == "unjudged" and strict.status == 0:
        yield "strict", "what was not judged is accepted"
    if has_root and strict.status == 0 and not strict.is_built:
        yield "strict", "a root that was not built is accepted"
    for name, other in others.items():
        is_unbuilt = strict.status != 0 and judge.status == 0
        is_documented = "KF0107" in other.output or (is_unbuilt and name in ("plan", "argocd, kustomize"))
        if (other.status == 0) != (judge.status == 0) and not (is_documented and other.status != 0):
            yield "verdict", f"{name} exits with {other.status}, lint with {judge.status}"
        elif judge.status == other.status == 0 and has_root and name != "argocd" and other.is_built != strict.is_built:
            yield "built", f"{name} {'builds' if other.is_built else 'does not build'} the root, lint {'does' if strict.is_built else 'does not'}"


def prove(case, place, traces):
    """Runs the front ends on a case, and returns their outcomes and every problem."""
    outcomes = {}
    for name, (arguments, environment) in front_ends(case).items():
        outcome = outcomes[name] = place.run(name, [PROGRAM, *arguments], traces and case.reaches, **environment)
        if {kind for kind, _ in outcome.problems} & {"crash", "memory", "cpu"}:
            # The other front ends would take as long as this one.
            return outcomes, outcome.problems
    problems = [problem for outcome in outcomes.values() for problem in outcome.problems]
    return outcomes, problems + list(disagreements(case, outcomes))


# Each wall alone. ------------------------------------------------------------------------------------------------------


def prove_with_the_tree_alone(case, place, traces):
    """The rewritten tree is a wall by itself: the child that builds it is not confined."""
    outcome = place.run("tree alone", [PROGRAM, "render", "--no-isolation", "--all", "."], traces)
    return {outcome.name: outcome}, outcome.problems


# The walls around a child, with what each must keep from happening where it stands alone.
CHILD_WALLS = {"landlock": {"foreign file", "canary"}, "seccomp": {"connection"}, "namespace": {"connection"}}


def prove_with_the_child_alone(case, place, traces):
    """The confined child is a wall by itself: kustomize gets the stranger's own tree without any of our checks, with all walls
    around it, and with one of them, which takes turns. Any verdict will do, and a child may end at its limits."""
    # The child may read all of its directory, so it is not given what a job keeps in .git.
    place.repository.joinpath(".git").rename(place.directory / "git")
    outcomes, problems = {}, []
    alone = WALLS[case.number % len(WALLS)]
    for name, closed in {"all": set().union(*CHILD_WALLS.values()), alone: CHILD_WALLS[alone]}.items():
        without = [argument for wall in CHILD_WALLS if name not in ("all", wall) for argument in ["--without", wall]]
        confined = [PROGRAM, "confined", "--directory", str(place.repository), *without, "--", os.path.realpath(shutil.which("kustomize"))]
        command = [*confined, "build", "--load-restrictor", "LoadRestrictionsNone", str(place.repository)]
        outcomes[name] = place.run(f"child alone, walls: {name}", command, traces)
        problems += [(kind, text) for kind, text in outcomes[name].problems if kind in closed and "/dev/" not in text]
    return outcomes, problems


def find_walls():
    """Returns the walls that this machine can build around a child, found without our program."""
    # The number of landlock_create_ruleset, which returns the version of its interface with these arguments.
    has_landlock = ctypes.CDLL(None).syscall(444, None, 0, 1) > 0
    has_namespaces = subprocess.run(["unshare", "--user", "--net", "true"], capture_output=True).returncode == 0
    walls = [wall for wall, stands in [("landlock", has_landlock), ("seccomp", True), ("namespace", has_namespaces)] if stands]
    for wall in CHILD_WALLS.keys() - walls:
        print(f"skipped: the kernel does not let us build the wall {wall} on this machine, so it is not tested alone")
    return walls


# The detectors. --------------------------------------------------------------------------------------------------------


def find_case(seed, kind, *words):
    """Returns the first case of a kind whose note has these words."""
    return next(case for number in range(COUNT) if (case := case_of(number, seed)).kind == kind and all(word in case.note for word in words))


def test_detectors(report, directory, seed, traces):
    """Checks that plain kustomize, which has no wall, trips the detectors on our cases, and that the counters count."""
    report.check("there are 300 repositories", COUNT >= 300, COUNT)
    listener = Listener()
    kustomize = ["kustomize", "build", "--load-restrictor", "LoadRestrictionsNone", "."]
    expectations = [
        (find_case(seed, "reach: URL", "resources -> '@URL@/x.yaml'", "plain"), kustomize, {"connection"}),
        (find_case(seed, "reach: URL", "patches -> '@URL@/x.yaml'", "plain"), kustomize, {"connection"}),
        (find_case(seed, "reach: path", "bases -> '../outside/base'", "plain"), kustomize, {"canary", "foreign file"}),
        (find_case(seed, "reach: path", "secret files -> '../outside/env'", "plain"), kustomize, {"canary", "foreign file"}),
        (find_case(seed, "structure", "circle of 2"), [sys.executable, "-c", f"bytearray({MAX_MEMORY} + 1)"], {"memory", "foreign program"}),
        (find_case(seed, "structure", "circle of 3"), ["sh", "-c", f"ulimit -t {MAX_CPU_SECONDS + 1}; touch $TMPDIR/a; exec cat /etc/hostname"], {"left behind", "foreign program", "foreign file"}),
        (find_case(seed, "structure", "itself"), [sys.executable, "-c", "import os; os.abort()"], {"crash", "foreign program"}),
    ]
    for number, (case, command, expected) in enumerate(expectations):
        place = Place(directory / f"detectors-{number}", case, listener)
        found = {kind for kind, _ in place.run("plain", command, traces).problems}
        expected = expected if traces else {kind for kind in expected if not kind.startswith("foreign")}
        report.check(f"the detectors see {sorted(expected)} in plain kustomize, case {case.number}", expected <= found, found)
        shutil.rmtree(place.directory)
    for name, address in listener.addresses.items():
        with socket.socket(LOOPBACK[name][1], socket.SOCK_DGRAM) as datagrams:
            datagrams.sendto(b"datagram", address)
        report.check(f"datagrams are seen at {name}", listener.take() == ["datagram"])


def find_tracer():
    """Whether system calls can be traced. Strace is installed if it is missing and that is possible; CI needs it."""
    if shutil.which("strace") is None and os.getuid() == 0 and shutil.which("apt-get"):
        for command in [["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "strace"]]:
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if shutil.which("strace") is None:
        if os.environ.get("CI"):
            sys.exit("CI needs strace, installed or from apt-get")
        print("skipped: strace is not installed, so no file that is opened is seen")
        return False
    return True


def main():
    global PROGRAM, WALLS
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program", type=lambda path: os.path.abspath(path))
    parser.add_argument("--seed", default=SEED)
    parser.add_argument("--case", type=int, action="append", help="only this case; can be repeated")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep the repositories in DIR")
    arguments = parser.parse_args()
    PROGRAM, report, began = arguments.program, Report(), time.monotonic()
    traces, WALLS = find_tracer(), find_walls()
    directory = arguments.keep.absolute() if arguments.keep else pathlib.Path(tempfile.mkdtemp(prefix="hostile-"))
    listeners = [Listener() for _ in range(WORKERS)]
    failing, total, figures = collections.Counter(), collections.Counter(), []

    def run_case(number):
        case, listener = case_of(number, arguments.seed), listeners.pop()
        place = Place(directory / str(number), case, listener)
        # A pipe and an endless file are what the child must never get; it would wait for its limits.
        is_endless = any(isinstance(content, Pipe) or content == Link("/dev/zero") for content in case.files.values())
        alone = [prove_with_the_tree_alone] * case.reaches + [prove_with_the_child_alone] * (case.reaches and not is_endless)
        results = [variant(case, place, traces) for variant in [prove, *alone]]
        listeners.append(listener)
        if not arguments.keep:
            shutil.rmtree(place.directory)
        return case, [outcome for outcomes, _ in results for outcome in outcomes.values()], [problem for _, problems in results for problem in problems]

    if not arguments.case:
        test_detectors(report, directory, arguments.seed, traces)
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for case, outcomes, problems in pool.map(run_case, arguments.case or range(COUNT)):
            total[case.kind] += 1
            failing.update({(case.kind, kind) for kind, _ in problems})
            figures += [(outcome.memory, outcome.cpu, outcome.name, case.number) for outcome in outcomes]
            seen = "\n".join(f"{kind}: {text[:300]}" for kind, text in problems)
            report.check(f"case {case.number} ({case.kind}: {case.note[:120]})", not problems, seen)
            if arguments.case:
                print(case.note, *(f"{outcome.name}: {outcome.status}, {'built' if outcome.is_built else 'not built'}, {outcome.memory >> 20} MiB, {outcome.cpu:.2f} s" for outcome in outcomes), sep="\n  ")
    for kind, count in total.items():
        detected = ", ".join(f"{detector} {number}" for (its_kind, detector), number in sorted(failing.items()) if its_kind == kind)
        print(f"{kind}: {count} repositories; {f'failing by detector: {detected}' if detected else 'all hold'}")
    memory, cpu = max(figures), max(figures, key=lambda it: it[1])
    print(f"most memory: {memory[0] >> 20} MiB ({memory[2]}, case {memory[3]}); most CPU time: {cpu[1]:.1f} s ({cpu[2]}, case {cpu[3]}); {len(figures)} runs in {time.monotonic() - began:.0f} s")
    if not arguments.keep:
        shutil.rmtree(directory)
    report.end("hostile repositories")


if __name__ == "__main__":
    main()
