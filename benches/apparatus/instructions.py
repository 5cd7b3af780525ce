"""User-space instructions for each UDP query: root zone, recorded queries, counted by callgrind.

Each server runs twice, with N and with 2N queries; (I(2N) - I(N)) / N leaves out the start, the loading and the end.
All processes and threads count. The queries are always up to 100 at a time, so that servers can work in batches."""

import glob
import os
import sys

from . import network, record


def main():
    options = record.parser(__doc__)
    options.add_argument("--queries", type=int, default=50_000, help="N; small ones drown in the variation of the start")
    options.add_argument("--window", type=int, default=100, help="queries outstanding; answers to them must fit a socket's buffer")
    options.add_argument("--wait", type=float, default=900, help="seconds a server may take to load")
    arguments = options.parse_args()
    bench = record.Bench("instructions", arguments)
    zones, queries = bench.root()
    results, rows = {}, []
    for kind in bench.kinds:
        server = bench.contender(kind, zones)
        counts, answered = [], []
        for count in (arguments.queries, 2 * arguments.queries):
            instructions, outcome = run(bench, server, queries, count)
            counts.append(instructions)
            answered.append(outcome["received"])
        # By answered queries: what was lost on the way was not worked on.
        each = (counts[1] - counts[0]) / (answered[1] - answered[0])
        results[kind.name] = {"instructions": counts, "answered": answered, "per_query": each,
                              "rcodes": outcome["rcodes"], "octets_per_answer": outcome["octets_per_answer"]}
        rows.append([kind.name, f"{each:.0f}", f"{outcome['octets_per_answer']:.0f}", outcome["rcodes"]])
        sys.stdout.flush()
    record.table(["server", "instructions/query", "octets/answer", "rcodes"], rows)
    bench.keep(results)


def run(bench, server, queries, count):
    """Instructions of one whole run with so many queries, and what the generator saw."""
    pattern = os.path.join(server.folder, "callgrind.out")
    for old in glob.glob(pattern + "*"):
        os.remove(old)
    server.start(["valgrind", "--tool=callgrind", "--trace-children=yes", f"--callgrind-out-file={pattern}.%p"])
    try:
        server.wait(bench.arguments.wait)
        outcome = bench.load(server, queries, "--closed", bench.arguments.window, "--count", count, "--seconds", 3000,
                             "--timeout-ms", 30_000, "--flows", 64)["outcome"]
    finally:
        server.stop(120)
    files = glob.glob(pattern + "*")
    if not files:
        server.fail("callgrind left no file")
    return sum(total(path) for path in files), outcome


def total(path):
    """The sum of instructions in a file of callgrind (0 where the process counted none)."""
    found = 0
    with open(path) as lines:
        for line in lines:
            if line.startswith(("summary:", "totals:")):
                found = max(found, int(line.split()[1]))
    return found


if __name__ == "__main__":
    with network.Buffers():
        main()
