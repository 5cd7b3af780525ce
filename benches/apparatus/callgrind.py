"""One run of a server under callgrind: what it executed while it answered so many queries."""

import glob
import os


def add_arguments(options):
    """What the programs that use this have in common."""
    options.add_argument("--queries", type=int, default=50_000, help="N; small ones drown in the variation of the start")
    options.add_argument("--window", type=int, default=100, help="queries outstanding; answers to them must fit a socket's buffer")
    options.add_argument("--wait", type=float, default=900, help="seconds a server may take to load")


def run(bench, server, queries, count, *options, words=()):
    """Asks so many queries, `words` said to the generator; returns callgrind's files, one a process, and what the generator saw."""
    pattern = os.path.join(server.folder, "callgrind.out")
    for old in glob.glob(pattern + "*"):
        os.remove(old)
    server.start(["valgrind", "--tool=callgrind", "--trace-children=yes", f"--callgrind-out-file={pattern}.%p", *options])
    try:
        server.wait(bench.arguments.wait)
        outcome = bench.load(server, queries, "--closed", bench.arguments.window, "--count", count, "--seconds", 3000,
                             "--timeout-ms", 30_000, "--flows", 64, *words)["outcome"]
    finally:
        server.stop(120)
    files = glob.glob(pattern + "*")
    if not files:
        server.fail("callgrind left no file")
    return files, outcome
