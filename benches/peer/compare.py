"""Compares the CPU time of kubefoundry with that of the Go program in this folder, in one run on one machine.

    python3 benches/peer/compare.py PROGRAM

Both read the same 10,000 documents, in turns, on one thread. kubefoundry renders them; the Go program only decodes and
encodes them. The script fails if kubefoundry takes more than MAX_RATIO of the CPU time of the Go program.
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
DOCUMENTS = "10000"
ROUNDS = 5
MAX_RATIO = 0.5


def cpu_seconds(command, environment):
    """Returns the user and system time of a command, which must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        peer, corpus = f"{folder}/peer", f"{folder}/corpus.yaml"
        subprocess.run(["go", "build", "-o", peer, "."], check=True, cwd=HERE)
        corpus_command = ["bash", ".ci/measure", "corpus", DOCUMENTS, "--findings", "--out", corpus]
        subprocess.run(corpus_command, check=True, cwd=HERE.parents[1], stdout=subprocess.DEVNULL)
        one_thread = dict(os.environ, RAYON_NUM_THREADS="1", GOMAXPROCS="1")
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(cpu_seconds([program, "render", corpus], one_thread))
            theirs.append(cpu_seconds([peer, corpus], one_thread))
    ratio = min(ours) / min(theirs)
    print(f"kubefoundry render {min(ours):.2f} s, Go decode and encode {min(theirs):.2f} s of CPU time: {ratio:.2f}")
    if ratio > MAX_RATIO:
        sys.exit(f"expected at most {MAX_RATIO} of the CPU time of the Go program")


main(str(pathlib.Path(sys.argv[1]).resolve()))
